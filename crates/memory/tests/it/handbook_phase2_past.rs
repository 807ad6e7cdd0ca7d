//! A handbook's past: undone, undone again, and what people changed by hand is never lost.

use crate::handbook_phase2_kit::{House, key, said};
use crate::store_kit::app;
use crate::topics_history::has_git;
use std::fs;
use throughline_memory::handbook::phase2::{
    Phase2Error, Phase2Outcome, RecordKind, sync_handbook, undo_handbook,
};
use throughline_memory::notes::Author;

async fn undo(
    house: &House,
    id: Option<&str>,
) -> Result<throughline_memory::handbook::phase2::Undone, Phase2Error> {
    undo_handbook(Some(&*house.world.store), &house.workspace(), (id, house.now())).await
}

async fn two_editions(uses_git: bool) -> House {
    let house = House { uses_git, ..House::with_sessions().await };
    house.offline().await;
    house.teach("s-3", "app", 1, vec![said("s-3", "m-1", "Keep commit messages short.")]).await;
    house.offline().await;
    house
}

#[tokio::test]
async fn an_edition_is_taken_back_and_does_not_return_by_itself() {
    for uses_git in [true, false] {
        if uses_git && !has_git() {
            continue;
        }
        let house = House { uses_git, ..House::with_sessions().await };
        house.offline().await;
        let first = house.book();
        house.teach("s-3", "app", 1, vec![said("s-3", "m-1", "Keep commit messages short.")]).await;
        house.offline().await;
        let second = house.book();
        assert_ne!(first, second);

        let undone = undo(&house, None).await.unwrap();
        assert_eq!(undone.record.kind, RecordKind::Consolidated);
        assert_eq!(house.book(), first, "as it was before");
        assert_eq!(house.offline().await.outcome, Phase2Outcome::TakenBack);
        assert_eq!(house.book(), first);
        // The undo is taken back by its id.
        let records = house.workspace().history(10).unwrap().records;
        assert_eq!(records[0].kind, RecordKind::Undone);
        assert!(records.iter().any(|record| record.undone && record.kind == RecordKind::Consolidated));
        undo(&house, Some(&records[0].id[..12])).await.unwrap();
        assert_eq!(house.book(), second);
        assert_eq!(house.offline().await.outcome, Phase2Outcome::Unchanged);
        // And once more; then something new is consolidated, and all that is there with it.
        undo(&house, None).await.unwrap();
        assert_eq!(house.book(), first);
        house.teach("s-4", "app", 1, vec![said("s-4", "m-1", "Answer in German.")]).await;
        assert_eq!(house.offline().await.outcome, Phase2Outcome::Consolidated(Author::Offline));
        let memory = house.text("MEMORY.md");
        assert!(memory.contains("German") && memory.contains("commit messages"), "{memory}");
    }
}

#[tokio::test]
async fn one_after_the_other_is_taken_back_to_the_beginning() {
    let house = two_editions(true).await;
    if !has_git() {
        return;
    }
    undo(&house, None).await.unwrap();
    undo(&house, None).await.unwrap();
    assert!(!house.path("MEMORY.md").exists());
    assert_eq!(house.offline().await.outcome, Phase2Outcome::TakenBack);
    let error = undo(&house, None).await.unwrap_err();
    assert!(matches!(error, Phase2Error::NotUndone { .. }), "{error}");
    for odd in ["", "abc", "0000", "zzzzzzzz"] {
        assert!(undo(&house, Some(odd)).await.is_err(), "{odd}");
    }
}

#[tokio::test]
async fn what_people_changed_by_hand_is_in_the_history_before_anything_else_happens() {
    if !has_git() {
        return;
    }
    let house = two_editions(true).await;
    let edited = house.text("MEMORY.md").replace("## User preferences", "My remark.\n\n## User preferences");
    fs::write(house.path("MEMORY.md"), &edited).unwrap();
    let note = house.workspace().add_note("Deploys go out on Tuesdays.", house.now()).unwrap();
    let undone = undo(&house, None).await.unwrap();
    assert_eq!(undone.edits, ["MEMORY.md"]);
    assert!(!house.text("MEMORY.md").contains("My remark"));
    assert_eq!(house.workspace().notes().unwrap(), [note], "notes stay");
    let records = house.workspace().history(10).unwrap().records;
    let found = records.iter().position(|record| {
        record.kind == RecordKind::Found && record.files.contains(&"MEMORY.md".to_owned())
    });
    assert!(found.is_some(), "{records:?}");
    // The undo taken back gives the remark back, to the byte.
    undo(&house, Some(&records[0].id)).await.unwrap();
    assert_eq!(house.text("MEMORY.md"), edited);
}

