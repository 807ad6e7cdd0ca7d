//! Servers behind streamable HTTP, behaving well.

use super::*;
use throughline_testkit::mcp::McpHttp;

pub(super) fn at(server: &McpHttp) -> McpServer {
    McpServer { url: Some(server.url()), startup_seconds: 60, ..McpServer::default() }
}

#[tokio::test]
async fn a_server_answers_in_json_and_sees_session_version_and_headers() {
    let server =
        McpHttp::start(json!({"tools": [tool("echo", "")], "session": "abc", "version": "2025-06-18"}))
            .unwrap();
    let mut settings = at(&server);
    settings.headers.insert("Authorization".to_owned(), Secret::new("Bearer ${TOKEN}"));
    let stage = Stage::with([("web", settings)], &|name| (name == "TOKEN").then(|| "t0ken".to_owned())).await;
    assert_eq!(stage.text("mcp__web__echo", json!({"x": "ü"})).await, ("{\"x\":\"ü\"}".to_owned(), false));
    stage.servers.shutdown().await;
    let heard = server.heard();
    let methods: Vec<&str> =
        heard.iter().map(|heard| heard.message["method"].as_str().unwrap_or(&heard.method)).collect();
    assert_eq!(methods, ["initialize", "notifications/initialized", "tools/list", "tools/call", "DELETE"]);
    for (at, request) in heard.iter().enumerate() {
        let later = at > 0;
        assert_eq!(request.header("authorization"), Some("Bearer t0ken"));
        assert_eq!(request.header("mcp-session-id"), later.then_some("abc"), "{request:?}");
        assert_eq!(request.header("mcp-protocol-version"), later.then_some("2025-06-18"));
    }
    assert!(!format!("{:?}", stage.servers).contains("t0ken"));
}

#[tokio::test]
async fn a_server_answers_in_events_and_reports_progress_on_the_way() {
    let progress = json!({"send": {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "$id", "progress": 5}}});
    let script =
        json!({"tools": [tool("slow", "")], "sse": true, "calls": {"slow": [progress, answer("done")]}});
    let server = McpHttp::start(script).unwrap();
    let stage = Stage::new([("web", at(&server))]).await;
    assert_eq!(stage.text("mcp__web__slow", json!({})).await, ("done".to_owned(), false));
    assert_eq!(*stage.heard.lock().unwrap(), ["5"]);
}

#[tokio::test]
async fn a_changed_list_is_heard_on_the_stream_of_the_server() {
    let script =
        json!({"tools": [tool("a", "")], "session": "s", "capabilities": {"tools": {"listChanged": true}}});
    let server = McpHttp::start(script).unwrap();
    let stage = Stage::new([("web", at(&server))]).await;
    until(|| (server.set_tools(vec![tool("a", ""), tool("b", "")]) > 0).then_some(())).await;
    let changes = until(|| Some(stage.servers.take_changes()).filter(|changes| !changes.is_empty())).await;
    assert_eq!(changes.added, ["mcp__web__b"]);
    assert_eq!(stage.text("CallTool", json!({"name": "mcp__web__b"})).await, ("{}".to_owned(), false));
}

#[tokio::test]
async fn a_session_that_the_server_forgot_is_begun_anew() {
    let server = McpHttp::start(json!({"tools": [tool("echo", "")], "session": "abc"})).unwrap();
    let stage = Stage::new([("web", at(&server))]).await;
    server.forget_sessions();
    let (text, is_error) = stage.text("mcp__web__echo", json!({})).await;
    assert!(is_error && text.contains("session has ended"), "{text}");
    assert_eq!(stage.text("mcp__web__echo", json!({})).await, ("{}".to_owned(), false));
}

#[tokio::test]
async fn a_cancelled_call_is_called_off_at_the_server() {
    let server = McpHttp::start(json!({"tools": [tool("hang", "")], "calls": {"hang": []}})).unwrap();
    let stage = Stage::new([("web", at(&server))]).await;
    let arrived = |method: &str| server.heard().into_iter().find(|heard| heard.message["method"] == method);
    let (output, ()) = tokio::join!(stage.text("mcp__web__hang", json!({})), async {
        until(|| arrived("tools/call")).await;
        stage.cancel.cancel();
    });
    assert!(output.1 && output.0.contains("Interrupted"), "{output:?}");
    let told = until(|| arrived("notifications/cancelled")).await;
    assert_eq!(told.message["params"]["requestId"], arrived("tools/call").unwrap().message["id"]);
}

#[tokio::test]
async fn an_error_comes_through_with_its_words_whatever_the_status() {
    let body =
        json!({"jsonrpc": "2.0", "id": 3, "error": {"code": -32602, "message": "x is missing"}}).to_string();
    let reply =
        json!({"status": "400 Bad Request", "headers": "content-type: application/json\r\n", "body": body});
    let server =
        McpHttp::start(json!({"tools": [tool("echo", "")], "replies": {"tools/call": reply}})).unwrap();
    let stage = Stage::new([("web", at(&server))]).await;
    let (text, is_error) = stage.text("mcp__web__echo", json!({})).await;
    assert!(is_error && text.contains("x is missing"), "{text}");
}
