//! The keys of `[proxy]`.

use super::super::key::{Key, Kind, Scope};
use super::super::proxy::ProxySettings;
use super::super::schema::{Note, Part};
use super::note;

/// A repository that could name an endpoint would be sent the user's keys.
const USERS: Scope = Scope::User("a project may not say where requests go, nor what is done on the way");

const NOTES: &[Note] = &[
    note("port", "The port of `throughline serve`; 0 is any that is free."),
    note("listen", "The address it listens on: one that only this machine reaches, `127.0.0.1` or `::1`."),
    note(
        "anthropic",
        "Where requests in Anthropic's format go. Unset: `ANTHROPIC_BASE_URL`, else `https://api.anthropic.com`.",
    )
    .kind(Kind::Address),
    note(
        "openai",
        "Where requests in OpenAI's formats go. Unset: `OPENAI_BASE_URL`, else `https://api.openai.com/v1`.",
    )
    .kind(Kind::Address),
    note("chatgpt", "Where the requests of a Codex go that is logged in with ChatGPT, unless `openai` is set.")
        .kind(Kind::Address),
    note("ca_file", "Certificates to trust besides the system's: a PEM file, absolute.").kind(Kind::Path),
    note(
        "credential_headers",
        "Credential headers that providers are sent besides their own (docs/proxy.md): those of a gateway, such as `helicone-auth`.",
    ),
    note(
        "take_over_compaction",
        "Whether a compaction that a client asks its provider for is answered with our own summary.",
    ),
    note(
        "memory",
        "Whether sessions are told what is remembered, and searched for what is worth keeping (`[memory]`).",
    ),
    note("our_time_ms", "Milliseconds that deciding about a request may take; then it goes as it came."),
    note(
        "compaction_seconds",
        "Seconds that a compaction which is answered here may take; then the provider is asked.",
    ),
    note("connect_ms", "Milliseconds that a connection to a provider may take."),
    note("request_bytes", "The most bytes of a request; larger ones are refused with 413."),
    note("answer_bytes", "The most bytes of an answer that are held to learn from it; it is passed on whole."),
    note(
        "event_bytes",
        "The most bytes of one event of a streamed answer that are held while it is looked at; a larger one passes unseen.",
    ),
    note(
        "buffered_bytes",
        "The most bytes of requests and answers that are held for all connections together. A request beyond it is refused with 503; \
         an answer beyond it is passed on and not recorded.",
    ),
    note(
        "stall_seconds",
        "Seconds that a client may take for the head of a request, and between two pieces of its body; then it is refused with 408.",
    ),
    note("idle_seconds", "Seconds that a client's connection may stay open without a request."),
    note(
        "upstream_idle_seconds",
        "Seconds that a provider may take to begin its answer (then 504), and between two pieces of it (then the connection breaks).",
    ),
    note("rest_seconds", "Seconds without a request after which only its ledger remembers a session."),
];

pub(super) fn keys() -> Vec<Key> {
    let base = ProxySettings::default();
    Part { prefix: "proxy", base: &base, notes: NOTES, scope: USERS, check: ProxySettings::check }.keys()
}
