use super::{call, result, said};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use std::sync::Arc;
use throughline_core::compaction::{CUT_FOR_RETRY, Trigger, drop_oldest, retry_note, rounds};
use throughline_core::pipeline::{
    Due, Journal, Moment, Notice, Pipeline, Settings, Unrecorded, WriterOutcome,
};
use throughline_core::profile::{CompactLimits, Profile, Threshold};
use throughline_core::stages::OwnTools;
use throughline_core::stages::budget::Persisted;
use throughline_core::{Entry, Event, Message, Origin, Record, Role};

fn five_rounds() -> Vec<Entry> {
    let mut entries = Vec::new();
    for n in 0..5 {
        entries.push(said(&format!("u{n}"), Role::User, "do it"));
        entries.push(call(&format!("a{n}"), &format!("c{n}"), "Read", json!({}), "reading"));
        entries.push(result(&format!("r{n}"), &format!("c{n}"), "text"));
        entries.push(said(&format!("d{n}"), Role::Assistant, "done"));
    }
    entries
}

#[test]
fn p5d_rounds_begin_where_nothing_is_split() {
    let entries = five_rounds();
    let starts = rounds(&entries);
    assert_eq!(starts[..4], [0, 1, 3, 4], "the request, the call, what was said behind its result");
}

#[test]
fn p5d_exactly_as_many_rounds_are_dropped_as_the_gap_needs() {
    let entries = five_rounds();
    let tokens = vec![100; entries.len()];
    let limits = CompactLimits::default();
    assert_eq!(drop_oldest(&entries, &tokens, Some(250), &limits), Some(3));
    assert_eq!(drop_oldest(&entries, &tokens, Some(300), &limits), Some(3));
    assert_eq!(drop_oldest(&entries, &tokens, Some(301), &limits), Some(4));
    // Else a fifth of the rounds: three of fifteen.
    assert_eq!(drop_oldest(&entries, &tokens, None, &limits), Some(rounds(&entries)[3]));
    assert_eq!(drop_oldest(&entries, &tokens, Some(1 << 40), &limits), None, "nothing would be left");
    assert_eq!(drop_oldest(&entries[..1], &tokens[..1], None, &limits), None);
}

#[test]
fn p5d_an_answer_in_front_gets_a_note_before_it() {
    let entries = five_rounds();
    assert_eq!(retry_note(entries.get(1)).map(|note| note.to_text()).as_deref(), Some(CUT_FOR_RETRY));
    assert!(retry_note(entries.first()).is_none());
}

/// A profile that can never compact what is said here.
fn hopeless() -> Pipeline {
    let mut profile = Profile::claude();
    profile.compact = Some(CompactLimits { threshold: Threshold::Share(0.5), ..CompactLimits::default() });
    let mut pipeline =
        Pipeline::new(profile, Settings { window: 1_000, overhead: 900, ..Settings::for_model("gpt-5") });
    pipeline.push(Message::text(Role::User, "word ".repeat(500)).into());
    pipeline
}

#[test]
fn p5_three_failures_open_the_breaker_and_only_the_user_closes_it() {
    let mut pipeline = hopeless();
    let mut tried = |compact| {
        let moment = Moment { compact, ..Moment::default() };
        pipeline.prepare(&moment, &mut Unrecorded).map(|pass| pass.notices).unwrap_or_default()
    };
    for _ in 0..3 {
        assert!(tried(None).iter().any(|notice| matches!(notice, Notice::StillOver { .. })));
    }
    assert_eq!(tried(None), [Notice::BreakerOpen(3)]);
    assert!(tried(Some(Trigger::Manual)).iter().any(|notice| matches!(notice, Notice::Declined { .. })));
}

