//! What comes from a server, handed to whoever waits for it.

use super::clean;
use super::limits::{PROGRESS, REPLIES};
use super::rpc::{self, Incoming, Refusal};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use throughline_model::CancelToken;
use tokio::sync::{Notify, mpsc, oneshot};

/// The answer to a request.
pub(super) type Answer = Result<Value, Refusal>;

/// Where the messages of one connection arrive.
pub(super) struct Inbox {
    waiting: Mutex<HashMap<u64, Waiting>>,
    /// Why the connection is over.
    why: Mutex<Option<String>>,
    /// Set when it is.
    closed: CancelToken,
    /// The server says that its list of tools is another one.
    pub(super) tools_changed: Notify,
    roots: Value,
    replies: mpsc::Sender<Value>,
}

struct Waiting {
    answer: oneshot::Sender<Answer>,
    progress: mpsc::Sender<String>,
}

/// A request that waits. It no longer does when this is dropped.
pub(super) struct Ticket<'a> {
    inbox: &'a Inbox,
    id: u64,
    pub(super) answer: oneshot::Receiver<Answer>,
    pub(super) progress: mpsc::Receiver<String>,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        lock(&self.inbox.waiting).remove(&self.id);
    }
}

impl Inbox {
    /// An inbox, and what is to be sent in answer to the server's requests.
    pub(super) fn new(roots: &[PathBuf]) -> (Self, mpsc::Receiver<Value>) {
        let (replies, to_send) = mpsc::channel(REPLIES);
        let inbox = Self {
            waiting: Mutex::default(),
            why: Mutex::default(),
            closed: CancelToken::new(),
            tools_changed: Notify::new(),
            roots: roots_of(roots),
            replies,
        };
        (inbox, to_send)
    }

    /// Waits for the answer to a request.
    pub(super) fn expect(&self, id: u64) -> Ticket<'_> {
        let (send_answer, answer) = oneshot::channel();
        let (send_progress, progress) = mpsc::channel(PROGRESS);
        let waiting = Waiting { answer: send_answer, progress: send_progress };
        lock(&self.waiting).insert(id, waiting);
        Ticket { inbox: self, id, answer, progress }
    }

    /// Whether a request still waits for its answer.
    pub(super) fn is_waiting(&self, id: u64) -> bool {
        lock(&self.waiting).contains_key(&id)
    }

    /// The connection is over. The first reason stays.
    pub(super) fn close(&self, why: impl Into<String>) {
        lock(&self.why).get_or_insert_with(|| why.into());
        self.closed.cancel();
        lock(&self.waiting).clear();
    }

    /// Set when the connection is over.
    pub(super) fn closed(&self) -> &CancelToken {
        &self.closed
    }

    /// Why it is over.
    pub(super) fn why(&self) -> String {
        lock(&self.why).clone().unwrap_or_else(|| "the connection is closed".to_owned())
    }

    /// Takes a line, a body or an event; whether there was a message in it.
    pub(super) fn take(&self, bytes: &[u8]) -> bool {
        let Some(messages) = rpc::read(bytes) else { return false };
        for message in messages {
            match message {
                Incoming::Answer { id, result } => {
                    // An answer that nobody waits for was given up on, or is the second one.
                    if let Some(waiting) = lock(&self.waiting).remove(&id) {
                        let _ = waiting.answer.send(result);
                    }
                }
                Incoming::Request { id, method } => {
                    // A server that asks faster than it reads gets no answer.
                    let _ = self.replies.try_send(rpc::reply(id, self.answer(&method)));
                }
                Incoming::Notice { method, params } => self.notice(&method, &params),
            }
        }
        true
    }

    /// What is answered to a request of the server. Models, people and the rest of the machine are not for servers to ask.
    fn answer(&self, method: &str) -> Answer {
        let refused = |message: &str| Err(Refusal { code: -32601, message: message.to_owned() });
        match method {
            "ping" => Ok(json!({})),
            "roots/list" => Ok(self.roots.clone()),
            "sampling/createMessage" => refused("this client asks no model on behalf of servers"),
            "elicitation/create" => refused("this client asks the user nothing on behalf of servers"),
            _ => refused("this client does not know the method"),
        }
    }

    fn notice(&self, method: &str, params: &Value) {
        match method {
            "notifications/tools/list_changed" => self.tools_changed.notify_one(),
            "notifications/progress" => {
                let Some(id) = params.get("progressToken").and_then(Value::as_u64) else { return };
                if let Some(waiting) = lock(&self.waiting).get(&id) {
                    // People see the newest ones that they have time for.
                    let _ = waiting.progress.try_send(progress(params));
                }
            }
            // Logs, resources and prompts that changed: nobody asked.
            _ => {}
        }
    }
}

fn progress(params: &Value) -> String {
    let figure = |name: &str| params.get(name).and_then(Value::as_f64).filter(|figure| figure.is_finite());
    let message = params.get("message").and_then(Value::as_str).map(|message| clean::line(message, 200));
    let figures = match (figure("progress"), figure("total")) {
        (Some(done), Some(total)) => Some(format!("{done}/{total}")),
        (Some(done), None) => Some(format!("{done}")),
        (None, _) => None,
    };
    [figures, message].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn roots_of(roots: &[PathBuf]) -> Value {
    let root = |path: &PathBuf| {
        let uri = reqwest::Url::from_file_path(path).ok()?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Some(json!({"uri": uri.as_str(), "name": name}))
    };
    json!({"roots": roots.iter().filter_map(root).collect::<Vec<_>>()})
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
