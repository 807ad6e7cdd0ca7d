//! What is told with a request.

use super::desk::Missing;
use super::keeper::Keeper;
use super::learn;
use super::looked::{Looked, Order, is_start, own};
use crate::manage::{Report, Thread};
use jiff::Timestamp;
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;
use throughline_core::pipeline::{Journal as _, Moment};
use throughline_core::{CallId, Entry, Event, Message, MessageId, Record, Role};
use throughline_engine::{LedgerJournal, PrepareError, Preparer, Taken};
use throughline_ledger::LedgerError;
use throughline_memory::usage::Used;

/// The event that says what a session was told when it began.
const TOLD: &str = "memory.told";
/// With the window this full (percent of what makes it be replaced), notes are at hand.
const NEAR: u64 = 60;

/// A request that was taken in, before anything is decided about it.
pub(in crate::manage) struct Telling<'a> {
    pub(in crate::manage) thread: &'a Arc<Thread>,
    pub(in crate::manage) taken: &'a Taken,
    pub(in crate::manage) preparer: &'a mut Preparer,
    pub(in crate::manage) journal: &'a mut LedgerJournal,
    pub(in crate::manage) moment: &'a mut Moment,
}

impl Telling<'_> {
    fn report(&self, why: String) {
        self.thread.world.reports.add(self.now(), Report::Memory(why));
    }

    fn now(&self) -> Timestamp {
        self.moment.now.unwrap_or_else(self.thread.world.now)
    }

    fn entries(&self) -> &[Entry] {
        self.preparer.pipeline().map_or(&[], |pipeline| pipeline.view().entries())
    }

    /// Says something of ours, and writes down what it was.
    fn say(&mut self, message: Message) -> Result<MessageId, PrepareError<LedgerError>> {
        self.preparer.tell(message, self.moment, self.journal)
    }

    fn note(&mut self, event: Event) {
        if let Err(error) = self.journal.append(Record::Event(Box::new(event))) {
            self.report(error.to_string());
        }
    }
}

impl Keeper {
    /// Adds what was remembered, where it is wanted and the request has room for it. Whatever goes wrong, the request goes without.
    pub(in crate::manage) fn tell(&mut self, mut with: Telling<'_>) {
        let deadline = Instant::now() + self.desk.options.wait;
        let said = self.hear(&with.taken.fresh, with.taken.diverged);
        self.look_outside(&mut with);
        if let Err(missing) = self.find(deadline) {
            with.report(late(missing, "the project's memories"));
            return;
        }
        if let Some(message) = &said {
            learn::grant(self, with.thread, message);
            self.begin_handbooks(with.thread, with.now());
        }
        if has_room(with.entries()) {
            let tells_start = !with.entries().iter().any(|entry| is_start(&entry.message));
            match self.look(&with, (tells_start, said.is_some()), deadline) {
                Ok(Some(looked)) => self.say(looked, &mut with),
                Ok(None) => {}
                Err(missing) => with.report(late(missing, "what is remembered")),
            }
        }
        self.prepare_compaction(&mut with);
    }

    /// The memories of the folder, once.
    fn find(&mut self, deadline: Instant) -> Result<(), Missing> {
        if self.place.is_some() {
            return Ok(());
        }
        if self.finding.is_none() {
            let (desk, cwd) = (self.desk.clone(), self.cwd().map(str::to_owned));
            self.finding = self.desk.begin(move || desk.place(cwd.as_deref()));
            self.may_wait()?;
        }
        let found = self.finding.as_ref().ok_or(Missing::Late)?.until(deadline);
        if !matches!(found, Err(Missing::Late)) {
            self.finding = None;
        }
        self.found(found?);
        Ok(())
    }

    /// Where nobody waits, what was just begun is late, however quick it is.
    fn may_wait(&self) -> Result<(), Missing> {
        if self.desk.options.wait.is_zero() { Err(Missing::Late) } else { Ok(()) }
    }

