//! Tools, and sessions that go on.

use super::{SESSION, asked, bash, runs};
use crate::kit::{AFTER_TWO, Claude, Play, Stage, both_ways, confined, says};
use serde_json::json;
use throughline_testkit::Playlist;

#[test]
fn tools_run_one_by_one_and_at_once() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        let stopped = both_ways(Play {
            script: || {
                Playlist::new()
                    .then(runs("I look.", "echo one; ls").thinking("What is here?"))
                    .then(runs("And both:", "echo two; touch two").call("Bash", bash(AFTER_TWO)))
                    .then(runs("One that fails:", "cat nowhere"))
                    .then(says("I change it.").call("Read", json!({ "file_path": "README.md" })))
                    .then(says("All is well."))
            },
            act: |stage: &Stage| {
                let ran = stage.claude(&asked("List the files")).ok();
                assert_eq!(ran.event("result")["result"], "All is well.");
                assert_eq!(stage.requests().len(), 5);
            },
        });
        let sessions = stopped.sessions();
        assert_eq!(sessions.len(), 1, "{sessions:?}");
        assert_eq!((&sessions[0]["turns"], &sessions[0]["prompt"]), (&json!(1), &json!("List the files")));
        assert!(sessions[0]["cwd"].as_str().unwrap().ends_with("/stage/work"), "{sessions:?}");
        let messages = stopped.messages(&sessions[0]);
        for said in
            ["List the files", "echo one; ls", "And both:", "three", "One that fails:", "All is well."]
        {
            assert!(
                messages.iter().any(|message| message.to_string().contains(said)),
                "{said}: {messages:#?}"
            );
        }
        assert_eq!(stopped.complaints, "");
    });
}

#[test]
fn files_are_written_and_changed() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        both_ways(Play {
            script: || {
                Playlist::new()
                    .then(says("New.").call(
                        "Write",
                        json!({ "file_path": "sum.py", "content": "def add(a, b):\n    return a - b\n" }),
                    ))
                    .then(says("Look.").call("Read", json!({ "file_path": "sum.py" })))
                    .then(says("Better.").call(
                        "Edit",
                        json!({ "file_path": "sum.py", "old_string": "a - b", "new_string": "a + b" }),
                    ))
                    .then(says("It adds."))
            },
            act: |stage: &Stage| {
                stage.claude(&asked("Write a sum")).ok();
                let written = std::fs::read_to_string(stage.work().join("sum.py")).unwrap();
                assert_eq!(written, "def add(a, b):\n    return a + b\n");
            },
        });
    });
}

#[test]
fn a_large_result_is_passed_on_or_kept_in_a_file() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        both_ways(Play {
            script: || {
                Playlist::new()
                    .then(runs("Nearly too long:", "seq -f 'line %05g of the log' 1 1200"))
                    .then(runs("Too long:", "seq -f 'line %05g of the log' 1 9000"))
                    .then(says("Much was said."))
            },
            act: |stage: &Stage| {
                stage.claude(&asked("Read the log")).ok();
                assert!(stage.requests()[2].body.len() > stage.requests()[0].body.len() + 25_000);
            },
        });
    });
}

#[test]
fn a_session_is_resumed_and_forked() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        let stopped = both_ways(Play {
            script: || {
                Playlist::new()
                    .then(runs("I look.", "echo one"))
                    .then(says("There is one."))
                    .then(runs("Again.", "echo two"))
                    .then(says("There are two."))
                    .then(says("Elsewhere it is three."))
            },
            act: |stage: &Stage| {
                stage.claude(&asked("How many are there?")).ok();
                stage.claude(&["-p", "And now?", "-r", SESSION]).ok();
                let forked = stage.claude(&["-p", "And elsewhere?", "-r", SESSION, "--fork-session"]).ok();
                assert_eq!(forked.event("result")["result"], "Elsewhere it is three.");
                assert_ne!(forked.event("result")["session_id"], SESSION);
            },
        });
        let sessions = stopped.sessions();
        assert_eq!(sessions.len(), 2, "a fork is a session of its own: {sessions:?}");
        for session in &sessions {
            assert_eq!(session["client"], "claude");
            let messages = format!("{:?}", stopped.messages(session));
            assert!(
                messages.contains("How many are there?") && messages.contains("There is one."),
                "{messages}"
            );
        }
    });
}
