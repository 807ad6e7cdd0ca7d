//! The folder of memories under several writers, crashes, hostile names and links.

use crate::topics::{House, NOW, new, saved};
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use throughline_memory::topics::{Added, Change, NewTopic, Repair, TopicError, TopicStore, TopicType};

/// A memory that resembles no other.
pub(crate) fn distinct(n: usize) -> NewTopic {
    let words: Vec<String> = (0..8).map(|k| format!("w{n}x{k}")).collect();
    new(
        TopicType::Project,
        &format!("subject {n}"),
        &words.join(" "),
        &format!("{} body{n}", words.join(" ")),
    )
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let house = House::new();
    let folder = house.store.folder().to_owned();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let folder = folder.clone();
            scope.spawn(move || {
                // A store each, as processes have.
                let store = TopicStore::open(folder);
                for n in 0..10 {
                    let file = saved(store.add(distinct(writer * 100 + n))).file;
                    if n % 3 == 0 {
                        let change =
                            Change { body: Some(format!("changed{writer}x{n}")), ..Change::default() };
                        store.update(&file, change).unwrap();
                    }
                    if n % 5 == 4 {
                        store.forget(&file, Timestamp::UNIX_EPOCH).unwrap();
                    }
                }
            });
        }
    });
    let (heads, problems) = house.store.list().unwrap();
    assert_eq!(problems, []);
    assert_eq!(heads.len(), 4 * 8);
    let index = house.text("MEMORY.md");
    let lines: BTreeSet<&str> = index.lines().collect();
    assert_eq!((lines.len(), index.lines().count()), (32, 32));
    for head in heads {
        assert!(index.contains(&format!("({})", head.file)), "{}", head.file);
    }
    assert_eq!(fs::read_dir(house.path(".throughline/forgotten")).unwrap().count(), 8);
    assert_eq!(house.store.repair_index(NOW).unwrap(), Repair::default());
}

#[test]
fn of_two_writers_of_the_same_memory_one_is_told_of_the_other() {
    let house = House::new();
    let folder = house.store.folder().to_owned();
    let outcomes: Vec<Added> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let folder = folder.clone();
                scope.spawn(move || TopicStore::open(folder).add(distinct(1)).unwrap())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(outcomes.iter().filter(|added| matches!(added, Added::Saved(_))).count(), 1);
    assert_eq!(house.text("MEMORY.md").lines().count(), 1);
}

#[test]
fn whoever_is_killed_between_file_and_index_is_repaired() {
    let house = House::new();
    house.put("MEMORY.md", "# Mine\n\nI wrote this.\n- [Gone](gone.md) — dead\n- [Design](docs/gone.md)\n- [A](gone.md), [B](gone2.md)\n- [Wiki](https://w.test/gone.md)\nsee [Gone](gone.md)");
    let file = saved(house.store.add(distinct(1))).file;
    // The file was written, the line was not.
    let whole = house.text("MEMORY.md");
    let (before, _) = whole.split_once("- [subject 1]").unwrap();
    house.put("MEMORY.md", before);
    // A file of a person's, without frontmatter, with an odd name.
    house.put("my notes (old).md", "Text by hand.\n");
    let repair = house.store.repair_index(NOW).unwrap();
    assert_eq!(repair.dropped, ["gone.md"]);
    assert_eq!(
        repair.added.iter().collect::<BTreeSet<_>>(),
        BTreeSet::from([&file, &"my notes (old).md".to_owned()])
    );
    let index = house.text("MEMORY.md");
    assert!(index.starts_with("# Mine\n\nI wrote this.\n- [Design](docs/gone.md)\n- [A](gone.md), [B](gone2.md)\n- [Wiki](https://w.test/gone.md)\nsee [Gone](gone.md)\n"), "{index}");
    assert!(index.contains("- [my notes (old)](<my notes (old).md>) — Text by hand.\n"), "{index}");
    // Once is enough, and a forgotten file takes its odd line along.
    assert_eq!(house.store.repair_index(NOW).unwrap(), Repair::default());
    assert_eq!(house.text("MEMORY.md"), index);
    house.store.forget("my notes (old).md", Timestamp::UNIX_EPOCH).unwrap();
    assert!(!house.text("MEMORY.md").contains("my notes"));
}

#[test]
fn repairing_a_folder_that_is_not_there_makes_nothing() {
    let house = House::new();
    assert_eq!(house.store.repair_index(NOW).unwrap(), Repair::default());
    assert_eq!(house.store.list().unwrap(), (vec![], vec![]));
    assert_eq!(house.store.search("x", 5).unwrap(), []);
    assert!(house.store.forget("a.md", Timestamp::UNIX_EPOCH).is_err());
    assert!(!house.store.folder().exists());
}

