//! What a person does with an open session: go back, undo, pin, stop it.

use super::{Stage, long_words, obliging, runtime};
use crate::common::{WIRES, valid};
use serde_json::json;
use throughline_core::{Message, MessageId, Role, Wire};
use throughline_engine::session::{Session, SessionError};
use throughline_model::{CancelToken, ModelError};
use throughline_testkit::{Answer, Gate, Playbook, Wording};

async fn turn(session: &mut Session, words: Message) -> MessageId {
    let id = session.record(words).unwrap();
    session.ask(None, CancelToken::new()).await.unwrap();
    session.after_turn().await.unwrap();
    id
}

fn shown(session: &Session) -> Vec<String> {
    session.pipeline().view().messages().map(|message| message.to_text()).collect()
}

/// Turns until the view was replaced; the ids of the user's messages.
async fn until_compacted(session: &mut Session) -> Vec<MessageId> {
    let mut said = Vec::new();
    for n in 0..40 {
        said.push(turn(session, long_words(n)).await);
        if session.changes().iter().any(|change| change.compacted.is_some()) {
            return said;
        }
    }
    panic!("the view was never replaced");
}

#[test]
fn a_rewind_takes_a_message_and_what_followed_out_and_undo_brings_it_back() {
    let stage = Stage::new(WIRES[0], obliging());
    runtime().block_on(async {
        let mut session = stage.open();
        turn(&mut session, Message::text(Role::User, "one")).await;
        let second = turn(&mut session, Message::text(Role::User, "two")).await;
        let before = shown(&session);
        session.rewind(&second).unwrap();
        assert_eq!(shown(&session), ["one", "I looked at it."]);
        let ledger = session.path().to_owned();
        let what = session.undo().unwrap().unwrap();
        assert!(what.contains("went back"), "{what}");
        assert_eq!(shown(&session), before);
        session.rewind(&second).unwrap();
        turn(&mut session, Message::text(Role::User, "other")).await;
        let now = shown(&session);
        drop(session);
        assert_eq!(shown(&stage.resume(&ledger)), now);
    });
}

#[test]
fn a_rewind_reaches_behind_a_compaction() {
    let stage = Stage::new(WIRES[0], obliging());
    runtime().block_on(async {
        let mut session = stage.open();
        let said = until_compacted(&mut session).await;
        let first = &said[1];
        assert!(!session.pipeline().view().entries().iter().any(|entry| entry.message.id == *first));
        session.rewind(first).unwrap();
        assert_eq!(session.user_messages().iter().map(|m| m.id.clone()).collect::<Vec<_>>(), said[..1]);
        let body = session.prepare().await.unwrap().body;
        assert_eq!(valid(stage.wire, &body).len(), 2);
        let ledger = session.path().to_owned();
        let now = shown(&session);
        drop(session);
        let mut again = stage.resume(&ledger);
        assert_eq!(shown(&again), now);
        // Back to where it was.
        again.undo().unwrap();
        assert!(again.pipeline().view().entries().iter().any(|entry| entry.message.flags.summary));
    });
}

#[test]
fn what_is_pinned_is_kept_by_compactions_and_after_resuming() {
    for wire in WIRES {
        let stage = Stage::new(wire, obliging());
        runtime().block_on(async {
            let mut session = stage.open();
            let pinned =
                turn(&mut session, Message::text(Role::User, "The port is 4711, remember it.")).await;
            session.pin(&pinned, true).unwrap();
            until_compacted(&mut session).await;
            let is_there = |session: &Session| {
                session
                    .pipeline()
                    .view()
                    .entries()
                    .iter()
                    .any(|entry| entry.message.id == pinned && entry.pinned.is_some())
            };
            assert!(is_there(&session), "{wire:?}");
            let ledger = session.path().to_owned();
            drop(session);
            let mut again = stage.resume(&ledger);
            assert!(is_there(&again), "{wire:?}: after resuming");
            let body = again.prepare().await.unwrap().body;
            valid(wire, &body);
            assert_eq!(again.window_use().pinned, 1);
            again.pin(&pinned, false).unwrap();
            assert!(!is_there(&again));
        });
    }
}

#[test]
fn a_turn_that_is_stopped_leaves_a_valid_history() {
    for wire in WIRES {
        let gate = Gate::new();
        let script = Playbook::new()
            .once(
                |_: &throughline_testkit::Seen| true,
                Answer::text("I look.").call("Bash", json!({"command": "ls"})),
            )
            .otherwise(Answer::text("Slowly then.").at(&gate));
        let stage = Stage::new(wire, script);
        runtime().block_on(async {
            let mut session = stage.open();
            session.record(Message::text(Role::User, "list the files")).unwrap();
            session.ask(None, CancelToken::new()).await.unwrap();
            assert_eq!(session.open_calls().len(), 1);
            // Between the answer and the tools.
            session.interrupt(None).unwrap();
            assert_eq!(session.open_calls().len(), 0);
            let body = session.prepare().await.unwrap().body;
            valid(wire, &body);
            assert!(String::from_utf8_lossy(&body).contains("<turn_aborted>"));
            // While the model speaks.
            session.record(Message::text(Role::User, "again")).unwrap();
            let cancel = CancelToken::new();
            cancel.cancel();
            let error = session.ask(None, cancel).await.unwrap_err();
            let SessionError::Model(error @ ModelError::Cancelled { .. }) = error else { panic!("{error}") };
            session.interrupt(error.partial()).unwrap();
            let body = session.prepare().await.unwrap().body;
            valid(wire, &body);
            gate.open();
        });
    }
}

#[test]
fn a_window_that_was_learnt_is_known_after_resuming() {
    let wording = Wording::ALL[0];
    let refuses = throughline_testkit::Window { limit: 2_500, wording, script: obliging() };
    let mut stage = Stage::new(Wire::Anthropic, refuses);
    stage.settings.window = Some(20_000);
    runtime().block_on(async {
        let mut session = stage.open();
        for n in 0..6 {
            turn(&mut session, long_words(n)).await;
        }
        let learnt = session.pipeline().settings().window;
        assert!(learnt < 20_000, "{learnt}");
        let ledger = session.path().to_owned();
        let spent = session.spent();
        drop(session);
        let again = stage.resume(&ledger);
        assert_eq!(again.pipeline().settings().window, learnt);
        assert_eq!(again.spent(), spent);
    });
}

#[test]
fn results_that_come_one_by_one_are_one_message_for_the_provider() {
    let script = Answer::text("I look.")
        .call("Read", json!({"file_path": "a"}))
        .call("Read", json!({"file_path": "b"}));
    let stage = Stage::new(Wire::Anthropic, script);
    runtime().block_on(async {
        let mut session = stage.open();
        session.record(Message::text(Role::User, "look")).unwrap();
        session.ask(None, CancelToken::new()).await.unwrap();
        for call in session.open_calls() {
            let result = throughline_core::ToolResult::text(call.id, "here");
            session.record_results(vec![throughline_core::Body::ToolResult(result).into()]).unwrap();
        }
        let body = session.prepare().await.unwrap().body;
        let request: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let last = request["messages"].as_array().unwrap().last().unwrap();
        assert_eq!(request["messages"].as_array().unwrap().len(), 3);
        assert_eq!(last["content"].as_array().unwrap().len(), 2, "{last}");
    });
}
