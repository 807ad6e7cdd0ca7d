//! Results that the model has not seen, through the whole pipeline: whole while there is room, else head and tail.

use super::kit::{answers, call, named, result, says, user, words};
use proptest::prelude::*;
use serde_json::json;
use throughline_core::pipeline::{Moment, Notice, Pass, Pipeline, Settings, Unrecorded};
use throughline_core::profile::Profile;
use throughline_core::stages::OwnTools;
use throughline_core::stages::budget::recognise;
use throughline_core::{Block, Message, Role, Stage, invariants};

fn pipeline(profile: Profile, window: u64) -> Pipeline {
    let tools = OwnTools { snip: false, recall: true };
    Pipeline::new(profile, Settings { window, tools, ..Settings::for_model("gpt-5") })
}

/// So many tokens, or a few more, that are found nowhere else.
fn text(name: &str, tokens: usize) -> String {
    (0..tokens / 4).map(|n| format!("{name} {n}\n")).collect()
}

/// Turns that are over, of so many tokens together.
fn history(pipeline: &mut Pipeline, tokens: u64) {
    for n in 0.. {
        if pipeline.tokens() >= tokens {
            break;
        }
        pipeline.push(user(&format!("u{n}"), &format!("step {n}: never touch file_{n}.lock")).into());
        let run = call(&format!("old_{n}"), "Bash", json!({"command": format!("make part_{n}")}));
        pipeline.push(named(&format!("a{n}"), Role::Assistant, vec![run]).into());
        pipeline.push(answers(&format!("r{n}"), &format!("old_{n}"), &text("made", 400)).into());
        pipeline.push(says(&format!("d{n}"), &words(20)).into());
    }
}

/// A turn that waits for the results of its calls.
fn asking(pipeline: &mut Pipeline, tool: &str, results: &[String]) {
    let input = json!({"command": "make all", "file_path": "/project/long.rs"});
    let id = |n: usize| format!("new_{n}");
    let calls: Vec<Block> = (0..results.len()).map(|n| call(&id(n), tool, input.clone())).collect();
    let results = results.iter().enumerate().map(|(n, text)| result(&id(n), text)).collect();
    pipeline.push(user("ask", "the newest request").into());
    pipeline.push(named("calls", Role::Assistant, calls).into());
    pipeline.push(named("results", Role::User, results).into());
}

fn prepare(pipeline: &mut Pipeline) -> Pass {
    pipeline.prepare(&Moment::default(), &mut Unrecorded).unwrap()
}

/// The results of the newest calls, as they would be sent.
fn sent(pipeline: &Pipeline) -> Vec<String> {
    let messages = pipeline.messages();
    let all: Vec<&Message> = messages.iter().map(|message| &**message).collect();
    assert_eq!(invariants::check(&all), []);
    let results = messages.iter().flat_map(|message| message.results());
    let new = results.filter(|result| result.call.as_str().starts_with("new_"));
    new.map(|result| result.content.to_text().into_owned()).collect()
}

#[test]
fn p1_a_long_file_in_a_nearly_empty_window_is_sent_whole() {
    for profile in ["throughline", "claude", "codex"] {
        let file = text("fn", 40_000);
        assert!(file.len() > 66_000);
        let mut pipeline = pipeline(Profile::named(profile).unwrap(), 200_000);
        asking(&mut pipeline, "Read", std::slice::from_ref(&file));
        assert!(!prepare(&mut pipeline).changed(), "{profile}");
        assert_eq!(sent(&pipeline), [file], "{profile}");
    }
}

#[test]
fn p1_by_window_a_long_result_of_any_tool_is_sent_whole_while_it_fits() {
    let log = text("GET", 90_000);
    let mut throughline = pipeline(Profile::throughline(), 200_000);
    asking(&mut throughline, "Bash", std::slice::from_ref(&log));
    assert!(!prepare(&mut throughline).changed());
    assert_eq!(sent(&throughline), std::slice::from_ref(&log));
    let mut claude = pipeline(Profile::claude(), 200_000);
    asking(&mut claude, "Bash", &[log]);
    assert_eq!(prepare(&mut claude).changes[0].stage, Stage::Budget, "the source system goes by size");
}

