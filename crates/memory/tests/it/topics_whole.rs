//! All memories, and each with its file, as a person sees and rewrites them.

use crate::topics::{House, NOW, new, saved};
use crate::topics_trouble::distinct;
use std::fs;
use throughline_memory::topics::{TopicError, TopicType};

#[test]
fn all_has_more_than_a_manifest_does() {
    let house = House::new();
    for n in 0..205 {
        house.put(
            &format!("feedback_{n}.md"),
            &format!("---\nname: n{n}\ndescription: d\ntype: feedback\n---\n\nbody {n}\n"),
        );
    }
    house.put("bad.md", "no frontmatter");
    fs::write(house.path("bytes.md"), [0xff, 0xfe]).unwrap();
    let (topics, problems) = house.store.all().unwrap();
    assert_eq!(topics.len(), 206);
    let files: Vec<&str> = problems.iter().map(|problem| problem.file.as_str()).collect();
    assert!(files.len() == 2 && files.contains(&"bad.md") && files.contains(&"bytes.md"), "{problems:?}");
}

#[test]
fn a_file_is_rewritten_as_a_whole_and_only_as_it_was_seen() {
    let house = House::new();
    let file =
        saved(house.store.add(new(TopicType::Feedback, "Tests first", "When you commit", "Run the tests.")))
            .file;
    let before = house.store.source(&file).unwrap();
    let after = before
        .replace("name: Tests first", "name: Tests always\nmine: kept # so")
        .replace("Run the", "Do run the");
    house.store.rewrite(&file, (&before, &after)).unwrap();
    assert_eq!(house.store.source(&file).unwrap(), after);
    assert!(house.text("MEMORY.md").contains("[Tests always]"));
    let error = house.store.rewrite(&file, (&before, &after)).unwrap_err();
    assert!(matches!(error, TopicError::Changed { .. }), "{error}");
    for bad in ["", "words", "---\nname: a\n", "---\nname: a\ndescription: b\ntype: odd\n---\nx\n"] {
        let error = house.store.rewrite(&file, (&after, bad)).unwrap_err();
        assert!(matches!(error, TopicError::Frontmatter { .. }), "{error}");
    }
    assert_eq!(house.store.source(&file).unwrap(), after);
    let (topic, flaw) =
        house.store.parsed(&file, "---\nname: a\ndescription: b\ntype: user\n---\nx\n").unwrap();
    assert_eq!((topic.name.as_str(), topic.body.as_str(), flaw), ("a", "x", None));
}

#[test]
fn no_secret_is_written_by_hand_either() {
    let house = House::new();
    let file =
        saved(house.store.add(new(TopicType::Feedback, "Tests first", "When you commit", "Run the tests.")))
            .file;
    let before = house.store.source(&file).unwrap();
    let after = format!("{before}\nUse postgres://app:s3cr3t-Pw@db.internal/main\n");
    let error = house.store.rewrite(&file, (&before, &after)).unwrap_err().to_string();
    assert!(error.contains("credential (url-password)") && !error.contains("s3cr3t"), "{error}");
    assert_eq!(house.text(&file), before);
}

#[test]
fn what_a_repair_would_do_is_told_and_not_done() {
    let house = House::new();
    for topic in (0..3).map(distinct) {
        saved(house.store.add(topic));
    }
    assert_eq!(house.store.check_index(NOW).unwrap(), Default::default());
    let index = house.text("MEMORY.md");
    let fewer: String = index.lines().skip(1).map(|line| format!("{line}\n")).collect();
    house.put("MEMORY.md", &format!("{fewer}- [Gone](gone.md) — it is not there\n"));
    let told = house.store.check_index(NOW).unwrap();
    assert_eq!((told.added.len(), told.dropped.as_slice()), (1, &["gone.md".to_owned()][..]));
    assert!(house.text("MEMORY.md").contains("gone.md"));
    let done = house.store.repair_index(NOW).unwrap();
    assert_eq!((done.added, done.dropped), (told.added, told.dropped));
}

#[test]
fn all_are_forgotten_in_one_change_and_come_back_by_one_undo() {
    let house = House::new();
    for topic in (0..3).map(distinct) {
        saved(house.store.add(topic));
    }
    house.put("MEMORY.md", &format!("# Mine\n{}", house.text("MEMORY.md")));
    let index = house.text("MEMORY.md");
    let cleared = house.store.forget_all(NOW).unwrap();
    assert_eq!(cleared.files.len(), 3);
    assert_eq!(house.text("MEMORY.md"), "# Mine\n");
    assert!(house.store.all().unwrap().0.is_empty());
    assert_eq!(house.store.forget_all(NOW).unwrap().files.len(), 0);
    if crate::topics_history::has_git() {
        assert_eq!(house.store.undo(None, NOW).unwrap().restored.len(), 3);
        assert_eq!(house.text("MEMORY.md"), index);
    }
}

#[test]
fn what_is_purged_leaves_no_word_anywhere() {
    let house = House::new();
    assert_eq!(house.store.purge_all().unwrap().files.len(), 0);
    for n in 0..3 {
        let file = saved(house.store.add(distinct(n))).file;
        if n == 0 {
            house.store.forget(&file, NOW).unwrap();
        }
    }
    house.put("MEMORY.md", &format!("# Mine\n{}", house.text("MEMORY.md")));
    assert_eq!(house.store.purge_all().unwrap().files.len(), 2);
    assert_eq!(house.text("MEMORY.md"), "# Mine\n");
    let left: Vec<String> = fs::read_dir(house.path(".throughline"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "lock" && name != "usage.lock" && name != ".gitignore")
        .collect();
    assert!(left.is_empty(), "{left:?}");
    // It can be used as before.
    saved(house.store.add(distinct(7)));
    assert_eq!(house.store.all().unwrap().0.len(), 1);
}
