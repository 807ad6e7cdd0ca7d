//! A session that an agent holds: open it, say things in it, ask for the next request, record the answer.
//!
//! [`Session::prepare`] gives the bytes of the next request, [`Session::answered`] takes the answer; [`Session::ask`] does both
//! with the session's own model and cures what it can. Everything that is said is in the ledger before anything is made of it, so a
//! session can be dropped at any moment and [resumed](Session::resume).

mod ahead;
mod compactor;
mod context;
mod error;
mod frame;
mod handbook;
mod hooks;
mod interrupted;
mod memory;
mod notes;
mod opening;
mod people;
mod recalled;

pub use context::{Share, Spent, WindowUse};
pub use error::SessionError;
pub use frame::Frame;
pub use handbook::{DoneAtStart, Handbooks, StartOrder, StartWork, begun, citation, pollution};
pub use notes::notes_file;
pub use opening::{Models, Scribe, SessionSettings, Start};

use crate::LedgerJournal;
pub use crate::remember::{Recalling, Remembering};
use crate::telemetry::span;
use ahead::Background;
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use throughline_core::compaction::{HostContext, Trigger};
use throughline_core::pipeline::{Change, Journal, Moment, Notice, Pass, Pipeline};
use throughline_core::stages::microcompact::{SERVER_EDITS_BETA, Thinking};
use throughline_core::{
    Entry, Event, Flags, Fragment, Message, MessageId, Record, Role, SessionId, Turn, Usage, Wire,
    content_id, invariants,
};
use throughline_ledger::Home;
use throughline_memory::notes::NotesKeeper;
use throughline_model::{Answer, Call, CancelToken, ErrorKind, ModelError, OnDelta, Prefix};
use throughline_wire::Response;
use tracing::Instrument;

/// A session that an agent holds.
pub struct Session {
    home: Home,
    id: SessionId,
    journal: LedgerJournal,
    pipeline: Pipeline,
    models: Models,
    frame: Frame,
    settings: SessionSettings,
    /// The newest message.
    head: Option<MessageId>,
    /// The last request.
    sent: Option<Sent>,
    /// A compaction that was asked for, for the next request.
    wish: Option<Wish>,
    background: Background,
    notes: Option<NotesKeeper>,
    memory: Option<crate::remember::Memory>,
    handbook: Option<handbook::Handbook>,
    /// What was said since the notes' keeper last looked.
    unobserved: Vec<Arc<Message>>,
    /// What the host supplies for the next compaction.
    host: HostContext,
    /// Reads files for compactions, where the host can.
    file_reader: Option<FileReader>,
    /// Where the session runs.
    cwd: Option<String>,
    spent: Spent,
    /// The session ends with this turn.
    is_last_turn: bool,
    /// What project files want summaries to pay attention to.
    standing: Option<String>,
    /// The newest of each kind of what the host keeps in the ledger.
    kept: BTreeMap<String, Value>,
    /// What people should know, since they were last told.
    notices: Vec<Notice>,
    /// What was done to the view, since somebody last asked.
    changes: Vec<Change>,
    /// The same in words: about hooks, notes, files.
    warnings: Vec<String>,
}

/// A request that went out.
#[derive(Clone, Debug)]
struct Sent {
    prefix: Prefix,
    /// Its last message.
    last: Option<MessageId>,
}

/// Reads a file by the path that a tool call named; `None`: there is none, or it is not to be read.
pub type FileReader = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

struct Wish {
    trigger: Trigger,
    instructions: Option<String>,
}

/// The next request.
#[derive(Debug)]
pub struct Ready {
    /// The body.
    pub body: Bytes,
    /// What was done to make it small.
    pub pass: Pass,
    /// What had to be put right so that the provider accepts it (W2).
    pub repairs: Vec<invariants::Repair>,
}

/// Compactions by which a request that the provider found too long is cured.
const CURES: usize = 2;

impl Session {
    /// Which session it is.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The view, and everything that decides about it.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Its ledger.
    pub fn path(&self) -> &std::path::Path {
        self.journal.path()
    }

