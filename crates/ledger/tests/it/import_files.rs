//! B10: files in, ledgers out: found, read once, gone on with, never written to.

use crate::import_common::{brief, fixture, records};
use std::fs;
use std::path::{Path, PathBuf};
use throughline_core::{Message, Record, invariants};
use throughline_ledger::import::{Discovery, ImportReport, Outcome, Places, discover, discover_in, import};
use throughline_ledger::{Home, SyncPolicy, check, list, resume, session};

fn run(home: &Home, found: &Discovery) -> ImportReport {
    import(home, found, SyncPolicy::Never, &mut |_| {}).unwrap()
}

fn run_one(home: &Home, path: &Path) -> ImportReport {
    run(home, &discover_in(&[path.to_owned()]))
}

fn outcomes(report: &ImportReport) -> Vec<(String, Outcome)> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    report.files.iter().map(|file| (name(&file.path), file.outcome.clone())).collect()
}

/// All ledgers, by session, in brief; and that each can be resumed and sent.
fn content(home: &Home) -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    for path in home.ledgers().unwrap() {
        let resumed = resume(home, &path).unwrap();
        let messages: Vec<Message> = resumed.view.messages().map(|m| (*m).clone()).collect();
        let (repaired, _) = invariants::repair(messages);
        assert_eq!(invariants::check(&repaired), []);
        all.push((resumed.session.to_string(), records(home, &path).iter().map(brief).collect()));
    }
    all.sort();
    all
}

/// Tells the first line that differs, not all of them.
#[track_caller]
fn assert_same(found: &[(String, Vec<String>)], expected: &[(String, Vec<String>)], context: &str) {
    for ((session, lines), (expected_session, expected)) in found.iter().zip(expected) {
        assert_eq!(session, expected_session, "{context}");
        let pairs = lines.iter().zip(expected);
        if let Some((n, (line, expected))) = pairs.enumerate().find(|(_, (a, b))| a != b) {
            panic!("{context}: record {n} of {session}\n  is        {line}\n  should be {expected}");
        }
        assert_eq!(lines.len(), expected.len(), "{context}: {session}");
    }
    assert_eq!(found.len(), expected.len(), "{context}");
}

fn fixtures() -> Vec<PathBuf> {
    let names = ["conversation", "branches", "compaction", "attachments", "sidechains"];
    let codex = ["modern", "compaction", "oldest", "events_only", "event_before_item"];
    let claude = names.iter().map(|name| fixture(&format!("claude/{name}.jsonl")));
    claude.chain(codex.iter().map(|name| fixture(&format!("codex/{name}.jsonl")))).collect()
}

#[test]
fn b10_the_clients_own_folders_are_found_and_imported() {
    let dir = tempfile::tempdir().unwrap();
    let places = Places {
        home: None,
        claude_config_dir: Some(fixture("homes/claude")),
        codex_home: Some(fixture("homes/codex")),
    };
    let home = Home::new(dir.path());
    let report = run(&home, &discover(&places));
    let text: Vec<String> =
        outcomes(&report).into_iter().map(|(name, outcome)| format!("{outcome:?} {name}")).collect();
    let ledgers: Vec<String> = content(&home).into_iter().map(|(_, lines)| lines.join("\n")).collect();
    insta::assert_snapshot!(format!("{}\n\n{}", text.join("\n"), ledgers.join("\n\n")));
    for path in home.ledgers().unwrap() {
        assert_eq!(check(&home, &path).unwrap().problems, [], "{}", path.display());
    }
    let orphan = report.files.iter().find(|file| file.path.to_string_lossy().ends_with("8.jsonl")).unwrap();
    assert!(orphan.notes[0].contains("is not here"), "{:?}", orphan.notes);
}

#[test]
fn b10_a_fork_without_history_is_read_through_its_parent() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path());
    run_one(&home, &fixture("homes/codex/sessions"));
    let fork = home.find("019f0000-0000-7000-8000-000000000007").unwrap();
    let words: Vec<String> = resume(&home, &fork).unwrap().view.messages().map(|m| m.to_text()).collect();
    assert_eq!(words, ["parent one", "fork two", "Carry on.\nSUMMARY F", "carried on"]);
    // Before its compaction: the parent's first turn, not its second.
    let at = records(&home, &fork).iter().position(|r| matches!(r, Record::Checkpoint(_))).unwrap();
    assert_eq!(at, 4);
    let Record::Meta(meta) = &records(&home, &fork)[0] else { panic!("no meta") };
    let parent = home.find("019f0000-0000-7000-8000-000000000006").unwrap();
    let point = meta.forked_from.as_ref().unwrap();
    let view = throughline_ledger::resume_until(&home, &parent, point.offset).unwrap().view;
    let words: Vec<String> = view.messages().map(|m| m.to_text()).collect();
    assert_eq!(words, ["rules", "parent one", "answer one"]);
}

