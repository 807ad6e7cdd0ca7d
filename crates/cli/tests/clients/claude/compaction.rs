//! The client's own compactions, left to it.

use super::{SESSION, asked, runs};
use crate::kit::{Claude, Play, Stage, both_ways, confined, costs, says};
use throughline_testkit::playbook::body;
use throughline_testkit::{Answer, Playbook, Reply, Seen};

/// How the client asks for a summary.
const ASKS: &str = "CRITICAL: Respond with TEXT ONLY";

fn summary() -> Answer {
    says("<analysis>Much.</analysis>\n<summary>\n1. They count to three; MARK-77.\n</summary>")
}

#[test]
fn a_session_that_grows_too_large_is_compacted_by_the_client() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        let stopped = both_ways(Play {
            script: || {
                let turns: Vec<Reply> = vec![
                    runs("I look.", "echo one").into(),
                    costs(runs("", "echo two"), 70_000).into(),
                    runs("After it.", "echo three").into(),
                    says("We counted to three.").into(),
                ];
                Playbook::new().when(body(ASKS), summary()).when(|_: &Seen| true, turns)
            },
            act: |stage: &Stage| {
                // The least window that it takes.
                let small = [("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "100000")];
                let ran = stage.claude_with(&small, &asked("Count to three")).ok();
                assert_eq!(ran.event("result")["result"], "We counted to three.");
                assert!(ran.out.contains("compact_boundary"), "{}", ran.out);
                let after = String::from_utf8(stage.requests()[3].body.clone()).unwrap();
                assert!(after.contains("MARK-77"));
            },
        });
        assert_eq!(stopped.sessions().len(), 1, "it is the same conversation: {:?}", stopped.sessions());
    });
}

#[test]
fn a_session_is_compacted_when_the_user_says_so() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        let stopped = both_ways(Play {
            script: || {
                let turns: Vec<Reply> = vec![
                    runs("I look.", "echo one").into(),
                    says("There is one.").into(),
                    says("Still one.").into(),
                ];
                Playbook::new().when(body(ASKS), summary()).when(|_: &Seen| true, turns)
            },
            act: |stage: &Stage| {
                stage.claude(&asked("How many?")).ok();
                let ran = stage.claude(&["-p", "/compact keep the numbers", "-r", SESSION]).ok();
                assert!(ran.out.contains("compact_boundary"), "{}", ran.out);
                stage.claude(&["-p", "And now?", "-r", SESSION]).ok();
                assert!(String::from_utf8_lossy(&stage.requests()[3].body).contains("MARK-77"));
            },
        });
        assert_eq!(stopped.sessions().len(), 1, "{:?}", stopped.sessions());
    });
}
