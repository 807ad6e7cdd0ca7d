//! `memory add`, `confirm`, `edit`, `forget`, `merge`, `reset`, `undo`: what is written, and had back.

use crate::memory::{Room, has_git, ids};
use serde_json::{Value, json};
use std::fs;

#[test]
fn m2_what_is_added_has_a_type_a_shape_and_a_person_behind_it() {
    let room = Room::new();
    let saved = room.json(&["add", "Don't mock the database, because it hid a broken migration"]);
    let keys: Vec<&String> = saved.as_object().unwrap().keys().collect();
    for key in ["saved", "id", "path", "type", "name", "redacted", "unrecorded"] {
        assert!(keys.iter().any(|known| *known == key), "{saved}");
    }
    assert_eq!((&saved["type"], &saved["name"]), (&json!("feedback"), &json!("Don't mock the database")));
    let shown = room.json(&["show", saved["id"].as_str().unwrap()]);
    assert_eq!(shown["body"], "Don't mock the database.\n\n**Why:** It hid a broken migration.");
    assert_eq!((&shown["evidence"], &shown["sources"][0]["by"]), (&json!(1), &json!("person")));
    assert!(shown["created"].is_string());
    let id = room.add(&["The parser in src/a.rs is slow on purpose, see src/none.rs"]);
    assert_eq!(room.json(&["show", &id])["anchors"], json!(["path:src/a.rs"]));
    // What is said wins.
    let id = room.add(&[
        "--type",
        "project",
        "--name",
        "Stack",
        "--description",
        "When you build",
        "The",
        "build",
        "needs",
        "Java",
        "21",
    ]);
    let shown = room.json(&["show", &id]);
    assert_eq!(
        (&shown["type"], &shown["name"], &shown["description"]),
        (&json!("project"), &json!("Stack"), &json!("When you build"))
    );
    assert_eq!((id.as_str(), &shown["body"]), ("project_stack.md", &json!("The build needs Java 21.")));
}

#[test]
fn what_is_long_comes_from_standard_input_as_it_is() {
    let room = Room::new();
    let text = "Release steps:\n\n1. tag\n2. push the tag\n";
    let output =
        room.command(&["add", "--type", "project", "--json", "-"]).write_stdin(text).output().unwrap();
    let saved: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(room.json(&["show", saved["id"].as_str().unwrap()])["body"], text.trim());
    let empty = room.command(&["add", "-"]).write_stdin(" \n").output().unwrap();
    assert_eq!(empty.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&empty.stderr).contains("nothing to remember"));
    let bytes = room.command(&["add", "-"]).write_stdin([0xff, 0xfe]).output().unwrap();
    assert!(bytes.status.code() == Some(1) && String::from_utf8_lossy(&bytes.stderr).contains("UTF-8"));
}

#[test]
fn bad_input_is_told_and_nothing_is_saved() {
    let room = Room::new();
    let over: String = "word ".repeat(20_000);
    for (arguments, code, said) in [
        (&["add"][..], 2, "required"),
        (&["add", ""], 1, "nothing to remember"),
        (&["add", "--type", "odd", "Use tabs"], 2, "possible values"),
        (&["add", "--anchor", "src/a.rs", "Use tabs"], 2, "is no anchor"),
        (&["add", "--expires", "soon", "Use tabs"], 1, "is no time"),
        (&["add", "--expires", "2020-01-01", "Use tabs"], 1, "over already"),
        (&["add", "--replaces", "nothing.md", "Use tabs"], 1, "there is no memory"),
        (&["add", &over], 1, "over the limit"),
        (&["add", "The fix is to clear the cache"], 1, "--anyway"),
    ] {
        let (was, _, error) = room.fails(arguments);
        assert!(was == code && error.contains(said), "{arguments:?}: {was} {error}");
    }
    assert_eq!(room.json(&["list", "--all"])["total"], 0);
    assert_eq!(room.json(&["add", "--anyway", "The fix is to clear the cache"])["saved"], true);
}

