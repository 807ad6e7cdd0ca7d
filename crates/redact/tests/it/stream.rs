//! Text in chunks comes out as text in one piece does.

use proptest::prelude::*;
use throughline_redact::{LONGEST_LINE, LONGEST_SECRET, Redactor, redact};
use throughline_testkit::secrets::{look_alikes, secrets};

/// In chunks of these lengths, taken in turn.
fn in_chunks(text: &[u8], lengths: &[usize]) -> (Vec<u8>, Vec<&'static str>, usize) {
    let mut redactor = Redactor::new();
    let (mut out, mut kinds, mut most) = (Vec::new(), Vec::new(), 0);
    let mut lengths = lengths.iter().cycle();
    let mut rest = text;
    while !rest.is_empty() {
        let length = lengths.next().copied().unwrap_or(1).clamp(1, rest.len());
        let piece = redactor.push(&rest[..length]);
        out.extend(piece.bytes);
        kinds.extend(piece.kinds);
        most = most.max(redactor.held());
        rest = &rest[length..];
    }
    let piece = redactor.finish();
    out.extend(piece.bytes);
    kinds.extend(piece.kinds);
    kinds.sort_unstable();
    (out, kinds, most)
}

fn whole(text: &str) -> (Vec<u8>, Vec<&'static str>) {
    let redacted = redact(text);
    let mut kinds = redacted.kinds().to_vec();
    kinds.sort_unstable();
    (redacted.into_text().into_bytes(), kinds)
}

#[test]
fn every_sample_byte_by_byte() {
    for sample in secrets(11, 1).iter().chain(&look_alikes(11, 4)) {
        let (out, kinds, _) = in_chunks(sample.text.as_bytes(), &[1]);
        assert_eq!((out, kinds), whole(&sample.text), "{} in {}", sample.kind, sample.setting);
    }
}

#[test]
fn a_long_line_is_held_in_part_and_no_secret_is_cut() {
    let key = format!("{}_{}", "ghp", "aB3dE6gH9jK2".repeat(3));
    let bound = LONGEST_LINE + LONGEST_SECRET;
    for filler in ["some words, and more ", "x", "{\"a\":[1,2,\"b\"]},", "日本語"] {
        // The key stands across every place where a line might be cut.
        let mut line = String::new();
        while line.len() < 6 * bound {
            line.push_str(&filler.repeat(9_000 / filler.len()));
            line.push_str(&format!(" \"{key}\" "));
        }
        let (out, kinds, most) = in_chunks(line.as_bytes(), &[1_000, 77, 4_096]);
        assert_eq!((out.clone(), kinds), whole(&line));
        let out = String::from_utf8(out).unwrap();
        assert!(!out.contains(&key[..12]), "{filler}");
        assert_eq!(out.replace("[redacted:github-token]", &key), line);
        assert!(most <= bound + 4_096, "{most}");
    }
}

#[test]
fn of_a_secret_without_end_nothing_is_left() {
    let text = format!("token {}{} end", "sk-ant-", "a1B2c3D4".repeat(60_000));
    let (out, kinds, _) = in_chunks(text.as_bytes(), &[5_000]);
    assert_eq!((out.clone(), kinds), whole(&text));
    assert_eq!(out, b"token [redacted:anthropic-key] end");
}

#[test]
fn a_key_block_without_end_is_not_held() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n".repeat(40);
    let text = format!("a\n-----BEGIN {} KEY-----\n{body}\nrest\n", "PRIVATE");
    let (out, _, most) = in_chunks(text.as_bytes(), &[1]);
    assert_eq!(out, b"a\n[redacted:private-key]\n\nrest\n");
    assert!(most < 200, "{most}");
}

