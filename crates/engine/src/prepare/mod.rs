//! A provider's request in, the managed request out.

mod history;
mod parts;

pub use parts::{PrepareError, Prepared, Restored, Taken, WriteError};

use crate::envelope::{Envelope, Offering};
use crate::layout::Layout;
use crate::written::Written;
use bytes::Bytes;
use history::{Earlier, weight};
use jiff::Timestamp;
use std::collections::HashMap;
use throughline_core::cost::Observed;
use throughline_core::facts::Facts;
use throughline_core::guarantee::{Required, Retold, Violation};
use throughline_core::pipeline::{Journal, Moment, Pass, Pipeline, Settings};
use throughline_core::profile::Profile;
use throughline_core::stages::{OwnTools, Proposal, snip};
use throughline_core::{Entry, Message, MessageId, Record, Usage, Wire, content_id};
use throughline_wire::splice::{Body, Changes};

/// How requests are prepared.
#[derive(Clone, Debug)]
pub struct Options {
    /// The rules.
    pub profile: Profile,
    /// The context window in tokens; by default that of the model.
    pub window: Option<u64>,
    /// Which of our own tools the model gets.
    pub tools: OwnTools,
    /// Whether the client's model may read results that were saved to files.
    pub reads_saved_files: bool,
    /// Whether the provider can edit its cache (P3b), on Anthropic's wire.
    pub cache_edits: bool,
    /// Whether requests may carry `context_management` (W4), on Anthropic's wire: the provider takes it only with a header
    /// that names [`SERVER_EDITS_BETA`](throughline_core::stages::microcompact::SERVER_EDITS_BETA).
    pub server_edits: bool,
}

impl Options {
    /// A profile with everything else as usual.
    pub fn new(profile: Profile) -> Self {
        Self {
            profile,
            window: None,
            tools: OwnTools::default(),
            reads_saved_files: false,
            cache_edits: false,
            server_edits: true,
        }
    }
}

/// Prepares the requests of one conversation. A client sends its whole history each time; what was decided about it stays
/// decided, and a request that continues the one before costs what is new in it.
///
/// ```
/// use throughline_core::Wire;
/// use throughline_core::pipeline::{Moment, Unrecorded};
/// use throughline_core::profile::Profile;
/// use throughline_engine::{Options, Preparer};
///
/// let mut preparer = Preparer::new(Wire::Chat, Options::new(Profile::throughline()));
/// let body = br#"{"model": "gpt-5", "messages": [{"role": "user", "content": "hello"}]}"#;
/// let prepared = preparer.prepare(body.to_vec(), &Moment::default(), &mut Unrecorded)?;
/// assert_eq!(prepared.bytes, body.as_slice(), "nothing needs doing");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Preparer {
    wire: Wire,
    options: Options,
    pipeline: Option<Pipeline>,
    /// The request before.
    body: Option<Body>,
    /// The client's history: the message of each element.
    ids: Vec<MessageId>,
    /// Tokens of each.
    sizes: Vec<u64>,
    places: HashMap<MessageId, usize>,
    envelope: Envelope,
    offering: Offering,
    written: Written,
    layout: Layout,
    /// When the request before was made.
    asked: Option<Timestamp>,
    /// Messages of earlier runs.
    restored: Option<Restored>,
    /// Bytes of all messages that were taken in.
    messages: usize,
}

impl Preparer {
    /// For a conversation that has not begun.
    pub fn new(wire: Wire, options: Options) -> Self {
        Self {
            wire,
            options,
            pipeline: None,
            body: None,
            ids: Vec::new(),
            sizes: Vec::new(),
            places: HashMap::new(),
            envelope: Envelope::default(),
            offering: Offering::Always,
            written: Written::default(),
            layout: Layout::default(),
            asked: None,
            restored: None,
            messages: 0,
        }
    }

    /// Bytes that it holds, about: the newest request, and every message that was taken in.
    pub fn weight(&self) -> usize {
        self.body.as_ref().map_or(0, |body| body.bytes().len()) + self.messages
    }

    /// Takes over a session that another process began.
    pub fn restore(&mut self, restored: Restored) {
        self.messages += restored.messages.iter().map(|message| weight(message)).sum::<usize>();
        self.restored = Some(restored);
    }

    /// The pipeline, once a request was seen.
    pub fn pipeline(&self) -> Option<&Pipeline> {
        self.pipeline.as_ref()
    }

