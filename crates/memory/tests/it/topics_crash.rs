//! What is left when a writer is killed, the disk is full, the folder may not be written, or what is ours leads elsewhere.

use crate::topics::{House, NOW, saved};
use crate::topics_history::{git, has_git};
use crate::topics_meta::said;
use crate::topics_trouble::distinct;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use throughline_memory::topics::{Added, Change, NewTopic, TopicStore, TopicType};

/// Where the child works, with which number it begins, and how often it goes round. Set for the child alone.
const FOLDER: &str = "THROUGHLINE_TEST_CRASH_FOLDER";
const FIRST: &str = "THROUGHLINE_TEST_CRASH_FIRST";
const ROUNDS: &str = "THROUGHLINE_TEST_CRASH_ROUNDS";

/// Does all that writes, round after round. The tests below start this very binary again to run it in a process of its own.
#[test]
fn child_changes() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let number = |name| std::env::var(name).unwrap().parse::<usize>().unwrap();
    let (first, rounds) = (number(FIRST), number(ROUNDS));
    let store = TopicStore::open(folder.into());
    for n in (first..).step_by(10).take(rounds) {
        let kept = saved(store.add(distinct(n))).file;
        println!("ack {kept}");
        let old = saved(store.add(distinct(n + 1))).file;
        println!("ack {old}");
        store.confirm(&kept, said(5, "again")).unwrap();
        let better = NewTopic { body: format!("{} better", distinct(n + 1).body), ..distinct(n + 1) };
        let Added::Saved(new) = store.supersede(&old, better).unwrap() else { panic!("it is new") };
        println!("ack {}", new.file);
        let merged = store.merge(&store.propose(&[&kept, &new.file]).unwrap()).unwrap().file;
        println!("ack {merged}");
        store
            .update(&merged, Change { description: Some(format!("changed{n}")), ..Change::default() })
            .unwrap();
        let gone = saved(store.add(distinct(n + 2))).file;
        let history = store.history(Some(&gone), 1).unwrap();
        if let [change, ..] = history.as_slice() {
            store.undo(Some(&change.id), NOW).unwrap();
            println!("purging {gone}");
            store.purge(&gone).unwrap();
            println!("purged {gone}");
        }
    }
}

