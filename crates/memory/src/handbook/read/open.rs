//! A file of a handbook, read with limits.

use super::{Reading, Volume};
use crate::handbook::phase2::{Phase2Error, SKILLS};
use throughline_core::text::head;

/// Bytes that are given at once.
const MOST_BYTES: usize = 20_000;
/// Lines that are given at once.
const MOST_LINES: usize = 400;
/// Bytes of one line.
const LINE_BYTES: usize = 2_000;
const PREFIX: &str = "handbook/";

/// Lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The file, as it can be cited.
    pub path: String,
    /// The lines, each with its number.
    pub text: String,
    /// The first and the last that are given.
    pub lines: (usize, usize),
    /// How many the file has.
    pub of: usize,
}

/// Why a file was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is no path of a handbook.
    #[error(
        "{0:?} is no file of a handbook; paths begin with handbook/project/ or handbook/global/, as searches give them"
    )]
    Path(String),
    /// It is not there.
    #[error("there is no {0}; search for it")]
    Missing(String),
    /// It has fewer lines.
    #[error("{path} has {of} lines")]
    Lines {
        /// Which.
        path: String,
        /// How many.
        of: usize,
    },
    /// It can't be read.
    #[error(transparent)]
    Folder(#[from] Phase2Error),
}

/// Whether a path means a handbook's file.
pub(super) fn is_path(path: &str) -> bool {
    path.starts_with(PREFIX)
}

pub(super) fn open(
    reading: &Reading,
    path: &str,
    lines: Option<(usize, usize)>,
) -> Result<Opened, OpenError> {
    let (path, bytes) = find(reading, path.trim())?;
    let text = String::from_utf8_lossy(&bytes);
    let of = text.lines().count();
    let (from, to) = lines.unwrap_or((1, usize::MAX));
    let from = from.max(1);
    if from > of.max(1) || to < from {
        return Err(OpenError::Lines { path, of });
    }
    let mut shown = String::new();
    let mut last = from.saturating_sub(1);
    for (n, line) in text.lines().enumerate().skip(from - 1).take(MOST_LINES) {
        let line = format!("{}\t{}\n", n + 1, head(line, LINE_BYTES));
        if n + 1 > to || (shown.len() + line.len() > MOST_BYTES && !shown.is_empty()) {
            break;
        }
        shown.push_str(&line);
        last = n + 1;
    }
    Ok(Opened { path, text: shown, lines: (from, last), of })
}

fn find(reading: &Reading, path: &str) -> Result<(String, Vec<u8>), OpenError> {
    for volume in Volume::ALL {
        if let Some(inner) = path.strip_prefix(volume.prefix()) {
            return match reading.workspace(volume).read(inner) {
                Ok(Some(bytes)) => Ok((path.to_owned(), bytes)),
                Ok(None) => Err(OpenError::Missing(path.to_owned())),
                Err(Phase2Error::Foreign { .. }) => Err(OpenError::Path(path.to_owned())),
                Err(error) => Err(error.into()),
            };
        }
    }
    // By its name alone: the project's own comes first.
    let name = path.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix("skills/"));
    let Some(name) = name.filter(|name| !name.is_empty() && !name.contains('/')) else {
        return Err(OpenError::Path(path.to_owned()));
    };
    let inner = format!("{SKILLS}/{name}/SKILL.md");
    for volume in Volume::ALL {
        match reading.workspace(volume).read(&inner) {
            Ok(Some(bytes)) => return Ok((format!("{}{inner}", volume.prefix()), bytes)),
            Ok(None) => {}
            Err(Phase2Error::Foreign { .. }) => return Err(OpenError::Path(path.to_owned())),
            Err(error) => return Err(error.into()),
        }
    }
    Err(OpenError::Missing(path.to_owned()))
}
