//! The view: what a model would be sent now. It is the fold of the ledger, and nothing else.

use crate::{Checkpoint, Edit, EditId, Item, Message, MessageId, Op, Origin, Overlay};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// One message of the view, and what edits show in place of its blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// As it was said.
    pub message: Arc<Message>,
    /// The line that holds it.
    pub origin: Origin,
    /// Replacements in force.
    pub overlays: Vec<Overlay>,
    /// The edit that pinned it, where one did: no stage touches it.
    pub pinned: Option<EditId>,
}

impl Entry {
    /// A message held by the line at `origin`.
    pub fn new(message: Message, origin: Origin) -> Self {
        Self::of(Arc::new(message), origin)
    }

    /// A shared message held by the line at `origin`.
    pub fn of(message: Arc<Message>, origin: Origin) -> Self {
        Self { message, origin, overlays: Vec::new(), pinned: None }
    }

    /// The message as the model would see it.
    pub fn shown(&self) -> Arc<Message> {
        if self.overlays.is_empty() {
            return self.message.clone();
        }
        let mut message = (*self.message).clone();
        for overlay in &self.overlays {
            if let Some(block) = message.blocks.get_mut(overlay.block) {
                *block = (*overlay.with).clone();
            }
        }
        Arc::new(message)
    }

    /// Takes away what edits that were undone put there.
    fn forget(&mut self, undone: &HashSet<EditId>) {
        self.overlays.retain(|overlay| !undone.contains(&overlay.edit));
        self.pinned.take_if(|edit| undone.contains(edit));
    }

    /// How a checkpoint names this message.
    pub fn to_item(&self) -> Item {
        Item::Keep {
            id: self.message.id.clone(),
            origin: self.origin.clone(),
            overlays: self.overlays.clone(),
            pinned: self.pinned.clone(),
        }
    }
}

impl From<Message> for Entry {
    fn from(message: Message) -> Self {
        Self::new(message, Origin::default())
    }
}

/// The fold of a ledger from its newest live checkpoint.
///
/// It remembers the steps it was folded from, because undoing one means folding the others again.
#[derive(Clone, Debug, Default)]
pub struct View {
    base: Vec<Entry>,
    base_checkpoint: Option<EditId>,
    steps: Vec<Step>,
    undone: HashSet<EditId>,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
enum Step {
    Message(Entry),
    Edit(Arc<Edit>, Origin),
    Checkpoint(EditId, Arc<Vec<Entry>>),
}

/// Why an edit can't be undone from here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// The edit is older than the checkpoint that the view starts from, or is that checkpoint.
    #[error("edit {edit} lies behind checkpoint {checkpoint}; undo that checkpoint first")]
    BehindCheckpoint {
        /// The edit.
        edit: EditId,
        /// The checkpoint in the way.
        checkpoint: EditId,
    },
    /// The ledger has no such edit.
    #[error("this session has no edit {0}")]
    Unknown(EditId),
}

impl View {
    /// A view that starts from a checkpoint's items.
    pub fn from_checkpoint(id: EditId, entries: Vec<Entry>) -> Self {
        Self { base: entries.clone(), base_checkpoint: Some(id), entries, ..Self::default() }
    }

    /// A view that starts from another one, as a fork does.
    pub fn from_entries(entries: Vec<Entry>) -> Self {
        Self { base: entries.clone(), entries, ..Self::default() }
    }

