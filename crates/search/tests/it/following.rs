use crate::common::{Fixture, answer, call, find, say, sync};
use serde_json::json;
use std::fs;
use throughline_core::Role;
use throughline_ledger::{SyncPolicy, Writer};
use throughline_search::{Filters, Query};

#[test]
fn a_message_is_found_by_the_very_next_search_without_a_commit() {
    let fixture = Fixture::new();
    let mut writer = fixture.session("s");
    let mut search = fixture.search();
    sync(&mut search);
    for n in 0..20 {
        let id = n.to_string();
        say(&mut writer, &id, Role::User, &format!("topic{n} again"));
        assert_eq!(find(&mut search, &format!("topic{n}"))[0], id);
        assert_eq!(search.indexed(), 0, "one message must not rewrite the index");
    }
    sync(&mut search);
    assert_eq!(search.indexed(), 20);
    assert_eq!(find(&mut search, "topic7")[0], "7");
}

#[test]
fn a_long_tail_is_put_into_the_index_by_the_search_that_meets_it() {
    let fixture = Fixture::new();
    let mut writer = fixture.session("s");
    let mut search = fixture.search();
    sync(&mut search);
    let filler = "lorem ipsum dolor ".repeat(600);
    for n in 0..80 {
        say(&mut writer, &n.to_string(), Role::User, &format!("topic{n} {filler}"));
    }
    assert_eq!(find(&mut search, "topic42")[0], "42");
    assert_eq!(search.indexed(), 80);
}

#[test]
fn marks_stay_while_someone_writes_and_go_when_all_is_indexed() {
    let fixture = Fixture::new();
    let marks = || fs::read_dir(fixture.home.dirty()).map_or(0, Iterator::count);
    let mut writer = fixture.session("s");
    say(&mut writer, "0", Role::User, "first");
    let mut search = fixture.search();
    sync(&mut search);
    assert_eq!(marks(), 1);
    say(&mut writer, "1", Role::User, "second");
    let path = writer.path().to_owned();
    drop(writer);
    sync(&mut search);
    assert_eq!(marks(), 0);
    assert_eq!(find(&mut search, "second")[0], "1");
    let mut writer = Writer::open(&fixture.home, &path, SyncPolicy::Never).unwrap();
    assert_eq!(marks(), 1);
    say(&mut writer, "2", Role::User, "third");
    assert_eq!(find(&mut search, "third")[0], "2");
}

#[test]
fn message_by_message_or_all_at_once_gives_the_same_answers() {
    let fixture = Fixture::new();
    let mut search = fixture.search();
    let mut writers = [fixture.session("a"), fixture.session("b"), fixture.session("c")];
    for n in 0..60 {
        let writer = &mut writers[n % 3];
        let id = n.to_string();
        match n % 6 {
            0 | 1 => say(writer, &id, Role::User, &format!("please look at module{} and its tests", n % 7)),
            2 | 3 => call(writer, &id, "Read", json!({"path": format!("src/module{}.rs", n % 5)})),
            4 => answer(writer, &id, &(n - 3).to_string(), "fn tests() { module4::check() }"),
            _ => say(writer, &id, Role::Assistant, "module3 is done, tests pass?"),
        }
        if n % 4 == 0 {
            sync(&mut search);
        }
    }
    let queries =
        ["module3 tests", "when was module4 checked?", "src/module2.rs", "\"tests pass\"", "please -module1"];
    let ask = |search: &mut throughline_search::Search| {
        let mut answers = Vec::new();
        for text in queries {
            for tool in [None, Some("Read".to_owned())] {
                let filters = Filters { tool, ..Filters::default() };
                answers.push(search.query(&Query { limit: 60, filters, ..Query::new(text) }).unwrap());
            }
        }
        answers
    };
    let incremental = ask(&mut search);
    assert!(incremental.iter().filter(|hits| !hits.is_empty()).count() >= 6);
    search.rebuild(&mut |_| {}).unwrap();
    for (query, (before, after)) in incremental.iter().zip(ask(&mut search)).enumerate() {
        assert_eq!(*before, after, "query {query}");
    }
    assert!(incremental == ask(&mut fixture.search()));
}

#[test]
fn a_session_that_was_there_before_the_index_is_found() {
    let fixture = Fixture::new();
    let mut writer = fixture.session("s");
    say(&mut writer, "0", Role::User, "ancient words");
    drop(writer);
    fs::remove_dir_all(fixture.home.index()).unwrap();
    let mut search = fixture.search();
    assert!(search.needs_rebuild());
    assert_eq!(find(&mut search, "ancient")[0], "0");
}

#[test]
fn progress_goes_from_nothing_to_everything() {
    let fixture = Fixture::new();
    for id in ["a", "b"] {
        let mut writer = fixture.session(id);
        for n in 0..5 {
            say(&mut writer, &n.to_string(), Role::User, "words");
        }
    }
    let mut seen = Vec::new();
    fixture.search().sync(&mut |progress| seen.push(progress)).unwrap();
    let (first, last) = (seen[0], seen[seen.len() - 1]);
    assert_eq!((first.ledgers_done, first.messages), (0, 0));
    assert_eq!((last.ledgers_done, last.ledgers, last.messages), (2, 2, 10));
    assert_eq!(last.bytes_done, last.bytes);
}

#[test]
fn a_call_indexed_earlier_still_names_the_tool_of_its_result() {
    let fixture = Fixture::new();
    let mut writer = fixture.session("s");
    call(&mut writer, "1", "Grep", json!({"pattern": "x"}));
    let mut search = fixture.search();
    sync(&mut search);
    answer(&mut writer, "2", "1", "found a needle");
    for _ in 0..2 {
        let filters = Filters { tool: Some("grep".into()), ..Filters::default() };
        let hits = search.query(&Query { filters, ..Query::new("needle") }).unwrap();
        assert_eq!(hits[0].id.as_str(), "2");
        assert_eq!(hits[0].tool.as_deref(), Some("Grep"));
        sync(&mut search);
    }
}
