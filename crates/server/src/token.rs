//! What opens the page and the control calls.

use std::fmt;
use uuid::Uuid;

/// A secret that a person holds. It is never shown but where it is asked for.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Box<str>);

/// What a secret derived from the token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Derived {
    /// Proves that a browser opened the page with the token. Other servers of this machine get it too, as cookies know no ports: it
    /// is of no use as a bearer token.
    Cookie,
    /// Proves that a form is one of ours.
    Form,
}

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

    /// Another secret that whoever has this one can make, and that does not tell this one.
    pub(crate) fn derived(&self, purpose: Derived) -> String {
        let context = match purpose {
            Derived::Cookie => "throughline 2026-11 cookie of the page",
            Derived::Form => "throughline 2026-11 form of the page",
        };
        blake3::Hash::from_bytes(blake3::derive_key(context, self.0.as_bytes())).to_hex().to_string()
    }

    /// Whether somebody has what is derived from it.
    pub(crate) fn derives(&self, purpose: Derived, given: &str) -> bool {
        Self::new(&self.derived(purpose)).is(given)
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