    /// The folder for what belongs to the session beside its ledger: long results, what tools keep.
    pub fn folder(&self) -> std::path::PathBuf {
        opening::folder_of(&self.home, &self.id)
    }

    /// Other words around the messages, before anything was asked: tools may need to know the session that they are for.
    pub fn set_frame(&mut self, frame: Frame) {
        self.frame = frame;
        self.sent = None;
        self.count_frame();
    }

    /// What comes around the messages.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// What people should know, since this was last asked.
    pub fn notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// What was done to keep the view small, since this was last asked.
    pub fn changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// What hooks and files had to say, since this was last asked.
    pub fn warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Sets what the model is to be told again behind every summary (P5e): running tasks, changes of deferred tools, of agents,
    /// of what servers say about themselves. It takes the place of what was set before.
    pub fn set_host_context(&mut self, host: HostContext) {
        self.host = host;
    }

    /// Sets how files are read that come back behind a summary (P5e): as they are then.
    pub fn set_file_reader(&mut self, reader: FileReader) {
        self.file_reader = Some(reader);
    }

    /// What every summary is to pay attention to, as project files say (P5b). What a person asks for comes on top.
    pub fn set_compact_instructions(&mut self, instructions: Option<&str>) {
        self.standing = instructions.map(str::to_owned);
    }

    /// Keeps something of the host's in the ledger, under a name of its own; the newest of a name is there again after
    /// [resuming](Self::resume).
    pub fn keep(&mut self, name: &str, data: Value) -> Result<(), SessionError> {
        self.kept.insert(name.to_owned(), data.clone());
        self.append_event(Event { at: Some(self.now()), name: name.to_owned(), data })
    }

    /// What was [kept](Self::keep) under a name.
    pub fn kept(&self, name: &str) -> Option<&Value> {
        self.kept.get(name)
    }

    /// Ids of messages that were [kept](Self::keep) under a name.
    fn kept_ids(&self, name: &str) -> Vec<MessageId> {
        let kept = self.kept(name).cloned();
        kept.and_then(|ids| serde_json::from_value(ids).ok()).unwrap_or_default()
    }

    /// The session's notes, where they are kept.
    pub fn notes(&self) -> Option<&NotesKeeper> {
        self.notes.as_ref()
    }

    /// Says something in the session: a tool's result, or words of the user's that no hook needs to see
    /// (see [`say`](Self::say)).
    pub fn record(&mut self, mut message: Message) -> Result<MessageId, SessionError> {
        message.at = message.at.or_else(|| Some(self.now()));
        if message.id.as_str().is_empty() {
            message.id = content_id(self.head.as_ref(), &message);
        }
        message.parent = self.head.replace(message.id.clone());
        let id = message.id.clone();
        let origin = self.journal.append(Record::Message(Box::new(message.clone())))?;
        let entry = Entry::new(message, origin);
        if self.notes.is_some() {
            self.unobserved.push(entry.message.clone());
        }
        if let Some(memory) = &mut self.memory {
            memory.hear(&entry.message);
        }
        self.pipeline.push(entry);
        Ok(id)
    }

    /// The next request, made small, cheap and valid. Waits for a model only if the view has to be replaced and nothing that was
    /// written before can be used.
    pub async fn prepare(&mut self) -> Result<Ready, SessionError> {
        let span = span::prepare(&self.id, &self.frame.model);
        let result = self.make_request().instrument(span.clone()).await;
        span::prepared(&span, &result);
        result
    }

    async fn make_request(&mut self) -> Result<Ready, SessionError> {
        self.collect().await?;
        let wish = self.wish.take();
        let moment = self.moment(wish);
        let mut preparation = self.pipeline.begin(moment, &mut self.journal)?;
        if preparation.due().is_some() {
            self.compact(&mut preparation).await?;
        }
        let pass = self.pipeline.end(preparation, &mut self.journal)?;
        let shown: Vec<Message> = self.pipeline.messages().into_iter().map(Arc::unwrap_or_clone).collect();
        let (messages, repairs) = invariants::repair(shown);
        let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
        let body = self.frame.request_with(&messages, self.provider_edits());
        let last = self.pipeline.view().entries().last().map(|entry| entry.message.id.clone());
        self.sent = Prefix::new(self.frame.wire, body.to_vec()).ok().map(|prefix| Sent { prefix, last });
        self.notices.extend(pass.notices.iter().cloned());
        self.changes.extend(pass.changes.iter().cloned());
        let limit = self.pipeline.settings().window;
        if pass.tokens_after > limit {
            return Err(SessionError::DoesNotFit { tokens: pass.tokens_after, limit });
        }
        Ok(Ready { body, pass, repairs })
    }

