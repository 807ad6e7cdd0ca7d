//! `throughline run -- claude` and `run -- codex`: the same agent.

use crate::kit::{Claude, Codex, Play, Stage, Way, as_directly, confined, says};
use serde_json::{Value, json};
use throughline_testkit::Playlist;

/// What it came to.
fn summary(stage: &Stage) -> Option<Value> {
    std::fs::read(stage.summary()).ok().map(|bytes| serde_json::from_slice(&bytes).unwrap())
}

#[test]
fn claude_is_the_same_when_throughline_starts_it() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        let stopped = as_directly(
            &[Way::Run],
            Play {
                script: || {
                    let input = json!({ "command": "echo one", "description": "Look" });
                    Playlist::new().then(says("I look.").call("Bash", input)).then(says("There is one."))
                },
                act: |stage: &Stage| {
                    let session = "6d0a1d70-5f0e-4c58-9d0b-0a5b3a1c0001";
                    let ran = stage.claude(&["-p", "How many are there?", "--session-id", session]).ok();
                    assert_eq!(ran.event("result")["result"], "There is one.");
                    if let Some(summary) = summary(stage) {
                        assert_eq!(summary["figures"]["requests"], 2, "{summary}");
                        assert_eq!(summary["exit_status"], 0, "{summary}");
                    }
                },
            },
        );
        assert_eq!(stopped.sessions().len(), 1, "{:?}", stopped.sessions());
    });
}

#[test]
fn codex_is_the_same_when_throughline_starts_it() {
    confined(|| {
        let Some(_) = Codex::find() else { return };
        let stopped = as_directly(
            &[Way::Run],
            Play {
                script: || {
                    let input = json!({ "cmd": "echo one", "yield_time_ms": 10000 });
                    Playlist::new()
                        .then(says("I look.").call("exec_command", input))
                        .then(says("There is one."))
                },
                act: |stage: &Stage| {
                    let ran = stage.codex(&[], &["How many are there?"]).ok();
                    assert!(ran.out.contains("There is one."), "{}", ran.out);
                    if let Some(summary) = summary(stage) {
                        assert_eq!(summary["figures"]["requests"], 2, "{summary}");
                        assert_eq!(summary["exit_status"], 0, "{summary}");
                    }
                },
            },
        );
        assert_eq!(stopped.sessions().len(), 1, "{:?}", stopped.sessions());
    });
}
