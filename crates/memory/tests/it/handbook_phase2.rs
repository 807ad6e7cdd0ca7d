//! Consolidating a handbook: its files, what makes it run, and a model that does well.

use crate::handbook_phase2_kit::{House, Scripted, Turn, all_files, good_book, key, said, seen};
use crate::store_kit::{app, scope};
use crate::topics_history::has_git;
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use throughline_memory::handbook::phase2::{Phase2Error, Phase2Outcome, sync_handbook};
use throughline_memory::handbook::{Evidence, FindingKind, Scope};
use throughline_memory::notes::Author;

#[tokio::test]
async fn h3_two_sessions_become_a_book_with_its_files() {
    let house = House::with_sessions().await;
    let done = house.offline().await;
    assert_eq!(done.outcome, Phase2Outcome::Consolidated(Author::Offline));
    assert_eq!(done.consolidated.edition, Some(1));
    assert_eq!(done.consolidated.selected.len(), 2);
    let memory = house.text("MEMORY.md");
    assert!(memory.contains("pnpm") && memory.contains(&key("s-1", "m-1")), "{memory}");
    assert!(house.text("EVIDENCE.md").contains(&key("s-2", "m-1")));
    assert!(house.text("memory_summary.md").starts_with("v1\n"));
    let raw = house.text("raw_memories.md");
    assert!(raw.find("## Session s-1").unwrap() < raw.find("## Session s-2").unwrap(), "{raw}");
    let summaries: Vec<_> =
        fs::read_dir(house.path("rollout_summaries")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(summaries.len(), 2);
    let first = summaries.iter().find(|path| path.to_string_lossy().contains("work-of-s-1")).unwrap();
    let name = first.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("2025-06-01T09-00-00-") && name.ends_with("-work-of-s-1.md"), "{name}");
    let text = fs::read_to_string(first).unwrap();
    assert!(text.starts_with("session: s-1\nupdated: "), "{text}");
    assert!(
        text.contains("\nledger: 2025/06/01/s-1.jsonl\ncwd: /work/app\nbranch: main\n\n# What s-1 did\n"),
        "{text}"
    );
    assert!(house.path("extensions/ad_hoc/instructions.md").is_file());
    assert!(!house.path("phase2_workspace_diff.md").exists());
}

#[cfg(unix)]
#[tokio::test]
async fn everything_in_the_folder_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let house = House::with_sessions().await;
    house.workspace().add_note("Remember the tabs.", house.now()).unwrap();
    house.offline().await;
    let root = house.workspace().folder().to_owned();
    let mut open = vec![root.clone()];
    while let Some(path) = open.pop() {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        // What git writes it makes readable; nobody gets there.
        if !path.starts_with(root.join(".throughline/history.git")) {
            assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
        }
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
}

#[tokio::test]
async fn h3_without_a_difference_nothing_runs() {
    let house = House::with_sessions().await;
    house.offline().await;
    let before = house.book();
    let model = Scripted::new(vec![Turn::Fail]);
    let done = house.by_model(&model, false).await.unwrap();
    assert_eq!(done.outcome, Phase2Outcome::Unchanged);
    assert!(model.sent.lock().unwrap().is_empty(), "nobody was asked");
    assert_eq!(house.book(), before);
    assert_eq!(house.world.store.edition(&app()).await.unwrap().unwrap().number, 1);
    assert_eq!(done.consolidated.selected.len(), 2, "it still rests on them");
}

#[tokio::test]
async fn of_nothing_there_is_no_handbook() {
    let house = House::new().await;
    let done = house.offline().await;
    assert_eq!(done.outcome, Phase2Outcome::Nothing);
    assert!(!house.path("MEMORY.md").exists());
}

#[tokio::test]
async fn h3_what_lost_its_evidence_is_gone_from_all_files() {
    let house = House::with_sessions().await;
    house.offline().await;
    assert!(house.text("MEMORY.md").contains("pnpm"));
    assert!(house.world.store.forget(&"s-1".into()).await.unwrap());
    let done = house.offline().await;
    assert_eq!(done.outcome, Phase2Outcome::Consolidated(Author::Offline));
    for (path, bytes) in house.book() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("pnpm") && !text.contains("s-1"), "{}: {text}", path.display());
    }
    assert!(house.text("MEMORY.md").contains("linker cc"));
}

#[tokio::test]
async fn h3_unchanged_files_are_not_written_again() {
    let house = House::with_sessions().await;
    house.offline().await;
    let stamp = |file: &str| fs::metadata(house.path(file)).unwrap().modified().unwrap();
    let name = fs::read_dir(house.path("rollout_summaries")).unwrap().next().unwrap().unwrap().file_name();
    let file = format!("rollout_summaries/{}", name.to_str().unwrap());
    let before = stamp(&file);
    house.teach("s-3", "app", 1, vec![said("s-3", "m-1", "Commit messages are short.")]).await;
    let done = house.offline().await;
    assert!(!done.changed.contains(&file), "{:?}", done.changed);
    assert_eq!(stamp(&file), before);
    assert!(done.changed.contains(&"raw_memories.md".to_owned()));
}

