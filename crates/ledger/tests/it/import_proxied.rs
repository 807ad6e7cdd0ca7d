//! B10: transcripts of sessions that a proxy has written ledgers of.

use crate::import_common::{THREAD, THREAD_FORK, codex_line, run, words, write};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use throughline_core::{ClientSession, Message, Meta, Record, Role, SessionId};
use throughline_ledger::import::Outcome;
use throughline_ledger::{Home, SyncPolicy, Writer};

fn numbered(ordinal: u64, kind: &str, payload: Value) -> String {
    let mut line: Value = serde_json::from_str(&codex_line(0, kind, payload)).unwrap();
    line["ordinal"] = ordinal.into();
    line.to_string()
}

fn said(ordinal: u64, role: &str, text: &str) -> String {
    let kind = if role == "user" { "input_text" } else { "output_text" };
    numbered(
        ordinal,
        "response_item",
        json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}),
    )
}

fn rollout(dir: &Path, thread: &str, lines: &[String]) -> PathBuf {
    let path = dir.join(format!("rollout-2026-04-01T09-00-00-{thread}.jsonl"));
    write(&path, lines);
    path
}

fn parent(dir: &Path) -> PathBuf {
    let meta = json!({"id": THREAD, "timestamp": "2026-04-01T09:00:00Z", "cwd": "/w"});
    let lines = [
        numbered(0, "session_meta", meta),
        said(1, "user", "parent one"),
        said(2, "assistant", "answer one"),
    ];
    rollout(dir, THREAD, &lines)
}

/// What a proxy writes of the parent. It is being held until the writer is dropped.
fn by_proxy(home: &Home) -> Writer {
    let meta = Meta {
        client_session: Some(ClientSession::new("codex", THREAD, None)),
        ..Meta::new(SessionId::new("by-proxy"), "2026-04-01T09:00:00Z".parse().unwrap(), "codex")
    };
    let mut writer = Writer::create(home, meta, SyncPolicy::Never).unwrap();
    let message = |role, text| Record::Message(Box::new(Message::text(role, text)));
    writer.append(&[message(Role::User, "parent one")]).unwrap();
    writer.update_card(|_| {}).unwrap();
    writer
}

fn answer(writer: &mut Writer) {
    let answer = Message::text(Role::Assistant, "answer one");
    writer.append(&[Record::Message(Box::new(answer))]).unwrap();
}

#[test]
fn b10_a_session_that_is_being_held_through_the_proxy_is_judged_when_it_rests() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    let file = parent(dir.path());
    let writer = by_proxy(&home);
    assert_eq!(run(&home, &[&file]).files[0].outcome, Outcome::Proxied, "its answer is on the way");
    drop(writer);
    assert_eq!(run(&home, &[&file]).files[0].outcome, Outcome::Imported, "its answer never came");
}

#[test]
fn b10_what_a_fork_goes_on_from_is_imported_though_it_came_by_way_of_the_proxy() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    answer(&mut by_proxy(&home));
    let first = parent(dir.path());
    assert_eq!(run(&home, &[&first]).files[0].outcome, Outcome::Proxied);
    // The fork was held without the proxy, and its file does not repeat what was before.
    let base = json!({"id": THREAD_FORK, "timestamp": "2026-04-01T10:00:00Z", "cwd": "/w",
        "forked_from_id": THREAD, "forked_from_ordinal_exclusive": 3});
    let fork = [numbered(3, "session_meta", base), said(4, "user", "fork two")];
    let fork = rollout(dir.path(), THREAD_FORK, &fork);
    let report = run(&home, &[&first, &fork]);
    let outcomes: Vec<&Outcome> = report.files.iter().map(|file| &file.outcome).collect();
    assert_eq!(outcomes, [&Outcome::Imported; 2], "{report:?}");
    assert_eq!(words(&home, THREAD_FORK), ["parent one", "answer one", "fork two"]);
}