#[test]
fn p5_a_models_failures_open_the_breaker_for_it_alone() {
    let mut pipeline = Pipeline::new(Profile::claude(), Settings::for_model("gpt-5"));
    let asked = Due { trigger: Trigger::Manual, tokens: 0, threshold: 0 };
    let unasked = Due { trigger: Trigger::PreTurn, ..asked };
    let mut journal = Events::default();
    for _ in 0..3 {
        assert!(pipeline.may_ask_writer(Some(unasked)));
        pipeline.writer_ended(WriterOutcome::Failed, None, &mut journal).unwrap();
    }
    assert!(!pipeline.may_ask_writer(Some(unasked)) && !pipeline.may_ask_writer(None));
    assert!(pipeline.may_ask_writer(Some(asked)), "the user may always ask");
    // Who resumes the session does not pay for it again.
    let mut resumed = Pipeline::new(Profile::claude(), Settings::for_model("gpt-5"));
    journal.0.iter().for_each(|event| resumed.recall_event(event));
    assert!(!resumed.may_ask_writer(None));
    resumed.writer_ended(WriterOutcome::Used, None, &mut journal).unwrap();
    assert!(resumed.may_ask_writer(None));
}

#[test]
fn p3b_after_a_cold_clear_no_deletion_is_left_live_or_resumed() {
    let noon = Timestamp::constant(1_772_452_800, 0);
    let settings = Settings {
        cache_edits: true,
        tools: OwnTools { recall: true, snip: false },
        ..Settings::for_model("claude-sonnet-4-5")
    };
    let mut pipeline = Pipeline::new(Profile::throughline(), settings.clone());
    let mut journal = Events::default();
    pipeline.push(said("u", Role::User, "go"));
    for n in 0..8 {
        pipeline.push(call(&format!("a{n}"), &format!("c{n}"), "Read", json!({}), "reading"));
        pipeline.push(result(&format!("r{n}"), &format!("c{n}"), &format!("line {n} of it ").repeat(60)));
    }
    let mut last = said("z", Role::Assistant, "done");
    Arc::make_mut(&mut last.message).at = Some(noon);
    pipeline.push(last);
    pipeline.push(said("v", Role::User, "go on"));
    let mut ask = |pipeline: &mut Pipeline, minutes: i64| {
        let now = Some(noon + SignedDuration::from_mins(minutes));
        pipeline.prepare(&Moment { now, ..Moment::default() }, &mut journal).unwrap();
        pipeline.cached_deletions().deleted.len()
    };
    assert_eq!(ask(&mut pipeline, 10), 3);
    let view = pipeline.view().entries().to_vec();
    assert_eq!(ask(&mut pipeline, 70), 0, "cleared in the view");
    assert_eq!(ask(&mut pipeline, 10), 0, "and not named again");
    // Whoever resumes reads the last event: nothing is deleted.
    let mut resumed = Pipeline::new(Profile::throughline(), settings);
    view.into_iter().for_each(|entry| resumed.push(entry));
    journal.0.iter().for_each(|event| resumed.recall_event(event));
    assert_eq!(resumed.cached_deletions().deleted, []);
}

/// A journal that holds events.
#[derive(Default)]
struct Events(Vec<Event>);

impl Journal for Events {
    type Error = std::convert::Infallible;

    fn append(&mut self, record: Record) -> Result<Origin, Self::Error> {
        if let Record::Event(event) = record {
            self.0.push(*event);
        }
        Ok(Origin::default())
    }

    fn persist(&mut self, _: &Persisted) -> Result<(), Self::Error> {
        Ok(())
    }

    fn place(&self, file_name: &str) -> Option<String> {
        Some(file_name.to_owned())
    }
}

