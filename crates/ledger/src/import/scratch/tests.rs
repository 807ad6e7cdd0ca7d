//! What is put away is found again, and what is held does not grow.

use super::{Limits, Paged, Scratch, Table, Texts};
use crate::import::{ClaudeImporter, ClaudeOptions, CodexImporter, CodexOptions, Importer, Output};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashMap;

/// So little that a few dozen messages are too many.
const TINY: Limits = Limits { keys: 7, filter: 9, items: 4, pages: 3, bytes: 50 };

fn tiny(dir: &tempfile::TempDir) -> Scratch {
    Scratch::new(dir.path().join("scratch"), TINY)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_table_is_a_map(steps in prop::collection::vec((0u128..200, any::<Option<u64>>()), 0..1500)) {
        let dir = tempfile::tempdir().unwrap();
        let scratch = tiny(&dir);
        let (mut table, mut map) = (Table::new(&scratch), HashMap::new());
        for (key, value) in steps {
            // Ids of one client may differ in a few bits only.
            let key = key << 64;
            if let Some(value) = value {
                table.put(key, value);
                map.insert(key, value);
            }
            prop_assert_eq!(table.get(key), map.get(&key).copied());
        }
        for key in 0..200 {
            prop_assert_eq!(table.get(key << 64), map.get(&(key << 64)).copied());
        }
        scratch.check().unwrap();
    }

    #[test]
    fn a_paged_array_is_an_array(steps in prop::collection::vec((0usize..300, any::<Option<u64>>()), 0..600)) {
        let dir = tempfile::tempdir().unwrap();
        let scratch = tiny(&dir);
        let (mut paged, mut array) = (Paged::new(&scratch), Vec::new());
        for (at, value) in steps {
            match value {
                Some(value) if at.is_multiple_of(3) => {
                    paged.change(at, |item| *item = value);
                    array.get_mut(at).into_iter().for_each(|item| *item = value);
                }
                Some(value) => {
                    paged.push(value);
                    array.push(value);
                }
                None => prop_assert_eq!(paged.get(at), array.get(at).copied()),
            }
        }
        prop_assert_eq!(paged.len(), array.len());
        let all: Vec<Option<u64>> = (0..=array.len()).map(|at| paged.get(at)).collect();
        prop_assert_eq!(all, (0..=array.len()).map(|at| array.get(at).copied()).collect::<Vec<_>>());
        scratch.check().unwrap();
    }

    #[test]
    fn texts_come_back(texts in prop::collection::vec("[a-zé]{0,40}", 0..100)) {
        let dir = tempfile::tempdir().unwrap();
        let scratch = tiny(&dir);
        let mut kept = Texts::new(&scratch);
        let places: Vec<_> = texts.iter().map(|text| kept.push(text)).collect();
        for (place, text) in places.into_iter().zip(texts) {
            prop_assert_eq!(kept.get(place), Some(text));
        }
        scratch.check().unwrap();
    }

    #[test]
    fn b10_claude_what_is_put_away_changes_nothing(steps in prop::collection::vec((0u8..12, any::<u16>()), 0..250)) {
        let dir = tempfile::tempdir().unwrap();
        let scratch = tiny(&dir);
        let mut small = ClaudeImporter::remembering_in(ClaudeOptions::default(), &scratch);
        let mut large = ClaudeImporter::new(ClaudeOptions::default());
        for (n, step) in steps.into_iter().enumerate() {
            let line = claude_line(n, step);
            prop_assert_eq!(told(&mut small, &line), told(&mut large, &line));
        }
        scratch.check().unwrap();
    }

    #[test]
    fn b10_codex_what_is_put_away_changes_nothing(steps in prop::collection::vec((0u8..12, any::<u16>()), 0..250)) {
        let dir = tempfile::tempdir().unwrap();
        let scratch = tiny(&dir);
        let options = CodexOptions { session: Some("s".into()) };
        let mut small = CodexImporter::remembering_in(options.clone(), &scratch);
        let mut large = CodexImporter::new(options);
        for (n, step) in steps.into_iter().enumerate() {
            let line = codex_line(n, step);
            prop_assert_eq!(told(&mut small, &line), told(&mut large, &line));
        }
        scratch.check().unwrap();
    }
}

pub(in crate::import) fn told(importer: &mut impl Importer, line: &Value) -> Vec<Output> {
    let mut out = Vec::new();
    importer.line(line.to_string().as_bytes(), &mut out);
    out
}

