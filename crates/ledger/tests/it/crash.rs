//! Real processes, really killed.

use crate::common::{said, scratch, writer};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use throughline_core::{Block, Record, Role};
use throughline_ledger::{
    BackwardLines, Content, Home, LedgerError, ProblemKind, SyncPolicy, Writer, check, resume,
};

const HOME: &str = "THROUGHLINE_TEST_CHILD_HOME";
const FIRST: &str = "THROUGHLINE_TEST_CHILD_FIRST";

/// Starts this very test binary again, to run one of the `child_…` tests below in a process of its own.
fn child(test: &str, home: &Home, first: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("crash::{test}"), "--nocapture", "--test-threads=1"])
        .env(HOME, home.root())
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn message(n: u64) -> Record {
    let mut message = said(Role::User, &format!("m{n}"));
    // Short lines, lines longer than a pipe's buffer, and payloads that go to blobs.
    let length = [10, 3_000, 33_000, 100, 8_000][(n % 5) as usize];
    message.blocks.push(Block::text(format!("{n} ").repeat(1 + length / 6)));
    Record::Message(Box::new(message))
}

/// Appends until it is killed, and says after each append that it is done.
#[test]
fn child_appends() {
    let Some(root) = std::env::var_os(HOME) else { return };
    let home = Home::new(root);
    let mut n: u64 = std::env::var(FIRST).unwrap().parse().unwrap();
    let path = home.find("s").unwrap();
    let mut w = Writer::open(&home, &path, SyncPolicy::Never).unwrap();
    let mut out = std::io::stdout();
    loop {
        w.append(&[message(n)]).unwrap();
        writeln!(out, "ack {n}").unwrap();
        out.flush().unwrap();
        n += 1;
    }
}

#[test]
fn l7_kill_at_500_random_moments_loses_no_acknowledged_record() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[message(0)]).unwrap();
    let path = w.path().to_owned();
    drop(w);
    let mut next = 1;
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..500 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let acks = random % 6;
        let spins = (random >> 32) % 60_000;
        let mut child = child("child_appends", &s.home, next);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seen = 0;
        let mut acknowledged = next - 1;
        let mut note = |line: String| {
            if let Some(n) = line.strip_prefix("ack ").or_else(|| line.split("ack ").nth(1)) {
                acknowledged = n.parse().unwrap();
                seen += 1;
            }
            seen
        };
        while let Some(Ok(line)) = lines.next() {
            if note(line) > acks {
                break;
            }
        }
        // The child goes on meanwhile: the kill falls anywhere inside an append.
        for _ in 0..spins {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        lines.map_while(Result::ok).for_each(|line| {
            note(line);
        });
        child.wait().unwrap();
        next = verify_tail(&path, acknowledged) + 1;
    }
    // In the end, every record is there once, in order, and whole.
    let resumed = resume(&s.home, &path).unwrap();
    let ids: Vec<u64> =
        resumed.view.entries().iter().map(|e| e.message.id.as_str()[1..].parse().unwrap()).collect();
    assert_eq!(ids, (0..next).collect::<Vec<_>>());
    for entry in resumed.view.entries() {
        let n: u64 = entry.message.id.as_str()[1..].parse().unwrap();
        assert_eq!(Record::Message(Box::new((*entry.message).clone())), message(n));
    }
    let unexpected: Vec<_> = check(&s.home, &path)
        .unwrap()
        .problems
        .into_iter()
        .filter(|p| !matches!(p.kind, ProblemKind::Torn | ProblemKind::Garbage(_)))
        .collect();
    assert_eq!(unexpected, [], "a kill leaves cut lines and nothing else");
}

/// The newest message in the file, which must be the last acknowledged one or one that was just not acknowledged yet.
/// Reads the end alone: the whole is verified once, after the last kill.
fn verify_tail(path: &Path, acknowledged: u64) -> u64 {
    let file = std::fs::File::open(path).unwrap();
    let mut lines = BackwardLines::new(&file, path, file.metadata().unwrap().len());
    while let Some(line) = lines.next_line().unwrap() {
        if let Content::Whole(bytes) = line.bytes
            && let Some(rest) = bytes.strip_prefix(br#"{"kind":"message","id":"m"#)
            && serde_json::from_slice::<serde_json::Value>(bytes).is_ok()
        {
            let digits: String =
                rest.iter().take_while(|b| b.is_ascii_digit()).map(|&b| char::from(b)).collect();
            let last: u64 = digits.parse().unwrap();
            assert!(
                last >= acknowledged,
                "acknowledged up to m{acknowledged}, but the ledger ends at m{last}"
            );
            return last;
        }
    }
    panic!("the ledger holds no message");
}

/// Takes the ledger as often as it can; while it holds it, a file says so.
#[test]
fn child_contends() {
    let Some(root) = std::env::var_os(HOME) else { return };
    let home = Home::new(root);
    let path = home.find("s").unwrap();
    let held = home.root().join("held");
    let mut taken = 0;
    while taken < 40 {
        match Writer::open(&home, &path, SyncPolicy::Never) {
            Ok(writer) => {
                std::fs::OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .open(&held)
                    .expect("two writers at once");
                taken += 1;
                std::fs::remove_file(&held).unwrap();
                drop(writer);
            }
            Err(LedgerError::Locked { .. }) => std::thread::yield_now(),
            Err(e) => panic!("{e}"),
        }
    }
}

#[test]
fn l8_processes_that_contend_for_a_ledger_hold_it_one_at_a_time() {
    let s = scratch();
    drop(writer(&s.home, "s"));
    let children: Vec<Child> = (0..4).map(|_| child("child_contends", &s.home, 0)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
}
