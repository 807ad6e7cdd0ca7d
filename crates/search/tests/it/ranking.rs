use crate::common::{Fixture, append, find, ids, say, sync};
use proptest::prelude::*;
use throughline_core::{Fragment, Message, Role};
use throughline_search::{Query, Search};

/// Each text is one message, named by its number.
fn with(texts: &[&str]) -> (Fixture, Search) {
    let fixture = Fixture::new();
    let mut writer = fixture.session("s");
    for (n, text) in texts.iter().enumerate() {
        say(&mut writer, &n.to_string(), Role::User, text);
    }
    let mut search = fixture.search();
    sync(&mut search);
    (fixture, search)
}

#[test]
fn the_message_that_has_an_identifier_comes_before_all_around_it() {
    let (_home, mut search) = with(&[
        "the config is hard to parse, parse the config again, parse config parse config",
        "what do you mean?",
        "look at parse_config in the loader",
        "the parse of the config is slow: config, config, parse",
        "we could parse another config",
        "and here is parseConfig for scripts",
    ]);
    assert_eq!(find(&mut search, "parse_config")[0], "2");
    assert_eq!(find(&mut search, "where is parse_config used?")[0], "2");
    assert_eq!(find(&mut search, "parseConfig")[0], "5");
}

#[test]
fn a_path_is_found_whole_by_its_end_and_by_its_file_name() {
    let (_home, mut search) = with(&[
        "edit /proj/app/crates/ledger/src/lib.rs first",
        "lib crates src rs ledger search",
        "then /proj/app/crates/search/src/lib.rs:12:5 too",
        "then search the src of lib and crates",
        "also src/main_loop.py",
    ]);
    assert_eq!(find(&mut search, "crates/search/src/lib.rs")[0], "2");
    assert_eq!(find(&mut search, "/proj/app/crates/ledger/src/lib.rs")[0], "0");
    assert_eq!(find(&mut search, "main_loop.py")[0], "4");
    assert_eq!(find(&mut search, "main_loop")[0], "4");
    let mut libs = find(&mut search, "src/lib.rs");
    libs.truncate(2);
    libs.sort();
    assert_eq!(libs, ["0", "2"]);
}

#[test]
fn a_long_listing_with_the_path_comes_before_many_short_messages_with_its_words() {
    let fixture = Fixture::new();
    let mut writer = fixture.session("s");
    let listing: String = (0..3000).map(|n| format!("node_modules/package{n}/index.js\n")).collect();
    for n in 0..200 {
        say(&mut writer, &n.to_string(), Role::User, "the store keeps internal review notes, write, go");
    }
    say(&mut writer, "listing", Role::User, &format!("{listing}internal/store/review_write.go\n{listing}"));
    for n in 200..400 {
        say(&mut writer, &n.to_string(), Role::User, "internal review write: go to the store");
    }
    let mut search = fixture.search();
    sync(&mut search);
    for query in ["internal/store/review_write.go", "review_write", "review_write.go"] {
        let hits = search.query(&Query::new(query)).unwrap();
        assert_eq!(ids(&hits)[0], "listing", "{query}");
        let (from, to) = hits[0].snippet.ranges[0];
        assert_eq!(&hits[0].snippet.text[from..to], query);
    }
}

#[test]
fn codes_flags_versions_and_hashes_are_found() {
    let (_home, mut search) = with(&[
        "rustc says E0382: borrow of moved value",
        "open failed with ENOENT",
        "the server answered HTTP 404",
        "run cargo build --no-default-features",
        "upgrade tokio to 1.38.2",
        "fixed in e3aaeba09c1d4f8b7a6655443322110099887766",
        "nothing here",
    ]);
    for (query, id) in [
        ("E0382", "0"),
        ("enoent", "1"),
        ("HTTP 404", "2"),
        ("--no-default-features", "3"),
        ("1.38.2", "4"),
        ("e3aaeba", "5"),
        ("e3aaeba09c1d", "5"),
    ] {
        assert_eq!(find(&mut search, query)[0], id, "{query}");
    }
}

#[test]
fn chinese_japanese_and_korean_are_found_by_part_of_a_sentence() {
    let (_home, mut search) = with(&[
        "我们昨天修复了数据库连接池的问题",
        "データベースの接続を直しました",
        "데이터베이스 연결을 고쳤습니다",
        "据说库存不足",
        "图",
    ]);
    assert_eq!(find(&mut search, "数据库")[0], "0");
    assert_eq!(find(&mut search, "データベース")[0], "1");
    assert_eq!(find(&mut search, "데이터베이스")[0], "2");
    assert_eq!(find(&mut search, "图")[0], "4");
    assert_eq!(find(&mut search, "池")[0], "0");
}

