use crate::common::{answer, checkpoint, ids, scratch, summary, user, writer};
use proptest::prelude::*;
use std::io::Write;
use throughline_ledger::{ProblemKind, Reader, SyncPolicy, Writer, check, list, resume};

fn damage(path: &std::path::Path, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    let bytes = std::fs::read(path).unwrap();
    std::fs::write(path, change(bytes)).unwrap();
}

#[test]
fn l7_a_torn_last_line_is_reported_kept_and_closed() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[user("a"), answer("b")]).unwrap();
    let path = w.path().to_owned();
    drop(w);
    let torn = br#"{"kind":"message","id":"c","role":"us"#;
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(torn).unwrap();

    let resumed = resume(&s.home, &path).unwrap();
    assert_eq!(ids(&resumed.view), ["a", "b"]);
    assert_eq!(resumed.problems.iter().map(|p| &p.kind).collect::<Vec<_>>(), [&ProblemKind::Torn]);

    let mut w = Writer::open(&s.home, &path, SyncPolicy::Never).unwrap();
    w.append(&[user("d")]).unwrap();
    assert_eq!(ids(&resume(&s.home, &path).unwrap().view), ["a", "b", "d"]);
    let bytes = std::fs::read(&path).unwrap();
    assert!(bytes.windows(torn.len()).any(|w| w == torn), "what was there stays there");
}

#[test]
fn l7_garbage_and_newer_lines_are_skipped_with_their_line_numbers() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[user("a")]).unwrap();
    let path = w.path().to_owned();
    drop(w);
    damage(&path, |mut bytes| {
        bytes.extend_from_slice(b"\xff\xfe not json\n{\"kind\":\"hologram\"}\n\n");
        bytes
    });
    let mut w = Writer::open(&s.home, &path, SyncPolicy::Never).unwrap();
    w.append(&[user("b")]).unwrap();
    assert_eq!(ids(&resume(&s.home, &path).unwrap().view), ["a", "b"]);
    let found = check(&s.home, &path).unwrap();
    let told: Vec<String> = found.problems.iter().map(|p| p.to_string()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains(".jsonl:4: not a record"), "{}", told[0]);
    assert!(told[1].contains(".jsonl:5: unknown kind `hologram`"), "{}", told[1]);
}

#[test]
fn l7_a_checkpoint_whose_offsets_are_wrong_finds_its_messages_all_the_same() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[user("a"), answer("b")]).unwrap();
    let entries = resume(&s.home, w.path()).unwrap().view.entries().to_vec();
    let items = entries.iter().map(|entry| {
        let mut entry = entry.clone();
        entry.origin.offset += 7;
        entry.to_item()
    });
    w.append(&[checkpoint("k", std::iter::once(summary("sum")).chain(items).collect())]).unwrap();
    assert_eq!(ids(&resume(&s.home, w.path()).unwrap().view), ["sum", "a", "b"]);
    let found = check(&s.home, w.path()).unwrap().problems;
    assert!(found.iter().any(|p| p.kind == ProblemKind::Misplaced("a".into())), "{found:?}");
}

#[test]
fn l7_a_missing_blob_leaves_a_note_and_a_report() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[user(&"long ".repeat(10_000))]).unwrap();
    std::fs::remove_dir_all(s.home.blobs()).unwrap();
    let resumed = resume(&s.home, w.path()).unwrap();
    assert!(resumed.view.messages().next().unwrap().to_text().contains("is missing]"));
    assert!(matches!(resumed.problems[0].kind, ProblemKind::MissingBlob(_)));
}

proptest! {
    #[test]
    fn l7_a_ledger_cut_at_any_byte_opens_and_loses_at_most_the_cut_record(cut in 0.0..1.0f64) {
        let s = scratch();
        let mut w = writer(&s.home, "s");
        let mut ends = vec![];
        for n in 0..12 {
            w.append(&[if n == 6 { checkpoint("k", vec![summary("m6")]) } else { user(&format!("m{n}")) }]).unwrap();
            ends.push(w.end());
        }
        let path = w.path().to_owned();
        let cut = (w.end() as f64 * cut) as u64;
        drop(w);
        damage(&path, |mut bytes| { bytes.truncate(cut as usize); bytes });

        let whole = ends.iter().filter(|&&end| end <= cut).count();
        let resumed = resume(&s.home, &path).unwrap();
        let seen = ids(&resumed.view);
        // The checkpoint's line may be whole where only the card behind it was cut.
        let first = if seen.contains(&"m6".to_owned()) { 6 } else { 0 };
        prop_assert!(whole <= 6 || first == 6);
        for n in first..whole {
            prop_assert!(seen.contains(&format!("m{n}")), "m{n} of {whole} is gone: {seen:?}");
        }
        list(&s.home).unwrap();
        check(&s.home, &path).unwrap();
        let mut w = Writer::open(&s.home, &path, SyncPolicy::Never).unwrap();
        w.append(&[user("after")]).unwrap();
        let seen = ids(&resume(&s.home, &path).unwrap().view);
        prop_assert_eq!(seen.last().map(String::as_str), Some("after"));
    }

    #[test]
    fn l7_arbitrary_bytes_never_stop_a_reader(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        lines in proptest::collection::vec(
            prop_oneof![
                Just(r#"{"kind":"message","id":"m","role":"user","blocks":[{"type":"text","text":"x"}]}"#),
                Just(r#"{"kind":"checkpoint","id":"k","strategy":"s","items":[{"keep":{"id":"m","offset":3}}]}"#),
                Just(r#"{"kind":"edit","id":"e","stage":"user","ops":[{"undo":{"edit":"k"}}]}"#),
                Just(r#"{"kind":"edit","id":"e","stage":"user","ops":[{"undo":{"edit":"e"}}]}"#),
                Just(r#"{"kind":"message","id":{"$blob":{"hash":"zz"}},"role":"user","blocks":[]}"#),
                Just(r#"{"kind":"card","title":7}"#),
                Just("{\"kind\":\"meta\",\"version\":9}"),
                Just("[[[[[["),
            ],
            0..8,
        ),
        at in any::<prop::sample::Index>(),
    ) {
        let s = scratch();
        let path = s.home.ledger_path(crate::common::time(0), &"s".into());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut text = lines.join("\n").into_bytes();
        let at = at.index(text.len() + 1);
        text.splice(at..at, bytes);
        std::fs::write(&path, &text).unwrap();

        resume(&s.home, &path).unwrap();
        check(&s.home, &path).unwrap();
        list(&s.home).unwrap();
        let mut reader = Reader::open(&s.home, &path, 0).unwrap();
        while reader.next_record().unwrap().is_some() {}
        let mut w = Writer::open(&s.home, &path, SyncPolicy::Never).unwrap();
        w.append(&[user("after")]).unwrap();
        let left = std::fs::read(&path).unwrap();
        prop_assert!(left.starts_with(&text), "nothing that was there was touched");
    }
}
