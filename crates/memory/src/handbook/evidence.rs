//! What a statement rests on.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use throughline_core::{MessageId, SessionId};

/// A place that bears a statement out.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "in", rename_all = "snake_case")]
pub enum Evidence {
    /// A message of a session.
    Message {
        /// The session.
        session: SessionId,
        /// The message.
        message: MessageId,
        /// When it was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Timestamp>,
    },
    /// A note that somebody wrote by hand (H6): its file among the handbook's notes.
    Note {
        /// The file's name.
        file: String,
    },
}

impl Evidence {
    /// The short name by which the handbook's text refers to it.
    pub fn key(&self) -> EvidenceKey {
        let mut hasher = blake3::Hasher::new();
        let (kind, first, second) = match self {
            Self::Message { session, message, at: _ } => ("message", session.as_str(), message.as_str()),
            Self::Note { file } => ("note", file.as_str(), ""),
        };
        for part in [kind, first, second] {
            hasher.update(part.as_bytes()).update(&[0]);
        }
        EvidenceKey(format!("e{}", &hasher.finalize().to_hex()[..EvidenceKey::DIGITS]))
    }

    /// The session, if it is a message.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Message { session, .. } => Some(session),
            Self::Note { .. } => None,
        }
    }
}

/// `e` and ten hexadecimal digits: the same place has the same key for ever, so that a text with keys stays true when
/// other evidence comes and goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct EvidenceKey(String);

impl EvidenceKey {
    const DIGITS: usize = 10;

    /// Reads a key; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('e')?;
        let is_hex = digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        (digits.len() == Self::DIGITS && is_hex).then(|| Self(text.to_owned()))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EvidenceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_depends_on_the_place_alone_and_reads_back() {
        let of = |session: &str, message: &str, at| Evidence::Message {
            session: session.into(),
            message: message.into(),
            at,
        };
        let key = of("s", "m", None).key();
        assert_eq!(key, of("s", "m", Some(Timestamp::UNIX_EPOCH)).key());
        assert_ne!(key, of("sm", "", None).key());
        assert_ne!(key, Evidence::Note { file: "s".to_owned() }.key());
        assert_eq!(EvidenceKey::parse(key.as_str()), Some(key));
        for odd in ["", "e", "e123", "x0123456789", "e012345678g", "e0123456789a"] {
            assert_eq!(EvidenceKey::parse(odd), None, "{odd}");
        }
    }
}
