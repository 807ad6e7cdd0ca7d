//! `memory build`, `refresh`, `handbook`, `worker`: from sessions to handbooks, as people and scripts see it.

use crate::handbook_sessions::{LOCK, Office, SITE, TESTS};
use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Words of a wish that any wording of it has.
const CHECK: &str = "make check";

#[test]
fn a_machine_without_handbooks_says_so_and_nothing_is_made() {
    let office = Office::new();
    assert!(office.text(&["memory", "handbook"]).contains("There are no handbooks yet"));
    assert_eq!(office.json(&["memory", "handbook", "list"]), json!({ "handbooks": [] }));
    assert!(office.text(&["memory", "handbook", "search", "check"]).contains("Nothing found"));
    assert!(office.text(&["memory", "handbook", "receipts"]).contains("No session was read"));
    let (code, _, error) = office.ends(&["memory", "handbook", "show"]);
    assert_eq!(code, 1);
    assert!(
        error.contains("there is no handbook of") && error.contains("throughline memory build"),
        "{error}"
    );
    assert!(!office.home().exists());
}

#[test]
fn one_command_makes_handbooks_of_all_sessions_on_the_machine() {
    let office = Office::new();
    let told = office.text(&["memory", "build"]);
    assert!(told.contains("Read 4 sessions") && told.contains("Offline: $0.00"), "{told}");
    assert!(told.contains("MEMORY.md"), "{told}");
    let app = office.book("app");
    assert!(app.contains(CHECK) && app.contains("package-lock.json"), "{app}");
    assert!(!app.contains("lower case"), "what was said in another project: {app}");
    let site = office.book("site");
    assert!(site.contains("lower case") && !site.contains(CHECK), "{site}");
    // Again: nothing is new.
    let again = office.json(&["memory", "build"]);
    assert_eq!(again["sessions"]["read"], 0, "{again}");
    assert_eq!(again["sessions"]["unchanged"], 4, "{again}");
    assert!(office.text(&["memory", "build"]).contains("Nothing is new in 4 sessions"));
}

