//! What files were before they were changed, and getting that back.

use crate::files_world::{World, done};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use throughline_agent::FileDiff;
use throughline_agent::files::{Change, Files, FilesError, NotCurrent, Old, Part, Undo};

fn kept() -> (World, PathBuf) {
    let mut world = World::new();
    let folder = world.tmp.path().join("history/session");
    world.files = Files::at(folder.clone()).unwrap();
    (world, folder)
}

#[test]
fn going_back_restores_removes_and_can_be_undone() {
    let (world, _) = kept();
    let script = world.put("run.sh", "old\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    world.files.begin_turn("m1");
    world.read("run.sh");
    done(&world.edit("run.sh", "old", "new"));
    world.files.begin_turn("m2");
    done(&world.edit("run.sh", "new", "newer"));
    done(&world.write("made/by/us.txt", "hello"));
    done(&world.write("made/too.txt", "hello"));
    fs::create_dir(world.path("empty")).unwrap();
    done(&world.write("empty/file.txt", "hello"));
    let diffs = world.files.changes_since("m2").unwrap();
    let us = world.path("made/by/us.txt");
    assert_eq!(
        diffs,
        [
            FileDiff { path: script.clone(), before: Some("new\n".to_owned()), after: "newer\n".to_owned() },
            FileDiff { path: us.clone(), before: None, after: "hello".to_owned() },
            FileDiff { path: world.path("made/too.txt"), before: None, after: "hello".to_owned() },
            FileDiff { path: world.path("empty/file.txt"), before: None, after: "hello".to_owned() },
        ]
    );
    let back = world.files.restore("m2", &world.workspace).unwrap();
    let removed = vec![us, world.path("made/too.txt"), world.path("empty/file.txt")];
    assert_eq!((back.restored, back.removed), (vec![script.clone()], removed));
    assert!(world.path("empty").is_dir(), "what was there before stays");
    assert_eq!((back.conflicts, back.failed), (vec![], vec![]));
    assert_eq!(world.text("run.sh"), "new\n");
    assert!(!world.path("made").exists(), "folders that were made for it go with it");
    assert!(world.files.changes_since("m2").unwrap().is_empty());
    world.files.restore(&back.undo.unwrap(), &world.workspace).unwrap();
    assert_eq!(world.text("run.sh"), "newer\n");
    assert_eq!(world.text("made/by/us.txt"), "hello");
    let back = world.files.restore("m1", &world.workspace).unwrap();
    assert_eq!(back.restored, std::slice::from_ref(&script));
    assert_eq!(world.text("run.sh"), "old\n");
    assert_eq!(fs::metadata(&script).unwrap().mode() & 0o777, 0o755);
    // Again: there is nothing to do.
    let again = world.files.restore("m1", &world.workspace).unwrap();
    assert_eq!(again, throughline_agent::files::Restored::default());
    assert!(matches!(world.files.restore("m9", &world.workspace), Err(FilesError::UnknownTurn { .. })));
}

#[test]
fn what_somebody_else_wrote_is_put_away_and_reported() {
    let (world, folder) = kept();
    world.put("a", "1");
    world.put("b", "1");
    world.read("a");
    world.read("b");
    world.files.begin_turn("m1");
    done(&world.write("a", "2"));
    done(&world.write("b", "2"));
    world.put("a", "by hand");
    fs::remove_file(world.path("b")).unwrap();
    let back = world.files.restore("m1", &world.workspace).unwrap();
    assert_eq!(back.restored.len(), 2);
    assert_eq!(back.conflicts.len(), 2);
    assert!(back.conflicts[1].1.contains("removed"), "{:?}", back.conflicts);
    assert_eq!((world.text("a").as_str(), world.text("b").as_str()), ("1", "1"));
    let hash = blake3::hash(b"by hand").to_hex().to_string();
    assert!(back.conflicts[0].1.contains(&hash));
    assert_eq!(fs::read(folder.join("backups").join(&hash[..2]).join(&hash)).unwrap(), b"by hand");
    world.files.restore(&back.undo.unwrap(), &world.workspace).unwrap();
    assert_eq!(world.text("a"), "by hand");
    assert!(!world.path("b").exists());
}

#[test]
fn one_file_that_can_not_be_put_back_does_not_hold_up_the_others() {
    let (world, folder) = kept();
    for name in ["dir/linked", "damaged", "fine", "blocked"] {
        world.put(name, name);
        world.read(name);
    }
    let outside = world.outside().join("secret.txt");
    world.read(outside.to_str().unwrap());
    world.files.begin_turn("m1");
    for name in ["dir/linked", "damaged", "fine", "blocked"] {
        done(&world.write(name, "changed"));
    }
    done(&world.write(outside.to_str().unwrap(), "changed"));
    // A link in the way, a backup that rotted, a folder where the file was.
    fs::rename(world.path("dir"), world.path("elsewhere")).unwrap();
    world.link("elsewhere", "dir");
    let hash = blake3::hash(b"damaged").to_hex().to_string();
    fs::write(folder.join("backups").join(&hash[..2]).join(&hash), "rotten!").unwrap();
    fs::remove_file(world.path("blocked")).unwrap();
    fs::create_dir(world.path("blocked")).unwrap();
    let back = world.files.restore("m1", &world.workspace).unwrap();
    assert_eq!(back.restored, [world.path("fine")]);
    let reasons: BTreeMap<&Path, &str> =
        back.failed.iter().map(|(path, reason)| (path.as_path(), reason.as_str())).collect();
    assert_eq!(reasons.len(), 4, "{reasons:?}");
    assert!(reasons[world.path("dir/linked").as_path()].contains("link"));
    assert!(reasons[world.path("damaged").as_path()].contains("damaged"));
    assert!(reasons[world.path("blocked").as_path()].contains("folder"));
    assert!(reasons[outside.as_path()].contains("outside"));
    assert_eq!(world.text("fine"), "fine");
    assert_eq!(world.text("elsewhere/linked"), "changed");
    assert_eq!(world.secret(), "changed");
}

#[test]
fn history_survives_a_restart_and_a_torn_line() {
    let (mut world, folder) = kept();
    world.put("a", "1");
    world.read("a");
    world.files.begin_turn("m1");
    done(&world.write("a", "2"));
    world.files.begin_turn("m2");
    done(&world.write("b", "new"));
    world.files.begin_turn("m3");
    let history = folder.join("history.jsonl");
    let whole = fs::read_to_string(&history).unwrap();
    fs::write(&history, format!("{whole}{{\"turn\":\"m4\",\"path\":\"/x")).unwrap();

    world.files = Files::at(folder.clone()).unwrap();
    assert_eq!(world.files.is_current(&world.path("a"), b"2"), Err(NotCurrent::NeverRead));
    world.read("a");
    done(&world.write("a", "3"));
    world.files = Files::at(folder.clone()).unwrap();
    assert_eq!(world.files.changes_since("m3").unwrap().len(), 1);
    world.files.restore("m3", &world.workspace).unwrap();
    assert_eq!((world.text("a").as_str(), world.text("b").as_str()), ("2", "new"));
    world.files = Files::at(folder.clone()).unwrap();
    let back = world.files.restore("m1", &world.workspace).unwrap();
    assert_eq!((back.conflicts.len(), back.failed.len()), (0, 0), "{back:?}");
    assert_eq!(world.text("a"), "1");
    assert!(!world.path("b").exists());
    // Every line but the torn one can be read.
    let lines = fs::read_to_string(&history).unwrap();
    let bad = lines.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_err()).count();
    assert_eq!(bad, 1, "{lines}");
}