#[tokio::test]
async fn h3_a_model_consolidates_by_the_diff() {
    let house = House::with_sessions().await;
    let model = Scripted::new(vec![
        Turn::Calls(vec![("read", json!({"path": "phase2_workspace_diff.md"})), ("list", json!({}))]),
        Turn::Calls(vec![
            ("search", json!({"pattern": "pnpm", "path": "raw_memories.md"})),
            ("read", json!({"path": "raw_memories.md", "from": 3, "lines": 2})),
        ]),
        Turn::Calls(vec![("write", json!({"path": "MEMORY.md", "text": good_book()}))]),
        Turn::Calls(vec![(
            "edit",
            json!({"path": "MEMORY.md", "old": "was seen to pass", "new": "(seen to pass)"}),
        )]),
    ]);
    let done = house.by_model(&model, false).await.unwrap();
    assert_eq!(done.outcome, Phase2Outcome::Consolidated(Author::Model));
    assert_eq!(done.receipts.len(), 1);
    assert!(done.consolidated.cost.tokens > 0 && done.consolidated.cost.model.as_deref() == Some("scripted"));
    let heard = model.heard();
    assert!(heard.contains("- A raw_memories.md"), "{heard}");
    assert!(heard.contains("go on with from: 5"), "{heard}");
    let memory = house.text("MEMORY.md");
    assert!(memory.contains("`cargo test -p importer` (seen to pass)"), "{memory}");
    assert!(house.text("EVIDENCE.md").contains(&key("s-2", "m-1")), "code wrote it");
    assert!(house.text("memory_summary.md").starts_with("v1\n"), "code wrote what the model did not");
    assert!(!house.path("phase2_workspace_diff.md").exists());
    // The fork may do nothing but this.
    let sent = model.sent.lock().unwrap();
    let tools: Vec<&str> =
        sent[0]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(tools, ["list", "read", "search", "write", "edit", "delete"]);
}

#[tokio::test]
async fn h3_a_flaw_is_told_once_and_mended_within_the_same_caps() {
    let house = House::with_sessions().await;
    let forged = good_book().replace(&key("s-1", "m-1"), "e0000000000");
    let model = Scripted::new(vec![
        Turn::Calls(vec![(
            "write",
            json!({"path": "MEMORY.md", "text": forged.replace(&key("s-1", "m-2"), "e1111111111")}),
        )]),
        Turn::Say("Done."),
        Turn::Calls(vec![("write", json!({"path": "MEMORY.md", "text": good_book()}))]),
    ]);
    let done = house.by_model(&model, false).await.unwrap();
    assert_eq!(done.outcome, Phase2Outcome::Consolidated(Author::Model));
    assert_eq!(done.receipts.len(), 2);
    assert!(model.heard().contains("can't be used yet"), "{}", model.heard());
    assert!(house.text("MEMORY.md").contains("pnpm"));
}

#[tokio::test]
async fn few_bullets_without_evidence_are_taken_out_and_told() {
    let house = House::with_sessions().await;
    let book = format!("{}- Something nobody saw. [e0000000000]\n", good_book());
    let done = house.by_model(&Scripted::writing(&[("MEMORY.md", &book)]), false).await.unwrap();
    assert!(done.dropped.iter().any(|line| line.contains("Something nobody saw")), "{:?}", done.dropped);
    let memory = house.text("MEMORY.md");
    assert!(!memory.contains("nobody saw") && memory.contains("pnpm"), "{memory}");
}

#[tokio::test]
async fn where_the_model_fails_the_offline_scribe_does_it_if_it_may() {
    let house = House::with_sessions().await;
    let done = house.by_model(&Scripted::new(vec![Turn::Fail]), true).await.unwrap();
    assert_eq!(done.outcome, Phase2Outcome::Consolidated(Author::Offline));
    assert!(done.instead.as_ref().unwrap().contains("broken"), "{:?}", done.instead);
    assert!(house.text("MEMORY.md").contains("pnpm"));
    assert_eq!(done.consolidated.cost.by, Author::Offline);
    assert_eq!(done.consolidated.cost.model.as_deref(), Some("scripted"), "what it cost is told");
}

