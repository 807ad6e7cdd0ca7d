//! How a conversation comes to rest, and what its ledger is told meanwhile.

use super::thread::Working;
use super::{ManageError, Thread};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use throughline_core::pipeline::Journal as _;
use throughline_core::{Event, Message, MessageId, Record, Usage};
use throughline_ledger::{LedgerError, SyncPolicy, Writer};

/// When a conversation was last used, and whether it is now.
#[derive(Debug)]
pub(super) struct Activity {
    began: Instant,
    /// Milliseconds from there.
    last: AtomicU64,
    /// Requests that are not answered yet.
    open: AtomicUsize,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), last: AtomicU64::new(0), open: AtomicUsize::new(0) }
    }

    fn touch(&self) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
    }

    /// How long nothing happened.
    pub(super) fn idle(&self) -> Duration {
        self.began.elapsed().saturating_sub(Duration::from_millis(self.last.load(Ordering::Relaxed)))
    }

    /// Whether a request is not answered yet.
    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }
}

/// A request of a conversation, from when it came until its answer was learnt from.
pub(super) struct Open(Arc<Thread>);

impl Open {
    pub(super) fn new(thread: Arc<Thread>) -> Self {
        thread.activity.open.fetch_add(1, Ordering::Relaxed);
        thread.activity.touch();
        Self(thread)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.activity.touch();
        self.0.activity.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An answer that the client has and has not sent back yet.
#[derive(Debug)]
pub(super) struct Held {
    /// The last message of the request that it answers.
    pub(super) behind: Option<MessageId>,
    /// With the ids that they get if the client repeats them.
    pub(super) messages: Vec<Message>,
}

/// The event for an answer that the client never sent back.
pub(crate) const UNREPEATED: &str = "proxy.unrepeated";

impl Working {
    /// The next request was taken in. An answer that it repeats is recorded with it; one that it leaves out, or tells in other
    /// words, is kept beside the history.
    pub(super) fn repeated(&mut self, fresh: &[Arc<Message>]) -> Result<(), LedgerError> {
        let Some(held) = self.held.take() else { return Ok(()) };
        if held.messages.iter().all(|said| fresh.iter().any(|message| message.id == said.id)) {
            return Ok(());
        }
        let event = Event {
            at: held.messages.first().and_then(|message| message.at),
            name: UNREPEATED.to_owned(),
            data: serde_json::to_value(&held.messages).unwrap_or_default(),
        };
        self.journal.append(Record::Event(Box::new(event)))?;
        Ok(())
    }

    /// An answer that was not repeated yet is the end of the history from here on.
    fn settle(&mut self) -> Result<Option<MessageId>, LedgerError> {
        let mut tip = self.preparer.history().last().cloned();
        if let Some(held) = self.held.take()
            && held.behind == tip
        {
            for message in held.messages {
                tip = Some(message.id.clone());
                self.journal.append(Record::Message(Box::new(message)))?;
            }
        }
        // Lists show it as it stands now.
        self.journal.update_card(|_| {})?;
        self.journal.end_turn()?;
        Ok(tip)
    }
}

impl Thread {
    /// Only the ledger remembers it from here on, until the next request. One that is at work is left alone.
    pub(super) fn rest(&self) {
        if let Ok(working) = self.working.try_lock() {
            self.put_down(working);
        }
    }

    /// The same, once it is not at work any more.
    pub(super) fn rest_at_last(&self) {
        self.put_down(self.hold());
    }

    /// Does something that the ledger alone remembers: what is held is fetched anew for the next request.
    pub(super) fn work_anew<T>(
        &self,
        what: impl FnOnce(&mut Working) -> Result<T, ManageError>,
    ) -> Result<T, ManageError> {
        let mut held = self.hold();
        let working = match &mut *held {
            Some(working) => working,
            none => none.insert(Box::new(self.wake()?)),
        };
        let done = what(working);
        self.put_down(held);
        done
    }

    fn put_down(&self, mut working: MutexGuard<'_, Option<Box<Working>>>) {
        let Some(mut held) = working.take() else { return };
        match held.settle() {
            Ok(tip) => *self.tip.lock().unwrap_or_else(PoisonError::into_inner) = tip,
            Err(error) => self.world.report_unrecorded(&error),
        }
        // The ledger is free before anybody else gets to look for it.
        drop(held);
    }

    /// Writes down what was learnt from an answer, whether the conversation is awake or not.
    pub(super) fn write_down(
        &self,
        event: Event,
        usage: Usage,
        held: Option<Held>,
    ) -> Result<(), LedgerError> {
        let mut working = self.hold();
        if let Some(working) = &mut *working {
            working.preparer.answered(&usage);
            working.journal.append(Record::Event(Box::new(event)))?;
            // Where the next request was taken in already, the answer is part of it, and another one may be held.
            if let Some(held) = held.filter(|held| held.behind.as_ref() == working.preparer.history().last())
            {
                working.held = Some(held);
            }
            return Ok(());
        }
        let mut records = vec![Record::Event(Box::new(event))];
        let mut tip = self.tip.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = held.filter(|held| held.behind == *tip && tip.is_some()) {
            *tip = held.messages.last().map(|message| message.id.clone());
            records.extend(held.messages.into_iter().map(|message| Record::Message(Box::new(message))));
        }
        let mut writer =
            Writer::open(&self.world.home, &self.place.path(&self.world.home), SyncPolicy::Turn)?;
        writer.append(&records)?;
        writer.end_turn()
    }
}
