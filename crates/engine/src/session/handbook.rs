//! A session and its handbooks (H): which old sessions it made use of, what makes it unfit to teach, and the work that its first words set off.

use super::{Session, SessionError};
use crate::telemetry::span::{self, Work};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;
use throughline_core::{Event, MemoryMode, Message, SessionId, ToolCall, Usage};
use throughline_memory::handbook::citations::{cited_in, usage};
use throughline_memory::handbook::read::Reading;
use throughline_memory::handbook::{Outside, OutsideWatch};
use throughline_memory::store::{Cited, LazyStore, StoreError};
use throughline_model::{BoxFuture, CancelToken, Governor, Job, Receipt, Standing};
use tokio::task::JoinHandle;
use tracing::Instrument;

/// The name of the work, by which it has its caps.
const JOB: &str = "handbook";
/// The event that names the sessions whose memories an answer made use of: counts can be made again from it.
const CITED: &str = "handbook.cited";
/// The event that says why no memory is made of the session any more.
const POLLUTED: &str = "handbook.polluted";
/// The event that tells what the session's first words set off.
const BEGUN: &str = "handbook.start";

/// What a session's first words set off (H1).
pub trait StartWork: Send + Sync {
    /// Does what is due: old outputs go, sessions that are eligible are enqueued, a few are read, the project's handbook is consolidated. What came of it, for
    /// the record; or why not. Told to stop it gives back what it holds, and ends soon.
    fn run(&self, session: SessionId, cancel: CancelToken)
    -> BoxFuture<'static, Result<DoneAtStart, String>>;
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DoneAtStart {
    /// For the record.
    pub did: Value,
    /// The model that was asked, if one was.
    pub model: Option<String>,
    /// Tokens of all prompts and answers.
    pub tokens: u64,
    /// Money.
    pub dollars: f64,
}

/// How a session has part in handbooks.
#[derive(Clone)]
pub struct Handbooks {
    /// Where uses are counted.
    pub store: LazyStore,
    /// What it may read; by it the ids of an answer are understood.
    pub reading: Option<Reading>,
    /// What its first words set off.
    pub start: Option<Arc<dyn StartWork>>,
    /// Percent of the provider's rate limit that must be left for that.
    pub rate_left_percent: u32,
    /// What makes it unfit to teach; `None`: nothing does.
    pub outside: Option<Outside>,
}

impl Handbooks {
    /// For a session on behalf of this one: it sets nothing off and reads nothing, but what it takes in counts (A5, H7).
    pub fn for_helper(self) -> Self {
        Self { start: None, reading: None, ..self }
    }
}

impl fmt::Debug for Handbooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handbooks")
            .field("is_read", &self.reading.is_some())
            .field("starts", &self.start.is_some())
            .field("outside", &self.outside)
            .finish_non_exhaustive()
    }
}

/// What a session knows of its handbooks. Dropping it stops what runs.
pub(super) struct Handbook {
    settings: Handbooks,
    /// The first words were said.
    is_begun: bool,
    start: Option<JoinHandle<Result<Value, String>>>,
    /// What the store is being told.
    telling: Vec<JoinHandle<Result<(), StoreError>>>,
    cancel: CancelToken,
}

impl Handbook {
    pub(super) fn new(settings: Handbooks) -> Self {
        Self { settings, is_begun: false, start: None, telling: Vec::new(), cancel: CancelToken::new() }
    }

    /// Tells the store something, off the path.
    fn tell(&mut self, telling: impl Future<Output = Result<(), StoreError>> + Send + 'static) {
        // Without a runtime nobody can be told: the ledger has it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            self.telling.push(runtime.spawn(telling));
        }
    }
}

impl Drop for Handbook {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Session {
    /// The user said something: once in a session, work on handbooks begins in the background (H1).
    pub(super) fn begin_handbooks(&mut self) {
        let standing = self.settings.standing;
        let Some(handbook) = &mut self.handbook else { return };
        if std::mem::replace(&mut handbook.is_begun, true) {
            return;
        }
        let Some(start) = handbook.settings.start.clone() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let order = StartOrder {
            start,
            session: self.id.clone(),
            governor: self.settings.governor.clone(),
            standing,
            rate_left_percent: handbook.settings.rate_left_percent,
            now: (self.settings.now)(),
            cancel: handbook.cancel.child_token(),
        };
        let Some(work) = order.begin() else { return };
        let span = span::background(&self.id, Work::Handbook);
        handbook.start = Some(runtime.spawn(work.instrument(span)));
    }

