use crate::common::{Fixture, answer, call, ids, say, sync};
use serde_json::json;
use throughline_core::Role;
use throughline_search::{Filters, Query, Search};

fn fixture() -> (Fixture, Search) {
    let fixture = Fixture::new();
    let mut one = fixture.session_in("one", "/home/ann/app");
    say(&mut one, "1", Role::User, "fix the widget");
    call(&mut one, "2", "Read", json!({"file_path": "/home/ann/app/src/widget.rs"}));
    answer(&mut one, "3", "2", "struct Widget;");
    say(&mut one, "4", Role::Assistant, "the widget is fixed");
    let mut two = fixture.session_in("two", "/home/ann/app/sub");
    call(&mut two, "5", "exec_command", json!({"cmd": "cat widget.txt"}));
    let mut three = fixture.session_in("three", "/home/ann/application");
    say(&mut three, "6", Role::User, "a widget elsewhere");
    let search = fixture.search();
    (fixture, search)
}

/// The same answer from the tail and from the index.
fn found(search: &mut Search, filters: Filters) -> Vec<String> {
    let query = Query { filters, ..Query::new("widget") };
    let mut from_tail: Vec<String> =
        ids(&search.query(&query).unwrap()).iter().map(|id| (*id).to_owned()).collect();
    sync(search);
    let mut from_index: Vec<String> =
        ids(&search.query(&query).unwrap()).iter().map(|id| (*id).to_owned()).collect();
    from_tail.sort();
    from_index.sort();
    assert_eq!(from_tail, from_index);
    from_index
}

#[test]
fn by_session() {
    let (_home, mut search) = fixture();
    assert_eq!(found(&mut search, Filters { session: Some("three".into()), ..Filters::default() }), ["6"]);
    assert!(found(&mut search, Filters { session: Some("none".into()), ..Filters::default() }).is_empty());
}

#[test]
fn by_project_which_is_a_folder_and_what_lies_below_it() {
    let (_home, mut search) = fixture();
    for project in ["/home/ann/app", "/home/ann/app/"] {
        let filters = Filters { project: Some(project.into()), ..Filters::default() };
        assert_eq!(found(&mut search, filters), ["1", "2", "3", "4", "5"]);
    }
    let below = Filters { project: Some("/home/ann/app/sub".into()), ..Filters::default() };
    assert_eq!(found(&mut search, below), ["5"]);
}

#[test]
fn by_role() {
    let (_home, mut search) = fixture();
    let filters = Filters { role: Some(Role::Assistant), ..Filters::default() };
    assert_eq!(found(&mut search, filters), ["2", "4", "5"]);
}

#[test]
fn by_tool_calls_and_results_alike() {
    let (_home, mut search) = fixture();
    for tool in ["Read", "read"] {
        assert_eq!(found(&mut search, Filters { tool: Some(tool.into()), ..Filters::default() }), ["2", "3"]);
    }
    assert_eq!(
        found(&mut search, Filters { tool: Some("exec_command".into()), ..Filters::default() }),
        ["5"]
    );
}

#[test]
fn by_file_whole_or_its_end_or_a_folder_in_it() {
    let (_home, mut search) = fixture();
    for file in ["/home/ann/app/src/widget.rs", "src/widget.rs", "widget.rs", "app/src"] {
        let filters = Filters { file: Some(file.into()), ..Filters::default() };
        assert_eq!(found(&mut search, filters), ["2", "3"], "{file}");
    }
    for file in ["idget.rs", "src/other.rs", "", "/"] {
        assert!(
            found(&mut search, Filters { file: Some(file.into()), ..Filters::default() }).is_empty(),
            "{file}"
        );
    }
}

#[test]
fn by_time_with_either_end_open() {
    let (_home, mut search) = fixture();
    let at = |n: i64| Some(jiff::Timestamp::from_second(1_760_000_000 + n).unwrap());
    assert_eq!(found(&mut search, Filters { from: at(4), ..Filters::default() }), ["4", "5", "6"]);
    assert_eq!(found(&mut search, Filters { to: at(2), ..Filters::default() }), ["1", "2"]);
    assert_eq!(found(&mut search, Filters { from: at(2), to: at(3), ..Filters::default() }), ["2", "3"]);
    assert!(found(&mut search, Filters { from: at(9), ..Filters::default() }).is_empty());
}

#[test]
fn several_at_once() {
    let (_home, mut search) = fixture();
    let filters = Filters {
        project: Some("/home/ann".into()),
        role: Some(Role::Tool),
        tool: Some("Read".into()),
        ..Filters::default()
    };
    assert_eq!(found(&mut search, filters), ["3"]);
}