#[test]
fn b10_importing_twice_changes_nothing() {
    for path in fixtures() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path());
        let first = run_one(&home, &path);
        assert_eq!(first.files[0].outcome, Outcome::Imported, "{}", path.display());
        let before: Vec<Vec<u8>> = home.ledgers().unwrap().iter().map(|p| fs::read(p).unwrap()).collect();
        let second = run_one(&home, &path);
        assert_eq!(second.files[0].outcome, Outcome::Unchanged, "{}", path.display());
        let after: Vec<Vec<u8>> = home.ledgers().unwrap().iter().map(|p| fs::read(p).unwrap()).collect();
        assert_eq!(before, after);
    }
}

#[test]
fn b10_a_file_imported_in_two_pieces_gives_what_it_gives_at_once() {
    for path in fixtures() {
        let whole = fs::read(&path).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let copy = dir.path().join(path.file_name().unwrap());
        fs::write(&copy, &whole).unwrap();
        let home = Home::new(dir.path().join("whole"));
        run_one(&home, &copy);
        let expected = content(&home);
        for (line, (n, _)) in whole.iter().enumerate().filter(|(_, b)| **b == b'\n').enumerate() {
            // Up to a line, and now and then up to a line without its end or into the next one.
            let cuts = if line % 4 == 0 { vec![n, n + 1, (n + 20).min(whole.len())] } else { vec![n + 1] };
            for cut in cuts {
                let home = Home::new(dir.path().join(format!("cut-{cut}")));
                fs::write(&copy, &whole[..cut]).unwrap();
                run_one(&home, &copy);
                fs::write(&copy, &whole).unwrap();
                run_one(&home, &copy);
                assert_same(&content(&home), &expected, &format!("{} cut at {cut}", path.display()));
                assert_eq!(
                    outcomes(&run_one(&home, &copy))[0].1,
                    Outcome::Unchanged,
                    "{} cut at {cut}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn b10_an_import_cut_off_at_any_byte_is_completed_by_the_next() {
    for path in fixtures() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path());
        run_one(&home, &path);
        let expected = content(&home);
        for ledger in home.ledgers().unwrap() {
            let whole = fs::read(&ledger).unwrap();
            let line_ends = whole.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(n, _)| n);
            for cut in
                [0, 10].into_iter().chain(line_ends.flat_map(|n| [n, n + 1, (n + 50).min(whole.len())]))
            {
                // Sub-agents are written before the session they belong to says how far the file was read.
                if is_agent(&ledger) {
                    let main = home.ledgers().unwrap().into_iter().find(|p| !is_agent(p)).unwrap();
                    let bytes = fs::read(&main).unwrap();
                    fs::write(&main, &bytes[..first_line(&bytes)]).unwrap();
                }
                fs::write(&ledger, &whole[..cut]).unwrap();
                run_one(&home, &path);
                assert_same(&content(&home), &expected, &format!("{} cut at {cut}", path.display()));
            }
        }
    }
}

fn first_line(bytes: &[u8]) -> usize {
    bytes.iter().position(|b| *b == b'\n').unwrap() + 1
}

fn is_agent(path: &Path) -> bool {
    path.to_string_lossy().contains("-agent-")
}

#[test]
fn b10_a_replaced_file_adds_only_what_is_new() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    let file = dir.path().join("t.jsonl");
    let whole = String::from_utf8(fs::read(fixture("claude/attachments.jsonl")).unwrap()).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    fs::write(&file, lines[..11].join("\n") + "\n").unwrap();
    run_one(&home, &file);
    let before = content(&home);
    // The last five lines were taken back and another one was written.
    let other = lines[0]
        .replace("00000001-0000", "000000ff-0000")
        .replace("\"parentUuid\":null", "\"parentUuid\":\"00000007-0000-4000-8000-000000000000\"");
    fs::write(&file, lines[..7].join("\n") + "\n" + &other.replace("hello", "another way") + "\n").unwrap();
    let report = run_one(&home, &file);
    assert_eq!(report.files[0].outcome, Outcome::Replaced);
    assert_eq!(report.messages, 1);
    let after = content(&home);
    assert_eq!(after[0].1[..before[0].1.len()], before[0].1[..]);
    insta::assert_snapshot!(after[0].1[before[0].1.len()..].join("\n"), @r#"
    edit 000000ff.replaced rewind to 00000007 (the file was replaced)
    message 000000ff <00000007 user REAL "another way"
    "#);
    let path = &home.ledgers().unwrap()[0];
    let last = resume(&home, path).unwrap().view.messages().last().unwrap();
    assert_eq!(last.to_text(), "another way");
}

#[test]
fn b10_a_title_by_a_person_survives_the_next_import() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    let file = dir.path().join("t.jsonl");
    let whole = fs::read_to_string(fixture("claude/conversation.jsonl")).unwrap();
    let half = whole.find("\"custom-title\"").and_then(|at| whole[..at].rfind('\n')).unwrap() + 1;
    fs::write(&file, &whole[..half]).unwrap();
    run_one(&home, &file);
    let ledger = home.ledgers().unwrap().remove(0);
    assert_eq!(list(&home).unwrap()[0].card.title.as_deref(), Some("Parser fix"));
    fs::write(&file, &whole).unwrap();
    run_one(&home, &file);
    assert_eq!(list(&home).unwrap()[0].card.title.as_deref(), Some("My own title"));
    session::set_title(&home, &ledger, Some("by hand".to_owned())).unwrap();
    fs::write(&file, whole + "{\"type\":\"ai-title\",\"aiTitle\":\"newer\"}\n").unwrap();
    run_one(&home, &file);
    assert_eq!(list(&home).unwrap()[0].card.title.as_deref(), Some("by hand"));
}