fn child(house: &House, first: usize, rounds: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "topics_crash::child_changes", "--nocapture", "--test-threads=1"])
        .env(FOLDER, house.store.folder())
        .env(FIRST, first.to_string())
        .env(ROUNDS, rounds.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The history's newest state is the folder's.
fn assert_recorded(house: &House) {
    git(house, &["fsck", "--strict", "--connectivity-only"]);
    let listing = git(house, &["ls-tree", "-r", "-z", "--format=%(objectname) %(path)", "main"]);
    let ids: BTreeMap<&str, &str> = listing
        .split_terminator('\0')
        .map(|row| row.split_once(' ').unwrap())
        .map(|(id, path)| (path.rsplit('/').next().unwrap(), id))
        .collect();
    let files: BTreeSet<String> = fs::read_dir(house.store.folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|file| file.ends_with(".md"))
        .collect();
    assert_eq!(ids.keys().map(|file| (*file).to_owned()).collect::<BTreeSet<_>>(), files);
    for (file, id) in ids {
        assert_eq!(git(house, &["cat-file", "blob", id]), house.text(file), "{file}");
    }
}

#[test]
fn whoever_is_killed_while_changing_leaves_whole_files_and_a_history_that_goes_on() {
    if !has_git() {
        return;
    }
    let house = House::new();
    house.put("MEMORY.md", "My own line.\r\n");
    let mut acknowledged = BTreeSet::new();
    for round in 0..10_usize {
        let mut child = child(&house, (round + 1) * 1_000, 1_000);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut purged = Vec::new();
        let mut note = |line: &str| {
            acknowledged.extend(line.split("ack ").nth(1).map(str::to_owned));
            purged.extend(line.split("purged ").nth(1).map(str::to_owned));
        };
        for line in lines.by_ref().take(4 + round) {
            note(&line);
        }
        // The child goes on meanwhile: the kill falls anywhere.
        for _ in 0..round * 40_000 {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        lines.for_each(|line| note(&line));
        child.wait().unwrap();

        house.store.repair_index(NOW).unwrap();
        // The next change picks up what was not recorded.
        let probe = saved(house.store.add(distinct(100_000 + round)));
        assert_eq!(probe.unrecorded, None);
        assert_recorded(&house);
        let (topics, problems) = house.store.all().unwrap();
        assert_eq!(problems, [], "every file is whole");
        let index = house.text("MEMORY.md");
        assert!(index.starts_with("My own line.\r\n"));
        for topic in &topics {
            let lines = index.matches(&format!("({})", topic.file)).count();
            assert_eq!(lines, usize::from(topic.meta.superseded_by.is_none()), "{}", topic.file);
        }
        for file in purged {
            assert_eq!(house.store.history(Some(&file), 1).unwrap(), [], "{file}");
            assert!(!house.path(&file).exists());
        }
    }
    assert!(acknowledged.len() >= 20, "{}", acknowledged.len());
    for file in acknowledged {
        assert!(house.path(&file).is_file(), "{file}");
    }
}

#[test]
fn two_processes_at_once_lose_nothing_and_record_everything() {
    if !has_git() {
        return;
    }
    let house = House::new();
    let children = [child(&house, 1_000, 3), child(&house, 2_000, 3)];
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    assert_recorded(&house);
    let (topics, problems) = house.store.all().unwrap();
    assert_eq!((topics.len(), problems.as_slice()), (2 * 3 * 4, [].as_slice()));
    assert_eq!(house.store.repair_index(NOW).unwrap(), Default::default());
    let changes = house.store.history(None, 1_000).unwrap();
    assert!(changes.iter().all(|change| !change.what.contains("changed by others")), "{changes:?}");
}

/// A child under a limit of bytes for each file: what is longer can't be written, as on a full disk.
#[cfg(unix)]
#[test]
fn on_a_full_disk_nothing_is_half_written() {
    let house = House::new();
    let file = saved(house.store.add(distinct(1))).file;
    let snapshot = |house: &House| (house.text(&file), house.text("MEMORY.md"));
    let before = snapshot(&house);
    let exe = std::env::current_exe().unwrap();
    let script =
        "trap '' XFSZ; ulimit -f 0; exec \"$0\" --exact topics_crash::child_finds_no_room --nocapture";
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(exe)
        .env(FOLDER, house.store.folder())
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(snapshot(&house), before);
    let left: Vec<_> =
        fs::read_dir(house.store.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "the file, the index, our folder: {left:?}");
    // With room again it works again.
    assert_eq!(saved(house.store.add(distinct(2))).unrecorded.is_some(), !has_git());
}

#[cfg(unix)]
#[test]
fn child_finds_no_room() {
    let Some(folder) = std::env::var_os(FOLDER).filter(|_| std::env::var_os(FIRST).is_none()) else { return };
    let store = TopicStore::open(folder.into());
    let file = "project_subject-1.md";
    assert!(store.add(distinct(3)).is_err());
    assert!(store.update(file, Change { body: Some("Other.".into()), ..Change::default() }).is_err());
    assert!(store.confirm(file, said(1, "q")).is_err());
    assert!(store.supersede(file, distinct(4)).is_err());
}

#[cfg(unix)]
#[test]
fn a_folder_that_may_not_be_written_is_read_and_says_so() {
    use std::os::unix::fs::PermissionsExt as _;
    let house = House::new();
    let file = saved(house.store.add(distinct(1))).file;
    let mode = |mode| fs::set_permissions(house.store.folder(), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    if fs::write(house.path("probe"), "x").is_ok() {
        eprintln!("skipped: whoever runs this may write everywhere");
        mode(0o700);
        return;
    }
    let change = Change { body: Some("Other.".into()), ..Change::default() };
    assert!(house.store.add(distinct(2)).is_err());
    assert!(house.store.update(&file, change).is_err());
    assert!(house.store.forget(&file, NOW).is_err());
    assert_eq!(house.store.read(&file).unwrap().file, file);
    assert!(house.store.index_for_session().unwrap().is_some());
    mode(0o700);
    assert!(house.text(&file).contains("body1"));
}

#[cfg(unix)]
#[test]
fn links_among_our_own_files_lead_nobody_elsewhere() {
    use std::os::unix::fs::symlink;
    let elsewhere = tempfile::tempdir().unwrap();
    let empty = || fs::read_dir(elsewhere.path()).unwrap().count() == 0;
    // The whole folder of ours.
    let house = House::new();
    fs::create_dir_all(house.store.folder()).unwrap();
    symlink(elsewhere.path(), house.path(".throughline")).unwrap();
    assert!(house.store.add(distinct(1)).is_err());
    assert!(house.store.history(None, 1).is_err() && house.store.undo(None, NOW).is_err());
    assert!(empty());
    // Parts of it: what can be done without is done without.
    for part in ["history.git", "fingerprints.db", "history.git/objects", "history.git/refs/heads"] {
        let house = House::new();
        saved(house.store.add(distinct(1)));
        let path = house.path(".throughline").join(part);
        let _ = fs::remove_file(&path);
        let _ = fs::remove_dir_all(&path);
        let target = elsewhere.path().join("target");
        if part == "fingerprints.db" {
            symlink(&target, &path).unwrap();
        } else {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(elsewhere.path(), &path).unwrap();
        }
        let saved = saved(house.store.add(distinct(2)));
        assert_eq!(saved.unrecorded.is_none(), part == "fingerprints.db" && has_git(), "{part}: {saved:?}");
        assert!(empty(), "{part}");
        assert!(
            matches!(house.store.add(distinct(2)).unwrap(), Added::Similar(_)),
            "{part}: found without it"
        );
    }
}

#[test]
fn a_huge_or_odd_file_stops_no_change() {
    let house = House::new();
    house.put("huge.md", &"word ".repeat(1 << 20));
    fs::write(house.path("bytes.md"), b"\xff\xfe\x00").unwrap();
    house.put("front.md", &format!("---\nname: {}\n---\nx", "y".repeat(1 << 18)));
    house.put("MEMORY.md", "Mine\r\n- [Gone](gone.md)\r\n");
    let file = saved(house.store.add(NewTopic { kind: TopicType::Feedback, ..distinct(1) })).file;
    let repair = house.store.repair_index(NOW).unwrap();
    assert_eq!(repair.dropped, ["gone.md"]);
    let index = house.text("MEMORY.md");
    assert!(index.starts_with("Mine\r\n") && index.contains(&format!("({file})")), "{index}");
    assert_eq!(index.matches('\n').count(), index.matches("\r\n").count(), "{index}");
    assert_eq!(house.store.repair_index(NOW).unwrap(), Default::default());
    house.store.forget("huge.md", NOW).unwrap();
    house.store.clusters(NOW).unwrap();
}
