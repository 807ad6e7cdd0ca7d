//! What a preparer is given, and what it gives.

use std::path::Path;
use std::sync::Arc;
use throughline_core::pipeline::Pass;
use throughline_core::{Event, Message, Record, View, invariants};
use throughline_ledger::{Home, LedgerError, resume, session};
use throughline_wire::WireError;
use throughline_wire::splice::SpliceError;

/// What an earlier process recorded.
#[derive(Debug, Default)]
pub struct Restored {
    /// Every message, in order.
    pub messages: Vec<Arc<Message>>,
    /// Every event, in order.
    pub events: Vec<Event>,
    /// The view as it stands.
    pub view: View,
}

impl Restored {
    /// Reads a ledger.
    pub fn read(home: &Home, path: &Path) -> Result<Self, LedgerError> {
        let mut restored = Self { view: resume(home, path)?.view, ..Self::default() };
        session::each_record(home, path, &mut |_, record| {
            match record {
                Record::Message(message) => restored.messages.push(Arc::new(*message)),
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
    /// The body, to the byte that of the client where nothing was changed.
    pub bytes: Vec<u8>,
    /// What was done.
    pub pass: Pass,
    /// What had to be put right so that the provider accepts it (W2).
    pub repairs: Vec<invariants::Repair>,
    /// The size at which the view is replaced, if it ever is.
    pub threshold: Option<u64>,
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
