//! A provider's request in, the managed request out.

use crate::envelope::Envelope;
use crate::layout::Layout;
use crate::written::Written;
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use throughline_core::pipeline::{Journal, Moment, Pass, Pipeline, Settings};
use throughline_core::profile::Profile;
use throughline_core::stages::OwnTools;
use throughline_core::{
    Edit, EditId, Entry, Event, Message, MessageId, Op, Record, Role, Stage, View, Wire, content_id,
    invariants,
};
use throughline_ledger::{Home, LedgerError, resume, session};
use throughline_wire::WireError;
use throughline_wire::splice::{Body, Changes, SpliceError};

/// How requests are prepared.
#[derive(Clone, Debug)]
pub struct Options {
    /// The rules.
    pub profile: Profile,
    /// The context window in tokens; by default that of the model.
    pub window: Option<u64>,
    /// Which of our own tools the model gets.
    pub tools: OwnTools,
    /// Whether the provider can edit its cache (P3b).
    pub cache_edits: bool,
}

impl Options {
    /// A profile with everything else as usual.
    pub fn new(profile: Profile) -> Self {
        Self { profile, window: None, tools: OwnTools::default(), cache_edits: false }
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
/// assert_eq!(prepared.bytes, body, "nothing needs doing");
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
    places: HashMap<MessageId, usize>,
    envelope: Envelope,
    written: Written,
    layout: Layout,
    /// When the request before was made.
    asked: Option<Timestamp>,
    /// Messages of earlier runs.
    restored: Option<Restored>,
}

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

/// Why a request can't be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError<E> {
    /// It can't be read.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// It can't be put together again.
    #[error(transparent)]
    Splice(#[from] SpliceError),
    /// A decision could not be written down, and was not made.
    #[error("cannot record a decision: {0}")]
    Journal(E),
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
            places: HashMap::new(),
            envelope: Envelope::default(),
            written: Written::default(),
            layout: Layout::default(),
            asked: None,
            restored: None,
        }
    }

    /// Takes over a session that another process began.
    pub fn restore(&mut self, restored: Restored) {
        self.restored = Some(restored);
    }

    /// The pipeline, once a request was seen.
    pub fn pipeline(&self) -> Option<&Pipeline> {
        self.pipeline.as_ref()
    }

    fn new_pipeline(&self, model: &str) -> Pipeline {
        let mut settings = Settings::for_model(model);
        settings.tools = self.options.tools;
        settings.cache_edits = self.options.cache_edits;
        if let Some(window) = self.options.window {
            settings.window = window;
        }
        Pipeline::new(self.options.profile.clone(), settings)
    }

    /// Manages one request.
    pub fn prepare<J: Journal>(
        &mut self,
        bytes: Vec<u8>,
        moment: &Moment,
        journal: &mut J,
    ) -> Result<Prepared, PrepareError<J::Error>> {
        // 1. What is new in it?
        let (body, same) = match &self.body {
            Some(before) => {
                let advance = before.advance(bytes)?;
                (advance.body, advance.same)
            }
            None => (Body::parse(self.wire, bytes)?, 0),
        };
        let mut pipeline = match self.pipeline.take() {
            Some(pipeline) => pipeline,
            None => {
                self.new_pipeline(body.get("model").as_ref().and_then(|m| m.as_str()).unwrap_or_default())
            }
        };
        self.envelope.read(&body, &self.options, &mut pipeline);
        if let Some(restored) = &self.restored {
            self.asked = restored.messages.iter().rev().find_map(|message| message.at);
        }
        let earlier = self.restored.take().map(|restored| Earlier::take_over(restored, &mut pipeline));
        let taken = self.take_in(&body, same, earlier, &mut pipeline, moment, journal);
        // 2. What is to be done about it?
        let passed = taken.and_then(|()| pipeline.prepare(moment, journal)).map_err(PrepareError::Journal);
        self.asked = moment.now.or(self.asked);
        // 3. The request.
        let result = passed.and_then(|pass| self.write(&body, &pipeline, pass));
        self.body = Some(body);
        self.pipeline = Some(pipeline);
        result
    }

    /// Brings the view up to the client's history.
    fn take_in<J: Journal>(
        &mut self,
        body: &Body,
        same: usize,
        earlier: Option<Earlier>,
        pipeline: &mut Pipeline,
        moment: &Moment,
        journal: &mut J,
    ) -> Result<(), J::Error> {
        let same = same.min(self.ids.len());
        let mut fresh: Vec<Message> = Vec::new();
        let mut ids: Vec<MessageId> = Vec::new();
        // An element that differs by a byte may still say the same: clients move their cache marks.
        let mut common = same;
        let mut parent = same.checked_sub(1).and_then(|at| self.ids.get(at)).cloned();
        for at in same..body.len() {
            let Some(mut message) = body.message(at) else { break };
            message.id = content_id(parent.as_ref(), &message);
            message.parent = parent.replace(message.id.clone());
            if common == at && self.ids.get(at) == Some(&message.id) {
                common += 1;
                ids.push(message.id);
                continue;
            }
            ids.push(message.id.clone());
            fresh.push(message);
        }
        let history = |n: usize| {
            n.checked_sub(1).and_then(|at| if at < same { self.ids.get(at) } else { ids.get(at - same) })
        };
        let mut diverged = common < self.ids.len();
        if let Some(earlier) = earlier {
            // What an earlier process recorded is there already.
            let recorded = fresh.iter().take_while(|message| earlier.known.contains(&message.id)).count();
            fresh.drain(..recorded);
            common += recorded;
            diverged = earlier.newest.as_ref() != history(common);
        }
        let kept = history(common).cloned();
        // Nothing is taken for known before it is recorded: a failure half-way leaves nothing out next time.
        let fresh_ids: Vec<MessageId> = ids.drain(..common - same).collect();
        let is_shown = |id: &MessageId| pipeline.view().entries().iter().any(|entry| entry.message.id == *id);
        let in_view = !diverged || kept.as_ref().is_none_or(is_shown);
        if diverged {
            let edit = rewind(if in_view { kept } else { None }, moment);
            let origin = journal.append(Record::Edit(Box::new(edit.clone())))?;
            pipeline.edit(edit, origin);
        }
        let keep = if diverged && !in_view { 0 } else { same };
        let gone: Vec<MessageId> = self.ids.drain(keep..).collect();
        for id in &gone {
            self.places.remove(id);
        }
        if diverged && !in_view {
            // The client went back behind what was condensed: its history is taken as it is.
            let settled: Vec<MessageId> = gone.into_iter().take(same).chain(fresh_ids).collect();
            for message in with_ids(body, &settled) {
                let origin = journal.append(Record::Message(Box::new(message.clone())))?;
                self.place(message.id.clone());
                pipeline.show(Entry::new(message, origin));
            }
        } else {
            fresh_ids.into_iter().for_each(|id| self.place(id));
        }
        for mut message in fresh {
            // An answer was given to the request before, right after it.
            let given = if message.role == Role::Assistant { self.asked.or(moment.now) } else { moment.now };
            message.at = message.at.or(given);
            let origin = journal.append(Record::Message(Box::new(message.clone())))?;
            self.place(message.id.clone());
            pipeline.push(Entry::new(message, origin));
        }
        Ok(())
    }

    /// One more message of the client's history is known.
    fn place(&mut self, id: MessageId) {
        self.places.insert(id.clone(), self.ids.len());
        self.ids.push(id);
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
        self.envelope.write(body, pipeline, &mut changes);
        let bytes = body.rebuild(&changes)?.into_owned();
        Ok(Prepared { bytes, pass, repairs, threshold })
    }
}