#[tokio::test]
async fn h6_notes_by_hand_are_kept_and_consolidated_and_refused_with_credentials() {
    let house = House::with_sessions().await;
    let workspace = house.workspace();
    for text in ["Deploys go out. password=hunter2-Secret-99", "部署用的密码改成了 hunter2-Secret-99"]
    {
        let error = workspace.add_note(text, house.now()).unwrap_err().to_string();
        assert!(error.contains("credential") && !error.contains("hunter2"), "{error}");
    }
    let note = workspace.add_note("Deploys go out on Tuesdays.", house.now()).unwrap();
    assert!(note.file.ends_with(".md") && note.file.contains("deploys-go-out"), "{}", note.file);
    assert_eq!(workspace.notes().unwrap(), std::slice::from_ref(&note), "seen before any consolidation");
    let again = workspace.add_note("Deploys go out on Tuesdays.", house.now()).unwrap();
    assert_ne!(again.file, note.file);
    for bad in ["", "  \n", &"x".repeat(1 << 20)] {
        assert!(matches!(workspace.add_note(bad, house.now()), Err(Phase2Error::Note { .. })));
    }
    fs::write(house.path("extensions/ad_hoc/instructions.md"), "My own words.\n").unwrap();
    let path = house.path(&format!("extensions/ad_hoc/notes/{}", note.file));
    let before = fs::read(&path).unwrap();
    house.offline().await;
    assert!(house.text("MEMORY.md").contains("Deploys go out on Tuesdays"));
    assert_eq!(house.text("extensions/ad_hoc/instructions.md"), "My own words.\n");
    assert_eq!(fs::read(&path).unwrap(), before, "never edited");
    // Deleted by hand it is forgotten.
    fs::remove_file(&path).unwrap();
    fs::remove_file(house.path(&format!("extensions/ad_hoc/notes/{}", again.file))).unwrap();
    house.offline().await;
    assert!(!house.text("MEMORY.md").contains("Tuesdays"));
}

#[tokio::test]
async fn nothing_of_one_project_is_in_anothers_folder() {
    let house = House::with_sessions().await;
    house
        .teach(
            "s-9",
            "other",
            1,
            vec![
                said("s-9", "m-1", "In zebra-land use yarn."),
                seen("s-9", "m-2", FindingKind::Environment, "The zebra database listens on port 5599."),
            ],
        )
        .await;
    house.offline().await;
    house.offline_of(&scope("other")).await;
    house.offline_of(&Scope::Global).await;
    let grep = |scope: &Scope, word: &str| {
        let files = all_files(house.workspace_of(scope).folder());
        files
            .into_iter()
            .filter(|(path, bytes)| {
                path.to_string_lossy().contains(word)
                    || bytes.windows(word.len()).any(|part| part == word.as_bytes())
            })
            .map(|(path, _)| path)
            .collect::<Vec<_>>()
    };
    for word in ["zebra", "s-9", "/work/other", "yarn"] {
        assert_eq!(grep(&app(), word), Vec::<PathBuf>::new(), "{word}");
        assert!(!grep(&scope("other"), word).is_empty(), "{word}");
        assert_eq!(grep(&Scope::Global, word), Vec::<PathBuf>::new(), "{word}");
    }
    for word in ["pnpm", "importer", "/work/app"] {
        assert_eq!(grep(&scope("other"), word), Vec::<PathBuf>::new(), "{word}");
        assert_eq!(grep(&Scope::Global, word), Vec::<PathBuf>::new(), "{word}");
    }
}

#[tokio::test]
async fn a_model_is_shown_nothing_of_other_projects() {
    let house = House::with_sessions().await;
    house.teach("s-9", "other", 1, vec![said("s-9", "m-1", "In zebra-land use yarn.")]).await;
    let model = Scripted::new(vec![
        Turn::Calls(vec![
            ("list", json!({})),
            ("search", json!({"pattern": "."})),
            ("read", json!({"path": "raw_memories.md"})),
            ("read", json!({"path": "../other/raw_memories.md"})),
        ]),
        Turn::Calls(vec![("write", json!({"path": "MEMORY.md", "text": good_book()}))]),
    ]);
    house.by_model(&model, false).await.unwrap();
    assert!(!model.heard().contains("zebra") && !model.heard().contains("s-9"), "{}", model.heard());
}

#[tokio::test]
async fn without_git_it_works_and_says_so() {
    let house = House { uses_git: false, ..House::with_sessions().await };
    assert_eq!(house.offline().await.outcome, Phase2Outcome::Consolidated(Author::Offline));
    assert_eq!(house.offline().await.outcome, Phase2Outcome::Unchanged);
    let past = house.workspace().history(10).unwrap();
    assert!(
        past.off.is_some() && past.records.iter().any(|record| record.kind.name() == "consolidated"),
        "{past:?}"
    );
    assert!(!house.path(".throughline/history.git").exists());
    if !has_git() {
        return;
    }
    // Once git is there it has what was.
    let house = House { uses_git: true, ..house };
    assert_eq!(house.offline().await.outcome, Phase2Outcome::Unchanged);
    let past = house.workspace().history(10).unwrap();
    assert!(
        past.off.is_none() && past.records.iter().any(|record| record.kind.name() == "consolidated"),
        "{past:?}"
    );
}

