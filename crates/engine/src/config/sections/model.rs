//! The keys of `[model]` and `[scribe]`: a provider, or a command.

use super::super::key::{Key, Kind, Scope};
use super::super::schema::{Note, Part, fits};
use super::super::types::Writer;
use serde::{Deserialize, Serialize};
use throughline_model::{Argv, ExecSettings, Provider, Wire};

const ENDPOINT: Scope = Scope::User("a project may not say where requests go, nor with which keys");
const COMMAND: Scope = Scope::User("a project may not name commands");
const EFFORT: Scope = Scope::User("a project may not say how long and how often is tried");

const fn note(key: &'static str, doc: &'static str) -> Note {
    Note::new(key, doc)
}

const WIRES: Kind = Kind::Choice(&["anthropic", "responses", "chat"]);

const PROVIDER: &[Note] = &[
    note("model", "The model, as the provider names it.").unset().scope(Scope::Anyone),
    note("wire", "The format it speaks. Unset: by the usual variables (`ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, `OLLAMA_HOST` …).")
        .kind(WIRES)
        .unset(),
    note("name", "What messages call it.").unset(),
    note("base_url", "Its address, with or without the version at its end. Unset: the wire's own provider.").kind(Kind::Address),
    note("key_env", "The variable that holds the key."),
    note("key_command", "A command that prints the key.").kind(Kind::Command).scope(COMMAND),
    note("key_header", "The header that carries the key. Unset: the wire's own.")
        .kind(Kind::Choice(&["x-api-key", "bearer", "api-key"])),
    note("headers", "Further headers.").kind(Kind::Map).secret(),
    note("header_env", "Further headers whose values are in variables.").kind(Kind::Map),
    note("betas", "Anthropic's features in testing (`anthropic-beta`).").kind(Kind::List),
    note("context_window", "The tokens that the model can hold. Unset: by its name.").kind(Kind::Integer).scope(Scope::Anyone),
    note("max_output", "The most tokens of an answer. Unset: by the request.").kind(Kind::Integer).scope(Scope::Anyone),
    note("timeouts.connect_ms", "How long is waited for a connection, in milliseconds.").scope(EFFORT),
    note("timeouts.idle_ms", "How long is waited for the next byte.").scope(EFFORT),
    note("timeouts.total_ms", "How long everything may take, retries included.").scope(EFFORT),
    note("retries.attempts", "The most requests for one call, the first included.").scope(EFFORT),
    note("retries.base_ms", "The longest first wait.").scope(EFFORT),
    note("retries.cap_ms", "The longest wait of our own.").scope(EFFORT),
    note("retries.patience_ms", "The longest wait that a provider can ask for.").scope(EFFORT),
    note("answer_limit", "The largest answer that is read, in bytes.").scope(EFFORT),
    note("ca_file", "A file of certificates (PEM) that are trusted beside the system's.").kind(Kind::Path),
    note("proxy", "A proxy. Unset: by the usual variables.").kind(Kind::Address).secret(),
    note("insecure_http", "Whether the key may go over plain HTTP to another machine."),
];

const EXEC: &[Note] = &[
    note("command", "A command that answers requests; then no provider is asked.")
        .kind(Kind::Command)
        .unset(),
    note("input", "What the command reads: the request, or the conversation in words.")
        .kind(Kind::Choice(&["json", "text"])),
    note("output", "What the command prints: the answer in words, or a response.")
        .kind(Kind::Choice(&["text", "json"])),
    note("env", "Variables that the command gets beside those of this process.").kind(Kind::Map).secret(),
    note("timeout_ms", "How long the command may take, in milliseconds."),
];

fn section(prefix: &str) -> Vec<Key> {
    let provider = Provider::new(prefix, Wire::Chat, "model");
    let part = Part { prefix, base: &provider, notes: PROVIDER, scope: ENDPOINT, check: fits::<Provider> };
    let mut keys = part.keys();
    if let Some(argv) = Argv::new(["true"]) {
        let exec = ExecSettings::new(prefix, Wire::Chat, argv);
        let part = Part { prefix, base: &exec, notes: EXEC, scope: COMMAND, check: fits::<ExecSettings> };
        keys.extend(part.noted());
    }
    keys
}

/// The one key of `[scribe]` that a provider does not have.
#[derive(Default, Serialize, Deserialize)]
struct Scribe {
    r#use: Writer,
}

const USE: &[Note] = &[note(
    "use",
    "Who writes summaries and notes: nobody but the built-in scribe, the session's model, or the model of this section.",
)
.kind(Kind::Choice(&["offline", "model", "own"]))
.scope(Scope::ProjectTo("offline", "a project may switch the network off, not on"))];

pub(super) fn keys() -> Vec<Key> {
    let mut keys = section("model");
    let part = Part {
        prefix: "scribe",
        base: &Scribe::default(),
        notes: USE,
        scope: ENDPOINT,
        check: fits::<Scribe>,
    };
    keys.extend(part.keys());
    let own = section("scribe").into_iter().map(|key| Key {
        scope: match key.scope {
            Scope::Anyone => ENDPOINT,
            Scope::User(_) | Scope::ProjectTo(..) | Scope::Stricter(..) | Scope::Adds => key.scope,
        },
        ..key
    });
    keys.extend(own);
    keys
}