#[test]
fn m4_a_near_duplicate_is_told_with_what_to_do() {
    let room = Room::new();
    let id = room.add(&["Never push on Fridays"]);
    let (code, _, error) = room.fails(&["add", "Never push on Fridays!"]);
    assert_eq!(code, 1);
    for command in [
        format!("memory confirm {id}"),
        format!("memory edit {id} --text"),
        format!("memory add --replaces {id}"),
    ] {
        assert!(error.contains(&command), "{error}");
    }
    let (code, out, _) = room.fails(&["add", "Never push on Fridays!", "--json"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &answer["saved"], &answer["similar"]["id"]), (1, &json!(false), &json!(id)));
    assert_eq!(room.json(&["confirm", &id])["evidence"], 2);
    assert_eq!(room.json(&["list"])["total"], 1);
}

#[test]
fn refuses_memories_with_credentials() {
    let room = Room::new();
    for (text, value) in [
        ("Staging is at postgres://app:s3cr3t-Pw@db.internal/main", "s3cr3t-Pw"),
        ("the password of the staging admin is hunter2-Xy", "hunter2-Xy"),
        ("API key for maps is 9f8e7d6c5b4a39281706f5e4d3c2b1a0", "9f8e7d6c"),
        ("密码改成了 hunter2-Xy", "hunter2-Xy"),
        ("our DB passphrase, since Monday, is: blue7Tiger!x", "blue7Tiger"),
        ("cGFzc3dvcmQ9aHVudGVyMi1YeQ==", "cGFzc3dv"),
        ("70617373776f72643d68756e746572322d5879", "70617373"),
        ("password%3Dhunter2-Xy", "hunter2-Xy"),
        ("pass\u{200b}word=hunter2-Xy", "hunter2-Xy"),
    ] {
        let (code, out, error) = room.fails(&["add", text]);
        assert!(code == 1 && error.contains("holds a credential"), "{text}: {error}");
        assert!(!out.contains(value) && !error.contains(value), "{out}{error}");
    }
    assert_eq!(room.json(&["list"])["total"], 0);
    room.add(&["Rotate the API key every 90 days"]);
    assert_eq!(room.json(&["list"])["total"], 1);
}

#[test]
fn expiry_is_a_span_a_date_or_never() {
    let room = Room::new();
    let id = room.add(&["--type", "feedback", "--expires", "30d", "Never push on Fridays"]);
    let of = |id: &str| room.json(&["show", id]);
    assert!(of(&id)["expires"].is_string() && of(&id)["ends"] == of(&id)["expires"]);
    room.text(&["edit", &id, "--expires", "2999-12-31"]);
    assert_eq!(of(&id)["expires"], "3000-01-01T00:00:00Z");
    room.text(&["edit", &id, "--expires", "never"]);
    assert_eq!((&of(&id)["expires"], &of(&id)["ends"]), (&Value::Null, &Value::Null));
    let (code, _, error) = room.fails(&["edit", &id, "--expires", "yesterday"]);
    assert!(code == 1 && error.contains("is no time"), "{error}");
}