#[tokio::test]
async fn another_machines_edition_is_taken_in_and_changes_by_hand_stay() {
    let house = House::with_sessions().await;
    house.offline().await;
    // Another home that shares the store.
    let other = House {
        parent: tempfile::tempdir().unwrap(),
        limits: house.limits.clone(),
        uses_git: true,
        home_at: None,
        world: house.world,
    };
    let workspace = other.workspace();
    let synced = sync_handbook(&*other.world.store, &workspace, other.now()).await.unwrap();
    assert_eq!(synced.edition, Some(1));
    assert!(other.text("MEMORY.md").contains("pnpm"));
    let memory = other.text("MEMORY.md");
    let edited = memory.replace("## Pitfalls", "## Pitfalls\n\nMy own remark.\n");
    fs::write(other.path("MEMORY.md"), &edited).unwrap();
    let again = sync_handbook(&*other.world.store, &workspace, other.now()).await.unwrap();
    assert_eq!(again.edition, None);
    assert_eq!(other.text("MEMORY.md"), edited);
    other.teach("s-3", "app", 1, vec![said("s-3", "m-1", "Commit messages are short.")]).await;
    let done = other.offline().await;
    assert_eq!(done.edits, ["MEMORY.md"], "told");
    assert_eq!(done.consolidated.edition, Some(2));
}

#[tokio::test]
async fn a_bullet_that_people_add_by_hand_becomes_a_note_and_stays() {
    let house = House::with_sessions().await;
    house.offline().await;
    let by_hand = "## User preferences\n\n- Deploys go out on Tuesdays only.\n";
    fs::write(house.path("MEMORY.md"), house.text("MEMORY.md").replace("## User preferences\n", by_hand))
        .unwrap();
    let done = house.offline().await;
    assert_eq!(done.edits, ["MEMORY.md"]);
    let notes = house.workspace().notes().unwrap();
    assert_eq!(
        notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>(),
        ["Deploys go out on Tuesdays only."]
    );
    let note = Evidence::Note { file: notes[0].file.clone() }.key().to_string();
    let memory = house.text("MEMORY.md");
    let line = memory.lines().find(|line| line.contains("Tuesdays")).unwrap_or_else(|| panic!("{memory}"));
    assert!(line.contains(&note), "{line}");
    assert_eq!(memory.matches("Tuesdays").count(), 1, "{memory}");
    assert_eq!(house.offline().await.outcome, Phase2Outcome::Unchanged);
    assert_eq!(house.workspace().notes().unwrap().len(), 1);
}

#[tokio::test]
async fn skills_of_people_stay_and_ours_go_with_their_evidence() {
    let house = House::with_sessions().await;
    let skill = |name: &str, keys: &str| {
        format!(
            "---\nname: {name}\ndescription: Tests of the importer\n---\n\n# Importer\n\n1. Run `cargo test -p importer`.\n\nEvidence: [{keys}]\n"
        )
    };
    let by_hand = skill("by-hand", "none");
    fs::create_dir_all(house.path("skills/by-hand")).unwrap();
    fs::write(house.path("skills/by-hand/SKILL.md"), &by_hand).unwrap();
    let ours = skill("importer", &key("s-1", "m-2"));
    let forged = skill("forged", "e0000000000");
    let model = Scripted::writing(&[
        ("MEMORY.md", &good_book()),
        ("skills/importer/SKILL.md", &ours),
        ("skills/forged/SKILL.md", &forged),
        ("skills/by-hand/SKILL.md", "mine now"),
    ]);
    let done = house.by_model(&model, false).await.unwrap();
    assert!(done.dropped.iter().any(|line| line.contains("forged")), "{:?}", done.dropped);
    assert!(house.path("skills/importer/SKILL.md").is_file(), "{:?}", done.dropped);
    assert!(!house.path("skills/forged").exists());
    assert_eq!(house.text("skills/by-hand/SKILL.md"), by_hand);
    // A model that leaves it as it is does not keep it alive.
    assert!(house.world.store.forget(&"s-1".into()).await.unwrap());
    let book = format!(
        "# Handbook: app\n\n## Pitfalls\n\n- `cargo build` failed with `linker cc not found`. [{}]\n",
        key("s-2", "m-1")
    );
    house.by_model(&Scripted::writing(&[("MEMORY.md", &book)]), false).await.unwrap();
    assert!(!house.path("skills/importer").exists());
    assert_eq!(house.text("skills/by-hand/SKILL.md"), by_hand);
    for file in ["MEMORY.md", "EVIDENCE.md", "memory_summary.md", "raw_memories.md"] {
        assert!(!house.text(file).contains("pnpm"), "{file}");
    }
}
