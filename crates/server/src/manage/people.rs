//! What a person does with a conversation: take back what was decided about it, and pause.

use super::{ManageError, Thread, World};
use jiff::Timestamp;
use serde_json::json;
use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::atomic::Ordering;
use throughline_core::pipeline::Journal;
use throughline_core::{Edit, EditId, Entry, Event, MessageId, Op, Origin, Record, SessionId, Stage, View};
use throughline_engine::LedgerJournal;
use throughline_ledger::{LedgerError, SyncPolicy, Writer, resume, resume_until, session};

/// By which way a person said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// A button of the page.
    Page,
    /// A control call.
    Control,
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Page => "on the page",
            Self::Control => "by a control call",
        })
    }
}

/// The event that says whether a conversation is paused.
pub(super) const PAUSED: &str = "proxy.paused";

impl Thread {
    /// Takes back a change of the view. What comes back by it is protected from every stage from here on, until this in turn is
    /// taken back.
    pub(crate) fn undo(&self, target: &EditId, by: By) -> Result<session::Undone, ManageError> {
        let now = (self.world.now)();
        let undone =
            self.work_anew(|working| Ok(undo(&self.world, &mut working.journal, target, (now, by))?))?;
        self.world.counters.edit(Stage::User);
        Ok(undone)
    }

    /// Lets requests go as they came, or no longer. Meanwhile nothing is decided about them, recorded or counted.
    pub(crate) fn pause(&self, on: bool, by: By) -> Result<(), ManageError> {
        let event = Event {
            at: Some((self.world.now)()),
            name: PAUSED.to_owned(),
            data: json!({ "on": on, "by": by.to_string() }),
        };
        self.work_anew(|working| {
            working.journal.append(Record::Event(Box::new(event)))?;
            self.paused.store(on, Ordering::Relaxed);
            Ok(())
        })
    }

    /// Whether its requests go as they came.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed)
    }
}

/// Whether a conversation is paused, by what its ledger says last.
pub(super) fn paused_in(events: &[Event]) -> bool {
    let last = events.iter().rev().find(|event| event.name == PAUSED);
    last.is_some_and(|event| event.data["on"] == true)
}

/// Takes back a change of a conversation that no client is known to hold.
pub(crate) fn undo_at_rest(
    world: &World,
    id: &SessionId,
    target: &EditId,
    by: By,
) -> Result<session::Undone, LedgerError> {
    let path = world.home.find_exact(id)?;
    let writer = Writer::open(&world.home, &path, SyncPolicy::Turn)?;
    let mut journal = LedgerJournal::new(writer, &world.home.root().join("sessions-data").join(id.as_str()));
    let undone = undo(world, &mut journal, target, ((world.now)(), by))?;
    journal.end_turn()?;
    Ok(undone)
}

fn undo(
    world: &World,
    journal: &mut LedgerJournal,
    target: &EditId,
    (now, by): (Timestamp, By),
) -> Result<session::Undone, LedgerError> {
    let path = journal.path().to_owned();
    let view = resume(&world.home, &path)?.view;
    let what = session::describe(&world.home, &path, target)?;
    if let Err(error) = view.check_undo(target) {
        return Err(if what.is_some() {
            error
        } else {
            throughline_core::UndoError::Unknown(target.clone())
        }
        .into());
    }
    if view.edits().any(|(id, live)| id == target && !live) {
        return Err(LedgerError::AlreadyUndone(target.clone()));
    }
    let mut ops = vec![Op::Undo { edit: target.clone() }];
    let messages = coming_back(world, &path, &view, target)?;
    if !messages.is_empty() {
        ops.push(Op::Pin { messages });
    }
    let edit = Edit {
        id: EditId::fresh(),
        at: Some(now),
        stage: Stage::User,
        reason: format!("undid {target} {by}"),
        freed: None,
        ops,
    };
    let by = edit.id.clone();
    journal.append(Record::Edit(Box::new(edit)))?;
    Ok(session::Undone { target: target.clone(), what: what.unwrap_or_default(), by })
}

/// The messages that are shown otherwise once a change is taken back, with what must not be parted from them. Without a pin the
/// stage that made the change would make it again at once.
fn coming_back(
    world: &World,
    path: &Path,
    view: &View,
    target: &EditId,
) -> Result<Vec<MessageId>, LedgerError> {
    let (offset, is_undo) = find(world, path, target)?;
    if is_undo {
        // Its pins go with it, and what it took back is in force again.
        return Ok(Vec::new());
    }
    let after = if view.base_checkpoint() == Some(target) {
        resume_until(&world.home, path, offset)?.view
    } else {
        let mut after = view.clone();
        after.edit(
            Edit {
                id: EditId::fresh(),
                at: None,
                stage: Stage::User,
                reason: String::new(),
                freed: None,
                ops: vec![Op::Undo { edit: target.clone() }],
            },
            Origin::default(),
        );
        after
    };
    let now: HashSet<(&MessageId, usize)> = view.entries().iter().map(looks).collect();
    let back: HashSet<MessageId> = after
        .entries()
        .iter()
        .filter(|entry| !now.contains(&looks(entry)))
        .map(|entry| entry.message.id.clone())
        .collect();
    Ok(after.together(&back))
}

/// Tells whether an entry is shown as before: taking back a change only ever takes replacements away.
fn looks(entry: &Entry) -> (&MessageId, usize) {
    (&entry.message.id, entry.overlays.len())
}

/// Where the line of a change begins, and whether that change took another back.
fn find(world: &World, path: &Path, target: &EditId) -> Result<(u64, bool), LedgerError> {
    let mut found = (0, false);
    session::each_record::<LedgerError>(&world.home, path, &mut |origin, record| {
        match record {
            Record::Edit(edit) if edit.id == *target => {
                found = (origin.offset, edit.undoes().next().is_some());
            }
            Record::Checkpoint(checkpoint) if checkpoint.id == *target => found = (origin.offset, false),
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