#[test]
fn options_change_what_they_name_and_nothing_else() {
    let room = Room::new();
    let id = room.add(&["Never push on Fridays"]);
    let path = room.folder().join(&id);
    let text =
        fs::read_to_string(&path).unwrap().replace("type: feedback", "type: feedback\nmine: kept # as it is");
    fs::write(&path, text).unwrap();
    let changed = room.json(&["edit", &id, "--name", "No Friday pushes", "--anchor", "path:src/a.rs"]);
    assert_eq!(
        (&changed["memory"]["name"], &changed["memory"]["anchors"]),
        (&json!("No Friday pushes"), &json!(["path:src/a.rs"]))
    );
    assert_eq!(changed["memory"]["body"], "Never push on Fridays.");
    assert!(fs::read_to_string(&path).unwrap().contains("mine: kept # as it is"));
    assert!(fs::read_to_string(room.folder().join("MEMORY.md")).unwrap().contains("[No Friday pushes]"));
    let changed = room.json(&[
        "edit",
        &id,
        "--no-anchor",
        "path:src/a.rs",
        "--type",
        "project",
        "--description",
        "When you push",
    ]);
    let memory = &changed["memory"];
    assert_eq!(
        (&memory["anchors"], &memory["type"], &memory["description"]),
        (&json!([]), &json!("project"), &json!("When you push"))
    );
    let (code, _, error) = room.fails(&["edit", &id, "--no-anchor", "path:src/a.rs"]);
    assert!(code == 1 && error.contains("is not about"), "{error}");
    let (code, _, error) = room.fails(&["edit", &id]);
    assert!(code == 2 && error.contains("--text"), "{error}");
    let (code, _, error) = room.fails(&["edit", &id, "--name", ""]);
    assert!(code == 1 && error.contains("not empty"), "{error}");
}

#[test]
fn a_new_text_renames_what_was_named_by_the_old_one() {
    let room = Room::new();
    let id = room.add(&["Never push on Fridays"]);
    let changed = room
        .command(&["edit", &id, "--json", "--text", "-"])
        .write_stdin("Never push before holidays.")
        .output()
        .unwrap();
    let changed: Value = serde_json::from_slice(&changed.stdout).unwrap();
    let memory = &changed["memory"];
    assert_eq!((&memory["id"], &memory["body"]), (&json!(id), &json!("Never push before holidays.")));
    assert_eq!(
        (&memory["name"], &memory["description"]),
        (&json!("Never push before holidays"), &json!("Never push before holidays."))
    );
    let quotes: Vec<&str> =
        memory["sources"].as_array().unwrap().iter().map(|s| s["quote"].as_str().unwrap()).collect();
    assert_eq!(quotes, ["Never push on Fridays", "Never push before holidays."]);
    // A name that somebody chose stays.
    let id = room.add(&[
        "--name",
        "Stack",
        "--description",
        "When you build",
        "--type",
        "project",
        "The build needs Java 17",
    ]);
    let changed = room.json(&["edit", &id, "--text", "The build needs Java 21."]);
    assert_eq!(
        (&changed["memory"]["name"], &changed["memory"]["description"]),
        (&json!("Stack"), &json!("When you build"))
    );
}

#[test]
fn forgetting_needs_a_sure_word_and_a_yes_and_can_be_undone() {
    let room = Room::new();
    let id = room.add(&["Deploys go through the staging cluster"]);
    let other = room.add(&["Nightly deploys are off in December"]);
    let (code, _, error) = room.fails(&["forget", &id]);
    assert!(code == 2 && error.contains("--yes"), "{error}");
    let (code, _, error) = room.fails(&["forget", "deploys", "--yes"]);
    assert!(
        code == 1 && error.contains(&id) && error.contains(&other) && error.contains("Nothing was forgotten"),
        "{error}"
    );
    let (code, _, error) = room.fails(&["forget", "cluster", "upgrade", "--yes"]);
    assert!(code == 1 && error.contains("these have some") && error.contains(&id), "{error}");
    let (code, out, _) = room.fails(&["forget", "deploys", "--yes", "--json"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, answer["candidates"].as_array().unwrap().len()), (1, 2));
    for absent in ["zebra", "feedback_absent.md", "user"] {
        let (code, _, error) = room.fails(&["forget", absent, "--yes"]);
        assert!(code == 1 && error.contains("no memory is called"), "{error}");
    }
    assert_eq!(room.json(&["list"])["total"], 2);
    let forgotten = room.json(&["forget", "staging", "cluster", "--yes"]);
    assert_eq!(forgotten["forgotten"], json!(id));
    assert!(fs::metadata(forgotten["kept"].as_str().unwrap()).unwrap().is_file());
    assert_eq!(ids(&room.json(&["list"])["memories"]), [other.as_str()]);
    assert!(!fs::read_to_string(room.folder().join("MEMORY.md")).unwrap().contains(&id));
    if has_git() {
        let undone = room.json(&["undo", forgotten["change"].as_str().unwrap()]);
        assert_eq!(undone["restored"], json!([id]));
        assert_eq!(room.json(&["list"])["total"], 2);
        assert!(room.text(&["forget", &id, "--yes"]).contains("memory undo"));
    }
}

