//! Open, say, ask, resume, fork.

use super::{MODEL, Stage, long_words, obliging, runtime};
use crate::common::{WIRES, valid};
use serde_json::json;
use throughline_core::{Message, Record, Role};
use throughline_engine::session::{Session, SessionError};
use throughline_ledger::{LedgerError, session};
use throughline_model::CancelToken;
use throughline_testkit::{Answer, Fault, Playlist};

#[test]
fn what_is_said_and_answered_is_in_the_ledger_and_resumes() {
    for wire in WIRES {
        let stage = Stage::new(wire, obliging());
        runtime().block_on(async {
            let mut session = stage.open();
            session.record(Message::text(Role::User, "fix the parser")).unwrap();
            let mut heard = String::new();
            let listener = Box::new(|delta| {
                if let throughline_model::Delta::Text(text) = delta {
                    heard.push_str(&text);
                }
            });
            let answer = session.ask(Some(listener), CancelToken::new()).await.unwrap();
            assert_eq!(answer.response.messages.last().unwrap().to_text(), "I looked at it.");
            assert_eq!(heard, "I looked at it.");
            session.after_turn().await.unwrap();
            let ledger = session.path().to_owned();
            let before = session.prepare().await.unwrap();
            drop(session);

            let mut again = stage.resume(&ledger);
            let after = again.prepare().await.unwrap();
            assert_eq!(before.body, after.body, "{wire:?}: the same request, to the byte");
            assert_eq!(
                valid(wire, &after.body).len(),
                if wire == throughline_core::Wire::Chat { 3 } else { 2 }
            );
            let mut usages = 0;
            session::each_record(&stage.home(), &ledger, &mut |_, record| {
                if let Record::Event(event) = record {
                    usages += usize::from(event.name == "usage" && event.data["model"] == json!(MODEL));
                }
                Ok::<_, LedgerError>(())
            })
            .unwrap();
            assert_eq!(usages, 1);
        });
    }
}

#[test]
fn a_fork_goes_on_from_a_message_without_touching_the_parent() {
    let stage = Stage::new(WIRES[0], obliging());
    runtime().block_on(async {
        let mut parent = stage.open();
        let first = parent.record(Message::text(Role::User, "one")).unwrap();
        parent.ask(None, CancelToken::new()).await.unwrap();
        parent.record(Message::text(Role::User, "two")).unwrap();
        let ledger = parent.path().to_owned();
        let mut fork = Session::fork(
            &stage.home(),
            &ledger,
            Some(&first),
            stage.start(),
            stage.models(),
            stage.settings.clone(),
        )
        .unwrap();
        fork.record(Message::text(Role::User, "three")).unwrap();
        let body = fork.prepare().await.unwrap().body;
        let text = String::from_utf8_lossy(&body).into_owned();
        assert!(text.contains("one") && text.contains("three") && !text.contains("two"), "{text}");
        assert_eq!(parent.pipeline().view().entries().len(), 3);
    });
}

#[test]
fn two_processes_never_write_one_session() {
    let stage = Stage::new(WIRES[0], obliging());
    let session = stage.open();
    let again =
        Session::resume(&stage.home(), session.path(), stage.start(), stage.models(), stage.settings.clone());
    assert!(matches!(again, Err(SessionError::Ledger(_))));
}

#[test]
fn a_failed_request_loses_nothing_and_can_be_made_again() {
    for fault in [Fault::Unauthorized, Fault::ServerError, Fault::Hangup, Fault::Invalid] {
        let script = Playlist::new().times(2, fault).forever(Answer::text("now it works"));
        let stage = Stage::new(WIRES[0], script);
        runtime().block_on(async {
            let mut session = stage.open();
            session.record(Message::text(Role::User, "go")).unwrap();
            let mut answered = None;
            for _ in 0..3 {
                answered = session.ask(None, CancelToken::new()).await.ok();
                if answered.is_some() {
                    break;
                }
                assert_eq!(session.pipeline().view().entries().len(), 1, "only the user's words");
            }
            assert!(answered.is_some());
        });
    }
}

#[test]
fn p6_a_request_that_is_too_long_is_cured_and_sent_again() {
    for wire in WIRES {
        // The true window is smaller than anybody said.
        let script = throughline_testkit::Window {
            limit: 2_500,
            wording: throughline_testkit::Wording::ALL[0],
            script: obliging(),
        };
        let mut stage = Stage::new(wire, script);
        stage.settings.window = Some(20_000);
        runtime().block_on(async {
            let mut session = stage.open();
            for n in 0..6 {
                session.record(long_words(n)).unwrap();
                session.ask(None, CancelToken::new()).await.unwrap();
            }
            let compacted = session.pipeline().view().entries().iter().any(|e| e.message.flags.summary);
            assert!(compacted, "{wire:?}");
            let shown = session.prepare().await.unwrap();
            assert!(String::from_utf8_lossy(&shown.body).contains("Never touch Cargo.lock"));
            valid(wire, &shown.body);
        });
    }
}

#[test]
fn a_session_works_as_the_configuration_says() {
    use throughline_engine::config::{Config, Sources};
    use throughline_engine::session::SessionSettings;
    let folder = tempfile::tempdir().unwrap();
    let home = throughline_ledger::Home::new(folder.path());
    std::fs::write(
        folder.path().join("config.toml"),
        "profile = \"claude\"\n[window]\ntokens = 64000\ncache_edits = true\n[notes]\ntool_calls = 7\n[governor]\ndaily_dollars = 2.5\n",
    )
    .unwrap();
    let config = Config::load(&Sources::new(folder.path(), folder.path(), &|_| None)).unwrap().config;
    let (settings, problems) = SessionSettings::from_config(&config, &home, &|_| None).unwrap();
    assert!(problems.is_empty());
    assert_eq!((settings.profile.name.as_str(), settings.window), ("claude", Some(64_000)));
    assert!(settings.cache_edits);
    assert_eq!(settings.notes.map(|notes| notes.tool_calls), Some(7));
    assert_eq!(settings.governor.map(|governor| governor.limits().daily_dollars), Some(Some(2.5)));
}
