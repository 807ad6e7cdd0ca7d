//! A recorded session, as the requests that were made in it.

use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use throughline_core::tokens::Counter;
use throughline_core::{GroupId, Message, Op, Record, Role, Usage};
use throughline_ledger::{Home, LedgerError, import, is_ledger, session};

/// A recorded session: everything that was said, and where the model was asked.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// A name for tables.
    pub name: String,
    /// The client that held it.
    pub client: String,
    /// The model asked most recently.
    pub model: Option<String>,
    /// Where it ran.
    pub cwd: Option<String>,
    /// What was said, in order. What the client itself made up when it compacted is left out.
    pub messages: Vec<Arc<Message>>,
    /// Where the model was asked: the request holds the messages before this one.
    pub requests: Vec<usize>,
    /// Tokens that came before the messages, by what the provider reported for the first request.
    pub overhead: u64,
    /// Compactions that the client made.
    pub compactions: usize,
}

/// Why there is nothing to replay.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file is neither a ledger nor a transcript.
    #[error("{0} is neither a ledger nor a transcript of Claude Code or Codex")]
    Foreign(String),
    /// Nobody says anything in it.
    #[error("{0} holds no request to a model")]
    Empty(String),
    /// It can't be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Recording {
    /// Reads a ledger or a transcript.
    pub fn open(home: &Home, path: &Path) -> Result<Self, RecordingError> {
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let mut builder = Builder::new(name.clone());
        if import::read(path, &mut |record| builder.take(record))?.is_none() {
            if !is_ledger(path)? {
                return Err(RecordingError::Foreign(path.display().to_string()));
            }
            session::each_record(home, path, &mut |_, record| {
                builder.take(record);
                Ok::<_, LedgerError>(())
            })?;
        }
        let recording = builder.finish();
        if recording.requests.is_empty() {
            return Err(RecordingError::Empty(path.display().to_string()));
        }
        Ok(recording)
    }

    /// The model whose tokens are counted.
    pub fn model_or_default(&self) -> &str {
        self.model.as_deref().unwrap_or(match self.client.as_str() {
            "codex" => "gpt-5-codex",
            _ => "claude-sonnet-4-5",
        })
    }
}

/// The most tokens before the messages that are believed: more is history that the recording lacks.
const MOST_OVERHEAD: u64 = 35_000;

/// Tokens before the messages where no provider reported any: what the clients' own prompts and tools come to.
fn usual_overhead(client: &str) -> u64 {
    match client {
        "codex" => 12_000,
        _ => 27_000,
    }
}

struct Builder {
    recording: Recording,
    seen: HashSet<throughline_core::MessageId>,
    last: Option<(Role, Option<GroupId>)>,
    first_usage: Option<Usage>,
}

impl Builder {
    fn new(name: String) -> Self {
        let recording = Recording { name, ..Recording::default() };
        Self { recording, seen: HashSet::new(), last: None, first_usage: None }
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Meta(meta) => {
                self.recording.client = meta.client;
                self.recording.cwd = meta.cwd.or(self.recording.cwd.take());
            }
            Record::Message(message) => self.message(*message),
            Record::Turn(turn) => {
                self.recording.model = turn.model.or(self.recording.model.take());
                self.recording.cwd = self.recording.cwd.take().or(turn.cwd);
            }
            Record::Edit(edit) => {
                for op in &edit.ops {
                    if let Op::Rewind { to } = op {
                        self.rewind(to.as_ref());
                    }
                }
            }
            Record::Checkpoint(_) => self.recording.compactions += 1,
            Record::Event(event) => {
                if event.name == "usage" {
                    self.usage(&event.data);
                }
            }
            Record::Card(card) => {
                self.recording.model = card.model.or(self.recording.model.take());
            }
        }
    }

    fn usage(&mut self, data: &Value) {
        if let Some(model) = data.get("model").and_then(Value::as_str) {
            self.recording.model = Some(model.to_owned());
        }
        if self.first_usage.is_none() {
            let usage =
                data.get("usage").cloned().and_then(|usage| serde_json::from_value::<Usage>(usage).ok());
            self.first_usage = usage.filter(|usage| usage.prompt() > 0);
        }
    }

    fn message(&mut self, message: Message) {
        if message.flags.display_only || message.flags.summary || !self.seen.insert(message.id.clone()) {
            return;
        }
        let asked = match message.role {
            Role::Assistant => match &self.last {
                // Another record of the same answer.
                Some((_, Some(group))) if message.group.as_ref() == Some(group) => false,
                Some((Role::Assistant, _)) => false,
                Some(_) | None => true,
            },
            Role::User | Role::Tool | Role::System | Role::Developer => false,
        };
        if asked && !self.recording.messages.is_empty() {
            self.recording.requests.push(self.recording.messages.len());
        }
        match message.role {
            Role::Assistant => self.last = Some((Role::Assistant, message.group.clone())),
            // Results may stand between two records of one answer.
            Role::User | Role::Tool => {
                let group = self.last.take().and_then(|(_, group)| group).filter(|_| !message.is_real_user());
                self.last = Some((message.role, group));
            }
            Role::System | Role::Developer => {}
        }
        self.recording.messages.push(Arc::new(message));
    }

    fn rewind(&mut self, to: Option<&throughline_core::MessageId>) {
        let keep = match to {
            None => return,
            Some(id) => match self.recording.messages.iter().rposition(|message| message.id == *id) {
                Some(at) => at + 1,
                None => return,
            },
        };
        for gone in self.recording.messages.drain(keep..) {
            self.seen.remove(&gone.id);
        }
        self.recording.requests.retain(|&at| at <= keep);
    }

    fn finish(mut self) -> Recording {
        let first = self.recording.requests.first().copied().unwrap_or_default();
        self.recording.overhead = match self.first_usage {
            Some(usage) => {
                let mut counter = Counter::for_model(self.recording.model_or_default());
                let counted: u64 =
                    self.recording.messages[..first].iter().map(|m| counter.message(m).total()).sum();
                let rest = usage.prompt().saturating_sub(counted);
                if rest > MOST_OVERHEAD { usual_overhead(&self.recording.client) } else { rest }
            }
            None => usual_overhead(&self.recording.client),
        };
        self.recording
    }
}