#[test]
fn an_answer_is_found_by_the_words_of_its_question() {
    let (_home, mut search) = with(&[
        "the weather is nice",
        "where did you put the migration script?",
        "in the attic folder",
        "fine",
        "the tests are green",
        "let us go on",
    ]);
    assert_eq!(find(&mut search, "migration script")[..2], ["1", "2"]);
}

#[test]
fn phrases_are_required_and_exclusions_hold_for_neighbours_too() {
    let (_home, mut search) = with(&[
        "the borrow checker complains",
        "the checker may borrow",
        "borrow checker in tokio",
        "nothing",
    ]);
    let mut found = find(&mut search, "\"borrow checker\"");
    found.sort();
    assert_eq!(found, ["0", "2"]);
    assert_eq!(find(&mut search, "\"borrow checker\" -tokio"), ["0"]);
    assert!(!find(&mut search, "borrow -tokio").contains(&"2".to_owned()));
    let without = find(&mut search, "borrow -\"the checker\"");
    assert!(without.contains(&"2".to_owned()) && !without.contains(&"1".to_owned()));
}

#[test]
fn scaffold_is_left_out_unless_asked_for_and_ranks_lower_then() {
    let fixture = Fixture::new();
    let mut writer = fixture.session("s");
    append(
        &mut writer,
        "0",
        Message::text(Role::User, Fragment::SystemReminder.render("the flux capacitor hums")),
    );
    for n in 1..6 {
        say(&mut writer, &n.to_string(), Role::User, "something else entirely");
    }
    say(&mut writer, "6", Role::User, "the flux capacitor broke");
    let mut search = fixture.search();
    for _ in 0..2 {
        assert!(!find(&mut search, "capacitor").contains(&"0".to_owned()));
        let hits = search.query(&Query { scaffold: true, ..Query::new("capacitor") }).unwrap();
        let places: Vec<_> =
            ["6", "0"].iter().map(|id| ids(&hits).iter().position(|found| found == id).unwrap()).collect();
        assert!(places[0] < places[1]);
        let reminder = &hits[places[1]];
        assert_eq!(
            &reminder.snippet.text[reminder.snippet.ranges[0].0..reminder.snippet.ranges[0].1],
            "capacitor"
        );
        sync(&mut search);
    }
}

#[test]
fn hits_say_where_and_why() {
    let (fixture, mut search) = with(&["first", "the parser\nfailed here"]);
    let hits = search.query(&Query::new("parser failed")).unwrap();
    let hit = &hits[0];
    assert_eq!((hit.id.as_str(), hit.session.as_str(), hit.role), ("1", "s", Role::User));
    assert_eq!(hit.project.as_deref(), Some("/home/ann/project"));
    assert_eq!(hit.snippet.text, "the parser failed here");
    assert_eq!(hit.snippet.ranges, [(4, 10), (11, 17)]);
    let path = fixture.home.resolve(&hit.path).unwrap();
    let record = throughline_ledger::read_record_at(&fixture.home, &path, hit.offset).unwrap().unwrap();
    assert!(matches!(record, throughline_core::Record::Message(m) if m.id == hit.id));
    let json = serde_json::to_value(hit).unwrap();
    assert_eq!(json["id"], "1");
    assert_eq!(json["role"], "user");
}

#[test]
fn bad_queries_find_what_their_words_find() {
    let (_home, mut search) = with(&["the parser failed", "other"]);
    for query in [
        "parser AND",
        "(parser",
        "parser\"",
        "field:parser",
        "parser~2^",
        "+parser -",
        "*parser*",
        "\\parser",
    ] {
        assert_eq!(find(&mut search, query)[0], "0", "{query}");
    }
    for query in ["", "   ", "\"\"", "()", "-", "🦀", "\u{0}"] {
        assert!(find(&mut search, query).is_empty(), "{query:?}");
    }
    let long = "parser ".repeat(20_000);
    assert_eq!(find(&mut search, &long)[0], "0");
    let many: String = (0..2000).map(|n| format!("w{n} ")).collect();
    assert!(find(&mut search, &many).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Nothing that can be written or asked makes a search fail, and the tail and the index agree on the answer.
    #[test]
    fn any_text_and_any_query_are_fine_indexed_or_not(
        texts in proptest::collection::vec("[\\PC\\n_./:-]{0,60}|[a-c_]{1,4}( [a-c_]{1,4}){0,8}", 1..8),
        query in "[\\PC\"-]{0,30}|-?\"?[a-c_]{1,4}\"?( [a-c_]{1,4}){0,3}",
    ) {
        let fixture = Fixture::new();
        let mut writer = fixture.session("s");
        for (n, text) in texts.iter().enumerate() {
            say(&mut writer, &n.to_string(), Role::User, text);
        }
        let mut search = fixture.search();
        let query = Query::new(query);
        let from_tail = search.query(&query).unwrap();
        sync(&mut search);
        prop_assert_eq!(from_tail, search.query(&query).unwrap());
    }
}
