//! The ledger folded once more, with an eye on who took what away.

use super::change::{Change, What};
use super::{Fate, Line, Story};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use throughline_core::{Checkpoint, Edit, EditId, Entry, Item, Message, MessageId, Op, Origin, Record, View};
use throughline_ledger::{Home, LedgerError, session};

enum Step {
    Said(Entry),
    Edit(Arc<Edit>),
    Checkpoint(Arc<Checkpoint>, Vec<Entry>),
}

pub(super) fn read(home: &Home, path: &Path) -> Result<Story, LedgerError> {
    let mut records = Vec::new();
    session::each_record::<LedgerError>(home, path, &mut |origin, record| {
        records.push((origin, record));
        Ok(())
    })?;
    Ok(tell(records))
}

/// What became of the messages of these records.
pub(super) fn tell(records: Vec<(Origin, Record)>) -> Story {
    let mut story = Story::default();
    let mut steps = Vec::with_capacity(records.len());
    for (origin, record) in records {
        match record {
            Record::Message(message) => {
                let entry = Entry::new(*message, origin);
                story.messages.insert(entry.message.id.clone(), entry.message.clone());
                steps.push(Step::Said(entry));
            }
            Record::Edit(edit) => {
                for op in &edit.ops {
                    if let Op::Fold { with, .. } = op {
                        story.messages.insert(with.id.clone(), Arc::new((**with).clone()));
                    }
                }
                steps.push(Step::Edit(Arc::new(*edit)));
            }
            Record::Checkpoint(checkpoint) => {
                let entries = entries_of(&checkpoint, &mut story.messages, &origin);
                steps.push(Step::Checkpoint(Arc::new(*checkpoint), entries));
            }
            Record::Event(event) => story.events.push(*event),
            Record::Meta(_) | Record::Turn(_) | Record::Card(_) => {}
        }
    }
    story.view = fold(&steps);
    let in_force: HashSet<EditId> =
        story.view.edits().filter(|(_, live)| *live).map(|(id, _)| id.clone()).collect();
    let mut telling = Telling::default();
    for step in steps {
        telling.take(step, &in_force);
    }
    telling.finish(&mut story);
    story
}

/// The view, folded at once.
fn fold(steps: &[Step]) -> View {
    let mut view = View::default();
    let mut replay = view.replay();
    for step in steps {
        match step {
            Step::Said(entry) => replay.push(entry.clone()),
            Step::Edit(edit) => replay.edit((**edit).clone(), Origin::default()),
            Step::Checkpoint(checkpoint, entries) => replay.replace(checkpoint, entries.clone()),
        }
    }
    replay.finish();
    view
}

/// What a checkpoint shows; what it names and the ledger lacks is passed over.
fn entries_of(
    checkpoint: &Checkpoint,
    messages: &mut HashMap<MessageId, Arc<Message>>,
    here: &Origin,
) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(checkpoint.items.len());
    for item in &checkpoint.items {
        match item {
            Item::Keep { id, origin, overlays, pinned } => entries.extend(messages.get(id).map(|message| {
                let (overlays, pinned) = (overlays.clone(), pinned.clone());
                Entry { overlays, pinned, ..Entry::of(message.clone(), origin.clone()) }
            })),
            Item::New(message) => {
                let entry = Entry::new((**message).clone(), here.clone());
                messages.insert(message.id.clone(), entry.message.clone());
                entries.push(entry);
            }
        }
    }
    entries
}

/// The steps in force, one by one.
#[derive(Default)]
struct Telling {
    view: View,
    order: Order,
    /// What took each message away, last.
    gone: HashMap<MessageId, (Gone, EditId)>,
    /// Messages that changes brought in.
    brought: HashSet<MessageId>,
    changes: Vec<Change>,
}

#[derive(Clone, Copy)]
enum Gone {
    Condensed,
    Dropped,
    /// By the client.
    Left,
}

impl Telling {
    fn take(&mut self, step: Step, in_force: &HashSet<EditId>) {
        match step {
            Step::Said(entry) => {
                if !entry.message.flags.display_only {
                    self.order.push(entry.message.id.clone());
                }
                self.view.push(entry);
            }
            Step::Edit(edit) => {
                let is_live = in_force.contains(&edit.id);
                let mut took = Vec::new();
                // What an undo takes back is not in force, and so never told.
                if is_live && edit.undoes().next().is_none() {
                    took = self.edit(&edit);
                }
                self.changes.push(Change { what: What::Edit(edit), is_live, took });
            }
            Step::Checkpoint(checkpoint, entries) => {
                let is_live = in_force.contains(&checkpoint.id);
                let mut took = Vec::new();
                if is_live {
                    self.brought.extend(self.order.bring_in(&checkpoint.items));
                    let before = self.shown();
                    self.view.replace(&checkpoint, entries);
                    took = self.went(before, Gone::Condensed, &checkpoint.id);
                }
                self.changes.push(Change { what: What::Checkpoint(checkpoint), is_live, took });
            }
        }
    }

