//! Memories that say much the same (B2): found, proposed as one, merged when somebody agrees.

use crate::topics::{House, NOW};
use crate::topics_history::has_git;
use crate::topics_meta::{at, said};
use std::fs;
use std::time::{Duration, SystemTime};
use throughline_memory::topics::{Anchor, ChangeKind, Meta, TopicError, TopicType};

/// A file as a person or another agent writes it, so many minutes before [`NOW`].
fn put(
    house: &House,
    (file, kind): (&str, &str),
    (name, description, body): (&str, &str, &str),
    minutes: u64,
) {
    house.put(file, &format!("---\nname: {name}\ndescription: {description}\ntype: {kind}\n---\n\n{body}\n"));
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 - 60 * minutes);
    fs::File::options().write(true).open(house.path(file)).unwrap().set_modified(time).unwrap();
}

fn three(house: &House) {
    let words = "Run the complete test suite before each commit to the main branch.";
    put(
        house,
        ("new.md", "feedback"),
        ("Tests", "Run the complete suite before each commit", &format!("{words}\n\n**Why:** main broke.")),
        1,
    );
    put(
        house,
        ("mid.md", "feedback"),
        (
            "Test first",
            "Before each commit run the complete suite",
            &format!("{words} Use nextest.\n\n**Why:** Main broke. Twice."),
        ),
        2,
    );
    put(
        house,
        ("old.md", "feedback"),
        ("Suite", "Complete test suite before a commit", &format!("{words}\n\n- skip it for docs")),
        3,
    );
    put(
        house,
        ("other.md", "feedback"),
        ("Answers", "Keep answers short", "Answer in a few lines, no summary of the diff."),
        4,
    );
}

#[test]
fn b2_memories_that_say_the_same_are_proposed_as_one_without_losing_a_sentence() {
    let house = House::new();
    three(&house);
    let source = |second| said(second, "q");
    for (file, second, path) in [("mid.md", 7, "a.rs"), ("old.md", 5, "b.rs")] {
        let time = house.path(file).metadata().unwrap().modified().unwrap();
        let meta = Meta {
            created: Some(at(second)),
            evidence: 2,
            sources: vec![source(second)],
            anchors: vec![Anchor::Path(path.to_owned()), Anchor::Path("same.rs".to_owned())],
            ..Meta::default()
        };
        house
            .store
            .update(file, throughline_memory::topics::Change { meta: Some(meta), ..Default::default() })
            .unwrap();
        fs::File::options().write(true).open(house.path(file)).unwrap().set_modified(time).unwrap();
    }
    let clusters = house.store.clusters(NOW).unwrap();
    assert_eq!(clusters.contradictions, []);
    assert_eq!(clusters.proposals.len(), 1);
    let proposal = &clusters.proposals[0];
    assert_eq!(proposal.files, ["new.md", "mid.md", "old.md"]);
    assert!(proposal.similarity >= 0.5 && proposal.similarity < 1.0);
    assert!(proposal.why.contains("mid.md"), "{}", proposal.why);
    let into = &proposal.into;
    assert_eq!((into.name.as_str(), into.kind), ("Tests", TopicType::Feedback));
    for said in [
        "Run the complete test suite before each commit to the main branch.",
        "Use nextest.",
        "- skip it for docs",
        "**Why:** main broke.",
        "Twice.",
    ] {
        assert_eq!(into.body.matches(said).count(), 1, "{said}: {}", into.body);
    }
    assert_eq!((into.meta.created, into.meta.evidence), (Some(at(5)), 5));
    assert_eq!(into.meta.sources, [source(5), source(7)]);
    assert_eq!(into.meta.anchors.len(), 3);

    let before: Vec<String> = proposal.files.iter().map(|file| house.text(file)).collect();
    let merged = house.store.merge(proposal).unwrap().file;
    assert_eq!(house.store.read(&merged).unwrap().body, into.body);
    for file in &proposal.files {
        assert_eq!(house.store.read(file).unwrap().meta.superseded_by.as_ref(), Some(&merged));
        assert!(!house.text("MEMORY.md").contains(file));
    }
    assert!(house.text("MEMORY.md").contains(&merged));
    assert_eq!(house.store.clusters(NOW).unwrap(), Default::default(), "once is enough");
    assert!(matches!(house.store.merge(proposal), Err(TopicError::Changed { .. })));
    if has_git() {
        let undone = house.store.undo(None, NOW).unwrap();
        assert_eq!(undone.change.kind, Some(ChangeKind::Merge));
        let now: Vec<String> = proposal.files.iter().map(|file| house.text(file)).collect();
        assert_eq!(now, before);
        assert!(!house.path(&merged).exists());
    }
}