#[tokio::test]
async fn a_consolidation_records_what_it_found_changed() {
    if !has_git() {
        return;
    }
    let house = two_editions(true).await;
    let raw = house.text("raw_memories.md");
    fs::write(house.path("raw_memories.md"), "scribbled over").unwrap();
    let done = house.offline().await;
    assert_eq!(done.edits, ["raw_memories.md"]);
    assert_eq!(house.text("raw_memories.md"), raw, "written anew from the material");
    let git = std::process::Command::new("git")
        .arg("--git-dir")
        .arg(house.path(".throughline/history.git"))
        .args(["log", "-p", "--format=%s"])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&git.stdout).contains("scribbled over"));
}

#[tokio::test]
async fn others_who_share_the_store_get_what_was_before() {
    let house = House::with_sessions().await;
    house.offline().await;
    let first = house.text("MEMORY.md");
    house.teach("s-3", "app", 1, vec![said("s-3", "m-1", "Keep commit messages short.")]).await;
    house.offline().await;
    undo(&house, None).await.unwrap();
    let other = House { parent: tempfile::tempdir().unwrap(), ..house };
    let synced = sync_handbook(&*other.world.store, &other.workspace(), other.now()).await.unwrap();
    assert_eq!(synced.edition, Some(3));
    assert_eq!(other.text("MEMORY.md"), first);
    assert_eq!(other.offline().await.outcome, Phase2Outcome::TakenBack, "it knows, too");
}

#[tokio::test]
async fn whoever_was_slower_starts_over_with_the_newer_edition() {
    let house = House::with_sessions().await;
    let other = House { parent: tempfile::tempdir().unwrap(), ..House::new().await };
    let other = House { world: house.world, ..other };
    other.offline().await;
    // The first house comes back with a folder of its own that knows nothing of it.
    let back = House {
        parent: house.parent,
        limits: house.limits,
        uses_git: house.uses_git,
        home_at: None,
        world: other.world,
    };
    let done = back.offline().await;
    assert_eq!(done.synced.edition, Some(1));
    assert_eq!(done.outcome, Phase2Outcome::Unchanged);
    assert!(back.text("MEMORY.md").contains(&key("s-1", "m-1")));
}

#[tokio::test]
async fn an_edition_with_foreign_files_is_refused() {
    let house = House::with_sessions().await;
    for path in ["../outside.txt", "/etc/x", ".throughline/history.git/config", "skills/a/run.sh"] {
        let files = [(path.to_owned(), b"x".to_vec())].into();
        let after = house.world.store.edition(&app()).await.unwrap().map_or(0, |edition| edition.number);
        let edition = throughline_memory::store::Edition { scope: app(), number: 0, at: house.now(), files };
        house.world.store.publish(&edition, after).await.unwrap().unwrap();
        let error = sync_handbook(&*house.world.store, &house.workspace(), house.now()).await.unwrap_err();
        assert!(matches!(error, Phase2Error::Foreign { .. }), "{path}: {error}");
    }
    assert_eq!(fs::read_to_string(house.parent.path().join("outside.txt")).unwrap(), "untouched");
}

#[tokio::test]
async fn a_damaged_history_stops_nobody() {
    if !has_git() {
        return;
    }
    let house = two_editions(true).await;
    let objects = house.path(".throughline/history.git/objects");
    fs::remove_dir_all(&objects).unwrap();
    fs::create_dir(&objects).unwrap();
    house.teach("s-4", "app", 1, vec![said("s-4", "m-1", "Answer in German.")]).await;
    assert_eq!(house.offline().await.outcome, Phase2Outcome::Consolidated(Author::Offline));
    assert!(house.text("MEMORY.md").contains("German"));
    assert_eq!(house.offline().await.outcome, Phase2Outcome::Unchanged);
    assert!(house.workspace().history(10).unwrap().off.is_some());
}

#[tokio::test]
async fn a_past_that_is_forgotten_is_nowhere_in_the_folder() {
    for uses_git in [true, false] {
        let house = House { uses_git, ..House::with_sessions().await };
        house.offline().await;
        assert!(house.world.store.forget(&"s-1".into()).await.unwrap());
        house.offline().await;
        let before = house.book();
        house.workspace().forget_past(house.now()).unwrap();
        assert_eq!(house.book(), before);
        let kept = house.workspace().history(10).unwrap().records;
        assert_eq!(kept.len(), 1, "{kept:?}");
        if uses_git && has_git() {
            let log = std::process::Command::new("git")
                .arg("--git-dir")
                .arg(house.path(".throughline/history.git"))
                .args(["log", "-p", "--all"])
                .output()
                .unwrap();
            assert!(!String::from_utf8_lossy(&log.stdout).contains("pnpm"));
        }
        assert_eq!(house.offline().await.outcome, Phase2Outcome::Unchanged);
        house.workspace().erase().unwrap();
        assert!(!house.workspace().folder().exists());
        house.workspace().erase().unwrap();
    }
}
