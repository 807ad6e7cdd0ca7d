//! The user's model, where one writes in the background.

use super::desk::Desk;
use super::learn::Answered;
use std::sync::Arc;
use throughline_core::cost::{Price, Prices, Split};
use throughline_core::{Message, Role, Wire};
use throughline_engine::session::Frame;
use throughline_memory::ByModel;
use throughline_memory::extract::{EXTRACT_JOB, ExtractJob};
use throughline_model::{CancelToken, Caps, Job, Model, Permit, Prefix, Receipt, Standing, Tail, Usage};

/// Messages of the user's that a model is shown if it does not know the conversation.
const MOST_SHOWN: usize = 20;

/// Who goes on from a conversation, and what it may take.
pub(super) struct Helper {
    model: Arc<dyn Model>,
    prefix: Prefix,
    since: Vec<Message>,
    caps: Caps,
    price: Price,
    permit: Option<Permit>,
    cancel: CancelToken,
}

/// A job for it.
pub(super) struct Asking<'a> {
    pub(super) name: &'static str,
    pub(super) session: &'a str,
    /// Tokens of the prompt, and whether the provider has them already.
    pub(super) prompt: (u64, bool),
    /// Tokens that it writes, as a rule.
    pub(super) output: u64,
    pub(super) now: jiff::Timestamp,
}

impl Helper {
    /// If the governor agrees.
    pub(super) fn new(
        desk: &Desk,
        model: Arc<dyn Model>,
        (prefix, since): (Prefix, Vec<Message>),
        asking: &Asking<'_>,
    ) -> Option<Self> {
        let price = Prices::builtin().of(model.id());
        let (tokens, is_cached) = asking.prompt;
        let (read, uncached) = if is_cached { (tokens, 0) } else { (0, tokens) };
        let permit = match &desk.options.governor {
            None => None,
            Some(governor) => {
                let split = Split { read, uncached, output: asking.output, ..Split::default() };
                let job = Job {
                    name: asking.name,
                    session: Some(asking.session),
                    estimate: Usage {
                        input: uncached,
                        cache_read: read,
                        output: asking.output,
                        ..Usage::default()
                    },
                    dollars: price.charge(&split, throughline_core::cost::Ttl::Short).dollars.as_f64(),
                    standing: Standing::default(),
                };
                Some(governor.ask(&job, asking.now).ok()?)
            }
        };
        let caps = permit.as_ref().map_or_else(Caps::default, |permit| permit.caps().clone());
        Some(Self { model, prefix, since, caps, price, permit, cancel: desk.cancel.child_token() })
    }

    /// For an extraction: behind the conversation where the model is the one that answered it, whose provider has it in its cache;
    /// else behind the user's own words alone, which are all that is judged.
    pub(super) fn for_extraction(
        desk: &Desk,
        model: Arc<dyn Model>,
        (wire, answer): (Wire, &Answered<'_>),
        job: &ExtractJob,
    ) -> Option<Self> {
        let parent = shared(&*model, wire, answer);
        let is_cached = parent.is_some();
        let (prefix, since) = match parent {
            Some(parent) => parent,
            None => {
                let words = newest(job).map(|message| Message::text(Role::User, message.user_words()));
                let said: Vec<Arc<Message>> = words.map(Arc::new).collect();
                if said.is_empty() {
                    return None;
                }
                let body = Frame::new(model.wire(), model.id()).request(&said);
                (Prefix::new(model.wire(), body.to_vec()).ok()?, Vec::new())
            }
        };
        let mut counter = throughline_core::tokens::Counter::for_model(model.id());
        let tokens: u64 = job.messages.iter().map(|message| counter.message(message).total()).sum();
        let asking = Asking {
            name: EXTRACT_JOB,
            session: job.session.as_str(),
            prompt: (tokens, is_cached),
            output: super::learn::USUAL_OUTPUT,
            now: job.now,
        };
        Self::new(desk, model, (prefix, since), &asking)
    }

    /// What it takes to ask it.
    pub(super) fn ask(&self) -> ByModel<'_> {
        ByModel {
            model: &*self.model,
            prefix: &self.prefix,
            since: &self.since,
            caps: &self.caps,
            price: &self.price,
            tail: Tail::default(),
            cancel: self.cancel.clone(),
        }
    }

    /// What it cost.
    pub(super) fn settle(self, receipt: Receipt) {
        if let Some(permit) = self.permit {
            // What can't be written now the governor keeps, and lets nothing begin before it is.
            let _ = permit.settle(receipt);
        }
    }
}

/// The conversation as its provider has it in the cache, if the model is the one that answered.
pub(super) fn shared(model: &dyn Model, wire: Wire, answer: &Answered<'_>) -> Option<(Prefix, Vec<Message>)> {
    if model.wire() != wire {
        return None;
    }
    let prefix = Prefix::new(wire, answer.sent.to_vec()).ok()?;
    (prefix.model() == model.id()).then(|| (prefix, answer.messages.to_vec()))
}

/// What the user said since the last time.
fn newest(job: &ExtractJob) -> impl Iterator<Item = &Message> {
    let from = job
        .cursor
        .as_ref()
        .and_then(|cursor| job.messages.iter().rposition(|message| message.id == *cursor))
        .map_or(0, |at| at + 1);
    let new = &job.messages[from..];
    new[new.len().saturating_sub(MOST_SHOWN)..].iter()
}
