//! Spans are there in every build, for whoever listens.

use super::heard::{Heard, listen};
use super::{SECRET, secretive, talk_until_compacted};
use crate::common::tiny;
use crate::session::{MODEL, Stage, is_summary, long_words, obliging, result, runtime};
use serde_json::json;
use throughline_core::profile::{CollapseLimits, Strategy};
use throughline_core::{Message, Role, Wire};
use throughline_engine::session::{Models, Scribe, Session};
use throughline_memory::notes::NotesLimits;
use throughline_model::CancelToken;
use throughline_testkit::{Answer, Fault, Playbook, Seen, playbook};

/// Says the secret wherever it can.
fn secrets() -> Playbook {
    let is_notes = |seen: &Seen| seen.last_user_text().contains("<current_notes_content>");
    Playbook::new()
        .when(
            is_notes,
            Answer::text(format!("<notes>\n# Session Title\n{SECRET}\n\n# Current State\nFine.\n</notes>")),
        )
        .when(is_summary, Answer::text(format!("<summary>It is about {SECRET}.</summary>")))
        .otherwise(Answer::text(format!("I looked at {SECRET}.")))
}

#[test]
fn a_request_with_a_compaction_is_a_tree_of_spans() {
    let mut stage = Stage::new(Wire::Anthropic, obliging());
    stage.settings.notes = None;
    stage.settings.profile.compact.as_mut().unwrap().checked = true;
    let mut id = String::new();
    let heard = listen(|| {
        runtime().block_on(async {
            let mut session = stage.open();
            id = session.id().as_str().to_owned();
            talk_until_compacted(&mut session).await;
        });
    });
    let (compact, around) = heard.one("compact");
    assert_eq!(around, ["prepare", "ask"]);
    let word = |name: &str| compact.fields.get(name);
    assert_eq!(word("gen_ai.conversation.id"), Some(&*id));
    assert_eq!(word("gen_ai.request.model"), Some(MODEL));
    assert_eq!(word("throughline.compaction.trigger"), Some("pre_turn"));
    assert_eq!(word("throughline.compaction.strategy"), Some("handoff"));
    assert_eq!(word("throughline.compaction.writer"), Some("model"));
    assert_eq!(word("throughline.compaction.outcome"), Some("replaced"));
    let score: f64 = word("throughline.compaction.score").unwrap().parse().unwrap();
    assert!((0.0..=1.0).contains(&score));
    assert!(
        compact.fields.count("throughline.tokens.after") < compact.fields.count("throughline.tokens.before")
    );
    let (event, receipt) = &compact.events[0];
    assert_eq!((*event, receipt.get("throughline.job")), ("receipt", Some("summary")));
    assert!(receipt.count("gen_ai.usage.input_tokens") > 0);

    let (_, around) = heard.one("invoke_agent");
    assert_eq!(around, ["compact", "prepare", "ask"]);
    let prepare = &heard.0[compact.parent.unwrap()];
    assert!(
        prepare.fields.count("throughline.tokens.after") < prepare.fields.count("throughline.tokens.before")
    );
    let (event, stage) = &prepare.events[0];
    assert_eq!((*event, stage.get("throughline.stage")), ("stage", Some("autocompact")));
    assert!(stage.count("throughline.tokens.freed") > 0);
    // Every answer, and the summary.
    let asked = heard.all("ask").count();
    assert_eq!(heard.all("chat").count(), asked + 1);
    let answer = heard.all("chat").last().unwrap();
    assert_eq!(heard.around(answer), ["ask"]);
}

fn writer(heard: &Heard) -> Option<&str> {
    heard.one("compact").0.fields.get("throughline.compaction.writer")
}

/// Talks until the view was replaced. Nothing that was said is heard.
fn talk(stage: &Stage, scribe: Scribe) -> Heard {
    let heard = listen(|| {
        runtime().block_on(async {
            let models = Models { scribe, ..stage.models() };
            let mut session =
                Session::open(&stage.home(), stage.start(), models, stage.settings.clone()).unwrap();
            talk_until_compacted(&mut session).await;
        });
    });
    assert!(!format!("{heard:?}").contains(SECRET), "{heard:#?}");
    heard
}

#[test]
fn notes_are_written_in_the_background_and_stand_for_the_conversation() {
    let mut stage = secretive(Stage::new(Wire::Anthropic, secrets()));
    stage.settings.profile = tiny("claude");
    stage.settings.profile.compact.as_mut().unwrap().strategies = vec![Strategy::Notes, Strategy::Summary];
    stage.settings.window = Some(8_000);
    stage.settings.notes = Some(NotesLimits {
        first_tokens: 1_500,
        growth_tokens: 500,
        tool_calls: 3,
        ..NotesLimits::default()
    });
    let heard = talk(&stage, Scribe::Main);
    assert_eq!(writer(&heard), Some("notes"));
    let update = heard.all("background").next().unwrap();
    assert_eq!((update.parent, update.is_linked), (None, true), "a trace of its own");
    assert_eq!(update.fields.get("throughline.work"), Some("notes update"));
    assert_eq!(update.fields.get("throughline.work.writer"), Some("model"));
    assert_eq!(update.fields.get("throughline.work.outcome"), Some("written"));
    let id = heard.all("ask").next().unwrap().fields.get("gen_ai.conversation.id");
    assert!(id.is_some() && update.fields.get("gen_ai.conversation.id") == id);
    let fork = heard.all("invoke_agent").next().unwrap();
    assert_eq!(heard.around(fork), ["background"]);
}

