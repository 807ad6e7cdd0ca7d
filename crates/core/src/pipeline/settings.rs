//! What the pipeline is told about the model, the client and the moment.

use crate::compaction::{HostContext, Notes, Scaffold, Trigger};
use crate::cost::{Price, Prices, Ttl};
use crate::stages::OwnTools;
use jiff::Timestamp;

/// What the pipeline is told about the model and the client.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The model, as requests name it.
    pub model: String,
    /// Its context window in tokens.
    pub window: u64,
    /// The most tokens that the context may have before the view is replaced, however large the window is: a client that
    /// condenses by itself does so at some size, and the view is to be replaced before.
    pub ceiling: Option<u64>,
    /// The most tokens an answer may have, where the request says so.
    pub max_output: Option<u64>,
    /// Tokens that come before the messages: the system prompt and the tools.
    pub overhead: u64,
    /// Which of our own tools the model has.
    pub tools: OwnTools,
    /// Whether the model has a tool that may read results which were saved to files.
    pub reads_saved_files: bool,
    /// Whether the provider can edit its cache (P3b).
    pub cache_edits: bool,
    /// Whether somebody else summarises spans before they are folded (P4); the offline scribe only where that is too late.
    pub spans_elsewhere: bool,
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
    const MILLION: u64 = 1_000_000;
    // By family, the longest name first.
    const WINDOWS: [(&str, u64); 15] = [
        ("claude-opus-4-6", MILLION),
        ("claude-opus-4-7", MILLION),
        ("claude-opus-4-8", MILLION),
        ("claude-opus-5", MILLION),
        ("claude-sonnet-4-6", MILLION),
        ("claude-sonnet-5", MILLION),
        ("claude-fable", MILLION),
        ("claude-mythos", MILLION),
        ("gpt-4.1", MILLION),
        ("gpt-4o", 128_000),
        ("gpt-4", 128_000),
        ("gpt-5.3-codex-spark", 100_000),
        ("gpt-5", 272_000),
        ("gpt-6", 272_000),
        ("gemini", MILLION),
    ];
    // Claude Code's way to ask for the long window of a model that has two.
    if model.ends_with("[1m]") {
        return MILLION;
    }
    WINDOWS.iter().find(|(family, _)| model.starts_with(family)).map_or(DEFAULT_WINDOW, |(_, window)| *window)
}

impl Settings {
    /// The usual settings for a model.
    pub fn for_model(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            window: window_of(model),
            ceiling: None,
            max_output: None,
            overhead: 0,
            tools: OwnTools::default(),
            reads_saved_files: false,
            cache_edits: false,
            spans_elsewhere: false,
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
    /// What the host supplies for a compaction: running tasks, changed tools, what hooks said, files as they are now.
    pub host: HostContext,
}
