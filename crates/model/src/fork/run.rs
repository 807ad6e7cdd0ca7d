//! The turns of a fork.

use super::caps::{Allowed, Next, Taken};
use super::{Cap, End, Fork, Forked, Receipt, Tail, Toolbox};
use crate::{Answer, Call, ErrorKind, Limits, ModelError, Usage, estimate, telemetry};
use bytes::Bytes;
use serde_json::Value;
use std::time::Duration;
use throughline_core::cost::Ttl;
use throughline_core::tokens::Counter;
use throughline_core::{Block, Body, CallId, Message, ResultContent, Role, ToolCall, ToolResult};
use throughline_wire::{Response, Stop};
use tokio::time::{Instant, sleep};
use tracing::Instrument;

/// How much later than its deadline a model may notice it.
const GRACE: Duration = Duration::from_secs(2);

/// What a call of the parent's is answered with that has no result yet.
const NOT_YET: &str = "[still running: its result is not known yet]";
/// What a call is answered with that the limit of an answer cut through.
const CUT: &str = "Not carried out: the call was cut off by the limit on the length of an answer. Say it in fewer words, or \
                   in several calls.";
/// What a call is answered with when nobody waits for it any more.
const CANCELLED: &str = "Not carried out: the job was cancelled.";

impl Fork<'_> {
    /// Asks, carries out what the model calls for, and asks again, until the model has nothing more to do or a limit is
    /// reached. Never fails as a whole: the [end](Forked::end) says why it is over.
    ///
    /// Dropping the future drops the connection; there is no receipt then.
    pub async fn run(self, tools: &mut dyn Toolbox) -> Forked {
        let span = telemetry::fork(self.job, &self.prefix.model());
        let mut run = Run::new(self);
        let end = run.turns(tools).instrument(span).await;
        run.finish(end)
    }
}

struct Run<'a> {
    fork: Fork<'a>,
    counter: Counter,
    ttl: Ttl,
    begun: Instant,
    receipt: Receipt,
    taken: Taken,
    /// What stands behind the parent's messages.
    sent: Vec<Message>,
    /// What the fork itself has said and heard.
    said: Vec<Message>,
    text: String,
}

impl<'a> Run<'a> {
    fn new(fork: Fork<'a>) -> Self {
        let model = match fork.prefix.model() {
            unnamed if unnamed.is_empty() => fork.model.id().to_owned(),
            model => model,
        };
        let mut run = Self {
            counter: Counter::for_model(&model),
            ttl: fork.prefix.ttl(),
            begun: Instant::now(),
            receipt: Receipt::begin(fork.job, &model),
            taken: Taken::default(),
            sent: Vec::new(),
            said: Vec::new(),
            text: String::new(),
            fork,
        };
        let Fork { prefix, since, .. } = run.fork;
        let is_lost = |message: &Message| prefix.is_stateless() && is_loose_reasoning(message);
        run.sent.extend(since.iter().filter(|message| !is_lost(message)).cloned());
        let open = open_calls(since);
        if !open.is_empty() {
            let results = open.into_iter().map(|call| result(call, Err(NOT_YET.to_owned())));
            run.say(Message::new(Role::Tool, results.collect()));
        }
        run.say(run.fork.ask.clone());
        run
    }

    async fn turns(&mut self, tools: &mut dyn Toolbox) -> End {
        let Fork { prefix, model, .. } = self.fork;
        if model.wire() != prefix.wire() {
            let (ours, theirs) = (prefix.wire(), model.wire());
            let message =
                format!("it speaks {theirs:?}, the request to continue is {ours:?}; ask the parent's model");
            return End::Failed(ModelError::Config { at: model.id().to_owned(), message });
        }
        let cached = estimate::prompt(prefix.wire(), &mut self.counter, prefix.bytes());
        let mut next = Next { prompt: cached + self.counter.view(&self.sent).total(), cached };
        loop {
            if self.fork.cancel.is_cancelled() {
                return End::Cancelled;
            }
            self.taken.time = self.begun.elapsed();
            let allowed = match self.fork.caps.allow(&self.taken, next, self.fork.price) {
                Ok(allowed) => allowed,
                Err(cap) => return End::Capped(cap),
            };
            let body = match prefix.then(&self.sent, &self.tail(allowed)) {
                Ok(body) => body,
                Err(error) => {
                    let (at, message) = (model.id().to_owned(), error.to_string());
                    return End::Failed(ModelError::Invalid { at, status: None, message });
                }
            };
            self.taken.turns += 1;
            self.receipt.sent_bytes += body.len() as u64;
            self.receipt.shared_bytes += prefix.shared(&body) as u64;
            let answer = match self.send(body, allowed.time).await {
                Ok(answer) => answer,
                Err(error) => return self.end_by(error, next),
            };
            let usage = answer.response.usage;
            let known = self.sent.len();
            if let Some(end) = self.hear(answer, tools) {
                return end;
            }
            // The answer is part of what the provider reported; what followed it is not.
            let followed = self.sent[known..].iter().filter(|message| message.role != Role::Assistant);
            next = Next {
                prompt: usage.context().saturating_add(self.counter.view(followed).total()),
                cached: usage.cache_read.saturating_add(usage.cache_write),
            };
        }
    }

