//! A session that came by way of the proxy and that the client keeps a transcript of: it is here once.

use crate::proxy_kit::{Serving, World, ask_as};
use serde_json::{Value, json};

const SESSION: &str = "5e551011-0000-4000-8000-0000000000aa";
const THREAD: &str = "019f0000-0000-7000-8000-00000000000b";
/// What the provider says to everything.
const ANSWER: &str = "Good day.";

fn message(role: &str, text: &str) -> Value {
    json!({"role": role, "content": [{"type": "text", "text": text}]})
}

/// The conversation so far, with another prompt.
fn history(prompts: &[&str]) -> Vec<Value> {
    let last = prompts.len() - 1;
    let turn = |(n, prompt): (usize, &&str)| {
        let answer = (n < last).then(|| message("assistant", ANSWER));
        [Some(message("user", prompt)), answer]
    };
    prompts.iter().enumerate().flat_map(turn).flatten().collect()
}

/// Claude Code asks through a proxy, prompt after prompt from the last `new` on.
fn claude_asks(world: &World, agent: Option<&str>, prompts: &[&str], new: usize) {
    let serving = Serving::start(world, &[]);
    for until in prompts.len() - new + 1..=prompts.len() {
        let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 32_000, "messages": history(&prompts[..until]),
            "system": format!("# Environment\n - Primary working directory: {}", world.machine.dir.path().display())});
        let mut headers = vec![("x-claude-code-session-id", SESSION), ("user-agent", "claude-cli/2.1.0")];
        headers.extend(agent.map(|agent| ("x-claude-code-agent-id", agent)));
        let (status, answer) = ask_as(&serving.address(), "/v1/messages", &headers, &body);
        assert_eq!(status, 200, "{answer}");
    }
    let (code, _, err) = serving.stop();
    assert_eq!(code, Some(0), "{err}");
}

/// Claude Code's own record of a conversation.
fn claude_writes(world: &World, agent: Option<&str>, prompts: &[&str]) {
    let uuid = |n: usize| format!("00000000-0000-4000-8000-{n:012}");
    let line = |(n, message): (usize, Value)| {
        json!({"parentUuid": n.checked_sub(1).map(uuid), "isSidechain": agent.is_some(), "agentId": agent,
            "sessionId": SESSION, "cwd": world.machine.dir.path(), "type": message["role"], "uuid": uuid(n),
            "timestamp": format!("2026-03-01T0{n}:00:00Z"), "message": message})
        .to_string()
            + "\n"
    };
    let said = history(prompts).into_iter().chain([message("assistant", ANSWER)]);
    let file = match agent {
        Some(agent) => format!(".claude/projects/p/{SESSION}/subagents/agent-{agent}.jsonl"),
        None => format!(".claude/projects/p/{SESSION}.jsonl"),
    };
    world.write(&file, &said.enumerate().map(line).collect::<String>());
}

fn json_of(world: &World, arguments: &[&str]) -> Value {
    let told = world.run(&[&["--json"], arguments].concat());
    assert_eq!(told.code, Some(0), "{}", told.err);
    serde_json::from_str(&told.out).unwrap()
}

/// What became of the files of an import.
fn outcomes(report: &Value) -> Vec<&str> {
    report["files"].as_array().unwrap().iter().map(|file| file["outcome"].as_str().unwrap()).collect()
}

/// The sessions that are listed: how many turns each has.
fn turns(world: &World, arguments: &[&str]) -> Vec<u64> {
    let listed = json_of(world, &[&["sessions", "list"], arguments].concat());
    listed["sessions"].as_array().unwrap().iter().map(|one| one["turns"].as_u64().unwrap()).collect()
}

#[test]
fn b10_a_session_that_came_by_way_of_the_proxy_is_not_imported_beside_itself() {
    let world = World::new();
    let prompts = ["Rename the harbour module.", "Now the docs."];
    claude_asks(&world, None, &prompts, 2);
    claude_asks(&world, Some("a0b1"), &["Look for harbours."], 1);
    claude_writes(&world, None, &prompts);
    claude_writes(&world, Some("a0b1"), &["Look for harbours."]);
    assert_eq!(turns(&world, &["--agents"]).len(), 2);

    let told = world.run(&["sessions", "import"]);
    let said =
        "2 sessions are here by way of the proxy already; `sessions import --again` imports them as copies";
    assert!(told.out.contains(said), "{}{}", told.out, told.err);
    let report = json_of(&world, &["sessions", "import"]);
    assert_eq!((outcomes(&report), &report["proxied"]), (vec!["proxied"; 2], &json!(2)));
    assert_ne!(report["files"][0]["proxied"], report["files"][0]["sessions"][0], "it says by which session");
    assert_eq!(turns(&world, &["--agents"]).len(), 2);

    let report = json_of(&world, &["sessions", "import", "--again"]);
    assert_eq!((outcomes(&report), &report["messages"]), (vec!["imported"; 2], &json!(6)));
    assert_eq!(turns(&world, &["--agents", "--copies"]).len(), 4);
    assert_eq!(turns(&world, &[]), [2]);
    let hits = json_of(&world, &["sessions", "search", "harbour", "--role", "user"]);
    let hits = hits["hits"].as_array().unwrap();
    assert_eq!(
        hits.iter().filter(|hit| hit["snippet"]["text"].as_str().unwrap().contains("Rename")).count(),
        1
    );
    // What is here twice stays as it is.
    assert_eq!(outcomes(&json_of(&world, &["sessions", "import"])), ["unchanged"; 2]);
}

