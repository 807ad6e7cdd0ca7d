//! `[mcp]`: servers of tools.

use super::Machine;
use throughline_engine::config::{Deferred, Mcp, McpServer, Origin};
use throughline_model::{Argv, Secret};

#[test]
fn servers_are_read_by_name() {
    let machine = Machine::new().user(
        "[mcp]\ninline_tools = 7\n[mcp.servers.git-hub]\ncommand = \"npx -y x\"\nargs = [\"a b\"]\nenv = { T = \"${T}\" }\ndeferred = \"always\"\n\
         [mcp.servers.web]\nurl = \"https://x.test/mcp\"\nheaders = { Authorization = \"Bearer s3cret\" }\ncall_seconds = 5\nenabled = false\n",
    );
    let mcp = machine.config().mcp;
    assert_eq!((mcp.inline_tools, mcp.inline_tokens), (7, Mcp::default().inline_tokens));
    let hub = &mcp.servers["git-hub"];
    assert_eq!(hub.command, Argv::new(["npx", "-y", "x"]));
    assert_eq!(
        (hub.args.as_slice(), hub.deferred, hub.startup_seconds),
        (["a b".to_owned()].as_slice(), Deferred::Always, 10)
    );
    assert_eq!(hub.env["T"], Secret::new("${T}"));
    let web = &mcp.servers["web"];
    assert_eq!((web.url.as_deref(), web.call_seconds, web.enabled), (Some("https://x.test/mcp"), 5, false));
    assert_eq!(web.headers["Authorization"].expose(), "Bearer s3cret");
    assert_eq!(Machine::new().config().mcp, Mcp::default());
}

#[test]
fn a_project_may_not_name_servers_nor_change_them() {
    let machine = Machine::new()
        .user("[mcp.servers.mine]\ncommand = \"good\"\n")
        .project("[mcp]\ninline_tools = 1\n[mcp.servers.mine]\ncommand = \"evil\"\nenabled = true\n[mcp.servers.theirs]\nurl = \"https://evil.test\"\n");
    let loaded = machine.load().unwrap();
    assert_eq!(loaded.warnings.len(), 4, "{:?}", loaded.warnings);
    let mcp = loaded.config.mcp;
    assert_eq!(mcp.servers.keys().collect::<Vec<_>>(), ["mine"]);
    assert_eq!(mcp.servers["mine"], McpServer { command: Argv::new(["good"]), ..McpServer::default() });
}

#[test]
fn mistakes_name_their_place_and_give_no_secret_away() {
    for (text, words) in [
        ("[mcp.servers.x]\ncomand = \"a\"", "did you mean `mcp.servers.x.command`?"),
        ("[mcp.servers.\"a b\"]\ncommand = \"a\"", "no name for a server"),
        ("[mcp.servers.x]\ndeferred = \"maybe\"", "mcp.servers.x.deferred"),
        ("[mcp.servers.x]\ncall_seconds = 0", "at least 1"),
        ("[mcp.servers.x]\nenv = { A = 7777 }", "mcp.servers.x.env"),
        ("[mcp.servers]\nx = \"a\"", "is a section"),
        ("[mcp]\nserver = 1", "mcp"),
    ] {
        let error = Machine::new().user(text).error();
        assert!(error.contains(words) && !error.contains("7777"), "{text}: {error}");
    }
}

#[test]
fn a_server_is_explained_and_its_secrets_are_not() {
    let machine = Machine::new()
        .user("[mcp.servers.x]\ncommand = [\"run\", \"s3cret\"]\nargs = [\"s3cret\"]\nenv = { A = \"s3cret\" }\nheaders = { A = \"s3cret\" }\nurl = \"https://h/?k=s3cret\"")
        .variable("THROUGHLINE_MCP_SERVERS_X_CALL_SECONDS", "7");
    let config = machine.config();
    let explained = config.explain().unwrap();
    let of = |key: &str| explained.iter().find(|info| info.key == key).unwrap_or_else(|| panic!("{key}"));
    assert_eq!(of("mcp.servers.x.call_seconds").value.as_deref(), Some("7"));
    assert!(matches!(of("mcp.servers.x.call_seconds").origin, Origin::Environment { .. }));
    assert_eq!(of("mcp.servers.x.startup_seconds").value.as_deref(), Some("10"));
    assert_eq!(of("mcp.servers.x.env").value.as_deref(), Some("[hidden]"));
    assert!(explained.iter().all(|info| !info.key.contains('*')));
    for shown in
        [format!("{config:?}"), format!("{:?}", config.mcp), serde_json::to_string(&explained).unwrap()]
    {
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}