#[test]
fn bytes_that_are_no_text_pass() {
    let bytes: Vec<u8> = (0..=255).chain(*b"\npassword=hunter2\xff\xfe\n\x80\x80").collect();
    let (out, kinds, _) = in_chunks(&bytes, &[3]);
    assert_eq!(kinds, ["password"]);
    assert!(out.starts_with(&bytes[..256]) && out.ends_with(b"\n\x80\x80"));
}

/// Parts of which texts are made: secrets, what surrounds them, and what could be mistaken.
fn part() -> impl Strategy<Value = String> {
    let pem = format!(
        "-----BEGIN {0} KEY-----\n{1}\n{1}\n-----END {0} KEY-----",
        "PRIVATE",
        "MIIEvQIBADAN".repeat(5)
    );
    prop_oneof![
        Just(pem.clone()),
        Just(pem.replace('\n', "\\n")),
        Just(pem[..100].to_owned()),
        Just("-----BEGIN ".to_owned()),
        Just("-----".to_owned()),
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("password=".to_owned()),
        Just("密码是".to_owned()),
        Just("://a:".to_owned()),
        Just("@".to_owned()),
        Just("\"".to_owned()),
        Just("Cookie: sid=".to_owned()),
        Just("the password of the admin is:\n".to_owned()),
        Just("密码改成了：\n".to_owned()),
        Just("hunter2-Xy\n".to_owned()),
        Just("```\n".to_owned()),
        Just("ghp_a1B2c3D4e5F6g7H8\n".to_owned()),
        Just("  j9K1l2M3n4P5q6R7s8\n".to_owned()),
        Just("%70assword%3d".to_owned()),
        Just("\\u0070assword=".to_owned()),
        Just("pass\u{200b}word is ".to_owned()),
        Just("cGFzc3dvcmQ9aHVudGVyMi1YeQ==".to_owned()),
        Just("70617373776f72643d68756e746572322d5879".to_owned()),
        Just(format!("ghp_{}", "a1".repeat(18))),
        "[a-zA-Z0-9+/]{8,70}",
        "[ -~]{0,12}",
        "\\PC{0,6}",
    ]
}

proptest! {
    #[test]
    fn any_split_gives_the_same(parts in proptest::collection::vec(part(), 0..24), lengths in proptest::collection::vec(1usize..40, 1..8)) {
        let text = parts.concat();
        let (out, kinds, _) = in_chunks(text.as_bytes(), &lengths);
        prop_assert_eq!((out, kinds), whole(&text));
    }

    #[test]
    fn bytes_in_any_split_give_the_same(text in proptest::collection::vec(any::<u8>(), 0..400), words in proptest::collection::vec(part(), 0..6), lengths in proptest::collection::vec(1usize..40, 1..8)) {
        let mut bytes = text.clone();
        for (at, word) in words.iter().enumerate() {
            let place = bytes.len() * at / words.len();
            bytes.splice(place..place, word.bytes());
        }
        let (whole, _, _) = in_chunks(&bytes, &[usize::MAX]);
        let (out, _, _) = in_chunks(&bytes, &lengths);
        prop_assert_eq!(&out, &whole);
        let (twice, kinds, _) = in_chunks(&whole, &[usize::MAX]);
        prop_assert_eq!(twice, whole);
        prop_assert!(kinds.is_empty());
    }
}

proptest! {
    // Each case is a whole corpus.
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_corpus_in_any_split_gives_the_same(seed in any::<u64>(), lengths in proptest::collection::vec(1usize..3_000, 1..8)) {
        let mut text = String::new();
        for sample in secrets(seed, 1).iter().chain(&look_alikes(seed, 1)) {
            text.push_str(&sample.text);
            // Some stand on lines of their own, some on one long line.
            if sample.text.len() % 3 > 0 {
                text.push('\n');
            }
        }
        let (out, kinds, _) = in_chunks(text.as_bytes(), &lengths);
        prop_assert_eq!((out, kinds), whole(&text));
        let once = redact(&text);
        let twice = redact(once.text());
        prop_assert_eq!(twice.text(), once.text());
    }
}
