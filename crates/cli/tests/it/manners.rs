//! What a person meets on the first day: pipes, full disks, typing errors, two terminals.

use crate::common::{LONG, Machine, examples};
use std::process::Stdio;

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let machine = Machine::with_samples();
    for arguments in
        [&["sessions", "show", LONG, "--json"][..], &["sessions", "export", LONG, "--format", "chat"]]
    {
        let binary = assert_cmd::cargo::cargo_bin!("throughline");
        let mut child = std::process::Command::new(binary)
            .args(arguments)
            .env("THROUGHLINE_HOME", machine.dir.path().join("throughline"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_not_a_panic() {
    let machine = Machine::with_samples();
    let binary = assert_cmd::cargo::cargo_bin!("throughline");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let done = std::process::Command::new(binary)
        .args(["sessions", "list"])
        .env("THROUGHLINE_HOME", machine.dir.path().join("throughline"))
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&done.stderr).contains("cannot print"));
}

#[test]
fn a_fork_shows_what_it_took_over() {
    let machine = Machine::with_samples();
    let shown = machine.json(&["sessions", "show", LONG]);
    let first =
        shown["records"].as_array().unwrap().iter().find(|r| r["record"]["kind"] == "message").unwrap();
    let id = first["record"]["id"].as_str().unwrap();
    // The first part of a message id is enough.
    let forked = machine.json(&["sessions", "fork", LONG, "--at", &id[..8]]);
    let fork = forked["session"].as_str().unwrap();
    assert_eq!(forked["messages"], 1);
    assert!(machine.json(&["sessions", "show", fork])["records"].to_string().contains(id));
    assert!(machine.text(&["sessions", "export", fork, "--format", "jsonl"]).contains(id));
}

#[test]
fn undo_says_what_it_undid_and_not_twice() {
    let machine = Machine::with_samples();
    let undone = machine.json(&["sessions", "undo", LONG]);
    assert!(undone["what"].as_str().unwrap().starts_with("the compaction of 2026-03-11"), "{undone}");
    let error = machine.error(&["sessions", "undo", LONG, undone["undone"].as_str().unwrap()]);
    assert!(error.contains("is undone already"), "{error}");
}

#[test]
fn two_imports_at_once_both_succeed() {
    let machine = Machine::empty();
    let binary = assert_cmd::cargo::cargo_bin!("throughline");
    let start = || {
        std::process::Command::new(binary)
            .args(["sessions", "import"])
            .arg(examples())
            .env("THROUGHLINE_HOME", machine.dir.path().join("throughline"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let children = [start(), start(), start()];
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert!(machine.text(&["sessions", "check"]).contains("in order"));
}

#[test]
fn what_was_asked_for_and_can_not_be_is_said() {
    let machine = Machine::with_samples();
    assert!(machine.error(&["sessions", "search", "\"\""]).contains("holds no word"));
    machine.run(&["sessions", "import", "/does/not/exist"]).code(1);
    let none = machine.text(&["sessions", "list", "--tag", "nope"]);
    assert!(none.contains("None of 7 sessions fits"), "{none}");
}

#[test]
fn a_word_is_found_among_many_that_nobody_wrote() {
    let machine = Machine::with_samples();
    let mut query: Vec<String> = (0..60).map(|n| format!("zzunknown{n}")).collect();
    query.push("lease".into());
    let found = machine.json(&["sessions", "search", &query.join(" ")]);
    assert!(!found["hits"].as_array().unwrap().is_empty());
}
