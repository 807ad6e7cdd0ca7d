//! From text to terms: one pass over prose, code, paths and CJK alike.
//!
//! A *chunk* is what a reader sees as one word: `parse_config`, `src/main.rs:12`, `HTTPServer`, `数据库`. Each
//! chunk gives its leaves (stemmed where they are English words, one position each) and, where it has several,
//! its spans: `self.parse_config` is also findable as `parse_config`, and as itself. Stopwords are indexed, so
//! that phrases work; queries decide what to do with them.
//!
//! Search over sessions and recall of memories read text this one way.
//!
//! ```
//! use throughline_lexer::{Kind, Lexer, Stemmer};
//!
//! let mut stemmer = Stemmer::default();
//! let mut lexer = Lexer::new("Running parse_config", &mut stemmer);
//! let mut terms = Vec::new();
//! while lexer.next_chunk() {
//!     terms.extend(lexer.tokens().iter().map(|token| (token.kind, lexer.text(token).to_owned())));
//! }
//! let terms: Vec<(Kind, &str)> = terms.iter().map(|(kind, text)| (*kind, text.as_str())).collect();
//! assert_eq!(
//!     terms,
//!     [(Kind::Leaf, "run"), (Kind::Span, "parse_config"), (Kind::Leaf, "pars"), (Kind::Leaf, "config")]
//! );
//! ```

mod chunk;
mod cjk;
mod initials;
mod label;
mod stem;
mod words;

pub use initials::Initials;
pub use stem::Stemmer;
pub use words::{is_question_word, is_stopword};

use chunk::{Chunk, Sign};

/// Stands in a document that speaks of a time.
pub const TIME: &str = "#time";
/// Stands in a document that ends with a question.
pub const ASKS: &str = "#asks";
/// Precedes the name of whoever a message is labelled with (`Ann: hello`).
pub const LABEL: char = '@';

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A leaf: a word, a number, one part of a chunk.
    Leaf,
    /// Several leaves together, as they were written.
    Span,
    /// Another way to say the leaf at the same position (the letters of `python3`, the start of a hash).
    Alias,
    /// One CJK character.
    Unigram,
    /// Two CJK characters.
    Bigram,
    /// What the lexer knows about the text as a whole.
    Mark,
}

/// One token of the chunk read last. Its text is in the lexer.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    text: (u32, u32),
    /// Where it begins in the source, in bytes.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// Its position among the leaves.
    pub position: usize,
    /// What it is.
    pub kind: Kind,
}

/// Reads a text chunk by chunk.
pub struct Lexer<'a> {
    source: &'a str,
    stemmer: &'a mut Stemmer,
    at: usize,
    position: usize,
    buffer: String,
    tokens: Vec<Token>,
    chunk: Chunk,
    says_time: bool,
    begun: bool,
    ended: bool,
    sought: Option<&'a Initials>,
    /// Up to here, nothing is passed over.
    read_until: usize,
}

impl<'a> Lexer<'a> {
    /// A lexer at the start of `source`.
    pub fn new(source: &'a str, stemmer: &'a mut Stemmer) -> Self {
        Self {
            source,
            stemmer,
            at: 0,
            position: 0,
            buffer: String::new(),
            tokens: Vec::new(),
            chunk: Chunk::default(),
            says_time: false,
            begun: false,
            ended: false,
            sought: None,
            read_until: 0,
        }
    }

    /// The same, for someone who looks for few words: chunks without any that begins like them are passed over. No
    /// positions, no marks.
    pub fn looking_for(source: &'a str, stemmer: &'a mut Stemmer, sought: &'a Initials) -> Self {
        Self { sought: Some(sought), ..Self::new(source, stemmer) }
    }

    /// Reads the next chunk; false at the end of the text. A chunk may give no token (blobs don't).
    pub fn next_chunk(&mut self) -> bool {
        self.buffer.clear();
        self.tokens.clear();
        if !self.begun {
            self.begun = true;
            if let Some(label) = label::at_start(self.source) {
                for word in label.split(' ') {
                    self.push_mark(&format!("{LABEL}{}", word.to_lowercase()));
                }
            }
        }
        self.skip_to_chunk();
        if let Some(sought) = self.sought {
            self.pass_over_others(sought);
        }
        let Some(first) = self.source[self.at..].chars().next() else {
            return self.finish();
        };
        if cjk::is_cjk(first) {
            self.read_cjk();
        } else {
            self.read_chunk();
        }
        true
    }

    /// The tokens of the chunk read last.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The text of a token of the chunk read last.
    pub fn text(&self, token: &Token) -> &str {
        &self.buffer[token.text.0 as usize..token.text.1 as usize]
    }

    /// Where reading goes on.
    pub fn at(&self) -> usize {
        self.at
    }

