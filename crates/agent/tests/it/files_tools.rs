//! Read, Write and Edit on real files.

use crate::files_world::{World, done, failed};
use base64::Engine as _;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use throughline_agent::files::Part;
use throughline_agent::tools::{Edit, Grep, Read, Write, file_tools};
use throughline_agent::{FileDiff, Shown, Tool};
use throughline_core::{Body, Media, ResultContent, Source};
use throughline_model::CancelToken;

#[test]
fn reading_numbers_lines_and_says_how_to_read_on() {
    let world = World::new();
    let text: String = (1..=2500).map(|n| format!("line {n}\r\n")).collect();
    world.put("long.txt", &text);
    let first = done(&world.read("long.txt"));
    assert!(first.starts_with("1\tline 1\n2\tline 2\n"), "{}", &first[..40]);
    assert!(first.ends_with("2000\tline 2000\n[Lines 1–2000 of 2500. Read on with `offset` 2001.]"));
    assert_eq!(world.files.seen_part(&world.path("long.txt")), Some(Part::Lines { from: 1, to: 2000 }));
    let rest = done(&world.call(&Read, json!({"file_path": "long.txt", "offset": 2499, "limit": 10})));
    assert_eq!(rest, "2499\tline 2499\n2500\tline 2500\n[Lines 2499–2500 of 2500: the end of the file.]");
    let middle = done(&world.call(&Read, json!({"file_path": "long.txt", "offset": "7", "limit": 1.0})));
    assert_eq!(middle, "7\tline 7\n[Lines 7–7 of 2500. Read on with `offset` 8.]");
    let behind = failed(&world.call(&Read, json!({"file_path": "long.txt", "offset": 2501})));
    assert!(behind.contains("2500 lines"), "{behind}");
    world.put("short.txt", "one\ntwo");
    assert_eq!(done(&world.read("short.txt")), "1\tone\n2\ttwo\n");
    assert_eq!(world.files.seen_part(&world.path("short.txt")), Some(Part::Whole));
    world.put("empty", "");
    assert!(done(&world.read("empty")).contains("is empty"));
}

#[test]
fn answers_are_bounded_however_long_lines_and_files_are() {
    let world = World::new();
    world.put("wide.txt", format!("{}\nend\n", "é".repeat(5000)));
    let wide = done(&world.read("wide.txt"));
    assert!(wide.contains("… [3000 more characters]\n2\tend\n"), "{wide}");
    assert_eq!(world.files.seen_part(&world.path("wide.txt")), Some(Part::Lines { from: 1, to: 2 }));
    world.put("big.txt", format!("{}\n", "x".repeat(1000)).repeat(1500));
    let big = world.read("big.txt");
    let text = done(&big);
    assert!(text.len() <= 257 * 1024 && text.contains("of 1500. Read on with `offset` "), "{}", text.len());
    let at: u64 = text.rsplit_once("`offset` ").unwrap().1.trim_end_matches(['`', '.', ']']).parse().unwrap();
    let next = done(&world.call(&Read, json!({"file_path": "big.txt", "offset": at})));
    assert!(next.starts_with(&format!("{at}\tx")));
}

#[test]
fn a_huge_file_is_read_by_pages_and_can_be_written_over_only_as_seen() {
    let world = World::new();
    let path = world.put("huge.log", format!("first\nsecond\n{}", "more\n".repeat(20_000)));
    let file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.set_len(65 * 1024 * 1024).unwrap();
    let refused = failed(&world.call(&Write, json!({"file_path": "huge.log", "content": "x"})));
    assert!(refused.contains("not read yet"), "{refused}");
    let page = done(&world.call(&Read, json!({"file_path": "huge.log", "limit": 2})));
    assert_eq!(page, "1\tfirst\n2\tsecond\n[Lines 1–2. Read on with `offset` 3.]");
    assert!(failed(&world.edit("huge.log", "first", "x")).contains("Bash"));
    let wrote = done(&world.write("huge.log", "small now"));
    assert!(wrote.contains("can't be undone"), "{wrote}");
    assert_eq!(world.text("huge.log"), "small now");
}