    /// Keys by which the next request has the provider drop content by itself (P3b, W4).
    fn provider_edits(&self) -> Vec<(&'static str, Value)> {
        if self.frame.wire != Wire::Anthropic {
            return Vec::new();
        }
        let extra = &self.frame.extra;
        let is_known = self.models.main.has_beta(SERVER_EDITS_BETA);
        let server = (is_known && !extra.contains_key("context_management"))
            .then(|| Thinking::from_request(extra.get("thinking")));
        crate::envelope::provider_edits(&self.pipeline, server)
    }

    /// The answer to the last request. Its usage corrects how tokens are counted, unless it is an estimate.
    pub fn answered(&mut self, answer: &Answer) -> Result<(), SessionError> {
        let mut response: Response = answer.response.clone();
        response.follow(self.head.as_ref());
        let mut said = Vec::with_capacity(response.messages.len());
        for mut message in response.messages {
            message.id = self.record(message.clone())?;
            said.push(message);
        }
        self.count_citation(&said)?;
        self.look_outside(&said)?;
        let usage = &response.usage;
        let settings = self.pipeline.settings();
        let dollars = settings.price.bill(usage, settings.ttl).dollars.as_f64();
        self.spent.add(usage, dollars, 1);
        self.append_event(usage_event(&self.frame.model, usage, dollars, self.now()))?;
        if !answer.estimated {
            self.pipeline.answered(usage);
        }
        self.observe_answer();
        Ok(())
    }

    fn append_event(&mut self, event: Event) -> Result<(), SessionError> {
        self.journal.append(Record::Event(Box::new(event)))?;
        Ok(())
    }

    /// Prepares the next request, has the model answer it, and records the answer. A request that the provider finds too
    /// long is made shorter and sent again; other failures are told, and nothing is lost by them.
    pub async fn ask(
        &mut self,
        on_delta: Option<OnDelta<'_>>,
        cancel: CancelToken,
    ) -> Result<Answer, SessionError> {
        let span = span::ask(&self.id, &self.frame.model);
        let result = self.ask_and_cure(on_delta, cancel).instrument(span.clone()).await;
        result.inspect_err(|error| span::failed(&span, error))
    }

