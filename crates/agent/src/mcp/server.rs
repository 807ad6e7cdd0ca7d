//! One server: begun, watched, begun anew when it dies, within limits.

use super::catalogue::Catalogue;
use super::connection::{Ask, Connection, NoAnswer};
use super::handshake;
use super::inbox::lock;
use super::limits::{HEALTHY, RELIST};
use super::listing::{self, Look};
use super::transport::Launch;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use throughline_model::CancelToken;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// How often and how soon a server that died is begun anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The first wait; each further one is twice as long.
    pub first: Duration,
    /// Attempts in a row.
    pub attempts: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self { first: Duration::from_secs(1), attempts: 5 }
    }
}

/// How a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// The settings say that it is not used.
    Disabled,
    /// It is being begun.
    Starting,
    /// It can be called.
    Ready {
        /// How many tools it offers.
        tools: usize,
        /// Why some of its tools can't be used.
        refused: Vec<String>,
    },
    /// It died and is being begun anew.
    Reconnecting {
        /// Why it died.
        why: String,
        /// Which attempt is next, from one.
        attempt: u32,
    },
    /// It can't be called. [`McpServers::restart`](super::McpServers::restart) tries it again.
    Failed {
        /// Why.
        why: String,
    },
    /// The session is over.
    Stopped,
}

/// What is known of a server inside.
#[derive(Clone)]
pub(super) enum Slot {
    Disabled,
    Starting,
    Ready(Arc<Live>),
    Reconnecting { why: String, attempt: u32 },
    Failed { why: String },
    Stopped,
}

/// A server that can be called.
pub(super) struct Live {
    connection: Connection,
    pub(super) instructions: Option<String>,
    pub(super) changes: bool,
    refused: Mutex<Vec<String>>,
}

pub(super) struct Server {
    pub(super) name: String,
    launch: Result<Launch, String>,
    /// The tools that are wanted.
    only: Vec<String>,
    roots: Vec<PathBuf>,
    patience: Patience,
    catalogue: Arc<Mutex<Catalogue>>,
    slot: watch::Sender<Slot>,
    again: Notify,
    stop: CancelToken,
}

/// What a server is made of.
pub(super) struct Parts {
    pub(super) name: String,
    pub(super) is_enabled: bool,
    pub(super) launch: Result<Launch, String>,
    pub(super) only: Vec<String>,
    pub(super) roots: Vec<PathBuf>,
    pub(super) patience: Patience,
    pub(super) catalogue: Arc<Mutex<Catalogue>>,
    pub(super) stop: CancelToken,
}

impl Server {
    pub(super) fn new(parts: Parts) -> Self {
        let Parts { name, is_enabled, launch, only, roots, patience, catalogue, stop } = parts;
        let slot = watch::Sender::new(if is_enabled { Slot::Starting } else { Slot::Disabled });
        Self { name, launch, only, roots, patience, catalogue, slot, again: Notify::new(), stop }
    }

    /// Over when the first attempt to begin it is.
    pub(super) async fn settled(&self) {
        let mut slot = self.slot.subscribe();
        let _ = slot.wait_for(|slot| !matches!(slot, Slot::Starting)).await;
    }

    pub(super) fn state(&self) -> ServerState {
        let slot = self.slot.borrow().clone();
        match slot {
            Slot::Disabled => ServerState::Disabled,
            Slot::Starting => ServerState::Starting,
            Slot::Ready(live) => ServerState::Ready {
                tools: lock(&self.catalogue).count(&self.name),
                refused: lock(&live.refused).clone(),
            },
            Slot::Reconnecting { why, attempt } => ServerState::Reconnecting { why, attempt },
            Slot::Failed { why } => ServerState::Failed { why },
            Slot::Stopped => ServerState::Stopped,
        }
    }

    /// The server, where it can be called now.
    pub(super) fn live(&self) -> Option<Arc<Live>> {
        match &*self.slot.borrow() {
            Slot::Ready(live) => Some(Arc::clone(live)),
            Slot::Disabled
            | Slot::Starting
            | Slot::Reconnecting { .. }
            | Slot::Failed { .. }
            | Slot::Stopped => None,
        }
    }

    /// Tries a server that failed again.
    pub(super) fn restart(&self) -> bool {
        let is_failed = matches!(*self.slot.borrow(), Slot::Failed { .. });
        if is_failed {
            self.again.notify_one();
        }
        is_failed
    }