#[test]
fn what_is_kept_is_private() {
    let (world, folder) = kept();
    world.put("a", "1");
    world.read("a");
    world.files.begin_turn("m1");
    done(&world.write("a", "2"));
    let mut folders = vec![folder];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700, "{}", folder.display());
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600, "{}", path.display());
                count += 1;
            }
        }
    }
    assert_eq!(count, 2);
}

#[test]
fn a_change_whose_old_content_can_not_be_put_away_is_not_made() {
    let (mut world, _) = kept();
    world.put("a", "1");
    world.files = Files::at(world.put("in-the-way", "a file").join("history")).unwrap_or_else(|_| {
        // A file where a folder should be may be noticed at once.
        Files::at(world.path("later")).unwrap()
    });
    world.put("later", "a file");
    world.read("a");
    let output = world.write("a", "2");
    assert!(output.is_error, "{output:?}");
    assert_eq!(world.text("a"), "1");
}

#[test]
fn content_over_ten_megabytes_is_changed_but_not_kept() {
    let (world, _) = kept();
    world.put("big", "x\n".repeat(6 * 1024 * 1024));
    world.read("big");
    world.files.begin_turn("m1");
    assert!(done(&world.write("big", "small")).contains("not put away"));
    let back = world.files.restore("m1", &world.workspace).unwrap();
    assert!(back.restored.is_empty() && back.failed[0].1.contains("too large"), "{back:?}");
    assert_eq!(world.text("big"), "small");
}

#[test]
fn a_change_made_for_other_content_is_refused() {
    let world = World::new();
    let path = world.put("a", "by the other one");
    let change = |before| world.files.change(Change { path: &path, before, after: b"mine" });
    let before = Old::File { bytes: b"what I read", mode: 0o644 };
    assert!(matches!(change(before), Err(FilesError::Raced { .. })));
    assert!(matches!(change(Old::Absent), Err(FilesError::Raced { .. })));
    assert!(matches!(change(Old::Large { bytes: 1 << 30 }), Err(FilesError::Raced { .. })));
    assert_eq!(world.text("a"), "by the other one");
    fs::remove_file(&path).unwrap();
    assert!(matches!(change(before), Err(FilesError::Raced { .. })));
    assert_eq!(change(Old::Absent).unwrap(), Undo::Possible);
    assert_eq!(world.text("a"), "mine");
}

