//! Every fault at every trigger: the session goes on or says why not; nothing is lost; requests are bounded.

use super::{Stage, is_summary, long_words, runtime};
use crate::common::{WIRES, valid};
use throughline_core::{Message, Role};
use throughline_model::CancelToken;
use throughline_testkit::{Fault, Playbook};

/// Requests that one summary may take at the very most: behind the prefix, three without rounds, each repeated once,
/// and a second turn where the answer called a tool.
const MOST_REQUESTS: usize = 16;

#[test]
fn every_fault_of_a_summary_ends_in_a_view_that_is_small_and_valid() {
    for (at, (name, fault)) in Fault::all().into_iter().enumerate() {
        let wire = WIRES[at % WIRES.len()];
        let script = Playbook::new().when(is_summary, fault).otherwise("ok");
        let mut stage = Stage::new(wire, script);
        if name.starts_with("stall") {
            stage.idle_ms = 1_000;
        }
        runtime().block_on(async {
            let mut session = stage.open();
            for n in 0..3 {
                session.record(long_words(n)).unwrap();
                session.ask(None, CancelToken::new()).await.unwrap();
            }
            let before = stage.server.requests().len();
            let pass = session.compact_now(None).await.unwrap();
            assert!(pass.changed(), "{name}: {:?}", pass.notices);
            assert!(stage.server.requests().len() - before <= MOST_REQUESTS, "{name}");
            session.record(Message::text(Role::User, "go on")).unwrap();
            let answer = session.ask(None, CancelToken::new()).await;
            assert!(answer.is_ok(), "{name}: {:?}", answer.err());
            let body = session.prepare().await.unwrap().body;
            valid(wire, &body);
            assert!(String::from_utf8_lossy(&body).contains("Never touch Cargo.lock"), "{name}");
        });
    }
}
