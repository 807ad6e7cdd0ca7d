//! Servers that are child processes, behaving well.

use super::*;
use throughline_core::{Body, ResultContent};

#[tokio::test]
async fn a_server_is_greeted_and_its_tools_are_called() {
    let read_only =
        json!({"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}});
    let script = json!({"tools": [tool("echo", "Says it again."), read_only], "instructions": "Look first."});
    let stage = Stage::new([("one", child(&script))]).await;
    assert_eq!(stage.state("one"), ServerState::Ready { tools: 2, refused: Vec::new() });
    assert_eq!(stage.names(), ["mcp__one__echo", "mcp__one__look"]);
    let echo = stage.tool("mcp__one__echo");
    assert_eq!(echo.definition().description, "Says it again.");
    assert_eq!(echo.definition().parameters["properties"]["x"]["type"], "string");
    let access = |name: &str| stage.access(name, &json!({"x": "y"})).unwrap();
    let of = |tool: &str, claims_read_only| Access::Mcp {
        server: "one".to_owned(),
        tool: tool.to_owned(),
        claims_read_only,
    };
    assert_eq!((access("mcp__one__echo"), access("mcp__one__look")), (of("echo", false), of("look", true)));
    assert_eq!(
        stage.text("mcp__one__echo", json!({"x": "ä\n"})).await,
        ("{\"x\":\"ä\\n\"}".to_owned(), false)
    );
    assert!(stage.access("mcp__one__echo", &json!("x")).is_err());
    assert!(stage.run("mcp__one__echo", json!([1])).await.is_error);
    let instructions = stage.servers.instructions();
    assert!(
        matches!(instructions.as_slice(), [(server, words)] if server == "one" && words.contains("Look first.") && words.contains("not the user's"))
    );
    assert_eq!(stage.servers.deferred_listing(), None);
    stage.servers.shutdown().await;
    assert_eq!(stage.state("one"), ServerState::Stopped);
    assert!(stage.text("mcp__one__echo", json!({})).await.1);
}

#[tokio::test]
async fn all_pages_of_the_list_are_read() {
    let tools: Vec<Value> = (0..7).map(|at| tool(&format!("t{at}"), "")).collect();
    let stage = Stage::new([("one", child(&json!({"tools": tools, "page": 3})))]).await;
    assert_eq!(stage.names().len(), 7);
}

#[tokio::test]
async fn only_the_tools_that_the_settings_name_are_used() {
    let script = json!({"tools": [tool("a", ""), tool("b", "")]});
    let server = McpServer { tools: vec!["b".to_owned(), "c".to_owned()], ..child(&script) };
    assert_eq!(Stage::new([("one", server)]).await.names(), ["mcp__one__b"]);
}

#[tokio::test]
async fn results_of_all_kinds_come_through() {
    let content = json!([{"type": "text", "text": "seen"}, {"type": "image", "data": "iVBORw0K", "mimeType": "image/png"}]);
    let script = json!({
        "tools": [tool("see", ""), tool("fail", ""), tool("figures", ""), tool("refuse", "")],
        "calls": {
            "see": [{"answer": {"content": content}}],
            "fail": [{"answer": {"content": [{"type": "text", "text": "no such file"}], "isError": true}}],
            "figures": [{"answer": {"content": [], "structuredContent": {"degrees": 21.5}}}],
            "refuse": [{"error": {"code": -32602, "message": "x is missing"}}],
        },
    });
    let stage = Stage::new([("one", child(&script))]).await;
    let seen = stage.run("mcp__one__see", json!({})).await;
    let ResultContent::Parts(parts) = seen.content else { panic!("{seen:?}") };
    assert!(matches!((&parts[0].body, &parts[1].body), (Body::Text(text), Body::Image(_)) if text == "seen"));
    assert_eq!(stage.text("mcp__one__fail", json!({})).await, ("no such file".to_owned(), true));
    assert_eq!(stage.text("mcp__one__figures", json!({})).await, ("{\"degrees\":21.5}".to_owned(), false));
    let (text, is_error) = stage.text("mcp__one__refuse", json!({})).await;
    assert!(is_error && text.contains("x is missing") && text.contains("-32602"), "{text}");
}

#[tokio::test]
async fn progress_is_heard_while_a_call_runs() {
    let progress = |done: u64| {
        json!({"send": {"jsonrpc": "2.0", "method": "notifications/progress",
        "params": {"progressToken": "$id", "progress": done, "total": 2, "message": "reading\u{1b}[2J"}}})
    };
    let script =
        json!({"tools": [tool("slow", "")], "calls": {"slow": [progress(1), progress(2), answer("done")]}});
    let stage = Stage::new([("one", child(&script))]).await;
    assert_eq!(stage.text("mcp__one__slow", json!({})).await.0, "done");
    assert_eq!(*stage.heard.lock().unwrap(), ["1/2 reading[2J", "2/2 reading[2J"]);
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once_and_the_server_is_told() {
    let dir = TempDir::new().unwrap();
    let log = dir.path().join("log");
    let script = json!({"tools": [tool("hang", ""), tool("echo", "")], "calls": {"hang": []}, "log": log});
    let stage = Stage::new([("one", child(&script))]).await;
    let arrived = |method: &str| {
        std::fs::read_to_string(&log)
            .unwrap_or_default()
            .lines()
            .find(|line| line.contains(method))
            .map(str::to_owned)
    };
    let (output, ()) = tokio::join!(stage.text("mcp__one__hang", json!({})), async {
        until(|| arrived("tools/call")).await;
        stage.cancel.cancel();
    });
    assert!(output.1 && output.0.contains("Interrupted"), "{output:?}");
    let (call, told) =
        (until(|| arrived("tools/call")).await, until(|| arrived("notifications/cancelled")).await);
    let message = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    assert_eq!(message(&told)["params"]["requestId"], message(&call)["id"]);
    assert!(stage.text("mcp__one__echo", json!({})).await.1, "cancelled calls are not begun");
}

#[tokio::test]
async fn a_call_that_takes_too_long_fails_and_the_next_one_works() {
    let script = json!({"tools": [tool("hang", ""), tool("echo", "")], "calls": {"hang": []}});
    let stage = Stage::new([("one", McpServer { call_seconds: 2, ..child(&script) })]).await;
    let (text, is_error) = stage.text("mcp__one__hang", json!({})).await;
    assert!(is_error && text.contains("2 seconds"), "{text}");
    assert_eq!(stage.text("mcp__one__echo", json!({})).await, ("{}".to_owned(), false));
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_started_anew() {
    let script = json!({"tools": [tool("die", ""), tool("echo", "")], "calls": {"die": [{"stderr": 20}, {"exit": 3}]}});
    let stage = Stage::new([("one", child(&script))]).await;
    let (text, is_error) = stage.text("mcp__one__die", json!({})).await;
    assert!(
        is_error
            && text.contains("lost during the call")
            && text.contains("status 3")
            && text.contains("eeee"),
        "{text}"
    );
    assert_eq!(stage.text("mcp__one__echo", json!({"x": "1"})).await, ("{\"x\":\"1\"}".to_owned(), false));
    assert!(stage.servers.take_changes().is_empty());
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_can_not_be_started_anew_is_given_up_until_somebody_asks() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("server");
    let link = || std::os::unix::fs::symlink(std::env::current_exe().unwrap(), &path).unwrap();
    link();
    let script = json!({"tools": [tool("die", ""), tool("echo", "")], "calls": {"die": [{"exit": 0}]}});
    let stage = Stage::new([("one", program(path.clone(), &script))]).await;
    assert!(!stage.servers.restart("one") && !stage.servers.restart("two"));
    std::fs::remove_file(&path).unwrap();
    assert!(stage.run("mcp__one__die", json!({})).await.is_error);
    until(|| matches!(stage.state("one"), ServerState::Failed { .. }).then_some(())).await;
    let why = stage.why("one");
    assert!(why.contains("can't be started"), "{why}");
    assert_eq!(stage.servers.take_changes().removed, ["mcp__one__die", "mcp__one__echo"]);
    assert!(stage.text("mcp__one__echo", json!({})).await.1);
    link();
    assert!(stage.servers.restart("one"));
    until(|| matches!(stage.state("one"), ServerState::Ready { .. }).then_some(())).await;
    assert_eq!(stage.servers.take_changes().added, ["mcp__one__die", "mcp__one__echo"]);
    assert_eq!(stage.text("mcp__one__echo", json!({})).await, ("{}".to_owned(), false));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn stopping_kills_a_server_with_all_that_it_started() {
    let script = json!({"tools": [tool("sleep", "")], "calls": {"sleep": [{"sleep": true}]}, "stay": true});
    let stage = Stage::new([("one", child(&script))]).await;
    let (pids, _) = stage.text("mcp__one__sleep", json!({})).await;
    let runs = |pid: &str| {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // Behind the name, which is in brackets.
        state.rsplit(')').next().and_then(|rest| rest.trim().chars().next()).is_some_and(|state| state != 'Z')
    };
    assert!(pids.split(' ').count() == 2 && pids.split(' ').all(runs), "{pids}");
    stage.servers.shutdown().await;
    until(|| (!pids.split(' ').any(runs)).then_some(())).await;
}

#[tokio::test]
async fn servers_see_no_variables_but_the_usual_ones_and_what_their_definition_names() {
    let script = json!({"tools": [tool("env", "")], "calls": {"env": [{"env": true}]}});
    let mut server = child(&script);
    server.env.insert("GIVEN".to_owned(), Secret::new("x-${TOKEN}-${NONE:-none}"));
    let environment = |name: &str| match name {
        "ANTHROPIC_API_KEY" | "TOKEN" | "LD_PRELOAD" => Some("s3cret".to_owned()),
        "PATH" | "HOME" | "LANG" => Some(format!("/{name}")),
        _ => None,
    };
    let stage = Stage::with([("one", server)], &environment).await;
    let variables: BTreeMap<String, String> =
        serde_json::from_str(&stage.text("mcp__one__env", json!({})).await.0).unwrap();
    assert_eq!(variables["GIVEN"], "x-s3cret-none");
    assert_eq!((variables["PATH"].as_str(), variables["HOME"].as_str()), ("/PATH", "/HOME"));
    let others: Vec<_> = variables
        .keys()
        .filter(|name| !["GIVEN", "PATH", "HOME", "LANG", SCRIPT].contains(&name.as_str()))
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

#[tokio::test]
async fn a_server_that_fails_does_not_keep_the_others_from_working() {
    let missing = McpServer { command: Argv::new(["/nowhere/at/all"]), ..McpServer::default() };
    let nothing = McpServer::default();
    let unset = McpServer { args: vec!["${NOT_SET}".to_owned()], ..child(&json!({})) };
    let both = McpServer { url: Some("http://localhost/".to_owned()), ..child(&json!({})) };
    let off = McpServer { enabled: false, ..child(&json!({})) };
    let fine = child(&json!({"tools": [tool("echo", "")]}));
    let stage = Stage::new([
        ("both", both),
        ("fine", fine),
        ("missing", missing),
        ("nothing", nothing),
        ("off", off),
        ("unset", unset),
    ])
    .await;
    assert!(stage.why("missing").contains("/nowhere/at/all") && stage.why("nothing").contains("neither"));
    assert!(stage.why("unset").contains("NOT_SET") && stage.why("both").contains("both"));
    assert_eq!(stage.state("off"), ServerState::Disabled);
    assert_eq!(stage.text("mcp__fine__echo", json!({})).await, ("{}".to_owned(), false));
}

#[tokio::test]
async fn tools_that_come_later_are_deferred_and_the_array_stays() {
    let script = json!({
        "tools": [tool("grow", ""), tool("go", "")],
        "capabilities": {"tools": {"listChanged": true}},
        "calls": {"grow": [{"tools": [tool("grow", "Other words."), tool("new", "Paints a fence.")]}, answer("grown")]},
    });
    let stage = Stage::new([("one", child(&script))]).await;
    let before = stage.names();
    assert_eq!(before, ["mcp__one__go", "mcp__one__grow", "ToolSearch", "CallTool"]);
    assert_eq!(stage.text("mcp__one__grow", json!({})).await.0, "grown");
    let changes = until(|| Some(stage.servers.take_changes()).filter(|changes| !changes.is_empty())).await;
    assert_eq!(
        (changes.added, changes.removed, changes.changed),
        (
            vec!["mcp__one__new".to_owned()],
            vec!["mcp__one__go".to_owned()],
            vec!["mcp__one__grow".to_owned()]
        )
    );
    assert_eq!(stage.names(), before);
    assert_eq!(stage.servers.deferred_listing().as_deref(), Some("mcp__one__new"));
    assert!(stage.text("ToolSearch", json!({"query": "paint"})).await.0.contains("mcp__one__new"));
    let call = json!({"name": "mcp__one__new", "arguments": {"x": "green"}});
    assert_eq!(
        stage.access("CallTool", &call).unwrap(),
        Access::Mcp { server: "one".to_owned(), tool: "new".to_owned(), claims_read_only: false }
    );
    assert_eq!(stage.text("CallTool", call).await, ("{\"x\":\"green\"}".to_owned(), false));
    let (gone, is_error) = stage.text("mcp__one__go", json!({})).await;
    assert!(is_error && gone.contains("no longer offers"), "{gone}");
    assert!(stage.access("mcp__one__go", &json!({})).is_err());
}

#[tokio::test]
async fn starting_and_running_can_be_stopped_from_outside() {
    let cancel = CancelToken::new();
    let settings = Mcp {
        servers: BTreeMap::from([("one".to_owned(), child(&json!({"initialize": []})))]),
        ..Mcp::default()
    };
    let start = McpStart {
        settings: &settings,
        roots: vec![std::env::temp_dir()],
        environment: &|_| None,
        cancel: cancel.clone(),
        patience: Patience::default(),
    };
    let starting = tokio::spawn(McpServers::start(start));
    cancel.cancel();
    let servers = tokio::time::timeout(LONG, starting).await.expect("an end").unwrap();
    assert!(servers.tools().is_empty());
}
