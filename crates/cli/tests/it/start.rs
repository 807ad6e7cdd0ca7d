use crate::common::{Machine, examples};

#[test]
fn on_an_empty_machine_the_first_command_shows_the_samples() {
    let machine = Machine::empty();
    let text = machine.text(&[]);
    assert!(text.contains("here are the samples"), "{text}");
    let listed = machine.json(&["sessions", "list", "--tag", "sample"]);
    assert!(listed["total"].as_u64().unwrap() >= 5, "{listed}");
    assert_eq!(listed["sessions"][0]["memory_mode"], "disabled", "no memory is made of samples");
}

#[test]
fn sessions_of_the_clients_are_found_and_a_second_run_reads_nothing_again() {
    let machine = Machine::empty();
    let projects = machine.dir.path().join(".claude/projects/-home-ada-orchard");
    std::fs::create_dir_all(&projects).unwrap();
    let samples = examples().join("claude/projects/-home-ada-orchard");
    for entry in std::fs::read_dir(samples).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "jsonl") {
            std::fs::copy(&path, projects.join(path.file_name().unwrap())).unwrap();
        }
    }
    let text = machine.text(&[]);
    assert!(!text.contains("samples"), "{text}");
    assert!(text.contains("3 new"), "{text}");
    let again = machine.text(&[]);
    assert!(again.contains("0 messages from 3 files (0 new, 0 grown, 3 unchanged)"), "{again}");
}

#[test]
fn the_clients_folders_are_never_written() {
    let machine = Machine::empty();
    let codex = machine.dir.path().join("codex/sessions/2026");
    std::fs::create_dir_all(&codex).unwrap();
    std::fs::write(codex.join("rollout-x.jsonl"), "{\"type\":\"session_meta\",\"payload\":{\"id\":\"x\"}}\n")
        .unwrap();
    machine.command().env("CODEX_HOME", machine.dir.path().join("codex")).assert().success();
    let files: Vec<_> = std::fs::read_dir(&codex).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(files, ["rollout-x.jsonl"]);
    assert_eq!(std::fs::read_dir(machine.dir.path().join("codex")).unwrap().count(), 1);
}
