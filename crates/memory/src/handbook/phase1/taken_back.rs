//! What people took back: turns that they rolled back, and messages that they removed by hand.
//!
//! Words that somebody took back are not theirs any more, so they teach nothing. A rewind that was undone took nothing back, and what a later
//! checkpoint shows again is there again. What is nobody's retraction takes nothing back: a client's history that goes on from elsewhere (it
//! compacted by itself, or its file was replaced), and an imported session that begins anew, as Claude Code's does when a plan is accepted with
//! its context cleared.
//!
//! Edits stand behind what they take away, so they are gathered before the session is read. Only their lines are parsed: the rest of the
//! file passes by as bytes. What is held grows with the number of rewinds, not with the session.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use throughline_core::{Edit, EditId, Item, MessageId, Op, Record, Stage};
use throughline_ledger::{Content, ForwardLines, Home, LedgerError, read_record_at};

const EDIT: &[u8] = br#"{"kind":"edit","#;
const CHECKPOINT: &[u8] = br#"{"kind":"checkpoint","#;
const MESSAGE: &[u8] = br#"{"kind":"message","id":""#;

/// What was taken back in one ledger.
#[derive(Debug, Default)]
pub(super) struct TakenBack {
    /// From the first byte to the second, lines do not count.
    spans: Vec<(u64, u64)>,
    /// Lines that do nevertheless: something shows them again.
    shown: HashMap<u64, u64>,
    removed: HashSet<MessageId>,
}

/// A rewind: where it stands, and behind which message it takes away.
struct Rewind {
    at: u64,
    to: Option<MessageId>,
}

/// A change that matters here.
struct Change {
    id: EditId,
    undoes: Vec<EditId>,
    rewinds: Vec<Rewind>,
    removes: Vec<MessageId>,
    shows: Vec<u64>,
    at: u64,
}

impl TakenBack {
    /// Of a ledger. `is_fork`: what is not in it may be in its parent's.
    pub(super) fn of(home: &Home, path: &Path, is_fork: bool) -> Result<Self, LedgerError> {
        let mut lines = Vec::new();
        each_line(path, |offset, line| {
            let names = |op: &str| memchr::memmem::find(line, op.as_bytes()).is_some();
            let is_edit = line.starts_with(EDIT)
                && [r#""rewind""#, r#""remove""#, r#""undo""#].iter().any(|op| names(op));
            if is_edit || (line.starts_with(CHECKPOINT) && !lines.is_empty()) {
                lines.push(offset);
            }
        })?;
        let mut changes = Vec::new();
        for offset in lines {
            changes.extend(read_record_at(home, path, offset)?.and_then(|record| change(offset, record)));
        }
        let mut taken = Self::default();
        let mut rewinds = Vec::new();
        // Undoing reaches back only: from the end, what is undone is known before it comes.
        let mut undone = HashSet::new();
        for change in changes.into_iter().rev() {
            if undone.contains(&change.id) {
                continue;
            }
            undone.extend(change.undoes);
            rewinds.extend(change.rewinds);
            taken.removed.extend(change.removes);
            for line in change.shows {
                taken.shown.entry(line).or_insert(change.at);
            }
        }
        if rewinds.is_empty() {
            return Ok(taken);
        }
        let mut places: HashMap<&str, Option<u64>> =
            rewinds.iter().filter_map(|rewind| Some((rewind.to.as_ref()?.as_str(), None))).collect();
        each_line(path, |offset, line| {
            if let Some(place) = message_id(line).and_then(|id| places.get_mut(id)) {
                place.get_or_insert(offset);
            }
        })?;
        for Rewind { at, to } in &rewinds {
            let from = match to.as_ref().map(|id| places.get(id.as_str()).copied().flatten()) {
                None => 0,
                Some(Some(offset)) => offset + 1,
                Some(None) if is_fork => 0,
                Some(None) => continue,
            };
            taken.spans.push((from, *at));
        }
        taken.spans.sort_unstable();
        Ok(taken)
    }

    /// Whether a message, in a line that begins here, was taken back.
    pub(super) fn has(&self, offset: u64, id: &MessageId) -> bool {
        let mut spans = self.spans.iter().take_while(|(from, _)| *from <= offset);
        let shown = self.shown.get(&offset).copied().unwrap_or_default();
        spans.any(|(_, until)| offset < *until && shown < *until) || self.removed.contains(id)
    }
}

/// What a line changes of what counts; `None` for most.
fn change(at: u64, record: Record) -> Option<Change> {
    let change = match record {
        Record::Edit(edit) => {
            let is_retraction = is_retraction(&edit);
            let undoes = edit.undoes().cloned().collect();
            let (mut rewinds, mut removes) = (Vec::new(), Vec::new());
            for op in edit.ops {
                match op {
                    Op::Rewind { to } if is_retraction && (to.is_some() || edit.stage == Stage::User) => {
                        rewinds.push(Rewind { at, to });
                    }
                    Op::Remove { messages } if edit.stage == Stage::User => removes.extend(messages),
                    Op::Rewind { .. }
                    | Op::Remove { .. }
                    | Op::Replace { .. }
                    | Op::Fold { .. }
                    | Op::Pin { .. }
                    | Op::Unpin { .. }
                    | Op::Undo { .. } => {}
                }
            }
            Change { id: edit.id, undoes, rewinds, removes, shows: Vec::new(), at }
        }
        Record::Checkpoint(checkpoint) => {
            let shows = checkpoint.items.iter().filter_map(|item| match item {
                Item::Keep { origin, .. } if origin.session.is_none() => Some(origin.offset),
                Item::Keep { .. } | Item::New(_) => None,
            });
            let shows = shows.collect();
            Change {
                id: checkpoint.id,
                undoes: Vec::new(),
                rewinds: Vec::new(),
                removes: Vec::new(),
                shows,
                at,
            }
        }
        Record::Meta(_) | Record::Message(_) | Record::Turn(_) | Record::Event(_) | Record::Card(_) => {
            return None;
        }
    };
    let is_any = !(change.undoes.is_empty()
        && change.rewinds.is_empty()
        && change.removes.is_empty()
        && change.shows.is_empty());
    is_any.then_some(change)
}

/// Whether somebody decided it, or a client's history merely went on from elsewhere.
fn is_retraction(edit: &Edit) -> bool {
    edit.reason != Edit::GOES_ON_ELSEWHERE && edit.reason != Edit::FILE_REPLACED
}

/// The id that a message's line begins with, as our writer puts it.
fn message_id(line: &[u8]) -> Option<&str> {
    let rest = line.strip_prefix(MESSAGE)?;
    let end = memchr::memchr(b'"', rest)?;
    std::str::from_utf8(&rest[..end]).ok()
}

fn each_line(path: &Path, mut take: impl FnMut(u64, &[u8])) -> Result<(), LedgerError> {
    let file = std::fs::File::open(path).map_err(|source| LedgerError::Io {
        action: "open",
        path: path.to_owned(),
        source,
    })?;
    let mut lines = ForwardLines::new(file, path, 0);
    while let Some(line) = lines.next_line()? {
        if let (Content::Whole(bytes), true) = (line.bytes, line.complete) {
            take(line.offset, bytes);
        }
    }
    Ok(())
}
