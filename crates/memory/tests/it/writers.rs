//! Several processes write one folder of memories.

use crate::writers_work::{Place, Writer, faults, has_git};
use std::process::{Child, Command, Stdio};

const PLACE: &str = "THROUGHLINE_TEST_WRITERS_PLACE";
const NUMBER: &str = "THROUGHLINE_TEST_WRITERS_NUMBER";
const WRITERS: usize = 8;
/// Enough that each also forgets.
const ROUNDS: usize = 16;

/// Not a test of its own: what the next ones start as another process.
#[test]
fn helper_that_writes_where_the_environment_says() {
    let (Some(place), Ok(number)) = (std::env::var_os(PLACE), std::env::var(NUMBER)) else { return };
    let mut writer = Writer::new(&Place::new(place.as_ref()), number.parse().unwrap()).unwrap();
    for _ in 0..ROUNDS {
        writer.round().unwrap();
        println!("a round is done");
    }
}

fn start(place: &std::path::Path, number: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["writers::helper_that_writes_where_the_environment_says", "--exact", "--nocapture"])
        .env(PLACE, place)
        .env(NUMBER, number.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn eight_processes_lose_nothing_and_leave_the_index_and_the_history_whole() {
    if !has_git() {
        let is_required = std::env::var("THROUGHLINE_REQUIRE").is_ok_and(|value| value == "all");
        assert!(!is_required, "git is missing");
        eprintln!("git is missing: the history is not looked at");
    }
    let dir = tempfile::tempdir().unwrap();
    let place = Place::new(dir.path());
    place.prepare().unwrap();
    let children: Vec<Child> = (0..WRITERS).map(|number| start(dir.path(), number)).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).matches("a round is done").count(), ROUNDS);
    }
    assert_eq!(faults(&place, WRITERS).unwrap(), Vec::<String>::new());
    // What is looked for would be seen.
    let index = std::fs::read_to_string(dir.path().join("memory/MEMORY.md")).unwrap();
    let line = index.lines().find(|line| line.contains("project_writer-3")).unwrap();
    let file = line.split("](").nth(1).and_then(|rest| rest.split(')').next()).unwrap();
    std::fs::remove_file(dir.path().join("memory").join(file)).unwrap();
    let seen = faults(&place, WRITERS).unwrap().join("\n");
    assert!(seen.contains("lost") && seen.contains("out of order"), "{seen}");
}
