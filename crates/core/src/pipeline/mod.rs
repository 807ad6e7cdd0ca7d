//! The pipeline: what happens to a view before each request, cheapest first.
//!
//! `tool result budget → snip → microcompact → collapse → autocompact`. Each later stage acts only where the earlier ones
//! were not enough. Every decision goes to the [`Journal`] first and takes effect after: what the journal holds, folded, is
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
mod pressure;
mod steps;
mod tally;

pub use journal::{Journal, Unrecorded};
pub use pass::{Change, Compacted, Notice, Pass};

use crate::compaction::{Breaker, Notes, Scaffold, Trigger};
use crate::cost::{CacheMonitor, Expected, Observed, Pace, Price, Prices, StageEffect, Ttl};
use crate::profile::Profile;
use crate::stages::{OwnTools, Scene, collapse, microcompact, snip};
use crate::tokens::Breakdown;
use crate::tokens::Counter;
use crate::{Edit, Entry, Event, Message, Origin, SharedKnowledge, Usage, View};
use jiff::Timestamp;
use std::sync::Arc;
use tally::Tally;

/// What the pipeline is told about the model and the client.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The model, as requests name it.
    pub model: String,
    /// Its context window in tokens.
    pub window: u64,
    /// The most tokens an answer may have, where the request says so.
    pub max_output: Option<u64>,
    /// Tokens that come before the messages: the system prompt and the tools.
    pub overhead: u64,
    /// Which of our own tools the model has.
    pub tools: OwnTools,
    /// Whether the provider can edit its cache (P3b).
    pub cache_edits: bool,
    /// What becomes of scaffold at the head when the view is replaced.
    pub scaffold: Scaffold,
    /// What tokens cost.
    pub price: Price,
    /// How long the provider's cache lives.
    pub ttl: Ttl,
}

/// The window of models that nothing else is known of.
pub const DEFAULT_WINDOW: u64 = 200_000;

/// The input window of a model, by its name; [`DEFAULT_WINDOW`] where it is not known.
fn window_of(model: &str) -> u64 {
    // By family, the longest name first.
    const WINDOWS: [(&str, u64); 6] = [
        ("gpt-4.1", 1_000_000),
        ("gpt-4o", 128_000),
        ("gpt-4", 128_000),
        ("gpt-5", 272_000),
        ("gpt-6", 272_000),
        ("gemini", 1_000_000),
    ];
    WINDOWS.iter().find(|(family, _)| model.starts_with(family)).map_or(DEFAULT_WINDOW, |(_, window)| *window)
}

impl Settings {
    /// The usual settings for a model.
    pub fn for_model(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            window: window_of(model),
            max_output: None,
            overhead: 0,
            tools: OwnTools::default(),
            cache_edits: false,
            scaffold: Scaffold::Keep,
            price: Prices::builtin().of(model),
            ttl: Ttl::Short,
        }
    }
}

/// The circumstances of one request.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// The time, where it is known.
    pub now: Option<Timestamp>,
    /// Compact in any case: a person asked, the model changes, or the provider said that the request is too long.
    pub compact: Option<Trigger>,
    /// What the person wants a summary to pay attention to.
    pub instructions: Option<String>,
    /// Session notes, where somebody keeps them.
    pub notes: Option<Notes>,
}

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
    cached: microcompact::CachedState,
    /// Tokens of the view that the provider was told to forget.
    forgotten: u64,
    collapse: collapse::Snapshot,
    compactions: u32,
    pace: Pace,
    monitor: CacheMonitor,
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

    /// An event that a pipeline wrote earlier; the last of each kind counts. To be told after [`restore`](Self::restore).
    pub fn recall_event(&mut self, event: &Event) {
        let read = |event: &Event| event.data.clone();
        match event.name.as_str() {
            microcompact::CachedState::EVENT => {
                self.state.cached = serde_json::from_value(read(event)).unwrap_or_default();
                self.state.cached.retain(self.view.entries());
                self.count_forgotten();
            }
            collapse::Snapshot::EVENT => {
                self.state.collapse = serde_json::from_value(read(event)).unwrap_or_default()
            }
            _ => {}
        }
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
        self.view.edit(edit, origin);
        self.tally.refresh(self.view.entries(), &mut self.counter);
        self.sent = self.sent.min(self.view.entries().len());
        self.state.pace.edited(self.tokens());
    }

    /// Tokens of a text, as the model counts.
    pub fn count_text(&mut self, text: &str) -> u64 {
        self.counter.text(text)
    }

    /// Says where the session runs.
    pub fn set_cwd(&mut self, cwd: &str) {
        self.knowledge.change(|known| known.facts.set_cwd(cwd));
    }

    /// Runs the stages before a request.
    pub fn prepare<J: Journal>(&mut self, moment: &Moment, journal: &mut J) -> Result<Pass, J::Error> {
        let sent_before = self.sent;
        let mut pass = Pass { tokens_before: self.tokens(), unchanged: sent_before, ..Pass::default() };
        self.snip_stage(moment, journal, &mut pass)?;
        self.budget_stage(moment, journal, &mut pass)?;
        self.microcompact_stage(moment, journal, &mut pass)?;
        self.collapse_stage(moment, journal, &mut pass)?;
        self.compact_stage(moment, journal, &mut pass)?;
        self.nudge_stage(moment, journal, &mut pass)?;
        pass.tokens_after = self.tokens();
        self.expect(&pass, sent_before, moment);
        self.sent = self.view.entries().len();
        self.state.pace.request(pass.tokens_after);
        Ok(pass)
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

    /// Tokens of the context, with what comes before the messages.
    pub fn tokens(&self) -> u64 {
        self.settings.overhead + self.tally.total().saturating_sub(self.state.forgotten)
    }

    /// The size at which the view is replaced by itself; `None` if it never is.
    pub fn threshold(&self) -> Option<u64> {
        let limits = self.profile.compact.as_ref()?;
        Some(limits.threshold_for(self.settings.window, self.settings.max_output))
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

    /// The profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Results that the provider is asked to drop from its cache (P3b).
    pub fn cached_deletions(&self) -> &microcompact::CachedState {
        &self.state.cached
    }
}
