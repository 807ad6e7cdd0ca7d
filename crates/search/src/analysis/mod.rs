//! The lexer that all of our ranking shares, and how the index library is given its tokens.

mod tokenizer;

pub(crate) use throughline_lexer::{
    ASKS, Initials, Kind, LABEL, Lexer, Stemmer, TIME, Token, is_question_word, is_stopword,
};
pub(crate) use tokenizer::{PathTokenizer, TextTokenizer};