#[test]
fn pictures_are_shown_and_other_binary_files_are_named() {
    let world = World::new();
    let kinds: [(&str, &[u8]); 4] = [
        ("image/png", b"\x89PNG\r\n\x1a\n\0\0"),
        ("image/jpeg", b"\xFF\xD8\xFF\xE0\0"),
        ("image/gif", b"GIF89a\x01\0"),
        ("image/webp", b"RIFF\x10\0\0\0WEBPVP8 "),
    ];
    for (media_type, bytes) in kinds {
        // The name says nothing: the content does.
        world.put("picture.txt", bytes);
        let output = world.read("picture.txt");
        let ResultContent::Parts(parts) = &output.content else { panic!("{output:?}") };
        let data = base64::engine::general_purpose::STANDARD.encode(bytes);
        let source = Source::Base64 { media_type: media_type.to_owned(), data };
        assert_eq!(parts[1].body, Body::Image(Media { source }));
        assert!(matches!(&parts[0].body, Body::Text(text) if text.contains(media_type)));
    }
    world.put("huge.png", [b"\x89PNG\r\n\x1a\n".as_slice(), &vec![7; 4 * 1024 * 1024]].concat());
    assert!(failed(&world.read("huge.png")).contains("smaller"));
    world.put("doc.pdf", b"%PDF-1.7\n\0\0");
    let refused = failed(&world.read("doc.pdf"));
    assert!(refused.contains("PDF document") && refused.contains("11 bytes"), "{refused}");
    world.put("data", b"abc\0def");
    assert!(failed(&world.read("data")).contains("unknown kind"));
}

