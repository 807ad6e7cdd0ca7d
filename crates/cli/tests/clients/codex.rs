//! Codex.

use crate::kit::{Codex, Play, Stage, both_ways, confined, says};
use serde_json::{Value, json};
use throughline_testkit::Playlist;

fn exec(command: &str) -> Value {
    json!({ "cmd": command, "yield_time_ms": 1000 })
}

/// Results come in the order in which the commands end.
const AFTER_TWO: &str = "until [ -e two ]; do sleep 0.05; done; sleep 0.3; echo three";

#[test]
fn tools_run_one_by_one_and_at_once() {
    confined(|| {
        let Some(_) = Codex::find() else { return };
        let stopped = both_ways(Play {
            script: || {
                Playlist::new()
                    .then(
                        says("I look.").thinking("What is here?").call("exec_command", exec("echo one; ls")),
                    )
                    .then(
                        says("And both:")
                            .call("exec_command", exec("echo two; touch two"))
                            .call("exec_command", exec(AFTER_TWO)),
                    )
                    .then(says("All is well."))
            },
            act: |stage: &Stage| {
                let ran = stage.codex(&[], &["List the files"]).ok();
                assert!(ran.out.contains("All is well."), "{}", ran.out);
                assert_eq!(stage.requests().len(), 3);
            },
        });
        assert_eq!(stopped.sessions().len(), 1, "{:?}", stopped.sessions());
        assert_eq!(stopped.complaints, "");
    });
}