#[test]
fn hostile_names_stay_in_the_folder() {
    let house = House::new();
    let long = "x".repeat(119);
    let names = [
        "../../x",
        "a/b\\c",
        "nul\0byte",
        "CON",
        "aux.md",
        ".hidden",
        "MEMORY.md",
        "MEMORY",
        "日本語",
        "💥💥",
        "-rf *",
        "\u{202e}gnp.exe",
        &long,
    ];
    let mut files = BTreeSet::new();
    for (n, name) in names.iter().enumerate() {
        let topic = NewTopic { name: (*name).to_owned(), ..distinct(n) };
        let file = saved(house.store.add(topic)).file;
        assert!(
            file.starts_with("project_") && file.len() < 80 && !file.contains(['/', '\\', '\0']),
            "{file}"
        );
        assert!(house.path(&file).is_file());
        files.insert(file);
    }
    assert_eq!(files.len(), names.len(), "none overwrote another");
    let beside: Vec<_> =
        fs::read_dir(house.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(beside, ["memory"]);
    for given in [
        "../memory/x.md",
        "/etc/passwd",
        "a/b.md",
        "..",
        "",
        "MEMORY.md",
        "memory.md",
        ".lock",
        "x\0.md",
        ".forgotten/x.md",
    ] {
        let change = Change { body: Some("b".into()), ..Change::default() };
        assert!(matches!(house.store.read(given), Err(TopicError::BadName { .. })), "{given:?}");
        assert!(matches!(house.store.update(given, change), Err(TopicError::BadName { .. })), "{given:?}");
        assert!(matches!(house.store.forget(given, Timestamp::UNIX_EPOCH), Err(TopicError::BadName { .. })));
    }
}

#[test]
fn a_name_that_is_taken_by_hand_is_not_overwritten() {
    let house = House::new();
    house.put("project_subject-1.md", "mine");
    house.put("Project_Subject-1-2.md", "mine too");
    let file = saved(house.store.add(distinct(1))).file;
    assert_eq!(file, "project_subject-1-3.md", "also where names differ by case alone");
    assert_eq!(house.text("project_subject-1.md"), "mine");
}

#[cfg(unix)]
#[test]
fn links_that_lead_out_of_the_folder_are_refused() {
    use std::os::unix::fs::symlink;
    let house = House::new();
    let file = saved(house.store.add(distinct(1))).file;
    let outside = house.dir.path().join("outside.md");
    fs::write(&outside, "---\nname: o\ndescription: d\ntype: user\n---\nsecret words").unwrap();
    symlink(&outside, house.path("link.md")).unwrap();
    symlink(house.dir.path().join("nowhere.md"), house.path("dangling.md")).unwrap();
    symlink(&file, house.path("inner.md")).unwrap();
    for link in ["link.md", "dangling.md"] {
        assert!(matches!(house.store.read(link), Err(TopicError::Outside { .. })), "{link}");
        let change = Change { body: Some("b".into()), ..Change::default() };
        assert!(matches!(house.store.update(link, change), Err(TopicError::Outside { .. })));
    }
    let (heads, problems) = house.store.list().unwrap();
    assert_eq!(heads.len(), 2);
    assert_eq!(problems.len(), 2);
    assert_eq!(house.store.search("secret", 5).unwrap(), []);
    // A link within the folder is followed, and stays a link.
    let change = Change { body: Some("through the link".into()), ..Change::default() };
    house.store.update("inner.md", change).unwrap();
    assert!(house.text(&file).contains("through the link"));
    assert!(house.path("inner.md").is_symlink());
    // Forgetting a link moves the link, not what it leads to.
    house.store.forget("link.md", Timestamp::UNIX_EPOCH).unwrap();
    assert!(fs::read_to_string(&outside).unwrap().contains("secret words"));
    // An index or a folder for the forgotten that leads out.
    fs::remove_file(house.path("MEMORY.md")).unwrap();
    symlink(&outside, house.path("MEMORY.md")).unwrap();
    assert!(matches!(house.store.add(distinct(2)), Err(TopicError::Outside { .. })));
    assert!(matches!(house.store.index_for_session(), Err(TopicError::Outside { .. })));
    fs::remove_file(house.path("MEMORY.md")).unwrap();
    fs::remove_dir_all(house.path(".throughline/forgotten")).unwrap();
    let elsewhere = house.dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, house.path(".throughline/forgotten")).unwrap();
    assert!(matches!(house.store.forget(&file, Timestamp::UNIX_EPOCH), Err(TopicError::Outside { .. })));
    assert!(house.path(&file).is_file());
    fs::remove_file(house.path(".throughline/lock")).unwrap();
    symlink(&outside, house.path(".throughline/lock")).unwrap();
    assert!(matches!(house.store.add(distinct(3)), Err(TopicError::Outside { .. })));
}

