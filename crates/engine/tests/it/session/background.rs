//! What is written before it is needed.

use super::compaction::checkpoints;
use super::{Stage, is_summary, long_words, obliging, result, runtime};
use crate::common::{WIRES, valid};
use serde_json::json;
use throughline_core::profile::CollapseLimits;
use throughline_core::{Message, Role, Wire};
use throughline_model::CancelToken;
use throughline_testkit::{Answer, Gate, Playbook, playbook};

#[test]
fn a_summary_written_ahead_is_used_without_another_request() {
    for wire in WIRES {
        let mut stage = Stage::new(wire, obliging());
        stage.settings.ahead_share = Some(0.5);
        runtime().block_on(async {
            let mut session = stage.open();
            for n in 0..12 {
                session.record(long_words(n)).unwrap();
                session.ask(None, CancelToken::new()).await.unwrap();
                if session.pipeline().view().entries().iter().any(|entry| entry.message.flags.summary) {
                    break;
                }
                session.after_turn().await.unwrap();
                session.settle().await.unwrap();
            }
            let requests = stage.server.requests();
            let summaries: Vec<usize> =
                requests.iter().enumerate().filter(|(_, seen)| is_summary(seen)).map(|(at, _)| at).collect();
            assert_eq!(summaries.len(), 1, "{wire:?}");
            let body = session.prepare().await.unwrap().body;
            let text = String::from_utf8_lossy(&body).into_owned();
            assert!(text.contains("tests fail in parse_empty"), "{text}");
            valid(wire, &body);
        });
    }
}

#[test]
fn p5c_a_handoff_written_ahead_keeps_the_users_messages() {
    let mut stage = Stage::new(Wire::Anthropic, obliging());
    stage.settings.ahead_share = Some(0.5);
    runtime().block_on(async {
        let mut session = stage.open();
        let mut said = Vec::new();
        for n in 0..12 {
            let message = long_words(n);
            said.push(message.to_text());
            session.record(message).unwrap();
            session.ask(None, CancelToken::new()).await.unwrap();
            if !checkpoints(&session).is_empty() {
                break;
            }
            session.after_turn().await.unwrap();
            session.settle().await.unwrap();
        }
        assert_eq!(checkpoints(&session)[0].0, "handoff");
        assert_eq!(stage.server.requests().iter().filter(|seen| is_summary(seen)).count(), 1);
        let shown: Vec<Message> =
            session.pipeline().view().messages().map(|message| (*message).clone()).collect();
        let at = shown.iter().position(|message| message.flags.summary).unwrap();
        assert!(at > 0 && shown[..at].iter().all(Message::is_real_user), "the user's messages come first");
        assert!(shown[at].to_text().starts_with("Another assistant"), "{}", shown[at].to_text());
        // What was said since the text was written is there word for word.
        let newest = said.last().unwrap();
        assert!(shown[at..].iter().any(|message| message.to_text() == *newest));
    });
}

#[test]
fn nobody_waits_for_the_background() {
    let gate = Gate::new();
    let script =
        Playbook::new().when(is_summary, Answer::text("<summary>late</summary>").at(&gate)).otherwise("ok");
    let mut stage = Stage::new(Wire::Anthropic, script);
    stage.settings.ahead_share = Some(0.2);
    runtime().block_on(async {
        let mut session = stage.open();
        for n in 0..3 {
            session.record(long_words(n)).unwrap();
            session.ask(None, CancelToken::new()).await.unwrap();
            session.after_turn().await.unwrap();
        }
        // The summary is held back all the while, and the turns went through.
        assert_eq!(session.pipeline().view().entries().len(), 6);
        gate.open();
        session.settle().await.unwrap();
    });
}

#[test]
fn p4_spans_are_summarised_by_the_model_before_they_are_folded() {
    let script = Playbook::new()
        .when(
            playbook::last_user("early part of a conversation"),
            Answer::text("In short: the start was read."),
        )
        .when(playbook::last_user("line 0 of file"), Answer::text("I have read it."))
        .otherwise(Answer::text("I look.").call("Read", json!({"file_path": "src/a.rs"})));
    let mut stage = Stage::new(Wire::Anthropic, script);
    stage.settings.profile.collapse = Some(CollapseLimits {
        stage_share: 0.4,
        commit_share: 0.9,
        target_share: 0.6,
        span_tokens: 400,
        summary_tokens: 100,
        keep_tokens: 600,
    });
    runtime().block_on(async {
        let mut session = stage.open();
        for n in 0..10 {
            session.record(Message::text(Role::User, format!("read file {n}"))).unwrap();
            let answer = session.ask(None, CancelToken::new()).await.unwrap();
            let call = answer.response.messages.iter().find_map(|message| message.calls().next()).unwrap();
            session.record(result(call.id.clone(), n)).unwrap();
            session.ask(None, CancelToken::new()).await.unwrap();
            session.after_turn().await.unwrap();
            session.settle().await.unwrap();
        }
        let body = session.prepare().await.unwrap().body;
        let text = String::from_utf8_lossy(&body).into_owned();
        assert!(text.contains("In short: the start was read."), "{text}");
        valid(Wire::Anthropic, &body);
    });
}
