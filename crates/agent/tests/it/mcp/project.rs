//! What a project proposes.

use super::*;
use throughline_agent::mcp::{PROJECT_FILE, ProjectServers};

fn read(text: &str) -> ProjectServers {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join(PROJECT_FILE), text).unwrap();
    ProjectServers::read(dir.path())
}

#[test]
fn servers_are_proposed_with_a_fingerprint_of_their_definition() {
    let found = read(
        r#"{"mcpServers": {
        "b": {"type": "http", "url": "https://x.test/mcp", "headers": {"Authorization": "Bearer ${T}"}},
        "a": {"command": "npx", "args": ["-y", "x"], "env": {"K": "v"}, "cwd": "sub"}
    }}"#,
    );
    assert!(found.problems.is_empty(), "{found:?}");
    let [a, b] = found.proposed.as_slice() else { panic!("{found:?}") };
    assert_eq!((a.name.as_str(), b.name.as_str()), ("a", "b"));
    assert_eq!(a.definition.command.as_ref().map(Argv::program), Some("npx"));
    assert_eq!(
        (a.definition.args.as_slice(), b.definition.url.as_deref()),
        (["-y".to_owned(), "x".to_owned()].as_slice(), Some("https://x.test/mcp"))
    );
    assert!(a.shown.contains("\"npx\"") && b.shown.contains("${T}"));
    assert!(a.fingerprint.len() == 64 && a.fingerprint != b.fingerprint);
}

#[test]
fn any_other_definition_has_another_fingerprint_and_the_same_one_the_same() {
    let of = |text: &str| read(&format!("{{\"mcpServers\": {text}}}")).proposed[0].fingerprint.clone();
    let first = of(r#"{"a": {"command": "x", "args": ["1"], "env": {"A": "1", "B": "2"}}}"#);
    assert_eq!(first, of(r#"{ "a":{"env":{"B":"2","A":"1"}, "args":["1"],"command":"x"}}"#));
    for other in [
        r#"{"b": {"command": "x", "args": ["1"], "env": {"A": "1", "B": "2"}}}"#,
        r#"{"a": {"command": "y", "args": ["1"], "env": {"A": "1", "B": "2"}}}"#,
        r#"{"a": {"command": "x", "args": ["1", ""], "env": {"A": "1", "B": "2"}}}"#,
        r#"{"a": {"command": "x", "args": ["1"], "env": {"A": "1", "B": "3"}}}"#,
        r#"{"a": {"command": "x", "args": ["1"], "env": {"A": "1", "B": "2"}, "cwd": "/"}}"#,
    ] {
        assert_ne!(first, of(other), "{other}");
    }
}

#[test]
fn what_can_not_be_used_is_a_problem_in_words() {
    for (text, why) in [
        ("nonsense", "no JSON"),
        ("[]", "mcpServers"),
        (r#"{"mcpServers": []}"#, "mcpServers"),
        (r#"{"mcpServers": {"a b": {"command": "x"}}}"#, "no name"),
        (r#"{"mcpServers": {"a": 3}}"#, "no object"),
        (r#"{"mcpServers": {"a": {}}}"#, "`command`"),
        (r#"{"mcpServers": {"a": {"command": "x", "url": "y"}}}"#, "`command`"),
        (r#"{"mcpServers": {"a": {"type": "sse", "url": "y"}}}"#, "sse"),
        (r#"{"mcpServers": {"a": {"command": ["x"]}}}"#, "no text"),
        (r#"{"mcpServers": {"a": {"command": "x", "args": "y"}}}"#, "list of text"),
        (r#"{"mcpServers": {"a": {"command": "x", "env": {"A": 1}}}}"#, "table of text"),
    ] {
        let found = read(text);
        assert!(
            found.proposed.is_empty() && found.problems.len() == 1 && found.problems[0].contains(why),
            "{text}: {found:?}"
        );
    }
    let nothing = ProjectServers::read(TempDir::new().unwrap().path());
    assert!(nothing.proposed.is_empty() && nothing.problems.is_empty());
}

#[cfg(unix)]
#[test]
fn links_and_large_files_are_not_read() {
    let dir = TempDir::new().unwrap();
    let other = dir.path().join("other.json");
    std::fs::write(&other, r#"{"mcpServers": {"a": {"command": "x"}}}"#).unwrap();
    std::os::unix::fs::symlink(&other, dir.path().join(PROJECT_FILE)).unwrap();
    let found = ProjectServers::read(dir.path());
    assert!(found.proposed.is_empty() && found.problems[0].contains("plain file"), "{found:?}");
    assert!(read(&" ".repeat(2 << 20)).problems[0].contains("larger"));
}

#[test]
fn a_definition_is_shown_without_what_can_not_be_seen() {
    let found = read("{\"mcpServers\": {\"a\": {\"command\": \"rm\u{202e}\", \"args\": [\"\\u001b[2J\"]}}}");
    let shown = &found.proposed[0].shown;
    assert!(!shown.contains('\u{202e}') && !shown.contains('\u{1b}'), "{shown:?}");
}

#[tokio::test]
async fn an_approved_definition_runs_in_the_workspace() {
    let script = json!({"tools": [tool("echo", "")]}).to_string();
    let own = child(&json!({}));
    let file = json!({"mcpServers": {"p": {"command": own.command.as_ref().unwrap().program(), "args": own.args, "env": {SCRIPT: script}}}});
    let proposed = read(&file.to_string()).proposed.remove(0);
    let stage =
        Stage::new([(proposed.name.as_str(), McpServer { startup_seconds: 60, ..proposed.definition })])
            .await;
    assert_eq!(stage.text("mcp__p__echo", json!({})).await, ("{}".to_owned(), false));
}
