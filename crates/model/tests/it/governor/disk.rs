//! Files: shared, torn, spoilt, unwritable.

use super::{after, job, limits, noon, open, receipt};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use throughline_model::{GovernorLimits, Reason, Receipt, Spent};

fn day_file(folder: &Path) -> PathBuf {
    folder.join("receipts/2026-03-01.jsonl")
}

fn add(folder: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).create(true).open(day_file(folder)).unwrap().write_all(bytes).unwrap();
}

#[test]
fn receipts_of_all_processes_count() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (open(folder.path(), limits()), open(folder.path(), limits()));
    here.ask(&job(), noon()).unwrap().settle(receipt(100, 0.25)).unwrap();
    assert_eq!(there.today(noon()).unwrap().tokens, 100);
    there.ask(&job(), noon()).unwrap().settle(receipt(50, 0.5)).unwrap();
    let spent = Spent { tokens: 150, dollars: 0.75, jobs: 2, running: 0, skipped: 0 };
    assert_eq!((here.today(noon()).unwrap(), there.today(noon()).unwrap()), (spent, spent));
    // A process that begins later reads it all.
    assert_eq!(open(folder.path(), limits()).today(noon()).unwrap(), spent);
    assert_eq!(here.today(after(noon(), 86_400)).unwrap(), Spent::default());

    let found = here.receipts(noon()).unwrap();
    assert_eq!(found.receipts.len(), 2);
    assert!(found.receipts.iter().all(|receipt| receipt.session.as_deref() == Some("s1")));
    assert!(here.receipts(after(noon(), 1)).unwrap().receipts.is_empty());
}

#[test]
fn the_day_of_the_ask_pays() {
    let folder = tempfile::tempdir().unwrap();
    let governor = open(folder.path(), limits());
    let permit = governor.ask(&job(), "2026-03-01T23:59:59Z".parse().unwrap()).unwrap();
    let late = "2026-03-02T00:00:20Z".parse().unwrap();
    assert_eq!(governor.today(late).unwrap().running, 1);
    permit.settle(Receipt { started: late, ..receipt(7, 0.0) }).unwrap();
    assert_eq!((governor.today(noon()).unwrap().tokens, governor.today(late).unwrap().tokens), (7, 0));
    // It is found by when it began.
    assert_eq!(governor.receipts(late).unwrap().receipts.len(), 1);
}

