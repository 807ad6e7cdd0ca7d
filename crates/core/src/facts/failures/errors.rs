//! Errors that commands and tools reported, and what closes them.

use super::report::without_colours;
use super::{PlacedCheck, ShellResult};
use crate::MessageId;
use crate::text::{head, one_line, tail};

/// Errors that are remembered.
const MOST_ERRORS: usize = 400;
/// How much of an output is read, from each end: runners sum up at the end.
const LOOK: usize = 6_000;

/// An error that a command or tool reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorFact {
    /// The line that says it.
    pub line: String,
    /// What reported it: a command line, or a tool with its argument.
    pub source: String,
    /// No later success covers it.
    open: bool,
    /// When it was last seen, as a position in the session.
    pub seen: u64,
    /// The message that shows it.
    pub message: MessageId,
    subject: Subject,
    /// Whether a file that it names was changed since.
    is_edited: bool,
}

/// Messages after which nobody can say any more whether an error of a command, or of an edit, still stands: the work went on without
/// it. Checks are run again, so theirs stand until they pass.
const COMMAND_AGE: u64 = 60;
const EDIT_AGE: u64 = 20;

impl ErrorFact {
    /// Returns true if a later success covers it.
    pub fn is_closed(&self) -> bool {
        !self.open
    }

    /// Returns true if it stands at a position in the session, as far as can be told.
    pub fn is_open(&self, now: u64) -> bool {
        let age = now.saturating_sub(self.seen);
        let is_recent = match &self.subject {
            Subject::Check(_) => true,
            Subject::Command(_) => age <= COMMAND_AGE,
            Subject::Edit(_) => age <= EDIT_AGE,
        };
        self.open && is_recent
    }
}

/// What failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// A run of tests, a build, a linter.
    Check(PlacedCheck),
    /// Another command, by its key.
    Command(String),
    /// Changes of files.
    Edit(Vec<String>),
}

/// All errors of a session, newest last.
#[derive(Clone, Debug, Default)]
pub(super) struct Errors {
    all: Vec<ErrorFact>,
}

impl Errors {
    pub(super) fn all(&self) -> &[ErrorFact] {
        &self.all
    }

    /// Adds the errors of a failed call. They replace those that the same subject reported before.
    pub(super) fn open(&mut self, lines: Vec<String>, subject: Subject, result: &ShellResult<'_>) {
        match &subject {
            Subject::Check(placed) => self.close_checks(placed),
            Subject::Command(key) => self.close_command(key),
            Subject::Edit(paths) => paths.iter().for_each(|path| self.close_edits(path)),
        }
        let source = match &subject {
            Subject::Edit(paths) => format!("edit {}", paths.join(" ")),
            Subject::Check(_) | Subject::Command(_) => crate::text::middle_cut(result.command.trim(), 600),
        };
        for line in lines {
            self.all.retain(|known| known.line != line);
            self.all.push(ErrorFact {
                line,
                source: source.clone(),
                open: true,
                seen: result.seen,
                message: result.message.clone(),
                subject: subject.clone(),
                is_edited: false,
            });
        }
        super::super::trim_front(&mut self.all, MOST_ERRORS);
    }

    /// Closes what a successful check covers, and errors of the same runner in files that were changed since.
    pub(super) fn close_checks(&mut self, placed: &PlacedCheck) {
        self.close(|error| match &error.subject {
            Subject::Check(failed) => {
                let is_same_runner = failed.check.name == placed.check.name && placed.shares_project(failed);
                placed.covers(failed) || placed.repairs(failed) || (error.is_edited && is_same_runner)
            }
            Subject::Command(_) | Subject::Edit(_) => false,
        });
    }

    /// Closes the errors of a command that works now.
    pub(super) fn close_command(&mut self, key: &str) {
        self.close(|error| match &error.subject {
            Subject::Command(failed) => failed == key,
            Subject::Check(_) | Subject::Edit(_) => false,
        });
    }

