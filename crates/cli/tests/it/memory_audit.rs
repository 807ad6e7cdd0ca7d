//! `memory audit`: what is wrong with what is remembered, in figures.

use crate::memory::Room;
use serde_json::{Value, json};
use std::fs;

fn found(audit: &Value, check: &str) -> Vec<String> {
    let findings = audit["checks"][check]["findings"].as_array().unwrap().iter();
    let mut ids: Vec<String> = findings
        .flat_map(|one| one["ids"].as_array().unwrap())
        .map(|id| id.as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids
}

/// A folder with one of each fault.
fn faulty() -> Room {
    let room = Room::new();
    let body = "Run the whole test suite before every commit to the main branch";
    room.add(&["--name", "Tests before commits", "--anchor", "path:src/a.rs", body]);
    let front = |name: &str, kind: &str, more: &str| {
        format!("name: {name}\ndescription: {name} it is\ntype: {kind}{more}")
    };
    room.put(
        "feedback_suite.md",
        &front("Suite", "feedback", ""),
        &format!("{body}. It takes four minutes."),
    );
    room.put(
        "project_over.md",
        &front("Freeze", "project", "\nmetadata:\n  expires: 2020-01-01T00:00:00Z"),
        "Merges are frozen.",
    );
    room.put(
        "project_moved.md",
        &front("Parser", "project", "\nmetadata:\n  anchors:\n    - path:src/gone.rs"),
        "The parser is slow on purpose.",
    );
    room.put(
        "reference_db.md",
        &front("Database", "reference", ""),
        "postgres://app:s3cr3t-Pw@db.internal/main",
    );
    let agent = "\nmetadata:\n  sources:\n    - by: agent\n      at: 2020-01-02T03:04:05Z\n      quote: x";
    room.put(
        "user_guess.md",
        &front(
            "Guess",
            "user",
            &format!(
                "\nmetadata:\n  created: 2020-01-01T00:00:00Z{}",
                agent.trim_start_matches("\nmetadata:")
            ),
        ),
        "They like short answers.",
    );
    room
}

#[test]
fn each_fault_is_found_and_counted() {
    let room = faulty();
    let audit = room.json(&["audit"]);
    assert_eq!(audit["memories"]["total"], 6);
    assert_eq!((&audit["memories"]["live"], &audit["memories"]["expired"]), (&json!(5), &json!(1)));
    assert_eq!(found(&audit, "duplicate").len(), 2);
    assert_eq!(
        (&audit["checks"]["duplicate"]["count"], &audit["checks"]["duplicate"]["of"]),
        (&json!(1), &json!(5))
    );
    assert_eq!(audit["checks"]["duplicate"]["rate"], 0.2);
    assert_eq!(found(&audit, "stale"), ["project_moved.md", "project_over.md"]);
    assert_eq!(found(&audit, "anchorless"), ["feedback_suite.md"]);
    assert_eq!(found(&audit, "secret"), ["reference_db.md"]);
    assert_eq!(audit["checks"]["secret"]["findings"][0]["what"], "url-password");
    assert!(!audit.to_string().contains("s3cr3t"));
    assert_eq!(found(&audit, "recall_loop"), ["user_guess.md"]);
    assert_eq!(found(&audit, "never_used"), ["user_guess.md"]);
    let text = room.text(&["audit"]);
    for part in [
        "6 memories: 5 live, 0 superseded, 1 expired",
        "! duplicate",
        "! stale",
        "! secret",
        "✓ contradiction",
        "src/gone.rs is not in the project",
        "have no line",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn contradictions_are_told() {
    let room = Room::new();
    room.add(&[
        "--name",
        "Friday pushes",
        "Always push the release branch to production on Fridays after lunch",
    ]);
    room.put(
        "feedback_never.md",
        "name: No Friday pushes\ndescription: Never on Fridays\ntype: feedback",
        "Never push the release branch to production on Fridays after lunch.",
    );
    let audit = room.json(&["audit"]);
    assert_eq!(found(&audit, "contradiction").len(), 2, "{audit}");
    assert!(found(&audit, "duplicate").is_empty());
    assert_eq!(room.json(&["merge"])["contradictions"].as_array().unwrap().len(), 1);
}

#[test]
fn a_fix_repairs_the_index_and_nothing_else() {
    let room = faulty();
    let folder = room.folder();
    let index = folder.join("MEMORY.md");
    let text = fs::read_to_string(&index).unwrap();
    fs::write(&index, format!("# My own heading\n{text}- [Gone](gone.md) — it is not there\n")).unwrap();
    let before: Vec<_> = ["feedback_suite.md", "reference_db.md", "project_over.md"]
        .map(|file| fs::read(folder.join(file)).unwrap())
        .into();
    let audit = room.json(&["audit"]);
    let told = &audit["indexes"][0];
    assert_eq!(
        (&told["dangling"], told["missing"].as_array().unwrap().len(), &told["fixed"]),
        (&json!(["gone.md"]), 4, &json!(false))
    );
    assert!(fs::read_to_string(&index).unwrap().contains("gone.md"), "looking changes nothing");
    assert_eq!(room.json(&["audit", "--fix"])["indexes"][0]["fixed"], true);
    let fixed = fs::read_to_string(&index).unwrap();
    assert!(
        fixed.starts_with("# My own heading\n")
            && !fixed.contains("gone.md")
            && fixed.contains("feedback_suite.md"),
        "{fixed}"
    );
    assert!(!fixed.contains("s3cr3t"));
    let after: Vec<_> = ["feedback_suite.md", "reference_db.md", "project_over.md"]
        .map(|file| fs::read(folder.join(file)).unwrap())
        .into();
    assert_eq!(before, after);
    assert!(room.text(&["audit", "--fix"]).contains("nothing was to be done"));
}

#[test]
fn an_audit_of_many_memories_ends() {
    let room = Room::new();
    room.add(&["Never push on Fridays"]);
    for n in 0..400 {
        room.put(
            &format!("project_{n}.md"),
            &format!("name: Fact {n}\ndescription: about {n}\ntype: project"),
            &format!("Service w{n} talks to x{n} by way of y{n} and never to z{n}."),
        );
    }
    let audit = room.json(&["audit"]);
    assert_eq!(audit["memories"]["total"], 401);
    let text = room.text(&["audit"]);
    assert!(text.contains("(--full shows them)"), "{text}");
}
