use crate::common::{LONG, Machine};
use serde_json::Value;

fn view_len(machine: &Machine, session: &str) -> usize {
    machine.json(&["sessions", "show", session, "--view"])["messages"].as_array().unwrap().len()
}

#[test]
fn l5_list_show_and_search_work_on_imported_sessions() {
    let machine = Machine::with_samples();
    let listed = machine.json(&["sessions", "list"]);
    let ids: Vec<&str> =
        listed["sessions"].as_array().unwrap().iter().map(|s| s["session"].as_str().unwrap()).collect();
    assert!(ids.iter().any(|id| id.starts_with(LONG)), "{ids:?}");
    let with_agents = machine.json(&["sessions", "list", "--agents"]);
    assert!(with_agents["total"].as_u64() > listed["total"].as_u64(), "sub-agents are sessions of their own");

    let shown = machine.text(&["sessions", "show", LONG]);
    assert!(shown.contains("You ") && shown.contains("compacted"), "{}", &shown[..2000]);
    assert!(!shown.contains('\u{1b}'), "no colour when piped");

    let found = machine.json(&["sessions", "search", "max_attempts", "--role", "user", "-k", "5"]);
    let hits = found["hits"].as_array().unwrap();
    assert!(!hits.is_empty());
    assert!(hits.iter().all(|hit| hit["role"] == "user"), "{found}");
}

#[test]
fn l5_fork_rollback_and_undo_change_the_view_and_nothing_else() {
    let machine = Machine::with_samples();
    let whole = view_len(&machine, LONG);
    machine.run(&["sessions", "rollback", LONG, "-n", "1"]).success();
    let rolled = view_len(&machine, LONG);
    assert!(rolled < whole);
    machine.run(&["sessions", "undo", LONG]).success();
    assert_eq!(view_len(&machine, LONG), whole);

    let forked = machine.json(&["sessions", "fork", LONG]);
    let id = forked["session"].as_str().unwrap();
    assert_eq!(view_len(&machine, id), whole);
    machine.run(&["sessions", "title", id, "Another way"]).success();
    machine.run(&["sessions", "tag", id, "spike", "draft"]).success();
    let tags = machine.json(&["sessions", "tag", id, "-d", "draft"]);
    assert_eq!(tags["tags"], serde_json::json!(["spike"]));
    let listed = machine.json(&["sessions", "list", "--tag", "spike"]);
    assert_eq!(listed["sessions"][0]["title"], "Another way");
}

#[test]
fn l5_undoing_a_compaction_brings_the_whole_conversation_back() {
    let machine = Machine::with_samples();
    let compacted = view_len(&machine, LONG);
    let shown = machine.json(&["sessions", "show", LONG]);
    let checkpoints: Vec<&Value> =
        shown["records"].as_array().unwrap().iter().filter(|r| r["record"]["kind"] == "checkpoint").collect();
    let newest = checkpoints.last().unwrap()["record"]["id"].as_str().unwrap();
    machine.run(&["sessions", "undo", LONG, newest]).success();
    assert!(view_len(&machine, LONG) > compacted);
}

#[test]
fn w1_every_wire_takes_every_sample() {
    let machine = Machine::with_samples();
    let listed = machine.json(&["sessions", "list", "--agents"]);
    for session in listed["sessions"].as_array().unwrap() {
        let id = session["session"].as_str().unwrap();
        for (format, key) in [("anthropic", "messages"), ("responses", "input"), ("chat", "messages")] {
            let text = machine.text(&["sessions", "export", id, "--format", format]);
            let body: Value = serde_json::from_str(&text).unwrap();
            assert!(!body[key].as_array().unwrap().is_empty(), "{id} as {format}");
        }
        assert!(machine.text(&["sessions", "export", id, "--format", "markdown"]).starts_with("### "));
        let body = machine.json(&["sessions", "export", id, "--format", "anthropic"]);
        assert_eq!(body["content"]["messages"][0]["role"], "user", "instructions stand in `system`");
    }
}

#[test]
fn b10_what_a_client_rendered_for_the_model_is_legible_after_import() {
    let machine = Machine::with_samples();
    let shown = machine.json(&["sessions", "show", LONG]);
    let blocks = shown["records"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|r| r["record"]["blocks"].as_array())
        .flatten();
    let unknown: Vec<&Value> = blocks.filter(|block| block["type"] == "unknown").collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn l7_check_names_file_and_line_of_what_is_wrong_and_fails() {
    let machine = Machine::with_samples();
    let text = machine.text(&["sessions", "check"]);
    assert!(text.contains("in order"), "{text}");
    let listed = machine.json(&["sessions", "list"]);
    let path = listed["sessions"][0]["path"].as_str().unwrap();
    let mut lines = std::fs::read_to_string(path).unwrap();
    let count = lines.lines().count();
    lines.push_str("garbage\n");
    std::fs::write(path, lines).unwrap();
    let assert = machine.run(&["sessions", "check"]).code(1);
    let told = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
    assert!(told.contains(&format!("{path}:{}: not a record", count + 1)), "{told}");
}

#[test]
fn errors_say_what_and_what_to_do_with_exit_codes_1_and_2() {
    let machine = Machine::with_samples();
    let error = machine.error(&["sessions", "show", "nope"]);
    assert!(error.contains("no session `nope`") && error.contains("sessions list"), "{error}");
    let error = machine.error(&["sessions", "rollback", LONG, "-n", "9999"]);
    assert!(error.contains("cannot roll back 9999 turns"), "{error}");
    machine.run(&["sessions", "fly"]).code(2);
    let error = machine.error(&["sessions", "list", "--since", "soon"]);
    assert!(error.contains("`soon` is no time"), "{error}");
}

#[test]
fn the_index_can_be_thrown_away() {
    let machine = Machine::with_samples();
    let search = ["sessions", "search", "lockfile"];
    let before = machine.json(&search);
    std::fs::remove_dir_all(machine.dir.path().join("throughline/index")).unwrap();
    machine.run(&["sessions", "rebuild-index"]).success();
    assert_eq!(machine.json(&search), before);
}

#[test]
fn every_command_has_help_with_examples() {
    let machine = Machine::empty();
    let commands = [
        "list",
        "show",
        "search",
        "fork",
        "rollback",
        "undo",
        "import",
        "export",
        "title",
        "tag",
        "check",
        "rebuild-index",
    ];
    for command in commands {
        let help = machine.text(&["sessions", command, "--help"]);
        assert!(help.contains("Examples:"), "{command}");
    }
    assert!(machine.text(&["tokens", "--help"]).contains("Examples:"));
}
