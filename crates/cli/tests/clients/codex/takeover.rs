//! The client's compactions, answered by the proxy.

use super::{runs, thread};
use crate::kit::{Codex, Way, confined, costs, says, through};
use throughline_testkit::playbook::body;
use throughline_testkit::{Fault, Playbook, Reply, Seen};

const TAKE_OVER: &str = "[proxy]\ntake_over_compaction = true\n";
const SMALL: [&str; 1] = ["model_auto_compact_token_limit = 50000"];

/// A provider that is never asked for a summary, nor shown an item that it did not make.
fn provider() -> Playbook {
    let turns: Vec<Reply> = vec![
        runs("I look.", "echo one").into(),
        costs(runs("And again.", "echo two"), 60_000).into(),
        runs("After it.", "echo three").into(),
        says("We counted to three.").into(),
        says("Still three.").into(),
    ];
    Playbook::new()
        .when(body("CONTEXT CHECKPOINT COMPACTION"), Fault::Invalid)
        .when(body("compaction_trigger"), Fault::Invalid)
        .when(body("\"type\":\"compaction\""), Fault::Invalid)
        .when(|_: &Seen| true, turns)
}

fn is_answered_here(of: &str) {
    let Some(_) = Codex::find() else { return };
    let stopped = through(Way::Serve(TAKE_OVER), provider(), |stage| {
        let ran = stage.codex_of(of, &SMALL, &["Please count to three with echo"]).ok();
        assert!(ran.out.contains("We counted to three."), "{}", ran.out);
        assert!(stage.transcript().contains("\"type\":\"compacted\""), "the client condensed");
        assert_eq!((stage.heard().len(), stage.requests().len()), (5, 4), "and its provider was not asked");
        let after = String::from_utf8_lossy(&stage.requests()[2].body).into_owned();
        assert!(after.contains("count to three"), "what was asked is still known: {after}");
        let again = stage.codex_of(of, &SMALL, &["resume", &thread(&ran), "And now?"]).ok();
        assert!(again.out.contains("Still three."), "{}", again.out);
    });
    assert_eq!(stopped.sessions().len(), 1, "{:?}", stopped.sessions());
    assert_eq!(stopped.complaints, "");
}

#[test]
fn a_compaction_by_a_prompt_is_answered_by_the_proxy() {
    confined(|| is_answered_here("scripted"));
}

#[test]
fn a_compaction_by_a_trigger_is_answered_by_the_proxy() {
    confined(|| is_answered_here("OpenAI"));
}
