//! B10: files that are imported again after they, their ledgers or their neighbours changed.

use crate::import_common::{
    ROOT, THREAD, THREAD_FORK, claude_line, codex_line, run, said_by, side_line, words, write,
};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use throughline_core::{MemoryMode, Meta, Record};
use throughline_ledger::import::Outcome;
use throughline_ledger::{Home, check, list, resume, session};

/// `n` says `w<n>`, on top of `parent`.
fn turn(n: usize, parent: Option<usize>) -> String {
    let role = if n % 2 == 1 { "user" } else { "assistant" };
    claude_line(n, parent, role, json!([{"type": "text", "text": format!("w{n}")}]))
}

fn chain(n: usize) -> Vec<String> {
    (1..=n).map(|n| turn(n, (n > 1).then(|| n - 1))).collect()
}

fn w(ns: impl IntoIterator<Item = usize>) -> Vec<String> {
    ns.into_iter().map(|n| format!("w{n}")).collect()
}

fn rollout(dir: &Path, thread: &str) -> PathBuf {
    dir.join(format!("rollout-2026-04-01T09-00-00-{thread}.jsonl"))
}

fn codex_meta(thread: &str, more: serde_json::Value) -> String {
    let mut payload = json!({"id": thread, "timestamp": "2026-04-01T09:00:00Z", "cwd": "/w"});
    payload.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    codex_line(0, "session_meta", payload)
}

fn no_problems(home: &Home) {
    for path in home.ledgers().unwrap() {
        assert_eq!(check(home, &path).unwrap().problems, [], "{}", path.display());
    }
}

#[test]
fn b10_a_sub_agent_in_two_files_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    let main = dir.path().join(format!("{ROOT}.jsonl"));
    let agents = dir.path().join(ROOT).join("subagents");
    fs::create_dir_all(&agents).unwrap();
    let agent = agents.join("agent-x1.jsonl");
    let inline = [side_line(51, None, "x1"), side_line(52, Some(51), "x1")];
    let mut lines = chain(2);
    lines.extend(inline.clone());
    write(&main, &lines);
    let mut own = inline.to_vec();
    own.extend((53..=80).map(|n| side_line(n, Some(n - 1), "x1")));
    write(&agent, &own);
    run(&home, &[&main, &agent]);
    lines.push(side_line(91, Some(52), "x1"));
    lines.push(side_line(92, Some(91), "x1"));
    lines.push(turn(3, Some(2)));
    write(&main, &lines);
    let report = run(&home, &[&main, &agent]);
    assert_eq!(report.messages, 3, "{report:?}");
    let session = format!("{ROOT}-agent-x1");
    let side = |ns: &[usize]| ns.iter().map(|n| format!("side {n}")).collect::<Vec<_>>();
    assert_eq!(words(&home, &session), side(&[51, 52, 91, 92]));
    assert_eq!(words(&home, ROOT), w(1..=3));
    assert_eq!(run(&home, &[&main, &agent]).messages, 0);
    // The other file goes on where it was.
    own.push(side_line(81, Some(80), "x1"));
    write(&agent, &own);
    assert_eq!(run(&home, &[&main, &agent]).messages, 1);
    assert_eq!(words(&home, &session), side(&(51..=81).collect::<Vec<_>>()));
    no_problems(&home);
}

#[test]
fn b10_a_rollout_with_a_line_put_in_near_the_front_adds_only_what_is_new() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    let file = rollout(dir.path(), THREAD);
    let usage = json!({"type": "token_count", "info": {"last_token_usage": {"input_tokens": 5}, "total_token_usage": {"total_tokens": 5}}});
    let mut lines = vec![codex_meta(THREAD, json!({}))];
    // The same words at the same time are two messages.
    for (n, role) in [(1, "user"), (1, "user"), (2, "assistant"), (3, "user"), (4, "assistant")] {
        lines.push(codex_line(n, "response_item", said_by(role, &format!("t{n}"))));
    }
    lines.push(codex_line(4, "event_msg", usage));
    lines.push(codex_line(5, "event_msg", json!({"type": "thread_rolled_back", "num_turns": 1})));
    lines.push(codex_line(6, "compacted", json!({"message": "SUM"})));
    write(&file, &lines);
    run(&home, &[&file]);
    assert_eq!(words(&home, THREAD), ["t1", "t1", "SUM"]);
    let ledger = home.find(THREAD).unwrap();
    let before = crate::import_common::records(&home, &ledger).len();
    lines.insert(1, codex_line(0, "turn_context", json!({"cwd": "/w", "model": "m"})));
    lines.push(codex_line(7, "response_item", said_by("user", "t7")));
    write(&file, &lines);
    let report = run(&home, &[&file]);
    assert_eq!((report.files[0].outcome.clone(), report.messages), (Outcome::Replaced, 1));
    assert_eq!(words(&home, THREAD), ["t1", "t1", "SUM", "t7"]);
    assert_eq!(crate::import_common::records(&home, &ledger).len(), before + 2);
    no_problems(&home);
}