    /// The messages as the model would see them, in order.
    pub fn messages(&self) -> impl Iterator<Item = Arc<Message>> + '_ {
        self.entries.iter().map(Entry::shown)
    }

    /// The entries, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The last message, which the next one names as its parent.
    pub fn head(&self) -> Option<&MessageId> {
        self.entries.last().map(|entry| &entry.message.id)
    }

    /// The checkpoint that the view starts from.
    pub fn base_checkpoint(&self) -> Option<&EditId> {
        self.base_checkpoint.as_ref()
    }

    /// Takes in many steps at once and folds them once, however many undo each other.
    pub fn replay(&mut self) -> Replay<'_> {
        Replay { view: self }
    }

    /// Something was said.
    pub fn push(&mut self, entry: Entry) {
        self.steps.push(Step::Message(entry.clone()));
        if !entry.message.flags.display_only {
            self.entries.push(entry);
        }
    }

    /// The view was replaced.
    pub fn replace(&mut self, checkpoint: &Checkpoint, entries: Vec<Entry>) {
        let entries = Arc::new(entries);
        self.entries = (*entries).clone();
        self.steps.push(Step::Checkpoint(checkpoint.id.clone(), entries));
    }

    /// Forgets what lies behind the newest checkpoint, as a view that was resumed from it does: memory then follows the view
    /// and not the session. Undoing that checkpoint makes the view [stale](Self::is_stale).
    pub fn rebase(&mut self) {
        let newest = self.steps.iter().rposition(|step| match step {
            Step::Checkpoint(id, _) => !self.undone.contains(id),
            Step::Message(_) | Step::Edit(..) => false,
        });
        let Some(at) = newest else { return };
        // An undo of something older is about what is forgotten; what it undoes must stay undone.
        let reaches_back = self.steps[at + 1..].iter().any(|step| match step {
            Step::Edit(edit, _) => edit.undoes().next().is_some(),
            Step::Message(_) | Step::Checkpoint(..) => false,
        });
        if reaches_back {
            return;
        }
        let rest = self.steps.split_off(at + 1);
        if let Some(Step::Checkpoint(id, entries)) = std::mem::replace(&mut self.steps, rest).pop() {
            self.base = Arc::unwrap_or_clone(entries);
            self.base_checkpoint = Some(id);
            self.undone.clear();
        }
    }

    /// The view was changed. What the edit names and the view lacks is passed over: ask [`check_undo`](Self::check_undo)
    /// before an undo is written, and [`is_stale`](Self::is_stale) after.
    ///
    /// `origin` is the line that holds the edit: placeholders that it brings in live there.
    pub fn edit(&mut self, edit: Edit, origin: Origin) {
        let undoes = edit.undoes().next().is_some();
        let edit = Arc::new(edit);
        self.steps.push(Step::Edit(edit.clone(), origin.clone()));
        if undoes {
            self.refold();
        } else {
            apply(&mut self.entries, &edit, &origin);
        }
    }

    /// Whether an edit can be undone from here.
    pub fn check_undo(&self, target: &EditId) -> Result<(), UndoError> {
        let in_suffix = self.steps.iter().any(|step| match step {
            Step::Edit(edit, _) => edit.id == *target,
            Step::Checkpoint(id, _) => id == target,
            Step::Message(_) => false,
        });
        // Replacements travel with the messages that a checkpoint keeps; what else an edit did does not.
        let in_base =
            self.base.iter().flat_map(|entry| &entry.overlays).any(|o| o.edit == *target && !o.in_part)
                || self.base.iter().any(|entry| entry.pinned.as_ref() == Some(target));
        if in_suffix || in_base || self.base_checkpoint.as_ref() == Some(target) {
            return Ok(());
        }
        Err(match &self.base_checkpoint {
            Some(checkpoint) => {
                UndoError::BehindCheckpoint { edit: target.clone(), checkpoint: checkpoint.clone() }
            }
            None => UndoError::Unknown(target.clone()),
        })
    }

    /// Whether the checkpoint that the view starts from was undone: the view must then be resumed from further back.
    pub fn is_stale(&self) -> bool {
        self.base_checkpoint.as_ref().is_some_and(|id| self.undone.contains(id))
    }

    /// Every edit and checkpoint since the base, oldest first, with whether it is in force.
    pub fn edits(&self) -> impl Iterator<Item = (&EditId, bool)> {
        self.steps.iter().filter_map(|step| match step {
            Step::Edit(edit, _) => Some((&edit.id, !self.undone.contains(&edit.id))),
            Step::Checkpoint(id, _) => Some((id, !self.undone.contains(id))),
            Step::Message(_) => None,
        })
    }

    /// What an undo without a name takes back: the newest edit or checkpoint in force that is not itself an undo, so
    /// that undoing again goes further back.
    pub fn newest_undoable(&self) -> Option<&EditId> {
        let in_suffix = self.steps.iter().rev().find_map(|step| {
            match step {
                Step::Edit(edit, _) if edit.undoes().next().is_none() => Some(&edit.id),
                Step::Checkpoint(id, _) => Some(id),
                Step::Edit(..) | Step::Message(_) => None,
            }
            .filter(|id| !self.undone.contains(*id))
        });
        in_suffix.or(self.base_checkpoint.as_ref())
    }

    fn refold(&mut self) {
        // Newest first: an undo reaches back only, and one that was itself undone counts not.
        self.undone.clear();
        let mut targets: HashSet<EditId> = HashSet::new();
        let mut met: HashSet<&EditId> = HashSet::new();
        for step in self.steps.iter().rev() {
            let (id, undoes) = match step {
                Step::Message(_) => continue,
                Step::Checkpoint(id, _) => (id, None),
                Step::Edit(edit, _) => (&edit.id, Some(edit.undoes())),
            };
            met.insert(id);
            if targets.contains(id) {
                self.undone.insert(id.clone());
            } else {
                targets.extend(undoes.into_iter().flatten().cloned());
            }
        }
        // Of what lies behind the base, it carries replacements and pins, and it was itself a checkpoint.
        let in_base =
            self.base.iter().flat_map(|entry| entry.overlays.iter().map(|o| &o.edit).chain(&entry.pinned));
        let behind =
            in_base.chain(&self.base_checkpoint).filter(|id| targets.contains(id) && !met.contains(id));
        self.undone.extend(behind.cloned());
        let mut entries = self.base.clone();
        entries.iter_mut().for_each(|entry| entry.forget(&self.undone));
        for step in &self.steps {
            match step {
                Step::Message(entry) if entry.message.flags.display_only => {}
                Step::Message(entry) => entries.push(entry.clone()),
                Step::Edit(edit, _) if self.undone.contains(&edit.id) => {}
                Step::Edit(edit, origin) => apply(&mut entries, edit, origin),
                Step::Checkpoint(id, _) if self.undone.contains(id) => {}
                Step::Checkpoint(_, replacement) => {
                    entries = (**replacement).clone();
                    entries.iter_mut().for_each(|entry| entry.forget(&self.undone));
                }
            }
        }
        self.entries = entries;
    }
}

