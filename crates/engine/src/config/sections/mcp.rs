//! The keys of `[mcp]`.

use super::super::key::{Key, Kind, Scope};
use super::super::mcp::{Mcp, McpServer};
use super::super::schema::{Note, Part, fits};

const SERVERS: Scope =
    Scope::User("a project may not name servers; its .mcp.json proposes them, and you are asked");

const fn note(key: &'static str, doc: &'static str) -> Note {
    Note::new(key, doc)
}

const MCP: &[Note] = &[
    note(
        "inline_tools",
        "The most tools that are offered whole, those of all servers together. With more, they are found by a search.",
    ),
    note("inline_tokens", "The most tokens of their definitions together."),
];

const SERVER: &[Note] = &[
    note("command", "The command of a server that speaks on its stdin and stdout.").kind(Kind::Command),
    note("args", "Further arguments.").kind(Kind::List).secret().unset(),
    note("env", "Variables that it gets beside the usual ones. `${NAME}` is one of your environment.")
        .kind(Kind::Map)
        .secret()
        .unset(),
    note("cwd", "Where it runs. Unset: where the agent works.").kind(Kind::Path),
    note("url", "The address of a server that speaks streamable HTTP.").kind(Kind::Address),
    note("headers", "Headers of every request, such as `Authorization = \"Bearer ${TOKEN}\"`.")
        .kind(Kind::Map)
        .secret()
        .unset(),
    note("insecure_http", "Whether it may be reached over plain HTTP on another machine."),
    note("enabled", "Whether it is started."),
    note("startup_seconds", "How long it may take to start."),
    note("call_seconds", "How long one call may take."),
    note("tools", "The tools that are used, by the server's names. Unset: all.").kind(Kind::List).unset(),
    note("deferred", "Whether its tools are found by a search (`always`), offered whole (`never`), or what all tools together ask for.")
        .kind(Kind::Choice(&["auto", "always", "never"])),
    note(
        "external",
        "Whether what it gives counts as context from outside (`memory.handbook.disable_on_external_context`).",
    ),
];

pub(super) fn keys() -> Vec<Key> {
    let (mcp, server) = (Mcp::default(), McpServer::default());
    let part = Part { prefix: "mcp", base: &mcp, notes: MCP, scope: SERVERS, check: fits };
    let mut keys = part.keys();
    let part = Part {
        prefix: "mcp.servers.*",
        base: &server,
        notes: SERVER,
        scope: SERVERS,
        check: McpServer::check,
    };
    keys.extend(part.keys());
    keys
}
