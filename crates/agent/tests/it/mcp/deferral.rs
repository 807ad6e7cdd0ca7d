//! Which tools are offered whole, and how the others are found.

use super::*;
use throughline_engine::config::Deferred;

fn many() -> Value {
    let mut tools: Vec<Value> =
        (0..25).map(|at| tool(&format!("filler_{at:02}"), "Does something with records.")).collect();
    tools.push(tool("create_issue", "Opens a ticket in a repository."));
    tools.push(tool("list_issues", "Lists tickets of a repository, newest first."));
    tools.push(tool("closeIssue", "Ends a ticket."));
    tools.push(json!({"name": "forecast", "description": "The weather of the next days in a city.", "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}}, "annotations": {"readOnlyHint": true}}));
    json!({"tools": tools})
}

/// The names in an answer of ToolSearch, in order.
fn found(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("## ")).collect()
}

#[tokio::test]
async fn many_tools_are_found_by_a_search_and_called_by_name() {
    let stage = Stage::new([("hub", child(&many()))]).await;
    assert_eq!(stage.names(), ["ToolSearch", "CallTool"]);
    let listing = stage.servers.deferred_listing().unwrap();
    assert_eq!(listing.lines().count(), 29);
    assert!(listing.lines().all(|line| line.starts_with("mcp__hub__")));
    assert_eq!(stage.access("ToolSearch", &json!({"query": "x"})), Ok(Access::Inner));

    let (text, is_error) = stage.text("ToolSearch", json!({"query": "weather forecast"})).await;
    assert!(
        !is_error && text.contains("\"city\"") && text.contains("The weather of the next days"),
        "{text}"
    );
    assert_eq!(found(&text), ["mcp__hub__forecast"]);
    let (text, _) = stage.text("ToolSearch", json!({"query": "create an issue"})).await;
    assert_eq!(found(&text).first(), Some(&"mcp__hub__create_issue"), "{text}");
    assert!(
        found(&text).contains(&"mcp__hub__list_issues") && found(&text).contains(&"mcp__hub__closeIssue"),
        "{text}"
    );
    let (text, _) = stage.text("ToolSearch", json!({"query": "records", "max_results": 3})).await;
    assert_eq!(found(&text), ["mcp__hub__filler_00", "mcp__hub__filler_01", "mcp__hub__filler_02"]);
    let (text, _) =
        stage.text("ToolSearch", json!({"names": ["mcp__hub__closeIssue", "mcp__hub__nothing"]})).await;
    assert!(
        found(&text) == ["mcp__hub__closeIssue"] && text.contains("Not there: mcp__hub__nothing"),
        "{text}"
    );
    let (text, is_error) = stage.text("ToolSearch", json!({"query": "quantum"})).await;
    assert!(!is_error && text.contains("29 deferred tools"), "{text}");

    let call = json!({"name": "mcp__hub__forecast", "arguments": {"city": "Bern"}});
    let access =
        Access::Mcp { server: "hub".to_owned(), tool: "forecast".to_owned(), claims_read_only: true };
    assert_eq!(stage.access("CallTool", &call), Ok(access));
    assert_eq!(stage.text("CallTool", call).await, ("{\"city\":\"Bern\"}".to_owned(), false));
    let as_text = json!({"name": "mcp__hub__forecast", "arguments": "{\"city\": \"Bern\"}"});
    assert_eq!(stage.text("CallTool", as_text).await, ("{\"city\":\"Bern\"}".to_owned(), false));
}

#[tokio::test]
async fn wrong_calls_are_told_what_would_be_right() {
    let stage = Stage::new([("hub", child(&many()))]).await;
    let wrong = stage.access("CallTool", &json!({"name": "create_issue"})).unwrap_err();
    assert!(wrong.contains("mcp__hub__create_issue"), "{wrong}");
    for input in [
        json!({}),
        json!({"name": 3}),
        json!({"name": "mcp__hub__forecast", "arguments": [1]}),
        json!(null),
        json!({"name": "Bash", "arguments": {"command": "ls"}}),
    ] {
        assert!(stage.access("CallTool", &input).is_err(), "{input}");
        assert!(stage.run("CallTool", input).await.is_error);
    }
    for input in [json!({}), json!({"query": " "}), json!({"names": [3]}), json!("x")] {
        assert!(stage.access("ToolSearch", &input).is_err(), "{input}");
        assert!(stage.run("ToolSearch", input).await.is_error);
    }
}

#[tokio::test]
async fn the_settings_of_a_server_win_over_what_is_usual() {
    let few = json!({"tools": [tool("a", "")]});
    let always = McpServer { deferred: Deferred::Always, ..child(&few) };
    let never = McpServer { deferred: Deferred::Never, ..child(&many()) };
    let stage = Stage::new([("always", always), ("auto", child(&few)), ("never", never)]).await;
    let names = stage.names();
    // There are many in all, so what is left to the usual rule is deferred too.
    assert_eq!(names.len(), 31);
    assert_eq!(stage.servers.deferred_listing().as_deref(), Some("mcp__always__a\nmcp__auto__a"));
}

#[tokio::test]
async fn a_definition_that_providers_refuse_is_deferred_by_itself() {
    let odd = json!({"name": "odd", "inputSchema": {"type": "object", "anyOf": [{"required": ["a"]}]}});
    let stage = Stage::new([("one", child(&json!({"tools": [tool("plain", ""), odd]})))]).await;
    assert_eq!(stage.names(), ["mcp__one__plain", "ToolSearch", "CallTool"]);
    assert_eq!(stage.text("CallTool", json!({"name": "mcp__one__odd"})).await, ("{}".to_owned(), false));
}

#[tokio::test]
async fn without_servers_there_are_no_tools() {
    let stage = Stage::new([]).await;
    assert!(
        stage.names().is_empty()
            && stage.servers.deferred_listing().is_none()
            && stage.servers.instructions().is_empty()
    );
}

#[tokio::test]
async fn the_order_of_tools_is_the_same_in_every_session() {
    let servers =
        || ["b", "a", "c"].map(|name| (name, child(&json!({"tools": [tool("z", ""), tool("y", "")]}))));
    let (first, second) = (Stage::new(servers()).await, Stage::new(servers()).await);
    assert_eq!(first.names(), second.names());
    assert!(first.names().is_sorted());
}
