//! The pipeline: what happens to a view before each request, cheapest first.
//!
//! `tool result budget → snip → microcompact → collapse → autocompact`. Each later stage acts only where the earlier ones
//! were not enough. Where the budget goes by the window it comes behind the other cheap stages. Every decision goes to the [`Journal`] first and takes effect after: what the journal holds, folded, is
//! what the model is sent. Decisions never flip.
//!
//! A messages array, managed:
//!
//! ```
//! use throughline_core::pipeline::{Moment, Pipeline, Settings, Unrecorded};
//! use throughline_core::profile::Profile;
//! use throughline_core::{Message, Role};
//!
//! let mut pipeline = Pipeline::new(Profile::throughline(), Settings::for_model("claude-opus-4-5"));
//! pipeline.push(Message::text(Role::User, "fix the login").into());
//! let pass = pipeline.prepare(&Moment::default(), &mut Unrecorded)?;
//! assert!(!pass.changed());
//! assert_eq!(pipeline.messages().len(), 1); // what to send
//! # Ok::<(), std::convert::Infallible>(())
//! ```

mod journal;
mod pass;
mod preparation;
mod pressure;
mod results;
mod settings;
mod steps;
mod tally;

pub use journal::{Journal, Unrecorded};
pub use pass::{Change, Compacted, Notice, Pass, Rung};
pub use preparation::{Due, Preparation};
pub use pressure::WriterOutcome;
pub use settings::{DEFAULT_WINDOW, Moment, Settings};

use crate::compaction::Breaker;
use crate::cost::{CacheMonitor, Expected, Observed, Pace, StageEffect};
use crate::profile::Profile;
use crate::stages::{Proposal, Scene, collapse, microcompact, snip};
use crate::tokens::{Breakdown, Correction, Counter};
use crate::{Edit, Entry, Event, Message, MessageId, Op, Origin, SharedKnowledge, Usage, View};
use jiff::Timestamp;
use std::collections::HashSet;
use std::sync::Arc;
use tally::Tally;

/// Reports beyond this many times what we count are not believed.
const FAR_OFF: u64 = 2;

/// A session's view, and everything that decides about it.
#[derive(Debug)]
pub struct Pipeline {
    profile: Profile,
    settings: Settings,
    view: View,
    tally: Tally,
    counter: Counter,
    knowledge: SharedKnowledge,
    /// Whether somebody else tells the knowledge what was said.
    told: bool,
    /// Whether the model ever called `Snip`.
    snips: bool,
    /// Entries that were sent as they are.
    sent: usize,
    state: State,
}

/// What is remembered from request to request besides the view.
#[derive(Clone, Debug, Default)]
struct State {
    breaker: Breaker,
    /// Failures of a model that is asked for the text of a compaction.
    writer: Breaker,
    cached: microcompact::CachedState,
    /// Tokens of the view that the provider was told to forget.
    forgotten: u64,
    collapse: collapse::Snapshot,
    /// Messages with instructions that hold and had no room in the last replacement of the view.
    left_out: Vec<Entry>,
    compactions: u32,
    /// Compactions in a row that made no progress.
    idle: u32,
    pace: Pace,
    monitor: CacheMonitor,
    /// How the provider counts, by what it reported (W3).
    correction: Correction,
    /// Tokens of the last request, by our count.
    sent_tokens: u64,
    /// When the last request was made.
    asked: Option<Timestamp>,
}

impl Pipeline {
    /// An empty session.
    pub fn new(profile: Profile, settings: Settings) -> Self {
        let counter = Counter::for_model(&settings.model);
        Self {
            profile,
            settings,
            view: View::default(),
            tally: Tally::default(),
            counter,
            knowledge: SharedKnowledge::default(),
            told: false,
            snips: false,
            sent: 0,
            state: State::default(),
        }
    }

    /// One of several views of a session, with what is known in common: whoever shares it tells it what was said.
    pub fn sharing(profile: Profile, settings: Settings, knowledge: SharedKnowledge) -> Self {
        Self { knowledge, told: true, ..Self::new(profile, settings) }
    }

    /// A message that was said before the view begins: it is known, but not shown.
    pub fn remember(&mut self, message: &Arc<Message>) {
        if !self.told {
            self.knowledge.push(message.clone());
        }
    }

