//! When memories were shown and used.

use jiff::Timestamp;
use proptest::prelude::*;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use throughline_memory::usage::{Counts, UsageError, UsageLog, Use, Used};

struct Folder {
    dir: tempfile::TempDir,
    log: UsageLog,
}

impl Folder {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let log = UsageLog::of(dir.path());
        Self { dir, log }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(".throughline/usage.jsonl")
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn once(file: &str, what: Used, second: i64) -> Use {
    Use { at: at(second), session: Some("s-1".to_owned()), file: file.to_owned(), what }
}

#[test]
fn what_was_recorded_is_counted() {
    let folder = Folder::new();
    assert_eq!(folder.log.read().unwrap(), throughline_memory::usage::Usage::default());
    folder.log.record(&[once("a.md", Used::Shown, 1), once("b.md", Used::Shown, 1)]).unwrap();
    folder.log.record(&[once("a.md", Used::Used, 2), once("a.md", Used::Shown, 0)]).unwrap();
    folder.log.record(&[once("b.md", Used::Opened, 3)]).unwrap();
    let a =
        Counts { shown: 2, used: 1, last_shown: Some(at(1)), last_used: Some(at(2)), ..Counts::default() };
    assert_eq!(folder.log.counts_of("a.md").unwrap(), a);
    let usage = folder.log.read().unwrap();
    assert_eq!((usage.counts["b.md"].opened, usage.counts["b.md"].last_opened), (1, Some(at(3))));
    assert_eq!((usage.recent.len(), usage.passed_over), (5, 0));
    let text = fs::read_to_string(folder.path()).unwrap();
    let first = r#"{"at":"2027-01-15T08:00:01Z","session":"s-1","file":"a.md","what":"shown"}"#;
    assert_eq!(text.lines().next(), Some(first));
}

#[test]
fn nothing_is_made_where_there_are_no_memories() {
    let dir = tempfile::tempdir().unwrap();
    let log = UsageLog::of(&dir.path().join("memory"));
    log.record(&[once("a.md", Used::Shown, 1)]).unwrap();
    log.forget("a.md").unwrap();
    assert!(!dir.path().join("memory").exists());
}

#[test]
fn torn_and_foreign_lines_are_passed_over_and_reported() {
    let folder = Folder::new();
    folder.log.record(&[once("a.md", Used::Shown, 1)]).unwrap();
    let mut text = fs::read_to_string(folder.path()).unwrap();
    text.push_str("garbage\n{\"what\":\"foretold\",\"file\":\"a.md\"}\n\n[1]\n{\"at\":\"2027-01-15T08");
    fs::write(folder.path(), text).unwrap();
    folder.log.record(&[once("a.md", Used::Shown, 2)]).unwrap();
    let usage = folder.log.read().unwrap();
    assert_eq!((usage.counts["a.md"].shown, usage.passed_over), (2, 4));
    // What may be a newer version's stays, also when the file is written anew.
    folder.log.forget("b.md").unwrap();
    let text = fs::read_to_string(folder.path()).unwrap();
    assert!(text.contains("foretold") && !text.contains("garbage"), "{text}");
    assert_eq!(folder.log.counts_of("a.md").unwrap().shown, 2);
    folder.log.forget("a.md").unwrap();
    assert!(!fs::read_to_string(folder.path()).unwrap().contains("a.md"), "nobody's line of it stays");
}

#[test]
fn a_large_log_becomes_counts_and_none_is_lost() {
    let folder = Folder::new();
    let mut expected: HashMap<String, Counts> = HashMap::new();
    let mut largest = 0;
    for round in 0..200 {
        let uses: Vec<Use> = (0..50)
            .map(|n| {
                let what = if n % 3 == 0 { Used::Used } else { Used::Shown };
                once(&format!("user_{}.md", (n * round) % 70), what, i64::from(round * 50 + n))
            })
            .collect();
        for one in &uses {
            let counts = expected.entry(one.file.clone()).or_default();
            match one.what {
                Used::Shown => (counts.shown, counts.last_shown) = (counts.shown + 1, Some(one.at)),
                Used::Used => (counts.used, counts.last_used) = (counts.used + 1, Some(one.at)),
                Used::Opened => unreachable!(),
            }
        }
        folder.log.record(&uses).unwrap();
        largest = largest.max(folder.path().metadata().unwrap().len());
    }
    assert_eq!(folder.log.counts().unwrap(), expected);
    assert!(largest < 300 << 10, "10,000 lines would be {} bytes, and it had {largest}", 10_000 * 85);
    let recent = folder.log.read().unwrap().recent;
    assert!(recent.len() >= 500 && recent.windows(2).all(|pair| pair[0].at <= pair[1].at));
}

#[test]
fn a_log_of_many_memories_is_not_written_anew_each_time() {
    let folder = Folder::new();
    // Counts of as many memories take more bytes than lines may.
    let uses: Vec<Use> =
        (0..8_000).map(|n| once(&format!("project_memory-{n}.md"), Used::Shown, n)).collect();
    folder.log.record(&uses).unwrap();
    let after = fs::read(folder.path()).unwrap();
    assert!(after.starts_with(b"{\"folded_bytes\":"));
    folder.log.record(&[once("project_memory-1.md", Used::Shown, 9_000)]).unwrap();
    assert!(fs::read(folder.path()).unwrap().starts_with(&after), "it was added to");
    assert_eq!(folder.log.counts_of("project_memory-1.md").unwrap().shown, 2);
}

#[test]
fn what_is_forgotten_is_gone_and_what_is_renamed_goes_along() {
    let folder = Folder::new();
    for second in 0..700 {
        folder.log.record(&[once("a.md", Used::Shown, second), once("b.md", Used::Used, second)]).unwrap();
    }
    folder.log.forget("none.md").unwrap();
    assert!(fs::read_to_string(folder.path()).unwrap().contains("counts"), "older lines are counts now");
    folder.log.forget("a.md").unwrap();
    assert!(!fs::read_to_string(folder.path()).unwrap().contains("a.md"));
    folder.log.rename("b.md", "c.md").unwrap();
    let counts = folder.log.counts().unwrap();
    assert_eq!((counts.len(), counts["c.md"].used), (1, 700));
}

#[test]
fn eight_writers_at_once_lose_nothing() {
    let folder = Folder::new();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let log = folder.log.clone();
            scope.spawn(move || {
                for n in 0..200 {
                    let file = format!("user_{}.md", n % 5);
                    log.record(&[once(&file, Used::Shown, n), once(&file, Used::Used, n)]).unwrap();
                    if n % 50 == writer {
                        log.forget("nobody.md").unwrap();
                    }
                }
            });
        }
    });
    let usage = folder.log.read().unwrap();
    let all = usage.counts.values().fold((0, 0), |sum, counts| (sum.0 + counts.shown, sum.1 + counts.used));
    assert_eq!((all, usage.passed_over), ((1_600, 1_600), 0));
}

