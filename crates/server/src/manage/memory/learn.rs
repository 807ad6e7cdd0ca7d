//! What is kept of a conversation, off the client's path.

use super::keeper::Keeper;
use super::model::Helper;
use crate::manage::{Report, Thread};
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::json;
use std::sync::Arc;
use throughline_core::pipeline::Journal as _;
use throughline_core::{Event, MemoryMode, Message, Record};
use throughline_engine::session::{citation, pollution};
use throughline_engine::{LedgerJournal, Preparer};
use throughline_ledger::LedgerError;
use throughline_memory::MemoryId;
use throughline_memory::extract::{ExtractJob, Extracted, Refusal, extract};
use throughline_memory::notes::LastTurn;
use throughline_memory::usage::Used;
use throughline_model::Receipt;

/// Tokens that an extraction writes, as a rule.
pub(super) const USUAL_OUTPUT: u64 = 800;

/// An answer that was seen to its end.
pub(in crate::manage) struct Answered<'a> {
    pub(in crate::manage) messages: &'a [Message],
    /// The request that it answers, as it was sent.
    pub(in crate::manage) sent: &'a Bytes,
}

/// Behind an answer: what was used is counted, and what the user said is looked at in the background.
pub(in crate::manage) fn answered(thread: &Arc<Thread>, answer: &Answered<'_>) {
    if thread.world.memory.is_none() || !thread.is_main() {
        return;
    }
    let now = (thread.world.now)();
    let heard = thread.work(|working| {
        if let Some(keeper) = &mut working.memory {
            keeper.hear_answer(thread, answer, (&working.preparer, &mut working.journal, now))?;
        }
        Ok(())
    });
    if let Err(error) = heard {
        report(thread, format!("what was said could not be kept: {error}"));
    }
}

impl Keeper {
    fn hear_answer(
        &mut self,
        thread: &Arc<Thread>,
        answer: &Answered<'_>,
        (preparer, journal, now): (&Preparer, &mut LedgerJournal, Timestamp),
    ) -> Result<(), LedgerError> {
        let said: Vec<Arc<Message>> = answer.messages.iter().cloned().map(Arc::new).collect();
        let rests = answer.messages.iter().flat_map(Message::calls).all(|call| !call.kind.needs_result());
        for message in &said {
            if let Some(watch) = &mut self.watch {
                watch.push(message);
            }
            if let Some(memory) = &mut self.memory {
                memory.hear(message);
            }
        }
        if let Some(found) = self.watch.as_ref().and_then(|watch| watch.found()).map(str::to_owned) {
            pollute(self, thread, (&found, now), journal)?;
        }
        self.count_citation(thread, answer.messages, (journal, now))?;
        self.notes.hear_all(&said);
        self.observe_answer(thread, (preparer, answer), now);
        if rests {
            let used = self.memory.as_mut().map(throughline_engine::remember::Memory::take_used);
            count(self, thread, used.unwrap_or_default(), Used::Used);
            self.begin_extraction(thread, answer, now);
        }
        Ok(())
    }

    /// What an answer cites is counted, once for the answer (H5). We ask nobody to: some clients do by themselves.
    fn count_citation(
        &self,
        thread: &Arc<Thread>,
        messages: &[Message],
        (journal, now): (&mut LedgerJournal, Timestamp),
    ) -> Result<(), LedgerError> {
        let reading = self.place.as_ref().and_then(|place| place.reading.as_ref());
        let Some(reading) = reading else { return Ok(()) };
        let Some((event, cited)) = citation((&self.session, messages), Some(reading), now) else {
            return Ok(());
        };
        // Sessions that no book rests on are another tool's.
        let Some(cited) = cited else { return Ok(()) };
        journal.append(Record::Event(Box::new(event)))?;
        let store = self.desk.store.clone();
        spawn(thread, "what an answer cites could not be counted", move |_| {
            let counted = async { store.get().await?.cite(&cited).await.map(drop) };
            block_on(counted).map_err(|error| error.to_string())
        });
        Ok(())
    }

    /// The turn is over: what the user said is looked at (M3).
    fn begin_extraction(&mut self, thread: &Arc<Thread>, answer: &Answered<'_>, now: Timestamp) {
        let Some(memory) = self.memory.as_mut().filter(|_| !self.is_extracting) else { return };
        let Some(limits) = memory.due(LastTurn::Rests) else { return };
        let by_model = memory.settings().by_model;
        let job = ExtractJob { limits, ..memory.job(&self.session, now) };
        let helper = self
            .desk
            .options
            .scribe
            .clone()
            .filter(|_| by_model)
            .and_then(|model| Helper::for_extraction(&self.desk, model, (thread.wire, answer), &job));
        self.is_extracting = true;
        let begun = spawn(thread, "what the user said could not be kept", move |thread| {
            let extracted = block_on(async {
                let extracted = extract(job, helper.as_ref().map(Helper::ask)).await;
                if let (Some(helper), Some(receipt)) = (helper, &extracted.receipt) {
                    helper.settle(receipt.clone());
                }
                extracted
            });
            take_extracted(thread, extracted)
        });
        self.is_extracting = begun;
    }
}