/// What an earlier process recorded of the client's history.
struct Earlier {
    known: HashSet<MessageId>,
    newest: Option<MessageId>,
}

impl Earlier {
    fn take_over(restored: Restored, pipeline: &mut Pipeline) -> Self {
        let mut earlier = Self { known: HashSet::new(), newest: None };
        for message in &restored.messages {
            if !is_own(message) {
                earlier.newest = Some(message.id.clone());
                earlier.known.insert(message.id.clone());
            }
            pipeline.remember(message);
        }
        pipeline.restore(restored.view);
        restored.events.iter().for_each(|event| pipeline.recall_event(event));
        earlier
    }
}

/// Messages that we put into the view: summaries, reminders, attachments.
fn is_own(message: &Message) -> bool {
    message.flags.meta || message.flags.summary
}

fn with_ids<'a>(body: &'a Body, ids: &'a [MessageId]) -> impl Iterator<Item = Message> + 'a {
    body.messages(0..ids.len()).zip(ids).enumerate().map(move |(at, (mut message, id))| {
        message.id = id.clone();
        message.parent = at.checked_sub(1).map(|at| ids[at].clone());
        message
    })
}

fn rewind(to: Option<MessageId>, moment: &Moment) -> Edit {
    Edit {
        id: EditId::fresh(),
        at: moment.now,
        stage: Stage::User,
        reason: Edit::GOES_ON_ELSEWHERE.to_owned(),
        freed: None,
        ops: vec![Op::Rewind { to }],
    }
}