    /// What an answer cites is counted, once for the answer (H5). `messages` are those of one answer, as they were recorded.
    pub(super) fn count_citation(&mut self, messages: &[Message]) -> Result<(), SessionError> {
        let Some(handbook) = &mut self.handbook else { return Ok(()) };
        let now = (self.settings.now)();
        let reading = handbook.settings.reading.as_ref();
        let Some((event, cited)) = citation((&self.id, messages), reading, now) else { return Ok(()) };
        if let Some(cited) = cited {
            let store = handbook.settings.store.clone();
            handbook.tell(async move { store.get().await?.cite(&cited).await.map(drop) });
        }
        self.append_event(event)
    }

    /// A call is about to run. If what it gives comes from outside, no memory is made of the session from here on (H7).
    pub fn about_to_call(&mut self, call: &ToolCall) -> Result<(), SessionError> {
        let outside = self.handbook.as_ref().and_then(|handbook| handbook.settings.outside.as_ref());
        if outside.is_some_and(|outside| outside.is_call(call)) {
            self.pollute(&call.name)?;
        }
        Ok(())
    }

    /// Whether memory may be made of the session.
    pub fn memory_mode(&self) -> MemoryMode {
        self.journal.card().memory_mode
    }

    /// Something came from outside that a helper took in on the session's behalf.
    pub fn pollute(&mut self, by: &str) -> Result<(), SessionError> {
        let Some(handbook) = &mut self.handbook else { return Ok(()) };
        if handbook.settings.outside.is_none() || self.journal.card().memory_mode != MemoryMode::Enabled {
            return Ok(());
        }
        self.journal.update_card(|card| card.memory_mode = MemoryMode::Polluted)?;
        let (store, id) = (handbook.settings.store.clone(), self.id.clone());
        handbook.tell(async move { store.get().await?.set_mode(&id, MemoryMode::Polluted).await });
        self.append_event(pollution(by, self.now()))
    }

    /// What looks through the history for what came from outside.
    pub(super) fn outside_watch(&self) -> Option<OutsideWatch> {
        let outside = self.handbook.as_ref()?.settings.outside.clone()?;
        Some(OutsideWatch::new(outside))
    }

    /// The provider may run tools itself: their results come with the answer.
    pub(super) fn look_outside(&mut self, messages: &[Message]) -> Result<(), SessionError> {
        let Some(mut watch) = self.outside_watch() else { return Ok(()) };
        messages.iter().for_each(|message| watch.push(message));
        match watch.found() {
            Some(found) => self.pollute(found),
            None => Ok(()),
        }
    }

    /// Takes up what was finished of it.
    pub(super) async fn collect_handbooks(&mut self) -> Result<(), SessionError> {
        let Some(handbook) = &mut self.handbook else { return Ok(()) };
        let (ended, running) =
            std::mem::take(&mut handbook.telling).into_iter().partition(JoinHandle::is_finished);
        handbook.telling = running;
        let start = handbook.start.take_if(|start| start.is_finished());
        self.take_handbooks(ended, start).await
    }

    /// Waits for what the store is being told, and for the work, which is to have been told to stop if that may take long.
    pub(super) async fn settle_handbooks(&mut self) -> Result<(), SessionError> {
        let Some(handbook) = &mut self.handbook else { return Ok(()) };
        let (telling, start) = (std::mem::take(&mut handbook.telling), handbook.start.take());
        self.take_handbooks(telling, start).await
    }

    /// Tells the work to stop.
    pub(super) fn stop_handbooks(&self) {
        if let Some(handbook) = &self.handbook {
            handbook.cancel.cancel();
        }
    }