    /// Derives what the messages so far show. It is done before a compaction at the latest; whoever has time to spare, as after
    /// an answer, does it earlier.
    pub fn catch_up(&mut self) {
        self.knowledge.catch_up();
    }

    /// Takes over a view that was resumed, whose messages are [remembered](Self::remember) already.
    pub fn restore(&mut self, view: View) {
        self.view = view;
        self.tally.refresh(self.view.entries(), &mut self.counter);
        // Whatever has an answer behind it was sent.
        let answered = self.view.entries().iter().rposition(|e| e.message.role == crate::Role::Assistant);
        self.sent = answered.unwrap_or(0);
        self.snips = self.view.entries().iter().any(|entry| snip::is_called(&entry.message));
    }

    /// Says how often the view of a resumed session was replaced before.
    pub fn set_compactions(&mut self, count: u32) {
        self.state.compactions = count;
    }

    /// An event that a pipeline wrote earlier; the last of each kind counts. To be told after [`restore`](Self::restore).
    pub fn recall_event(&mut self, event: &Event) {
        let read = |event: &Event| event.data.clone();
        match event.name.as_str() {
            microcompact::CachedState::EVENT => {
                self.state.cached = serde_json::from_value(read(event)).unwrap_or_default();
                self.drop_stale_deletions();
            }
            pressure::WRITER_EVENT => {
                self.state.writer = serde_json::from_value(read(event)).unwrap_or_default();
            }
            pressure::LEFT_OUT_EVENT => {
                let messages: Vec<Message> = serde_json::from_value(read(event)).unwrap_or_default();
                let is_shown = |id: &MessageId| self.view.entries().iter().any(|e| e.message.id == *id);
                let left_out = messages.into_iter().filter(|message| !is_shown(&message.id));
                self.state.left_out = left_out.map(Entry::from).collect();
            }
            collapse::Snapshot::EVENT => {
                self.state.collapse = serde_json::from_value(read(event)).unwrap_or_default()
            }
            _ => {}
        }
    }

    /// Forgets deletions of results that the view no longer shows (P3b), or all where the provider can't edit its cache: a
    /// request must not name them.
    fn drop_stale_deletions(&mut self) {
        if self.settings.cache_edits {
            self.state.cached.retain(self.view.entries());
        } else {
            self.state.cached.reset();
        }
        self.count_forgotten();
    }

    /// Counts again what the provider was told to forget.
    fn count_forgotten(&mut self) {
        let cached = std::mem::take(&mut self.state.cached);
        let (scene, counter) = self.scene(&Moment::default());
        let forgotten =
            if cached.deleted.is_empty() { 0 } else { microcompact::forgotten(&scene, &cached, counter) };
        self.state.forgotten = forgotten;
        self.state.cached = cached;
    }

    /// Something was said.
    pub fn push(&mut self, entry: Entry) {
        self.remember(&entry.message);
        self.snips = self.snips || snip::is_called(&entry.message);
        let shown = !entry.message.flags.display_only;
        self.view.push(entry);
        if shown {
            self.tally.push(self.view.entries(), &mut self.counter);
        }
    }

    /// Something was said whose tokens were counted already, as by another view of the session.
    pub fn push_counted(&mut self, entry: Entry, count: Breakdown) {
        self.tally.know(&entry, count);
        self.push(entry);
    }

    /// A message that is known already is shown again, behind the others.
    pub fn show(&mut self, entry: Entry) {
        self.view.push(entry);
        self.tally.refresh(self.view.entries(), &mut self.counter);
    }

    /// An edit that was made elsewhere and is written down already takes effect.
    pub fn edit(&mut self, edit: Edit, origin: Origin) {
        let goes_back = edit.ops.iter().any(|op| matches!(op, Op::Rewind { .. } | Op::Undo { .. }));
        let ids = |view: &View| -> HashSet<MessageId> {
            view.entries().iter().map(|entry| entry.message.id.clone()).collect()
        };
        let before = if goes_back { ids(&self.view) } else { HashSet::new() };
        self.view.edit(edit, origin);
        if goes_back {
            let present = ids(&self.view);
            let gone = before.difference(&present).cloned().collect();
            self.knowledge.change(|known| known.facts.withdraw(&gone, &present));
        }
        self.tally.refresh(self.view.entries(), &mut self.counter);
        self.drop_stale_deletions();
        self.sent = self.sent.min(self.view.entries().len());
        self.state.pace.edited(self.tokens());
    }

