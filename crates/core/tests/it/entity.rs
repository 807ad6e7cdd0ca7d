//! Which strings count, and that no text can break the scanner.

use proptest::prelude::*;
use throughline_core::entity::{Kind, scan};

fn found(text: &str) -> Vec<(Kind, &str)> {
    let mut all = Vec::new();
    scan(text, |entity| all.push((entity.kind, entity.text)));
    all
}

fn texts(text: &str) -> Vec<&str> {
    found(text).into_iter().map(|(_, text)| text).collect()
}

#[test]
fn each_kind_is_known_by_its_form() {
    let cases = [
        ("crates/core/src/lib.rs", Kind::Path),
        ("Cargo.toml", Kind::Path),
        ("/etc/hosts", Kind::Path),
        ("~/notes/today", Kind::Path),
        ("../sibling/dir", Kind::Path),
        ("https://example.com/a/b", Kind::Path),
        ("app/[id]/page.tsx", Kind::Path),
        ("snake_case", Kind::Symbol),
        ("camelCase", Kind::Symbol),
        ("PascalCase", Kind::Symbol),
        ("SCREAMING_CASE", Kind::Symbol),
        ("std::mem::take", Kind::Symbol),
        ("json.dumps", Kind::Symbol),
        ("TypeError", Kind::Error),
        ("E0308", Kind::Error),
        ("TS2345", Kind::Error),
        ("ENOENT", Kind::Error),
        ("exit code 137", Kind::Error),
        ("8235d5f", Kind::Id),
        ("#1234", Kind::Id),
        ("ABC-12", Kind::Id),
        ("123e4567-e89b-12d3-a456-426614174000", Kind::Id),
        ("8080", Kind::Number),
        ("v1.2.3", Kind::Number),
        ("0.75", Kind::Number),
        ("--no-verify", Kind::Flag),
    ];
    for (text, kind) in cases {
        assert_eq!(found(text), [(kind, text)], "{text}");
        assert_eq!(found(&format!("see {text}, then")), [(kind, text)], "{text} in a sentence");
    }
}

#[test]
fn plain_words_small_numbers_and_abbreviations_are_nothing() {
    assert!(found("the quick brown fox, e.g. 42 times (i.e. often) - well... done").is_empty());
}

#[test]
fn quoted_strings_come_before_what_they_consist_of() {
    assert_eq!(
        found(r#"run `cargo test -p core_lib` now"#),
        [(Kind::Quoted, "cargo test -p core_lib"), (Kind::Symbol, "core_lib")]
    );
}

#[test]
fn what_stands_between_two_quoted_strings_is_not_quoted() {
    assert_eq!(texts(r#"use "first part", then "second part" only"#), ["first part", "second part"]);
}

#[test]
fn places_in_files_are_told_from_the_files() {
    assert_eq!(texts("at src/main.rs:120:7 and lib.rs:12"), ["src/main.rs", "120", "lib.rs"]);
}

#[test]
fn letters_of_other_scripts_separate() {
    assert_eq!(
        texts("請看src/main.rs和`設定檔案`，再執行parse_json。"),
        ["src/main.rs", "設定檔案", "parse_json"]
    );
}

#[test]
fn escapes_of_json_inside_text_are_no_part_of_words() {
    assert_eq!(
        texts(r#"{\"a\":\"x\nuse_this\tthat_one\"}"#),
        [r"x\nuse_this\tthat_one\", "use_this", "that_one"]
    );
}

#[test]
fn strings_in_code_inside_a_string_are_quoted_as_they_stand_there() {
    let text = r#"const patch = "+\tadd(\"first part\", \"second\")\n+\trun_it(\"third\")";"#;
    assert_eq!(texts(text), [r"first part\", r"second\", "run_it", r"third\"]);
}

#[test]
fn the_line_that_grep_writes_behind_a_file_in_its_context_is_no_part_of_the_path() {
    assert_eq!(texts("src/a.rs-12-let_it be"), ["src/a.rs", "let_it"]);
    assert_eq!(texts("src/a.rs-12- let_it"), ["src/a.rs", "let_it"]);
    assert_eq!(texts("src/a-12-b/c.rs and docs/v1-2-3"), ["src/a-12-b/c.rs", "docs/v1-2-3"]);
}

#[test]
fn trailing_punctuation_stays_outside() {
    assert_eq!(texts("(see docs/a.md). Also foo_bar; and a/b/c/."), ["docs/a.md", "foo_bar", "a/b/c"]);
}

proptest! {
    #[test]
    fn any_text_is_scanned_and_every_entity_stands_where_it_says(
        text in "([ -~]|[\u{80}-\u{10ffff}]|[./:`\"#_\\-\\[\\]\n]|src|fn|E0){0,80}"
    ) {
        scan(&text, |entity| {
            assert_eq!(&text[entity.at..entity.at + entity.text.len()], entity.text);
            assert!(entity.text.len() >= 3);
        });
    }
}

#[test]
fn line_numbers_before_a_line_and_escapes_before_a_word_are_no_strings_of_their_own() {
    let text = "   123→let a_bc = 456;\n 1024\tcall_it(2048)\nsaw 789→ \\u003crun_id\\u003e \\nnext_one";
    let found = texts(text);
    assert_eq!(found, ["a_bc", "456", "call_it", "2048", "789", "run_id", "next_one"]);
}