#[test]
fn without_git_a_person_is_told_where_the_file_is() {
    let room = Room::new();
    let nowhere = room.machine.dir.path().join("no-programs");
    fs::create_dir(&nowhere).unwrap();
    let output = room.command(&["add", "Never push on Fridays"]).env("PATH", &nowhere).output().unwrap();
    assert!(output.status.success() && String::from_utf8_lossy(&output.stderr).contains("can't be undone"));
    let output = room.command(&["forget", "fridays", "--yes"]).env("PATH", &nowhere).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Its file is kept") && text.contains(".throughline/forgotten/"), "{text}");
    let output = room.command(&["undo"]).env("PATH", &nowhere).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn what_is_purged_is_nowhere() {
    if !has_git() {
        return;
    }
    let room = Room::new();
    let id = room.add(&["The zanzibar ledger is read-only"]);
    room.add(&["Never push on Fridays"]);
    assert_eq!(room.json(&["forget", &id, "--purge", "--yes"])["purged"], json!(id));
    assert!(!holds(&room.folder(), "zanzibar"));
    // One that was forgotten before, by its file.
    let id = room.add(&["The zanzibar ledger is read-only"]);
    room.text(&["forget", &id, "--yes"]);
    room.text(&["forget", &id, "--purge", "--yes"]);
    assert!(!holds(&room.folder(), "zanzibar"));
    let history = room.json(&["history"]);
    assert!(!history.to_string().contains("zanzibar"), "{history}");
    assert_eq!(room.fails(&["forget", &id, "--purge", "--yes"]).0, 1);
    assert_eq!(room.json(&["list"])["total"], 1);
}

/// Whether a file below a folder has a word in it, or in its name.
fn holds(folder: &std::path::Path, word: &str) -> bool {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).any(|path| {
        let bytes = if path.is_dir() { Vec::new() } else { fs::read(&path).unwrap() };
        path.to_string_lossy().contains(word)
            || bytes.windows(word.len()).any(|part| part == word.as_bytes())
            || (path.is_dir() && holds(&path, word))
    })
}