/// A view that is being brought up to date. What it takes in shows after [`finish`](Self::finish).
#[must_use = "nothing shows before `finish`"]
pub struct Replay<'a> {
    view: &'a mut View,
}

impl Replay<'_> {
    /// Something was said.
    pub fn push(&mut self, entry: Entry) {
        self.view.steps.push(Step::Message(entry));
    }

    /// The view was replaced.
    pub fn replace(&mut self, checkpoint: &Checkpoint, entries: Vec<Entry>) {
        self.view.steps.push(Step::Checkpoint(checkpoint.id.clone(), Arc::new(entries)));
    }

    /// The view was changed.
    pub fn edit(&mut self, edit: Edit, origin: Origin) {
        self.view.steps.push(Step::Edit(Arc::new(edit), origin));
    }

    /// Folds everything.
    pub fn finish(self) {
        self.view.refold();
    }
}

fn position(entries: &[Entry], id: &MessageId) -> Option<usize> {
    // Edits mostly concern recent messages.
    entries.iter().rposition(|entry| entry.message.id == *id)
}

/// Carries out an edit. What it names and the view lacks is passed over: the view may have been replaced since.
fn apply(entries: &mut Vec<Entry>, edit: &Edit, origin: &Origin) {
    let in_part = edit.ops.iter().any(|op| !matches!(op, Op::Replace { .. }));
    // Looking each message up from the end is quadratic when an edit replaces thousands of blocks.
    const MANY: usize = 32;
    let places: Option<HashMap<MessageId, usize>> = (!in_part && edit.ops.len() > MANY)
        .then(|| entries.iter().enumerate().map(|(at, entry)| (entry.message.id.clone(), at)).collect());
    for op in &edit.ops {
        match op {
            Op::Replace { message, block, with } => {
                let at = match &places {
                    Some(places) => places.get(message).copied(),
                    None => position(entries, message),
                };
                if let Some(at) = at {
                    let overlay =
                        Overlay { edit: edit.id.clone(), block: *block, with: with.clone(), in_part };
                    entries[at].overlays.push(overlay);
                }
            }
            Op::Remove { messages } => {
                let gone: HashSet<&MessageId> = messages.iter().collect();
                entries.retain(|entry| !gone.contains(&entry.message.id));
            }
            Op::Fold { first, last, with } => {
                if let (Some(from), Some(to)) = (position(entries, first), position(entries, last))
                    && from <= to
                {
                    entries.splice(from..=to, [Entry::new((**with).clone(), origin.clone())]);
                }
            }
            Op::Rewind { to: Some(id) } => {
                if let Some(at) = position(entries, id) {
                    entries.truncate(at + 1);
                }
            }
            Op::Rewind { to: None } => entries.clear(),
            Op::Pin { messages } => pin(entries, messages, Some(&edit.id)),
            Op::Unpin { messages } => pin(entries, messages, None),
            Op::Undo { .. } => {}
        }
    }
}

fn pin(entries: &mut [Entry], messages: &[MessageId], by: Option<&EditId>) {
    for entry in entries.iter_mut().filter(|entry| messages.contains(&entry.message.id)) {
        entry.pinned = by.cloned();
    }
}
