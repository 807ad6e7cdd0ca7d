//! The client's compactions, answered by the proxy.

use super::{SESSION, asked, runs};
use crate::kit::{Claude, Stage, Way, confined, costs, says, through};
use throughline_testkit::playbook::body;
use throughline_testkit::{Fault, Playbook, Reply, Seen};

const TAKE_OVER: &str = "[proxy]\ntake_over_compaction = true\n";

/// A provider that is never asked for a summary.
fn provider(turns: Vec<Reply>) -> Playbook {
    Playbook::new()
        .when(body("CRITICAL: Respond with TEXT ONLY"), Fault::Invalid)
        .when(|_: &Seen| true, turns)
}

/// The client condensed, and what it goes on with holds what was asked of it.
fn went_on_with_our_summary(stage: &Stage) {
    let seen = stage.requests();
    let asked =
        |seen: &&Seen| String::from_utf8_lossy(&seen.body).contains("CRITICAL: Respond with TEXT ONLY");
    assert_eq!(seen.iter().filter(asked).count(), 0, "the provider is not asked for a summary");
    let last = String::from_utf8_lossy(&stage.heard().last().unwrap().body).into_owned();
    assert!(last.contains("This session is being continued from a previous conversation"), "{last}");
    assert!(last.contains("count to three"), "the summary names what was asked: {last}");
}

#[test]
fn a_compaction_that_the_client_needs_is_answered_by_the_proxy() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        let script = provider(vec![
            runs("I look.", "echo one").into(),
            costs(runs("And again.", "echo two"), 70_000).into(),
            runs("After it.", "echo three").into(),
            says("We counted to three.").into(),
        ]);
        let stopped = through(Way::Serve(TAKE_OVER), script, |stage| {
            let small = [("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "100000")];
            let ran = stage.claude_with(&small, &asked("Please count to three with echo")).ok();
            assert_eq!(ran.event("result")["result"], "We counted to three.");
            assert!(ran.out.contains("compact_boundary"), "{}", ran.out);
            went_on_with_our_summary(stage);
        });
        assert_eq!(stopped.sessions().len(), 1, "{:?}", stopped.sessions());
        assert_eq!(stopped.complaints, "");
    });
}

#[test]
fn a_compaction_that_the_user_asks_for_is_answered_by_the_proxy() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        let script = provider(vec![
            runs("I look.", "echo one").into(),
            says("There is one.").into(),
            says("Still one.").into(),
        ]);
        through(Way::Serve(TAKE_OVER), script, |stage| {
            stage.claude(&asked("Please count to three with echo")).ok();
            let ran = stage.claude(&["-p", "/compact", "-r", SESSION]).ok();
            assert!(ran.out.contains("compact_boundary"), "{}", ran.out);
            let after = stage.claude(&["-p", "And now?", "-r", SESSION]).ok();
            assert_eq!(after.event("result")["result"], "Still one.");
            went_on_with_our_summary(stage);
        });
    });
}
