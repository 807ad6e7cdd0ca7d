//! Requests to a server, and their answers.

use super::inbox::Inbox;
use super::rpc::{self, Refusal};
use super::transport::{self, Launch, Transport};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use throughline_model::CancelToken;

/// How long a message that nobody waits for may take.
const ASIDE: Duration = Duration::from_secs(10);

/// A way to a server and what comes from there.
pub(super) struct Connection {
    transport: Arc<dyn Transport>,
    inbox: Arc<Inbox>,
    next: AtomicU64,
}

/// A request.
pub(super) struct Ask<'a> {
    pub(super) method: &'a str,
    pub(super) params: Value,
    /// How long the answer may take.
    pub(super) limit: Duration,
    pub(super) cancel: &'a CancelToken,
    /// Hears how far it is.
    pub(super) progress: Option<&'a (dyn Fn(&str) + Send + Sync)>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoAnswer {
    /// The server said no.
    #[error("{0}")]
    Refused(Refusal),
    /// Whoever asked wants no answer any more.
    #[error("cancelled")]
    Cancelled,
    /// It took too long.
    #[error("no answer within {} seconds", .0.as_secs())]
    TooLate(Duration),
    /// The connection ended before.
    #[error("{0}")]
    Closed(String),
    /// The request could not be sent, or the answer not be read.
    #[error("{0}")]
    Failed(String),
}

impl Connection {
    /// Opens the way. Nothing has been said yet.
    pub(super) fn open(launch: &Launch, roots: &[PathBuf]) -> Result<Self, String> {
        let (inbox, mut replies) = Inbox::new(roots);
        let inbox = Arc::new(inbox);
        let transport = transport::open(launch, Arc::clone(&inbox))?;
        let closed = inbox.closed().clone();
        let to = Arc::downgrade(&transport);
        tokio::spawn(async move {
            loop {
                let reply = tokio::select! {
                    reply = replies.recv() => reply,
                    () = closed.cancelled() => None,
                };
                let (Some(reply), Some(to)) = (reply, to.upgrade()) else { return };
                let _ = tokio::time::timeout(ASIDE, to.send(reply, None)).await;
            }
        });
        Ok(Self { transport, inbox, next: AtomicU64::new(1) })
    }

    /// Sends a request and waits for its answer. A request that is cancelled or late is called off at the server too.
    pub(super) async fn request(&self, ask: Ask<'_>) -> Result<Value, NoAnswer> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let Ask { method, mut params, limit, cancel, progress } = ask;
        if progress.is_some()
            && let Some(fields) = params.as_object_mut()
        {
            fields.insert("_meta".to_owned(), json!({"progressToken": id}));
        }
        let mut ticket = self.inbox.expect(id);
        let closed = self.inbox.closed().clone();
        let mut sending = self.transport.send(rpc::request(id, method, params), Some(id));
        let mut is_sent = false;
        let late = tokio::time::sleep(limit);
        tokio::pin!(late);
        let no_answer = loop {
            tokio::select! {
                biased;
                answer = &mut ticket.answer => match answer {
                    Ok(answer) => {
                        // What was reported before the answer is told before it.
                        while let (Some(progress), Ok(text)) = (progress, ticket.progress.try_recv()) {
                            progress(&text);
                        }
                        return answer.map_err(NoAnswer::Refused);
                    }
                    Err(_) => break NoAnswer::Closed(self.inbox.why()),
                },
                () = cancel.cancelled() => break NoAnswer::Cancelled,
                () = closed.cancelled() => break NoAnswer::Closed(self.inbox.why()),
                () = &mut late => break NoAnswer::TooLate(limit),
                Some(text) = ticket.progress.recv() => {
                    if let Some(progress) = progress {
                        progress(&text);
                    }
                }
                sent = &mut sending, if !is_sent => match sent {
                    Ok(()) => is_sent = true,
                    Err(why) => break NoAnswer::Failed(why),
                },
            }
        };
        if matches!(no_answer, NoAnswer::Cancelled | NoAnswer::TooLate(_)) && method != "initialize" {
            let reason = no_answer.to_string();
            let params = json!({"requestId": id, "reason": reason});
            self.aside(rpc::notice("notifications/cancelled", Some(params)));
        }
        Err(no_answer)
    }

    /// Tells the server something, and waits until it is told.
    pub(super) async fn tell(&self, method: &str) -> Result<(), String> {
        self.transport.send(rpc::notice(method, None), None).await
    }

    /// Sends something that nobody waits for.
    fn aside(&self, message: Value) {
        let transport = Arc::clone(&self.transport);
        tokio::spawn(async move {
            let _ = tokio::time::timeout(ASIDE, transport.send(message, None)).await;
        });
    }

    /// The version that was agreed upon.
    pub(super) fn agreed(&self, version: &str) {
        self.transport.agreed(version);
    }

    /// Hears what the server says by itself.
    pub(super) fn listen(&self) {
        self.transport.listen();
    }

    /// Over when the connection is; why.
    pub(super) async fn over(&self) -> String {
        self.inbox.closed().cancelled().await;
        self.inbox.why()
    }

    /// Whether it is over.
    pub(super) fn is_over(&self) -> bool {
        self.inbox.closed().is_cancelled()
    }

    /// Over when the server says that its tools changed.
    pub(super) async fn tools_changed(&self) {
        self.inbox.tools_changed.notified().await;
    }

    /// Ends it, and the server if it is a child of ours.
    pub(super) async fn close(&self) {
        self.transport.close().await;
        self.inbox.close("it was stopped");
    }
}