    /// The parent's limit on an answer, or the fork's own, within what is allowed. Where neither has one none is
    /// set: the servers that need none refuse one that does not fit their window.
    fn tail(&self, allowed: Allowed) -> Tail {
        let tail = &self.fork.tail;
        let parents = self.fork.prefix.max_output();
        let max_output = match (tail.max_output, parents) {
            (Some(most), _) => Some(most.min(allowed.output)),
            (None, Some(most)) if most > allowed.output => Some(allowed.output),
            (None, Some(_) | None) => None,
        };
        Tail { max_output, ..tail.clone() }
    }

    async fn send(&self, body: Bytes, time: Duration) -> Result<Answer, ModelError> {
        let Fork { model, cancel, .. } = &self.fork;
        let at = || model.id().to_owned();
        let limits = Limits { deadline: Some(time), attempts: None };
        let call = Call::new(body).cancelled_by(cancel.clone()).within(limits);
        // The model comes first: it knows what had come by then.
        tokio::select! {
            biased;
            answer = model.send(call) => answer,
            () = cancel.cancelled() => Err(ModelError::Cancelled { at: at(), partial: None }),
            () = sleep(time.saturating_add(GRACE)) => {
                Err(ModelError::Deadline { at: at(), after: time, partial: None })
            }
        }
    }

    /// Takes an answer in, and carries out its calls. `None` if the model is to be asked again.
    fn hear(&mut self, answer: Answer, tools: &mut dyn Toolbox) -> Option<End> {
        let Answer { mut response, attempts, estimated, wasted, .. } = answer;
        self.receipt.requests = self.receipt.requests.saturating_add(attempts);
        self.receipt.estimated |= estimated;
        self.pay(&wasted);
        self.pay(&response.usage);
        self.text = words(&response);
        let calls: Vec<ToolCall> = response
            .messages
            .iter()
            .flat_map(Message::calls)
            .filter(|call| call.kind.needs_result())
            .cloned()
            .collect();
        let verdict = match self.judge(&response, calls.is_empty()) {
            Ok(verdict) => verdict,
            Err(error) => return Some(End::Failed(error)),
        };
        response.follow(self.sent.last().map(|message| &message.id));
        let ends_in_call = response
            .messages
            .last()
            .and_then(|message| message.blocks.last())
            .is_some_and(|block| matches!(block.body, Body::ToolCall(_)));
        let is_cut = response.stop == Stop::MaxTokens && ends_in_call;
        let last = calls.last().map(|call| call.id.clone()).filter(|_| is_cut);
        for message in response.messages {
            self.say(message);
        }
        if !calls.is_empty() {
            let results = calls.iter().map(|call| {
                let outcome = if self.fork.cancel.is_cancelled() {
                    Err(CANCELLED.to_owned())
                } else if last.as_ref() == Some(&call.id) {
                    Err(CUT.to_owned())
                } else {
                    tools.call(call)
                };
                result(call, outcome)
            });
            let results = Message::new(Role::Tool, results.collect());
            self.say(results);
            let is_whole = !is_cut && !self.fork.cancel.is_cancelled();
            if verdict.is_none() && is_whole && tools.is_done() {
                return Some(End::Done);
            }
        }
        verdict
    }

    /// Why the fork ends with this answer, if it does, or which error it is. Models over HTTP tell errors themselves.
    fn judge(&self, response: &Response, is_without_calls: bool) -> Result<Option<End>, ModelError> {
        let at = self.fork.model.id().to_owned();
        let partial = || Box::new(response.clone());
        match response.stop {
            Stop::Refusal => Err(ModelError::Refused { at, text: self.text.clone() }),
            Stop::Failed => {
                let message = "it reports a failure instead of an answer".to_owned();
                Err(ModelError::Server { at, status: None, message })
            }
            Stop::CutOff => Err(ModelError::CutOff { at, partial: partial() }),
            Stop::ContextFull => {
                let partial = Some(partial());
                Err(ModelError::TooLong { at, tokens: None, limit: None, over: None, partial })
            }
            // Sending the conversation again goes on with it.
            Stop::Paused => Ok(None),
            Stop::MaxTokens => Ok(is_without_calls.then_some(End::Capped(Cap::Output))),
            Stop::EndTurn | Stop::ToolUse | Stop::StopSequence | Stop::Other(_) | Stop::Unsaid => {
                Ok(is_without_calls.then_some(End::Done))
            }
        }
    }

