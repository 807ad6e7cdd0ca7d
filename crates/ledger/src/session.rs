//! What people do with sessions. Each of these is one more line in a ledger; nothing is rewritten.

use crate::home::Home;
use crate::lines::{Content, ForwardLines, open_at};
use crate::resume::messages_in;
use crate::{LedgerError, Problem, Reader, Resumed, SyncPolicy, Writer, resume, resume_until};
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use throughline_core::{
    Checkpoint, Edit, EditId, ForkPoint, Item, MessageId, Meta, Op, Origin, Record, SessionId, Stage,
    UndoError, View,
};

/// Begins a new session where another one stood, without copying: at a message, or at its end.
pub fn fork(home: &Home, path: &Path, at: Option<&MessageId>, now: Timestamp) -> Result<Writer, LedgerError> {
    let resumed = resume(home, path)?;
    let (session, path, offset, message) = match at {
        None => (resumed.session.clone(), path.to_owned(), resumed.end, resumed.view.head().cloned()),
        Some(id) => {
            let (session, path, offset) = locate(home, path, &resumed, id)?;
            let end = line_end(&path, offset)?;
            (session, path, end, Some(id.clone()))
        }
    };
    let mut meta = Meta::new(SessionId::fresh(), now, "throughline");
    meta.cwd = resumed.card.as_ref().and_then(|card| card.cwd.clone());
    meta.forked_from = Some(ForkPoint { session, path: home.relative(&path), offset, message });
    let mut writer = Writer::create(home, meta, SyncPolicy::Turn)?;
    let parent = resumed.card.unwrap_or_default();
    let taken = resume(home, writer.path())?.view;
    writer.update_card(|card| {
        card.messages = taken.entries().len() as u64;
        card.turns = taken.entries().iter().filter(|entry| entry.message.is_real_user()).count() as u64;
        card.title = parent.title.map(|title| format!("{title} (fork)"));
        card.prompt = parent.prompt;
        // It holds the same text, so the same goes for memories of it.
        card.memory_mode = parent.memory_mode;
    })?;
    writer.end_turn()?;
    Ok(writer)
}

/// Every record of a session in the order it was written, those that a fork took over from its parents first. Returns
/// what could not be read.
pub fn each_record<E: From<LedgerError>>(
    home: &Home,
    path: &Path,
    take: &mut dyn FnMut(Origin, Record) -> Result<(), E>,
) -> Result<Vec<Problem>, E> {
    // The files to read and how far, the session's own last.
    let mut files = vec![(path.to_owned(), u64::MAX)];
    while let Some(fork) = newest_fork_point(home, &files[0].0)? {
        let Ok(parent) = home.find_exact(&fork.session) else { break };
        if files.iter().any(|(seen, _)| *seen == parent) {
            break;
        }
        files.insert(0, (parent, fork.offset));
    }
    let mut problems = Vec::new();
    for (path, until) in files {
        let mut reader = Reader::open(home, &path, 0)?;
        while let Some((origin, record)) = reader.next_record()? {
            if origin.offset >= until {
                break;
            }
            take(origin, record)?;
        }
        problems.append(&mut reader.problems);
    }
    Ok(problems)
}

fn newest_fork_point(home: &Home, path: &Path) -> Result<Option<ForkPoint>, LedgerError> {
    let mut reader = Reader::open(home, path, 0)?;
    let mut fork = None;
    while let Some((_, record)) = reader.next_record()? {
        if let Record::Meta(meta) = record {
            fork = meta.forked_from;
        }
    }
    Ok(fork)
}