    fn edit(&mut self, edit: &Arc<Edit>) -> Vec<MessageId> {
        let mut how = None;
        for op in &edit.ops {
            match op {
                Op::Fold { first, with, .. } => {
                    how = Some(Gone::Condensed);
                    self.order.insert_before(first, with.id.clone());
                    self.brought.insert(with.id.clone());
                }
                Op::Remove { .. } => how = how.or(Some(Gone::Dropped)),
                Op::Rewind { .. } => how = how.or(Some(Gone::Left)),
                Op::Replace { .. } | Op::Pin { .. } | Op::Unpin { .. } | Op::Undo { .. } => {}
            }
        }
        let before = how.map(|how| (how, self.shown()));
        self.view.edit((**edit).clone(), Origin::default());
        before.map(|(how, before)| self.went(before, how, &edit.id)).unwrap_or_default()
    }

    fn shown(&self) -> Vec<MessageId> {
        self.view.entries().iter().map(|entry| entry.message.id.clone()).collect()
    }

    /// Notes what is no longer shown.
    fn went(&mut self, before: Vec<MessageId>, how: Gone, by: &EditId) -> Vec<MessageId> {
        let after: HashSet<&MessageId> = self.view.entries().iter().map(|entry| &entry.message.id).collect();
        let took: Vec<MessageId> = before.into_iter().filter(|id| !after.contains(id)).collect();
        self.gone.extend(took.iter().map(|id| (id.clone(), (how, by.clone()))));
        took
    }

    fn finish(self, story: &mut Story) {
        let shown: HashMap<&MessageId, &Entry> =
            story.view.entries().iter().map(|entry| (&entry.message.id, entry)).collect();
        let order = self.order.finish();
        for id in &order {
            let Some(message) = story.messages.get(id) else { continue };
            let is_ours = message.flags.meta || message.flags.summary || self.brought.contains(id);
            let (fate, by, entry) = match (shown.get(id), self.gone.get(id)) {
                (Some(entry), _) if is_ours => (Fate::Ours, None, Some(*entry)),
                (Some(entry), _) => match entry.overlays.last() {
                    Some(overlay) => (Fate::Replaced, Some(overlay.edit.clone()), Some(*entry)),
                    None => (Fate::AsSaid, None, Some(*entry)),
                },
                (None, _) if is_ours => continue,
                (None, Some((Gone::Condensed, by))) => (Fate::Condensed, Some(by.clone()), None),
                (None, Some((Gone::Dropped, by))) => (Fate::Dropped, Some(by.clone()), None),
                (None, Some((Gone::Left, _)) | None) => {
                    story.left += 1;
                    continue;
                }
            };
            story.lines.push(Line {
                message: message.clone(),
                shown: entry.filter(|entry| !entry.overlays.is_empty()).map(Entry::shown),
                fate,
                by,
                is_pinned: entry.is_some_and(|entry| entry.pinned.is_some()),
                said_tokens: 0,
                shown_tokens: 0,
            });
        }
        story.order = order;
        story.changes = self.changes;
    }
}

/// The order in which things stand.
#[derive(Default)]
struct Order(Vec<Option<MessageId>>, HashMap<MessageId, usize>);

impl Order {
    /// At the end; what is said again stands where it was said last.
    fn push(&mut self, id: MessageId) {
        if let Some(before) = self.1.insert(id.clone(), self.0.len())
            && let Some(place) = self.0.get_mut(before)
        {
            *place = None;
        }
        self.0.push(Some(id));
    }

    fn insert_before(&mut self, next: &MessageId, id: MessageId) {
        let at = self.1.get(next).copied().unwrap_or(self.0.len());
        self.0.insert(at, Some(id));
        for (at, id) in self.0.iter().enumerate().skip(at) {
            if let Some(id) = id {
                self.1.insert(id.clone(), at);
            }
        }
    }

    /// What a checkpoint brings in stands before what it keeps next. So does a placeholder that it keeps and whose fold was undone
    /// since: only the checkpoint shows it now. Returns what was brought in.
    fn bring_in(&mut self, items: &[Item]) -> Vec<MessageId> {
        let mut brought = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let id = match item {
                Item::New(message) => &message.id,
                Item::Keep { id, .. } if !self.1.contains_key(id) => id,
                Item::Keep { .. } => continue,
            };
            let next = items[at + 1..].iter().find_map(|item| match item {
                Item::Keep { id, .. } if self.1.contains_key(id) => Some(id),
                Item::Keep { .. } | Item::New(_) => None,
            });
            match next {
                Some(next) => self.insert_before(next, id.clone()),
                None => self.push(id.clone()),
            }
            brought.push(id.clone());
        }
        brought
    }

    fn finish(self) -> Vec<MessageId> {
        self.0.into_iter().flatten().collect()
    }
}
