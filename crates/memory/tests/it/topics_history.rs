//! Every change of the folder is recorded, can be seen, taken back, and purged.

use crate::topics::{House, NOW, new, saved};
use crate::topics_meta::{at, said};
use crate::topics_trouble::distinct;
use std::fs;
use std::path::Path;
use std::process::Command;
use throughline_memory::topics::{
    Added, Change, ChangeKind, NewTopic, Recorded, TopicError, TopicStore, TopicType,
};
use throughline_memory::usage::{UsageLog, Use, Used};

/// Whether git is there; says so if it is not, and fails where everything is required.
pub(crate) fn has_git() -> bool {
    let has = Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success());
    let required = std::env::var("THROUGHLINE_REQUIRE").is_ok_and(|value| value == "all");
    assert!(has || !required, "git is not installed");
    if !has {
        eprintln!("skipped: git is not installed");
    }
    has
}

pub(crate) fn git(house: &House, args: &[&str]) -> String {
    let output = Command::new("git")
        .arg("--git-dir")
        .arg(house.path(".throughline/history.git"))
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn whats(house: &House) -> Vec<String> {
    house.store.history(None, 100).unwrap().into_iter().map(|change| change.what).collect()
}

fn body(text: &str) -> Change {
    Change { body: Some(text.to_owned()), ..Change::default() }
}

/// All files of the folder but ours, with their bytes.
fn snapshot(house: &House) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(house.store.folder())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn each_change_is_a_commit_that_says_what_and_which_file() {
    if !has_git() {
        return;
    }
    let house = House::new();
    let one = saved(house.store.add(distinct(1)));
    assert_eq!(one.unrecorded, None);
    let two = saved(house.store.add(distinct(2))).file;
    house.store.update(&one.file, body("Other words.")).unwrap();
    house.store.confirm(&two, said(5, "again")).unwrap();
    house.store.forget(&one.file, NOW).unwrap();
    assert_eq!(
        whats(&house),
        [
            "Forget project_subject-1.md",
            "Confirm project_subject-2.md",
            "Change project_subject-1.md",
            "Add project_subject-2.md",
            "Add project_subject-1.md"
        ]
    );
    let of_one = house.store.history(Some(&one.file), 2).unwrap();
    assert_eq!(
        of_one.iter().map(|change| change.kind).collect::<Vec<_>>(),
        [Some(ChangeKind::Forget), Some(ChangeKind::Update)]
    );
    assert_eq!(of_one[0].files, ["project_subject-1.md"]);
    assert!(
        git(&house, &["log", "--format=%an <%ae>"])
            .lines()
            .all(|who| who == "throughline <throughline@localhost>")
    );
    git(&house, &["fsck", "--strict"]);
    // What changes nothing is no change.
    house.store.update(&two, Change::default()).unwrap();
    assert!(house.store.repair_index(NOW).unwrap().added.is_empty());
    assert_eq!(whats(&house).len(), 5);
}

#[test]
fn what_others_changed_is_recorded_first_and_can_be_undone() {
    if !has_git() {
        return;
    }
    let house = House::new();
    house.put("mine.md", "By hand, long ago.\n");
    let one = saved(house.store.add(distinct(1))).file;
    house.put("mine.md", "By hand, changed.\n");
    house.put("new.md", "By hand, new.\n");
    fs::remove_file(house.path(&one)).unwrap();
    // Only touched: the same words in another file.
    let index = house.text("MEMORY.md");
    fs::remove_file(house.path("MEMORY.md")).unwrap();
    house.put("MEMORY.md", &index);
    saved(house.store.add(distinct(2)));
    assert_eq!(
        whats(&house),
        [
            "Add project_subject-2.md",
            "Find mine.md, new.md, project_subject-1.md changed by others",
            "Add project_subject-1.md",
            "Find mine.md changed by others"
        ]
    );
    let changes = house.store.history(None, 9).unwrap();
    assert_eq!(changes[1].kind, Some(ChangeKind::Found));
    let undone = house.store.undo(Some(&changes[1].id), NOW).unwrap();
    assert_eq!(
        (undone.restored.as_slice(), undone.removed.as_slice()),
        (["mine.md".to_owned(), one.clone()].as_slice(), ["new.md".to_owned()].as_slice())
    );
    assert_eq!(undone.over, [""; 0]);
    assert_eq!(house.text("mine.md"), "By hand, long ago.\n");
    assert!(house.path(&one).is_file() && !house.path("new.md").exists());
    assert!(house.text("MEMORY.md").contains("subject 2"), "the index has what came later");
    // The first state is what there is: nothing is before it.
    let error = house.store.undo(Some(&changes[3].id), NOW).unwrap_err();
    assert!(matches!(error, TopicError::NotUndone { .. }), "{error}");
}

#[test]
fn the_last_change_is_undone_then_the_one_before_and_an_undo_can_be_undone() {
    if !has_git() {
        return;
    }
    let house = House::new();
    house.put("MEMORY.md", "# My index\n");
    let mut states = vec![];
    let mut state = |house: &House| states.push(snapshot(house));
    state(&house);
    let one = saved(house.store.add(distinct(1))).file;
    state(&house);
    house.store.update(&one, Change { name: Some("Renamed".into()), ..body("Other.") }).unwrap();
    state(&house);
    let Added::Saved(two) = house.store.supersede(&one, distinct(2)).unwrap() else { panic!("it is new") };
    state(&house);
    house.store.forget(&two.file, NOW).unwrap();
    for expected in states.iter().rev() {
        house.store.undo(None, NOW).unwrap();
        assert_eq!(&snapshot(&house), expected);
    }
    let error = house.store.undo(None, NOW).unwrap_err();
    assert!(matches!(error, TopicError::NotUndone { .. }), "{error}");
    // The undo of the add, undone: the memory is back.
    let last = house.store.history(None, 1).unwrap().remove(0);
    assert_eq!(last.kind, Some(ChangeKind::Undo));
    house.store.undo(Some(&last.id[..6]), NOW).unwrap();
    assert_eq!(snapshot(&house), states[1]);
    // Once is enough.
    let add: Recorded = house
        .store
        .history(None, 100)
        .unwrap()
        .into_iter()
        .find(|change| change.kind == Some(ChangeKind::Update))
        .unwrap();
    assert!(add.undone);
    assert!(matches!(house.store.undo(Some(&add.id), NOW), Err(TopicError::NotUndone { .. })));
    for id in ["", "zz", "ffffffffffff", "--all", "HEAD"] {
        assert!(matches!(house.store.undo(Some(id), NOW), Err(TopicError::NoChange { .. })), "{id}");
    }
}

#[test]
fn undoing_an_older_change_says_what_it_went_over_and_keeps_it_in_the_history() {
    if !has_git() {
        return;
    }
    let house = House::new();
    let file = saved(house.store.add(distinct(1))).file;
    house.store.update(&file, body("Second.")).unwrap();
    house.store.update(&file, body("Third.")).unwrap();
    let second = house.store.history(None, 2).unwrap().remove(1);
    let undone = house.store.undo(Some(&second.id), NOW).unwrap();
    assert_eq!(undone.over, [file.as_str()]);
    assert!(house.text(&file).contains("body1"));
    let undo = house.store.history(None, 1).unwrap().remove(0);
    house.store.undo(Some(&undo.id), NOW).unwrap();
    assert!(house.text(&file).contains("Third."));
}

/// All that the folder has on disk of some words: plain, or in an object of the history, reachable or not.
fn traces(house: &House, word: &str) -> Vec<String> {
    fn walk(folder: &Path, word: &str, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
            let name = entry.path().display().to_string();
            if name.contains(word) {
                found.push(name.clone());
            }
            if entry.file_type().unwrap().is_dir() {
                walk(&entry.path(), word, found);
            } else if String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).contains(word) {
                found.push(name);
            }
        }
    }
    let mut found = vec![];
    walk(house.store.folder(), word, &mut found);
    let objects = git(house, &["cat-file", "--batch-all-objects", "--batch", "--unordered"]);
    if objects.contains(word) {
        found.push("an object of the history".to_owned());
    }
    found
}

