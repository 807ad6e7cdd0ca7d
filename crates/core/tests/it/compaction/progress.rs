//! Compactions that free next to nothing: the next rung is tried, and then nothing more.

use throughline_core::compaction::Notes;
use throughline_core::pipeline::{Moment, Notice, Pipeline, Settings, Unrecorded};
use throughline_core::profile::{CompactLimits, Profile, Strategy, Threshold};
use throughline_core::{Message, Role};

/// A pipeline whose notes keep nearly everything that is newer.
fn pipeline(strategies: Vec<Strategy>) -> Pipeline {
    let mut profile = Profile::off();
    profile.compact = Some(CompactLimits {
        threshold: Threshold::Share(0.5),
        strategies,
        keep_tokens: 0,
        keep_texts: 0,
        files: 0,
        ..CompactLimits::default()
    });
    Pipeline::new(profile, Settings { window: 12_000, ..Settings::for_model("gpt-5") })
}

fn say(pipeline: &mut Pipeline, n: usize, words: usize) {
    let words: Vec<String> = (0..words).map(|at| format!("word_{n}_{at}")).collect();
    let role = if n.is_multiple_of(2) { Role::User } else { Role::Assistant };
    let mut message = Message::text(role, words.join(" "));
    message.id = format!("m{n}").into();
    pipeline.push(message.into());
}

/// Fills the context to just over the threshold, in steps that are smaller than what a compaction frees.
fn fill(pipeline: &mut Pipeline, n: &mut usize) {
    while pipeline.tokens() <= 6_000 {
        say(pipeline, *n, if pipeline.tokens() < 5_000 { 105 } else { 4 });
        *n += 1;
    }
}

/// Notes that reach to the first message, and no further.
fn moment(pipeline: &Pipeline) -> Moment {
    let first = pipeline.view().entries().iter().find(|entry| !entry.message.flags.summary);
    let covers = first.map(|entry| entry.message.id.clone());
    let notes = Notes { text: "# Current State\nreading".to_owned(), covers };
    Moment { notes: Some(notes), ..Moment::default() }
}

#[test]
fn p5_a_rung_that_frees_next_to_nothing_gives_way_to_the_next() {
    let mut pipeline = pipeline(vec![Strategy::Notes, Strategy::Summary]);
    fill(&mut pipeline, &mut 0);
    let moment = moment(&pipeline);
    let pass = pipeline.prepare(&moment, &mut Unrecorded).unwrap();
    let compacted = pass.changes[0].compacted.as_ref().unwrap();
    assert_eq!(compacted.strategy, Strategy::Summary);
    assert!(compacted.tokens_after * 2 < compacted.tokens_before);
}

#[test]
fn p5_two_compactions_without_progress_are_enough() {
    let mut pipeline = pipeline(vec![Strategy::Notes]);
    let mut n = 0;
    let mut told = None;
    for round in 0..5 {
        fill(&mut pipeline, &mut n);
        let moment = moment(&pipeline);
        let pass = pipeline.prepare(&moment, &mut Unrecorded).unwrap();
        if pass.notices.iter().any(|notice| matches!(notice, Notice::NoProgress { .. })) {
            assert!(!pass.changed(), "nothing is tried unasked");
            told = Some(round);
            break;
        }
        assert!(pass.changed(), "round {round}: {:?}", pass.notices);
    }
    assert_eq!(told, Some(2), "people are told after two of them");
}
