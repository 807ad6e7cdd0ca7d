//! The notes of one session, over its whole life.

use super::error::NotesError;
use super::file::{NotesFile, text_hash};
use super::fit::check_room;
use super::job::{Job, Lease, Running, in_structure};
use super::limits::NotesLimits;
use super::record::{Author, FAILED, NotesRecord};
use super::template::{Template, Wording};
use super::trigger::{Due, Observation, Trigger, boundary};
use super::update::{Outcome, Updated};
use jiff::Timestamp;
use serde_json::json;
use std::sync::Arc;
use throughline_core::compaction::Notes;
use throughline_core::tokens::Counter;
use throughline_core::{Event, Message, MessageId};

/// Decides when notes are written, by whom, and how far they reach. It holds no text: the file is the truth.
///
/// One of these belongs to the main thread of a session. Sub-agents and ephemeral sessions have none (A5).
#[derive(Debug)]
pub struct NotesKeeper {
    file: NotesFile,
    wording: Arc<Wording>,
    limits: NotesLimits,
    trigger: Trigger,
    /// The newest update whose text is in the file.
    written: Option<NotesRecord>,
    /// Failures in a row of the model.
    failures: u32,
    /// Updates without a model since then.
    offline: u32,
    running: Option<Running>,
}

/// What keeping notes needs.
#[derive(Clone, Debug)]
pub struct Keeping {
    /// Where.
    pub file: NotesFile,
    /// In which words.
    pub wording: Wording,
    /// Within which limits.
    pub limits: NotesLimits,
}

impl NotesKeeper {
    /// Begins, or goes on where the ledger's events (newest first) say that the notes were left. A template that leaves no room
    /// for notes is replaced by ours and reported.
    ///
    /// # Errors
    /// If the limits are too small for our own template, or the file is there and can't be read.
    pub fn open<'a>(
        keeping: Keeping,
        events: impl IntoIterator<Item = &'a Event>,
        counter: &mut Counter,
    ) -> Result<(Self, Option<NotesError>), NotesError> {
        let Keeping { file, mut wording, limits } = keeping;
        let problem = check_room(&wording.template, &limits, counter).err();
        if problem.is_some() {
            wording.template = Template::default();
            check_room(&wording.template, &limits, counter)?;
        }
        let text = file.read()?.filter(|text| !wording.template.is_untouched(text));
        let written = text.as_deref().and_then(|text| NotesRecord::of_text(text, events));
        let trigger = match &text {
            Some(_) => Trigger::resumed(written.as_ref().map(|record| record.context_tokens)),
            None => Trigger::default(),
        };
        let wording = Arc::new(wording);
        let keeper = Self { file, wording, limits, trigger, written, failures: 0, offline: 0, running: None };
        Ok((keeper, problem))
    }

    /// Takes in what is to be seen behind an answer.
    pub fn observe(&mut self, seen: Observation) {
        self.trigger.observe(seen);
    }

    /// Whether an update is due and none runs.
    pub fn due(&self) -> Option<Due> {
        if self.is_running() { None } else { self.trigger.due(&self.limits) }
    }

    /// Who is to write: the offline scribe after too many failures of the model in a row, and the model again after as many
    /// updates without it.
    pub fn author(&self) -> Author {
        if self.failures >= self.limits.failures.max(1) { Author::Offline } else { Author::Model }
    }

    /// Begins an update from these messages: all that the update will have been shown. `None` if one runs already.
    /// Whether it is due is for the caller to ask: a person may want it sooner.
    ///
    /// # Errors
    /// If the file is there and can't be read.
    pub fn begin<'a>(
        &mut self,
        messages: impl IntoIterator<Item = &'a Message>,
    ) -> Result<Option<Job>, NotesError> {
        if self.is_running() {
            return Ok(None);
        }
        self.trigger.attempted();
        let found = self.file.read()?;
        let covers = boundary(messages).or_else(|| self.covers(found.as_deref()).cloned());
        let (lease, running) = Lease::new();
        self.running = Some(running);
        Ok(Some(Job {
            file: self.file.clone(),
            wording: Arc::clone(&self.wording),
            limits: self.limits,
            notes: in_structure(found.as_deref(), &self.wording.template),
            found,
            covers,
            context_tokens: self.trigger.context_tokens(),
            lease,
        }))
    }

    /// Takes in what came of an update; the event is for the ledger.
    pub fn finish(&mut self, updated: Updated, at: Option<Timestamp>) -> Event {
        self.running = None;
        match (updated.outcome, updated.by) {
            (Outcome::Written { record, .. }, by) => {
                let event = record.to_event(at);
                self.written = Some(record);
                match by {
                    Author::Model => (self.failures, self.offline) = (0, 0),
                    Author::Offline => self.without_model(),
                }
                event
            }
            (Outcome::Kept(why), by) => {
                if by == Author::Model && why.is_failure() {
                    self.failures = self.failures.saturating_add(1);
                }
                let receipt = updated.receipt.map(|receipt| receipt.id);
                let data =
                    json!({"by": by, "why": why.to_string(), "receipt": receipt, "failures": self.failures});
                Event { at, name: FAILED.to_owned(), data }
            }
        }
    }

    fn without_model(&mut self) {
        let most = self.limits.failures.max(1);
        if self.failures >= most {
            self.offline += 1;
            if self.offline >= most {
                (self.failures, self.offline) = (most - 1, 0);
            }
        }
    }

    /// Returns whether an update runs, or is done and was not [taken in](Self::finish) yet.
    pub fn is_running(&self) -> bool {
        self.running.as_ref().is_some_and(Running::is_held)
    }

    /// The notes for a compaction (P5a); `None` if there are none, or only the template. How far they reach is known only
    /// while the file says what the last update wrote.
    ///
    /// # Errors
    /// If the file is there and can't be read.
    pub fn notes(&self) -> Result<Option<Notes>, NotesError> {
        let text = self.file.read()?.filter(|text| !self.wording.template.is_untouched(text));
        Ok(text.map(|text| Notes { covers: self.covers(Some(&text)).cloned(), text }))
    }

    /// The view was replaced: where the last message that the notes cover is no longer in it, how far they reach is not known.
    pub fn compacted(&mut self, in_view: impl FnOnce(&MessageId) -> bool) {
        if let Some(record) = &mut self.written
            && record.covers.as_ref().is_some_and(|id| !in_view(id))
        {
            record.covers = None;
        }
    }

    /// The file.
    pub fn file(&self) -> &NotesFile {
        &self.file
    }

    /// The limits.
    pub fn limits(&self) -> &NotesLimits {
        &self.limits
    }

    fn covers(&self, text: Option<&str>) -> Option<&MessageId> {
        let hash = text.map(text_hash)?;
        self.written.as_ref().filter(|record| record.hash == hash)?.covers.as_ref()
    }
}
