//! `memory why`: where a memory comes from; `memory tool`: what an agent wrote is known as such.

use crate::memory::{Room, has_git};
use serde_json::{Value, json};
use std::fs;

#[test]
fn why_tells_who_said_it_how_often_it_helped_and_what_became_of_it() {
    if !has_git() {
        return;
    }
    let room = Room::new();
    let old = room.add(&["Deploys go out on Mondays"]);
    let id = room.add(&[
        "--replaces",
        &old,
        "--anchor",
        "path:src/a.rs",
        "--anchor",
        "symbol:src/a.rs#gone",
        "Deploys go out on Tuesdays since the outage",
    ]);
    room.text(&["confirm", &id]);
    let at = "2026-01-02T03:04:05Z";
    let uses =
        [("shown", Some("s-1")), ("shown", Some("s-2")), ("used", Some("s-2"))].map(|(what, session)| {
            json!({ "at": at, "session": session, "file": id, "what": what }).to_string() + "\n"
        });
    fs::write(room.folder().join(".throughline/usage.jsonl"), uses.concat()).unwrap();
    let why = room.json(&["why", &id]);
    assert_eq!(why["evidence"], 2);
    assert_eq!((&why["uses"]["shown"], &why["uses"]["used"]), (&json!(2), &json!(1)));
    assert_eq!(why["recent"].as_array().unwrap().len(), 3);
    assert_eq!(why["supersedes"], json!([old]));
    assert_eq!(why["sources"][0]["quote"], "Deploys go out on Tuesdays since the outage");
    assert_eq!(why["anchors"][0], json!({ "anchor": "path:src/a.rs", "gone": null }));
    assert!(why["anchors"][1]["gone"].as_str().unwrap().contains("gone is not in src/a.rs"), "{why}");
    let kinds: Vec<&str> =
        why["history"].as_array().unwrap().iter().map(|c| c["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["confirm", "supersede"]);
    let text = room.text(&["why", &id]);
    for part in [
        "A person wrote it down",
        "“Deploys go out on Tuesdays since the outage”",
        "A person confirmed it",
        "Shown to a model: twice, last",
        "Used in an answer: once",
        "used in session s-2",
        "What it took the place of",
        &old,
        "Supersede",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let of_old = room.text(&["why", &old]);
    assert!(of_old.contains("Another memory says it now") && of_old.contains(&id), "{of_old}");
}

#[test]
fn the_session_that_said_it_is_named() {
    let room = Room::new();
    room.add(&["Never push on Fridays"]);
    let source = |session: &str| {
        format!(
            "    - by: user\n      session: {session}\n      messages: [m-1]\n      at: 2026-01-02T03:04:05Z\n      quote: Tabs, please.\n"
        )
    };
    let sources = source("0000-not-here");
    room.put(
        "feedback_tabs.md",
        &format!(
            "name: Tabs\ndescription: Use tabs\ntype: feedback\nmetadata:\n  evidence: 7\n  sources:\n{}",
            sources.trim_end()
        ),
        "Use tabs.",
    );
    let text = room.text(&["why", "feedback_tabs.md"]);
    for part in [
        "The user said it",
        "session 0000-not-here (not on this machine)",
        "message m-1",
        "“Tabs, please.”",
        "Said 7 times in all",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn the_memory_tool_answers_line_by_line() {
    let room = Room::new();
    let calls = concat!(
        "{\"command\":\"create\",\"path\":\"/memories/notes.md\",\"file_text\":\"Builds need Java 21.\"}\n",
        "\n",
        "no json\n",
        "{\"command\":\"view\",\"path\":\"/memories/notes.md\"}\n",
        "{\"command\":\"view\",\"path\":\"/memories/../../etc/passwd\"}\n",
        "{\"command\":\"delete\",\"path\":\"/memories/notes.md\"}",
    );
    let output = room.command(&["tool", "--session", "s-9"]).write_stdin(calls).output().unwrap();
    assert!(output.status.success());
    let answers: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let errors: Vec<bool> = answers.iter().map(|answer| answer["is_error"].as_bool().unwrap()).collect();
    assert_eq!(errors, [false, true, false, true, false]);
    assert!(answers[2]["content"].as_str().unwrap().contains("Builds need Java 21."));
    let create =
        "{\"command\":\"create\",\"path\":\"/memories/notes.md\",\"file_text\":\"Builds need Java 21.\"}";
    room.command(&["tool", "--session", "s-9"]).write_stdin(create).assert().success();
    let source = &room.json(&["why", "notes.md"])["sources"][0];
    assert_eq!((&source["by"], &source["session"]), (&json!("agent"), &json!("s-9")));
}