#[test]
fn b10_a_replaced_file_that_begins_anew_begins_anew_in_the_view() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    let file = dir.path().join(format!("{ROOT}.jsonl"));
    write(&file, &chain(4));
    run(&home, &[&file]);
    write(&file, &[turn(11, None), turn(12, Some(11))]);
    run(&home, &[&file]);
    assert_eq!(words(&home, ROOT), w([11, 12]));
    // A message among those that are there already.
    write(&file, &[turn(11, None), turn(21, Some(11)), turn(12, Some(21)), turn(13, Some(12))]);
    run(&home, &[&file]);
    assert_eq!(words(&home, ROOT), w([11, 21, 12, 13]));
    no_problems(&home);
}

#[test]
fn b10_two_files_of_one_session_that_branched_are_told_apart_and_leave_each_other_alone() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    let [a, b] = ["a", "b"].map(|name| {
        fs::create_dir(dir.path().join(name)).unwrap();
        dir.path().join(name).join(format!("{ROOT}.jsonl"))
    });
    let (mut in_a, mut in_b) = (chain(8), chain(8));
    in_a.extend([turn(9, Some(8)), turn(10, Some(9))]);
    in_b.extend([turn(109, Some(8)), turn(110, Some(109))]);
    write(&a, &in_a);
    write(&b, &in_b);
    run(&home, &[&a, &b]);
    assert_eq!(words(&home, ROOT), w((1..=8).chain([109, 110])));
    let ledger = home.find(ROOT).unwrap();
    let before = fs::read(&ledger).unwrap();
    for _ in 0..2 {
        let report = run(&home, &[&a, &b]);
        let outcomes: Vec<&Outcome> = report.files.iter().map(|file| &file.outcome).collect();
        assert_eq!(outcomes, [&Outcome::Unchanged, &Outcome::Unchanged]);
        assert_eq!(fs::read(&ledger).unwrap(), before);
    }
    in_a.extend([turn(11, Some(10)), turn(12, Some(11))]);
    write(&a, &in_a);
    let report = run(&home, &[&a, &b]);
    assert_eq!(report.messages, 2);
    assert_eq!(words(&home, ROOT), w(1..=12));
    in_b.extend([turn(111, Some(110))]);
    write(&b, &in_b);
    run(&home, &[&a, &b]);
    assert_eq!(words(&home, ROOT), w((1..=8).chain(109..=111)));
    no_problems(&home);
}

/// A parent of two turns, and a fork that left it after the first.
fn parent_and_fork(dir: &Path) -> (PathBuf, PathBuf, Vec<String>) {
    let (parent, fork) = (rollout(dir, THREAD), rollout(dir, THREAD_FORK));
    let numbered = |n: u64, line: String| line.replacen('{', &format!("{{\"ordinal\":{n},"), 1);
    let parents = [
        numbered(0, codex_meta(THREAD, json!({}))),
        numbered(1, codex_line(1, "response_item", said_by("user", "parent one"))),
        numbered(2, codex_line(2, "response_item", said_by("assistant", "answer one"))),
        numbered(3, codex_line(3, "response_item", said_by("user", "parent two"))),
    ];
    let base = json!({"history_base": {"thread_id": THREAD, "end_ordinal_exclusive": 3}});
    let forks = vec![
        numbered(3, codex_meta(THREAD_FORK, base)),
        numbered(4, codex_line(61, "response_item", said_by("user", "fork two"))),
    ];
    write(&parent, &parents);
    write(&fork, &forks);
    (parent, fork, forks)
}

