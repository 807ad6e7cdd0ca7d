//! Shell commands, read well enough to judge them.
//!
//! Architecture invariant: **reading never fails, and never guesses**. Whatever the reader does not know for certain is a
//! [`Doubt`] about the line or a [`Kind::Dynamic`] word, and both count as "not harmless" to whoever asks. Nothing is run,
//! expanded or looked up: the same text is always judged the same way.

mod flags;
mod git;
mod hidden;
mod programs;
mod quoting;
mod reach;
mod read_only;
mod reader;
mod word;

pub(super) use hidden::hidden;
pub(super) use reach::{Reach, is_destructive, peel, reach};
pub(super) use read_only::{ReadOnly, has_harmless_variables, read_only};
pub(super) use word::{Body, Kind, Simple, Target, Word, base_name};

/// Why a line can't be judged as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// It has more characters than are read.
    Long,
    /// It is nested deeper than is read.
    Deep,
    /// Something is not closed.
    Unclosed,
    /// A word of the shell's grammar.
    Keyword(String),
    /// A function or an array.
    Function,
    /// Arithmetic, which can run commands.
    Arithmetic,
    /// An expansion that is not understood.
    Expansion,
    /// A redirection that is not understood.
    Redirection,
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Long => f.write_str("it is too long to be judged"),
            Self::Deep => f.write_str("it is nested too deeply to be judged"),
            Self::Unclosed => f.write_str("something in it is not closed"),
            Self::Keyword(word) => write!(f, "it uses `{word}`"),
            Self::Function => f.write_str("it defines a function or an array"),
            Self::Arithmetic => f.write_str("it uses arithmetic, which can run commands"),
            Self::Expansion => f.write_str("it uses an expansion that is not judged"),
            Self::Redirection => f.write_str("it uses a redirection that is not judged"),
        }
    }
}

/// A command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// Every simple command in it: those in pipes, lists, groups and substitutions too.
    pub(super) simple: Vec<Simple>,
    /// Texts that are given as input (here-documents); [`Simple::bodies`] points here.
    pub(super) bodies: Vec<Body>,
    /// Why it can't be judged as a whole.
    pub(super) doubt: Option<Doubt>,
}

impl Line {
    /// Reads a line.
    pub(super) fn read(text: &str) -> Self {
        let mut line = Self::default();
        reader::Reader::new(text, 0, &mut line).run();
        line
    }

    /// Notes a doubt. The first one stays.
    fn doubt(&mut self, doubt: Doubt) {
        self.doubt.get_or_insert(doubt);
    }

    /// The texts that a command is given as input.
    pub(super) fn bodies_of<'a>(&'a self, simple: &'a Simple) -> impl Iterator<Item = &'a Body> {
        simple.bodies.iter().filter_map(|at| self.bodies.get(*at))
    }
}
