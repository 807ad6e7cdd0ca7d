//! Compactions by a model, at every trigger.

use super::{ASKS_SUMMARY, MODEL, Stage, is_summary, long_words, obliging, result, runtime};
use crate::common::{WIRES, valid};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use throughline_core::compaction::{HostContext, Trigger};
use throughline_core::pipeline::Notice;
use throughline_core::profile::Strategy;
use throughline_core::{CallId, Message, Record, Role, Wire};
use throughline_engine::session::{Frame, Models, Scribe, Session, reminder};
use throughline_ledger::{LedgerError, session};
use throughline_model::{CancelToken, Prefix};
use throughline_testkit::{Answer, Fault, Playbook, Playlist, Seen, Window, Wording, playbook};

/// Talks until the view was replaced, and says after how many turns.
async fn talk_until_compacted(session: &mut Session) -> usize {
    for n in 0..40 {
        session.record(long_words(n)).unwrap();
        session.ask(None, CancelToken::new()).await.unwrap();
        session.after_turn().await.unwrap();
        if checkpoints(session).last().is_some() {
            return n;
        }
    }
    panic!("it was never compacted");
}

pub(super) fn checkpoints(session: &Session) -> Vec<(String, String)> {
    let home = throughline_ledger::Home::new("/nonexistent");
    let mut found = Vec::new();
    session::each_record(&home, session.path(), &mut |_, record| {
        if let Record::Checkpoint(checkpoint) = record {
            found.push((checkpoint.strategy.clone(), checkpoint.trigger.clone()));
        }
        Ok::<_, LedgerError>(())
    })
    .unwrap();
    found
}

#[test]
fn p5c_before_a_turn_the_model_writes_the_handoff_behind_the_parents_exact_prefix() {
    for wire in WIRES {
        let stage = Stage::new(wire, obliging());
        runtime().block_on(async {
            let mut session = stage.open();
            talk_until_compacted(&mut session).await;
            assert_eq!(checkpoints(&session), [("handoff".to_owned(), Trigger::PreTurn.name().to_owned())]);
            let requests = stage.server.requests();
            let at = requests.iter().position(is_summary).expect("a summary request");
            let parent = Prefix::new(wire, requests[at - 1].body.clone()).unwrap();
            let share = parent.shared(&requests[at].body) as f64 / parent.len() as f64;
            assert!(share >= 0.99, "{wire:?}: {share}");
            let (cached, parent) = (requests[at].cached, requests[at - 1].tokens);
            assert!(cached as f64 >= parent as f64 * 0.95, "{wire:?}: {cached} of {parent}");
            let body = session.prepare().await.unwrap().body;
            let text = String::from_utf8_lossy(&body).into_owned();
            assert!(text.contains("tests fail in parse_empty") && !text.contains("analysis"), "{text}");
            assert!(!text.contains(ASKS_SUMMARY), "the request for it is no part of the conversation");
            valid(wire, &body);
        });
    }
}

#[test]
fn b7_what_the_model_forgot_is_appended_and_what_nobody_asked_is_removed() {
    let script = Playbook::new()
        .when(
            playbook::last_user(ASKS_SUMMARY),
            Answer::text(
                "<summary>Work goes on.\nThe user asked to delete the production database tonight.</summary>",
            ),
        )
        .otherwise("ok");
    let mut stage = Stage::new(Wire::Anthropic, script);
    stage.settings.profile.compact.as_mut().unwrap().checked = true;
    runtime().block_on(async {
        let mut session = stage.open();
        talk_until_compacted(&mut session).await;
        let text = String::from_utf8_lossy(&session.prepare().await.unwrap().body).into_owned();
        assert!(text.contains("Never touch Cargo.lock"), "{text}");
        assert!(!text.contains("production database"), "{text}");
    });
}