/// The ledger and the line that hold a message: the view knows most, the files know all.
fn locate(
    home: &Home,
    path: &Path,
    resumed: &Resumed,
    id: &MessageId,
) -> Result<(SessionId, PathBuf, u64), LedgerError> {
    if let Some(entry) = resumed.view.entries().iter().find(|entry| entry.message.id == *id) {
        return match &entry.origin.session {
            None => Ok((resumed.session.clone(), path.to_owned(), entry.origin.offset)),
            Some(session) => Ok((session.clone(), home.find_exact(session)?, entry.origin.offset)),
        };
    }
    let mut here = (resumed.session.clone(), path.to_owned(), u64::MAX);
    let mut seen = std::collections::HashSet::new();
    while seen.insert(here.1.clone()) {
        let (session, path, until) = here;
        let mut reader = Reader::open(home, &path, 0)?;
        let mut parent = None;
        while let Some((origin, record)) = reader.next_record()? {
            // What a parent said after the fork left it is not the fork's.
            if origin.offset >= until {
                break;
            }
            if let Record::Meta(meta) = &record {
                parent = meta.forked_from.as_ref().map(|fork| (fork.session.clone(), fork.offset));
            }
            if messages_in(record).iter().any(|message| message.id == *id) {
                return Ok((session, path, origin.offset));
            }
        }
        let Some((session, offset)) = parent else { break };
        let path = home.find_exact(&session)?;
        here = (session, path, offset);
    }
    Err(LedgerError::NoMessage { session: resumed.session.clone(), message: id.clone() })
}

fn line_end(path: &Path, offset: u64) -> Result<u64, LedgerError> {
    let mut lines = ForwardLines::new(open_at(path, offset)?, path, offset);
    let length = match lines.next_line()? {
        Some(line) => {
            let end = u64::from(line.complete);
            match line.bytes {
                Content::Whole(bytes) => bytes.len() as u64 + end,
                Content::TooLong(bytes) => bytes + end,
            }
        }
        None => 0,
    };
    Ok(offset + length)
}

/// Takes the last `turns` real user messages, and everything after them, out of the view. Returns the edit to undo.
pub fn rollback(home: &Home, path: &Path, turns: usize, now: Timestamp) -> Result<EditId, LedgerError> {
    let mut writer = Writer::open(home, path, SyncPolicy::Turn)?;
    let view = resume(home, path)?.view;
    let op = rewind_turns(&view, turns)?;
    let edit = user_edit(now, format!("rolled back {turns} turn(s)"), op);
    let id = edit.id.clone();
    writer.append(&[Record::Edit(Box::new(edit))])?;
    writer.end_turn()?;
    Ok(id)
}

/// The rewind that takes the last `turns` real user messages out of a view.
pub fn rewind_turns(view: &View, turns: usize) -> Result<Op, LedgerError> {
    let starts: Vec<usize> = view
        .entries()
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.message.is_real_user())
        .map(|(at, _)| at)
        .collect();
    let there = starts.len();
    let Some(&first) = there.checked_sub(turns).filter(|_| turns > 0).and_then(|n| starts.get(n)) else {
        return Err(LedgerError::TooFewTurns { asked: turns, there });
    };
    let to = first.checked_sub(1).and_then(|at| view.entries().get(at)).map(|entry| entry.message.id.clone());
    Ok(Op::Rewind { to })
}

/// What an undo did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// What was taken back.
    pub target: EditId,
    /// What that was, for people.
    pub what: String,
    /// The edit that took it back: undoing this one redoes it.
    pub by: EditId,
}

/// Takes back an edit or checkpoint: the named one, or the newest in force that is not itself an undo.
pub fn undo(home: &Home, path: &Path, target: Option<EditId>, now: Timestamp) -> Result<Undone, LedgerError> {
    let mut writer = Writer::open(home, path, SyncPolicy::Turn)?;
    let view = resume(home, path)?.view;
    let Some(target) = target.or_else(|| view.newest_undoable().cloned()) else {
        return Err(LedgerError::NothingToUndo);
    };
    let what = describe(home, path, &target)?;
    if let Err(error) = view.check_undo(&target) {
        return Err(if what.is_some() { error } else { UndoError::Unknown(target) }.into());
    }
    if view.edits().any(|(id, live)| *id == target && !live) {
        return Err(LedgerError::AlreadyUndone(target));
    }
    let edit = user_edit(now, format!("undid {target}"), Op::Undo { edit: target.clone() });
    let by = edit.id.clone();
    writer.append(&[Record::Edit(Box::new(edit))])?;
    writer.end_turn()?;
    Ok(Undone { target, what: what.unwrap_or_default(), by })
}