#[test]
fn a_purge_leaves_no_trace_of_the_words() {
    if !has_git() {
        return;
    }
    let house = House::new();
    let topic = |name: &str, words: &str| new(TopicType::User, name, words, &format!("{words} {words}"));
    let keep = saved(house.store.add(topic("keep", "harmless words that stay here"))).file;
    let file = saved(house.store.add(topic("Zanzibar", "the quokka lives in secret"))).file;
    house.store.update(&file, body("The quokka moved to Kiribati.")).unwrap();
    house.store.forget(&file, NOW).unwrap();
    house.store.undo(None, NOW).unwrap();
    let Added::Saved(by) =
        house.store.supersede(&file, topic("plain", "nothing odd is said in this one")).unwrap()
    else {
        panic!("it is new")
    };
    house.put("MEMORY.md", &(house.text("MEMORY.md") + "- [Zanzibar](user_zanzibar.md) — quokka\n"));
    let log = UsageLog::of(house.store.folder());
    let shown = |file: &str| Use { at: NOW, session: None, file: file.to_owned(), what: Used::Shown };
    log.record(&[shown(&file), shown(&keep)]).unwrap();
    house.put(".throughline/catalogue.db", "quokka");
    for word in ["quokka", "zanzibar"] {
        assert!(traces(&house, word).len() > 1, "{word}");
    }
    let before = house.store.history(None, 100).unwrap();
    assert_eq!(house.store.purge(&file).unwrap(), None);
    for word in ["quokka", "Kiribati", "zanzibar", "Zanzibar"] {
        assert_eq!(traces(&house, word), [""; 0], "{word}");
    }
    git(&house, &["fsck", "--strict"]);
    assert_eq!(log.counts_of(&keep).unwrap().shown, 1);
    assert!(
        !house.path(".throughline/history.last").exists()
            && !house.path(".throughline/history.next").exists()
    );
    // The rest is as it was, with its ids.
    assert!(house.path(&keep).is_file() && house.path(&by.file).is_file());
    let index = house.text("MEMORY.md");
    assert!(index.contains(&keep) && index.contains(&by.file), "{index}");
    let after = house.store.history(None, 100).unwrap();
    let kept = |changes: &[Recorded]| {
        changes
            .iter()
            .filter(|change| change.files.contains(&keep))
            .map(|change| change.id.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(kept(&after), kept(&before));
    assert_eq!(after[0].kind, Some(ChangeKind::Purge));
    assert!(after.iter().any(|change| change.what == "Supersede (purged) by user_plain.md"), "{after:?}");
    // Life goes on.
    house.store.update(&keep, body("Still here.")).unwrap();
    house.store.undo(None, NOW).unwrap();
    assert!(house.text(&keep).contains("harmless"));
    assert!(matches!(house.store.purge(&file), Err(TopicError::NoTopic { .. })));
    assert!(matches!(house.store.purge("../x.md"), Err(TopicError::BadName { .. })));
}

#[test]
fn a_purge_finishes_what_an_interrupted_one_left() {
    if !has_git() {
        return;
    }
    let house = House::new();
    let one = saved(house.store.add(distinct(1))).file;
    saved(house.store.add(distinct(2)));
    let ours = |name: &str| house.path(".throughline").join(name);
    // Killed while the new history was written.
    fs::create_dir_all(ours("history.next/objects")).unwrap();
    house.store.update(&one, body("Other.")).unwrap();
    assert!(!ours("history.next").exists());
    assert_eq!(whats(&house).len(), 3);
    // Killed between the two moves: the new one is whole.
    fs::rename(ours("history.git"), ours("history.next")).unwrap();
    fs::create_dir(ours("history.last")).unwrap();
    house.store.update(&one, body("Another.")).unwrap();
    assert!(!ours("history.next").exists() && !ours("history.last").exists());
    assert_eq!(whats(&house).len(), 4);
    // The file was deleted and nothing else: the history and the forgotten still have it.
    fs::remove_file(house.path(&one)).unwrap();
    house.store.purge(&one).unwrap();
    assert_eq!(traces(&house, "w1x1"), [""; 0]);
}

#[test]
fn without_git_or_with_a_foreign_history_everything_else_works() {
    let house = House::without_history();
    let file = saved(house.store.add(distinct(1))).file;
    assert!(!house.path(".throughline/history.git").exists());
    for error in [house.store.history(None, 1).unwrap_err(), house.store.undo(None, NOW).unwrap_err()] {
        assert!(error.to_string().contains("switched off"), "{error}");
    }
    // A repository that somebody put there may name programs to be run: it is not touched.
    let house = House { store: TopicStore::open(house.store.folder().to_owned()), ..house };
    let foreign = house.path(".throughline/history.git");
    for (part, text) in
        [("config", "[core]\n\tbare = true\n\tfsmonitor = /bin/evil\n"), ("HEAD", "ref: refs/heads/main\n")]
    {
        fs::create_dir_all(foreign.join("objects")).unwrap();
        fs::create_dir_all(foreign.join("refs/heads")).unwrap();
        fs::write(foreign.join(part), text).unwrap();
    }
    let saved = house.store.update(&file, body("Written all the same.")).unwrap();
    assert!(saved.unrecorded.unwrap().contains("move it away"));
    assert!(house.text(&file).contains("all the same"));
    assert!(matches!(house.store.history(None, 1), Err(TopicError::History { .. })));
    // What can't be cleaned is not said to be purged.
    assert!(matches!(house.store.purge(&file), Err(TopicError::History { .. })));
    assert!(house.path(&file).is_file());
    fs::remove_dir_all(&foreign).unwrap();
    house.store.purge(&file).unwrap();
    assert!(!house.path(&file).exists());
}

#[test]
fn a_broken_or_lost_database_is_built_again() {
    if !has_git() {
        return;
    }
    let house = House::new();
    let one = saved(house.store.add(distinct(1))).file;
    let db = house.path(".throughline/fingerprints.db");
    fs::write(&db, "no database at all, but long enough to be looked at as one".repeat(100)).unwrap();
    assert!(matches!(house.store.add(distinct(1)).unwrap(), Added::Similar(head) if head.file == one));
    fs::remove_file(&db).unwrap();
    saved(house.store.add(distinct(2)));
    assert_eq!(
        whats(&house),
        ["Add project_subject-2.md", "Add project_subject-1.md"],
        "nothing was found changed"
    );
    // Changed by hand while it was lost.
    fs::remove_file(&db).unwrap();
    house.put(&one, "By hand.\n");
    fs::remove_file(house.path("project_subject-2.md")).unwrap();
    saved(house.store.add(distinct(3)));
    assert_eq!(whats(&house)[1], "Find project_subject-1.md, project_subject-2.md changed by others");
}

#[test]
fn odd_names_and_bytes_are_kept_as_they_are() {
    if !has_git() {
        return;
    }
    let house = House::new();
    let odd = ["a \"b\" c.md", "日本 語.md", "-rf.md", "new\nline.md", "tab\t.md"];
    for name in odd {
        house.put(name, &format!("About {name}.\n"));
    }
    fs::write(house.path("bytes.md"), b"\xff\xfe\x00 not text").unwrap();
    house.put("big.md", &"x".repeat(2 << 20));
    let one = saved(house.store.add(distinct(1))).file;
    let found = house.store.history(None, 2).unwrap().remove(1);
    let mut expected: Vec<&str> = odd.into_iter().chain(["bytes.md"]).collect();
    expected.sort_unstable();
    let mut files = found.files.clone();
    files.sort_unstable();
    assert_eq!(files, expected, "what is too large for a memory is left out");
    for name in odd.into_iter().chain(["bytes.md"]) {
        let before = fs::read(house.path(name)).unwrap();
        house.store.forget(name, at(5)).unwrap();
        house.store.undo(None, NOW).unwrap();
        assert_eq!(fs::read(house.path(name)).unwrap(), before, "{name}");
    }
    let same = NewTopic { name: "other".into(), ..distinct(1) };
    assert!(matches!(house.store.add(same).unwrap(), Added::Similar(head) if head.file == one));
    git(&house, &["fsck", "--strict"]);
}
