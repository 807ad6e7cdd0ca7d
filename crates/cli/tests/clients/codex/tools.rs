//! Tools, and sessions that go on.

use super::{exec, runs, thread};
use crate::kit::{AFTER_TWO, Codex, Play, Stage, both_ways, confined, says};
use serde_json::json;
use throughline_testkit::Playlist;

#[test]
fn tools_run_one_by_one_and_at_once() {
    confined(|| {
        let Some(_) = Codex::find() else { return };
        let stopped = both_ways(Play {
            script: || {
                Playlist::new()
                    .then(runs("I look.", "echo one; ls").thinking("What is here?"))
                    .then(runs("And both:", "echo two; touch two").call("exec_command", exec(AFTER_TWO)))
                    .then(runs("One that fails:", "cat nowhere"))
                    .then(says("All is well."))
            },
            act: |stage: &Stage| {
                let ran = stage.codex(&[], &["List the files"]).ok();
                assert!(ran.out.contains("All is well."), "{}", ran.out);
                assert_eq!(stage.requests().len(), 4);
            },
        });
        let sessions = stopped.sessions();
        assert_eq!(sessions.len(), 1, "{sessions:?}");
        assert_eq!((&sessions[0]["turns"], &sessions[0]["prompt"]), (&json!(1), &json!("List the files")));
        assert!(sessions[0]["cwd"].as_str().unwrap().ends_with("/stage/work"), "{sessions:?}");
        let messages = format!("{:?}", stopped.messages(&sessions[0]));
        for said in
            ["List the files", "echo one; ls", "And both:", "three", "One that fails:", "All is well."]
        {
            assert!(messages.contains(said), "{said}: {messages}");
        }
        assert_eq!(stopped.complaints, "");
    });
}

#[test]
fn a_patch_is_applied() {
    const PATCH: &str =
        "*** Begin Patch\n*** Add File: sum.py\n+def add(a, b):\n+    return a + b\n*** End Patch\n";
    confined(|| {
        let Some(_) = Codex::find() else { return };
        both_ways(Play {
            script: || {
                Playlist::new().then(says("New.").free_call("apply_patch", PATCH)).then(says("It adds."))
            },
            act: |stage: &Stage| {
                stage.codex(&[], &["Write a sum"]).ok();
                let written = std::fs::read_to_string(stage.work().join("sum.py")).unwrap();
                assert_eq!(written, "def add(a, b):\n    return a + b\n");
            },
        });
    });
}

#[test]
fn a_large_result_is_passed_on_as_far_as_the_client_does() {
    confined(|| {
        let Some(_) = Codex::find() else { return };
        both_ways(Play {
            script: || {
                Playlist::new()
                    .then(runs("Long:", "seq -f 'line %05g of the log' 1 1200"))
                    .then(runs("Too long:", "seq -f 'line %05g of the log' 1 9000"))
                    .then(says("Much was said."))
            },
            act: |stage: &Stage| {
                stage.codex(&[], &["Read the log"]).ok();
                assert!(stage.requests()[2].body.len() > stage.requests()[0].body.len() + 50_000);
            },
        });
    });
}

#[test]
fn a_session_is_resumed_and_forked() {
    confined(|| {
        let Some(_) = Codex::find() else { return };
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
                let first = stage.codex(&[], &["How many are there?"]).ok();
                let id = thread(&first);
                let again = stage.codex(&[], &["resume", &id, "And now?"]).ok();
                assert!(again.out.contains("There are two."), "{}", again.out);
                let forked = stage.codex(&[], &["fork", &id, "And elsewhere?"]).ok();
                assert!(forked.out.contains("Elsewhere it is three."), "{}{}", forked.out, forked.err);
                assert_ne!(thread(&forked), id);
            },
        });
        let sessions = stopped.sessions();
        assert_eq!(sessions.len(), 2, "a fork is a session of its own: {sessions:?}");
        for session in &sessions {
            assert_eq!(session["client"], "codex");
            let messages = format!("{:?}", stopped.messages(session));
            assert!(
                messages.contains("How many are there?") && messages.contains("There is one."),
                "{messages}"
            );
        }
    });
}