    async fn ask_and_cure(
        &mut self,
        mut on_delta: Option<OnDelta<'_>>,
        cancel: CancelToken,
    ) -> Result<Answer, SessionError> {
        let mut cures = 0;
        loop {
            let ready = self.prepare().await?;
            let model = self.models.main.clone();
            let mut call = Call::new(ready.body).cancelled_by(cancel.clone());
            if let Some(listener) = on_delta.as_mut() {
                call = call.listen(&mut **listener);
            }
            match model.send(call).await {
                Ok(answer) => {
                    self.answered(&answer)?;
                    return Ok(answer);
                }
                Err(error) if error.kind() == ErrorKind::TooLong && cures < CURES => {
                    cures += 1;
                    self.learn_window(&error)?;
                    self.wish = Some(Wish { trigger: Trigger::TooLong, instructions: None });
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// A provider that finds a request too long may say how much it takes. Where it does not, nothing is learnt: gateways
    /// have limits of their own.
    fn learn_window(&mut self, error: &ModelError) -> Result<(), SessionError> {
        if let ModelError::TooLong { limit: Some(limit), .. } = error {
            // Chat's limit is for prompt and answer together.
            let answer = if self.frame.wire == Wire::Chat { self.frame.max_output.unwrap_or(0) } else { 0 };
            let settings = self.pipeline.settings_mut();
            let learnt = settings.window.min(limit.saturating_sub(answer).max(LEAST_WINDOW));
            if learnt < settings.window {
                settings.window = learnt;
                // Whoever resumes the session need not run into it again.
                self.record_turn(Some(learnt))?;
            }
        }
        Ok(())
    }

    /// Writes down which model is asked from here on, and how much it takes where that is not as built in.
    fn record_turn(&mut self, window: Option<u64>) -> Result<(), SessionError> {
        let turn = Turn {
            at: Some(self.now()),
            cwd: None,
            model: Some(self.frame.model.clone()),
            window,
            extra: Default::default(),
        };
        self.journal.append(Record::Turn(Box::new(turn)))?;
        Ok(())
    }

    /// Replaces the view now, because a person asked.
    pub async fn compact_now(&mut self, instructions: Option<&str>) -> Result<Pass, SessionError> {
        let wish = Wish { trigger: Trigger::Manual, instructions: instructions.map(str::to_owned) };
        self.compact_for(wish).await
    }

    /// Goes on with another model. If its window is smaller than what is there, the old model compacts first.
    pub async fn switch_model(
        &mut self,
        models: Models,
        frame: Frame,
        window: Option<u64>,
    ) -> Result<Option<Pass>, SessionError> {
        let old = self.pipeline.settings().window;
        let new = window.unwrap_or_else(|| opening::window_of(&frame.model));
        let mut pass = None;
        self.pipeline.settings_mut().window = new;
        if new < old && self.pipeline.threshold().is_some_and(|most| self.pipeline.tokens() > most) {
            let wish = Wish { trigger: Trigger::ModelSwitch, instructions: None };
            let compacted = self.compact_for(wish).await;
            if compacted.is_err() {
                // The old model goes on, with its own window.
                self.pipeline.settings_mut().window = old;
            }
            pass = Some(compacted?);
        }
        self.pipeline.settings_mut().cache_edits = self.settings.cache_edits && frame.wire == Wire::Anthropic;
        self.pipeline.set_model(&frame.model, new);
        self.models = models;
        self.frame = frame;
        self.sent = None;
        self.count_frame();
        self.record_turn(Some(new))?;
        Ok(pass)
    }

    async fn compact_for(&mut self, wish: Wish) -> Result<Pass, SessionError> {
        self.collect().await?;
        let moment = self.moment(Some(wish));
        let mut preparation = self.pipeline.begin(moment, &mut self.journal)?;
        if preparation.due().is_some() {
            self.compact(&mut preparation).await?;
        }
        let pass = self.pipeline.leave(preparation);
        self.notices.extend(pass.notices.iter().cloned());
        self.changes.extend(pass.changes.iter().cloned());
        Ok(pass)
    }

    fn moment(&self, wish: Option<Wish>) -> Moment {
        let (compact, instructions) =
            wish.map_or((None, None), |wish| (Some(wish.trigger), wish.instructions));
        let instructions = match (&self.standing, instructions) {
            (Some(standing), Some(wanted)) => Some(format!("{standing}\n\n{wanted}")),
            (standing, wanted) => wanted.or_else(|| standing.clone()),
        };
        Moment { now: Some(self.now()), compact, instructions, host: self.host.clone(), notes: None }
    }

    /// Counts what comes before the messages.
    fn count_frame(&mut self) {
        let tools = serde_json::Value::Array(self.frame.tools.clone()).to_string();
        let overhead = self.pipeline.count_text(&self.frame.system) + self.pipeline.count_text(&tools);
        let settings = self.pipeline.settings_mut();
        settings.overhead = overhead;
        settings.max_output = self.frame.max_output;
    }

    fn now(&self) -> Timestamp {
        (self.settings.now)()
    }
}

/// What the client reminds the model of, as a message that nobody takes for the user's.
pub fn reminder(text: &str) -> Message {
    let mut message = Message::text(Role::User, Fragment::SystemReminder.render(text));
    message.flags = Flags { meta: true, ..Flags::default() };
    message
}

/// No model takes less.
const LEAST_WINDOW: u64 = 1_000;

fn usage_event(model: &str, usage: &Usage, dollars: f64, now: Timestamp) -> Event {
    let data = json!({"model": model, "usage": usage, "dollars": dollars});
    Event { at: Some(now), name: "usage".to_owned(), data }
}
