//! Claude Code.

use crate::kit::{Claude, Play, Stage, both_ways, confined, says};
use serde_json::{Value, json};
use throughline_testkit::Playlist;

const SESSION: &str = "6d0a1d70-5f0e-4c58-9d0b-0a5b3a1c0001";

fn bash(command: &str) -> Value {
    json!({ "command": command, "description": "Look" })
}

/// Results come in the order in which the commands end.
const AFTER_TWO: &str = "until [ -e two ]; do sleep 0.05; done; sleep 0.3; echo three";

#[test]
fn tools_run_one_by_one_and_at_once() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        let stopped = both_ways(Play {
            script: || {
                Playlist::new()
                    .then(says("I look.").thinking("What is here?").call("Bash", bash("echo one; ls")))
                    .then(
                        says("And both:")
                            .call("Bash", bash("echo two; touch two"))
                            .call("Bash", bash(AFTER_TWO)),
                    )
                    .then(says("All is well."))
            },
            act: |stage: &Stage| {
                let ran = stage.claude(&["-p", "List the files", "--session-id", SESSION]).ok();
                assert_eq!(ran.event("result")["result"], "All is well.");
                assert_eq!(stage.requests().len(), 3);
            },
        });
        let sessions = stopped.sessions();
        assert_eq!(sessions.len(), 1, "{sessions:?}");
        assert_eq!(stopped.complaints, "");
    });
}