    /// Keeps the server going until it is told to stop.
    pub(super) async fn supervise(self: Arc<Self>) {
        if matches!(*self.slot.borrow(), Slot::Disabled) {
            return;
        }
        let mut attempt = 0;
        let mut was_ready = false;
        loop {
            let began = Instant::now();
            let why = match self.begin().await {
                Ok(live) => {
                    was_ready = true;
                    self.slot.send_replace(Slot::Ready(Arc::clone(&live)));
                    let why = tokio::select! {
                        why = self.watch(&live) => why,
                        () = self.stop.cancelled() => String::new(),
                    };
                    live.connection.close().await;
                    why
                }
                Err(why) => why,
            };
            if self.stop.is_cancelled() {
                self.slot.send_replace(Slot::Stopped);
                return;
            }
            attempt = if began.elapsed() >= HEALTHY { 1 } else { attempt + 1 };
            // What never worked is not tried again by itself.
            if was_ready && attempt <= self.patience.attempts {
                self.slot.send_replace(Slot::Reconnecting { why, attempt });
                let wait = self.patience.first.saturating_mul(1 << (attempt - 1).min(10));
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = self.stop.cancelled() => {}
                }
            } else {
                lock(&self.catalogue).update(&self.name, Vec::new());
                self.slot.send_replace(Slot::Failed { why });
                tokio::select! {
                    () = self.again.notified() => {
                        self.slot.send_replace(Slot::Starting);
                        (attempt, was_ready) = (0, false);
                    }
                    () = self.stop.cancelled() => {}
                }
            }
        }
    }

    /// Opens a connection, greets the server and asks for its tools, within its time.
    async fn begin(&self) -> Result<Arc<Live>, String> {
        let launch = self.launch.as_ref().map_err(Clone::clone)?;
        if self.stop.is_cancelled() {
            return Err("the session is over".to_owned());
        }
        let connection = Connection::open(launch, &self.roots)?;
        let opening = async {
            let greeting = handshake::greet(&connection, launch.startup, &self.stop).await?;
            let listing = if greeting.has_tools {
                self.list(&connection, launch.startup).await?
            } else {
                listing::Listing::default()
            };
            Ok((greeting, listing))
        };
        let opened = tokio::time::timeout(launch.startup, opening).await.unwrap_or_else(|_| {
            let seconds = launch.startup.as_secs();
            Err(format!("it was not ready within {seconds} seconds; raise `startup_seconds`"))
        });
        match opened {
            Ok((greeting, listing)) => {
                lock(&self.catalogue).update(&self.name, listing.tools);
                Ok(Arc::new(Live {
                    connection,
                    instructions: greeting.instructions,
                    changes: greeting.changes,
                    refused: Mutex::new(listing.refused),
                }))
            }
            Err(why) => {
                connection.close().await;
                Err(why)
            }
        }
    }

    async fn list(&self, connection: &Connection, limit: Duration) -> Result<listing::Listing, String> {
        listing::list(connection, Look { only: &self.only, limit, cancel: &self.stop }).await
    }

    /// Watches a server that can be called: why it is over.
    async fn watch(&self, live: &Live) -> String {
        let limit = self.launch.as_ref().map_or(HEALTHY, |launch| launch.startup);
        loop {
            tokio::select! {
                why = live.connection.over() => return why,
                () = live.connection.tools_changed() => {}
            }
            let look = async {
                // Several at once are one; a server can't keep us busy with this.
                tokio::time::sleep(RELIST).await;
                tokio::time::timeout(limit, self.list(&live.connection, limit)).await
            };
            // A list that can't be had leaves the one before.
            if let Ok(Ok(listing)) = look.await {
                *lock(&live.refused) = listing.refused;
                lock(&self.catalogue).update(&self.name, listing.tools);
            }
        }
    }

    /// Calls a tool. A server that is being begun is waited for. An error is for the model.
    pub(super) async fn call(&self, call: Call<'_>) -> Result<Value, String> {
        let Ok(launch) = &self.launch else { return Err(self.absent()) };
        let mut slot = self.slot.subscribe();
        let is_settled = |slot: &Slot| match slot {
            // It is over already, and will be begun anew in a moment.
            Slot::Ready(live) => !live.connection.is_over(),
            Slot::Starting | Slot::Reconnecting { .. } => false,
            Slot::Disabled | Slot::Failed { .. } | Slot::Stopped => true,
        };
        tokio::select! {
            _ = tokio::time::timeout(launch.startup, slot.wait_for(is_settled)) => {}
            () = call.cancel.cancelled() => return Err("Interrupted before the tool was called.".to_owned()),
        }
        let Some(live) = self.live() else { return Err(self.absent()) };
        let params = json!({"name": call.tool, "arguments": call.arguments});
        let Call { cancel, progress, .. } = call;
        let ask = Ask { method: "tools/call", params, limit: launch.call, cancel, progress: Some(progress) };
        live.connection.request(ask).await.map_err(|error| {
            let name = &self.name;
            match error {
                NoAnswer::Refused(refusal) => format!("The MCP server {name} refused the call: {refusal}."),
                NoAnswer::Cancelled => "Interrupted. The server was told to stop; what it did until then may stay.".to_owned(),
                NoAnswer::TooLate(limit) => format!(
                    "The MCP server {name} did not answer within {} seconds and was told to stop. It may have done part of it.",
                    limit.as_secs()
                ),
                NoAnswer::Closed(why) => {
                    format!("The MCP server {name} was lost during the call: {why}. It may have done part of it; look before you call again.")
                }
                NoAnswer::Failed(why) => format!("The call did not get through to the MCP server {name}, or its answer not back: {why}."),
            }
        })
    }

    fn absent(&self) -> String {
        let name = &self.name;
        let why = match self.state() {
            ServerState::Disabled => "it is switched off".to_owned(),
            ServerState::Starting => "it has not started yet".to_owned(),
            ServerState::Ready { .. } => "it has only just come back; try again".to_owned(),
            ServerState::Reconnecting { why, attempt } => {
                format!("{why}; it is being started anew (attempt {attempt})")
            }
            ServerState::Failed { why } => why,
            ServerState::Stopped => "the session is over".to_owned(),
        };
        format!("The MCP server {name} can't be called: {why}.")
    }
}

/// A call of a tool.
pub(super) struct Call<'a> {
    pub(super) tool: &'a str,
    pub(super) arguments: Value,
    pub(super) cancel: &'a CancelToken,
    pub(super) progress: &'a (dyn Fn(&str) + Send + Sync),
}
