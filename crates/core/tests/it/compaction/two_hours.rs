//! The two-hour session of the seeds, before and after, in our own words.

use super::{call, outline, result, said};
use serde_json::json;
use throughline_core::compaction::{
    Compaction, Declined, Draft, HostContext, Notes, Scaffold, Trigger, is_handed_over,
};
use throughline_core::facts::Facts;
use throughline_core::profile::{CompactLimits, Strategy};
use throughline_core::scribe::SUMMARY_SECTIONS;
use throughline_core::stages::{OwnTools, Scene};
use throughline_core::tokens::Counter;
use throughline_core::{EditId, Entry, Message, MessageId, Role, invariants};

const NOTES: &str = "# Session Title\n_Five to ten telling words._\nSessions move from cookies to an encrypted store\n\n\
    # Current State\n_What is being worked on right now._\nWriting AuthSession.refresh(); the multi-device case is open.\n\n\
    # Worklog\n_Step by step._\n- login and logout issue and revoke AuthSession\n- middleware validates it on each request";

/// Two hours of work on the sign-in: forty early reads, then the turn that is going on.
fn session() -> Vec<Entry> {
    let mut entries = vec![said(
        "u001",
        Role::User,
        "We must rework the auth middleware; legal has new rules. Never log a token.",
    )];
    for n in 0..40 {
        let id = format!("toolu_{n:02}");
        entries.push(call(
            &format!("a{n:03}"),
            &id,
            "Read",
            json!({"file_path": format!("src/auth/part{n}.ts")}),
            "",
        ));
        entries.push(result(
            &format!("r{n:03}"),
            &id,
            &format!("export const part{n} = {};", "1 + ".repeat(400)),
        ));
    }
    entries.extend([
        said("u128", Role::Assistant, "login, logout and the middleware are done."),
        call(
            "u129",
            "toolu_80",
            "Read",
            json!({"file_path": "src/auth/AuthSession.ts"}),
            "I sketched the branches of AuthSession.refresh; first the core path.",
        ),
        result("u130", "toolu_80", "class AuthSession { /* as it is */ }"),
        call(
            "u131",
            "toolu_81",
            "Edit",
            json!({"file_path": "src/auth/AuthSession.ts", "old_string": "a", "new_string": "b"}),
            "refresh must renew the store's time to live and write a new opaque id.",
        ),
        result("u132", "toolu_81", "File edited."),
        said("u133", Role::User, "wait, refresh must think of several devices"),
        said("u134", Role::Assistant, "Right: refresh must not revoke the ids of other devices."),
    ]);
    entries
}

fn compact(
    entries: &[Entry],
    notes: Option<&Notes>,
    strategy: Strategy,
    limits: &CompactLimits,
) -> Result<Draft, Declined> {
    with_compaction(entries, notes, limits, |compaction, counter| {
        compaction.offline(strategy, counter, &mut |_, _| String::new())
    })
}

