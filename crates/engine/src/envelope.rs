//! What stands around the conversation: the system prompt, the tools, what the provider is asked to clear.

use crate::Options;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use throughline_core::Wire;
use throughline_core::pipeline::Pipeline;
use throughline_core::recall;
use throughline_core::stages::microcompact::{self, Thinking};
use throughline_core::stages::snip;
use throughline_wire::splice::{Body, Changes, Fragment};

/// What was counted around the conversation of the request before.
#[derive(Debug, Default)]
pub(crate) struct Envelope {
    system: Vec<u8>,
    tools: Vec<u8>,
    overhead: Option<u64>,
    /// The tools with ours.
    own: Option<Fragment>,
    /// What of the overhead are ours.
    own_tokens: u64,
}

/// When our tools are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offering {
    /// To every request.
    Always,
    /// To requests that bring tools of their own.
    Beside,
}

/// The share of the provider's own trigger from which on it is told of it.
const NEAR_TRIGGER: f64 = 0.8;

impl Envelope {
    /// Tells the pipeline how much comes before the messages. Counted again only where it changed.
    pub(crate) fn read(
        &mut self,
        body: &Body,
        options: &Options,
        offering: Offering,
        pipeline: &mut Pipeline,
    ) {
        let system = match body.wire() {
            Wire::Anthropic => body.raw("system"),
            Wire::Responses => body.raw("instructions"),
            Wire::Chat => None,
        };
        let (system, tools) = (system.unwrap_or_default(), body.raw("tools").unwrap_or_default());
        let max_output = ["max_tokens", "max_output_tokens", "max_completion_tokens"]
            .iter()
            .find_map(|key| std::str::from_utf8(body.raw(key)?).ok()?.trim().parse().ok());
        if self.overhead.is_none() || system != self.system || tools != self.tools {
            self.system = system.to_vec();
            self.tools = tools.to_vec();
            let own = own_tools(body.wire(), options);
            let own_text: String = own.iter().map(Value::to_string).collect();
            self.own = with_own(tools, own, offering);
            let mut count = |text: &[u8]| pipeline.count_text(&String::from_utf8_lossy(text));
            self.own_tokens = if self.own.is_some() { count(own_text.as_bytes()) } else { 0 };
            self.overhead = Some(count(system) + count(tools) + self.own_tokens);
        }
        let settings = pipeline.settings_mut();
        settings.overhead = self.overhead.unwrap_or_default();
        settings.max_output = max_output;
    }

    /// Tokens that our tools add.
    pub(crate) fn own_tokens(&self) -> u64 {
        self.own_tokens
    }

    /// Whether a request with these tools is sent with ours.
    pub(crate) fn offers(&self, tools: &[u8]) -> bool {
        self.own.is_some() && tools == self.tools
    }

    /// Adds our tools, and what the provider shall do by itself. A request with other tools than the one that was read, beside
    /// the conversation, keeps its own.
    pub(crate) fn write(&self, body: &Body, pipeline: &Pipeline, options: &Options, changes: &mut Changes) {
        if let Some(own) = &self.own
            && body.raw("tools").unwrap_or_default() == self.tools
        {
            changes.set("tools", own.clone());
        }
        if body.wire() != Wire::Anthropic {
            return;
        }
        let thinking = Thinking::from_request(body.get("thinking").as_ref());
        let server = (options.server_edits && body.raw("context_management").is_none()).then_some(thinking);
        for (key, value) in provider_edits(pipeline, server) {
            changes.set(key, Fragment::from(&value));
        }
    }
}

/// Returns the keys by which a request on Anthropic's wire has the provider drop content: `cache_edits` (P3b) and, where
/// `server` says that the request may carry it, `context_management` (W4).
pub(crate) fn provider_edits(pipeline: &Pipeline, server: Option<Thinking>) -> Vec<(&'static str, Value)> {
    let mut keys = Vec::new();
    if let (Some(limits), Some(thinking)) = (&pipeline.profile().server, server)
        && pipeline.tokens() as f64 >= limits.trigger_tokens as f64 * NEAR_TRIGGER
    {
        keys.push(("context_management", json!({ "edits": microcompact::server_edits(limits, thinking) })));
    }
    let deletions = pipeline.cached_deletions();
    if !deletions.deleted.is_empty() {
        keys.push(("cache_edits", microcompact::cache_edits(deletions)));
    }
    keys
}

fn own_tools(wire: Wire, options: &Options) -> Vec<Value> {
    let mut own = Vec::new();
    if options.tools.snip && options.profile.snip.is_some() {
        own.push(snip::definition(wire));
    }
    if options.tools.recall {
        own.push(recall::definition(wire));
    }
    own
}

/// The client's tools, each to the byte, then ours; one that the client has already is not added again. A mark that the cache
/// ends with the client's tools stays the last: ours come before it then.
fn with_own(tools: &[u8], own: Vec<Value>, offering: Offering) -> Option<Fragment> {
    let theirs: Vec<&RawValue> = serde_json::from_slice(tools).unwrap_or_default();
    if own.is_empty() || (theirs.is_empty() && offering == Offering::Beside) {
        return None;
    }
    let known: Vec<Value> = theirs.iter().filter_map(|tool| serde_json::from_str(tool.get()).ok()).collect();
    let ends_cache = known.last().is_some_and(|tool| tool.get("cache_control").is_some());
    let own: Vec<String> =
        own.iter().filter(|tool| !known.contains(tool)).map(|tool| tool.to_string()).collect();
    let mut all: Vec<&str> = theirs.iter().map(|tool| tool.get()).collect();
    let place = all.len() - usize::from(ends_cache);
    all.splice(place..place, own.iter().map(String::as_str));
    Fragment::parse(format!("[{}]", all.join(",")).into_bytes()).ok()
}