    /// Says how much the model takes, and at which size the view is to be replaced at the latest. It holds from the next
    /// [`ready`](Self::ready) on.
    pub fn set_room(&mut self, window: u64, ceiling: Option<u64>) {
        self.options.window = Some(window);
        if let Some(pipeline) = &mut self.pipeline {
            let settings = pipeline.settings_mut();
            settings.window = window;
            settings.ceiling = ceiling;
        }
    }

    /// Says whether the next request may carry `context_management`: see [`Options::server_edits`].
    pub fn allow_server_edits(&mut self, allowed: bool) {
        self.options.server_edits = allowed;
    }

    /// From here on the model has these tools of ours, in requests that bring tools of their own.
    pub fn offer(&mut self, tools: OwnTools) {
        if (self.options.tools, self.offering) == (tools, Offering::Beside) {
            return;
        }
        self.options.tools = tools;
        self.offering = Offering::Beside;
        self.envelope = Envelope::default();
        if let Some(pipeline) = &mut self.pipeline {
            pipeline.settings_mut().tools = tools;
        }
    }

    /// Whether the request that was taken in last is sent with tools of ours.
    pub fn offers(&self) -> bool {
        self.body.as_ref().is_some_and(|body| self.envelope.offers(body.raw("tools").unwrap_or_default()))
    }

    /// What dropping turns would do now, to answer a call of `Snip`; `None` before the first request.
    pub fn propose_snip(&mut self, request: &snip::Request) -> Option<Result<Proposal, snip::SnipError>> {
        self.pipeline.as_mut().map(|pipeline| pipeline.propose_snip(request))
    }

    fn new_pipeline(&self, model: &str) -> Pipeline {
        let mut settings = Settings::for_model(model);
        settings.tools = self.options.tools;
        settings.reads_saved_files = self.options.reads_saved_files;
        // Elsewhere nobody would be told of the deletions.
        settings.cache_edits = self.options.cache_edits && self.wire == Wire::Anthropic;
        if let Some(window) = self.options.window {
            settings.window = window;
        }
        Pipeline::new(self.options.profile.clone().live(), settings)
    }

    /// Manages one request: [`take`](Self::take), then [`ready`](Self::ready).
    pub fn prepare<J: Journal>(
        &mut self,
        bytes: impl Into<Bytes>,
        moment: &Moment,
        journal: &mut J,
    ) -> Result<Prepared, PrepareError<J::Error>> {
        self.take(bytes, moment, journal)?;
        self.ready(moment, journal)
    }

    /// Takes in a request: what is new in it is recorded, and returned.
    pub fn take<J: Journal>(
        &mut self,
        bytes: impl Into<Bytes>,
        moment: &Moment,
        journal: &mut J,
    ) -> Result<Taken, PrepareError<J::Error>> {
        let (body, same) = match &self.body {
            Some(before) => {
                let advance = before.advance_to(bytes.into())?;
                (advance.body, advance.same)
            }
            None => (Body::share(self.wire, bytes.into())?, 0),
        };
        let model = body.get("model");
        let model = model.as_ref().and_then(|model| model.as_str()).unwrap_or_default();
        let mut pipeline = match self.pipeline.take() {
            Some(mut pipeline) => {
                if pipeline.settings().model != model {
                    let window = self.options.window.unwrap_or_else(|| Settings::for_model(model).window);
                    pipeline.set_model(model, window);
                    self.envelope = Envelope::default();
                }
                pipeline
            }
            None => self.new_pipeline(model),
        };
        self.envelope.read(&body, &self.options, self.offering, &mut pipeline);
        if let Some(restored) = &self.restored {
            self.asked = restored.messages.iter().rev().find_map(|message| message.at);
        }
        let earlier = self.restored.take().map(|restored| Earlier::take_over(restored, &mut pipeline));
        let taken = self.take_in(&body, same, earlier, &mut pipeline, moment, journal);
        self.asked = moment.now.or(self.asked);
        self.body = Some(body);
        self.pipeline = Some(pipeline);
        taken.map_err(PrepareError::Journal)
    }

    /// Says something of our own behind what the client said last. It is part of the conversation from here on: every later
    /// request has it at the same place.
    pub fn tell<J: Journal>(
        &mut self,
        mut message: Message,
        moment: &Moment,
        journal: &mut J,
    ) -> Result<MessageId, PrepareError<J::Error>> {
        let pipeline = self.pipeline.as_mut().ok_or(PrepareError::NothingTaken)?;
        message.flags.meta = true;
        message.at = message.at.or(moment.now);
        message.parent = pipeline.view().entries().last().map(|entry| entry.message.id.clone());
        message.id = content_id(message.parent.as_ref(), &message);
        let id = message.id.clone();
        let origin =
            journal.append(Record::Message(Box::new(message.clone()))).map_err(PrepareError::Journal)?;
        self.messages += weight(&message);
        pipeline.push(Entry::new(message, origin));
        Ok(id)
    }