    /// What there is to say. What was late for an earlier request is said now, unless the user has said something since.
    fn look(
        &mut self,
        with: &Telling<'_>,
        (tells_start, has_words): (bool, bool),
        deadline: Instant,
    ) -> Result<Option<Looked>, Missing> {
        if let Some(looking) = &self.looking {
            match looking.until(Instant::now()) {
                Ok(looked) => {
                    self.looking = None;
                    if looked.words == self.words {
                        return Ok(Some(looked));
                    }
                }
                Err(Missing::Broken) => self.looking = None,
                // It is still read: another one would only wait for the same.
                Err(Missing::Late) => return Err(Missing::Late),
            }
        }
        let Some(place) = self.place.clone().filter(|_| self.memory.is_some()) else { return Ok(None) };
        if !tells_start && !has_words {
            return Ok(None);
        }
        let pipeline = with.preparer.pipeline();
        let order = Order {
            place,
            words: self.words.clone(),
            tells_start,
            wanted: self
                .memory
                .as_ref()
                .filter(|_| has_words)
                .and_then(|memory| memory.wanted(with.entries())),
            instructions: self.instructions.clone(),
            model: pipeline.map(|pipeline| pipeline.settings().model.clone()).unwrap_or_default(),
            index_tokens: self.desk.options.index_tokens,
            now: with.now(),
        };
        let looking = self.desk.begin(move || order.look()).ok_or(Missing::Late)?;
        let looked = self.may_wait().and_then(|()| looking.until(deadline));
        match looked {
            Ok(looked) => Ok(Some(looked)),
            Err(Missing::Broken) => Err(Missing::Broken),
            Err(Missing::Late) => {
                self.looking = Some(looking);
                Err(Missing::Late)
            }
        }
    }

    fn say(&mut self, looked: Looked, with: &mut Telling<'_>) {
        let Looked { start, recalled, words, problems } = looked;
        problems.into_iter().for_each(|problem| with.report(problem));
        let now = with.now();
        if let Some(start) = start.filter(|_| !with.entries().iter().any(|entry| is_start(&entry.message))) {
            let message = own(&start.text);
            match with.say(message.clone()) {
                Ok(id) => {
                    let data = json!({
                        "message": id,
                        "tokens": start.tokens,
                        "memories": start.memories,
                        "sessions": start.sessions,
                    });
                    with.note(Event { at: Some(now), name: TOLD.to_owned(), data });
                    self.start = Some(message);
                }
                Err(error) => return with.report(error.to_string()),
            }
        }
        let (Some(recalled), Some(memory)) = (recalled, &mut self.memory) else { return };
        let Some(text) = &recalled.text else { return };
        let ids: Vec<_> = recalled.chosen.iter().map(|one| one.id.clone()).collect();
        match with.say(own(text)) {
            Ok(id) => {
                // What came for earlier words is judged by what was done up to here.
                let used = memory.take_used();
                let event = memory.recalled(id, (recalled, &words), now);
                with.note(event);
                learn::count(self, with.thread, used, Used::Used);
                learn::count(self, with.thread, ids, Used::Shown);
            }
            Err(error) => with.report(error.to_string()),
        }
    }

    /// What a compaction of this request would need.
    fn prepare_compaction(&mut self, with: &mut Telling<'_>) {
        let Some(pipeline) = with.preparer.pipeline() else { return };
        // What the session was told at first comes anew.
        let told = with.entries().iter().filter(|entry| self.start.is_some() && is_start(&entry.message));
        let outdated: Vec<MessageId> = told.map(|entry| entry.message.id.clone()).collect();
        let is_near = pipeline.threshold().is_some_and(|most| pipeline.tokens() * 100 > most * NEAR);
        with.moment.host.outdated.extend(outdated);
        with.moment.host.reminders.extend(self.start.clone());
        if is_near {
            with.moment.notes = self.notes.for_compaction(with.entries());
        }
    }

    /// What came from outside makes the session unfit to teach (H7).
    fn look_outside(&mut self, with: &mut Telling<'_>) {
        let Some(found) = self.watch.as_ref().and_then(|watch| watch.found()).map(str::to_owned) else {
            return;
        };
        if let Err(error) = learn::pollute(self, with.thread, (&found, with.now()), with.journal) {
            with.report(error.to_string());
        }
    }
}

fn late(missing: Missing, what: &str) -> String {
    match missing {
        Missing::Late => format!("{what} could not be read in time; it comes with a later request"),
        Missing::Broken => format!("reading {what} broke off"),
    }
}

/// Whether something may be said behind the last message: not into an answer that goes on, nor between a call and its result.
fn has_room(entries: &[Entry]) -> bool {
    let is_answer = |entry: &&Entry| entry.message.role == Role::Assistant;
    let since = entries.iter().rev().take_while(|entry| !is_answer(entry)).count();
    let (before, since) = entries.split_at(entries.len() - since);
    let is_said = |entry: &Entry| matches!(entry.message.role, Role::User | Role::Tool);
    let mut open: HashSet<&CallId> = before
        .iter()
        .rev()
        .take_while(is_answer)
        .flat_map(|entry| entry.message.calls())
        .filter(|call| call.kind.needs_result())
        .map(|call| &call.id)
        .collect();
    since.iter().flat_map(|entry| entry.message.results()).for_each(|result| {
        open.remove(&result.call);
    });
    since.iter().any(is_said) && open.is_empty()
}
