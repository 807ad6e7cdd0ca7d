//! `MEMORY.md`: a line per memory (M1, M6). Lines that are not ours stay as they are.

use super::document::line_end;
use super::names::is_topic;
use super::yaml::one_line;
use super::{Repair, TopicType};
use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use std::collections::{BTreeMap, BTreeSet};
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

/// Lines of ours that the index has room for, however many lines of others are in it.
const RESERVED: usize = 20;

/// A memory's place in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    /// The line that we would write for it.
    pub(super) line: String,
    pub(super) rank: Rank,
}

/// What is kept when the index is full: the greatest. The newest correction is the last to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub(super) is_live: bool,
    pub(super) kind: Kept,
    pub(super) modified: Timestamp,
}

/// How dear a type is, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kept {
    Reference,
    Project,
    User,
    Feedback,
}

impl From<Option<TopicType>> for Kept {
    fn from(kind: Option<TopicType>) -> Self {
        match kind {
            Some(TopicType::Reference) => Self::Reference,
            Some(TopicType::Project) | None => Self::Project,
            Some(TopicType::User) => Self::User,
            Some(TopicType::Feedback) => Self::Feedback,
        }
    }
}

/// Whether a session is told all of it.
fn fits(index: &str) -> bool {
    index.len() <= INDEX_BYTES && index.lines().count() <= INDEX_LINES
}

/// The index cut down to what a session is told: lines of ours give way, least rank first. Lines that are worded otherwise than ours
/// are somebody's own and stay. If those alone are too many, the best of ours stand before them, where no cut takes them.
pub(super) fn fitted(index: &str, placed: impl Fn(&str) -> Option<Placed>) -> String {
    if fits(index) {
        return index.to_owned();
    }
    let mut lines: Vec<(&str, Option<Rank>)> = index
        .split_inclusive('\n')
        .map(|line| {
            let placed = pointer(line).and_then(|file| placed(&file));
            (line, placed.filter(|placed| placed.line == line.trim_end()).map(|placed| placed.rank))
        })
        .collect();
    let mut size: usize = index.len();
    let mut ranks: Vec<(Rank, usize)> =
        lines.iter().enumerate().filter_map(|(at, (_, rank))| Some(((*rank)?, at))).collect();
    ranks.sort_unstable();
    let mut ours = ranks.len();
    let mut count = lines.len();
    let mut evicted: BTreeSet<usize> = BTreeSet::new();
    for (rank, at) in ranks {
        if (size <= INDEX_BYTES && count <= INDEX_LINES) || (ours <= RESERVED && rank.is_live) {
            break;
        }
        evicted.insert(at);
        size -= lines[at].0.len();
        ours -= 1;
        count -= 1;
    }
    let mut at = 0;
    lines.retain(|_| {
        at += 1;
        !evicted.contains(&(at - 1))
    });
    lifted(&lines, line_end(index))
}

/// The lines as a text. If a cut would take one of ours, ours come first: before all lists, or before everything.
fn lifted(lines: &[(&str, Option<Rank>)], eol: &str) -> String {
    let mut size = 0;
    let is_cut = lines.iter().enumerate().any(|(at, (line, rank))| {
        size += line.len();
        rank.is_some() && (at >= INDEX_LINES || size > INDEX_BYTES)
    });
    if !is_cut {
        return lines.iter().map(|(line, _)| *line).collect();
    }
    let is_ours = |(_, rank): &&(&str, Option<Rank>)| rank.is_some();
    let ours: Vec<&str> = lines.iter().filter(is_ours).map(|(line, _)| *line).collect();
    let others: Vec<&str> = lines.iter().filter(|line| !is_ours(line)).map(|(line, _)| *line).collect();
    let list = others.iter().position(|line| pointer(line).is_some()).unwrap_or(0);
    let before: usize = others[..list].iter().chain(&ours).map(|line| line.len() + eol.len()).sum();
    let list = if list + ours.len() <= INDEX_LINES && before <= INDEX_BYTES { list } else { 0 };
    let mut out = String::new();
    for line in others[..list].iter().chain(&ours) {
        append(&mut out, line.trim_end_matches(['\r', '\n']), eol);
    }
    out + &others[list..].concat()
}

/// The index put in order: without lines whose memories are gone or over, with a line for each memory that has none as far as there is
/// room. `memories` has those that are there.
pub(super) fn repaired(
    index: &str,
    memories: &BTreeMap<String, Placed>,
    is_gone: impl Fn(&str) -> bool,
) -> (String, Repair) {
    let eol = line_end(index);
    let mut repair = Repair::default();
    let mut out = String::with_capacity(index.len());
    for line in index.split_inclusive('\n') {
        match pointer(line) {
            Some(file)
                if is_gone(&file) || memories.get(&file).is_some_and(|placed| !placed.rank.is_live) =>
            {
                repair.dropped.push(file);
            }
            Some(_) | None => out.push_str(line),
        }
    }
    let known = pointers(&out);
    let mut missing: Vec<(&String, &Placed)> =
        memories.iter().filter(|(file, placed)| placed.rank.is_live && !known.contains(*file)).collect();
    // Of those that can't all have a line, the best do; and new lines are at the end of an index, oldest first.
    missing.sort_by(|(a, one), (b, two)| two.rank.cmp(&one.rank).then_with(|| a.cmp(b)));
    missing.truncate(INDEX_LINES);
    missing.sort_by_key(|(file, placed)| (placed.rank.modified, (*file).clone()));
    for (_, placed) in &missing {
        append(&mut out, &placed.line, eol);
    }
    let text = fitted(&out, |file| memories.get(file).cloned());
    let kept = pointers(&text);
    repair.added =
        missing.iter().filter(|(file, _)| kept.contains(*file)).map(|(file, _)| (*file).clone()).collect();
    repair.evicted = known.difference(&kept).cloned().collect();
    (text, repair)
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
    // Alone an index is told from its beginning; beside others, which take room, what matters least gives way first.
    let part = if limits == IndexLimits::default() { index.to_owned() } else { shortened(index, limits) };
    let mut told = String::new();
    let mut lines = 0;
    for line in part.split_inclusive('\n').take(limits.lines) {
        if told.len() + line.len() > limits.bytes {
            break;
        }
        told.push_str(line);
        lines += 1;
    }
    if lines == 0 && limits.lines > 0 {
        // One line that is too long by itself.
        told.push_str(throughline_core::text::head(&part, limits.bytes));
    }
    let bytes = told.len();
    let is_whole = bytes == index.len();
    if !is_whole {
        if !told.is_empty() && !told.ends_with('\n') {
            told.push('\n');
        }
        let total = index.lines().count();
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

/// The index without as many memories' lines as it takes to fit: corrections are the last, and of equals the newer one is, which
/// stands below. Lines that people wrote stay.
fn shortened(index: &str, limits: IndexLimits) -> String {
    let mut lines: Vec<Option<&str>> = index.split_inclusive('\n').map(Some).collect();
    let (mut count, mut bytes) = (lines.len(), index.len());
    let correction = format!("{}_", TopicType::Feedback);
    let mut pointers: Vec<(bool, usize)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(file) = line.and_then(pointer) {
            pointers.push((file.starts_with(&correction), at));
        }
    }
    pointers.sort_unstable();
    for (_, at) in pointers {
        if count <= limits.lines && bytes <= limits.bytes {
            break;
        }
        if let Some(line) = lines.get_mut(at).and_then(Option::take) {
            (count, bytes) = (count - 1, bytes - line.len());
        }
    }
    lines.into_iter().flatten().collect()
}