#[cfg(unix)]
#[test]
fn files_are_private_and_links_are_not_followed() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = Folder::new();
    let uses = [once("a.md", Used::Shown, 1)];
    folder.log.record(&uses).unwrap();
    let mode = |path: PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(folder.path()), mode(folder.dir.path().join(".throughline"))), (0o600, 0o700));

    let victim = tempfile::tempdir().unwrap();
    fs::write(victim.path().join("usage.jsonl"), "mine").unwrap();
    for name in [".throughline", ".throughline/usage.jsonl", ".throughline/usage.lock"] {
        let folder = Folder::new();
        let place = folder.dir.path().join(name);
        if name.contains('/') {
            fs::create_dir(folder.dir.path().join(".throughline")).unwrap();
            symlink(victim.path().join("usage.jsonl"), &place).unwrap();
        } else {
            symlink(victim.path(), &place).unwrap();
        }
        assert!(matches!(folder.log.record(&uses), Err(UsageError::Elsewhere { .. })), "{name}");
    }
    assert_eq!(fs::read_to_string(victim.path().join("usage.jsonl")).unwrap(), "mine");
    assert_eq!(fs::read_dir(victim.path()).unwrap().count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_bytes_in_the_file_leave_what_is_recorded_countable(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let folder = Folder::new();
        fs::create_dir(folder.dir.path().join(".throughline")).unwrap();
        fs::write(folder.path(), &bytes).unwrap();
        let before = folder.log.counts_of("a.md").unwrap().shown;
        folder.log.record(&[once("a.md", Used::Shown, 1)]).unwrap();
        prop_assert_eq!(folder.log.counts_of("a.md").unwrap().shown, before + 1);
        folder.log.forget("other.md").unwrap();
        prop_assert_eq!(folder.log.counts_of("a.md").unwrap().shown, before + 1);
    }
}
