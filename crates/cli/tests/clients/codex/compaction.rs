//! The client's own compactions, left to it.

use super::{runs, thread};
use crate::kit::{Codex, Play, Stage, both_ways, confined, costs, says};
use serde_json::json;
use throughline_testkit::playbook::body;
use throughline_testkit::{Answer, Playbook, Reply, Seen};

const SMALL: [&str; 1] = ["model_auto_compact_token_limit = 50000"];

fn turns() -> Vec<Reply> {
    vec![
        runs("I look.", "echo one").into(),
        costs(runs("And again.", "echo two"), 60_000).into(),
        runs("After it.", "echo three").into(),
        says("We counted to three.").into(),
        says("Still three.").into(),
    ]
}

#[test]
fn a_session_that_grows_too_large_is_compacted_by_a_prompt() {
    confined(|| {
        let Some(_) = Codex::find() else { return };
        let stopped = both_ways(Play {
            script: || {
                let asks = body("CONTEXT CHECKPOINT COMPACTION");
                Playbook::new().when(asks, says("They count; MARK-55.")).when(|_: &Seen| true, turns())
            },
            act: |stage: &Stage| {
                let ran = stage.codex(&SMALL, &["Count to three"]).ok();
                assert!(ran.out.contains("We counted to three."), "{}", ran.out);
                assert_eq!(stage.requests().len(), 5);
                assert!(String::from_utf8_lossy(&stage.requests()[3].body).contains("MARK-55"));
                stage.codex(&SMALL, &["resume", &thread(&ran), "And now?"]).ok();
            },
        });
        assert_eq!(stopped.sessions().len(), 1, "it is the same conversation: {:?}", stopped.sessions());
    });
}

#[test]
fn a_session_that_grows_too_large_is_compacted_by_the_provider() {
    confined(|| {
        let Some(_) = Codex::find() else { return };
        let stopped = both_ways(Play {
            script: || {
                let blob = json!({ "type": "compaction", "encrypted_content": "c2VhbGVkLU1BUks1NQ==" });
                let blob = costs(Answer::empty().raw(blob), 60_000);
                Playbook::new().when(body("compaction_trigger"), blob).when(|_: &Seen| true, turns())
            },
            act: |stage: &Stage| {
                let ran = stage.codex_of("OpenAI", &SMALL, &["Count to three"]).ok();
                assert!(ran.out.contains("We counted to three."), "{}", ran.out);
                assert_eq!(stage.requests().len(), 5);
                let after = stage.requests()[3].json()["input"].to_string();
                assert!(
                    after.contains("c2VhbGVkLU1BUks1NQ==") && !after.contains("compaction_trigger"),
                    "{after}"
                );
            },
        });
        assert_eq!(stopped.sessions().len(), 1, "{:?}", stopped.sessions());
    });
}
