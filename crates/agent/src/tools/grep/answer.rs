//! What is told of matches, and what is left out.

use super::Output;
use super::search::Found;
use crate::tools::file_call::counted;
use crate::tools::glob::walk::Unread;
use crate::workspace::Workspace;
use crate::{Shown, ToolOutput};

/// Bytes of an answer.
pub(super) const ROOM: usize = 30_000;

/// The answer, as it grows.
pub(super) struct Answer {
    output: Output,
    text: String,
    /// Lines that may still be shown.
    lines: u64,
    files: u64,
    matches: u64,
    left_out: LeftOut,
    unread: u64,
    is_full: bool,
}

#[derive(Default)]
struct LeftOut {
    files: u64,
    matches: u64,
}

impl Answer {
    pub(super) fn new(output: Output, limit: Option<u64>) -> Self {
        Self {
            output,
            text: String::new(),
            lines: limit.unwrap_or(u64::MAX),
            files: 0,
            matches: 0,
            left_out: LeftOut::default(),
            unread: 0,
            is_full: false,
        }
    }

    /// Takes up what was found in the next file.
    pub(super) fn add(&mut self, found: Found, workspace: &Workspace) {
        self.unread += u64::from(found.is_unread);
        if found.matches == 0 {
            return;
        }
        self.files += 1;
        self.matches += found.matches;
        let path = workspace.shown(&found.path);
        let shown = match self.output {
            Output::Files => u64::from(self.push(&path, true)),
            Output::Count => u64::from(self.push(&format!("{path}:{}", found.matches), true)) * found.matches,
            Output::Content => self.content(&path, &found),
        };
        if shown < found.matches && !(self.output == Output::Files && shown == 1) {
            self.left_out.matches += found.matches - shown;
            self.left_out.files += u64::from(shown == 0);
        }
    }

    /// The lines of a file below its path; how many that match were shown.
    fn content(&mut self, path: &str, found: &Found) -> u64 {
        let gap = if self.text.is_empty() { "" } else { "\n" };
        let first = found.lines.first().map_or(0, |line| line.text.len());
        if self.text.len() + path.len() + first + 3 > ROOM || self.lines == 0 {
            self.is_full = true;
        }
        if self.is_full {
            return 0;
        }
        self.push(&format!("{gap}{path}"), false);
        let mut shown = 0;
        for line in &found.lines {
            if !self.push(&line.text, line.text != "--") {
                break;
            }
            shown += u64::from(line.is_match);
        }
        shown
    }

    /// Adds a line, if there is room; what did not fit once is the end, so that nothing is missing in between.
    fn push(&mut self, line: &str, is_counted: bool) -> bool {
        if self.is_full || (is_counted && self.lines == 0) || self.text.len() + line.len() + 1 > ROOM {
            self.is_full = true;
            return false;
        }
        self.lines -= u64::from(is_counted);
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    pub(super) fn output(self, walked: Unread) -> ToolOutput {
        let files = counted(self.files, "file", "files");
        let matches = counted(self.matches, "line", "lines");
        let shown = Shown::Line(match self.output {
            Output::Files => files,
            Output::Content | Output::Count => format!("{matches} in {files}"),
        });
        let unread = Unread(walked.0 + self.unread).note();
        if self.files == 0 {
            return ToolOutput::done(format!("No match (ignored, hidden and binary files aside).{unread}"))
                .shown(shown);
        }
        let mut text = self.text;
        let LeftOut { files, matches } = self.left_out;
        if matches > 0 {
            let what = match (self.output, files) {
                (Output::Files | Output::Count, files) => counted(files, "more file", "more files"),
                (Output::Content, 0) => counted(matches, "more matching line", "more matching lines"),
                (Output::Content, files) => format!(
                    "{}, {} not shown at all",
                    counted(matches, "more matching line", "more matching lines"),
                    counted(files, "file", "files")
                ),
            };
            text.push_str(&format!(
                "[… {what}: narrow the pattern, the path or the glob, or raise `head_limit`.]"
            ));
        }
        text.push_str(&unread);
        ToolOutput::done(text.trim_end()).shown(shown)
    }
}
