//! B10: Claude Code transcripts.

use crate::import_common::{brief, fixture_lines, told};
use throughline_ledger::import::{ClaudeImporter, ClaudeOptions, Importer, Lane, Output};

fn importer() -> ClaudeImporter {
    ClaudeImporter::new(ClaudeOptions::default())
}

#[test]
fn b10_a_conversation_keeps_ids_groups_and_flags() {
    insta::assert_snapshot!(told(importer(), "claude/conversation.jsonl"));
}

#[test]
fn b10_branches_are_edits_and_parallel_results_are_not() {
    insta::assert_snapshot!(told(importer(), "claude/branches.jsonl"));
}

#[test]
fn b10_compactions_are_checkpoints_that_keep_by_id() {
    insta::assert_snapshot!(told(importer(), "claude/compaction.jsonl"));
}

#[test]
fn b10_attachments_that_a_model_saw_are_messages() {
    insta::assert_snapshot!(told(importer(), "claude/attachments.jsonl"));
}

#[test]
fn b10_sub_agents_in_the_file_are_sessions_of_their_own() {
    insta::assert_snapshot!(told(importer(), "claude/sidechains.jsonl"));
}

#[test]
fn b10_the_title_is_the_persons_then_the_clients_then_an_old_summary_of_this_session() {
    let mut importer = importer();
    let mut out = Vec::new();
    let mut titles = Vec::new();
    for line in fixture_lines("claude/conversation.jsonl") {
        importer.line(&line, &mut out);
        let title = importer.facts(Lane::MAIN).and_then(|facts| facts.title);
        if titles.last() != Some(&title) {
            titles.push(title);
        }
    }
    let titles: Vec<Option<&str>> = titles.iter().map(Option::as_deref).collect();
    assert_eq!(titles, [None, Some("Old title of this session"), Some("Parser fix"), Some("My own title")]);
    let facts = importer.facts(Lane::MAIN).unwrap();
    assert_eq!(facts.prompt.as_deref(), Some("Fix the parser. Never touch the lockfile."));
    assert_eq!(facts.model.as_deref(), Some("claude-haiku-5-5"));
    assert_eq!(facts.cwd.as_deref(), Some("/proj/demo/sub"));
    assert_eq!(facts.turns, 3);
}

#[test]
fn b10_a_line_too_long_to_hold_is_an_event_and_counts_as_a_line() {
    let mut importer = importer();
    let mut out = Vec::new();
    let lines = fixture_lines("claude/attachments.jsonl");
    importer.too_long(1 << 30, &mut out);
    assert!(out.is_empty()); // no session yet: it is held
    importer.line(&lines[0], &mut out);
    importer.too_long(2 << 30, &mut out);
    let text: Vec<String> = out
        .iter()
        .map(|output| match output {
            Output::Record { record, .. } => brief(record),
            Output::ToolResultFile { .. } => unreachable!(),
        })
        .collect();
    insta::assert_snapshot!(text.join("\n"));
}