    /// Takes in that a file was changed.
    pub(super) fn edited(&mut self, path: &str) {
        self.close_edits(path);
        let name = path.rsplit('/').next().unwrap_or(path);
        for error in self.all.iter_mut().filter(|error| error.open && error.line.contains(name)) {
            error.is_edited = true;
        }
    }

    fn close_edits(&mut self, path: &str) {
        self.close(|error| match &error.subject {
            Subject::Edit(paths) => {
                paths.iter().any(|failed| path.ends_with(failed.as_str()) || failed.ends_with(path))
            }
            Subject::Check(_) | Subject::Command(_) => false,
        });
    }

    fn close(&mut self, is_closed: impl Fn(&ErrorFact) -> bool) {
        for error in self.all.iter_mut().filter(|error| error.open) {
            error.open = !is_closed(error);
        }
    }
}

/// At most so many lines of a failed output that say what went wrong, in order; of its beginning and end.
pub fn error_lines(output: &str, most: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in ends(output) {
        let line = without_colours(line);
        let line = line.trim();
        if says_error(line) && found.len() < most {
            let line = one_line(line, 240);
            if !found.contains(&line) {
                found.push(line);
            }
        }
    }
    if found.is_empty()
        && let Some(last) = tail(output, LOOK).lines().rev().find(|line| !is_frame(line.trim()))
        && last.chars().filter(|c| c.is_alphabetic()).count() >= 8
    {
        found.push(one_line(&without_colours(last), 240));
    }
    found
}

/// Whether an output holds a line that says an error.
pub(super) fn says_failed(output: &str) -> bool {
    ends(output).any(|line| says_error(line.trim()))
}

/// The lines at both ends of an output.
fn ends(output: &str) -> impl Iterator<Item = &str> {
    let start = head(output, LOOK);
    let rest = &output[start.len()..];
    start.lines().chain(tail(rest, LOOK).lines())
}

/// Lines that a client puts around an output: a command that printed nothing said nothing.
fn is_frame(line: &str) -> bool {
    const FRAMES: [&str; 12] = [
        "(no output)",
        "<no output>",
        "(Bash completed with no output)",
        "Output:",
        "Exit status ",
        "exit status ",
        "Exit code",
        "Process exited",
        "Wall time",
        "Chunk ID",
        "Original token count",
        "Total output lines",
    ];
    line.is_empty() || FRAMES.iter().any(|frame| line.starts_with(frame))
}

/// Beginnings of lines that say an error.
const ERROR_STARTS: [&str; 14] = [
    "error",
    "Error",
    "ERROR",
    "fatal",
    "FATAL",
    "panic",
    "thread '",
    "Exception",
    "Traceback",
    "--- FAIL",
    "FAILED",
    "E   ",
    "✕",
    "✗",
];
/// Parts of lines that say an error.
const ERROR_PARTS: [&str; 7] =
    ["Error: ", "error: ", " error TS", "undefined: ", "cannot find", "No such file", "not found"];

/// Whether a line says an error.
pub(super) fn says_error(line: &str) -> bool {
    line.len() >= 6
        && !line.starts_with("Error Context: ")
        && (ERROR_STARTS.iter().any(|start| line.starts_with(start))
            || ERROR_PARTS.iter().any(|part| line.contains(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_failed_in_silence_leaves_no_error_line() {
        assert!(error_lines("Chunk ID: 1\nProcess exited with code 1\nOutput:\n", 3).is_empty());
        assert_eq!(error_lines("Exit code 2\nnothing to do", 3), ["nothing to do"]);
    }

    #[test]
    fn errors_are_found_in_long_output() {
        let output = format!(
            "{}error[E0308]: mismatched types\n  --> src/a.rs:3:5\n",
            "   Compiling x\n".repeat(9_000)
        );
        assert_eq!(error_lines(&output, 3), ["error[E0308]: mismatched types"]);
    }
}
