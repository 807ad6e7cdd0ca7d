//! Finds credentials in text and masks them.
//!
//! This crate is the one place that decides what a credential is. [`redact()`] masks a text, a [`Redactor`] masks text that comes in
//! pieces: a key, a token or a password is replaced by `[redacted:KIND]`, all else stays to the byte. Whoever must not write a
//! credential at all asks [`Redacted::is_clean`].
//!
//! - **Rules are data** (`rules/`), each behind keywords: text without any of them costs one pass, and a line with one costs its own
//!   length. Examples of each rule, both ways, are in `tests/data/rules.txt`.
//! - **Statements** (`stated.rs`): "the password of the staging admin is VALUE", "密码改成了 VALUE". The value must look like one: letters
//!   with digits or signs, digits only, words in quotes. A plain word without quotes is not taken for a value.
//! - **Encoded text**: base64 and hex (`encoded.rs`) are masked if what they decode to has a credential; `%XX`, `\uXXXX`, `\xXX`,
//!   `&#NN;`, full-width letters and invisible characters (`views.rs`) are read as what they stand for.
//! - **Tokens in parts** (`split.rs`): split by a blank, a line break, or the end of a string.
//! - **Private keys** over several lines (`pem.rs`).
//!
//! **A line decides for itself**, but for private keys, for a statement whose value stands alone on the next line, and for a token that is
//! split by one line break. So the result is the same however the text is cut into chunks, and what must be held back is bounded: see
//! [`Redactor`].
//!
//! ```
//! use throughline_redact::redact;
//!
//! let note = redact("Staging: postgres://app:s3cr3t-Pw@db.internal/main, commit 4f2a9c1b");
//! assert_eq!(note.text(), "Staging: postgres://app:[redacted:url-password]@db.internal/main, commit 4f2a9c1b");
//! assert_eq!(note.kinds(), ["url-password"]);
//! ```

mod encoded;
mod judge;
mod lines;
mod pem;
mod rules;
mod scan;
mod split;
mod stated;
mod stream;
mod views;

pub use lines::{LONGEST_LINE, LONGEST_SECRET};
pub use stream::{Piece, Redactor};

use std::fmt;

/// Text in which no known secret is left. Only [`redact()`] makes one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redacted {
    text: String,
    kinds: Vec<&'static str>,
}

impl Redacted {
    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text alone.
    pub fn into_text(self) -> String {
        self.text
    }

    /// What was taken out; a kind is named once for each place.
    pub fn kinds(&self) -> &[&'static str] {
        &self.kinds
    }

    /// Kinds of what was taken out, each once.
    pub fn distinct_kinds(&self) -> Vec<&'static str> {
        let mut kinds = self.kinds.clone();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Whether nothing was taken out.
    pub fn is_clean(&self) -> bool {
        self.kinds.is_empty()
    }
}

impl fmt::Display for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// How what was taken out is written.
const MARK: &str = "[redacted:";

/// Takes secrets out of a text. Doing it twice changes nothing more.
pub fn redact(text: &str) -> Redacted {
    let piece = if text.len() < LONGEST_LINE && !pem::may_begin(text.as_bytes()) {
        // No line is cut, and no key goes over lines: most texts are short.
        let mut piece = Piece::default();
        scan::clean(text.as_bytes(), &mut piece);
        piece
    } else {
        let mut redactor = Redactor::new();
        let mut piece = redactor.push(text.as_bytes());
        let rest = redactor.finish();
        piece.bytes.extend_from_slice(&rest.bytes);
        piece.kinds.extend_from_slice(&rest.kinds);
        piece
    };
    if piece.kinds.is_empty() {
        return Redacted { text: text.to_owned(), kinds: Vec::new() };
    }
    // Places begin and end between characters: what is left of a text is one.
    let text = String::from_utf8(piece.bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Redacted { text, kinds: piece.kinds }
}

/// All that is looked for: kinds with their patterns, over bytes.
pub fn patterns() -> impl Iterator<Item = (&'static str, &'static str)> {
    rules::all().map(|rule| (rule.kind, rule.pattern))
}

/// Writes the mark of a kind.
fn mark(kind: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(MARK.as_bytes());
    out.extend_from_slice(kind.as_bytes());
    out.push(b']');
}
