//! What opens the page and the control calls.

use std::fmt;
use uuid::Uuid;

/// A secret that a person holds. It is never shown but where it is asked for.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Box<str>);

impl Token {
    /// One that nobody knows yet.
    pub fn fresh() -> Self {
        // Two random ids: 244 random bits.
        Self(format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()).into())
    }

    /// One that is kept somewhere.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// For whoever may know it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether somebody has it. How long this takes does not tell how much of it was right.
    pub fn is(&self, given: &str) -> bool {
        blake3::hash(self.0.as_bytes()) == blake3::hash(given.as_bytes())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}