    fn skip_to_chunk(&mut self) {
        let bytes = self.source.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            if byte.is_ascii() {
                if byte.is_ascii_alphanumeric() {
                    return;
                }
                self.at += 1;
            } else {
                let Some(c) = self.source[self.at..].chars().next() else { return };
                if c.is_alphanumeric() || cjk::is_cjk(c) {
                    return;
                }
                self.at += c.len_utf8();
            }
        }
    }

    /// Goes on to a chunk that may hold what is looked for. Only ASCII is passed over: all else is read.
    fn pass_over_others(&mut self, sought: &Initials) {
        let bytes = self.source.as_bytes();
        while self.at >= self.read_until && self.at < bytes.len() {
            let mut before = Sign::Joint;
            let mut at = self.at;
            while let Some(&byte) = bytes.get(at) {
                let sign = chunk::sign(byte);
                // A leaf begins behind a joint and at a hump.
                let may_hold = match sign {
                    Sign::Lower => before == Sign::Joint && sought.may_begin(&bytes[at..]),
                    Sign::Upper => sought.may_begin(&bytes[at..]),
                    Sign::Foreign => true,
                    Sign::Joint => false,
                    Sign::End => break,
                };
                if may_hold {
                    self.read_until = at + 1;
                    return;
                }
                before = sign;
                at += 1;
            }
            self.at = at;
            self.skip_to_chunk();
        }
    }

    fn read_cjk(&mut self) {
        let mut previous: Option<(usize, char)> = None;
        while let Some(c) = self.source[self.at..].chars().next().filter(|&c| cjk::is_cjk(c)) {
            let (from, to) = (self.at, self.at + c.len_utf8());
            if let Some((before, first)) = previous {
                let start = self.buffer.len();
                self.buffer.push(first);
                self.buffer.push(c);
                self.push(start, before, to, self.position - 1, Kind::Bigram);
            }
            let start = self.buffer.len();
            self.buffer.push(c);
            self.push(start, from, to, self.position, Kind::Unigram);
            self.position += 1;
            previous = Some((from, c));
            self.at = to;
            // A page without a space is read in pieces that overlap by nothing: memory stays bounded.
            if self.tokens.len() > 4096 {
                break;
            }
        }
    }

    fn read_chunk(&mut self) {
        let mut chunk = std::mem::take(&mut self.chunk);
        self.at = chunk.read(self.source, self.at);
        if chunk.is_blob(self.source) {
            self.position += 1;
        } else {
            self.push_spans(&chunk);
            for n in 0..chunk.leaves.len() {
                let leaf = chunk.leaves[n];
                self.push_leaf(leaf.from, leaf.to);
                self.position += 1;
            }
        }
        self.chunk = chunk;
    }

    fn push_spans(&mut self, chunk: &Chunk) {
        let first_position = self.position;
        chunk.spans(|span| {
            let start = self.buffer.len();
            push_lowercase(&mut self.buffer, &self.source[span.from..span.to]);
            self.push(start, span.from, span.to, first_position + span.first_leaf, Kind::Span);
        });
    }

    fn push_leaf(&mut self, from: usize, to: usize) {
        let word = &self.source[from..to];
        if word.len() > chunk::MAX_LEAF {
            return;
        }
        let start = self.buffer.len();
        push_lowercase(&mut self.buffer, word);
        let end = self.buffer.len();
        let lower = &self.buffer[start..end];
        if let Some(sought) = self.sought {
            // What begins otherwise has no stem and no alias that is looked for.
            if lower.is_ascii() && !sought.may_begin(lower.as_bytes()) {
                return;
            }
        } else {
            self.says_time = self.says_time || words::is_time(lower);
        }
        let alias = alias_of(lower);
        if lower.bytes().all(|b| b.is_ascii_lowercase()) {
            // The stem takes the word's place in the buffer.
            let stem = self.stemmer.stem(lower);
            if *stem != self.buffer[start..end] {
                self.buffer.truncate(start);
                self.buffer.push_str(stem);
            }
        }
        self.push(start, from, to, self.position, Kind::Leaf);
        if let Some(letters) = alias {
            let letters = self.source[from..from + letters].to_ascii_lowercase();
            let start = self.buffer.len();
            let alias =
                if letters.len() == HASH_PREFIX { letters } else { self.stemmer.stem(&letters).to_owned() };
            self.buffer.push_str(&alias);
            self.push(start, from, to, self.position, Kind::Alias);
        }
    }

    fn finish(&mut self) -> bool {
        if self.ended {
            return false;
        }
        self.ended = true;
        if self.says_time {
            self.push_mark(TIME);
        }
        if self.source.trim_end().ends_with(['?', '？']) {
            self.push_mark(ASKS);
        }
        !self.tokens.is_empty()
    }

    fn push_mark(&mut self, text: &str) {
        let start = self.buffer.len();
        self.buffer.push_str(text);
        self.push(start, self.at, self.at, self.position, Kind::Mark);
    }

    fn push(&mut self, start: usize, from: usize, to: usize, position: usize, kind: Kind) {
        let text = (start as u32, self.buffer.len() as u32);
        self.tokens.push(Token { text, from, to, position, kind });
    }
}

/// Git shows seven digits of a hash, and people search for them.
const HASH_PREFIX: usize = 7;

/// How many bytes at the start of a leaf are another way to say it.
fn alias_of(lower: &str) -> Option<usize> {
    if !lower.is_ascii() {
        return None;
    }
    let bytes = lower.as_bytes();
    let has_digit = bytes.iter().any(u8::is_ascii_digit);
    let has_letter = bytes.iter().any(u8::is_ascii_alphabetic);
    if !(has_digit && has_letter) {
        return None;
    }
    if bytes.len() > HASH_PREFIX && bytes.iter().all(u8::is_ascii_hexdigit) {
        return Some(HASH_PREFIX);
    }
    let letters = bytes.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    (letters >= 4 && letters != HASH_PREFIX && bytes[letters..].iter().all(u8::is_ascii_digit))
        .then_some(letters)
}

fn push_lowercase(buffer: &mut String, text: &str) {
    if text.is_ascii() {
        let start = buffer.len();
        buffer.push_str(text);
        buffer[start..].make_ascii_lowercase();
        return;
    }
    for c in text.chars() {
        // Full-width letters and digits, as CJK keyboards type them.
        let c = match c {
            '\u{FF01}'..='\u{FF5E}' => char::from_u32(c as u32 - 0xFEE0).unwrap_or(c),
            _ => c,
        };
        buffer.extend(c.to_lowercase());
    }
}

#[cfg(test)]
mod tests;