#[test]
fn a_torn_line_spoils_only_itself() {
    let folder = tempfile::tempdir().unwrap();
    let governor = open(folder.path(), limits());
    governor.ask(&job(), noon()).unwrap().settle(receipt(100, 0.1)).unwrap();
    // A process dies in the middle of a line.
    add(folder.path(), br#"{"id":"x","job":"notes","started":"2026-0"#);
    assert_eq!(governor.today(noon()).unwrap().tokens, 100);
    assert_eq!(governor.receipts(noon()).unwrap().skipped[0].why, "cut off");
    governor.ask(&job(), noon()).unwrap().settle(receipt(20, 0.1)).unwrap();

    for governor in [&governor, &open(folder.path(), limits())] {
        let spent = governor.today(noon()).unwrap();
        assert_eq!((spent.tokens, spent.jobs, spent.skipped), (120, 2, 1));
        let found = governor.receipts(noon()).unwrap();
        assert_eq!((found.receipts.len(), found.skipped.len()), (2, 1));
        let skipped = &found.skipped[0];
        let whole = std::fs::read(&skipped.path).unwrap();
        assert!(whole[skipped.offset as usize..].starts_with(br#"{"id":"x""#));
    }
}

#[test]
fn what_is_no_receipt_counts_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let governor = open(folder.path(), limits());
    let negative = serde_json::to_string(&receipt(5, -9.0)).unwrap();
    add(folder.path(), format!("nonsense\n\n[1,2]\n{{}}\n\u{0}\n{negative}\n").as_bytes());
    let mut long = vec![b'x'; 3 << 20];
    long.push(b'\n');
    add(folder.path(), &long);
    add(folder.path(), format!("{}\n", serde_json::to_string(&receipt(5, 1.0)).unwrap()).as_bytes());
    let spent = governor.today(noon()).unwrap();
    // Five lines are none; a negative amount does not make up for others.
    assert_eq!(spent, Spent { tokens: 10, dollars: 1.0, jobs: 2, running: 0, skipped: 5 });
    assert_eq!(governor.receipts(noon()).unwrap().skipped.len(), 5);
    std::fs::write(folder.path().join("running.jsonl"), "nonsense\n{}\n").unwrap();
    assert_eq!(governor.today(noon()).unwrap().running, 0);
    assert!(governor.ask(&job(), noon()).is_ok());
}

#[test]
fn a_file_that_became_shorter_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let governor = open(folder.path(), limits());
    for _ in 0..2 {
        governor.ask(&job(), noon()).unwrap().settle(receipt(100, 0.0)).unwrap();
    }
    assert_eq!(governor.today(noon()).unwrap().tokens, 200);
    let line = serde_json::to_string(&receipt(3, 0.0)).unwrap() + "\n";
    std::fs::write(day_file(folder.path()), line).unwrap();
    assert_eq!(governor.today(noon()).unwrap().tokens, 3);
}

#[test]
fn a_process_that_died_blocks_nobody_for_long() {
    let folder = tempfile::tempdir().unwrap();
    let one = GovernorLimits { at_once: 1, ..limits() };
    let dead = open(folder.path(), one.clone());
    std::mem::forget(dead.ask(&job(), noon()).unwrap());
    let governor = open(folder.path(), one);
    assert!(matches!(governor.ask(&job(), after(noon(), 100)).unwrap_err().reason, Reason::Busy { .. }));
    // Its minute is over, and one more to write the receipt.
    assert!(governor.ask(&job(), after(noon(), 120)).is_ok());
    // In its own process a job that runs late is known to run.
    assert!(matches!(dead.ask(&job(), after(noon(), 100)).unwrap_err().reason, Reason::Busy { .. }));
}

#[test]
fn amounts_that_are_no_numbers_are_written_as_none() {
    let folder = tempfile::tempdir().unwrap();
    let governor = open(folder.path(), limits());
    let odd = Receipt { seconds: f64::INFINITY, ..receipt(9, f64::NAN) };
    governor.ask(&job(), noon()).unwrap().settle(odd).unwrap();
    let spent = governor.today(noon()).unwrap();
    assert_eq!((spent.tokens, spent.dollars, spent.skipped), (9, 0.0, 0));
    assert!(governor.receipts(noon()).unwrap().receipts[0].estimated);
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("a/governor");
    let governor = open(&home, limits());
    governor.ask(&job(), noon()).unwrap().settle(receipt(1, 0.0)).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for dir in [&home, &home.join("receipts")] {
        assert_eq!(mode(dir), 0o700, "{}", dir.display());
    }
    for file in [day_file(&home), home.join("running.jsonl"), home.join("lock")] {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn a_receipt_that_cannot_be_written_is_kept_and_nothing_begins() {
    let folder = tempfile::tempdir().unwrap();
    let governor = open(folder.path(), limits());
    let permit = governor.ask(&job(), noon()).unwrap();
    // A folder stands where the file should be: not even root can write to it.
    std::fs::create_dir(day_file(folder.path())).unwrap();
    let error = permit.settle(receipt(40, 0.4)).unwrap_err().to_string();
    assert!(error.contains("2026-03-01.jsonl") && error.contains("check"), "{error}");
    assert!(matches!(governor.ask(&job(), noon()).unwrap_err().reason, Reason::Unavailable(_)));
    std::fs::remove_dir(day_file(folder.path())).unwrap();
    assert_eq!(governor.today(noon()).unwrap().tokens, 40);
    assert!(governor.ask(&job(), noon()).is_ok());
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = throughline_model::Governor::open(&file.join("x"), limits()).unwrap_err().to_string();
    assert!(error.starts_with("can't make "), "{error}");
}
