//! What a person does with a session that is open: go back, undo, pin, name it, choose other rules.

use super::ahead::Background;
use super::{Session, SessionError};
use std::collections::HashSet;
use throughline_core::pipeline::Journal;
use throughline_core::profile::Profile;
use throughline_core::stages::snip;
use throughline_core::{Edit, EditId, MessageId, Op, Record, Stage, ToolInput};
use throughline_ledger::{LedgerError, resume, session};

impl Session {
    /// Goes back to before a message: it, and all that came after it, leave the view. A message that a compaction took out of the
    /// view can be gone back to as well. The ledger keeps everything, and [`undo`](Self::undo) takes it back.
    pub fn rewind(&mut self, message: &MessageId) -> Result<(), SessionError> {
        let entries = self.pipeline.view().entries();
        match entries.iter().position(|entry| entry.message.id == *message) {
            Some(at) => {
                let to = at.checked_sub(1).and_then(|at| entries.get(at));
                let to = to.map(|entry| entry.message.id.clone());
                self.edit(format!("went back to before {message}"), Op::Rewind { to })?;
            }
            None => {
                let before = session::before(&self.home, self.journal.path(), message)?;
                let items = before.entries().iter().map(throughline_core::Entry::to_item).collect();
                let checkpoint = session::checkpoint(self.now(), "rewind", "user", items);
                self.journal.append(Record::Checkpoint(Box::new(checkpoint)))?;
                self.fold_again()?;
            }
        }
        self.view_changed();
        Ok(())
    }

    /// Takes back the newest change of the view: a compaction, a snip, a rewind, a pin. Says what it was; `None`: there is none.
    pub fn undo(&mut self) -> Result<Option<String>, SessionError> {
        let view = self.pipeline.view();
        let Some(target) = view.newest_undoable().cloned() else { return Ok(None) };
        view.check_undo(&target).map_err(LedgerError::from)?;
        let what = session::describe(&self.home, self.journal.path(), &target)?;
        self.edit(format!("undid {target}"), Op::Undo { edit: target })?;
        if self.pipeline.view().is_stale() {
            self.fold_again()?;
        }
        self.view_changed();
        Ok(Some(what.unwrap_or_else(|| "a change".to_owned())))
    }

    /// Protects a message from every stage, or no longer. What can't be parted from it (the other records of an answer, calls and
    /// their results) is protected with it.
    pub fn pin(&mut self, message: &MessageId, on: bool) -> Result<(), SessionError> {
        let messages = self.pipeline.view().together(&HashSet::from([message.clone()]));
        if messages.is_empty() {
            return Err(LedgerError::NoMessage { session: self.id.clone(), message: message.clone() }.into());
        }
        let op = if on { Op::Pin { messages } } else { Op::Unpin { messages } };
        self.edit(if on { "pinned" } else { "unpinned" }.to_owned(), op)
    }

    /// Drops the turns that begin with these messages of the user, because a person asks. Tokens that it frees.
    pub fn drop_turns(&mut self, messages: &[MessageId]) -> Result<i64, SessionError> {
        let ids = messages.iter().map(snip::tag).collect();
        let request = snip::Request { ids, reason: "the user asked".to_owned() };
        let proposal =
            self.pipeline.propose_snip(&request).map_err(|why| SessionError::Refused(why.to_string()))?;
        let freed = proposal.freed;
        for op in proposal.ops {
            self.edit("dropped by the user".to_owned(), op)?;
        }
        self.view_changed();
        Ok(freed)
    }

    /// What a call of `Snip` is answered, and whether that is an error. The turns leave the view with the next request.
    pub fn answer_snip(&mut self, input: &ToolInput) -> (String, bool) {
        let request = snip::parse(input);
        snip::answer(&self.pipeline.propose_snip(&request))
    }

    /// Names the session.
    pub fn set_title(&mut self, title: &str) -> Result<(), SessionError> {
        let title = throughline_core::text::one_line(title, 100);
        Ok(self.journal.update_card(|card| card.title = (!title.is_empty()).then_some(title))?)
    }

    /// The session's name, where it has one.
    pub fn title(&self) -> Option<&str> {
        self.journal.card().title.as_deref()
    }

    /// Goes on under other rules.
    pub fn set_profile(&mut self, profile: Profile) {
        self.settings.profile = profile.clone();
        self.pipeline.set_profile(profile);
    }

    /// Writes down a change of the view and lets it take effect.
    pub(super) fn edit(&mut self, reason: String, op: Op) -> Result<(), SessionError> {
        let edit = Edit {
            id: EditId::fresh(),
            at: Some(self.now()),
            stage: Stage::User,
            reason,
            freed: None,
            ops: vec![op],
        };
        let origin = self.journal.append(Record::Edit(Box::new(edit.clone())))?;
        self.pipeline.edit(edit, origin);
        Ok(())
    }

    /// Takes the view from the ledger again.
    fn fold_again(&mut self) -> Result<(), SessionError> {
        let view = resume(&self.home, self.journal.path())?.view;
        self.pipeline.restore(view);
        Ok(())
    }

    /// What was derived from the view as it was is of no use any more.
    fn view_changed(&mut self) {
        self.head = self.pipeline.view().head().cloned();
        self.sent = None;
        self.wish = None;
        self.background = Background::default();
        self.unobserved.clear();
        let entries = self.pipeline.view().entries();
        if let Some(keeper) = &mut self.notes {
            keeper.compacted(|id| entries.iter().any(|entry| entry.message.id == *id));
        }
    }
}