    async fn take_handbooks(
        &mut self,
        telling: Vec<JoinHandle<Result<(), StoreError>>>,
        start: Option<JoinHandle<Result<Value, String>>>,
    ) -> Result<(), SessionError> {
        for task in telling {
            // Counts are a help, and the ledger has them: a session goes on without.
            if let Ok(Err(error)) = task.await {
                self.warnings.push(error.to_string());
            }
        }
        let Some(task) = start else { return Ok(()) };
        // A task that panicked did nothing that lasts: its leases run out.
        let data = match task.await {
            Ok(Ok(data)) => data,
            Ok(Err(why)) => json!({"failed": why}),
            Err(_) => json!({"failed": "the work on handbooks broke off"}),
        };
        self.append_event(begun(data, self.now()))
    }
}

/// What the messages of one answer cite (H5): the event for the ledger, and what a store is to count.
pub fn citation(
    (session, messages): (&SessionId, &[Message]),
    reading: Option<&Reading>,
    now: Timestamp,
) -> Option<(Event, Option<Cited>)> {
    let (answer, mut citation) = cited_in(messages)?;
    if let Some(reading) = reading {
        citation.sessions = reading.sessions(&citation.sessions);
    }
    let data = json!({"message": answer, "sessions": citation.sessions, "entries": citation.entries});
    let event = Event { at: Some(now), name: CITED.to_owned(), data };
    Some((event, usage(session, (&answer, &citation), now)))
}

/// Why no memory is made of a session any more (H7), for its ledger.
pub fn pollution(by: &str, now: Timestamp) -> Event {
    Event { at: Some(now), name: POLLUTED.to_owned(), data: json!({"by": by}) }
}

/// What came of the work at the start of a session, for its ledger.
pub fn begun(did: Value, now: Timestamp) -> Event {
    Event { at: Some(now), name: BEGUN.to_owned(), data: did }
}

/// The work on handbooks that the first words of a session set off (H1).
pub struct StartOrder {
    /// What is to be done.
    pub start: Arc<dyn StartWork>,
    /// Which session begins.
    pub session: SessionId,
    /// Who decides whether it may begin; `None`: it may.
    pub governor: Option<Governor>,
    /// The circumstances.
    pub standing: Standing,
    /// Percent of the provider's rate limit that must be left.
    pub rate_left_percent: u32,
    /// When.
    pub now: Timestamp,
    /// Tells it to stop.
    pub cancel: CancelToken,
}

impl StartOrder {
    /// The work, which leaves a receipt with the governor; `None` if it may not begin. What it gives is for [`begun`].
    pub fn begin(self) -> Option<impl Future<Output = Result<Value, String>> + Send + 'static> {
        let Self { start, session, governor, standing, rate_left_percent, now, cancel } = self;
        may_begin(&standing, rate_left_percent).then(|| {
            let work = start.run(session.clone(), cancel);
            Governed { work, governor, session, standing, now }.run()
        })
    }
}

/// Work that begins if the governor agrees, and leaves a receipt.
struct Governed {
    work: BoxFuture<'static, Result<DoneAtStart, String>>,
    governor: Option<Governor>,
    session: SessionId,
    standing: Standing,
    now: Timestamp,
}

impl Governed {
    async fn run(self) -> Result<Value, String> {
        let Self { work, governor, session, standing, now } = self;
        let permit = match governor {
            None => None,
            Some(governor) => {
                let id = session.clone();
                // Files are read, and others may hold them: not on a thread that others wait for.
                let ask = move || {
                    let (estimate, session) = (Usage::default(), Some(id.as_str()));
                    governor.ask(&Job { name: JOB, session, estimate, dollars: 0.0, standing }, now)
                };
                match tokio::task::spawn_blocking(ask).await {
                    Ok(Ok(permit)) => Some(permit),
                    Ok(Err(denied)) => return Ok(json!({"skipped": denied.to_string()})),
                    Err(error) => return Err(error.to_string()),
                }
            }
        };
        let mut receipt = Receipt::begin(JOB, "");
        let since = Instant::now();
        let done = work.await;
        if let Some(permit) = permit {
            let (outcome, done) = match &done {
                Ok(done) => ("done".to_owned(), done.clone()),
                Err(why) => (format!("failed: {why}"), DoneAtStart::default()),
            };
            receipt.model = done.model.unwrap_or_default();
            receipt.seconds = since.elapsed().as_secs_f64();
            receipt.usage = Usage { input: done.tokens, ..Usage::default() };
            receipt.dollars = done.dollars;
            // Which of them were read from a cache nobody says.
            receipt.estimated = done.tokens > 0;
            receipt.outcome = outcome;
            // What can't be written now the governor keeps, and lets nothing begin before it is.
            let _ = permit.settle(receipt);
        }
        done.map(|done| done.did)
    }
}

/// Whether background work may begin: not for helpers, nor for those who leave nothing behind or did not ask for it, nor when the provider's
/// rate limit is low. What is not measured is not low.
fn may_begin(standing: &Standing, least_percent: u32) -> bool {
    let Standing { ephemeral, sub_agent, remote, idle_since: _, rate_limit_left } = *standing;
    let is_low = rate_limit_left.is_some_and(|left| left * 100.0 < f64::from(least_percent));
    !(ephemeral || sub_agent || remote || is_low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h1_work_begins_for_people_who_have_rate_limit_to_spare() {
        let fine = Standing::default();
        assert!(may_begin(&fine, 25));
        assert!(may_begin(&Standing { rate_limit_left: Some(0.25), ..fine }, 25));
        for standing in [
            Standing { rate_limit_left: Some(0.24), ..fine },
            Standing { ephemeral: true, ..fine },
            Standing { sub_agent: true, ..fine },
            Standing { remote: true, ..fine },
        ] {
            assert!(!may_begin(&standing, 25), "{standing:?}");
        }
    }
}
