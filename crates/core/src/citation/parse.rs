//! Where a block ends, and what it says.

use super::{CLOSE, OPEN};
use crate::SessionId;
use serde::{Deserialize, Serialize};

/// Bytes that a block has at most. What is longer is no block: nothing is held back for ever.
pub const MOST_BYTES: usize = 16 << 10;
/// Places, and sessions, that a citation names at most.
pub const MOST_CITED: usize = 64;
/// Bytes of a path, of a note and of an id.
const MOST_PATH: usize = 300;
const MOST_NOTE: usize = 500;
const MOST_ID: usize = 128;

/// What an answer made use of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// Lines of files, those that mattered most first.
    pub entries: Vec<CitedLines>,
    /// Sessions whose memories they are, each once. That there are such sessions nobody has checked.
    pub sessions: Vec<SessionId>,
}

/// Lines of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitedLines {
    /// The file, in the handbook's folder.
    pub path: String,
    /// The first line, counted from one.
    pub first: u32,
    /// The last.
    pub last: u32,
    /// What it was used for.
    pub note: String,
}

impl Citation {
    /// Whether it names nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.sessions.is_empty()
    }

    /// Adds what another block of the same answer names.
    pub fn add(&mut self, other: Self) {
        other.entries.into_iter().for_each(|entry| self.add_entry(entry));
        other.sessions.into_iter().for_each(|session| self.add_session(session));
    }

    fn add_entry(&mut self, entry: CitedLines) {
        if self.entries.len() < MOST_CITED && !self.entries.contains(&entry) {
            self.entries.push(entry);
        }
    }

    fn add_session(&mut self, session: SessionId) {
        if self.sessions.len() < MOST_CITED && !self.sessions.contains(&session) {
            self.sessions.push(session);
        }
    }
}

/// The lists of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    Entries,
    Sessions,
}

const LISTS: [(&str, &str, List); 3] = [
    ("<citation_entries>", "</citation_entries>", List::Entries),
    ("<rollout_ids>", "</rollout_ids>", List::Sessions),
    // As it was called before.
    ("<thread_ids>", "</thread_ids>", List::Sessions),
];

/// What a text that begins with the opening tag is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nobody knows before more of it comes.
    Open,
    /// Somebody speaks of the tag.
    Mention,
    /// A block of so many bytes.
    Block(usize, Citation),
}

/// What a text that begins with the opening tag is; `is_whole`: no more will come. A verdict other than [`Verdict::Open`] stays the same however
/// the text goes on.
pub(super) fn judge(text: &str, is_whole: bool) -> Verdict {
    let window = crate::text::head(text, MOST_BYTES);
    match parse(window, is_whole && window.len() == text.len()) {
        Verdict::Open if text.len() >= MOST_BYTES => Verdict::Mention,
        verdict @ (Verdict::Open | Verdict::Mention | Verdict::Block(..)) => verdict,
    }
}

fn parse(text: &str, is_whole: bool) -> Verdict {
    let mut citation = Citation::default();
    let mut at = OPEN.len();
    // Where the last list ends.
    let mut listed = None;
    loop {
        let Some(rest) = text.get(at..) else { return Verdict::Mention };
        let tail = rest.trim_ascii_start();
        at += rest.len() - tail.len();
        if tail.starts_with(CLOSE) {
            return Verdict::Block(at + CLOSE.len(), citation);
        }
        if let Some((open, close, list)) = LISTS.iter().find(|(open, ..)| tail.starts_with(open)) {
            let body = &tail[open.len()..];
            let end = body.find(close).map(|end| (end, close.len()));
            // A list that is not closed ends with the block.
            let end = end.into_iter().chain(body.find(CLOSE).map(|end| (end, 0))).min();
            match end {
                Some((end, tag)) => {
                    read(*list, &body[..end], &mut citation);
                    at += open.len() + end + tag;
                    listed = Some(at);
                }
                None if !is_whole => return Verdict::Open,
                None if is_list(*list, body) => {
                    read(*list, body, &mut citation);
                    return Verdict::Block(text.len(), citation);
                }
                None => return listed.map_or(Verdict::Mention, |end| Verdict::Block(end, citation)),
            }
            continue;
        }
        let may_come = LISTS.iter().map(|(open, ..)| *open).chain([CLOSE]).any(|tag| tag.starts_with(tail));
        return match (may_come && !is_whole, listed) {
            (true, _) => Verdict::Open,
            // A tag that broke off is none of the user's words; anything else is.
            (false, Some(_)) if may_come => Verdict::Block(text.len(), citation),
            (false, Some(end)) => Verdict::Block(end, citation),
            (false, None) => Verdict::Mention,
        };
    }
}

/// Whether all lines are such as stand in a list. The last may have broken off: then it has no white space.
fn is_list(list: List, body: &str) -> bool {
    let is_line = |line: &str| match list {
        List::Entries => entry(line).is_some() || line.contains("|note=["),
        List::Sessions => session(line).is_some(),
    };
    let mut lines = body.lines().map(str::trim).rev();
    let last = if body.ends_with('\n') { None } else { lines.next() };
    last.is_none_or(|line| is_line(line) || !line.contains(char::is_whitespace))
        && lines.filter(|line| !line.is_empty()).all(is_line)
}

fn read(list: List, body: &str, citation: &mut Citation) {
    for line in body.lines().map(str::trim) {
        match list {
            List::Entries => entry(line).into_iter().for_each(|entry| citation.add_entry(entry)),
            List::Sessions => session(line).into_iter().for_each(|session| citation.add_session(session)),
        }
    }
}

/// `path:start-end|note=[…]`; the note may be missing, and the end.
fn entry(line: &str) -> Option<CitedLines> {
    let (place, note) = match line.rsplit_once("|note=[") {
        Some((place, note)) => (place, note.strip_suffix(']').unwrap_or(note)),
        None => (line, ""),
    };
    let (path, lines) = place.trim().rsplit_once(':')?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let number = |text: &str| {
        let digits = text.trim();
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u32>().ok()).flatten()
    };
    let (first, last) = (number(first)?, number(last)?);
    let is_plain = !path.is_empty() && path.len() <= MOST_PATH && !path.contains(char::is_control);
    (is_plain && first >= 1 && last >= first).then(|| CitedLines {
        path: path.to_owned(),
        first,
        last,
        note: crate::text::head(note.trim(), MOST_NOTE).to_owned(),
    })
}

/// An id, if a line can be one.
fn session(line: &str) -> Option<SessionId> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_id = (1..=MOST_ID).contains(&line.len()) && line.chars().all(is_plain);
    is_id.then(|| SessionId::from(line.to_owned()))
}