/// Takes in what came of an extraction.
fn take_extracted(thread: &Arc<Thread>, extracted: Extracted) -> Result<(), String> {
    let mut problems: Vec<String> = extracted.trouble.iter().cloned().collect();
    for refused in &extracted.refused {
        // What is not for memory is no trouble; a folder that can't be used is.
        if let Refusal::Folder(why) = &refused.why {
            problems.push(why.clone());
        }
    }
    let now = (thread.world.now)();
    let receipt = extracted.receipt.clone();
    let taken = thread.work(|working| {
        let Some(keeper) = &mut working.memory else { return Ok(()) };
        keeper.is_extracting = false;
        if let Some(receipt) = &receipt {
            keep_receipt(&mut working.journal, receipt, now)?;
        }
        let event = match &mut keeper.memory {
            Some(memory) => memory.extracted(extracted, now),
            // It rested meanwhile: the event is what it goes on from.
            None => {
                let event = extracted.record().to_event(Some(now), extracted.is_complete);
                keeper.events.push(event.clone());
                event
            }
        };
        working.journal.append(Record::Event(Box::new(event)))?;
        Ok(())
    });
    problems.extend(taken.err().map(|error| error.to_string()));
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

/// What a job cost goes to the ledger.
pub(super) fn keep_receipt(
    journal: &mut LedgerJournal,
    receipt: &Receipt,
    now: Timestamp,
) -> Result<(), LedgerError> {
    let event = Event { at: Some(now), name: "receipt".to_owned(), data: json!(receipt) };
    journal.append(Record::Event(Box::new(event))).map(drop)
}

/// Does at once what the user asks to remember and to forget (M4).
pub(super) fn grant(keeper: &Keeper, thread: &Arc<Thread>, message: &Arc<Message>) {
    let Some(memory) = &keeper.memory else { return };
    if throughline_memory::extract::wishes(&message.user_words()).is_empty() {
        return;
    }
    let (granter, session, message) = (memory.granter(), keeper.session.clone(), message.clone());
    spawn(thread, "what the user asked of memory could not be done", move |thread| {
        let now = (thread.world.now)();
        let Some(wishes) = granter.grant(&session, &message, now) else { return Ok(()) };
        let taken = thread.work(|working| {
            if let Some(memory) = working.memory.as_mut().and_then(|keeper| keeper.memory.as_mut()) {
                let event = memory.granted(&wishes, now);
                working.journal.append(Record::Event(Box::new(event)))?;
            }
            Ok(())
        });
        taken.map_err(|error| error.to_string())
    });
}

/// Counts what became of memories: use ranks them higher.
pub(super) fn count(keeper: &Keeper, thread: &Arc<Thread>, ids: Vec<MemoryId>, what: Used) {
    let Some(place) = keeper.place.clone().filter(|_| !ids.is_empty()) else { return };
    let session = keeper.session.clone();
    spawn(thread, "the use of memories could not be counted", move |thread| {
        let at = (Some(session.as_str()), (thread.world.now)());
        place.memories.record_use(&ids, what, at).map_err(|error| error.to_string())
    });
}

/// No memory is made of the session from here on.
pub(super) fn pollute(
    keeper: &mut Keeper,
    thread: &Arc<Thread>,
    (by, now): (&str, Timestamp),
    journal: &mut LedgerJournal,
) -> Result<(), LedgerError> {
    // Once is enough.
    keeper.watch = None;
    if journal.card().memory_mode != MemoryMode::Enabled {
        return Ok(());
    }
    journal.update_card(|card| card.memory_mode = MemoryMode::Polluted)?;
    journal.append(Record::Event(Box::new(pollution(by, now))))?;
    let (store, session) = (keeper.desk.store.clone(), keeper.session.clone());
    spawn(thread, "the store could not be told what is not to be learnt from", move |_| {
        let told = async { store.get().await?.set_mode(&session, MemoryMode::Polluted).await };
        block_on(told).map_err(|error| error.to_string())
    });
    Ok(())
}

/// Does something in the background, within bounds; what fails is reported. Whether it was begun.
pub(super) fn spawn(
    thread: &Arc<Thread>,
    failed: &'static str,
    job: impl FnOnce(&Arc<Thread>) -> Result<(), String> + Send + 'static,
) -> bool {
    let (Some(desk), Ok(runtime)) = (thread.world.memory.clone(), tokio::runtime::Handle::try_current())
    else {
        return false;
    };
    let Ok(place) = desk.queue.clone().try_acquire_owned() else {
        report(thread, format!("{failed}: too much waits already"));
        return false;
    };
    let for_job = thread.clone();
    let thread = thread.clone();
    let learning = thread.world.learning.clone();
    let work = async move {
        let _place = place;
        let Ok(permit) = desk.jobs.clone().acquire_owned().await else { return };
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            job(&for_job)
        });
        match done.await {
            Ok(Ok(())) => {}
            Ok(Err(why)) => report(&thread, format!("{failed}: {why}")),
            Err(_) => report(&thread, format!("{failed}: our code panicked; please report it")),
        }
    };
    learning.spawn_on(work, &runtime);
    true
}

/// Waits, on a thread that others do not wait for.
pub(super) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Handle::current().block_on(work)
}

fn report(thread: &Thread, why: String) {
    thread.world.reports.add((thread.world.now)(), Report::Memory(why));
}
