//! A process that is killed in the middle of a consolidation leaves a folder from which the next goes on.

use crate::handbook_phase2_kit::{House, all_files, said};
use crate::store_kit::{World, app};
use crate::topics_history::has_git;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use throughline_memory::handbook::phase2::{Phase2Outcome, sync_handbook};

/// Where the child works. Set for the child alone.
const FOLDER: &str = "THROUGHLINE_TEST_PHASE2_FOLDER";
const FIRST: &str = "THROUGHLINE_TEST_PHASE2_FIRST";
const GIT: &str = "THROUGHLINE_TEST_PHASE2_GIT";

/// Teaches and consolidates, again and again. The test below starts this very binary again to run it in a process of its own.
#[tokio::test]
async fn child_consolidates() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = PathBuf::from(folder);
    let first: usize = std::env::var(FIRST).unwrap().parse().unwrap();
    let mut house = House::new().await;
    house.world = World::in_folder(&folder).await;
    house.uses_git = std::env::var_os(GIT).is_some();
    house.home_at = Some(folder.join("home"));
    for n in first.. {
        let session = format!("c-{n}");
        house
            .teach(
                &session,
                "app",
                1,
                vec![said(&session, "m-1", &format!("Subject{n} is word{n} and nothing{n}."))],
            )
            .await;
        println!("taught {n}");
        house.offline().await;
        println!("consolidated {n}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_killed_leaves_a_folder_from_which_the_next_goes_on() {
    for uses_git in [true, false] {
        if uses_git && !has_git() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let mut acknowledged = Vec::new();
        for round in 0..6_usize {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command
                .args([
                    "--exact",
                    "handbook_phase2_crash::child_consolidates",
                    "--nocapture",
                    "--test-threads=1",
                ])
                .env(FOLDER, folder.path())
                .env(FIRST, (round * 1_000).to_string())
                .stdout(Stdio::piped())
                .stderr(Stdio::null());
            if uses_git {
                command.env(GIT, "1");
            }
            let mut child = command.spawn().unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
            let mut note =
                |line: &str| acknowledged.extend(line.split("consolidated ").nth(1).map(str::to_owned));
            for line in lines.by_ref().take(3 + round) {
                note(&line);
            }
            // The child goes on meanwhile: the kill falls anywhere.
            for _ in 0..round * 200_000 {
                std::hint::spin_loop();
            }
            child.kill().unwrap();
            lines.for_each(|line| note(&line));
            child.wait().unwrap();

            let mut house = House::new().await;
            house.world = World::in_folder(folder.path()).await;
            house.uses_git = uses_git;
            house.home_at = Some(folder.path().join("home"));
            // Whatever the killed one held is over after its lease.
            house.world.hands.pass(100_000);
            let done = house.offline().await;
            assert!(done.edits.is_empty(), "nothing of ours is taken for a change by hand: {:?}", done.edits);
            let memory = house.text("MEMORY.md");
            for n in &acknowledged {
                assert!(memory.contains(&format!("word{n} ")), "{n}: {memory}");
            }
            assert_eq!(house.offline().await.outcome, Phase2Outcome::Unchanged);
            let edition = house.world.store.edition(&app()).await.unwrap().unwrap();
            let published: BTreeMap<PathBuf, Vec<u8>> = edition
                .files
                .into_iter()
                .filter(|(path, _)| !path.starts_with(".throughline"))
                .map(|(path, bytes)| (house.path(&path), bytes))
                .collect();
            let mut here = all_files(house.workspace().folder());
            here.retain(|path, _| !path.starts_with(house.path(".throughline")));
            assert_eq!(here.keys().collect::<Vec<_>>(), published.keys().collect::<Vec<_>>());
            assert!(here == published, "the folder is what was published");
        }
        assert!(acknowledged.len() >= 6, "{acknowledged:?}");
    }
}

/// Between the record and the last file: as many files as `written` says are new, the rest and the state are old.
async fn killed_behind_the_record(uses_git: bool, written: usize) {
    let house = House { uses_git, ..House::with_sessions().await };
    house.offline().await;
    let old = house.book();
    let state = std::fs::read(house.path(".throughline/state.json")).unwrap();
    house.teach("s-3", "app", 1, vec![said("s-3", "m-1", "Keep commit messages short.")]).await;
    house.offline().await;
    let new = house.book();
    let changed: Vec<&PathBuf> = new.keys().filter(|path| old.get(*path) != new.get(*path)).collect();
    assert!(changed.len() > 3, "{changed:?}");
    for path in changed.iter().skip(written) {
        match old.get(*path) {
            Some(bytes) => std::fs::write(path, bytes).unwrap(),
            None => std::fs::remove_file(path).unwrap(),
        }
    }
    std::fs::write(house.path(".throughline/state.json"), &state).unwrap();
    let done = house.offline().await;
    assert_eq!(done.edits, Vec::<String>::new(), "nothing of ours is taken for a change by hand");
    assert!(house.book() == new, "what was recorded is in place");
    let records = house.workspace().history(100).unwrap().records;
    assert_eq!(records.iter().filter(|record| record.kind.name() != "found").count(), 2, "{records:?}");
    assert_eq!(house.offline().await.outcome, Phase2Outcome::Unchanged);
    // What people changed in between is left alone.
    std::fs::write(house.path("memory_summary.md"), "mine\n").unwrap();
    std::fs::write(house.path(".throughline/state.json"), &state).unwrap();
    sync_handbook(&*house.world.store, &house.workspace(), house.now()).await.unwrap();
    assert_eq!(house.text("memory_summary.md"), "mine\n");
}

#[tokio::test]
async fn what_was_recorded_and_not_yet_written_is_written_by_the_next() {
    for written in 0..4 {
        killed_behind_the_record(false, written).await;
        if has_git() {
            killed_behind_the_record(true, written).await;
        }
    }
}
