//! Other shapes of what it sends and takes.

use super::{SESSION, asked, bash, runs};
use crate::kit::{Claude, FAITHFUL, Play, Stage, as_directly, both_ways, confined, says};
use serde_json::json;
use throughline_testkit::{Coding, Playlist};

#[test]
fn answers_come_compressed() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        let play = Play {
            script: || {
                Playlist::new()
                    .then(runs("I look.", "echo one").compressed(Coding::Gzip))
                    .then(runs("And again.", "echo two").compressed(Coding::Brotli))
                    .then(says("There are two.").compressed(Coding::Zstd))
            },
            act: |stage: &Stage| {
                let ran = stage.claude(&asked("How many are there?")).ok();
                assert_eq!(ran.event("result")["result"], "There are two.");
                let accepted = stage.requests()[0].header("accept-encoding").unwrap_or_default().to_owned();
                assert!(["gzip", "br", "zstd"].iter().all(|coding| accepted.contains(coding)), "{accepted}");
            },
        };
        let stopped = as_directly(&[FAITHFUL], play);
        assert_eq!(stopped.complaints, "");
    });
}

#[test]
fn a_model_that_takes_no_system_messages_is_asked_in_another_shape() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        let stopped = both_ways(Play {
            script: || {
                Playlist::new()
                    .then(runs("I look.", "echo one").thinking("What is here?"))
                    .then(says("Both:").call("Bash", bash("echo two")))
                    .then(says("There are two."))
            },
            act: |stage: &Stage| {
                let asked = ["-p", "How many?", "--session-id", SESSION, "--model", "claude-sonnet-4-5"];
                stage.claude(&asked).ok();
                assert_eq!(stage.requests()[0].model(), "claude-sonnet-4-5");
            },
        });
        assert_eq!(stopped.sessions().len(), 1, "{:?}", stopped.sessions());
    });
}

#[test]
fn a_model_with_few_tools_and_a_short_prompt_is_asked() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        both_ways(Play {
            script: || Playlist::new().then(runs("I look.", "echo one")).then(says("There is one.")),
            act: |stage: &Stage| {
                stage.claude(&["--bare", "-p", "How many?", "--session-id", SESSION]).ok();
            },
        });
    });
}

#[test]
fn tokens_are_counted_for_what_it_shows_of_its_context() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        both_ways(Play {
            script: || Playlist::new().then(says("Good day.")),
            act: |stage: &Stage| {
                stage.claude(&asked("Good day")).ok();
                stage.claude(&["-p", "/context", "-r", SESSION]).ok();
                let counted =
                    stage.requests().iter().filter(|seen| seen.path.ends_with("count_tokens")).count();
                assert!(counted > 5, "{counted}");
            },
        });
    });
}

#[test]
fn tools_of_others_are_found_and_called() {
    const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/claude/echo_mcp.py");
    confined(|| {
        let Some(_) = Claude::find() else { return };
        both_ways(Play {
            script: || {
                Playlist::new()
                    .then(
                        says("Is there one?")
                            .call("ToolSearch", json!({ "query": "select:mcp__echo__echo" })),
                    )
                    .then(says("There is.").call("mcp__echo__echo", json!({ "text": "hello" })))
                    .then(says("It says hello."))
            },
            act: |stage: &Stage| {
                let config = json!({ "mcpServers": { "echo": { "command": "python3", "args": [SERVER] } } });
                let config = config.to_string();
                stage.claude(&["-p", "Say hello", "--session-id", SESSION, "--mcp-config", &config]).ok();
                let last = String::from_utf8_lossy(&stage.requests()[2].body).into_owned();
                assert!(last.contains("echo: hello"), "{last}");
            },
        });
    });
}
