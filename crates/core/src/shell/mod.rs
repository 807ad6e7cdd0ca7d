//! The shell reader: from a command line to its simple commands.
//!
//! Architecture invariant: **reading never fails, and never guesses**. Whatever the reader does not know for certain is a
//! [`Doubt`] about the line or a [`WordKind::Dynamic`] word. Nothing is run, expanded or looked up: the same text is
//! always read the same way. The permission judge, the facts of a session and the handbook all read commands here.
//!
//! ```
//! use throughline_core::shell::CommandLine;
//!
//! let line = CommandLine::read("cd web && CI=1 npm test 2>&1 | tail -5");
//! let programs: Vec<_> = line.simple.iter().filter_map(|simple| simple.program()).collect();
//! assert_eq!(programs, ["cd", "npm", "tail"]);
//! ```

mod quoting;
mod reader;
mod steps;
mod word;

pub use steps::{Folder, SHELLS, Step, StepStatus, clean_path, line_of_argv};

pub use word::{HereDocument, Joint, Redirect, RedirectTarget, SimpleCommand, Word, WordKind, base_name};

/// Reason why a line cannot be judged as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
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
pub struct CommandLine {
    /// Every simple command in it, also those in pipes, lists, groups and substitutions.
    pub simple: Vec<SimpleCommand>,
    /// Here-documents; [`SimpleCommand::bodies`] points here.
    pub bodies: Vec<HereDocument>,
    /// Reason why it cannot be judged as a whole.
    pub doubt: Option<Doubt>,
}

impl CommandLine {
    /// Reads a line.
    pub fn read(text: &str) -> Self {
        let mut line = Self::default();
        reader::Reader::new(text, 0, &mut line).run();
        line
    }

    /// Records a doubt. The first one stays.
    fn doubt(&mut self, doubt: Doubt) {
        self.doubt.get_or_insert(doubt);
    }

    /// The here-documents of a command.
    pub fn bodies_of<'a>(&'a self, simple: &'a SimpleCommand) -> impl Iterator<Item = &'a HereDocument> {
        simple.bodies.iter().filter_map(|at| self.bodies.get(*at))
    }
}