#[test]
fn several_agents_at_once_lose_nothing() {
    let world = World::new();
    world.put("log", "");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (files, path) = (world.files.another_reader(), world.path("log"));
            scope.spawn(move || {
                for line in 0..20 {
                    loop {
                        let bytes = fs::read(&path).unwrap();
                        let after = [bytes.as_slice(), format!("{writer}.{line}\n").as_bytes()].concat();
                        let before = Old::File { bytes: &bytes, mode: 0o644 };
                        match files.change(Change { path: &path, before, after: &after }) {
                            Ok(_) => break,
                            Err(FilesError::Raced { .. }) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                }
            });
        }
    });
    let mut lines: Vec<String> = world.text("log").lines().map(str::to_owned).collect();
    lines.sort();
    lines.dedup();
    assert_eq!(lines.len(), 80);
}

#[test]
fn a_file_known_whole_stays_so_when_a_part_is_read_again() {
    let files = Files::new();
    let path = Path::new("/p/a");
    files.saw(path, b"text", Part::Whole);
    files.saw(path, b"text", Part::Lines { from: 1, to: 1 });
    assert_eq!(files.seen_part(path), Some(Part::Whole));
    assert_eq!(files.clone().is_current(path, b"text"), Ok(()));
    assert_eq!(files.is_current(path, b"other"), Err(NotCurrent::Changed));
    files.saw(path, b"other", Part::Lines { from: 1, to: 1 });
    assert_eq!(files.seen_part(path), Some(Part::Lines { from: 1, to: 1 }));
    files.forget_seen();
    assert_eq!(files.is_current(path, b"other"), Err(NotCurrent::NeverRead));
}

#[derive(Clone, Debug)]
enum Step {
    Turn,
    Write(usize, String),
    Edit(usize, String),
    Restart,
    Back(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Turn),
        4 => (0..4usize, "[a-c]{0,3}").prop_map(|(file, text)| Step::Write(file, text)),
        3 => (0..4usize, "[a-c]{1,3}").prop_map(|(file, text)| Step::Edit(file, text)),
        1 => Just(Step::Restart),
        1 => any::<usize>().prop_map(Step::Back),
    ]
}

const NAMES: [&str; 4] = ["a", "b", "deep/c", "deep/er/d"];

fn contents(world: &World) -> Vec<Option<String>> {
    NAMES.iter().map(|name| fs::read_to_string(world.path(name)).ok()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever was written, edited, taken back and restarted: going back to a turn gives exactly the files that were there when
    /// it began, and going back from that gives exactly what was there before.
    #[test]
    fn rewinding_is_exact(steps in prop::collection::vec(step(), 1..30), is_on_disk in any::<bool>()) {
        let (mut world, folder) = kept();
        if !is_on_disk {
            world.files = Files::new();
        }
        world.put("a", "first");
        world.put("deep/c", "third");
        let mut turns = vec![contents(&world)];
        world.files.begin_turn("t0");
        for step in steps {
            match step {
                Step::Turn => {
                    world.files.begin_turn(&format!("t{}", turns.len()));
                    turns.push(contents(&world));
                }
                Step::Write(file, text) => {
                    world.read(NAMES[file]);
                    done(&world.write(NAMES[file], &text));
                    prop_assert_eq!(world.text(NAMES[file]), text);
                }
                Step::Edit(file, text) => {
                    let Ok(old) = fs::read_to_string(world.path(NAMES[file])) else { continue };
                    if old.is_empty() || old == text {
                        continue;
                    }
                    world.read(NAMES[file]);
                    done(&world.edit(NAMES[file], &old, &text));
                }
                Step::Restart if is_on_disk => world.files = Files::at(folder.clone()).unwrap(),
                Step::Restart => {}
                Step::Back(turn) => {
                    let turn = turn % turns.len();
                    let before = contents(&world);
                    let back = world.files.restore(&format!("t{turn}"), &world.workspace).unwrap();
                    prop_assert!(back.conflicts.is_empty() && back.failed.is_empty(), "{:?}", back);
                    prop_assert_eq!(&contents(&world), &turns[turn]);
                    let changed = before.iter().zip(&turns[turn]).filter(|(a, b)| a != b).count();
                    prop_assert_eq!(back.restored.len() + back.removed.len(), changed);
                    if let Some(undo) = back.undo {
                        world.files.restore(&undo, &world.workspace).unwrap();
                        prop_assert_eq!(&contents(&world), &before);
                        world.files.restore(&format!("t{turn}"), &world.workspace).unwrap();
                        prop_assert_eq!(&contents(&world), &turns[turn]);
                    }
                }
            }
        }
        world.files.restore("t0", &world.workspace).unwrap();
        prop_assert_eq!(&contents(&world), &turns[0]);
    }
}
