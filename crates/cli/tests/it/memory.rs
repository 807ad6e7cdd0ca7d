//! `memory list`, `show`, `search`: what people and scripts see.

use crate::common::Machine;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A machine with a project on it.
pub(crate) struct Room {
    pub(crate) machine: Machine,
    pub(crate) project: PathBuf,
}

impl Room {
    pub(crate) fn new() -> Self {
        let machine = Machine::empty();
        let project = machine.dir.path().join("app");
        fs::create_dir_all(project.join("src")).unwrap();
        fs::write(project.join("src/a.rs"), "pub fn run() {}\n").unwrap();
        Self { machine, project }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> assert_cmd::Command {
        let mut command = self.machine.command();
        // The history is kept by git.
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.current_dir(&self.project).arg("memory").args(arguments);
        command
    }

    pub(crate) fn text(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).assert().success();
        String::from_utf8(output.get_output().stdout.clone()).unwrap()
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.text(&[arguments, &["--json"]].concat())).unwrap()
    }

    /// The exit code, and what was printed: on standard output, on standard error.
    pub(crate) fn fails(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// Adds a memory and returns its id.
    pub(crate) fn add(&self, arguments: &[&str]) -> String {
        self.json(&[&["add"], arguments].concat())["id"].as_str().unwrap().to_owned()
    }

    /// The folder of the project's memories.
    pub(crate) fn folder(&self) -> PathBuf {
        let listed = fs::read_dir(self.machine.dir.path().join("throughline/projects")).unwrap();
        let projects: Vec<PathBuf> = listed.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(projects.len(), 1, "{projects:?}");
        projects[0].join("memory")
    }

    /// Writes a memory's file as a person or another tool would.
    pub(crate) fn put(&self, file: &str, front: &str, body: &str) -> PathBuf {
        let path = self.folder().join(file);
        fs::write(&path, format!("---\n{front}\n---\n\n{body}\n")).unwrap();
        path
    }
}

/// Whether git is there; says so if it is not, and fails where everything is required.
pub(crate) fn has_git() -> bool {
    let output = std::process::Command::new("git").arg("--version").output();
    let has = output.is_ok_and(|output| output.status.success());
    let required = std::env::var("THROUGHLINE_REQUIRE").is_ok_and(|value| value == "all");
    assert!(has || !required, "git is not installed");
    if !has {
        eprintln!("skipped: git is not installed");
    }
    has
}

pub(crate) fn ids(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect()
}

#[test]
fn nothing_is_remembered_at_first_and_nothing_is_made() {
    let room = Room::new();
    assert!(room.text(&["list"]).contains("Nothing is remembered here yet"));
    assert_eq!(room.json(&["list"]), json!({ "memories": [], "total": 0, "not_live": 0, "problems": [] }));
    assert!(room.text(&["audit"]).contains("Nothing is remembered here yet"));
    assert!(room.text(&["history"]).contains("No change is recorded"));
    assert!(room.text(&["search", "anything"]).contains("Nothing found"));
    assert!(room.text(&["merge"]).contains("No memories say much the same"));
    assert!(!room.machine.dir.path().join("throughline").exists());
}