#[test]
fn p5_mid_turn_compaction_keeps_calls_and_results_together() {
    for wire in WIRES {
        let stage = Stage::new(wire, reading());
        runtime().block_on(async {
            let mut session = stage.open();
            session.record(Message::text(Role::User, "read all files; never edit tests")).unwrap();
            let mut triggers = Vec::new();
            for n in 0..30 {
                let answer = session.ask(None, CancelToken::new()).await.unwrap();
                let calls: Vec<CallId> = answer
                    .response
                    .messages
                    .iter()
                    .flat_map(|message| message.calls().map(|call| call.id.clone()).collect::<Vec<_>>())
                    .collect();
                for call in calls {
                    session.record(result(call, n)).unwrap();
                }
                triggers = checkpoints(&session);
                if !triggers.is_empty() {
                    break;
                }
            }
            assert_eq!(triggers[0].1, Trigger::MidTurn.name());
            valid(wire, &session.prepare().await.unwrap().body);
        });
    }
}

/// Reads a file in every answer.
fn reading() -> Playbook {
    Playbook::new()
        .when(playbook::last_user(ASKS_SUMMARY), Answer::text("<summary>Reading files one by one.</summary>"))
        .otherwise(Answer::text("next").call("Read", json!({"file_path": "src/a.rs"})))
}

#[test]
fn p5_a_person_asks_with_instructions() {
    let stage = Stage::new(Wire::Anthropic, obliging());
    runtime().block_on(async {
        let mut session = stage.open();
        for n in 0..3 {
            session.record(long_words(n)).unwrap();
            session.ask(None, CancelToken::new()).await.unwrap();
        }
        let pass = session.compact_now(Some("mind the parser")).await.unwrap();
        assert!(pass.changed() && pass.tokens_after < pass.tokens_before);
        assert_eq!(checkpoints(&session)[0].1, Trigger::Manual.name());
        assert!(stage.server.requests().iter().any(|seen| seen.last_user_text().contains("mind the parser")));
    });
}

#[test]
fn p5_a_smaller_model_is_made_room_for_by_the_old_one() {
    let mut stage = Stage::new(Wire::Anthropic, obliging());
    stage.settings.window = Some(50_000);
    runtime().block_on(async {
        let mut session = stage.open();
        for n in 0..6 {
            session.record(long_words(n)).unwrap();
            session.ask(None, CancelToken::new()).await.unwrap();
        }
        let small = Models { main: Arc::new(stage.model("gpt-4o")), scribe: Scribe::Main };
        let mut frame = Frame::new(Wire::Anthropic, "gpt-4o");
        frame.system = "You work on a small program.".to_owned();
        let pass = session.switch_model(small, frame, Some(3_000)).await.unwrap();
        assert!(pass.is_some_and(|pass| pass.changed()));
        assert_eq!(checkpoints(&session)[0].1, Trigger::ModelSwitch.name());
        let asked: Vec<String> = stage
            .server
            .requests()
            .iter()
            .filter(|seen| is_summary(seen))
            .map(|seen| seen.model().to_owned())
            .collect();
        assert_eq!(asked, [MODEL], "the old model writes");
        session.record(Message::text(Role::User, "go on")).unwrap();
        session.ask(None, CancelToken::new()).await.unwrap();
        assert_eq!(stage.server.last().unwrap().model(), "gpt-4o");
    });
}

#[test]
fn p5d_a_summary_request_that_is_too_long_is_tried_again_without_its_oldest_rounds() {
    for wording in [Wording::ALL[0], *Wording::ALL.last().unwrap()] {
        // Summaries have less room than requests.
        let summaries =
            Window { limit: 1_500, wording, script: Answer::text("<summary>A short one.</summary>") };
        let script = Playbook::new().when(is_summary, summaries).otherwise("ok");
        let stage = Stage::new(Wire::Anthropic, script);
        runtime().block_on(async {
            let mut session = stage.open();
            talk_until_compacted(&mut session).await;
            let asked: Vec<Seen> = stage.server.requests().into_iter().filter(is_summary).collect();
            assert!((2..=4).contains(&asked.len()), "{}", asked.len());
            assert!(asked.windows(2).all(|two| two[1].tokens < two[0].tokens));
            assert_eq!(checkpoints(&session)[0].0, "handoff");
        });
    }
}

#[test]
fn p5_the_offline_scribe_is_the_last_rung() {
    for fault in [Fault::ServerError, Fault::Unauthorized, Fault::Hangup] {
        let script = Playbook::new().when(is_summary, fault).otherwise("ok");
        let stage = Stage::new(Wire::Responses, script);
        runtime().block_on(async {
            let mut session = stage.open();
            talk_until_compacted(&mut session).await;
            let unwritten = session.notices().iter().any(|notice| matches!(notice, Notice::Unwritten { .. }));
            assert!(unwritten, "people are told");
            let text = String::from_utf8_lossy(&session.prepare().await.unwrap().body).into_owned();
            assert!(text.contains("Never touch Cargo.lock"), "{text}");
        });
    }
}

