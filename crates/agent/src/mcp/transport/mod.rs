//! How messages reach a server: lines of a child process, or HTTP.

mod address;
mod http;
mod launch;
mod process;

pub(super) use launch::{Launch, Place};

use super::inbox::Inbox;
use serde_json::Value;
use std::sync::Arc;
use throughline_model::BoxFuture;

/// A way to a server. What it answers arrives in the [`Inbox`] that the transport was opened with.
pub(super) trait Transport: Send + Sync {
    /// Sends a message. `expects` is the id of a request: over HTTP its answer is part of the sending, and an error if it
    /// does not come. An error is in words.
    fn send(&self, message: Value, expects: Option<u64>) -> BoxFuture<'_, Result<(), String>>;

    /// The version that was agreed upon.
    fn agreed(&self, version: &str);

    /// Hears what the server says by itself, where that takes more than having opened it.
    fn listen(&self) {}

    /// Ends it, and whatever belongs to it. When this is over nothing of it runs any more.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// Opens the way to a server.
pub(super) fn open(launch: &Launch, inbox: Arc<Inbox>) -> Result<Arc<dyn Transport>, String> {
    match &launch.place {
        Place::Command(command) => Ok(Arc::new(process::Process::start(command, inbox)?)),
        Place::Address(address) => Ok(Arc::new(http::Http::new(address, inbox)?)),
    }
}
