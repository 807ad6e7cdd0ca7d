//! Where a value comes from.

use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// A place in a file, counted from one; columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

/// Who set a key. The later win.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Origin {
    /// Nobody: the built-in value.
    Default,
    /// The user's file.
    User(Place),
    /// The project's file.
    Project(Place),
    /// A variable.
    Environment {
        /// Its name.
        variable: String,
    },
    /// The command line.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("built in"),
            Self::User(place) | Self::Project(place) => place.fmt(f),
            Self::Environment { variable } => write!(f, "the variable {variable}"),
            Self::Flag => f.write_str("the command line"),
        }
    }
}

/// Finds places in one text without counting from its beginning each time.
pub(super) struct Lines<'a> {
    file: &'a Path,
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(file: &'a Path, text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { file, text, starts }
    }

    pub(super) fn place(&self, offset: usize) -> Place {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|line| self.starts.get(line)).copied().unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default();
        Place { file: self.file.to_owned(), line, column: before.chars().count() + 1 }
    }
}