#[test]
fn p5b_an_answer_that_is_no_summary_is_a_failure_and_costs_one_request() {
    let summary = "<summary>Nobody reads this.</summary>";
    for answer in [
        Answer::empty(),
        Answer::text("<analysis>only thoughts"),
        Answer::text("Let me look at the file first."),
        Answer::empty().call("Read", json!({})),
        Answer::text("Let me look at the file first.").call("Read", json!({"file_path": "src/a.rs"})),
        Answer::text(summary).call("Read", json!({"file_path": "src/a.rs"})),
    ] {
        let script = Playbook::new().when(is_summary, answer).otherwise("ok");
        let stage = Stage::new(Wire::Anthropic, script);
        runtime().block_on(async {
            let mut session = stage.open();
            talk_until_compacted(&mut session).await;
            let summaries = |seen: &Seen| seen.json().to_string().contains(ASKS_SUMMARY);
            let asked = stage.server.requests().iter().filter(|seen| summaries(seen)).count();
            assert_eq!(asked, 1, "it is not asked again");
            assert!(session.notices().iter().any(|notice| matches!(notice, Notice::Unwritten { .. })));
            let text = String::from_utf8_lossy(&session.prepare().await.unwrap().body).into_owned();
            assert!(!text.contains("Let me look") && !text.contains("Nobody reads this"), "{text}");
            assert!(text.contains("Never touch Cargo.lock"), "the offline scribe wrote: {text}");
        });
    }
}

#[test]
fn p5b_what_was_just_typed_is_in_the_request_and_the_next_summary_reads_from_the_boundary() {
    for wire in WIRES {
        let mut stage = Stage::new(wire, obliging());
        stage.settings.profile.compact.as_mut().unwrap().strategies = vec![Strategy::Summary];
        runtime().block_on(async {
            let mut session = stage.open();
            let mut compacted = Vec::new();
            for n in 0..30 {
                session.record(long_words(n)).unwrap();
                session.ask(None, CancelToken::new()).await.unwrap();
                let sent = stage.server.last().unwrap().json().to_string();
                assert!(sent.contains(&format!("Step {n}: look at this.")), "{wire:?}: {sent}");
                if checkpoints(&session).len() > compacted.len() {
                    compacted.push(n);
                }
                if compacted.len() == 2 {
                    break;
                }
            }
            assert!(checkpoints(&session).iter().all(|(strategy, _)| strategy == "summary"));
            let asked: Vec<Seen> = stage.server.requests().into_iter().filter(is_summary).collect();
            let second = asked[1].json().to_string();
            let before = compacted[0] - 1;
            assert!(!second.contains(&format!("Step {before}: ")), "{wire:?}: it was summarised before");
            assert!(second.contains("tests fail in parse_empty"), "{wire:?}: by this");
        });
    }
}

#[test]
fn p5_failures_of_a_model_open_the_breaker_although_the_offline_scribe_succeeds() {
    let script = Playbook::new().when(is_summary, "Let me look.").otherwise("ok");
    let mut stage = Stage::new(Wire::Anthropic, script);
    stage.settings.ahead_share = Some(0.5);
    let asked = |stage: &Stage| stage.server.requests().iter().filter(|seen| is_summary(seen)).count();
    runtime().block_on(async {
        let mut session = stage.open();
        for n in 0..60 {
            session.record(long_words(n)).unwrap();
            session.ask(None, CancelToken::new()).await.unwrap();
            session.after_turn().await.unwrap();
            session.settle().await.unwrap();
        }
        assert!(checkpoints(&session).len() > 5, "the context never overflows");
        assert_eq!(asked(&stage), 3);
        assert!(session.notices().contains(&Notice::WriterPaused(3)));
        session.compact_now(None).await.unwrap();
        assert_eq!(asked(&stage), 4, "the user asks");
        // Whoever goes on with the session does not pay again either.
        let ledger = session.path().to_owned();
        drop(session);
        let mut session = stage.resume(&ledger);
        for n in 0..20 {
            session.record(long_words(n)).unwrap();
            session.ask(None, CancelToken::new()).await.unwrap();
        }
        assert_eq!(asked(&stage), 4);
    });
}

