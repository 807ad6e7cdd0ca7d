//! B10: Codex rollouts, old and new.

use crate::import_common::{fixture_lines, told};
use throughline_core::SessionId;
use throughline_ledger::import::{CodexImporter, CodexOptions, Importer, Lane};

fn importer() -> CodexImporter {
    CodexImporter::new(CodexOptions::default())
}

#[test]
fn b10_items_are_messages_and_events_that_repeat_them_are_not() {
    insta::assert_snapshot!(told(importer(), "codex/modern.jsonl"));
}

#[test]
fn b10_rollbacks_are_edits_and_compactions_keep_what_is_known() {
    insta::assert_snapshot!(told(importer(), "codex/compaction.jsonl"));
}

#[test]
fn b10_the_oldest_rollouts_are_bare_items() {
    insta::assert_snapshot!(told(importer(), "codex/oldest.jsonl"));
}

#[test]
fn b10_a_rollout_of_events_alone_is_told_by_them() {
    insta::assert_snapshot!(told(importer(), "codex/events_only.jsonl"));
}

#[test]
fn b10_an_event_before_its_item_is_not_told_twice() {
    insta::assert_snapshot!(told(importer(), "codex/event_before_item.jsonl"));
}

#[test]
fn b10_a_rollout_without_a_first_line_is_named_by_its_file() {
    let session = SessionId::from("from-the-name");
    let mut importer = CodexImporter::new(CodexOptions { session: Some(session.clone()) });
    let mut out = Vec::new();
    for line in &fixture_lines("codex/modern.jsonl")[2..4] {
        importer.line(line, &mut out);
    }
    assert_eq!(importer.facts(Lane::MAIN).unwrap().session, Some(session));
    assert_eq!(out.len(), 3); // its first line and two messages
}