#[test]
fn other_encodings_are_read_and_kept_by_edits() {
    let world = World::new();
    let utf16: Vec<u8> =
        [0xFF, 0xFE].into_iter().chain("grün\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    world.put("wide.txt", &utf16);
    assert!(done(&world.read("wide.txt")).starts_with("1\tgrün\n[The file is UTF-16"));
    done(&world.edit("wide.txt", "grün", "blau"));
    let expected: Vec<u8> =
        [0xFF, 0xFE].into_iter().chain("blau\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    assert_eq!(fs::read(world.path("wide.txt")).unwrap(), expected);

    world.put("latin.txt", b"caf\xE9 one\nna\xEFve\n");
    assert!(done(&world.read("latin.txt")).starts_with("1\tcafé one\n2\tnaïve\n"));
    assert!(failed(&world.edit("latin.txt", "one", "→")).contains("Latin-1"));
    done(&world.edit("latin.txt", "café one", "café zwö"));
    assert_eq!(fs::read(world.path("latin.txt")).unwrap(), b"caf\xE9 zw\xF6\nna\xEFve\n");

    world.put("damaged.txt", b"gr\xC3\xBCn \xFF here\n");
    assert!(done(&world.read("damaged.txt")).contains("not valid UTF-8"));
    assert!(failed(&world.edit("damaged.txt", "here", "there")).contains("Bash"));
    assert_eq!(fs::read(world.path("damaged.txt")).unwrap(), b"gr\xC3\xBCn \xFF here\n");
}

#[test]
fn a_missing_file_comes_with_suggestions() {
    let world = World::new();
    world.put("src/main.rs", "");
    world.put("src/other.ts", "");
    let text = failed(&world.read("src/mian.rs"));
    assert!(text.contains("Did you mean src/main.rs"), "{text}");
    assert!(failed(&world.read("src/Main.rs")).contains("src/main.rs"));
    assert!(failed(&world.read("src/other.js")).contains("src/other.ts"));
    assert!(failed(&world.read("nowhere/main.rs")).contains("nor does the folder nowhere"));
    let input = json!({"file_path": "/repo/src/main.rs"});
    assert!(failed(&world.call(&Read, input)).contains("Did you mean src/main.rs"));
    assert!(failed(&world.read("src")).contains("Glob"));
    // What lies outside is not listed.
    let text = failed(&world.read("../outside/secrets.txt"));
    assert!(!text.contains("secret.txt"), "{text}");
}

#[test]
fn a_file_is_written_only_over_what_was_read() {
    let world = World::new();
    assert!(done(&world.write("new/deep/a.txt", "one\ntwo\n")).contains("new file, 2 lines"));
    // What the model wrote itself it knows.
    let output = world.write("new/deep/a.txt", "three\n");
    let diff = FileDiff {
        path: world.path("new/deep/a.txt"),
        before: Some("one\ntwo\n".to_owned()),
        after: "three\n".to_owned(),
    };
    assert_eq!(output.shown, Shown::Diff(vec![diff]));
    world.put("old.txt", "precious");
    let refused = failed(&world.write("old.txt", "x"));
    assert!(refused.contains("was not read yet") && refused.contains("Nothing was written"), "{refused}");
    assert_eq!(world.text("old.txt"), "precious");
    done(&world.read("old.txt"));
    world.put("old.txt", "changed by somebody");
    assert!(failed(&world.write("old.txt", "x")).contains("has changed since"));
    assert_eq!(world.text("old.txt"), "changed by somebody");
    assert!(done(&world.write("old.txt", "changed by somebody")).contains("exactly this already"));
    done(&world.call(&Read, json!({"file_path": "old.txt", "limit": 1})));
    done(&world.write("old.txt", "x"));
    assert!(failed(&world.write("new", "x")).contains("folder"));
    assert!(failed(&world.write("old.txt/below", "x")).contains("can't"));
}

#[test]
fn an_edit_needs_a_file_that_was_read_and_did_not_change() {
    let mut world = World::new();
    world.put("a.txt", "one\n");
    assert!(failed(&world.edit("a.txt", "one", "two")).contains("was not read yet"));
    done(&world.read("a.txt"));
    world.put("a.txt", "one\nmore\n");
    assert!(failed(&world.edit("a.txt", "one", "two")).contains("has changed since"));
    assert_eq!(world.text("a.txt"), "one\nmore\n");
    done(&world.read("a.txt"));
    let output = world.edit("a.txt", "one", "two");
    assert_eq!(done(&output), "Edited a.txt: 1 replacement, at line 1.");
    assert!(matches!(output.shown, Shown::Diff(_)));
    // One's own change is known.
    done(&world.edit("a.txt", "two\nmore", "three"));
    assert_eq!(world.text("a.txt"), "three\n");
    // A sub-agent has read nothing.
    world.files = world.files.another_reader();
    assert!(failed(&world.edit("a.txt", "three", "x")).contains("was not read yet"));
    assert!(failed(&world.edit("none.txt", "three", "x")).contains("Write"));
}

#[test]
fn an_edit_that_does_not_fit_says_where_it_would() {
    let world = World::new();
    world.put("a.rs", "fn a() {\n\tlet x = 1;\n}\n\nfn b() {\n\tlet x = 1;\n}\nfn cat() { dog }\n");
    done(&world.read("a.rs"));
    let twice = failed(&world.edit("a.rs", "let x = 1;", "y"));
    assert!(twice.contains("2 times, at lines 2 and 6"), "{twice}");
    let spaces = failed(&world.edit("a.rs", "fn b() {\n    let x = 1;\n}", "y"));
    assert!(
        spaces.contains("whitespace only") && spaces.contains("5\tfn b() {\n6\t\tlet x = 1;\n7\t}\n"),
        "{spaces}"
    );
    let alike = failed(&world.edit("a.rs", "fn cat() { fog }", "y"));
    assert!(alike.contains("most like it:\n8\tfn cat() { dog }"), "{alike}");
    let numbers = failed(&world.edit("a.rs", "1\tfn a() {\n2\t\tlet x = 1;", "y"));
    assert!(numbers.contains("line numbers"), "{numbers}");
    assert!(failed(&world.edit("a.rs", "zzzzzz", "y")).contains("Nothing like it"));
    assert!(failed(&world.edit("a.rs", "", "y")).contains("empty"));
    assert!(failed(&world.edit("a.rs", "cat", "cat")).contains("the same"));
    world.put("aaa", "aaa");
    done(&world.read("aaa"));
    assert!(failed(&world.edit("aaa", "aa", "b")).contains("2 times"), "which one is meant would be a guess");
}

#[test]
fn several_edits_are_made_all_or_none() {
    let world = World::new();
    world.put("a.txt", "one two two\n");
    done(&world.read("a.txt"));
    let edit = |old: &str, new: &str| json!({"old_string": old, "new_string": new});
    let bad = json!({"file_path": "a.txt", "edits": [edit("one", "1"), edit("three", "3")]});
    let text = failed(&world.call(&Edit, bad));
    assert!(text.contains("Edit 2 of 2") && text.contains("Nothing was changed"), "{text}");
    assert_eq!(world.text("a.txt"), "one two two\n");
    let all = json!({"old_string": "two", "new_string": "2", "replace_all": true});
    let good = json!({"file_path": "a.txt", "edits": [edit("one", "two"), all]});
    assert!(done(&world.call(&Edit, good)).contains("4 replacements"));
    assert_eq!(world.text("a.txt"), "2 2 2\n");
    let back = json!({"file_path": "a.txt", "edits": [edit("2 2 2", "3"), edit("3", "2 2 2")]});
    assert!(failed(&world.call(&Edit, back)).contains("undo each other"));
    for edits in [json!([]), json!("x"), json!([1]), json!([{"old_string": "2"}])] {
        failed(&world.call(&Edit, json!({"file_path": "a.txt", "edits": edits})));
    }
    let both = json!({"file_path": "a.txt", "old_string": "2", "new_string": "3", "edits": [edit("2", "3")]});
    assert!(failed(&world.call(&Edit, both)).contains("not both"));
}

#[test]
fn line_ends_and_the_mark_at_the_beginning_stay() {
    let world = World::new();
    world.put("dos.txt", "\u{FEFF}one\r\ntwo\r\nthree");
    assert!(done(&world.read("dos.txt")).starts_with("1\tone\n"));
    done(&world.edit("dos.txt", "one\ntwo", "eins\nzwei\ndrei"));
    assert_eq!(world.text("dos.txt"), "\u{FEFF}eins\r\nzwei\r\ndrei\r\nthree");
    done(&world.edit("dos.txt", "zwei\r\n", ""));
    assert_eq!(world.text("dos.txt"), "\u{FEFF}eins\r\ndrei\r\nthree");
    world.put("mixed.txt", "a\nb\r\nc\r\nd\n");
    done(&world.read("mixed.txt"));
    done(&world.edit("mixed.txt", "b\nc", "x\ny"));
    assert_eq!(world.text("mixed.txt"), "a\nx\r\ny\r\nd\n");
}

#[test]
fn a_replacement_that_would_fill_the_disk_is_refused() {
    let world = World::new();
    world.put("a.txt", "a".repeat(1000));
    done(&world.read("a.txt"));
    let input = json!({"file_path": "a.txt", "old_string": "a", "new_string": "b".repeat(100_000), "replace_all": true});
    assert!(failed(&world.call(&Edit, input)).contains("grow over"));
    assert_eq!(world.text("a.txt"), "a".repeat(1000));
}

#[test]
fn a_pipe_holds_nobody_up() {
    let world = World::new();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, world.path("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(failed(&world.read("pipe")).contains("named pipe"));
    assert!(failed(&world.write("pipe", "x")).contains("named pipe"));
    assert!(failed(&world.edit("pipe", "x", "y")).contains("named pipe"));
    assert!(world.grep(json!({"pattern": "x", "path": "pipe"})).contains("could not be read"));
    assert!(world.grep(json!({"pattern": "x"})).starts_with("No match"));
    assert_eq!(world.glob("pipe"), ["No file matches (ignored and hidden ones aside)."]);
}

#[test]
fn whatever_a_model_sends_is_answered() {
    let world = World::new();
    world.put("a", "x");
    let odd = [
        json!(null),
        json!([]),
        json!("a"),
        json!({}),
        json!({"file_path": 7, "pattern": 7}),
        json!({"file_path": "", "pattern": "", "content": "", "old_string": "", "new_string": ""}),
        json!({"file_path": "a\0", "pattern": "\0", "content": "x", "old_string": "x", "new_string": "y"}),
        json!({"file_path": "a", "offset": -1, "pattern": "[", "content": [], "old_string": {}}),
        json!({"file_path": "a", "offset": u64::MAX, "limit": u64::MAX, "pattern": "a", "head_limit": u64::MAX, "-C": u64::MAX}),
        json!({"file_path": "a", "offset": 0, "limit": 0, "pattern": "a", "path": "\u{0}", "head_limit": 0}),
        json!({"file_path": "x".repeat(5000), "pattern": "{".repeat(500), "content": "", "edits": [[]]}),
        json!({"pattern": "(".repeat(300) + &")".repeat(300)}),
        json!({"pattern": "a{1000}{1000}"}),
        json!({"pattern": "a", "type": "nonsense"}),
        json!({"pattern": "a", "output_mode": "nonsense"}),
    ];
    for tool in file_tools() {
        assert!(tool.definition().description.len() > 80);
        for input in &odd {
            assert!(!tool.summary(input).is_empty());
            world.call(&*tool, input.clone());
            world.run(&*tool, input, &world.workspace);
        }
    }
    assert_eq!(Edit.summary(&json!({"file_path": "src/main.rs"})), "Edit src/main.rs");
    assert_eq!(Read.summary(&json!({"file_path": "a", "offset": 5, "limit": 2})), "Read a (lines 5–6)");
    assert_eq!(
        Grep.summary(&json!({"pattern": "x", "path": "src", "glob": "*.rs"})),
        "Grep \"x\" in src among *.rs"
    );
}

#[test]
fn a_call_that_was_cancelled_changes_nothing() {
    let world = World::new();
    world.put("a", "x");
    let cancel = CancelToken::new();
    cancel.cancel();
    let input = json!({"file_path": "b", "content": "y"});
    failed(&world.run_until(&Write, &input, &world.workspace, cancel.clone()));
    assert!(!world.path("b").exists());
    failed(&world.run_until(&Grep, &json!({"pattern": "x"}), &world.workspace, cancel));
}

/// A text of few letters, so that edits find something, and sometimes twice.
fn letters(max: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop_oneof![Just('a'), Just('b'), Just('\n'), Just('é')], 0..max)
        .prop_map(|chars| chars.into_iter().collect())
}

/// What the edits should make of a text, done the slow way.
fn naive(text: &str, edits: &[(String, String, bool)]) -> Option<String> {
    let mut text = text.to_owned();
    for (old, new, all) in edits {
        let places = text.char_indices().filter(|(at, _)| text[*at..].starts_with(old.as_str())).count();
        if old.is_empty() || old == new || places == 0 || (!all && places > 1) {
            return None;
        }
        text = text.replace(old.as_str(), new);
    }
    Some(text)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn edits_do_what_replacing_by_hand_does_or_nothing(
        text in letters(24),
        edits in prop::collection::vec((letters(4), letters(4), any::<bool>()), 1..4),
        is_crlf in any::<bool>(),
    ) {
        let world = World::new();
        let ends = |text: &str| if is_crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
        world.put("f", ends(&text));
        world.read("f");
        let list: Vec<Value> = edits
            .iter()
            .map(|(old, new, all)| json!({"old_string": old, "new_string": new, "replace_all": all}))
            .collect();
        let output = world.call(&Edit, json!({"file_path": "f", "edits": list}));
        match naive(&text, &edits).filter(|after| *after != text) {
            // A file without a line end has no kind of line ends to keep.
            Some(after) if is_crlf && text.contains('\n') => prop_assert_eq!(world.text("f"), ends(&after)),
            Some(after) => prop_assert_eq!(world.text("f"), after),
            None => {
                prop_assert!(output.is_error);
                prop_assert_eq!(world.text("f"), ends(&text));
            }
        }
    }

    /// Pages put together are the file.
    #[test]
    fn pages_cover_the_file(lines in prop::collection::vec("[a-z]{0,6}", 1..40), limit in 1u64..9) {
        let world = World::new();
        world.put("f", format!("{}\n", lines.join("\n")));
        let mut read = Vec::new();
        let mut offset = 1;
        while offset <= lines.len() as u64 {
            let page = done(&world.call(&Read, json!({"file_path": "f", "offset": offset, "limit": limit})));
            for line in page.lines().filter(|line| !line.starts_with('[')) {
                let (number, text) = line.split_once('\t').unwrap();
                prop_assert_eq!(number.parse::<u64>().unwrap(), read.len() as u64 + 1);
                read.push(text.to_owned());
            }
            offset += limit;
        }
        prop_assert_eq!(read, lines);
    }
}
