//! A part of a file, as a model gets to see it: numbered lines, and how to read on.

use crate::files::Part;
use crate::tools::file_call::counted;
use crate::{Shown, ToolOutput};
use std::fmt::Write as _;
use std::io::Read;
use throughline_core::stages::budget::rows;

/// Lines where the model names no limit.
const LINES: u64 = 2000;
/// Characters of a line.
const LINE_CHARS: usize = 2000;
/// Bytes of an answer.
const BYTES: usize = 256 * 1024;

/// Which lines are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// The first, from one.
    pub(super) offset: u64,
    limit: Option<u64>,
}

impl Range {
    pub(super) fn new(offset: Option<u64>, limit: Option<u64>) -> Self {
        Self { offset: offset.unwrap_or(1).max(1), limit: limit.filter(|limit| *limit > 0) }
    }

    pub(super) fn is_default(&self) -> bool {
        self.offset == 1 && self.limit.is_none()
    }

    /// The last line that is wanted, where there are as many.
    pub(super) fn last(&self) -> u64 {
        self.offset.saturating_add(self.limit.unwrap_or(LINES) - 1)
    }
}

/// What is shown of a file.
#[derive(Debug)]
pub(super) struct Page {
    range: Range,
    /// Bytes at most.
    most: usize,
    text: String,
    /// The last line shown; zero for none.
    to: u64,
    /// Lines looked at so far.
    seen: u64,
    is_full: bool,
    is_cut: bool,
    /// Whether `seen` is all there are.
    is_end_known: bool,
}

impl Page {
    fn new(range: Range) -> Self {
        Self {
            range,
            most: BYTES,
            text: String::new(),
            to: 0,
            seen: 0,
            is_full: false,
            is_cut: false,
            is_end_known: false,
        }
    }

    /// A page of a text that is all there.
    pub(super) fn of(text: &str, range: Range) -> Self {
        let mut page = Self::new(range);
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            page.line(line, 0);
        }
        page.is_end_known = true;
        page
    }

    /// A page of a text that was saved for the model to read back: of at most `most` bytes, with long lines as several rows, so
    /// that every character can be reached.
    pub(super) fn of_saved(text: &str, range: Range, most: usize) -> Self {
        let mut page = Self { most: most.min(BYTES), ..Self::new(range) };
        rows(text).for_each(|row| page.line(row, 0));
        page.is_end_known = true;
        page
    }

    /// Takes the next line, of which `missing` characters or more were left out before.
    fn line(&mut self, line: &str, missing: usize) {
        self.seen += 1;
        if self.seen < self.range.offset || self.is_full {
            return;
        }
        if self.seen > self.range.last() {
            self.is_full = true;
            return;
        }
        let line = line.strip_suffix('\r').unwrap_or(line);
        let end = line.char_indices().nth(LINE_CHARS).map_or(line.len(), |(at, _)| at);
        let cut = line[end..].chars().count() + missing;
        if !self.text.is_empty() && self.text.len() + end + 64 > self.most {
            self.is_full = true;
            return;
        }
        // Writing to a string does not fail.
        let _ = write!(self.text, "{}\t{}", self.seen, &line[..end]);
        if cut > 0 {
            self.is_cut = true;
            let _ = write!(self.text, "… [{cut} more characters]");
        }
        self.text.push('\n');
        self.to = self.seen;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.to == 0
    }

    pub(super) fn total(&self) -> u64 {
        self.seen
    }

    pub(super) fn part(&self) -> Part {
        let is_whole = self.is_end_known && !self.is_cut && self.range.offset == 1 && self.to == self.seen;
        if is_whole { Part::Whole } else { Part::Lines { from: self.range.offset, to: self.to } }
    }

    /// The answer, with a note where the file is not what one expects.
    pub(super) fn output(self, note: Option<&str>) -> ToolOutput {
        let Self { range: Range { offset: from, .. }, to, seen, is_end_known, .. } = self;
        let mut text = self.text;
        let next = to + 1;
        let of = if is_end_known { format!(" of {seen}") } else { String::new() };
        // Writing to a string does not fail.
        let _ = match (from == 1, is_end_known && to == seen) {
            (true, true) => Ok(()),
            (false, true) => write!(text, "[Lines {from}–{to}{of}: the end of the file.]"),
            (_, false) => write!(text, "[Lines {from}–{to}{of}. Read on with `offset` {next}.]"),
        };
        if let Some(note) = note {
            let _ = write!(text, "[The file is {note}.]");
        }
        let lines = counted(to - from + 1, "line", "lines");
        ToolOutput::done(text).shown(Shown::Line(format!("{lines}{of}")))
    }
}

/// A page of a file that is read no further than the page goes. Lines are held only as far as they are shown. `hear` gets every
/// chunk, and can stop it.
pub(super) fn stream(
    mut file: impl Read,
    range: Range,
    mut hear: impl FnMut(&[u8]) -> Result<(), String>,
) -> Result<Page, String> {
    const HELD: usize = LINE_CHARS * 4;
    let mut page = Page::new(range);
    let mut chunk = vec![0; 64 * 1024];
    let mut line: Vec<u8> = Vec::new();
    let mut missing = 0;
    loop {
        let count = match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(format!("reading failed: {error}")),
        };
        hear(&chunk[..count])?;
        let mut rest = &chunk[..count];
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let piece = &rest[..end.unwrap_or(rest.len())];
            let held = piece.len().min(HELD.saturating_sub(line.len()));
            line.extend_from_slice(&piece[..held]);
            missing += piece.len() - held;
            match end {
                None => break,
                Some(end) => {
                    page.line(&String::from_utf8_lossy(&line), missing);
                    line.clear();
                    missing = 0;
                    rest = &rest[end + 1..];
                }
            }
            if page.is_full {
                return Ok(page);
            }
        }
    }
    if !line.is_empty() {
        page.line(&String::from_utf8_lossy(&line), missing);
    }
    page.is_end_known = true;
    Ok(page)
}