#[cfg(unix)]
#[test]
fn a_pipe_or_folder_with_a_memorys_name_stops_nobody() {
    let house = House::new();
    let file = saved(house.store.add(distinct(1))).file;
    fs::create_dir(house.path("folder.md")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(house.path("pipe.md")).status();
    let (heads, problems) = house.store.list().unwrap();
    assert_eq!(heads.len(), 1);
    assert_eq!(heads[0].file, file);
    if made.is_ok_and(|status| status.success()) {
        assert_eq!(problems.len(), 1);
        assert!(problems[0].what.contains("not a file"), "{}", problems[0]);
    }
    assert_eq!(house.store.search("w1x1", 5).unwrap().len(), 1);
}

#[test]
fn an_index_that_cannot_be_read_stops_a_memory_before_it_is_written() {
    let house = House::new();
    fs::create_dir_all(house.store.folder()).unwrap();
    fs::write(house.path("MEMORY.md"), b"caf\xe9\n").unwrap();
    assert!(matches!(house.store.add(distinct(1)), Err(TopicError::NotText { .. })));
    assert_eq!(house.store.list().unwrap().0, []);
    assert_eq!(fs::read(house.path("MEMORY.md")).unwrap(), b"caf\xe9\n");
    fs::write(house.path("MEMORY.md"), "x\n".repeat(600_000)).unwrap();
    assert!(matches!(house.store.add(distinct(1)), Err(TopicError::TooLarge { .. })));
    assert!(house.store.index_for_session().unwrap().unwrap().contains("WARNING"));
    house.put("big.md", &"x".repeat(2 << 20));
    assert!(matches!(house.store.read("big.md"), Err(TopicError::TooLarge { .. })));
}

/// Where the child writes, and with which number it begins. Set for the child alone.
const FOLDER: &str = "THROUGHLINE_TEST_TOPICS_FOLDER";
const FIRST: &str = "THROUGHLINE_TEST_TOPICS_FIRST";

/// Writes until it is killed. The test below starts this very binary again to run it in a process of its own.
#[test]
fn child_writes() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let first: usize = std::env::var(FIRST).unwrap().parse().unwrap();
    let store = TopicStore::open(folder.into());
    for n in first.. {
        let file = saved(store.add(distinct(n))).file;
        println!("ack {file}");
        store
            .update(&file, Change { description: Some(format!("changed{n}")), ..Change::default() })
            .unwrap();
        if n % 4 == 0 {
            store.forget(&file, Timestamp::UNIX_EPOCH).unwrap();
        }
    }
}

#[test]
fn whoever_is_killed_at_any_moment_leaves_a_folder_that_can_be_repaired() {
    let house = House::new();
    house.put("MEMORY.md", "My own line.\n");
    let mut acknowledged = BTreeSet::new();
    for round in 0..12_u32 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "topics_trouble::child_writes", "--nocapture", "--test-threads=1"])
            .env(FOLDER, house.store.folder())
            .env(FIRST, (round * 10_000).to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut note = |line: String| {
            let file = line.split("ack ").nth(1).map(str::to_owned);
            file.is_some_and(|file| acknowledged.insert(file))
        };
        let mut seen = 0;
        for line in lines.by_ref() {
            seen += u32::from(note(line));
            if seen > round % 5 {
                break;
            }
        }
        // The child goes on meanwhile: the kill falls anywhere inside a write.
        for _ in 0..round * 4_000 {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        lines.for_each(|line| {
            note(line);
        });
        child.wait().unwrap();

        house.store.repair_index(NOW).unwrap();
        let (heads, problems) = house.store.list().unwrap();
        assert_eq!(problems, [], "every file is whole");
        let index = house.text("MEMORY.md");
        assert!(index.starts_with("My own line.\n"));
        assert_eq!(index.lines().count(), heads.len() + 1, "{index}");
        for head in &heads {
            assert_eq!(index.matches(&format!("({})", head.file)).count(), 1, "{}", head.file);
        }
    }
    // What was acknowledged is there, or put away.
    let away: Vec<String> = fs::read_dir(house.path(".throughline/forgotten"))
        .map(|listing| {
            listing.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
        })
        .unwrap_or_default();
    assert!(acknowledged.len() >= 12);
    for file in acknowledged {
        assert!(house.path(&file).is_file() || away.iter().any(|name| name.ends_with(&file)), "{file}");
    }
}
