//! What is wrong with a handbook's text.

use std::fmt;

/// Something that does not read as it should. Nothing is lost by it, unless it says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// In which file.
    pub file: BookFile,
    /// In which line, counted from 1.
    pub line: usize,
    /// What.
    pub what: FlawKind,
}

/// The files that a book is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BookFile {
    /// `MEMORY.md`.
    Memory,
    /// `EVIDENCE.md`.
    Evidence,
}

impl BookFile {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "MEMORY.md",
            Self::Evidence => "EVIDENCE.md",
        }
    }
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlawKind {
    /// A bullet names no evidence: it is kept as text, and is no statement of the book.
    NoEvidence,
    /// A bullet has evidence and says nothing: it is kept as text.
    NoStatement,
    /// A bullet names evidence that is not known.
    UnknownKey(String),
    /// A statement is longer than a line should be.
    TooLong {
        /// Characters that it has.
        chars: usize,
        /// Characters that it may have.
        most: usize,
    },
    /// A heading is none of the book's; what stands below is kept as text.
    UnknownSection(String),
    /// Text between the bullets: it is kept, and is no statement of the book.
    Loose,
    /// A line of the header, or of the evidence, can't be read.
    Unreadable(String),
}

impl fmt::Display for FlawKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEvidence => {
                f.write_str("the bullet names no evidence; end it with keys, as [e0123456789]")
            }
            Self::NoStatement => f.write_str("the bullet has evidence and says nothing"),
            Self::UnknownKey(key) => write!(f, "`{key}` is no key of any evidence at hand"),
            Self::TooLong { chars, most } => {
                write!(f, "the statement has {chars} characters, over the limit of {most}; shorten it")
            }
            Self::UnknownSection(heading) => write!(f, "`## {heading}` is none of the book's sections"),
            Self::Loose => f.write_str("this is neither a heading nor a bullet"),
            Self::Unreadable(why) => f.write_str(why),
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.name(), self.line, self.what)
    }
}
