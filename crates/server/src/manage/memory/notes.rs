//! The notes of a session (N), kept while it goes on.

use super::keeper::Keeper;
use super::learn::{Answered, block_on, keep_receipt, spawn};
use super::model::{Asking, Helper, shared};
use crate::manage::Thread;
use jiff::Timestamp;
use std::sync::Arc;
use throughline_core::compaction::Notes;
use throughline_core::pipeline::Journal as _;
use throughline_core::tokens::Counter;
use throughline_core::{Entry, Event, Message, MessageId, Record};
use throughline_engine::Preparer;
use throughline_engine::session::notes_file;
use throughline_memory::notes::{
    Author, JOB, Keeping, NotesKeeper, NotesRecord, Observation, Thread as Speaking, Update, Updated, update,
};

/// Tokens that an update of the notes writes, as a rule.
const USUAL_OUTPUT: u64 = 3_000;
/// Messages that are held until the next answer.
const MOST_UNOBSERVED: usize = 500;

/// The notes of a session, as far as the process knows them.
#[derive(Default)]
pub(super) struct SessionNotes {
    keeper: Option<NotesKeeper>,
    /// They can't be kept: once is enough to say so.
    is_refused: bool,
    /// What was said since the keeper last looked.
    unobserved: Vec<Arc<Message>>,
    /// The notes of a model. Those of the offline scribe are passed over in a compaction: it writes anew at once, and knows more.
    written: Option<Notes>,
}

impl SessionNotes {
    /// Something was said.
    pub(super) fn hear(&mut self, message: &Arc<Message>) {
        if self.unobserved.len() < MOST_UNOBSERVED {
            self.unobserved.push(message.clone());
        }
    }

    pub(super) fn hear_all(&mut self, messages: &[Arc<Message>]) {
        messages.iter().for_each(|message| self.hear(message));
    }

    /// What may stand for the conversation in a compaction (P5a).
    pub(super) fn for_compaction(&self, entries: &[Entry]) -> Option<Notes> {
        let in_view = |id: &MessageId| entries.iter().any(|entry| entry.message.id == *id);
        self.written.clone().filter(|notes| notes.covers.as_ref().is_some_and(in_view))
    }

    fn take_written(&mut self, by: Author) {
        if by == Author::Model {
            self.written = self.keeper.as_ref().and_then(|keeper| keeper.notes().ok()).flatten();
        }
    }
}

impl Keeper {
    /// Something was answered: perhaps it is time for the notes.
    pub(super) fn observe_answer(
        &mut self,
        thread: &Arc<Thread>,
        (preparer, answer): (&Preparer, &Answered<'_>),
        now: Timestamp,
    ) {
        let said = std::mem::take(&mut self.notes.unobserved);
        let Some(pipeline) = preparer.pipeline() else { return };
        self.open_notes(thread, &pipeline.settings().model);
        let Some(keeper) = &mut self.notes.keeper else { return };
        let entries = pipeline.view().entries();
        keeper.compacted(|id| entries.iter().any(|entry| entry.message.id == *id));
        let said = said.iter().map(|message| &**message);
        keeper.observe(Observation::of(pipeline.tokens(), said, Speaking::Main));
        if keeper.due().is_none() {
            return;
        }
        let shown: Vec<Arc<Message>> = pipeline.view().messages().collect();
        let author = keeper.author();
        let Ok(Some(job)) = keeper.begin(shown.iter().map(|message| &**message)) else { return };
        let scribe = self.desk.options.scribe.clone().filter(|_| author == Author::Model);
        let helper = scribe.and_then(|model| {
            // Only who has the conversation in its cache is shown all of it.
            let parent = shared(&*model, thread.wire, answer)?;
            let prompt = (pipeline.tokens(), true);
            let session = self.session.as_str();
            let asking = Asking { name: JOB, session, prompt, output: USUAL_OUTPUT, now };
            Helper::new(&self.desk, model, parent, &asking)
        });
        let knowledge = pipeline.knowledge().clone();
        let mut counter = Counter::for_model(&pipeline.settings().model);
        spawn(thread, "the session's notes could not be written", move |thread| {
            let updated = block_on(async {
                let model = helper.as_ref().map(Helper::ask);
                let updated =
                    update(Update { job, model, knowledge: &knowledge, counter: &mut counter }).await;
                if let (Some(helper), Some(receipt)) = (helper, &updated.receipt) {
                    helper.settle(receipt.clone());
                }
                updated
            });
            take_notes(thread, updated)
        });
    }

    fn open_notes(&mut self, thread: &Arc<Thread>, model: &str) {
        let folder = self.place.as_ref().and_then(|place| place.folder.clone());
        let (Some(limits), Some(folder)) = (self.desk.options.notes, folder) else { return };
        if self.notes.keeper.is_some() || self.notes.is_refused {
            return;
        }
        let file = notes_file(&self.desk.home, &self.session, &folder);
        let keeping = Keeping { file, wording: self.desk.options.wording.clone(), limits };
        let events = self.events.iter().rev();
        match NotesKeeper::open(keeping, events, &mut Counter::for_model(model)) {
            Ok((keeper, _)) => {
                self.notes.keeper = Some(keeper);
                let by = self.events.iter().rev().find_map(NotesRecord::from_event).map(|record| record.by);
                self.notes.take_written(by.unwrap_or(Author::Offline));
            }
            Err(error) => {
                self.notes.is_refused = true;
                let why = format!("notes of the session can't be kept: {error}");
                thread.world.reports.add((thread.world.now)(), crate::manage::Report::Memory(why));
            }
        }
    }
}

/// Takes in what came of an update.
fn take_notes(thread: &Arc<Thread>, updated: Updated) -> Result<(), String> {
    let now = (thread.world.now)();
    let taken = thread.work(|working| {
        let Some(notes) = working.memory.as_mut().map(|keeper| &mut keeper.notes) else { return Ok(()) };
        let Some(keeper) = &mut notes.keeper else { return Ok(()) };
        if let Some(receipt) = &updated.receipt {
            keep_receipt(&mut working.journal, receipt, now)?;
        }
        let by = updated.by;
        let event: Event = keeper.finish(updated, Some(now));
        working.journal.append(Record::Event(Box::new(event)))?;
        notes.take_written(by);
        Ok(())
    });
    taken.map_err(|error| error.to_string())
}