/// The nth record: mostly what follows the last one; at times a branch, a repetition, a result, a compaction.
pub(in crate::import) fn claude_line(n: usize, (what, random): (u8, u16)) -> Value {
    // Old clients used names that are no UUIDs.
    let id = |n: usize| if n.is_multiple_of(3) { format!("record-{n}") } else { uuid(n) };
    let some = random as usize % n.max(1);
    let (last, parent) = (n.checked_sub(1).map(id), (n > 0).then(|| id(some)));
    let user = |uuid: String, parent: Option<String>, content: Value| {
        json!({"type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": "s",
            "message": {"role": "user", "content": content}})
    };
    match what {
        0 => user(id(n), parent, json!("went back")),
        1 => user(id(some), last, json!("a repetition, or not")),
        2 => user(id(n), parent, json!([{"type": "tool_result", "tool_use_id": "t", "content": "r"}])),
        3 => {
            let ids: Vec<String> = (some..n).map(id).collect();
            json!({"type": "system", "subtype": "compact_boundary", "uuid": id(n), "parentUuid": null,
                "sessionId": "s", "compactMetadata": {"preservedMessages": {"uuids": ids}}})
        }
        4 => json!({"type": "system", "subtype": "compact_boundary", "uuid": id(n), "parentUuid": null,
            "sessionId": "s", "compactMetadata": {"preservedSegment": {"headUuid": id(some), "tailUuid": last}}}),
        5 => json!({"type": "progress", "uuid": id(n), "parentUuid": parent, "sessionId": "s"}),
        6 => json!({"type": "user", "uuid": id(n), "parentUuid": last, "sessionId": "s", "isSidechain": true,
            "agentId": format!("a{}", random % 3), "message": {"role": "user", "content": "for an agent"}}),
        _ => json!({"type": "assistant", "uuid": id(n), "parentUuid": last, "sessionId": "s",
            "message": {"role": "assistant", "id": format!("m{}", n / 3), "content": [{"type": "text", "text": "said"}]}}),
    }
}

pub(in crate::import) fn uuid(n: usize) -> String {
    uuid::Uuid::from_u128(n as u128 | 0xAB << 100).to_string()
}

/// The nth line: mostly a message of its own; at times one of the same words, a rollback, a compaction.
pub(in crate::import) fn codex_line(n: usize, (what, random): (u8, u16)) -> Value {
    let said = |role: &str, kind: &str, n: usize| json!({"type": "message", "role": role, "content": [{"type": kind, "text": format!("said {n}")}]});
    let some = random as usize % n.max(1);
    let (kind, payload) = match what {
        0 => ("event_msg", json!({"type": "thread_rolled_back", "num_turns": random % 5})),
        1 => {
            let kept = (some..n).step_by(2).map(|n| said("user", "input_text", n));
            let history: Vec<Value> = kept.chain([said("user", "input_text", n)]).collect();
            ("compacted", json!({"message": "in short", "replacement_history": history}))
        }
        2 => ("compacted", json!({"message": "in short"})),
        3 => ("response_item", said("user", "input_text", some)),
        4..=6 => {
            let mut item = said("assistant", "output_text", n);
            item["id"] = format!("msg_{}", if what == 4 { some } else { n }).into();
            ("response_item", item)
        }
        _ => ("response_item", said("user", "input_text", n)),
    };
    // Some lines are of one time, so that made ids repeat.
    json!({"timestamp": format!("2026-01-01T00:00:{:02}.000Z", random % 3), "type": kind, "payload": payload})
}

/// What an importer holds after so many lines, and after five times as many.
fn growth<I: Importer>(
    mut importer: I,
    line: impl Fn(usize) -> Value,
    held: impl Fn(&I) -> usize,
) -> (usize, usize) {
    const LINES: usize = 1500;
    let mut at = [0; 2];
    for n in 0..5 * LINES {
        told(&mut importer, &line(n));
        at[usize::from(n >= LINES)] = held(&importer);
    }
    (at[0], at[1])
}

/// Limits as they are, made small enough for a quick test.
const SMALL: Limits = Limits { keys: 400, filter: 14, items: 32, pages: 8, bytes: 1 << 10 };

/// Runs of a table know some of their places without reading: 8 bytes for 128 entries, at most 32 KB a run.
const SLACK: usize = 4 << 10;

#[test]
fn b10_claude_what_is_held_does_not_grow_with_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let scratch = Scratch::new(dir.path().to_owned(), SMALL);
    // Every tenth record branches off an older one.
    let line = |n: usize| claude_line(n, (if n.is_multiple_of(10) { 0 } else { 9 }, (n / 2) as u16));
    let small = ClaudeImporter::remembering_in(ClaudeOptions::default(), &scratch);
    let (before, after) = growth(small, line, ClaudeImporter::held);
    assert!(after <= before + SLACK, "{before} bytes, then {after}");
    let large = ClaudeImporter::new(ClaudeOptions::default());
    let (before, after) = growth(large, line, ClaudeImporter::held);
    assert!(after > 3 * before, "the measure sees growth: {before} bytes, then {after}");
    scratch.check().unwrap();
}

#[test]
fn b10_codex_what_is_held_does_not_grow_with_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let scratch = Scratch::new(dir.path().to_owned(), SMALL);
    let line = |n: usize| codex_line(n, ([5, 7][n % 2], n as u16));
    let small = CodexImporter::remembering_in(CodexOptions { session: Some("s".into()) }, &scratch);
    let (before, after) = growth(small, line, CodexImporter::held);
    assert!(after <= before + SLACK, "{before} bytes, then {after}");
    let large = CodexImporter::new(CodexOptions { session: Some("s".into()) });
    let (before, after) = growth(large, line, CodexImporter::held);
    assert!(after > 3 * before, "the measure sees growth: {before} bytes, then {after}");
    scratch.check().unwrap();
}

#[test]
fn trouble_with_scratch_files_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let in_the_way = dir.path().join("file");
    std::fs::write(&in_the_way, "").unwrap();
    let scratch = Scratch::new(in_the_way.clone(), TINY);
    let mut table = Table::new(&scratch);
    (0..8).for_each(|key| table.put(key, 0));
    let error = scratch.check().unwrap_err().to_string();
    assert!(error.contains("scratch file in") && error.contains(&*in_the_way.to_string_lossy()), "{error}");
}