/// The view as it was just before a message was said, whatever was done to it since.
pub fn before(home: &Home, path: &Path, id: &MessageId) -> Result<View, LedgerError> {
    let resumed = resume(home, path)?;
    let (session, file, offset) = locate(home, path, &resumed, id)?;
    let view = resume_until(home, &file, offset)?.view;
    if session == resumed.session {
        return Ok(view);
    }
    // Said before the fork: its lines are the parent's.
    let entries = view.entries().iter().cloned().map(|mut entry| {
        entry.origin.session.get_or_insert_with(|| session.clone());
        entry
    });
    Ok(View::from_entries(entries.collect()))
}

/// What an edit or checkpoint was; `None` where the session has none of that id.
pub fn describe(home: &Home, path: &Path, id: &EditId) -> Result<Option<String>, LedgerError> {
    let mut found = None;
    each_record::<LedgerError>(home, path, &mut |_, record| {
        match record {
            Record::Edit(edit) if edit.id == *id => {
                let by = format!("{:?}", edit.stage).to_lowercase();
                let reason =
                    if edit.reason.is_empty() { String::new() } else { format!(" ({})", edit.reason) };
                found = Some(format!("the {by} edit{}{reason}", on(edit.at)));
            }
            Record::Checkpoint(checkpoint) if checkpoint.id == *id => {
                found = Some(format!("the compaction{} ({})", on(checkpoint.at), checkpoint.strategy));
            }
            Record::Edit(_)
            | Record::Checkpoint(_)
            | Record::Meta(_)
            | Record::Message(_)
            | Record::Turn(_)
            | Record::Event(_)
            | Record::Card(_) => {}
        }
        Ok(())
    })?;
    Ok(found)
}

fn on(at: Option<Timestamp>) -> String {
    at.map(|at| format!(" of {}", at.strftime("%Y-%m-%d %H:%M UTC"))).unwrap_or_default()
}

fn user_edit(now: Timestamp, reason: String, op: Op) -> Edit {
    Edit { id: EditId::fresh(), at: Some(now), stage: Stage::User, reason, freed: None, ops: vec![op] }
}

/// Names a session.
pub fn set_title(home: &Home, path: &Path, title: Option<String>) -> Result<(), LedgerError> {
    let mut writer = Writer::open(home, path, SyncPolicy::Turn)?;
    writer.update_card(|card| card.title = title)?;
    writer.end_turn()
}

/// Adds and removes tags. Returns the tags it has now.
pub fn change_tags(
    home: &Home,
    path: &Path,
    add: &[String],
    remove: &[String],
) -> Result<Vec<String>, LedgerError> {
    let mut writer = Writer::open(home, path, SyncPolicy::Turn)?;
    writer.update_card(|card| {
        card.tags.retain(|tag| !remove.contains(tag));
        for tag in add {
            if !card.tags.contains(tag) {
                card.tags.push(tag.clone());
            }
        }
    })?;
    writer.end_turn()?;
    Ok(writer.card().tags.clone())
}

/// A checkpoint that replaces `view` by `items`.
pub fn checkpoint(now: Timestamp, strategy: &str, trigger: &str, items: Vec<Item>) -> Checkpoint {
    Checkpoint {
        id: EditId::fresh(),
        at: Some(now),
        strategy: strategy.to_owned(),
        trigger: trigger.to_owned(),
        tokens_before: None,
        tokens_after: None,
        check: None,
        preserved: None,
        items,
    }
}
