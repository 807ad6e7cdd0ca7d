//! The lexer as the index library wants it.

use super::{Lexer, Stemmer};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// Gives the index the same tokens that queries and the unindexed tail are made of.
#[derive(Default)]
pub(crate) struct TextTokenizer {
    stemmer: Stemmer,
}

impl Clone for TextTokenizer {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Tokenizer for TextTokenizer {
    type TokenStream<'a> = TextStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> TextStream<'a> {
        TextStream { lexer: Lexer::new(text, &mut self.stemmer), next: 0, token: Token::default() }
    }
}

pub(crate) struct TextStream<'a> {
    lexer: Lexer<'a>,
    next: usize,
    token: Token,
}

impl TokenStream for TextStream<'_> {
    fn advance(&mut self) -> bool {
        while self.next >= self.lexer.tokens().len() {
            if !self.lexer.next_chunk() {
                return false;
            }
            self.next = 0;
        }
        let token = self.lexer.tokens()[self.next];
        self.next += 1;
        self.token.text.clear();
        self.token.text.push_str(self.lexer.text(&token));
        self.token.offset_from = token.from;
        self.token.offset_to = token.to;
        self.token.position = token.position;
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

/// The steps of a file path, so that any run of whole steps finds it: `src/main.rs` in `/proj/src/main.rs`.
#[derive(Clone, Default)]
pub(crate) struct PathTokenizer;

impl PathTokenizer {
    /// The steps of a path.
    pub(crate) fn steps(path: &str) -> impl Iterator<Item = &str> {
        path.split(['/', '\\']).filter(|step| !step.is_empty() && *step != "." && step.len() <= 255)
    }
}

impl Tokenizer for PathTokenizer {
    type TokenStream<'a> = PathStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> PathStream<'a> {
        PathStream { steps: Self::steps(text).collect::<Vec<_>>().into_iter(), token: Token::default() }
    }
}

pub(crate) struct PathStream<'a> {
    steps: std::vec::IntoIter<&'a str>,
    token: Token,
}

impl TokenStream for PathStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(step) = self.steps.next() else { return false };
        self.token.text.clear();
        self.token.text.push_str(step);
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