#[test]
fn b10_a_ledger_that_lost_its_first_line_gets_it_back() {
    let dir = tempfile::tempdir().unwrap();
    let (parent, fork, _) = parent_and_fork(dir.path());
    let home = Home::new(dir.path().join("home"));
    run(&home, &[&parent, &fork]);
    let ledger = home.find(THREAD_FORK).unwrap();
    let whole = fs::read(&ledger).unwrap();
    let line = whole.iter().position(|b| *b == b'\n').unwrap();
    for cut in [0, 1, line / 2, line - 1, line] {
        fs::write(&ledger, &whole[..cut]).unwrap();
        run(&home, &[&parent, &fork]);
        assert_eq!(words(&home, THREAD_FORK), ["parent one", "answer one", "fork two"], "cut at {cut}");
        let card = resume(&home, &ledger).unwrap().card.unwrap();
        assert_eq!(card.session, Some(THREAD_FORK.into()), "cut at {cut}");
        assert_eq!(card.forked_from, Some(THREAD.into()), "cut at {cut}");
        let metas = crate::import_common::records(&home, &ledger);
        assert_eq!(metas.iter().filter(|r| matches!(r, Record::Meta(_))).count(), 1, "cut at {cut}");
    }
}

#[test]
fn b10_a_fork_imported_before_its_parent_finds_it_later() {
    let dir = tempfile::tempdir().unwrap();
    let (parent, fork, mut lines) = parent_and_fork(dir.path());
    for grows in [false, true] {
        let home = Home::new(dir.path().join(format!("home-{grows}")));
        let report = run(&home, &[&fork]);
        assert!(report.files[0].notes[0].contains("is not here"), "{report:?}");
        assert_eq!(words(&home, THREAD_FORK), ["fork two"]);
        let mut expected = vec!["parent one", "answer one", "fork two"];
        if grows {
            lines.push(codex_line(62, "response_item", said_by("assistant", "fork three")));
            write(&fork, &lines);
            expected.push("fork three");
        }
        run(&home, &[&fork, &parent]);
        assert_eq!(words(&home, THREAD_FORK), expected);
        let ledger = home.find(THREAD_FORK).unwrap();
        let before = fs::read(&ledger).unwrap();
        run(&home, &[&fork, &parent]);
        assert_eq!(fs::read(&ledger).unwrap(), before);
        no_problems(&home);
    }
}

#[test]
fn b10_a_persons_edits_in_the_parent_do_not_move_the_fork_point() {
    let dir = tempfile::tempdir().unwrap();
    let (parent, fork, _) = parent_and_fork(dir.path());
    let whole = fs::read_to_string(&parent).unwrap();
    let home = Home::new(dir.path().join("home"));
    let two: Vec<String> = whole.lines().take(2).map(str::to_owned).collect();
    write(&parent, &two);
    run(&home, &[&parent]);
    let ledger = home.find(THREAD).unwrap();
    session::rollback(&home, &ledger, 1, jiff::Timestamp::UNIX_EPOCH).unwrap();
    session::undo(&home, &ledger, None, jiff::Timestamp::UNIX_EPOCH).unwrap();
    fs::write(&parent, whole).unwrap();
    run(&home, &[&parent, &fork]);
    assert_eq!(words(&home, THREAD_FORK), ["parent one", "answer one", "fork two"]);
    assert_eq!(words(&home, THREAD), ["parent one", "answer one", "parent two"]);
}

#[test]
fn b10_half_characters_are_replaced_and_the_message_stays() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    let (claude, codex) = (dir.path().join(format!("{ROOT}.jsonl")), rollout(dir.path(), THREAD));
    let half = |line: String| line.replace("HALF", "\\ud83d");
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "cut HALF"}]);
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]);
    write(
        &claude,
        &[
            turn(1, None),
            claude_line(2, Some(1), "assistant", call),
            half(claude_line(3, Some(2), "user", result)),
            turn(4, Some(3)),
            half(claude_line(5, Some(4), "user", json!("typed HALF"))),
        ],
    );
    let item = codex_line(1, "response_item", said_by("user", "half HALF"));
    write(&codex, &[codex_meta(THREAD, json!({})), half(item), "{\"broken\":\"\\ud83d".to_owned() + "\"} {"]);
    let report = run(&home, &[&claude, &codex]);
    assert_eq!(words(&home, ROOT)[2..], ["cut \u{fffd}", "w4", "typed \u{fffd}"]);
    assert_eq!(words(&home, THREAD), ["half \u{fffd}"]);
    let notes: Vec<&String> = report.files.iter().flat_map(|file| &file.notes).collect();
    let said = [
        "2 lines held half characters, which were replaced",
        "1 lines held half characters, which were replaced",
    ];
    assert_eq!(notes, said);
    assert_eq!(report.files[1].unreadable.len(), 1);
}