#[test]
fn changes_are_listed_and_taken_back_one_by_one() {
    if !has_git() {
        return;
    }
    let room = Room::new();
    let (code, _, error) = room.fails(&["undo"]);
    assert!(code == 1 && error.contains("no change to undo"), "{error}");
    let id = room.add(&["Never push on Fridays"]);
    room.text(&["edit", &id, "--name", "No Friday pushes"]);
    let everywhere = room.add(&["--global", "I'm a data scientist"]);
    let history = room.json(&["history"]);
    let keys: Vec<&String> = history["changes"][0].as_object().unwrap().keys().collect();
    for key in ["id", "tier", "at", "kind", "what", "files", "undoes", "undone"] {
        assert!(keys.iter().any(|known| *known == key), "{history}");
    }
    let kinds = |history: &Value| -> Vec<String> {
        history["changes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| format!("{} {}", c["kind"].as_str().unwrap(), c["files"][0].as_str().unwrap()))
            .collect()
    };
    let mut all = kinds(&history);
    all.sort();
    assert_eq!(all, [format!("add {id}"), format!("add {everywhere}"), format!("update {id}")]);
    assert_eq!(kinds(&room.json(&["history", &id])), [format!("update {id}"), format!("add {id}")]);
    assert_eq!(kinds(&room.json(&["history", "--global"])), [format!("add {everywhere}")]);
    // The last one of a tier, twice; then the undo itself.
    let undone = room.json(&["undo", "--tier", "project"]);
    assert_eq!((&undone["undone"]["kind"], &undone["restored"]), (&json!("update"), &json!([id])));
    assert_eq!(room.json(&["show", &id])["name"], "Never push on Fridays");
    let by = undone["by"].as_str().unwrap();
    room.text(&["undo", by]);
    assert_eq!(room.json(&["show", &id])["name"], "No Friday pushes");
    let (code, _, error) = room.fails(&["undo", "ffffffffffff"]);
    assert!(code == 1 && error.contains("there is no change"), "{error}");
    // What was forgotten still has a history.
    room.text(&["forget", &id, "--yes"]);
    assert!(kinds(&room.json(&["history", &id])).contains(&format!("forget {id}")));
}

#[test]
fn b2_memories_that_say_the_same_become_one_when_somebody_agrees() {
    let room = Room::new();
    let body = "Run the whole test suite before every commit to the main branch";
    let first = room.add(&["--name", "Tests before commits", "--description", "When you commit", body]);
    room.put(
        "feedback_suite.md",
        "name: Suite first\ndescription: Before committing\ntype: feedback",
        &format!("{body}. It takes four minutes."),
    );
    let offered = room.json(&["merge"]);
    let offer = &offered["proposals"][0];
    assert_eq!((offer["ids"].as_array().unwrap().len(), &offer["merged"]), (2, &Value::Null));
    assert!(offer["into"]["body"].as_str().unwrap().contains("four minutes"));
    assert_eq!(room.json(&["list"])["total"], 2, "nothing is changed by looking");
    let (code, _, error) = room.fails(&["merge"]);
    assert!(code == 2 && error.contains("--yes"), "{error}");
    let text = room.text(&["merge", "--yes"]);
    assert!(text.contains("1 of 1") && text.contains("together:") && text.contains("They are"), "{text}");
    let listed = room.json(&["list"]);
    assert_eq!((&listed["total"], &listed["not_live"]), (&json!(1), &json!(2)));
    if has_git() {
        room.text(&["undo"]);
        assert_eq!(room.json(&["list"])["total"], 2);
    }
    // By name, and not across tiers.
    let everywhere = room.add(&["--global", "I'm a data scientist"]);
    let (code, _, error) = room.fails(&["merge", &first, &everywhere, "--yes"]);
    assert!(code == 1 && error.contains("different tiers"), "{error}");
    let (code, _, error) = room.fails(&["merge", &first, "--yes"]);
    assert!(code == 1 && error.contains("only one"), "{error}");
}

#[test]
fn a_reset_puts_everything_of_a_tier_away_and_can_be_undone() {
    let room = Room::new();
    room.add(&["Never push on Fridays"]);
    room.add(&["The build needs Java 21"]);
    let everywhere = room.add(&["--global", "I'm a data scientist"]);
    let (code, _, error) = room.fails(&["reset"]);
    assert!(code == 2 && error.contains("--yes") && error.contains("2 memories"), "{error}");
    let reset = room.json(&["reset", "--yes"]);
    assert_eq!((&reset["tier"], reset["forgotten"].as_array().unwrap().len()), (&json!("project"), 2));
    assert_eq!(ids(&room.json(&["list"])["memories"]), [everywhere.as_str()]);
    assert!(room.text(&["reset", "--yes"]).contains("nothing to forget"));
    if has_git() {
        room.text(&["undo", reset["change"].as_str().unwrap()]);
        assert_eq!(room.json(&["list"])["total"], 3);
    }
    room.text(&["reset", "--global", "--yes"]);
    assert!(room.json(&["list", "--global"])["memories"].as_array().unwrap().is_empty());
    room.text(&["reset", "--purge", "--yes"]);
    assert!(!holds(&room.folder(), "Java") && !holds(&room.folder(), "friday"));
    assert_eq!(room.json(&["list", "--all"])["total"], 0);
}