#[test]
fn every_statement_leads_to_a_message_that_is_there() {
    let office = Office::new();
    office.text(&["memory", "build"]);
    let checked = office.json(&["memory", "handbook", "check"]);
    assert_eq!(checked["rate"], 1.0, "{checked}");
    assert_eq!(checked["audit"]["faults"], json!([]));
    let statements = checked["audit"]["statements"].as_u64().unwrap();
    assert!(statements >= 3 && checked["audit"]["borne_out"] == statements, "{checked}");
    assert!(office.text(&["memory", "audit"]).contains("rest on messages that are there"));
    // Why: the session, the message, the date, the words.
    let why = office.json(&["memory", "handbook", "why", "make", "check"]);
    let place = &why["statements"][0]["places"][0];
    assert!(place["words"].as_str().unwrap().contains(TESTS), "{why}");
    assert_eq!(place["role"], "user");
    let key = place["key"].as_str().unwrap();
    let told = office.text(&["memory", "handbook", "why", key]);
    assert!(told.contains("session aaaaaaaa-0000-4000-8000-00000000000"), "{told}");
    assert!(told.contains("2026-02-05") || told.contains("2026-01-05"), "{told}");
    // A ledger that is gone bears nothing out.
    let sessions = walk(&office.home().join("sessions"));
    let gone = sessions.iter().find(|path| path.to_string_lossy().contains("0000000003")).unwrap();
    fs::remove_file(gone).unwrap();
    let (code, told, _) = office.ends(&["memory", "handbook", "check"]);
    assert_eq!(code, 1);
    assert!(told.contains("there is no session aaaaaaaa-0000-4000-8000-000000000003"), "{told}");
    // With its transcript gone, too, what it taught is forgotten.
    let transcripts = walk(&office.machine.dir.path().join(".claude"));
    fs::remove_file(transcripts.iter().find(|path| path.to_string_lossy().contains("0000000003")).unwrap())
        .unwrap();
    assert!(office.text(&["memory", "refresh"]).contains("forgot what 1 session taught"));
    assert_eq!(office.json(&["memory", "handbook", "check"])["rate"], 1.0);
    assert!(!office.book("app").contains("package-lock.json") && office.book("app").contains(CHECK));
    let (code, _, error) = office.ends(&["memory", "handbook", "why", "nobody said zebra"]);
    assert!(code == 1 && error.contains("no statement"), "{error}");
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(walk(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn handbooks_are_shown_searched_and_accounted_for() {
    let office = Office::new();
    office.text(&["memory", "build"]);
    let shown = office.text(&["memory", "handbook", "show"]);
    assert!(shown.contains("# Handbook:") && shown.contains(CHECK), "{shown}");
    let only = office.json(&["memory", "handbook", "show", "--kind", "preference"]);
    let statements = only["statements"].as_array().unwrap();
    assert!(!statements.is_empty() && statements.iter().all(|one| one["kind"] == "preference"), "{only}");
    assert!(office.text(&["memory", "handbook", "show", "--summary"]).starts_with("v1"));
    let other = office.text(&["memory", "handbook", "show", "--project", "site"]);
    assert!(other.contains("lower case"), "{other}");
    // By words; also among topics.
    assert!(office.text(&["memory", "handbook", "search", "package-lock"]).contains("package-lock.json"));
    assert!(office.text(&["memory", "search", "package-lock"]).contains("In the handbook"));
    let found = office.json(&["memory", "search", "package-lock"]);
    assert!(!found["handbook"].as_array().unwrap().is_empty(), "{found}");
    let receipts = office.json(&["memory", "handbook", "receipts"]);
    assert_eq!(receipts["total"]["sessions"], 3, "{receipts}");
    assert_eq!(receipts["total"]["dollars"], 0.0, "{receipts}");
    assert!(receipts["sessions"].as_array().unwrap().iter().all(|one| one["used"] == 0));
    let all = office.text(&["memory", "handbook", "receipts", "--all"]);
    assert!(all.contains("in all: 4 sessions") && all.contains("offline"), "{all}");
}

#[test]
fn a_dry_run_says_what_would_be_done_and_writes_nothing() {
    let office = Office::new();
    let told = office.text(&["memory", "build", "--dry-run"]);
    assert!(told.contains("4 sessions would be read") && told.contains("$0.00"), "{told}");
    assert!(!office.home().exists(), "{told}");
    let dry = office.json(&["memory", "build", "--dry-run", "--project", "app"]);
    assert_eq!((&dry["sessions"], &dry["left_out"]["other_project"]), (&json!(3), &json!(1)), "{dry}");
    assert!(dry["tokens"].as_u64().unwrap() > 50, "{dry}");
    office.text(&["memory", "build"]);
    let dry = office.json(&["memory", "build", "--dry-run"]);
    assert_eq!((&dry["sessions"], &dry["unchanged"]), (&json!(0), &json!(4)), "{dry}");
}

#[test]
fn a_build_can_be_of_a_time_a_project_or_a_folder() {
    let office = Office::new();
    let built = office.json(&["memory", "build", "--since", "2026-02-20", "--project", "app"]);
    assert_eq!(built["sessions"]["read"], 1, "{built}");
    assert_eq!(built["sessions"]["left_out"], json!({ "too_old": 2, "other_project": 1 }), "{built}");
    let app = office.book("app");
    assert!(app.contains("package-lock.json") && !app.contains(CHECK), "{app}");
    // What was left out is read when it is asked for.
    let built = office.json(&["memory", "build"]);
    assert_eq!(built["sessions"]["read"], 3, "{built}");
    let (code, _, error) = office.ends(&["memory", "build", "--project", "nothing-of-that-name"]);
    assert!(code == 1 && error.contains("no project of that name"), "{error}");
    let (code, _, error) = office.ends(&["memory", "build", "--from", "not-there"]);
    assert!(code == 1 && error.contains("cannot read not-there"), "{error}");
    let (code, _, error) = office.ends(&["memory", "build", "--since", "soon"]);
    assert!(code == 1 && error.contains("`soon` is no time"), "{error}");
    let elsewhere = office.machine.dir.path().join("empty");
    fs::create_dir(&elsewhere).unwrap();
    let built = office.json(&["memory", "build", "--from", &elsewhere.to_string_lossy()]);
    assert_eq!(built["sessions"]["read"], 0, "{built}");
}

#[test]
fn a_build_that_was_killed_goes_on_where_it_was() {
    let office = Office::new();
    for n in 0..60 {
        let id = format!("bbbbbbbb-0000-4000-8000-{n:012}");
        office.app_session(&id, "2026-03-07", &[(TESTS, "Done."), ("Go on.", "Done.")]);
    }
    // A lease that nobody holds any more is over soon.
    fs::create_dir_all(office.home()).unwrap();
    fs::write(office.home().join("config.toml"), "[memory.handbook.limits]\nlease_seconds = 2\n").unwrap();
    let store = office.home().join("handbooks/store.db");
    for _ in 0..3 {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("throughline"))
            .args(["memory", "build", "--jobs", "1"])
            .env_clear()
            .env("HOME", office.machine.dir.path())
            .env("THROUGHLINE_HOME", office.home())
            .current_dir(&office.app)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while !store.exists() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        // Somewhere in its work, wherever that is.
        std::thread::sleep(Duration::from_millis(60));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let built = office.json(&["memory", "build"]);
    assert_eq!(built["failed"], json!([]), "{built}");
    let receipts = office.json(&["memory", "handbook", "receipts", "--all"]);
    assert_eq!(receipts["total"]["sessions"], 64, "each once: {receipts}");
    assert_eq!(office.json(&["memory", "handbook", "check"])["rate"], 1.0);
    assert_eq!(office.json(&["memory", "build"])["sessions"]["unchanged"], 64);
}

#[test]
fn a_note_by_hand_and_a_session_that_went_on_are_worked_in_by_a_refresh() {
    let office = Office::new();
    office.text(&["memory", "build"]);
    let told = office.text(&["memory", "handbook", "note", "The staging database is reset every Sunday."]);
    assert!(told.contains("extensions/ad_hoc/notes/"), "{told}");
    office.app_session(
        "aaaaaaaa-0000-4000-8000-000000000003",
        "2026-03-05",
        &[
            (LOCK, "Done: renamed, and the checks pass."),
            ("Now the colours.", "Done: renamed, and the checks pass."),
            ("Never use tabs in this project.", "Understood."),
        ],
    );
    let refreshed = office.json(&["memory", "refresh"]);
    assert_eq!(refreshed["sessions"]["read"], 1, "{refreshed}");
    let app = office.book("app");
    assert!(app.contains("staging database") && app.contains("tabs"), "{app}");
    assert_eq!(office.json(&["memory", "handbook", "check"])["rate"], 1.0);
    // A note says whence it comes.
    let why = office.json(&["memory", "handbook", "why", "staging database"]);
    assert_eq!(why["statements"][0]["places"][0]["evidence"]["in"], "note", "{why}");
}

#[test]
fn an_edition_can_be_taken_back_and_a_handbook_removed_and_made_again() {
    let office = Office::new();
    office.text(&["memory", "build"]);
    let first = office.book("app");
    office.app_session(
        "aaaaaaaa-0000-4000-8000-000000000004",
        "2026-03-09",
        &[("Never use tabs in this project.", "Understood."), ("Go on.", "Done.")],
    );
    office.text(&["memory", "refresh"]);
    assert!(office.book("app").contains("tabs"));
    let history = office.json(&["memory", "handbook", "history"]);
    assert!(history["records"].as_array().unwrap().len() >= 2, "{history}");
    let told = office.text(&["memory", "undo", "--handbook"]);
    assert!(told.contains("Undid:"), "{told}");
    assert_eq!(office.book("app"), first);
    // What was taken back does not come back by itself.
    office.text(&["memory", "refresh"]);
    assert_eq!(office.book("app"), first);

    let (code, _, error) = office.ends(&["memory", "reset", "--handbook"]);
    assert!(code == 2 && error.contains("--yes"), "{error}");
    let told = office.text(&["memory", "reset", "--handbook", "--yes"]);
    assert!(told.contains("Removed the handbook of"), "{told}");
    let (code, _, error) = office.ends(&["memory", "handbook", "show"]);
    assert!(code == 1 && error.contains("there is no handbook of"), "{error}");
    assert!(office.book("site").contains("lower case"), "another's stays");
    let built = office.json(&["memory", "build"]);
    assert_eq!(built["sessions"]["read"], 4, "those of the project are read again: {built}");
    assert!(office.book("app").contains("tabs") && office.book("app").contains(CHECK));
    assert!(
        office.text(&["memory", "reset", "--tier", "project", "--yes"]).contains("Removed the handbook of")
    );
}

#[test]
fn a_worker_does_what_is_due_and_ends() {
    let office = Office::new();
    let (code, _, log) = office.ends(&["worker", "--once"]);
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("0 jobs done"), "{log}");
    // Somebody else wanted it: a build that was killed before it read anything.
    office.text(&["memory", "build", "--project", "site"]);
    office.app_session("aaaaaaaa-0000-4000-8000-000000000005", "2026-03-10", &[(SITE, "Done.")]);
    let (code, _, log) = office.ends(&["worker", "--once", "--json"]);
    assert_eq!(code, 0, "{log}");
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line["at"].is_string() && line["what"].is_string(), "{line}");
    }
}

