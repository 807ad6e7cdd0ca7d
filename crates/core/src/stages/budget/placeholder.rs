//! The text that stands for a result that was put aside: written here, and recognised again.

use crate::recall;
use crate::text::{head, tail};
use std::ops::Range;

const OPENING: &str = "<persisted-output>\nOutput too large (";
const CLOSING: &str = "\n</persisted-output>";
const SAVED: &str = "Full output saved to: ";
const HANDLE: &str = "[recall:";

/// Characters of a row of a saved text. Longer lines are read back as several rows.
pub const ROW_CHARS: usize = 2_000;

/// A placeholder, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    /// Characters of the whole result.
    pub chars: usize,
    /// The handle that `Recall` takes, where the model has that tool.
    pub handle: Option<String>,
    /// The file that holds the whole result, where it is named.
    pub path: Option<String>,
}

/// Recognises a placeholder of this stage: the text of a result, or of its first text part.
///
/// ```
/// use throughline_core::stages::budget::recognise;
///
/// let text = "<persisted-output>\nOutput too large (70000 chars). Full output saved to: /s/a.txt\n[recall:k3f9x2]\n\n\
///             Preview (first 2 KB):\nabc\n</persisted-output>";
/// let found = recognise(text).expect("a placeholder");
/// assert_eq!((found.chars, found.handle.as_deref()), (70_000, Some("k3f9x2")));
/// assert_eq!(found.path.as_deref(), Some("/s/a.txt"));
/// assert_eq!(recognise("abc"), None);
/// ```
pub fn recognise(text: &str) -> Option<Placeholder> {
    let rest = text.strip_prefix(OPENING)?.strip_suffix(CLOSING)?;
    let (chars, rest) = rest.split_once(" chars)")?;
    let header = rest.split_once("\n\n").map_or(rest, |(header, _)| header);
    let after = |mark: &str, end: char| {
        let found = header.split_once(mark)?.1;
        Some(found.split(end).next().unwrap_or_default().to_owned())
    };
    Some(Placeholder {
        chars: chars.parse().ok()?,
        handle: after(HANDLE, ']'),
        path: after(SAVED, '\n').filter(|path| !path.is_empty()),
    })
}

/// The rows of a saved text as they are read back: its lines, those over [`ROW_CHARS`] in pieces.
///
/// ```
/// use throughline_core::stages::budget::{ROW_CHARS, rows};
///
/// let text = format!("a\n{}\nb\n", "x".repeat(ROW_CHARS + 1));
/// assert_eq!(rows(&text).map(str::len).collect::<Vec<_>>(), [1, ROW_CHARS, 1, 1]);
/// ```
pub fn rows(text: &str) -> impl Iterator<Item = &str> {
    text.strip_suffix('\n').unwrap_or(text).split('\n').flat_map(|line| {
        let mut left = Some(line);
        std::iter::from_fn(move || {
            let line = left?;
            let end = line.char_indices().nth(ROW_CHARS).map_or(line.len(), |(at, _)| at);
            let (row, rest) = line.split_at(end);
            left = Some(rest).filter(|rest| !rest.is_empty());
            Some(row)
        })
    })
}

/// Where the whole result can be read.
pub(super) struct Source {
    /// The file, where the model or a person can open it.
    pub(super) path: Option<String>,
    /// Whether the model can open that file.
    pub(super) is_readable: bool,
    /// The handle for `Recall`, where the model has it.
    pub(super) handle: Option<String>,
}

impl Source {
    fn header(&self, chars: usize) -> String {
        let mut header = format!("{OPENING}{chars} chars).");
        if let Some(path) = &self.path {
            header.push_str(&format!(" {SAVED}{path}"));
        }
        match (&self.path, &self.handle) {
            (Some(_), Some(handle)) => header.push_str(&format!("\n{HANDLE}{handle}]")),
            (None, Some(handle)) => header.push_str(&format!(" Read it with Recall: {HANDLE}{handle}]")),
            (_, None) => {}
        }
        header
    }

    /// The beginning of a text, as the source system shows it.
    pub(super) fn preview(&self, chars: usize, text: &str, bytes: usize) -> String {
        let (header, size, shown) = (self.header(chars), size(bytes), head(text, bytes));
        format!("{header}\n\nPreview (first {size}):\n{shown}{CLOSING}")
    }

    /// The beginning and the end of a text, and how to read what is between them.
    pub(super) fn head_and_tail(&self, chars: usize, text: &str, bytes: usize) -> String {
        let Range { start, end } = left_out(text, bytes);
        let missing = text[start..end].chars().count();
        let how = match (&self.path, &self.handle) {
            (Some(_), _) if self.is_readable => {
                format!(". Go on with Read of that file, `offset` {}", row_at(text, start))
            }
            (_, Some(_)) => format!(". Go on with Recall, from \"{}\"", recall::position_at(text, start)),
            (_, None) => String::new(),
        };
        format!(
            "{}\n\nBeginning:\n{}\n[… {missing} characters left out{how} …]\nEnd:\n{}{CLOSING}",
            self.header(chars),
            text[..start].trim_end_matches('\n'),
            &text[end..]
        )
    }
}

/// The row that holds a byte of a text, counting from one.
fn row_at(text: &str, at: usize) -> usize {
    let before = &text[..at];
    match before.is_empty() || before.ends_with('\n') {
        true => rows(before).count() + usize::from(!before.is_empty()),
        false => rows(before).count(),
    }
}

/// What is left out of a text of which at most `bytes` are shown: cut at line ends, where that loses little.
fn left_out(text: &str, bytes: usize) -> Range<usize> {
    // A line end is looked for in this part of what is shown.
    const NEAR: usize = 8;
    let (first, last) = (head(text, bytes.div_ceil(2)), tail(text, bytes / 2));
    let near = bytes / NEAR;
    let start = match first.rfind('\n') {
        Some(at) if first.len() - at <= near => at + 1,
        Some(_) | None => first.len(),
    };
    let skip = match last.find('\n') {
        Some(at) if at <= near => at + 1,
        Some(_) | None => 0,
    };
    start..(text.len() - last.len() + skip).max(start)
}

fn size(bytes: usize) -> String {
    if bytes >= 1_024 && bytes.is_multiple_of(1_024) {
        format!("{} KB", bytes / 1_024)
    } else {
        format!("{bytes} bytes")
    }
}