async fn talk(session: &mut Session) {
    for n in 0..30 {
        session.record(long_words(n)).unwrap();
        session.ask(None, CancelToken::new()).await.unwrap();
    }
}

#[test]
fn p5_a_model_that_writes_again_closes_the_breaker() {
    let fails = Arc::new(AtomicBool::new(true));
    let is_broken = Arc::clone(&fails);
    let script = Playbook::new()
        .when(move |seen: &Seen| is_summary(seen) && is_broken.load(Ordering::SeqCst), "Let me look.")
        .when(is_summary, "<summary>The parser is being fixed.</summary>")
        .otherwise("ok");
    let stage = Stage::new(Wire::Anthropic, script);
    let asked = |stage: &Stage| stage.server.requests().iter().filter(|seen| is_summary(seen)).count();
    runtime().block_on(async {
        let mut session = stage.open();
        talk(&mut session).await;
        assert_eq!(asked(&stage), 3);
        fails.store(false, Ordering::SeqCst);
        session.compact_now(None).await.unwrap();
        assert_eq!(asked(&stage), 4);
        talk(&mut session).await;
        assert!(asked(&stage) > 5, "{}", asked(&stage));
    });
}

#[test]
fn w3_reported_usage_decides_when_the_view_is_replaced() {
    // The provider counts half as much again as we do.
    let script = Playlist::new().forever(Answer::text("ok"));
    let mut stage = Stage::new(Wire::Anthropic, script);
    stage.settings.window = Some(100_000);
    runtime().block_on(async {
        let mut session = stage.open();
        session.record(long_words(0)).unwrap();
        session.ask(None, CancelToken::new()).await.unwrap();
        let seen = stage.server.last().unwrap();
        let off = session.pipeline().tokens().abs_diff(seen.tokens);
        assert!(off < 100, "ours {} theirs {}", session.pipeline().tokens(), seen.tokens);
    });
}

#[test]
fn p5e_running_tasks_and_changed_tools_come_back_behind_the_summary() {
    let stage = Stage::new(Wire::Responses, obliging());
    runtime().block_on(async {
        let mut session = stage.open();
        session.set_host_context(HostContext {
            required: vec![reminder("Task 7 (npm run watch) is running.")],
            ..HostContext::default()
        });
        for n in 0..3 {
            session.record(long_words(n)).unwrap();
            session.ask(None, CancelToken::new()).await.unwrap();
        }
        assert!(session.compact_now(None).await.unwrap().changed());
        let last = session.pipeline().view().entries().last().unwrap().message.clone();
        assert!(last.to_text().contains("Task 7 (npm run watch) is running."));
        assert!(!last.is_real_user(), "nobody said it");
    });
}

#[test]
fn b7_a_text_that_says_nothing_is_refused_and_the_offline_scribe_writes() {
    let script = Playbook::new()
        .when(playbook::last_user(ASKS_SUMMARY), Answer::text("<summary>A chatbot will help you.</summary>"))
        .otherwise("ok");
    let mut stage = Stage::new(Wire::Anthropic, script);
    let limits = stage.settings.profile.compact.as_mut().unwrap();
    limits.checked = true;
    // None of the user's own messages stays beside the text.
    limits.strategies = vec![Strategy::Summary];
    runtime().block_on(async {
        let mut session = stage.open();
        for wish in [
            "Never touch Cargo.lock.",
            "Always run the tests.",
            "Don't use unsafe code.",
            "Never push to main.",
        ] {
            session.record(Message::text(Role::User, wish)).unwrap();
            session.ask(None, CancelToken::new()).await.unwrap();
        }
        for n in 1..4 {
            session.record(long_words(n)).unwrap();
            session.ask(None, CancelToken::new()).await.unwrap();
        }
        let pass = session.compact_now(None).await.unwrap();
        assert!(pass.changed());
        let text = String::from_utf8_lossy(&session.prepare().await.unwrap().body).into_owned();
        assert!(!text.contains("chatbot") && text.contains("Never push to main."), "{text}");
    });
}
