//! `memory import` and `export`: to and from other tools.

use crate::memory::{Room, ids};
use serde_json::{Value, json};
use std::fs;

fn actions(answer: &Value) -> Vec<&str> {
    answer["steps"].as_array().unwrap().iter().map(|step| step["action"].as_str().unwrap()).collect()
}

#[test]
fn a_block_in_agents_md_leaves_peoples_words_alone() {
    let room = Room::new();
    room.add(&["Never push on Fridays"]);
    room.add(&["--type", "user", "I'm a data scientist"]);
    let file = room.project.join("AGENTS.md");
    fs::write(&file, "# Rules\n\nBe kind.\n").unwrap();
    let dry = room.json(&["export", "--to", "agents", "--dry-run"]);
    assert_eq!(
        (&dry["dry_run"], &dry["with"], actions(&dry)),
        (&json!(true), &json!("agents"), vec!["create"])
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "# Rules\n\nBe kind.\n");
    let done = room.json(&["export", "--to", "agents"]);
    assert_eq!(done["changes"], 1);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("# Rules\n\nBe kind.\n") && text.contains("Never push on Fridays"), "{text}");
    assert!(!text.contains("data scientist"), "who the user is stays here");
    assert_eq!(actions(&room.json(&["export", "--to", "agents"])), ["same"]);
    assert!(room.text(&["export", "--to", "agents"]).contains("1 the same"));
}

#[test]
fn memories_of_claude_code_come_and_go() {
    let room = Room::new();
    let theirs = room.machine.dir.path().join("claude/memory");
    fs::create_dir_all(&theirs).unwrap();
    fs::write(
        theirs.join("user_editor.md"),
        "---\nname: Editor\ndescription: Works in Helix\ntype: user\n---\n\nThe user works in Helix.\n",
    )
    .unwrap();
    let path = theirs.to_string_lossy().into_owned();
    let dry = room.json(&["import", "--from", "claude", &path, "--dry-run"]);
    assert_eq!(actions(&dry), ["create"]);
    assert_eq!(room.json(&["list"])["total"], 0);
    let text = room.text(&["import", "--from", "claude", &path]);
    assert!(text.contains("Done: 1 new") && text.contains("Editor"), "{text}");
    let listed = room.json(&["list"]);
    assert_eq!(listed["memories"][0]["sources"][0]["by"], "import");
    let id = room.add(&["Never push on Fridays"]);
    let done = room.json(&["export", "--to", "claude", &path]);
    assert!(actions(&done).contains(&"create"), "{done}");
    assert!(fs::read_to_string(theirs.join("MEMORY.md")).unwrap().contains(&id));
    assert_eq!(ids(&room.json(&["list"])["memories"]).len(), 2);
    // Where it usually is: by the project's folder.
    let (code, _, error) = room.fails(&["import", "--from", "claude"]);
    assert!(
        code == 1 && error.contains("nothing to import") && error.contains(".claude/projects"),
        "{error}"
    );
    let (code, _, error) = room.fails(&["import", "--from", "codex"]);
    assert!(code == 1 && error.contains(".codex"), "{error}");
}

#[test]
fn wrong_sides_are_wrong_usage() {
    let room = Room::new();
    assert_eq!(room.fails(&["import"]).0, 2);
    assert_eq!(room.fails(&["export", "--to", "elsewhere"]).0, 2);
    assert!(room.text(&["export", "--to", "agents", "--dry-run"]).contains("nothing to export"));
}
