//! What a preparer is given, and what it gives.

use super::history::is_own;
use bytes::Bytes;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use throughline_core::guarantee::Violation;
use throughline_core::pipeline::Pass;
use throughline_core::{Edit, Event, Message, MessageId, Op, Record, View, invariants};
use throughline_ledger::{Home, LedgerError, resume, session};
use throughline_wire::WireError;
use throughline_wire::splice::SpliceError;

/// What an earlier process recorded.
#[derive(Debug, Default)]
pub struct Restored {
    /// Every message, in order.
    pub messages: Vec<Arc<Message>>,
    /// Where the client's history ended: the newest message of it, or what the client went back to since.
    pub newest: Option<MessageId>,
    /// Every event, in order.
    pub events: Vec<Event>,
    /// The view as it stands.
    pub view: View,
}

impl Restored {
    /// Reads a ledger.
    pub fn read(home: &Home, path: &Path) -> Result<Self, LedgerError> {
        let mut restored = Self { view: resume(home, path)?.view, ..Self::default() };
        let shown: HashMap<MessageId, Arc<Message>> = restored
            .view
            .entries()
            .iter()
            .map(|entry| (entry.message.id.clone(), entry.message.clone()))
            .collect();
        // What was told stands behind a message of the client's, and a way back may end there.
        let mut told: HashMap<MessageId, Option<MessageId>> = HashMap::new();
        session::each_record(home, path, &mut |_, record| {
            match record {
                Record::Message(message) => {
                    if is_own(&message) {
                        told.insert(message.id.clone(), restored.newest.clone());
                    } else {
                        restored.newest = Some(message.id.clone());
                    }
                    // What the view shows is held once.
                    let shown = shown.get(&message.id).filter(|shown| ***shown == *message);
                    restored.messages.push(shown.cloned().unwrap_or_else(|| Arc::new(*message)));
                }
                Record::Edit(edit) if edit.reason == Edit::GOES_ON_ELSEWHERE => {
                    for op in edit.ops {
                        if let Op::Rewind { to } = op {
                            restored.newest = to.and_then(|to| told.get(&to).cloned().unwrap_or(Some(to)));
                        }
                    }
                }
                Record::Event(event) => restored.events.push(*event),
                Record::Meta(_)
                | Record::Turn(_)
                | Record::Edit(_)
                | Record::Checkpoint(_)
                | Record::Card(_) => {}
            }
            Ok::<_, LedgerError>(())
        })?;
        Ok(restored)
    }
}

/// What a request brought.
#[derive(Debug, Default)]
pub struct Taken {
    /// What was not known before, in order.
    pub fresh: Vec<Arc<Message>>,
    /// The client went back, or goes on elsewhere.
    pub diverged: bool,
}

/// A request that may be sent.
#[derive(Debug)]
pub struct Prepared {
    /// The body, to the byte that of the client where nothing was changed; then it is shared with it.
    pub bytes: Bytes,
    /// What was done.
    pub pass: Pass,
    /// What had to be put right so that the provider accepts it (W2).
    pub repairs: Vec<invariants::Repair>,
    /// The size at which the view is replaced, if it ever is.
    pub threshold: Option<u64>,
    /// What it lacks of the client's own request though it must contain it (G): the client's own is to be sent then.
    pub violations: Vec<Violation>,
}

/// Why a request can't be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It can't be read.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// It can't be put together again.
    #[error(transparent)]
    Splice(#[from] SpliceError),
}

/// Why a request can't be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError<E> {
    /// It can't be read.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// It can't be put together again.
    #[error(transparent)]
    Splice(#[from] SpliceError),
    /// No request was taken in yet.
    #[error("no request was taken in yet; `take` comes first")]
    NothingTaken,
    /// A decision could not be written down, and was not made.
    #[error("cannot record a decision: {0}")]
    Journal(E),
}