#[test]
fn b10_what_was_said_without_the_proxy_is_imported_and_nothing_is_lost() {
    let world = World::new();
    let prompts = ["Rename the harbour module.", "Now the docs.", "And the changelog."];
    claude_asks(&world, None, &prompts[..1], 1);
    claude_writes(&world, None, &prompts[..2]);
    let report = json_of(&world, &["sessions", "import"]);
    assert_eq!((outcomes(&report), &report["messages"]), (vec!["imported"], &json!(4)));
    assert!(report["files"][0]["notes"][0].as_str().unwrap().contains("by way of the proxy"), "{report}");
    assert_eq!(turns(&world, &[]), [2], "the fuller one");
    assert_eq!(turns(&world, &["--copies"]).len(), 2);
    // It goes on through the proxy, which is sent what it has missed.
    claude_asks(&world, None, &prompts, 1);
    claude_writes(&world, None, &prompts);
    let report = json_of(&world, &["sessions", "import"]);
    assert_eq!((outcomes(&report), &report["messages"]), (vec!["proxied"], &json!(0)));
    assert_eq!(turns(&world, &[]), [3]);
}

#[test]
fn b10_a_session_that_was_imported_may_go_on_through_the_proxy() {
    let world = World::new();
    let prompts = ["Rename the harbour module.", "Now the docs.", "And the changelog."];
    claude_writes(&world, None, &prompts[..1]);
    assert_eq!(outcomes(&json_of(&world, &["sessions", "import"])), ["imported"]);
    claude_asks(&world, None, &prompts[..2], 1);
    claude_writes(&world, None, &prompts[..2]);
    assert_eq!(outcomes(&json_of(&world, &["sessions", "import"])), ["proxied"]);
    assert_eq!(turns(&world, &[]), [2]);
    // Without it again: what the ledger of the first import lacks comes too.
    claude_writes(&world, None, &prompts);
    let report = json_of(&world, &["sessions", "import"]);
    assert_eq!((outcomes(&report), &report["messages"]), (vec!["continued"], &json!(4)));
    assert_eq!(turns(&world, &[]), [3]);
}

#[test]
fn b10_a_rollout_of_codex_is_known_by_its_thread() {
    let world = World::new();
    let item = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    let said = [
        item("user", "input_text", "Rename the harbour module."),
        item("assistant", "output_text", ANSWER),
        item("user", "input_text", "Now the docs."),
    ];
    let serving = Serving::start(&world, &[]);
    // A sub-agent's session is that of its parent; its thread is its own.
    let headers = [("thread-id", THREAD), ("session-id", "another"), ("originator", "codex_exec")];
    for until in [1, 3] {
        let body = json!({"model": "gpt-5.5", "input": said[..until], "store": false});
        let (status, answer) = ask_as(&serving.address(), "/v1/responses", &headers, &body);
        assert_eq!(status, 200, "{answer}");
    }
    assert_eq!(serving.stop().0, Some(0));
    let line = |kind: &str, payload: &Value| {
        json!({"timestamp": "2026-03-01T08:00:00Z", "type": kind, "payload": payload}).to_string() + "\n"
    };
    let meta = json!({"id": THREAD, "session_id": "another", "timestamp": "2026-03-01T08:00:00Z", "cwd": "/nowhere"});
    let mut rollout = line("session_meta", &meta);
    rollout.extend(said.iter().map(|item| line("response_item", item)));
    let file = format!(".codex/sessions/2026/03/01/rollout-2026-03-01T08-00-00-{THREAD}.jsonl");
    world.write(&file, &rollout);
    assert_eq!(outcomes(&json_of(&world, &["sessions", "import"])), ["proxied"]);
    rollout += &line("response_item", &item("user", "input_text", "And the changelog."));
    world.write(&file, &rollout);
    assert_eq!(outcomes(&json_of(&world, &["sessions", "import"])), ["imported"]);
}
