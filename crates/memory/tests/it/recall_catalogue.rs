//! The catalogue behind recall: in step with the files whatever happens to them, and never missed.

use crate::recall::{files, now, of};
use crate::topics::House;
use proptest::prelude::*;
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use throughline_memory::topics::TopicStore;

const WORDS: [&str; 8] =
    ["deploy", "database", "kubernetes", "invoice", "latency", "webhook", "migration", "button"];

fn memory(word: &str) -> String {
    format!("---\nname: About {word}\ndescription: {word}\ntype: feedback\n---\nAll about {word}.\n")
}

fn catalogue(house: &House) -> PathBuf {
    house.path(".throughline").join("catalogue.db")
}

#[tokio::test]
async fn files_that_come_go_or_change_are_noticed() {
    let house = House::without_history();
    house.put("feedback_a.md", &memory("deploy"));
    let recall = of(&house.store);
    assert_eq!(files(&recall, "deploy it").await, ["feedback_a.md"]);
    assert!(catalogue(&house).is_file());
    // Added by hand.
    house.put("feedback_b.md", &memory("webhook"));
    assert_eq!(files(&recall, "the webhook").await, ["feedback_b.md"]);
    // Edited in place: the folder's time stays.
    fs::write(house.path("feedback_b.md"), memory("invoice")).unwrap();
    assert_eq!(files(&recall, "the webhook").await, [""; 0]);
    assert_eq!(files(&recall, "the invoice").await, ["feedback_b.md"]);
    // Replaced as a whole.
    fs::write(house.path("new"), memory("latency")).unwrap();
    fs::rename(house.path("new"), house.path("feedback_b.md")).unwrap();
    assert_eq!(files(&recall, "latency").await, ["feedback_b.md"]);
    fs::remove_file(house.path("feedback_b.md")).unwrap();
    assert_eq!(files(&recall, "latency").await, [""; 0]);
    // A new process finds what the old one left.
    assert_eq!(files(&of(&house.store), "deploy it").await, ["feedback_a.md"]);
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(catalogue(&house)).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_damaged_catalogue_is_built_again() {
    let house = House::without_history();
    house.put("feedback_a.md", &memory("deploy"));
    assert_eq!(files(&of(&house.store), "deploy it").await, ["feedback_a.md"]);
    let whole = fs::read(catalogue(&house)).unwrap();
    let mut spoilt = whole.clone();
    spoilt[whole.len() / 2..].fill(0x55);
    for bytes in [b"not a database".to_vec(), Vec::new(), whole[..whole.len() / 3].to_vec(), spoilt] {
        fs::write(catalogue(&house), bytes).unwrap();
        assert_eq!(files(&of(&house.store), "deploy it").await, ["feedback_a.md"]);
    }
    // Somebody else's tables, and a version that we don't know.
    fs::remove_file(catalogue(&house)).unwrap();
    let other = Connection::open(catalogue(&house)).unwrap();
    other.execute_batch("CREATE TABLE x (y); PRAGMA user_version = 7;").unwrap();
    drop(other);
    assert_eq!(files(&of(&house.store), "deploy it").await, ["feedback_a.md"]);
    assert!(fs::read(catalogue(&house)).unwrap().starts_with(b"SQLite format 3"));
}

#[tokio::test]
async fn damage_in_the_middle_of_work_is_survived() {
    let house = House::without_history();
    for (n, word) in WORDS.iter().enumerate() {
        house.put(&format!("feedback_{n}.md"), &memory(word));
    }
    let recall = of(&house.store);
    assert_eq!(files(&recall, "deploy it").await, ["feedback_0.md"]);
    let length = fs::metadata(catalogue(&house)).unwrap().len() as usize;
    fs::write(catalogue(&house), vec![0x55; length]).unwrap();
    house.put("feedback_9.md", &memory("calendar"));
    assert_eq!(files(&recall, "the calendar").await, ["feedback_9.md"]);
    assert_eq!(files(&recall, "the webhook").await, ["feedback_5.md"]);
}

#[tokio::test]
async fn without_a_place_for_it_recall_works_all_the_same() {
    // A file where our folder should be.
    let house = House::without_history();
    house.put("feedback_a.md", &memory("deploy"));
    house.put(".throughline", "in the way");
    let recall = of(&house.store);
    assert_eq!(files(&recall, "deploy it").await, ["feedback_a.md"]);
    house.put("feedback_b.md", &memory("webhook"));
    assert_eq!(files(&recall, "the webhook").await, ["feedback_b.md"]);
    assert_eq!(house.text(".throughline"), "in the way");

    // A folder where its file should be; a link that leads elsewhere.
    for link in [false, true] {
        let house = House::without_history();
        house.put("feedback_a.md", &memory("deploy"));
        fs::create_dir(house.path(".throughline")).unwrap();
        let elsewhere = house.dir.path().join("precious");
        fs::write(&elsewhere, "precious").unwrap();
        if link {
            std::os::unix::fs::symlink(&elsewhere, catalogue(&house)).unwrap();
        } else {
            fs::create_dir(catalogue(&house)).unwrap();
        }
        assert_eq!(files(&of(&house.store), "deploy it").await, ["feedback_a.md"]);
        assert_eq!(fs::read_to_string(elsewhere).unwrap(), "precious");
    }
}

#[tokio::test]
async fn somebody_who_holds_the_catalogue_is_not_waited_for_for_long() {
    let house = House::without_history();
    house.put("feedback_a.md", &memory("deploy"));
    let recall = of(&house.store);
    assert_eq!(files(&recall, "deploy it").await, ["feedback_a.md"]);
    let other = Connection::open(catalogue(&house)).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    house.put("feedback_b.md", &memory("webhook"));
    assert_eq!(files(&recall, "the webhook").await, ["feedback_b.md"]);
    assert_eq!(files(&of(&house.store), "the webhook").await, ["feedback_b.md"]);
    drop(other);
    assert_eq!(files(&of(&house.store), "the webhook").await, ["feedback_b.md"]);
}

#[test]
fn several_at_once_see_what_is_there() {
    let house = House::without_history();
    house.put("feedback_0.md", &memory("deploy"));
    let folder = house.store.folder().to_owned();
    std::thread::scope(|scope| {
        for reader in 0..4 {
            let folder = folder.clone();
            scope.spawn(move || {
                let store = TopicStore::open(folder.clone()).without_history();
                for n in 0..12 {
                    let file = format!("feedback_{reader}-{n}.md");
                    fs::write(folder.join(&file), memory(&format!("subject{reader}x{n}"))).unwrap();
                    let found = of(&store).search(&format!("subject{reader}x{n}"), 5, now());
                    assert_eq!(found.first().map(|one| one.id.file.clone()), Some(file));
                }
            });
        }
    });
    let manifest = of(&house.store).manifest(now());
    assert_eq!(manifest.lines().count(), 1 + 4 * 12);
    for reader in 0..4 {
        for n in 0..12 {
            let found = of(&house.store).search(&format!("subject{reader}x{n}"), 5, now());
            assert_eq!(found.len(), 1, "{reader} {n}");
        }
    }
}

#[test]
fn what_cannot_be_read_keeps_nobody_from_being_found() {
    let house = House::without_history();
    house.put("feedback_a.md", &memory("deploy"));
    fs::write(house.path("feedback_b.md"), b"deploy \xff\xfe deploy").unwrap();
    fs::create_dir(house.path("feedback_c.md")).unwrap();
    std::os::unix::fs::symlink(house.dir.path().join("nowhere"), house.path("feedback_d.md")).unwrap();
    let found: Vec<String> =
        of(&house.store).search("deploy", 9, now()).into_iter().map(|one| one.id.file).collect();
    assert!(found.contains(&"feedback_a.md".to_owned()) && !found.contains(&"feedback_c.md".to_owned()));
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, usize),
    Replace(u8, usize),
    Remove(u8),
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..6u8, 0..WORDS.len()).prop_map(|(file, word)| Step::Put(file, word)),
        2 => (0..6u8, 0..WORDS.len()).prop_map(|(file, word)| Step::Replace(file, word)),
        2 => (0..6u8).prop_map(Step::Remove),
        1 => Just(Step::Restart),
    ];
    proptest::collection::vec(step, 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_catalogue_finds_what_a_look_at_every_file_finds(steps in steps()) {
        let house = House::without_history();
        fs::create_dir_all(house.store.folder()).unwrap();
        let mut recall = of(&house.store);
        for step in steps {
            match step {
                Step::Put(file, word) => house.put(&format!("f{file}.md"), &memory(WORDS[word])),
                Step::Replace(file, word) => {
                    house.put("new", &memory(WORDS[word]));
                    fs::rename(house.path("new"), house.path(&format!("f{file}.md"))).unwrap();
                }
                Step::Remove(file) => {
                    let _ = fs::remove_file(house.path(&format!("f{file}.md")));
                }
                Step::Restart => recall = of(&house.store),
            }
            for word in WORDS {
                let found = recall.search(word, 9, now());
                let by_catalogue: BTreeSet<String> = found.into_iter().map(|one| one.id.file).collect();
                let found = house.store.search(word, 9).unwrap();
                let by_files: BTreeSet<String> = found.into_iter().map(|one| one.topic.file).collect();
                prop_assert_eq!(by_catalogue, by_files);
            }
        }
    }
}
