//! What each section holds. A new section is one more [`Part`] in [`keys`].

mod mcp;
mod memory;
mod model;
mod permissions;
pub(super) mod profile;
mod proxy;

use super::key::{Key, Kind, Scope};
use super::schema::{Note, Part, fits};
use super::types::{AgentSettings, Storage, Telemetry, Tools, Window};
use crate::hooks::{EventName, HookSettings};
use serde::{Deserialize, Serialize};
use throughline_memory::notes::NotesLimits;
use throughline_model::GovernorLimits;

const HOOKS: Scope = Scope::User("a project may neither add hooks nor switch yours off");
const STORAGE: Scope = Scope::User("a project may not say where and how sessions are kept");
const SPENDING: Scope = Scope::User("a project may not say what background work may take");
const NETWORK: Scope = Scope::User("a project may not send anything anywhere");

const fn note(key: &'static str, doc: &'static str) -> Note {
    Note::new(key, doc)
}

/// What stands outside of sections.
#[derive(Serialize, Deserialize)]
struct Top {
    profile: String,
}

const TOP: &[Note] =
    &[note("profile", "The profile in force: `throughline`, `claude`, `codex`, `off`, or one of your own.")];

const WINDOW: &[Note] = &[
    note(
        "tokens",
        "The tokens that the model can hold. Unset: `model.context_window`, else by the model's name.",
    )
    .kind(Kind::Integer),
    note("max_output", "The most tokens of an answer. Unset: `model.max_output`, else by the request.")
        .kind(Kind::Integer),
    note("cache_ttl", "How long the provider's cache lives.").kind(Kind::Choice(&["short", "long", "never"])),
    note(
        "cache_edits",
        "Whether the provider can edit its cache: requests on Anthropic's wire carry `cache_edits` then.",
    ),
];

const NOTES: &[Note] = &[
    note("first_tokens", "Tokens of context at which notes are first written."),
    note("growth_tokens", "Tokens by which the context grew since the last update: no update without it."),
    note("tool_calls", "Tool calls since the last update that make one due."),
    note("section_tokens", "The most tokens of one section."),
    note("total_tokens", "The most tokens of the whole file."),
    note("failures", "Failed updates in a row after which the offline scribe writes instead."),
    note("wait_seconds", "Seconds that a compaction waits for an update that runs."),
];

const GOVERNOR: &[Note] = &[
    note("enabled", "Whether there is any background work."),
    note("daily_tokens", "Tokens a day (UTC), cached or not. Unset: no limit.").kind(Kind::Integer),
    note("daily_dollars", "Dollars a day. `false`: no limit; zero leaves work that costs nothing.").optional(),
    note("idle_only", "Only while you are away."),
    note("idle_minutes", "How long you must have been away for that."),
    note("at_once", "How many jobs may run at the same time, those of other processes included."),
    note("least_rate_limit", "The share of the provider's rate limit that is left to you, from 0 to 1."),
    note(
        "jobs",
        "Caps by job: `jobs.notes = { turns = 5, input_tokens = 1000000, output_tokens = 16000, dollars = 1.0, seconds = 180 }`.",
    )
    .kind(Kind::Map),
];

const TOOLS: &[Note] = &[
    note("snip", "Whether the model is given `Snip`, to drop turns by itself. Unset: in `chat` and `exec`.")
        .kind(Kind::Bool),
    note(
        "recall",
        "Whether the model is given `Recall`, to read again what was cut. Unset: in `chat`, `exec` and through the proxy.",
    )
    .kind(Kind::Bool),
];

const AGENT: &[Note] = &[
    note("max_steps", "The most answers of the model in one turn of `chat` and `exec`."),
    note("instructions", "What the agent is told in every session, in your words.")
        .scope(Scope::User("a project says what it wants in AGENTS.md")),
    note(
        "web_fetch",
        "Whether the agent is given `WebFetch`. Each address is asked for unless a rule permits it.",
    )
    .scope(Scope::ProjectTo("false", "a project may switch the network off, not on")),
    note(
        "finish_seconds",
        "Seconds that `exec` waits at its end for notes and memories that a model is writing.",
    )
    .scope(Scope::User("a project may not say how long you wait")),
];

