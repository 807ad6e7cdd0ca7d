//! Notes without a model.

use crate::common::{House, begin, calls, counter, gives, offline, session};
use serde_json::json;
use throughline_core::{Message, Role};
use throughline_memory::notes::{Author, Document, NotesLimits, Outcome, Over, Template};

fn document(text: &str) -> Document {
    let template = Template::default();
    let document = Document::parse(text, template.outline());
    assert_eq!(document.check(template.outline()), Ok(()), "{text}");
    document
}

fn body(text: &str, section: &str) -> String {
    document(text).section(section).unwrap().body().to_owned()
}

#[tokio::test]
async fn b10_facts_alone_make_notes() {
    let house = House::new();
    let mut keeper = house.keeper();
    let messages = session();
    let job = begin(&mut keeper, &messages);
    let updated = offline(job, &messages).await;
    assert_eq!((updated.by, updated.receipt.is_none()), (Author::Offline, true));
    let Outcome::Written { record, .. } = &updated.outcome else { panic!("{updated:?}") };
    assert_eq!(record.covers.as_ref(), messages.last().map(|message| &message.id));
    let text = house.text();
    assert!(body(&text, "Session Title").starts_with("Make the importer keep comments."));
    assert!(body(&text, "Current State").contains("12 tests pass"));
    assert!(body(&text, "Task specification").contains("Never touch the lockfile."));
    assert!(body(&text, "Files and Functions").contains("/app/src/import.rs (edited ×2)"));
    assert!(body(&text, "Workflow").contains("`cargo test -p importer` ×2: ok"));
    assert!(body(&text, "Errors & Corrections").contains("E0425"));
    assert!(body(&text, "Learnings").is_empty());
}

#[tokio::test]
async fn what_others_wrote_stays_beside_the_record() {
    let house = House::new();
    let mut keeper = house.keeper();
    let template = Template::default();
    let mut written = template.document();
    written.set_body(0, "The importer's comments");
    written.set_body(1, "Old state.");
    written.set_body(3, "import.rs: the entry point, calls the lexer.");
    written.set_body(7, "The lexer drops comments early.");
    house.file.write(&written.to_text()).unwrap();
    let messages = session();
    // Twice: the second record takes the place of the first.
    for _ in 0..2 {
        let job = begin(&mut keeper, &messages);
        keeper.finish(offline(job, &messages).await, None);
    }
    let text = house.text();
    assert_eq!(body(&text, "Session Title"), "The importer's comments");
    assert_eq!(body(&text, "Learnings"), "The lexer drops comments early.");
    let state = body(&text, "Current State");
    assert!(
        !state.contains("Old state.") && state.contains("12 tests pass"),
        "the state is always the newest"
    );
    let files = body(&text, "Files and Functions");
    assert!(
        files.starts_with("import.rs: the entry point, calls the lexer.\n\nFrom the record:\n- "),
        "{files}"
    );
    assert_eq!(text.matches("(edited ×2)").count(), 1, "{text}");
}

#[tokio::test]
async fn n4_offline_notes_of_a_long_session_are_within_the_limits() {
    let mut messages = Vec::new();
    for turn in 0..120 {
        let words = format!(
            "Task {turn}: move module_{turn} to the new layout.\n# Workflow\nNever rename table_{turn}; keep column c_{turn} at {turn}00 rows. {}",
            "Explain every step in the log file. ".repeat(8)
        );
        messages.push(Message::text(Role::User, words));
        let id = format!("c{turn}");
        messages.push(calls(
            &id,
            "Bash",
            json!({"command": format!("make migrate-{turn} TARGET=db_{turn}")}),
        ));
        messages
            .push(gives(&id, &format!("Exit code: 1\nerror: migration {turn} failed at step {}", turn * 7)));
        messages.push(Message::text(
            Role::Assistant,
            format!("Module {turn} is moved; checksum {:x}.", turn * 7919),
        ));
    }
    let house = House::new();
    let template = Template::default();
    let mut written = template.document();
    (2..10).for_each(|at| written.set_body(at, &"- an old line that somebody wrote\n".repeat(400)));
    house.file.write(&written.to_text()).unwrap();
    for limits in [
        NotesLimits::default(),
        NotesLimits { section_tokens: 300, total_tokens: 1_500, ..NotesLimits::default() },
    ] {
        let mut keeper = house.keeper_with(throughline_memory::notes::Wording::default(), limits, &[]);
        let job = begin(&mut keeper, &messages);
        let updated = offline(job, &messages).await;
        let Outcome::Written { record, .. } = &updated.outcome else { panic!("{updated:?}") };
        let text = house.text();
        let mut counter = counter();
        assert_eq!(record.tokens, counter.text(&text));
        assert_eq!(Over::of(&document(&text).sizes(&mut counter), &limits), None);
        assert!(body(&text, "Current State").contains("Task 119"));
        keeper.finish(updated, None);
    }
    let text = house.text();
    assert!(!body(&text, "Task specification").is_empty());
}

#[tokio::test]
async fn a_session_that_said_nothing_makes_no_notes() {
    let house = House::new();
    let mut keeper = house.keeper();
    let job = begin(&mut keeper, &[]);
    keeper.finish(offline(job, &[]).await, None);
    assert_eq!(keeper.notes().unwrap(), None);
}