fn with_compaction(
    entries: &[Entry],
    notes: Option<&Notes>,
    limits: &CompactLimits,
    make: impl FnOnce(&Compaction<'_>, &mut Counter) -> Result<Draft, Declined>,
) -> Result<Draft, Declined> {
    let mut counter = Counter::for_model("gpt-5");
    let mut facts = Facts::default();
    entries.iter().for_each(|entry| facts.push(&entry.message));
    let tokens: Vec<u64> = entries.iter().map(|entry| counter.message(&entry.message).total()).collect();
    let scene =
        Scene { entries, tokens: &tokens, overhead: 0, now: None, sent: 0, tools: OwnTools::default() };
    let compaction = Compaction {
        scene,
        facts: &facts,
        limits,
        threshold: 30_000,
        trigger: Trigger::PreTurn,
        instructions: None,
        notes,
        left_out: &[],
        scaffold: Scaffold::Keep,
        host: &HostContext::default(),
        guarantee: false,
    };
    make(&compaction, &mut counter)
}

/// Small enough that the recent turn alone is kept.
fn limits() -> CompactLimits {
    CompactLimits { keep_tokens: 100, keep_texts: 3, files: 2, ..CompactLimits::default() }
}

#[test]
fn p5a_the_two_hour_session_before_and_after() {
    let entries = session();
    let notes = Notes { text: NOTES.to_owned(), covers: Some("u128".into()) };
    let draft = compact(&entries, Some(&notes), Strategy::Notes, &limits()).unwrap();
    let messages: Vec<_> = draft.entries.iter().map(Entry::shown).collect();
    assert!(invariants::check(&messages).is_empty());
    let checkpoint = draft.to_checkpoint(EditId::new("k"), None);
    let preserved = checkpoint.preserved.as_ref().unwrap();
    assert_eq!(
        (preserved.head.as_str(), preserved.anchor.as_str(), preserved.tail.as_str()),
        ("u001", "u128", "u134")
    );
    let shortened = outline(&draft.entries).replace(&"1 + ".repeat(400), "…");
    insta::assert_snapshot!(shortened);
}

#[test]
fn p5b_a_summary_keeps_nothing_else_but_files_that_were_read() {
    let entries = session();
    let draft = compact(&entries, None, Strategy::Summary, &limits()).unwrap();
    assert!(draft.entries.iter().all(|entry| entry.message.flags.meta));
    let text = draft.entries[0].message.to_text();
    assert!(text.contains("6. All user messages:") && text.contains("Never log a token."));
    assert_eq!(draft.entries.len(), 3, "the summary, and the two files read last");
}

#[test]
fn p5b_the_offline_summary_has_all_nine_sections_and_its_frame_fits_it() {
    for entries in [session(), session()[..3].to_vec()] {
        let draft = compact(&entries, None, Strategy::Summary, &limits()).unwrap();
        let text = draft.entries[0].message.to_text();
        let mut from = 0;
        for section in SUMMARY_SECTIONS {
            let at = text[from..].find(section).unwrap_or_else(|| panic!("{section} in {text}"));
            from += at + section.len();
            assert!(
                text[from..].trim_start().starts_with(|c: char| !c.is_ascii_digit()),
                "{section}: {text}"
            );
        }
        assert!(text.contains("Continue directly from \"Current Work\""), "{text}");
        assert!(!text.contains("Current State") && !text.contains("kept word for word"), "{text}");
    }
    let entries = session();
    let notes = Notes { text: NOTES.to_owned(), covers: Some("u128".into()) };
    let draft = compact(&entries, Some(&notes), Strategy::Notes, &limits()).unwrap();
    let text = draft.entries[0].message.to_text();
    assert!(text.contains("Continue directly from \"Current State\""), "{text}");
    assert!(text.contains("kept word for word"), "{text}");
    assert!(is_handed_over(&Message::text(Role::User, text.as_str())), "a client may send it back");
    // Notes by the user's own template may have other sections.
    let notes = Notes { text: "# Where we are\nin the middle".to_owned(), covers: Some("u128".into()) };
    let draft = compact(&entries, Some(&notes), Strategy::Notes, &limits()).unwrap();
    let text = draft.entries[0].message.to_text();
    assert!(text.contains("Continue directly:") && !text.contains("Current"), "{text}");
}

#[test]
fn p5_what_was_just_typed_is_in_the_next_request_whatever_the_strategy() {
    let mut entries = session();
    let typed = format!("Now this log: {} What is wrong?", "line of a log, ".repeat(1_500));
    entries.push(said("u200", Role::User, &typed));
    for strategy in [Strategy::Notes, Strategy::Summary, Strategy::Handoff] {
        for result_tokens in [None, Some(3_000)] {
            let limits = CompactLimits { keep_most: 400, result_tokens, ..limits() };
            let draft = compact(&entries, None, strategy, &limits).unwrap();
            let kept = draft.entries.iter().any(|entry| entry.message.to_text() == typed);
            assert!(kept, "{strategy:?} {result_tokens:?}");
        }
    }
}

#[test]
fn p5_a_text_written_ahead_stands_in_the_layout_of_its_strategy() {
    let entries = session();
    let ids = |strategy, covers: Option<&str>| {
        let covers = covers.map(MessageId::from);
        let draft = with_compaction(&entries, None, &limits(), |compaction, counter| {
            let plan = compaction.plan_covering(strategy, covers.as_ref(), counter)?;
            plan.finish(compaction, "what a model wrote", counter)
        });
        let name = |entry: &Entry| match entry.message.flags.summary {
            true => "summary".to_owned(),
            false => entry.message.id.to_string(),
        };
        draft.map(|draft| draft.entries.iter().map(name).collect::<Vec<_>>())
    };
    // What came after the text was written stays.
    let after = ["u131", "u132", "u133", "u134"];
    let handoff = ids(Strategy::Handoff, Some("u130")).unwrap();
    assert_eq!(handoff[..2], ["u001", "summary"]);
    assert_eq!(handoff[2..6], after);
    let summary = ids(Strategy::Summary, Some("u130")).unwrap();
    assert_eq!(summary[1..5], after);
    assert_eq!(ids(Strategy::Handoff, Some("gone")), Err(Declined::UnknownBoundary));
    assert_eq!(ids(Strategy::Handoff, None).unwrap()[..3], ["u001", "u133", "summary"]);
}

#[test]
fn p5c_a_handoff_keeps_the_users_messages_in_front() {
    let entries = session();
    let draft = compact(&entries, None, Strategy::Handoff, &limits()).unwrap();
    let ids: Vec<&str> = draft.entries.iter().map(|entry| entry.message.id.as_str()).collect();
    assert_eq!(&ids[..2], ["u001", "u133"]);
    assert!(draft.entries[2].message.flags.summary);
}

#[test]
fn p5a_declines_without_notes_or_with_an_unknown_end() {
    let entries = session();
    let limits = limits();
    let template =
        "# Session Title\n_Five to ten telling words._\n\n# Current State\n_What is being worked on._\n";
    let empty = Notes { text: template.to_owned(), covers: Some("u128".into()) };
    assert_eq!(compact(&entries, Some(&empty), Strategy::Notes, &limits).unwrap_err(), Declined::NoNotes);
    let lost = Notes { text: NOTES.to_owned(), covers: Some("nobody".into()) };
    assert_eq!(
        compact(&entries, Some(&lost), Strategy::Notes, &limits).unwrap_err(),
        Declined::UnknownBoundary
    );
    // A resumed session with notes but no boundary keeps all: here that is over the threshold.
    let resumed = Notes { text: NOTES.to_owned(), covers: None };
    assert!(matches!(
        compact(&entries, Some(&resumed), Strategy::Notes, &limits).unwrap_err(),
        Declined::OverLimit { .. }
    ));
}

#[test]
fn p5_what_would_not_shrink_is_refused() {
    let entries = vec![said("u", Role::User, "hi"), said("a", Role::Assistant, "hello")];
    let refused = compact(&entries, None, Strategy::Notes, &limits()).unwrap_err();
    assert!(matches!(refused, Declined::NotSmaller { .. }), "{refused}");
    assert_eq!(compact(&[], None, Strategy::Notes, &limits()).unwrap_err(), Declined::Nothing);
}