#[test]
fn b10_packed_rollouts_are_unpacked_on_the_way() {
    let dir = tempfile::tempdir().unwrap();
    let name = "rollout-2026-04-01T09-00-00-019f0000-0000-7000-8000-000000000001.jsonl";
    let plain = fs::read(fixture("codex/modern.jsonl")).unwrap();
    let (head, tail) = plain.split_at(plain.len() / 2);
    let pack =
        |bytes: &[u8]| ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest);
    // Two frames, as appending tools write them.
    let source = dir.path().join("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join(format!("{name}.zst")), [pack(head), pack(tail)].concat()).unwrap();
    let packed = Home::new(dir.path().join("packed"));
    assert_eq!(run_one(&packed, &source).files[0].outcome, Outcome::Imported);
    assert_eq!(run_one(&packed, &source).files[0].outcome, Outcome::Unchanged);
    let straight = Home::new(dir.path().join("straight"));
    run_one(&straight, &fixture("codex/modern.jsonl"));
    assert_eq!(content(&packed), content(&straight));
    // Unpacked again by its client and written on: the same session goes on.
    let more = "{\"timestamp\":\"2026-04-01T10:00:00.000Z\",\"type\":\"event_msg\",\"payload\":{\"type\":\"task_started\"}}\n";
    fs::write(source.join(name), [plain.as_slice(), more.as_bytes()].concat()).unwrap();
    let found = discover_in(&[source]);
    let report = run(&packed, &found);
    assert_eq!(outcomes(&report)[0], (name.to_owned(), Outcome::Continued));
    assert!(found.passed_over.iter().any(|p| p.reason.contains("packed copy")));
}

#[test]
fn b10_sources_are_only_read_and_links_are_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let outside = dir.path().join("outside");
    let inside = dir.path().join("inside");
    fs::create_dir_all(&outside).unwrap();
    fs::create_dir_all(&inside).unwrap();
    fs::copy(fixture("claude/branches.jsonl"), outside.join("secret.jsonl")).unwrap();
    fs::copy(fixture("claude/attachments.jsonl"), inside.join("open.jsonl")).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&outside, inside.join("folder")).unwrap();
        std::os::unix::fs::symlink(outside.join("secret.jsonl"), inside.join("link.jsonl")).unwrap();
    }
    let before = fs::read(inside.join("open.jsonl")).unwrap();
    let found = discover_in(&[inside.clone(), dir.path().join("nothing")]);
    assert_eq!(found.files, [inside.join("open.jsonl")]);
    assert!(found.passed_over.iter().any(|p| p.path.ends_with("nothing")));
    run(&Home::new(dir.path().join("home")), &found);
    assert_eq!(fs::read(inside.join("open.jsonl")).unwrap(), before);
}

#[test]
fn b10_trouble_with_one_file_does_not_stop_the_others() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.jsonl.zst"), b"not packed at all").unwrap();
    fs::write(dir.path().join("b.jsonl"), b"\0\xff\nnothing\n").unwrap();
    fs::copy(fixture("codex/oldest.jsonl"), dir.path().join("c.jsonl")).unwrap();
    let home = Home::new(dir.path().join("home"));
    let report = run(&home, &discover_in(&[dir.path().to_owned()]));
    let outcomes = outcomes(&report);
    assert!(matches!(outcomes[0].1, Outcome::Failed(_)), "{outcomes:?}");
    assert_eq!(outcomes[1].1, Outcome::Foreign);
    assert_eq!(outcomes[2].1, Outcome::Imported);
}

#[test]
fn b10_progress_moves_from_nothing_to_all() {
    let dir = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    let found = discover_in(&fixtures());
    import(&Home::new(dir.path()), &found, SyncPolicy::Never, &mut |p| seen.push((p.done, p.total))).unwrap();
    assert!(seen.windows(2).all(|w| w[0].0 <= w[1].0));
    assert_eq!(seen.first().unwrap().0, 0);
    assert_eq!(seen.last().unwrap().0, seen.last().unwrap().1);
}
