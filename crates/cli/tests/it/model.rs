//! Commands that ask a model, on a scripted one; and the configuration that names it.

use crate::common::{LONG, Machine};
use std::fs;
use throughline_testkit::{Answer, Fault, Server};

const SUMMARY: &str = "<analysis>x</analysis><summary>The retry loop in upload.rs is being fixed.</summary>";

#[test]
fn compact_by_a_model_of_the_usual_variables() {
    let server = Server::start(Answer::text(SUMMARY)).unwrap();
    let machine = Machine::with_samples();
    let output = machine
        .command()
        .env("OPENAI_API_KEY", "sk-test")
        .env("OPENAI_BASE_URL", format!("{}/v1", server.url()))
        .env("OPENAI_MODEL", "gpt-5")
        .args(["compact", LONG, "--scribe", "model", "--strategy", "handoff", "--json"])
        .assert()
        .success();
    let json: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(json["scribe"]["model"], "gpt-5");
    let text = json["messages"].to_string();
    assert!(text.contains("The retry loop in upload.rs is being fixed."), "{text}");
    assert!(!text.contains("analysis"), "{text}");
    assert_eq!(server.requests().len(), 1);
    assert_eq!(server.requests()[0].header("authorization"), Some("Bearer sk-test"));
}

#[test]
fn compact_by_the_scribe_of_the_configuration() {
    let server = Server::start(Answer::text(SUMMARY)).unwrap();
    let machine = Machine::with_samples();
    let config = format!(
        "[scribe]\nuse = \"own\"\nwire = \"chat\"\nmodel = \"small\"\nname = \"local\"\nbase_url = \"{}\"\n",
        server.url()
    );
    fs::write(machine.dir.path().join("throughline/config.toml"), config).unwrap();
    let json = machine.json(&["compact", LONG, "--scribe", "model", "--strategy", "summary"]);
    assert_eq!(json["scribe"]["model"], "small");
    assert_eq!(server.requests()[0].path, "/v1/chat/completions");
}

#[test]
fn a_model_that_fails_says_so_and_changes_nothing() {
    let server = Server::start(Fault::Unauthorized).unwrap();
    let machine = Machine::with_samples();
    let before = machine.text(&["sessions", "show", LONG, "--view"]);
    let output = machine
        .command()
        .env("ANTHROPIC_API_KEY", "sk-secret-1")
        .env("ANTHROPIC_BASE_URL", server.url())
        .env("ANTHROPIC_MODEL", "claude-sonnet-4-5")
        .args(["compact", LONG, "--scribe", "model", "--apply"])
        .assert()
        .failure();
    let error = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(
        error.contains("claude-sonnet-4-5 wrote no summary") && !error.contains("sk-secret-1"),
        "{error}"
    );
    assert_eq!(machine.text(&["sessions", "show", LONG, "--view"]), before);
}

#[test]
fn config_tells_what_is_set_and_by_whom() {
    let machine = Machine::with_samples();
    assert!(machine.text(&["config"]).contains("as built in"));
    let file = machine.dir.path().join("throughline/config.toml");
    fs::write(&file, "profile = \"mine\"\n[profiles.mine]\nbase = \"claude\"\n[notes]\ntool_calls = 7\n")
        .unwrap();
    let set = machine.text(&["config"]);
    assert!(set.contains("notes.tool_calls = 7") && set.contains("config.toml"), "{set}");
    assert!(machine.text(&["config", "governor"]).contains("governor.daily_dollars"));
    assert!(machine.error(&["config", "no.such.key"]).contains("--all"));
    // Commands know the profile.
    let summary = machine.json(&["replay", LONG, "--profile", "mine", "--no-judge"]);
    assert!(summary["profiles"].to_string().contains("mine"));
    fs::write(&file, "[notes]\ntool_cals = 7\n").unwrap();
    let error = machine.error(&["config"]);
    assert!(error.contains("config.toml") && error.contains('2') && error.contains("tool_calls"), "{error}");
}