#[test]
fn a_summary_ahead_of_need_is_told_from_one_that_was_waited_for() {
    let mut stage = secretive(Stage::new(Wire::Responses, secrets()));
    stage.settings.notes = None;
    stage.settings.ahead_share = Some(0.5);
    let heard = talk(&stage, Scribe::Main);
    assert_eq!(writer(&heard), Some("ahead"));
    let work = heard.all("background").next().unwrap();
    assert_eq!(work.parent, None);
    assert_eq!(work.fields.get("throughline.work"), Some("summary ahead"));
    assert_eq!(work.fields.get("throughline.work.outcome"), Some("written"));
}

#[test]
fn spans_that_will_be_folded_are_summarised_in_the_background() {
    let script = Playbook::new()
        .when(playbook::last_user("early part of a conversation"), Answer::text(SECRET))
        .when(playbook::last_user("line 0 of file"), Answer::text("I have read it."))
        .otherwise(Answer::text("I look.").call("Read", json!({"file_path": SECRET})));
    let mut stage = secretive(Stage::new(Wire::Anthropic, script));
    stage.settings.notes = None;
    stage.settings.profile.collapse = Some(CollapseLimits {
        stage_share: 0.4,
        commit_share: 0.9,
        target_share: 0.6,
        span_tokens: 400,
        summary_tokens: 100,
        keep_tokens: 600,
    });
    let heard = listen(|| {
        runtime().block_on(async {
            let mut session = stage.open();
            for n in 0..6 {
                session.record(Message::text(Role::User, format!("read file {n}"))).unwrap();
                let answer = session.ask(None, CancelToken::new()).await.unwrap();
                let call =
                    answer.response.messages.iter().find_map(|message| message.calls().next()).unwrap();
                session.record(result(call.id.clone(), n)).unwrap();
                session.ask(None, CancelToken::new()).await.unwrap();
                session.after_turn().await.unwrap();
                session.settle().await.unwrap();
            }
        });
    });
    let work = heard.all("background").next().unwrap();
    assert_eq!(work.fields.get("throughline.work"), Some("span summaries"));
    assert_eq!(work.fields.get("throughline.work.outcome"), Some("written"));
    assert!(!format!("{heard:?}").contains(SECRET), "{heard:#?}");
}

#[test]
fn the_offline_scribe_is_named_where_no_model_could_write() {
    let script = Playbook::new().when(is_summary, Fault::Overloaded).otherwise("ok");
    let mut stage = secretive(Stage::new(Wire::Chat, script));
    stage.settings.notes = None;
    let heard = talk(&stage, Scribe::Main);
    assert_eq!(writer(&heard), Some("offline"));
    let failed = heard.all("chat").find(|chat| chat.fields.get("error.type").is_some()).unwrap();
    assert_eq!(failed.fields.get("error.type"), Some("overloaded"));
    assert_eq!(heard.around(failed), ["invoke_agent", "compact", "prepare", "ask"]);

    assert_eq!(writer(&talk(&stage, Scribe::Offline)), Some("offline"));
}

#[test]
fn an_error_is_named_and_its_words_are_not_there() {
    let stage = Stage::new(Wire::Anthropic, Fault::Unauthorized);
    let heard = listen(|| {
        runtime().block_on(async {
            let mut session = stage.open();
            session.record(long_words(0)).unwrap();
            session.ask(None, CancelToken::new()).await.unwrap_err();
            // What is pinned stays whole, so that nothing can be made smaller.
            let enormous: String = (0..20_000).map(|n| format!("{SECRET}{n} ")).collect();
            let enormous = Message::text(Role::User, enormous);
            let id = enormous.id.clone();
            session.record(enormous).unwrap();
            session.pin(&id, true).unwrap();
            session.prepare().await.unwrap_err();
        });
    });
    let (ask, _) = heard.one("ask");
    assert_eq!(ask.fields.get("error.type"), Some("auth"));
    assert_eq!(ask.fields.get("otel.status_code"), Some("ERROR"));
    let last = heard.all("prepare").last().unwrap();
    assert_eq!(last.fields.get("error.type"), Some("does_not_fit"));
    assert!(!format!("{heard:?}").contains(SECRET), "{heard:#?}");
}