#[test]
fn a_store_that_is_none_is_told_without_its_password() {
    let office = Office::new();
    let (code, _, error) = office.ends(&["worker", "--once", "--store", "mysql://me:hunter2@db/x"]);
    assert!(code == 1 && error.contains("unknown scheme"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
    // Neither by flag nor by environment does anything else become a file.
    for address in ["hunter2", "me:hunter2@db/x", "host=db password=hunter2"] {
        let (code, _, error) = office.ends(&["worker", "--once", "--store", address]);
        assert!(code == 1 && error.contains("absolute path"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    let made: Vec<_> = fs::read_dir(&office.app).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!made.iter().any(|name| name.to_string_lossy().contains("hunter2")), "{made:?}");
    let file = office.machine.dir.path().join("no-store.db");
    fs::write(&file, "this is not a database, and is left alone").unwrap();
    let (code, _, error) = office.ends(&["memory", "build", "--store", &file.to_string_lossy()]);
    assert!(code == 1 && error.contains("no-store.db"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "this is not a database, and is left alone");
    // Nobody listens there.
    let closed = "postgres://me:hunter2@127.0.0.1:1/x";
    let (code, _, error) = office.ends(&["worker", "--once", "--store", closed]);
    assert!(code == 1 && error.contains("the store"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn no_money_is_spent_unasked() {
    let office = Office::new();
    let run = |arguments: &[&str]| {
        let mut command = office.command(&office.app, arguments);
        command.env("ANTHROPIC_API_KEY", "not-a-key").env("ANTHROPIC_MODEL", "claude-haiku-4-5");
        command.env("ANTHROPIC_BASE_URL", "http://127.0.0.1:1");
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let (code, _, error) = run(&["memory", "build", "--scribe", "model"]);
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("claude-haiku-4-5 will read 4 sessions") && error.contains("about $"), "{error}");
    assert!(error.contains("--yes"), "{error}");
    let (code, told, _) = run(&["memory", "build", "--scribe", "model", "--dry-run"]);
    assert!(code == 0 && told.contains("about $") && told.contains("claude-haiku-4-5"), "{told}");
    // A provider that can't be reached costs one try each, and nothing is lost.
    let (code, told, error) = run(&["memory", "build", "--scribe", "model", "--yes", "--jobs", "1"]);
    assert_eq!(code, 1, "{told}{error}");
    assert!(told.contains("stopped:") && told.contains("run it again"), "{told}");
    let (code, told, _) = run(&["memory", "build"]);
    assert!(code == 0 && told.contains("Read 4 sessions"), "{told}");
}

#[test]
fn without_a_model_set_up_the_way_out_is_named() {
    let office = Office::new();
    let (code, _, error) = office.ends(&["memory", "build", "--scribe", "model"]);
    assert!(
        code == 1 && error.contains("no model is set up") && error.contains("--scribe offline"),
        "{error}"
    );
}
