//! How long memories hold, what takes their place, and what of them the index shows (M6, B3).

use crate::topics::{House, NOW, saved};
use crate::topics_meta::{at, said};
use crate::topics_trouble::distinct;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use std::fs;
use std::time::{Duration, SystemTime};
use throughline_memory::topics::{
    Added, Aged, Change, INDEX_BYTES, INDEX_LINES, Lifetimes, Meta, NewTopic, TopicError, TopicType,
};

const DAY: i64 = 86_400;

/// A file of a type that was changed so many minutes before [`NOW`].
fn put(house: &House, file: &str, kind: &str, minutes: u64) {
    let stem = file.trim_end_matches(".md");
    house.put(
        file,
        &format!("---\nname: {stem}\ndescription: about {stem}\ntype: {kind}\n---\n\nText of {stem}.\n"),
    );
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 - 60 * minutes);
    fs::File::options().write(true).open(house.path(file)).unwrap().set_modified(time).unwrap();
}

fn shown(house: &House) -> Vec<String> {
    let index = house.text("MEMORY.md");
    let file = |line: &str| {
        line.split_once("](").and_then(|(_, rest)| rest.split_once(')')).map(|(file, _)| file.to_owned())
    };
    index.lines().filter_map(file).collect()
}

#[test]
fn b3_facts_end_after_their_time_and_corrections_do_not() {
    let lifetimes = Lifetimes::default();
    let meta = Meta::default();
    let ends = |kind, meta: &Meta| lifetimes.ends(Aged { meta, kind, modified: at(0) });
    assert_eq!(ends(Some(TopicType::User), &meta), None);
    assert_eq!(ends(Some(TopicType::Feedback), &meta), None);
    assert_eq!(ends(None, &meta), None, "a file of a person's");
    assert_eq!(ends(Some(TopicType::Project), &meta), Some(at(180 * DAY)));
    assert_eq!(ends(Some(TopicType::Reference), &meta), Some(at(365 * DAY)));
    // Since it was last said, and no longer than it says itself.
    let again = Meta { sources: vec![said(10 * DAY, "again")], ..Meta::default() };
    assert_eq!(ends(Some(TopicType::Project), &again), Some(at(190 * DAY)));
    let own = Meta { expires: Some(at(5)), ..again.clone() };
    assert_eq!(ends(Some(TopicType::Project), &own), Some(at(5)));
    assert_eq!(ends(Some(TopicType::Feedback), &own), Some(at(5)));
    let live = |meta: &Meta, now| {
        lifetimes.is_live(Aged { meta, kind: Some(TopicType::Project), modified: at(0) }, at(now))
    };
    assert!(live(&meta, 180 * DAY - 1) && !live(&meta, 180 * DAY) && live(&again, 180 * DAY));
    let over = Meta { superseded_by: Some("x.md".to_owned()), ..Meta::default() };
    assert!(!live(&over, 1));
    let other = Lifetimes { project: Some(SignedDuration::from_secs(9)), ..Lifetimes::ENDLESS };
    assert_eq!(
        other.ends(Aged { meta: &meta, kind: Some(TopicType::Project), modified: at(0) }),
        Some(at(9))
    );
    let far = Lifetimes { project: Some(SignedDuration::MAX), ..Lifetimes::ENDLESS };
    assert_eq!(far.ends(Aged { meta: &meta, kind: Some(TopicType::Project), modified: at(0) }), None);
    // Limits are data.
    let read: Lifetimes = serde_json::from_str(r#"{"project":"PT48H","user":null}"#).unwrap();
    assert_eq!(
        (read.project, read.reference),
        (Some(SignedDuration::from_hours(48)), Lifetimes::default().reference)
    );
}

#[test]
fn a_memory_that_is_said_again_has_more_evidence_and_a_source_more() {
    let house = House::new();
    let file = saved(house.store.add(distinct(1))).file;
    for n in 1..=7 {
        house.store.confirm(&file, said(n, &format!("time {n}"))).unwrap();
    }
    let meta = house.store.read(&file).unwrap().meta;
    assert_eq!(meta.evidence, 7);
    let quotes: Vec<&str> = meta.sources.iter().map(|source| source.quote.as_str()).collect();
    assert_eq!(quotes, ["time 3", "time 4", "time 5", "time 6", "time 7"]);
    assert!(matches!(house.store.confirm("none.md", said(1, "x")), Err(TopicError::NoTopic { .. })));
    // A file of a person's keeps its words.
    house.put("bare.md", "Just text.\n");
    house.store.confirm("bare.md", said(1, "x")).unwrap();
    assert!(house.text("bare.md").ends_with("---\n\nJust text.\n"));
    assert_eq!(house.store.read("bare.md").unwrap().meta.evidence, 1);
}

#[test]
fn what_is_superseded_stays_as_a_file_and_leaves_the_index() {
    let house = House::new();
    let old = saved(house.store.add(distinct(1))).file;
    let other = saved(house.store.add(distinct(2))).file;
    // Nearly the words of the old one: that is what it takes the place of.
    let better = NewTopic { body: format!("{} and more", distinct(1).body), ..distinct(1) };
    let Added::Saved(by) = house.store.supersede(&old, better.clone()).unwrap() else { panic!("it is new") };
    assert_eq!(shown(&house), [other.clone(), by.file.clone()]);
    assert_eq!(house.store.read(&old).unwrap().meta.superseded_by, Some(by.file.clone()));
    // It does not come back: not by repair, not by a change, not as a likeness of what is new.
    assert!(house.store.repair_index(NOW).unwrap().added.is_empty());
    house.store.update(&old, Change { description: Some("other".into()), ..Change::default() }).unwrap();
    assert_eq!(shown(&house), [other.clone(), by.file.clone()]);
    house.store.forget(&by.file, NOW).unwrap();
    saved(house.store.add(better));
    // A third one that says the same is named instead, and nothing is written.
    let before = house.text(&other);
    let third = house.store.supersede(&other, NewTopic { name: "n".into(), ..distinct(1) }).unwrap();
    assert!(matches!(third, Added::Similar(_)), "{third:?}");
    assert_eq!(house.text(&other), before);
    assert!(matches!(house.store.supersede("none.md", distinct(9)), Err(TopicError::NoTopic { .. })));
    // What can't be marked stays, and nothing new is beside it.
    house.put("odd.md", "---\n{name: x}\n---\nB\n");
    assert!(matches!(house.store.supersede("odd.md", distinct(8)), Err(TopicError::Frontmatter { .. })));
    assert!(house.store.search("w8x1", 1).unwrap().is_empty());
}

#[test]
fn chains_circles_and_dead_ends_of_supersession_do_no_harm() {
    let house = House::new();
    let over = |by: &str| {
        format!(
            "---\nname: n {by}\ndescription: d\ntype: feedback\nmetadata:\n  superseded_by: {by}\n---\nBody\n"
        )
    };
    house.put("a.md", &over("b.md"));
    house.put("b.md", &over("a.md"));
    house.put("self.md", &over("self.md"));
    house.put("lost.md", &over("gone.md"));
    house.put("live.md", "---\nname: live\ndescription: d\ntype: feedback\n---\nBody\n");
    house.put("MEMORY.md", "- [a](a.md)\n- [lost](lost.md)\n");
    let repair = house.store.repair_index(NOW).unwrap();
    assert_eq!(
        (repair.added, repair.dropped),
        (vec!["live.md".to_owned()], vec!["a.md".to_owned(), "lost.md".to_owned()])
    );
    assert_eq!(shown(&house), ["live.md"]);
    assert!(house.store.clusters(NOW).unwrap().proposals.is_empty());
}

#[test]
fn m6_a_full_index_gives_up_references_first_and_the_newest_correction_last() {
    let house = House::without_history();
    let house = House { store: house.store.with_lifetimes(Lifetimes::ENDLESS), ..house };
    house.put("MEMORY.md", "# Mine\n\nMy words.\n");
    // 60 of each, minutes apart, in turns.
    for n in 0..60 {
        for (k, kind) in ["feedback", "user", "project", "reference"].into_iter().enumerate() {
            put(&house, &format!("{kind}_{n:02}.md"), kind, 4 * n + k as u64);
        }
    }
    put(&house, "expired.md", "feedback", 0);
    house.put(
        "expired.md",
        &house.text("expired.md").replace("type:", "metadata: {expires: 2001-01-01}\ntype:"),
    );
    let repair = house.store.repair_index(NOW).unwrap();
    let files = shown(&house);
    assert_eq!((files.len(), repair.added.len()), (197, 197), "three lines are a person's");
    let of = |kind: &str| files.iter().filter(|file| file.starts_with(kind)).count();
    assert_eq!((of("feedback"), of("user"), of("project"), of("reference")), (60, 60, 60, 17));
    assert!(
        files.contains(&"reference_16.md".to_owned()) && !files.contains(&"reference_17.md".to_owned()),
        "the newer ones"
    );
    assert_eq!(files.last().unwrap(), "feedback_00.md", "in the order of their times");
    assert_eq!(house.store.repair_index(NOW).unwrap(), Default::default());
    // Corrections come in: references go, then facts; never a person's line, never an older correction before those.
    for n in 0..30 {
        let topic = NewTopic { kind: TopicType::Feedback, ..distinct(n) };
        saved(house.store.add(topic));
    }
    let files = shown(&house);
    let of = |kind: &str| files.iter().filter(|file| file.starts_with(kind)).count();
    assert_eq!((of("feedback"), of("user"), of("project"), of("reference")), (90, 60, 47, 0));
    assert_eq!(files.last().unwrap(), "feedback_subject-29.md");
    assert!(house.text("MEMORY.md").starts_with("# Mine\n\nMy words.\n"));
    assert!(!house.store.index_for_session().unwrap().unwrap().contains("WARNING"));
    // A fact that is new finds no room worth having only where facts are the least.
    saved(house.store.add(NewTopic { kind: TopicType::Reference, ..distinct(99) }));
    assert!(!shown(&house).contains(&"reference_subject-99.md".to_owned()));
    assert_eq!(house.store.search("w99x1", 1).unwrap().len(), 1, "it is found all the same");
}

#[test]
fn m6_other_peoples_lines_never_give_way_and_no_cut_takes_the_newest_correction() {
    let house = House::without_history();
    // Another agent's wording, and prose: more than a session is told.
    let theirs: String = (0..230)
        .map(|n| {
            put(&house, &format!("project_{n}.md"), "project", n);
            format!("* [P {n}](project_{n}.md): in their words\n")
        })
        .collect();
    let head = "# Index\n\n";
    house.put("MEMORY.md", &format!("{head}{theirs}"));
    for n in 0..25 {
        saved(house.store.add(NewTopic { kind: TopicType::Feedback, ..distinct(n) }));
    }
    let index = house.text("MEMORY.md");
    for line in theirs.lines() {
        assert!(index.contains(line), "{line}");
    }
    let told = house.store.index_for_session().unwrap().unwrap();
    assert!(told.starts_with(head) && told.contains("WARNING"));
    for n in 5..25 {
        assert!(told.contains(&format!("(feedback_subject-{n}.md)")), "{n}");
    }
    assert!(!index.contains("feedback_subject-4.md"), "twenty of ours at most");
    assert_eq!(house.store.repair_index(Timestamp::UNIX_EPOCH).unwrap(), Default::default());
}

#[test]
fn m6_lines_are_kept_within_the_bytes_too() {
    let house = House::without_history();
    house.put("MEMORY.md", "Mine.\r\n");
    for n in 0..90 {
        let long = format!("{n}{}", "é日".repeat(100));
        let topic = NewTopic { description: long, kind: TopicType::Feedback, ..distinct(n) };
        saved(house.store.add(topic));
    }
    let index = house.text("MEMORY.md");
    assert!(index.len() <= INDEX_BYTES && index.len() > INDEX_BYTES - 600, "{}", index.len());
    assert!(index.lines().count() < INDEX_LINES && index.contains("(feedback_subject-89.md)"));
    assert!(index.starts_with("Mine.\r\n") && index.matches('\n').count() == index.matches("\r\n").count());
}

fn lines() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => (0..40_usize).prop_map(|n| format!("- [f{n:02}](f{n:02}.md) — about f{n:02}")),
        2 => (0..60_usize).prop_map(|n| format!("- [mine](f{n:02}.md) — other words")),
        1 => Just(String::new()),
        1 => "[a-z#*-]{0,9}( [a-z]{1,9}){0,30}",
    ];
    let eol = prop_oneof![Just("\n"), Just("\r\n")];
    (proptest::collection::vec(line, 0..230), eol, any::<bool>())
        .prop_map(|(lines, eol, ends)| lines.join(eol) + if ends { eol } else { "" })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn repairing_twice_is_repairing_once_and_other_lines_stay(index in lines(), kinds in proptest::collection::vec(0..5_usize, 0..40), over in 0..40_usize) {
        let house = House::without_history();
        for (n, kind) in kinds.iter().enumerate() {
            let kind = ["user", "feedback", "project", "reference", "diary"][*kind];
            put(&house, &format!("f{n:02}.md"), kind, n as u64);
        }
        if over < kinds.len() {
            let file = format!("f{over:02}.md");
            house.put(&file, &house.text(&file).replace("type:", "metadata: {superseded_by: x.md}\ntype:"));
        }
        house.put("MEMORY.md", &index);
        house.store.repair_index(NOW).unwrap();
        let once = house.text("MEMORY.md");
        prop_assert_eq!(house.store.repair_index(NOW).unwrap(), Default::default());
        prop_assert_eq!(&house.text("MEMORY.md"), &once);
        let mut rest = once.lines();
        for line in index.lines().filter(|line| !line.starts_with("- [")) {
            prop_assert!(rest.any(|kept| kept == line), "{:?} is gone or out of order", line);
        }
        // Whoever holds is shown, as there is room; nobody else.
        for n in 0..60 {
            let is_there = n < kinds.len() && n != over;
            let count = once.matches(&format!("](f{n:02}.md)")).count();
            if !is_there {
                prop_assert_eq!(count, 0, "f{:02}", n);
            } else if once.len() + 100 < INDEX_BYTES && once.lines().count() < INDEX_LINES {
                prop_assert!(count > 0, "f{:02}", n);
            }
        }
    }
}