const STORED: &[Note] = &[
    note("root", "The folder of sessions, blobs and indexes. Unset: the home folder.").kind(Kind::Path),
    note("sync", "When records are forced to disk, for the case of a power cut.")
        .kind(Kind::Choice(&["always", "turn", "never"])),
];

const TELEMETRY: &[Note] = &[
    note("enabled", "Whether OpenTelemetry spans and metrics are sent. Nothing that was said is in them.")
        .scope(Scope::ProjectTo("false", "a project may switch telemetry off, not on")),
    note("endpoint", "The collector (OTLP over HTTP).").kind(Kind::Address),
    note("service_name", "The name that spans and metrics carry."),
];

fn hooks() -> Vec<Key> {
    let mut notes = vec![
        note("disabled", "No hook runs."),
        note("timeout_seconds", "How long a hook may take unless it says otherwise."),
    ];
    notes.extend(EventName::ALL.map(|event| note(event.name(), doc(event)).kind(Kind::Hooks)));
    let base = HookSettings::default();
    Part { prefix: "hooks", base: &base, notes: &notes, scope: HOOKS, check: HookSettings::check }.keys()
}

fn doc(event: EventName) -> &'static str {
    match event {
        EventName::SessionStart => "Run when a session begins or goes on; matched on how.",
        EventName::UserPromptSubmit => "Run when the user said something, before the model hears it.",
        EventName::PreToolUse => "Run before a tool; matched on its name.",
        EventName::PostToolUse => "Run after a tool; matched on its name.",
        EventName::PreCompact => "Run before the view is replaced; matched on `manual` or `auto`.",
        EventName::PostCompact => "Run after the view was replaced; matched on `manual` or `auto`.",
        EventName::Stop => "Run before the agent ends its turn.",
        EventName::SubagentStop => "Run before a helper agent ends; matched on its kind.",
        EventName::Notification => "Run when the user's attention is wanted; matched on its kind.",
        EventName::SessionEnd => "Run when a session ends; matched on why.",
    }
}

/// All keys, in the order of the documentation.
pub(super) fn keys() -> Vec<Key> {
    let top = Top { profile: "throughline".to_owned() };
    let (window, tools, storage) = (Window::default(), Tools::default(), Storage::default());
    let agent = AgentSettings::default();
    let (notes, governor, telemetry) =
        (NotesLimits::default(), GovernorLimits::default(), Telemetry::default());
    let anyone = Scope::Anyone;
    [
        Part { prefix: "", base: &top, notes: TOP, scope: anyone, check: fits }.keys(),
        model::keys(),
        Part { prefix: "window", base: &window, notes: WINDOW, scope: anyone, check: Window::check }.keys(),
        Part { prefix: "notes", base: &notes, notes: NOTES, scope: anyone, check: fits }.keys(),
        memory::keys(),
        Part { prefix: "governor", base: &governor, notes: GOVERNOR, scope: SPENDING, check: fits }.keys(),
        Part { prefix: "tools", base: &tools, notes: TOOLS, scope: anyone, check: fits }.keys(),
        Part { prefix: "agent", base: &agent, notes: AGENT, scope: SPENDING, check: AgentSettings::check }
            .keys(),
        permissions::keys(),
        Part { prefix: "storage", base: &storage, notes: STORED, scope: STORAGE, check: Storage::check }
            .keys(),
        hooks(),
        Part { prefix: "telemetry", base: &telemetry, notes: TELEMETRY, scope: NETWORK, check: fits }.keys(),
        mcp::keys(),
        proxy::keys(),
        profile::keys(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