#[test]
fn p1_half_a_window_that_the_model_has_not_seen_survives_a_compaction() {
    // With a reminder behind it, too: then no result is the last thing said.
    for reminder in [false, true] {
        let found = text("found", 10_000);
        let mut pipeline = pipeline(Profile::throughline(), 20_000);
        history(&mut pipeline, 8_000);
        prepare(&mut pipeline);
        asking(&mut pipeline, "Bash", std::slice::from_ref(&found));
        if reminder {
            pipeline.push(user("hook", "<system-reminder>\nbe careful\n</system-reminder>").into());
        }
        assert!(pipeline.tokens() > pipeline.threshold().unwrap());
        let pass = prepare(&mut pipeline);
        assert!(pass.changes.iter().all(|change| change.stage == Stage::Autocompact), "{:?}", pass.changes);
        assert!(pass.tokens_after <= pipeline.threshold().unwrap());
        assert_eq!(sent(&pipeline), [found]);
    }
}

#[test]
fn p1_what_is_too_large_for_any_window_keeps_head_and_tail_and_the_rest_stays() {
    for tool in ["Bash", "Read"] {
        let mut pipeline = pipeline(Profile::throughline(), 20_000);
        history(&mut pipeline, 5_000);
        prepare(&mut pipeline);
        let texts = [text("small", 1_000), text("huge", 60_000)];
        asking(&mut pipeline, tool, &texts);
        let pass = prepare(&mut pipeline);
        let threshold = pipeline.threshold().unwrap();
        assert!(pass.tokens_after <= threshold && pass.tokens_after > threshold / 4 * 3, "{pass:?}");
        assert!(!pass.notices.iter().any(|notice| matches!(notice, Notice::StillOver { .. })));
        let sent = sent(&pipeline);
        assert_eq!(sent[0], texts[0], "as few as needed");
        let placeholder = recognise(&sent[1]).unwrap();
        assert_eq!(placeholder.chars, texts[1].chars().count());
        assert!(placeholder.handle.is_some());
        assert!(sent[1].contains("huge 1\n") && sent[1].contains(texts[1].lines().last().unwrap()));
        // Decided once.
        pipeline.push(says("so", "I see.").into());
        pipeline.push(user("next", "go on").into());
        prepare(&mut pipeline);
        assert!(pipeline.messages().iter().any(|message| message.to_text().contains("go on")));
    }
}

#[test]
fn p1_without_a_compaction_the_last_resort_is_to_cut() {
    for profile in [Profile::throughline(), Profile::claude()] {
        let mut pipeline = pipeline(Profile { compact: None, ..profile }, 20_000);
        history(&mut pipeline, 5_000);
        prepare(&mut pipeline);
        asking(&mut pipeline, "Read", &[text("huge", 60_000)]);
        let pass = prepare(&mut pipeline);
        assert!(pass.tokens_after <= 20_000, "{pass:?}");
        assert!(recognise(&sent(&pipeline)[0]).is_some());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn p1_no_unseen_result_is_replaced_while_the_request_fits(
        window in 8_000..60_000u64,
        share in 0.0..1.2f64,
        sizes in proptest::collection::vec(10..12_000usize, 1..5),
        is_read in any::<bool>(),
    ) {
        let mut pipeline = pipeline(Profile::throughline(), window);
        history(&mut pipeline, (window as f64 * share * 0.9) as u64);
        prepare(&mut pipeline);
        let texts: Vec<String> = sizes.iter().enumerate().map(|(n, &size)| text(&format!("r{n}"), size)).collect();
        asking(&mut pipeline, if is_read { "Read" } else { "Bash" }, &texts);
        let threshold = pipeline.threshold().unwrap();
        let fits = pipeline.tokens() <= threshold;
        let pass = prepare(&mut pipeline);
        let sent = sent(&pipeline);
        prop_assert!(pass.tokens_after <= threshold, "{:?}", pass);
        prop_assert_eq!(sent.len(), texts.len(), "{:?}", pass);
        for (sent, text) in sent.iter().zip(&texts) {
            let is_cut = recognise(sent).is_some_and(|found| found.chars == text.chars().count());
            prop_assert!(sent == text || (is_cut && !fits), "{:?}", pass);
        }
    }
}
