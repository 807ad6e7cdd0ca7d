//! `skillify`: a session becomes a skill.

use crate::common::{LONG, Machine};
use std::fs;
use throughline_testkit::{Answer, Server};

const SKILL: &str = "---\nname: fix-retries\ndescription: Fixes retry loops. Use when uploads are retried for ever.\n---\n# Fix retries\n1. Run `cargo test`.\n";

#[test]
fn n7_a_session_becomes_a_skill_offline() {
    let machine = Machine::with_samples();
    let printed = machine.text(&["skillify", LONG]);
    assert!(printed.starts_with("---\nname: "), "{printed}");
    assert!(printed.contains("\ndescription: ") && printed.contains("## When to use"), "{printed}");

    let file = machine.dir.path().join("skills/again/SKILL.md");
    let path = file.to_string_lossy();
    let told = machine.text(&["skillify", LONG, "--out", &path]);
    assert!(told.contains("Wrote the skill"), "{told}");
    assert_eq!(fs::read_to_string(&file).unwrap().trim_end(), printed.trim_end());
    let error = machine.error(&["skillify", LONG, "--out", &path]);
    assert!(error.contains("exists already"), "{error}");

    let json = machine.json(&["skillify", LONG]);
    assert_eq!(json["scribe"], "offline");
    assert!(printed.contains(json["skill"]["name"].as_str().unwrap()), "{json}");
    assert!(machine.error(&["skillify", "nothing-there"]).contains("nothing-there"));
}

#[test]
fn n7_a_model_is_given_notes_and_words() {
    let server = Server::start(Answer::text(SKILL)).unwrap();
    let machine = Machine::with_samples();
    let output = machine
        .command()
        .env("ANTHROPIC_API_KEY", "sk-test")
        .env("ANTHROPIC_BASE_URL", server.url())
        .env("ANTHROPIC_MODEL", "claude-haiku-4-5")
        .args(["skillify", LONG, "--scribe", "model", "--request", "only the retries", "--json"])
        .assert()
        .success();
    let json: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(
        (json["scribe"].as_str(), json["skill"]["name"].as_str()),
        (Some("model"), Some("fix-retries"))
    );
    let asked = server.requests()[0].last_user_text();
    assert!(asked.contains("only the retries") && asked.contains("<user_messages>"), "{asked}");
    assert_eq!(server.requests().len(), 1);
}
