//! B10: whatever a file holds, an importer neither panics nor grows without bound, and what it emits makes sense.

use crate::import_common::fixture_lines;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashSet;
use throughline_core::{Item, Message, Record, View, invariants};
use throughline_ledger::import::{
    ClaudeImporter, ClaudeOptions, CodexImporter, CodexOptions, Importer, Lane, Output,
};

fn importers() -> [Box<dyn Importer>; 2] {
    [
        Box::new(ClaudeImporter::new(ClaudeOptions::default())),
        Box::new(CodexImporter::new(CodexOptions { session: Some("s".into()) })),
    ]
}

/// Feeds lines and folds what comes out, as a reader of the ledger would.
fn fold(importer: &mut dyn Importer, lines: &[Vec<u8>]) {
    let mut out = Vec::new();
    let mut known: HashSet<(Lane, String)> = HashSet::new();
    let mut opened: HashSet<Lane> = HashSet::new();
    let mut all: std::collections::HashMap<String, Message> = Default::default();
    let mut view = View::default();
    for line in lines {
        importer.line(line, &mut out);
        let size: usize = out.len();
        assert!(size <= 64, "one line gave {size} records");
        for output in out.drain(..) {
            let Output::Record { lane, record } = output else { continue };
            assert_eq!(
                matches!(record, Record::Meta(_)),
                opened.insert(lane),
                "each lane begins with one first line"
            );
            match record {
                Record::Message(message) => {
                    assert!(known.insert((lane, message.id.to_string())), "id {} twice", message.id);
                    if lane == Lane::MAIN {
                        all.insert(message.id.to_string(), (*message).clone());
                        view.push((*message).into());
                    }
                }
                Record::Edit(edit) if lane == Lane::MAIN => view.edit(*edit, Default::default()),
                Record::Checkpoint(checkpoint) => {
                    let mut entries = Vec::new();
                    for item in &checkpoint.items {
                        match item {
                            Item::Keep { id, .. } => {
                                assert!(known.contains(&(lane, id.to_string())), "{id} is kept and unknown");
                                entries.extend(all.get(id.as_str()).cloned().map(Into::into));
                            }
                            Item::New(message) => {
                                assert!(
                                    known.insert((lane, message.id.to_string())),
                                    "id {} twice",
                                    message.id
                                );
                                all.insert(message.id.to_string(), (**message).clone());
                                entries.push((**message).clone().into());
                            }
                        }
                    }
                    if lane == Lane::MAIN {
                        view.replace(&checkpoint, entries);
                    }
                }
                Record::Edit(_) | Record::Meta(_) | Record::Turn(_) | Record::Event(_) | Record::Card(_) => {}
            }
        }
    }
    let (repaired, _) = invariants::repair(view.messages().map(|m| (*m).clone()).collect());
    assert_eq!(invariants::check(&repaired), []);
}

fn every_fixture_line() -> Vec<Vec<u8>> {
    let names = [
        "claude/conversation.jsonl",
        "claude/branches.jsonl",
        "claude/compaction.jsonl",
        "claude/attachments.jsonl",
        "claude/sidechains.jsonl",
        "codex/modern.jsonl",
        "codex/compaction.jsonl",
        "codex/oldest.jsonl",
        "codex/events_only.jsonl",
        "codex/event_before_item.jsonl",
    ];
    names.iter().flat_map(|name| fixture_lines(name)).collect()
}

/// JSON that has the right keys with anything behind them.
fn odd_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z<>/]{0,12}".prop_map(Value::from),
        (0u32..6).prop_map(|n| json!(format!("{n:08x}-0000-4000-8000-000000000000"))),
        prop::sample::select(vec![
            "user",
            "assistant",
            "system",
            "attachment",
            "progress",
            "compact_boundary",
            "message",
            "function_call",
            "function_call_output",
            "response_item",
            "event_msg",
            "compacted",
            "session_meta",
            "turn_context",
            "user_message",
            "token_count",
            "thread_rolled_back",
            "tool_use",
            "tool_result",
            "text",
            "reasoning",
        ])
        .prop_map(Value::from),
    ];
    let keys = prop::sample::select(vec![
        "type",
        "uuid",
        "parentUuid",
        "sessionId",
        "message",
        "content",
        "payload",
        "role",
        "id",
        "call_id",
        "tool_use_id",
        "isSidechain",
        "isMeta",
        "isCompactSummary",
        "attachment",
        "compactMetadata",
        "preservedMessages",
        "allUuids",
        "preservedSegment",
        "headUuid",
        "tailUuid",
        "replacement_history",
        "text",
        "num_turns",
        "info",
        "usage",
        "timestamp",
        "ordinal",
        "output",
        "arguments",
        "subtype",
        "agentId",
        "rendered",
        "renderedRole",
        "history_base",
        "forked_from_id",
        "origin",
    ]);
    leaf.prop_recursive(4, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..7).prop_map(|pairs| pairs
                .into_iter()
                .map(|(k, v)| (k.to_owned(), v))
                .collect::<serde_json::Map<_, _>>()
                .into()),
        ]
    })
}

proptest! {
    #[test]
    fn b10_any_bytes_are_survived(lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..20)) {
        for mut importer in importers() {
            fold(&mut *importer, &lines);
        }
    }

    #[test]
    fn b10_any_json_is_survived(lines in prop::collection::vec(odd_json(), 0..30)) {
        let lines: Vec<Vec<u8>> = lines.iter().map(|v| v.to_string().into_bytes()).collect();
        for mut importer in importers() {
            fold(&mut *importer, &lines);
        }
    }

    #[test]
    fn b10_real_looking_lines_in_any_order_and_cut_anywhere_are_survived(
        picks in prop::collection::vec((any::<prop::sample::Index>(), prop::option::weighted(0.1, any::<prop::sample::Index>())), 0..80),
    ) {
        let all = every_fixture_line();
        let lines: Vec<Vec<u8>> = picks.iter().map(|(pick, cut)| {
            let line = pick.get(&all);
            let end = cut.map_or(line.len(), |cut| cut.index(line.len() + 1));
            line[..end].to_vec()
        }).collect();
        for mut importer in importers() {
            fold(&mut *importer, &lines);
        }
    }
}