    fn end_by(&mut self, error: ModelError, next: Next) -> End {
        self.receipt.requests = self.receipt.requests.saturating_add(1);
        let partial = error.partial();
        let reported = partial.map(|partial| partial.usage).filter(estimate::is_credible);
        let said = partial.map_or(0, |partial| self.counter.view(&partial.messages).total());
        if let Some(partial) = partial {
            self.text = words(partial);
        }
        match reported {
            Some(usage) => self.pay(&usage),
            // The provider was at work, and what it did is paid for whether we stayed or not.
            None if was_at_work(error.kind()) => {
                self.receipt.estimated = true;
                self.pay(&Usage { input: next.prompt, output: said, ..Usage::default() });
            }
            None => {}
        }
        let is_late = self.begun.elapsed() >= Duration::from_secs(self.fork.caps.seconds);
        match error.kind() {
            ErrorKind::Cancelled => End::Cancelled,
            ErrorKind::Deadline if is_late => End::Capped(Cap::Seconds),
            ErrorKind::TooLong
            | ErrorKind::RateLimited
            | ErrorKind::Overloaded
            | ErrorKind::Auth
            | ErrorKind::Quota
            | ErrorKind::Refused
            | ErrorKind::CutOff
            | ErrorKind::Idle
            | ErrorKind::Deadline
            | ErrorKind::Connection
            | ErrorKind::Server
            | ErrorKind::Invalid
            | ErrorKind::Malformed
            | ErrorKind::TooLarge
            | ErrorKind::Key
            | ErrorKind::Config
            | ErrorKind::Exec => End::Failed(error),
        }
    }

    fn pay(&mut self, usage: &Usage) {
        estimate::add(&mut self.taken.usage, usage);
        // One request at a time: long ones have a tariff of their own.
        self.taken.dollars += self.fork.price.bill(usage, self.ttl).dollars;
    }

    fn say(&mut self, message: Message) {
        if !self.fork.prefix.is_stateless() || !is_loose_reasoning(&message) {
            self.sent.push(message.clone());
        }
        self.said.push(message);
    }

    fn finish(self, end: End) -> Forked {
        let receipt = Receipt {
            seconds: self.begun.elapsed().as_secs_f64(),
            usage: self.taken.usage,
            dollars: self.taken.dollars.as_f64(),
            outcome: end.to_string(),
            ..self.receipt
        };
        Forked { text: self.text, messages: self.said, end, receipt }
    }
}

/// Whether a request that ended like this had begun to be answered, for all we know.
fn was_at_work(kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::CutOff
        | ErrorKind::Idle
        | ErrorKind::Deadline
        | ErrorKind::TooLarge
        | ErrorKind::Cancelled => true,
        ErrorKind::TooLong
        | ErrorKind::RateLimited
        | ErrorKind::Overloaded
        | ErrorKind::Auth
        | ErrorKind::Quota
        | ErrorKind::Refused
        | ErrorKind::Connection
        | ErrorKind::Server
        | ErrorKind::Invalid
        | ErrorKind::Malformed
        | ErrorKind::Key
        | ErrorKind::Config
        | ErrorKind::Exec => false,
    }
}

/// Whether there is nothing in a message but reasoning without a seal: a provider that keeps nothing can't find it again, and
/// refuses it.
fn is_loose_reasoning(message: &Message) -> bool {
    let is_loose = |block: &Block| match &block.body {
        Body::Reasoning { seal, .. } => seal.is_none(),
        Body::Unknown(raw) => raw.get("type").and_then(Value::as_str) == Some("reasoning"),
        Body::Text(_) | Body::ToolCall(_) | Body::ToolResult(_) | Body::Image(_) | Body::Document(_) => false,
    };
    !message.blocks.is_empty() && message.blocks.iter().all(is_loose)
}

/// Calls that have no result.
fn open_calls(messages: &[Message]) -> Vec<&ToolCall> {
    let answered: Vec<&CallId> =
        messages.iter().flat_map(Message::results).map(|result| &result.call).collect();
    let calls = messages.iter().flat_map(Message::calls);
    calls.filter(|call| call.kind.needs_result() && !answered.contains(&&call.id)).collect()
}

fn result(call: &ToolCall, outcome: Result<String, String>) -> Block {
    let is_error = outcome.is_err().then_some(true);
    let text = match outcome.unwrap_or_else(|refusal| refusal) {
        // Some providers refuse results that say nothing.
        empty if empty.trim().is_empty() => "Done.".to_owned(),
        text => text,
    };
    let result =
        ToolResult { call: call.id.clone(), kind: call.kind, content: ResultContent::Text(text), is_error };
    Body::ToolResult(result).into()
}

/// What an answer says in words.
fn words(response: &Response) -> String {
    let blocks =
        response.messages.iter().filter(|message| message.role == Role::Assistant).flat_map(|m| &m.blocks);
    let texts = blocks
        .filter_map(|block| if let Body::Text(text) = &block.body { Some(text.as_str()) } else { None });
    texts.collect::<Vec<_>>().join("\n")
}