#[test]
fn b10_a_session_that_no_memory_may_be_made_of_stays_so() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    let file = rollout(dir.path(), THREAD);
    let mode = |home: &Home| list(home).unwrap()[0].card.memory_mode;
    let item = |n, text| codex_line(n, "response_item", said_by("user", text));
    let mut lines = vec![codex_meta(THREAD, json!({"memory_mode": "disabled"})), item(1, "secret")];
    write(&file, &lines);
    run(&home, &[&file]);
    assert_eq!(mode(&home), MemoryMode::Disabled);
    // Codex repeats the first line when it changes.
    lines.extend([codex_meta(THREAD, json!({"memory_mode": "polluted"})), item(2, "more")]);
    write(&file, &lines);
    run(&home, &[&file]);
    assert_eq!(mode(&home), MemoryMode::Polluted);
    // The person's own choice stands until the client says something new.
    let ledger = home.find(THREAD).unwrap();
    let mut writer = throughline_ledger::Writer::open(&home, &ledger, Default::default()).unwrap();
    writer.update_card(|card| card.memory_mode = MemoryMode::Disabled).unwrap();
    drop(writer);
    lines.push(item(3, "and more"));
    write(&file, &lines);
    run(&home, &[&file]);
    assert_eq!(mode(&home), MemoryMode::Disabled);
}

#[test]
fn b10_a_meta_that_is_there_is_not_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    let file = dir.path().join(format!("{ROOT}.jsonl"));
    for n in 1..5 {
        write(&file, &chain(n));
        run(&home, &[&file]);
    }
    let records = crate::import_common::records(&home, &home.find(ROOT).unwrap());
    let metas: Vec<&Meta> =
        records.iter().filter_map(|r| if let Record::Meta(m) = r { Some(&**m) } else { None }).collect();
    assert_eq!(metas.len(), 1);
}

#[test]
fn b10_terminals_that_take_turns_on_one_session_cost_what_they_say() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    let file = dir.path().join(format!("{ROOT}.jsonl"));
    for terminals in [2, 3] {
        let mut lines = chain(1000);
        let mut tips = vec![1000; terminals];
        // Each calls a tool, has its result and says something, always after the others did so.
        for n in 1001..1400 {
            let tip = &mut tips[n % terminals];
            lines.push(match (n - 1001) / terminals % 3 {
                0 => claude_line(n, Some(*tip), "assistant", json!([{"type": "tool_use", "id": format!("call{n}"), "name": "Bash", "input": {}}])),
                1 => claude_line(n, Some(*tip), "user", json!([{"type": "tool_result", "tool_use_id": format!("call{tip}"), "content": format!("w{n}")}])),
                _ => turn(n, Some(*tip)),
            });
            *tip = n;
        }
        lines.push(turn(1999, Some(tips[0])));
        write(&file, &lines);
        let home = Home::new(home.root().join(terminals.to_string()));
        run(&home, &[&file]);
        let own = (1001..1400).filter(|n| n % terminals == 0);
        let expected: Vec<String> = (1..=1000).chain(own).chain([1999]).map(|n| format!("{n:08x}")).collect();
        let view = resume(&home, &home.find(ROOT).unwrap()).unwrap().view;
        let shown: Vec<String> = view.messages().map(|m| m.id.as_str()[..8].to_owned()).collect();
        assert_eq!(shown, expected);
        let ledger = fs::metadata(home.find(ROOT).unwrap()).unwrap().len();
        let source = fs::metadata(&file).unwrap().len();
        assert!(ledger < 3 * source, "{source} bytes became {ledger}");
        no_problems(&home);
    }
}