#[test]
fn b2_a_proposal_is_void_when_a_file_changed() {
    let house = House::without_history();
    three(&house);
    let proposal = house.store.clusters(NOW).unwrap().proposals.remove(0);
    house.put("old.md", &(house.text("old.md") + "One more.\n"));
    let error = house.store.merge(&proposal).unwrap_err();
    assert!(matches!(&error, TopicError::Changed { file } if file == "old.md"), "{error}");
    assert!(house.store.list().unwrap().0.iter().all(|head| head.meta.superseded_by.is_none()));
    fs::remove_file(house.path("old.md")).unwrap();
    assert!(matches!(house.store.merge(&proposal), Err(TopicError::Changed { .. })));
    // Somebody may word it better, and may choose what is one.
    let mut better = house.store.propose(&["new.md", "other.md"]).unwrap();
    better.into.name = "Habits".to_owned();
    assert_eq!(house.store.merge(&better).unwrap().file, "feedback_habits.md");
    assert!(matches!(house.store.propose(&["mid.md"]), Err(TopicError::NotMerged { .. })));
    assert!(matches!(house.store.propose(&[]), Err(TopicError::NotMerged { .. })));
    assert!(matches!(house.store.propose(&["mid.md", "none.md"]), Err(TopicError::NoTopic { .. })));
}

#[test]
fn b2_opposites_are_reported_and_never_merged() {
    let house = House::without_history();
    put(
        &house,
        ("new.md", "feedback"),
        (
            "Squash",
            "Never squash commits before merging a branch",
            "Never squash commits before merging a branch.",
        ),
        1,
    );
    put(
        &house,
        ("old.md", "feedback"),
        (
            "Squashing",
            "Always squash commits before merging a branch",
            "Always squash commits before merging a branch.",
        ),
        2,
    );
    put(
        &house,
        ("alike.md", "feedback"),
        (
            "No squash",
            "Never squash commits before merging branches",
            "Never squash commits before merging any branch.",
        ),
        3,
    );
    let clusters = house.store.clusters(NOW).unwrap();
    assert_eq!(clusters.proposals.len(), 1);
    assert_eq!(clusters.proposals[0].files, ["new.md", "alike.md"]);
    let pairs: Vec<(&str, &str)> =
        clusters.contradictions.iter().map(|one| (one.newer.as_str(), one.older.as_str())).collect();
    assert_eq!(pairs, [("new.md", "old.md"), ("old.md", "alike.md")]);
    assert!(clusters.contradictions[0].why.contains("Always squash"), "{}", clusters.contradictions[0].why);
    let error = house.store.propose(&["old.md", "new.md"]).unwrap_err();
    assert!(matches!(error, TopicError::NotMerged { .. }), "{error}");
}

#[test]
fn b2_only_live_memories_of_one_type_are_clustered() {
    let house = House::without_history();
    three(&house);
    house.put("new.md", &house.text("new.md").replace("feedback", "project"));
    house.put("old.md", &house.text("old.md").replace("type:", "metadata: {superseded_by: mid.md}\ntype:"));
    house.put("bare.md", "Run the complete test suite before each commit to the main branch.\n");
    assert_eq!(house.store.clusters(NOW).unwrap(), Default::default());
}

#[test]
fn b2_clusters_are_found_among_many_and_copies_do_not_blow_up() {
    let house = House::without_history();
    for n in 0..600 {
        let words: Vec<String> = (0..10).map(|k| format!("w{}", (n * 7919 + k * 104_729) % 5_003)).collect();
        put(
            &house,
            (&format!("t{n}.md"), "project"),
            (&format!("n{n}"), &words[..4].join(" "), &words.join(" ")),
            n,
        );
    }
    // A copy of each of twenty with a word changed, and a hundred that are all the same.
    for n in 0..20 {
        let text =
            house.text(&format!("t{n}.md")).replacen(&format!("name: n{n}"), &format!("name: c{n}"), 1);
        house.put(&format!("copy{n}.md"), &text);
    }
    for n in 0..100 {
        put(
            &house,
            (&format!("same{n}.md"), "user"),
            ("same", "the very same words", "over and over again the very same words"),
            n,
        );
    }
    let clusters = house.store.clusters(NOW).unwrap();
    let pairs = clusters
        .proposals
        .iter()
        .filter(|proposal| proposal.files.len() == 2 && proposal.files[0].starts_with("copy"))
        .count();
    assert_eq!(pairs, 20, "each copy with its own");
    let same = clusters
        .proposals
        .iter()
        .filter(|proposal| proposal.files[0].starts_with("same"))
        .map(|proposal| proposal.files.len())
        .sum::<usize>();
    assert!(same >= 90, "{same}");
    let all: Vec<&String> = clusters.proposals.iter().flat_map(|proposal| &proposal.files).collect();
    assert_eq!(all.len(), all.iter().collect::<std::collections::BTreeSet<_>>().len(), "none is in two");
}
