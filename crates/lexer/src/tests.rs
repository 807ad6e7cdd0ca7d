use super::*;
use proptest::prelude::*;

fn tokens(text: &str) -> Vec<(String, usize)> {
    let mut stemmer = Stemmer::default();
    let mut lexer = Lexer::new(text, &mut stemmer);
    let mut all = Vec::new();
    while lexer.next_chunk() {
        all.extend(lexer.tokens().iter().map(|t| (lexer.text(t).to_owned(), t.position)));
    }
    all
}

fn terms(text: &str) -> Vec<String> {
    tokens(text).into_iter().map(|(text, _)| text).collect()
}

#[test]
fn words_are_stemmed_and_folded_and_irregular_forms_brought_home() {
    assert_eq!(terms("Running runs ran"), ["run", "run", "run"]);
    assert_eq!(terms("children's Went"), ["child", "go"]);
    assert_eq!(terms("don't we've"), ["don", "we"]);
}

#[test]
fn identifiers_give_themselves_and_their_parts() {
    assert_eq!(terms("parse_config"), ["parse_config", "pars", "config"]);
    assert_eq!(terms("parseConfig"), ["parseconfig", "pars", "config"]);
    assert_eq!(terms("HTTPServer IDs"), ["httpserver", "http", "server", "id"]);
    assert_eq!(terms("self.parse_config()"), ["parse_config", "self.parse_config", "self", "pars", "config"]);
    assert_eq!(terms("std::fs::File"), ["std::fs::file", "std", "fs", "file"]);
    assert_eq!(terms("--no-default-features"), ["no-default-features", "no", "default", "featur"]);
}

#[test]
fn paths_give_file_names_and_their_last_two_steps() {
    let found = terms("see /home/ann/proj/src/main_loop.rs:12:5.");
    for term in
        ["main_loop", "main_loop.rs", "src/main_loop.rs", "home/ann/proj/src/main_loop.rs", "12", "main"]
    {
        assert!(found.iter().any(|t| t == term), "{term} in {found:?}");
    }
}

#[test]
fn codes_versions_hashes_and_languages_stay_whole() {
    assert_eq!(terms("E0382 ENOENT"), ["e0382", "enoent"]);
    assert_eq!(terms("1.2.3"), ["1.2.3", "1", "2", "3"]);
    assert_eq!(terms("HTTP 404"), ["http", "404"]);
    assert_eq!(terms("e3aaeba1f0"), ["e3aaeba1f0", "e3aaeba"]);
    assert_eq!(terms("python3"), ["python3", "python"]);
    assert_eq!(terms("C++ and C#"), ["c++", "and", "c#"]);
}

#[test]
fn cjk_gives_characters_and_pairs() {
    assert_eq!(terms("数据库"), ["数", "数据", "据", "据库", "库"]);
    assert_eq!(
        tokens("修复bug"),
        [("修", 0), ("修复", 0), ("复", 1), ("bug", 2)].map(|(t, p)| (t.to_owned(), p))
    );
    assert_eq!(terms("한국"), ["한", "한국", "국"]);
    assert_eq!(terms("ＡＢＣ"), ["abc"]);
}

#[test]
fn encoded_data_is_passed_over() {
    let base64 =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg";
    assert_eq!(terms(&format!("before {base64} after")), ["befor", "after"]);
    assert_eq!(terms(&"x".repeat(1000)), Vec::<String>::new());
}

#[test]
fn marks_say_who_speaks_when_and_whether_it_is_a_question() {
    let found = terms("Ann Lee: did it break yesterday?");
    for mark in ["@ann", "@lee", TIME, ASKS] {
        assert!(found.iter().any(|t| t == mark), "{mark} in {found:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_to_its_end_in_order(text in "\\PC{0,200}") {
        let mut stemmer = Stemmer::default();
        let mut lexer = Lexer::new(&text, &mut stemmer);
        let mut position = 0;
        while lexer.next_chunk() {
            for token in lexer.tokens() {
                prop_assert!(token.from <= token.to && token.to <= text.len());
                prop_assert!(text.is_char_boundary(token.from) && text.is_char_boundary(token.to));
                prop_assert!(!lexer.text(token).is_empty());
                prop_assert!(token.position + 64 >= position);
                position = position.max(token.position);
            }
        }
        prop_assert_eq!(lexer.at(), text.len());
    }

    #[test]
    fn code_like_text_never_panics(text in "([a-zA-Z0-9]{0,5}[_./:\\\\@#+~'’?数据é -]{0,3}){0,20}") {
        let _ = terms(&text);
    }
}