    /// Tokens of a text, as the model counts.
    pub fn count_text(&mut self, text: &str) -> u64 {
        self.counter.text(text)
    }

    /// Tokens of a message, as the model counts.
    pub fn count_message(&mut self, message: &Message) -> u64 {
        self.counter.message(message).total()
    }

    /// Says where the session runs.
    pub fn set_cwd(&mut self, cwd: &str) {
        self.knowledge.change(|known| known.set_cwd(cwd));
    }

    /// Runs the stages before a request. Where the view is replaced, the offline scribe writes the text.
    pub fn prepare<J: Journal>(&mut self, moment: &Moment, journal: &mut J) -> Result<Pass, J::Error> {
        let mut preparation = self.begin(moment.clone(), journal)?;
        if preparation.due().is_some() {
            self.compact_offline(&mut preparation, journal)?;
        }
        self.end(preparation, journal)
    }

    /// Runs the cheap stages before a request. If then a compaction is [due](Preparation::due), whoever can write does:
    /// [`plan`](Self::plan) and [`compact_with`](Self::compact_with), or [`compact_offline`](Self::compact_offline).
    /// [`end`](Self::end) closes the preparation.
    pub fn begin<J: Journal>(&mut self, moment: Moment, journal: &mut J) -> Result<Preparation, J::Error> {
        let sent_before = self.sent;
        let mut pass = Pass { tokens_before: self.tokens(), unchanged: sent_before, ..Pass::default() };
        self.snip_stage(&moment, journal, &mut pass)?;
        self.budget_stage(&moment, journal, &mut pass)?;
        self.microcompact_stage(&moment, journal, &mut pass)?;
        self.collapse_stage(&moment, journal, &mut pass)?;
        self.window_stage(&moment, journal, &mut pass)?;
        let due = self.due(&moment, &mut pass);
        Ok(Preparation {
            moment,
            pass,
            due,
            declined: Vec::new(),
            is_done: false,
            little: None,
            degraded: None,
            sent_before,
        })
    }

    /// The view is as it will be sent.
    pub fn end<J: Journal>(
        &mut self,
        mut preparation: Preparation,
        journal: &mut J,
    ) -> Result<Pass, J::Error> {
        let Preparation { moment, pass, .. } = &mut preparation;
        self.last_resort(moment, journal, pass)?;
        self.conclude(&mut preparation);
        let Preparation { moment, mut pass, sent_before, .. } = preparation;
        self.nudge_stage(&moment, journal, &mut pass)?;
        pass.tokens_after = self.tokens();
        self.state.sent_tokens = self.counted();
        self.expect(&pass, sent_before, &moment);
        self.sent = self.view.entries().len();
        self.state.pace.request(pass.tokens_after);
        Ok(pass)
    }

    /// The request is not made: what was done to the view stays.
    pub fn leave(&mut self, mut preparation: Preparation) -> Pass {
        self.conclude(&mut preparation);
        let mut pass = preparation.pass;
        pass.tokens_after = self.tokens();
        pass
    }

    /// Forgets what lies behind the newest checkpoint: it is in the ledger. See [`View::rebase`].
    pub fn rebase(&mut self) {
        self.view.rebase();
    }

    /// Goes on with another model: everything is counted anew.
    pub fn set_model(&mut self, model: &str, window: u64) {
        let known = Settings::for_model(model);
        self.settings = Settings { model: known.model, window, price: known.price, ..self.settings.clone() };
        self.counter = Counter::for_model(model);
        self.tally = Tally::default();
        self.tally.refresh(self.view.entries(), &mut self.counter);
        self.state.correction = Correction::default();
        self.state.monitor = CacheMonitor::default();
        // It may be another model that writes, too.
        self.state.writer = Breaker::default();
        self.drop_stale_deletions();
        self.sent = 0;
    }