#[test]
fn p5_the_triggers_are_told_apart() {
    let mut profile = Profile::throughline();
    if let Some(compact) = &mut profile.compact {
        compact.result_tokens = Some(1_500);
    }
    let trigger = |last: Entry| {
        let mut pipeline =
            Pipeline::new(profile.clone(), Settings { window: 4_000, ..Settings::for_model("gpt-5") });
        pipeline.push(said("u", Role::User, "begin"));
        for n in 0..6 {
            pipeline.push(said(&format!("a{n}"), Role::Assistant, &"some words here ".repeat(300)));
            pipeline.push(said(&format!("b{n}"), Role::User, "go on"));
        }
        pipeline.push(call("c", "c1", "Read", json!({}), "look"));
        if last.message.results().next().is_none() {
            pipeline.push(result("r", "c1", "x"));
        }
        pipeline.push(last);
        let pass = pipeline.prepare(&Moment::default(), &mut Unrecorded).unwrap();
        pass.changes.iter().find_map(|change| change.compacted.as_ref().map(|c| c.trigger))
    };
    assert_eq!(trigger(result("r", "c1", "x")), Some(Trigger::MidTurn));
    assert_eq!(trigger(said("n", Role::User, "next")), Some(Trigger::PreTurn));
}

#[test]
fn g_unseen_results_outlive_a_compaction_and_are_shortened_to_fit() {
    let mut profile = Profile::throughline();
    if let Some(compact) = &mut profile.compact {
        compact.result_tokens = Some(1_500);
    }
    let kept = |words: usize| {
        let mut pipeline =
            Pipeline::new(profile.clone(), Settings { window: 16_000, ..Settings::for_model("gpt-5") });
        pipeline.push(said("u", Role::User, "begin"));
        for n in 0..20 {
            pipeline.push(said(&format!("a{n}"), Role::Assistant, &"some words here ".repeat(300)));
            pipeline.push(said(&format!("b{n}"), Role::User, "go on"));
        }
        pipeline.push(call("c", "c1", "Read", json!({}), "look"));
        pipeline.push(result("r", "c1", &"long ".repeat(words)));
        let pass = pipeline.prepare(&Moment::default(), &mut Unrecorded).unwrap();
        let compacted = pass.changes.iter().find_map(|change| change.compacted.as_ref().map(|c| c.trigger));
        assert_eq!(compacted, Some(Trigger::MidTurn));
        let entries = pipeline.view().entries();
        let calls = entries.iter().flat_map(|entry| entry.message.calls()).count();
        let results = entries.iter().flat_map(|entry| entry.message.results()).count();
        assert_eq!((calls, results), (1, 1), "a result stays with its call");
        let shown = entries
            .iter()
            .find_map(|entry| entry.shown().results().next().map(|it| it.content.to_text().len()));
        shown == Some("long ".len() * words)
    };
    assert!(kept(200));
    assert!(kept(3_000), "more than the result may have by itself");
    assert!(kept(8_000), "more than half of the window");
    assert!(!kept(60_000), "head and tail of what does not fit");
}

#[test]
fn b9_a_cache_that_gives_less_than_expected_is_reported_and_an_announced_drop_is_not() {
    use throughline_core::Usage;
    use throughline_core::cost::Alert;
    let settings = Settings { window: 60_000, overhead: 20_000, ..Settings::for_model("claude-sonnet-4-5") };
    let mut pipeline = Pipeline::new(Profile::throughline(), settings);
    let mut ask = |n: usize, cached: f64| {
        pipeline.push(said(&format!("u{n}"), Role::User, &"some words here ".repeat(400)));
        let pass = pipeline.prepare(&Moment::default(), &mut Unrecorded).unwrap();
        let read = (pass.tokens_after as f64 * cached) as u64;
        let usage = Usage { cache_read: read, cache_write: pass.tokens_after - read, ..Usage::default() };
        let observed = pipeline.answered(&usage);
        pipeline.push(said(&format!("a{n}"), Role::Assistant, "done"));
        (pass.changed(), observed.alerts)
    };
    assert_eq!(ask(0, 0.0).1, [], "nothing could be cached yet");
    assert_eq!(ask(1, 0.92).1, []);
    assert!(matches!(ask(2, 0.1).1.as_slice(), [Alert::CacheLost { .. }]));
    for n in 3..40 {
        let (changed, alerts) = ask(n, 0.93);
        if changed {
            return assert_eq!(alerts, [], "the drop was announced");
        }
    }
    panic!("nothing was compacted");
}