#[test]
fn a_list_has_the_nearest_first_and_what_scripts_need() {
    let room = Room::new();
    let own = room.add(&["--type", "feedback", "Never push on Fridays"]);
    let everywhere = room.add(&["--global", "I'm a data scientist"]);
    assert_eq!(
        (own.as_str(), everywhere.as_str()),
        ("feedback_never-push-on-fridays.md", "global/user_i-m-a-data-scientist.md")
    );
    let listed = room.json(&["list"]);
    assert_eq!(ids(&listed["memories"]), [own.as_str(), &everywhere]);
    let row = &listed["memories"][0];
    let mut keys: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    let mut wanted = [
        "id",
        "tier",
        "file",
        "path",
        "name",
        "description",
        "type",
        "state",
        "modified",
        "created",
        "expires",
        "ends",
        "superseded_by",
        "evidence",
        "anchors",
        "sources",
        "uses",
    ];
    wanted.sort_unstable();
    assert_eq!(keys, wanted);
    assert_eq!(
        (&row["tier"], &row["type"], &row["state"]),
        (&json!("project"), &json!("feedback"), &json!("live"))
    );
    assert_eq!(row["sources"][0]["by"], "person");
    assert!(Path::new(row["path"].as_str().unwrap()).is_file());
    // By tier, by type, by number.
    assert_eq!(ids(&room.json(&["list", "--global"])["memories"]), [everywhere.as_str()]);
    assert_eq!(ids(&room.json(&["list", "--tier", "project"])["memories"]), [own.as_str()]);
    assert_eq!(ids(&room.json(&["list", "--type", "user"])["memories"]), [everywhere.as_str()]);
    let short = room.json(&["list", "-n", "1"]);
    assert_eq!((short["memories"].as_array().unwrap().len(), &short["total"]), (1, &json!(2)));
    let text = room.text(&["list"]);
    assert!(text.contains("Of this project") && text.contains("For every project"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colour when piped");
    assert!(room.text(&["list", "--type", "reference"]).contains("None of 2 memories fits"));
}

#[test]
fn another_project_has_its_own_memories() {
    let room = Room::new();
    let id = room.add(&["Never push on Fridays"]);
    let other = room.machine.dir.path().join("other");
    fs::create_dir(&other).unwrap();
    let other = other.to_string_lossy().into_owned();
    assert_eq!(room.json(&["list", "--project", &other])["total"], 0);
    // By its name, also when its folder is gone.
    let slug = room.folder().parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let from = room.machine.dir.path().join("other");
    let by_name = room.command(&["list", "--project", &slug, "--json"]).current_dir(from).output().unwrap();
    let by_name: Value = serde_json::from_slice(&by_name.stdout).unwrap();
    assert_eq!(ids(&by_name["memories"]), [id.as_str()]);
    let (code, _, error) = room.fails(&["list", "--project", "/no/such/folder"]);
    assert!(code == 1 && error.contains("is no folder") && error.contains(&slug), "{error}");
    let (code, _, error) = room.fails(&["list", "--tier", "worktree"]);
    assert!(code == 1 && error.contains("no linked worktree"), "{error}");
}

#[test]
fn what_is_over_is_shown_on_demand_only() {
    let room = Room::new();
    let old = room.add(&["Deploys go out on Mondays"]);
    let new = room.add(&["--replaces", &old, "Deploys go out on Tuesdays since the outage"]);
    room.put(
        "project_gone.md",
        "name: Freeze\ndescription: over\ntype: project\nmetadata:\n  expires: 2020-01-01T00:00:00Z",
        "Merges are frozen.",
    );
    let listed = room.json(&["list"]);
    assert_eq!((ids(&listed["memories"]), &listed["not_live"]), (vec![new.as_str()], &json!(2)));
    let all = room.json(&["list", "--all"]);
    let states: Vec<&str> =
        all["memories"].as_array().unwrap().iter().map(|row| row["state"].as_str().unwrap()).collect();
    assert!(
        states.contains(&"expired") && states.contains(&"superseded") && states.contains(&"live"),
        "{states:?}"
    );
    assert!(room.text(&["list", "--all"]).contains(&format!("superseded by {new}")));
    assert!(room.text(&["list"]).contains("2 memories superseded or expired (--all shows them)"));
    assert!(room.json(&["search", "frozen"])["memories"].as_array().unwrap().is_empty());
    assert_eq!(ids(&room.json(&["search", "frozen", "--all"])["memories"]), ["project_gone.md"]);
}

#[test]
fn memories_are_named_by_file_beginning_or_name() {
    let room = Room::new();
    let id = room.add(&["--name", "No Friday pushes", "Never push on Fridays"]);
    room.add(&["--name", "No weekend deploys", "Never deploy at weekends"]);
    for name in [
        id.as_str(),
        id.trim_end_matches(".md"),
        "no friday pushes",
        "No Fri",
        "feedback_no-f",
        "./feedback_no-friday-pushes.md",
    ] {
        assert_eq!(room.json(&["show", name])["id"], id.as_str(), "{name}");
    }
    let (code, _, error) = room.fails(&["show", "no"]);
    assert!(code == 1 && error.contains("means 2 memories") && error.contains(&id), "{error}");
    let (code, _, error) = room.fails(&["show", "feedback_no-friday-pusher.md"]);
    assert!(code == 1 && error.contains(&format!("did you mean {id}")), "{error}");
    let (code, _, error) = room.fails(&["show", "weekends"]);
    assert!(code == 1 && error.contains("did you mean feedback_no-weekend-deploys.md"), "{error}");
    let (code, _, error) = room.fails(&["show", "zebra crossing"]);
    assert!(code == 1 && error.contains("`throughline memory list` shows what there is"), "{error}");
}

#[test]
fn a_memory_is_shown_whole_and_can_not_act_on_the_terminal() {
    let room = Room::new();
    room.add(&["Never push on Fridays"]);
    let body = "Line one.\n\n\u{1b}[2JGone? \u{202e}txet\n- item";
    let path = room.put(
        "feedback_odd.md",
        "name: \"O\\edd\"\ndescription: \"\\e]0;title\\a\"\ntype: feedback",
        body,
    );
    for arguments in [
        &["show", "feedback_odd"][..],
        &["list"],
        &["why", "feedback_odd"],
        &["search", "gone"],
        &["audit", "--full"],
    ] {
        let text = room.text(arguments);
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{arguments:?}: {text:?}");
    }
    let shown = room.text(&["show", "feedback_odd"]);
    assert!(shown.contains("␛[2JGone?") && shown.contains("\n- item\n"), "{shown}");
    assert_eq!(room.json(&["show", "feedback_odd"])["body"], body);
    assert_eq!(room.text(&["show", "feedback_odd", "--raw"]), fs::read_to_string(path).unwrap());
    // Whoever looks at a memory asked for it.
    assert!(room.json(&["why", "feedback_odd"])["uses"]["opened"].as_u64().unwrap() >= 2);
}

#[test]
fn words_find_memories_and_say_how_well() {
    let room = Room::new();
    let id = room.add(&["Deploys go through the staging cluster first"]);
    room.add(&["--global", "My timezone is CET"]);
    room.add(&["以后不要直接推送到主分支"]);
    let found = room.json(&["search", "staging", "deploys"]);
    assert_eq!((ids(&found["memories"])[0], &found["query"]), (id.as_str(), &json!("staging deploys")));
    assert!(found["memories"][0]["score"].as_f64().unwrap() > 0.0);
    assert!(found["memories"][0]["body"].as_str().unwrap().contains("staging cluster"));
    assert!(room.text(&["search", "推送"]).contains("主分支"));
    for (arguments, said) in
        [(&["search", "!?"][..], "no word"), (&["search", "x", "--limit", "0"], "asks for nothing")]
    {
        let (code, _, error) = room.fails(arguments);
        assert!(code == 1 && error.contains(said), "{error}");
    }
    assert_eq!(room.fails(&["search"]).0, 2);
}

#[test]
fn what_is_not_in_order_is_told_and_hides_nothing() {
    let room = Room::new();
    let id = room.add(&["Never push on Fridays"]);
    fs::write(room.folder().join("loose.md"), "just words").unwrap();
    fs::write(room.folder().join("bytes.md"), [0xff, 0xfe, 0x00]).unwrap();
    let listed = room.json(&["list"]);
    assert!(
        ids(&listed["memories"]).contains(&id.as_str()) && ids(&listed["memories"]).contains(&"loose.md")
    );
    let files: Vec<&str> =
        listed["problems"].as_array().unwrap().iter().map(|p| p["file"].as_str().unwrap()).collect();
    assert!(files.contains(&"loose.md") && files.contains(&"bytes.md"), "{listed}");
    let (code, _, error) = room.fails(&["list"]);
    assert!(code == 0 && error.contains("loose.md: it has no frontmatter"), "{error}");
}

#[test]
fn more_memories_than_a_manifest_holds_are_listed() {
    let room = Room::new();
    room.add(&["Never push on Fridays"]);
    for n in 0..250 {
        room.put(
            &format!("project_{n}.md"),
            &format!("name: Fact {n}\ndescription: about {n}\ntype: project"),
            &format!("Fact {n} holds."),
        );
    }
    assert_eq!(room.json(&["list"])["total"], 251);
    assert_eq!(ids(&room.json(&["search", "fact", "249", "--limit", "1"])["memories"]), ["project_249.md"]);
}

#[test]
fn memory_that_is_switched_off_can_be_seen_all_the_same() {
    let room = Room::new();
    let id = room.add(&["Never push on Fridays"]);
    let output =
        room.command(&["list", "--json"]).env("THROUGHLINE_MEMORY_ENABLED", "false").output().unwrap();
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(ids(&listed["memories"]), [id.as_str()]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("switched off"));
}

#[test]
fn the_folder_is_where_the_user_says() {
    let room = Room::new();
    let folder = room.machine.dir.path().join("mine");
    let mut add = room.command(&["add", "--json", "Never push on Fridays"]);
    let output = add.env("THROUGHLINE_MEMORY_DIR", &folder).output().unwrap();
    let saved: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(Path::new(saved["path"].as_str().unwrap()).starts_with(&folder), "{saved}");
    assert!(folder.join("MEMORY.md").is_file());
    assert_eq!(room.json(&["list"])["total"], 0);
}

#[test]
fn every_command_explains_itself_with_examples() {
    let room = Room::new();
    let help = room.text(&["--help"]);
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    for name in [
        "list", "show", "search", "add", "edit", "forget", "why", "audit", "merge", "history", "undo",
        "reset", "tool", "confirm",
    ] {
        assert!(commands.contains(&name), "{name}: {commands:?}");
    }
    for name in commands {
        let help = room.text(&[name, "--help"]);
        let examples = help.split("Examples:").nth(1).unwrap_or_default();
        assert!(examples.matches("throughline memory").count() >= 2, "{name}: {help}");
    }
    assert_eq!(room.fails(&[]).0, 2);
    assert_eq!(room.fails(&["list", "--tier", "nowhere"]).0, 2);
    assert_eq!(room.fails(&["list", "--global", "--tier", "team"]).0, 2);
    assert_eq!(room.fails(&["list", "--type", "odd"]).0, 2);
}