    /// Decides about what was taken in, and writes the request.
    pub fn ready<J: Journal>(
        &mut self,
        moment: &Moment,
        journal: &mut J,
    ) -> Result<Prepared, PrepareError<J::Error>> {
        let (Some(mut pipeline), Some(body)) = (self.pipeline.take(), self.body.take()) else {
            return Err(PrepareError::NothingTaken);
        };
        let passed = pipeline.prepare(moment, journal).map_err(PrepareError::Journal);
        let result = passed.and_then(|pass| self.write(&body, &pipeline, pass));
        self.body = Some(body);
        self.pipeline = Some(pipeline);
        result
    }

    /// A request beside the conversation, such as one that has it condensed or counted: what was decided applies to it, nothing
    /// new is decided, and nothing is recorded. `None` if it has too little in common with the conversation, or nothing was
    /// decided: it goes as it is.
    pub fn reapply(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, WriteError> {
        let Some(pipeline) = &self.pipeline else { return Ok(None) };
        let body = Body::parse(self.wire, bytes)?;
        let mut parent = None;
        let mut common = 0;
        for message in body.messages(0..body.len()) {
            let id = content_id(parent.as_ref(), &message);
            if self.ids.get(common) != Some(&id) {
                break;
            }
            common += 1;
            parent = Some(id);
        }
        let Some(last) = common.checked_sub(1).map(|at| &self.ids[at]) else { return Ok(None) };
        // What was taken in since the request before stands there as it was said.
        self.layout.bring_up(pipeline, &Pass::default());
        let changes = self.layout.changes_up_to(last, &body, &self.places, &mut self.written)?;
        let Some(mut changes) = changes else { return Ok(None) };
        self.envelope.write(&body, pipeline, &self.options, &mut changes);
        Ok(Some(body.rebuild(&changes)?.into_owned()))
    }

    /// The answer to the last request is there, with what the provider reported: sizes are counted as the provider does from
    /// here on (W3), and what the cache did is held against what was expected (B9).
    pub fn answered(&mut self, usage: &Usage) -> Option<Observed> {
        self.pipeline.as_mut().map(|pipeline| pipeline.answered(usage))
    }

    /// The client's history: the message of each element of its newest request.
    pub fn history(&self) -> &[MessageId] {
        &self.ids
    }

    /// Tokens of the conversation as the client has it, with what comes before the messages, by our own count.
    pub fn client_tokens(&self) -> u64 {
        self.client_overhead() + self.sizes.iter().sum::<u64>()
    }

    /// Tokens of what the client sends before the messages, our tools not among it.
    pub fn client_overhead(&self) -> u64 {
        let overhead = self.pipeline.as_ref().map_or(0, |pipeline| pipeline.settings().overhead);
        overhead.saturating_sub(self.envelope.own_tokens())
    }

    /// Tokens of each message as the client has it, by our own count.
    pub fn client_sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// What a request that was changed lacks of the client's own (G), beyond what the pipeline reports.
    fn violations(&self, body: &Body, pass: &Pass) -> Vec<Violation> {
        if !pass.changed() {
            return Vec::new();
        }
        let mut facts = Facts::default();
        let client: Vec<Entry> = body.messages(0..body.len()).map(Entry::from).collect();
        client.iter().for_each(|entry| facts.push(&entry.message));
        let sent: Vec<&Message> = self.layout.messages().collect();
        let mut broken = Required::read(&facts, &client, Retold::Nothing).check(&sent);
        broken.retain(|it| {
            !pass.lacks.iter().any(|known| known.need == it.need && known.missing == it.missing)
        });
        broken
    }

    /// The request as it is to be sent: what the view shows, with everything else as the client wrote it.
    fn write<E>(
        &mut self,
        body: &Body,
        pipeline: &Pipeline,
        pass: Pass,
    ) -> Result<Prepared, PrepareError<E>> {
        let threshold = pipeline.threshold();
        let repairs = self.layout.bring_up(pipeline, &pass);
        let mut changes = if self.layout.is_as_sent(&self.ids) {
            Changes::default()
        } else {
            self.layout.changes(body, &self.places, &mut self.written)?
        };
        let violations = self.violations(body, &pass);
        self.envelope.write(body, pipeline, &self.options, &mut changes);
        let bytes = body.rebuild_shared(&changes)?;
        Ok(Prepared { bytes, pass, repairs, threshold, violations })
    }
}
