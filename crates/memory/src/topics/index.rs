//! `MEMORY.md`: a line per memory (M1, M6). Lines that are not ours stay as they are.

use super::Repair;
use super::document::line_end;
use super::names::is_topic;
use super::yaml::one_line;
use percent_encoding::percent_decode_str;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Lines of the index that a session is told.
pub const INDEX_LINES: usize = 200;
/// Bytes of the index that a session is told.
pub const INDEX_BYTES: usize = 25_000;

/// Characters of a line are fewer than this.
const LINE: usize = 150;
/// Characters of a title that leave room for a hook.
const TITLE: usize = 48;

/// The line of a memory: `- [Title](file.md) — hook`.
pub(super) fn line(name: &str, file: &str, hook: &str) -> String {
    let target = if file.contains([' ', '(', ')', '<', '>']) {
        format!("<{}>", file.replace('<', "%3C").replace('>', "%3E"))
    } else {
        file.to_owned()
    };
    let mut title = String::new();
    for c in cut(&one_line(name), TITLE).chars() {
        // A bracket behind one would end the title.
        if matches!(c, '[' | ']' | '\\') || (c == '(' && title.ends_with(']')) {
            title.push('\\');
        }
        title.push(c);
    }
    let lead = format!("- [{title}]({target})");
    // A line with a second link is a person's, not ours: what looks like one is written so that it is none.
    let hook = &one_line(hook).replace("](", "]\\(");
    let room = (LINE - 1).saturating_sub(lead.chars().count() + " — ".chars().count());
    let hook = cut(hook, room);
    if hook.is_empty() { lead } else { format!("{lead} — {hook}") }
}

/// At most so many characters, the ellipsis included.
fn cut(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let Some(kept) = chars.checked_sub(1) else { return String::new() };
    let kept: String = text.chars().take(kept).collect();
    format!("{}…", kept.trim_end())
}

/// The file that a line points to, if the line is a pointer to a memory and nothing else: an item of a list that begins with a
/// link into this folder, and holds no other link.
pub(super) fn pointer(line: &str) -> Option<String> {
    let item = line.trim_start().strip_prefix(['-', '*', '+'])?.strip_prefix(' ')?.trim_start();
    let (_, rest) = item.strip_prefix('[')?.split_once("](")?;
    let (target, rest) = match rest.strip_prefix('<') {
        Some(angled) => angled.split_once(">)")?,
        None => rest.split_once(')')?,
    };
    let target = percent_decode_str(target.trim()).decode_utf8().ok()?;
    let target = target.strip_prefix("./").unwrap_or(&target);
    (is_topic(target) && !rest.contains("](")).then(|| target.to_owned())
}

/// The index with a memory's line: in the place of its old one, else at the end.
pub(super) fn with(index: &str, file: &str, line: &str) -> String {
    let eol = line_end(index);
    let mut out = String::with_capacity(index.len() + line.len() + 2);
    let mut is_there = false;
    for old in index.split_inclusive('\n') {
        if !is_there && pointer(old).as_deref() == Some(file) {
            is_there = true;
            out.push_str(line);
            out.push_str(ending(old));
        } else {
            out.push_str(old);
        }
    }
    if !is_there {
        append(&mut out, line, eol);
    }
    out
}

/// The index without a memory's lines.
pub(super) fn without(index: &str, file: &str) -> String {
    index.split_inclusive('\n').filter(|line| pointer(line).as_deref() != Some(file)).collect()
}

/// The files that the index points to.
pub(super) fn pointers(index: &str) -> BTreeSet<String> {
    index.lines().filter_map(pointer).collect()
}

/// The index with a line for each file that has none, and without lines whose files are gone. `lines` has the files that are
/// there, with the line that each would get.
pub(super) fn repaired(
    index: &str,
    lines: &[(String, String)],
    is_gone: impl Fn(&str) -> bool,
) -> (String, Repair) {
    let eol = line_end(index);
    let mut repair = Repair::default();
    let mut out = String::with_capacity(index.len());
    for line in index.split_inclusive('\n') {
        match pointer(line) {
            Some(file) if is_gone(&file) => repair.dropped.push(file),
            Some(_) | None => out.push_str(line),
        }
    }
    let known = pointers(index);
    for (file, line) in lines {
        if !known.contains(file) {
            append(&mut out, line, eol);
            repair.added.push(file.clone());
        }
    }
    (out, repair)
}

fn append(out: &mut String, line: &str, eol: &str) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push_str(eol);
    }
    out.push_str(line);
    out.push_str(eol);
}

fn ending(line: &str) -> &'static str {
    match line.strip_suffix('\n') {
        Some(rest) if rest.ends_with('\r') => "\r\n",
        Some(_) => "\n",
        None => "",
    }
}

/// How much of an index is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexLimits {
    /// Lines at most.
    pub lines: usize,
    /// Then bytes at most.
    pub bytes: usize,
}

impl Default for IndexLimits {
    fn default() -> Self {
        Self { lines: INDEX_LINES, bytes: INDEX_BYTES }
    }
}

/// What is told of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPart {
    /// The lines, and below them one that says so if there are more.
    pub text: String,
    /// How many lines of the index there are.
    pub lines: usize,
    /// How many bytes they have.
    pub bytes: usize,
    /// Whether that is all of it.
    pub is_whole: bool,
}

/// What a session is told of the index (M6): at most so many lines, then at most so many bytes, cut at a line end, and a line
/// that says so. `None` if there is nothing to tell.
pub(super) fn for_session(index: &str, limits: IndexLimits) -> Option<IndexPart> {
    if index.trim().is_empty() {
        return None;
    }
    let total = index.lines().count();
    let mut told = String::new();
    let mut lines = 0;
    for line in index.split_inclusive('\n').take(limits.lines) {
        if told.len() + line.len() > limits.bytes {
            break;
        }
        told.push_str(line);
        lines += 1;
    }
    if lines == 0 && limits.lines > 0 {
        // One line that is too long by itself.
        told.push_str(throughline_core::text::head(index, limits.bytes));
    }
    let bytes = told.len();
    let is_whole = bytes == index.len();
    if !is_whole {
        if !told.is_empty() && !told.ends_with('\n') {
            told.push('\n');
        }
        let IndexLimits { lines: most, bytes } = limits;
        // Writing to a string can't fail.
        let _ = writeln!(
            told,
            "> WARNING: MEMORY.md is too long: {lines} of its {total} lines are shown (limits: {most} lines, \
             {bytes} bytes). Keep one short line per memory, move details into the files, and forget what is outdated."
        );
    }
    Some(IndexPart { text: told, lines, bytes, is_whole })
}
