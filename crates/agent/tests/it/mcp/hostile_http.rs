//! Servers behind HTTP, behaving badly.

use super::http::at;
use super::*;
use throughline_testkit::Nowhere;
use throughline_testkit::mcp::McpHttp;

/// The reason of a server that replies to a method with this.
async fn fails(method: &str, reply: Value) -> String {
    let server = McpHttp::start(json!({"tools": [tool("echo", "")], "replies": {method: reply}})).unwrap();
    Stage::new([("bad", at(&server))]).await.why("bad")
}

#[tokio::test]
async fn a_redirect_to_another_host_is_not_followed() {
    let other = McpHttp::start(json!({"tools": [tool("echo", "")]})).unwrap();
    for status in ["307 Temporary Redirect", "308 Permanent Redirect", "302 Found", "301 Moved Permanently"] {
        let headers = format!("location: {}\r\n", other.url());
        let why = fails("initialize", json!({"status": status, "headers": headers})).await;
        assert!(why.contains("redirects elsewhere"), "{why}");
    }
    assert!(other.heard().is_empty(), "{:?}", other.heard());
    let circle =
        fails("initialize", json!({"status": "307 Temporary Redirect", "headers": "location: /mcp\r\n"}))
            .await;
    assert!(circle.contains("redirects"), "{circle}");
}

#[tokio::test]
async fn replies_that_are_none_are_failures_in_words() {
    let html = json!({"status": "200 OK", "headers": "content-type: text/html\r\n", "body": "<html>"});
    assert!(fails("initialize", html).await.contains("text/html"));
    let nothing = json!({"status": "200 OK", "headers": "content-type: application/json\r\n", "body": "{}"});
    assert!(fails("initialize", nothing).await.contains("does not hold the answer"));
    let cut = json!({"status": "200 OK", "headers": "content-type: text/event-stream\r\n", "body": "data: {\"jsonrpc\""});
    assert!(fails("tools/list", cut).await.contains("does not hold the answer"));
    let other = json!({"status": "200 OK", "headers": "content-type: application/json\r\n", "body": "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}"});
    assert!(fails("tools/list", other).await.contains("does not hold the answer"));
    assert!(
        fails("initialize", json!({"status": "401 Unauthorized", "headers": "www-authenticate: Bearer\r\n"}))
            .await
            .contains("OAuth")
    );
    assert!(
        fails("initialize", json!({"status": "500 Oops", "body": "bad \u{1b}[2Jday"}))
            .await
            .contains("bad [2Jday")
    );
    let session = json!({"status": "200 OK", "headers": format!("content-type: application/json\r\nmcp-session-id: {}\r\n", "x".repeat(2_000)), "body": "{}"});
    assert!(fails("initialize", session).await.contains("session"));
}

#[tokio::test]
async fn silence_has_an_end() {
    let server = McpHttp::start(json!({"initialize": []})).unwrap();
    let stage = Stage::new([("bad", McpServer { startup_seconds: 1, ..at(&server) })]).await;
    assert!(stage.why("bad").contains("1 seconds"), "{}", stage.why("bad"));
    let server = McpHttp::start(json!({"tools": [tool("hang", "")], "calls": {"hang": []}})).unwrap();
    let stage = Stage::new([("bad", McpServer { call_seconds: 1, ..at(&server) })]).await;
    assert!(stage.text("mcp__bad__hang", json!({})).await.0.contains("1 seconds"));
}

#[tokio::test]
async fn a_gigantic_body_fails_the_call_alone() {
    let script =
        json!({"tools": [tool("huge", ""), tool("echo", "")], "calls": {"huge": [{"fill": 20_000_000}]}});
    let server = McpHttp::start(script).unwrap();
    let stage = Stage::new([("bad", at(&server))]).await;
    let (text, is_error) = stage.text("mcp__bad__huge", json!({})).await;
    assert!(is_error && text.contains("bytes"), "{text}");
    assert_eq!(stage.text("mcp__bad__echo", json!({})).await, ("{}".to_owned(), false));
}

#[tokio::test]
async fn what_can_not_or_may_not_be_reached_fails() {
    let nowhere = Nowhere::new().unwrap();
    let refuses = McpServer { url: Some(format!("{}/mcp", nowhere.url().unwrap())), ..McpServer::default() };
    let far = McpServer { url: Some("http://192.0.2.1/mcp".to_owned()), ..McpServer::default() };
    let stage = Stage::new([("far", far), ("refuses", refuses)]).await;
    assert!(stage.why("refuses").contains("can't be reached"), "{}", stage.why("refuses"));
    assert!(stage.why("far").contains("insecure_http"), "{}", stage.why("far"));
}