    /// Says what the provider's cache should do with this request.
    fn expect(&mut self, pass: &Pass, sent_before: usize, moment: &Moment) {
        let tokens = self.tally.tokens();
        let front = |entries: usize| tokens.iter().take(entries).sum::<u64>();
        let lifetime = self.settings.price.cache.lifetime(self.settings.ttl);
        let cold = match (self.state.asked, moment.now, lifetime) {
            (Some(before), Some(now), Some(lifetime)) => now.duration_since(before) > lifetime,
            (_, _, _) => false,
        };
        let first = self.state.pace.requests() == 0;
        let read = if first || cold { 0 } else { self.settings.overhead + front(pass.unchanged) };
        let known = if pass.changed() { pass.unchanged } else { sent_before };
        self.state.monitor.sent(Expected {
            prompt: pass.tokens_after,
            read: self.settings.price.cache.readable(read),
            added: tokens.iter().skip(known).sum(),
            cold,
            edits: pass
                .changes
                .iter()
                .map(|change| StageEffect { stage: change.stage, freed: change.freed.max(0) as u64 })
                .collect(),
        });
        self.state.asked = moment.now.or(self.state.asked);
    }

    /// The answer to the last request is there, with what the provider reported. Says what somebody should hear about: a
    /// cache that gave much less than expected with no edit to explain it, a stage that keeps losing money (B9).
    pub fn answered(&mut self, usage: &Usage) -> Observed {
        let counted = self.state.sent_tokens;
        // A report that is far off is about something else, or wrong: it would set off compactions, or none at all.
        if (counted / FAR_OFF..=counted.saturating_mul(FAR_OFF)).contains(&usage.prompt()) {
            self.state.correction.observe(counted, usage);
        }
        self.state.monitor.answered(usage, &self.settings.price, self.settings.ttl)
    }

    /// What stages look at, and what they count with.
    fn scene(&mut self, moment: &Moment) -> (Scene<'_>, &mut Counter) {
        let scene = Scene {
            entries: self.view.entries(),
            tokens: self.tally.tokens(),
            overhead: self.settings.overhead,
            now: moment.now,
            sent: self.sent,
            tools: self.settings.tools,
        };
        (scene, &mut self.counter)
    }

    /// What dropping turns would do now: for a person who asks, and to answer a call of `Snip` before the stage carries it out.
    pub fn propose_snip(&mut self, request: &snip::Request) -> Result<Proposal, snip::SnipError> {
        snip::propose(&self.scene(&Moment::default()).0, &request.ids, &request.reason)
    }

    /// Whether messages are sent with marks that only the model needs.
    pub fn marks(&self) -> bool {
        self.settings.tools.snip && self.profile.snip.is_some()
    }

    /// The messages to send: as the view shows them, with the marks that only the model needs.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        if self.marks() {
            let tags = snip::Tags::of(self.view.entries());
            return self.view.messages().enumerate().map(|(at, message)| tags.mark(at, message)).collect();
        }
        self.view.messages().collect()
    }

    /// The view.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Tokens of each entry of the view.
    pub fn entry_tokens(&self) -> &[u64] {
        self.tally.tokens()
    }

    /// Tokens of the context, with what comes before the messages, as the provider counts as far as that is known.
    pub fn tokens(&self) -> u64 {
        self.state.correction.estimate(self.counted())
    }

    /// The same by our own count.
    fn counted(&self) -> u64 {
        self.settings.overhead + self.tally.total().saturating_sub(self.state.forgotten)
    }

    /// The size at which the view is replaced by itself; `None` if it never is.
    pub fn threshold(&self) -> Option<u64> {
        let limits = self.profile.compact.as_ref()?;
        let by_window = limits.threshold_for(self.settings.window, self.settings.max_output);
        Some(by_window.min(self.settings.ceiling.unwrap_or(u64::MAX)))
    }

    /// What is known of the session.
    pub fn knowledge(&self) -> &SharedKnowledge {
        &self.knowledge
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Changes what is known about the next request: its window, its tools, what comes before the messages.
    pub fn settings_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// Goes on under other rules. What was decided stands.
    pub fn set_profile(&mut self, profile: Profile) {
        self.profile = profile;
        self.state.breaker = Breaker::default();
        self.state.writer = Breaker::default();
        self.state.idle = 0;
    }

    /// The profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Results that the provider is asked to drop from its cache (P3b).
    pub fn cached_deletions(&self) -> &microcompact::CachedState {
        &self.state.cached
    }
}
