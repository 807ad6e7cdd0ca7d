//! `compact`, `prepare` and `replay`.

use crate::common::{LONG, Machine, examples};
use serde_json::{Value, json};
use std::path::PathBuf;

fn transcripts() -> Vec<PathBuf> {
    fn walk(dir: PathBuf, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(path, found);
            } else if path.extension().is_some_and(|e| e == "jsonl")
                && path.metadata().unwrap().len() > 100_000
            {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(examples(), &mut found);
    found.sort();
    found
}

/// All strings in a value.
fn strings(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::Array(list) => list.iter().for_each(|value| strings(value, out)),
        Value::Object(map) => map.values().for_each(|value| strings(value, out)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn p5_compact_keeps_its_budget_with_every_strategy_and_source() {
    let machine = Machine::with_samples();
    let mut sources: Vec<String> =
        transcripts().iter().map(|path| path.to_string_lossy().into_owned()).collect();
    sources.push(LONG.to_owned());
    for source in &sources {
        for strategy in ["notes", "summary", "handoff"] {
            let done = machine.json(&[
                "compact",
                source,
                "--strategy",
                strategy,
                "--scribe",
                "offline",
                "--budget",
                "4000",
            ]);
            assert!(
                done["tokens_after"].as_u64().unwrap() <= 4_000,
                "{source} {strategy}: {}",
                done["tokens_after"]
            );
            assert!(done["tokens_before"].as_u64() > done["tokens_after"].as_u64());
            let mut text = String::new();
            strings(&done["messages"], &mut text);
            assert!(text.len() > 2_000 && text.len() < 18_000, "{}", text.len());
            assert!(done["check"]["score"].as_f64().unwrap() > 0.3);
        }
    }
}

#[test]
fn p6_a_compaction_that_is_applied_is_what_resumes_and_can_be_undone() {
    let machine = Machine::with_samples();
    let before = machine.json(&["sessions", "show", LONG, "--view"]);
    let count = |value: &Value| value["messages"].as_array().unwrap().len();
    machine.run(&["compact", LONG, "--budget", "4000", "--apply"]).success();
    let after = machine.json(&["sessions", "show", LONG, "--view"]);
    assert!(count(&after) < count(&before));
    assert!(after["messages"][0]["flags"]["summary"].as_bool().unwrap());
    machine.run(&["sessions", "undo", LONG]).success();
    assert_eq!(count(&machine.json(&["sessions", "show", LONG, "--view"])), count(&before));
}

#[test]
fn compact_says_what_it_can_not_do() {
    let machine = Machine::with_samples();
    assert!(machine.error(&["compact", LONG, "--scribe", "model"]).contains("--scribe offline"));
    assert!(machine.error(&["compact", "nothing-there"]).contains("nothing-there"));
    let path = transcripts()[0].to_string_lossy().into_owned();
    assert!(machine.error(&["compact", &path, "--apply"]).contains("import"));
}

fn request(results: usize, size: usize) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "Look around. Never delete anything."})];
    for n in 0..results {
        let id = format!("toolu_{n}");
        messages.push(json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": format!("cat log{n}")}}]}));
        messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "log line\n".repeat(size)}]}));
    }
    json!({"model": "claude-sonnet-4-5", "max_tokens": 8000, "messages": messages})
}

fn prepare(machine: &Machine, arguments: &[&str], body: &str) -> (Vec<u8>, String) {
    let run = machine.command().arg("prepare").args(arguments).write_stdin(body).assert().success();
    let output = run.get_output();
    (output.stdout.clone(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn prepare_gives_back_the_same_bytes_when_nothing_needs_doing() {
    let machine = Machine::empty();
    let body = format!("{}\n", serde_json::to_string_pretty(&request(2, 10)).unwrap());
    for profile in ["throughline", "claude", "codex", "off"] {
        assert_eq!(prepare(&machine, &["--profile", profile], &body).0, body.as_bytes(), "{profile}");
    }
}

#[test]
fn p1_prepare_saves_long_results_where_it_says() {
    let machine = Machine::empty();
    let body = request(1, 8_000).to_string();
    let session = machine.dir.path().join("s");
    let report = machine.dir.path().join("report.json");
    let arguments = ["--session", session.to_str().unwrap(), "--report", report.to_str().unwrap()];
    let arguments = [&["--profile", "claude"][..], &arguments[..]].concat();
    let (out, _) = prepare(&machine, &arguments, &body);
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("<persisted-output>"));
    let saved = session.join("tool-results/toolu_0.txt");
    assert!(text.contains(saved.to_str().unwrap()));
    assert_eq!(std::fs::read_to_string(&saved).unwrap(), "log line\n".repeat(8_000));
    let report: Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    assert_eq!(report["changes"][0]["stage"], "budget");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(saved.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    // Decided once: the next call says the same.
    assert_eq!(String::from_utf8(prepare(&machine, &arguments, &body).0).unwrap(), text);
}

#[test]
fn p3a_prepare_clears_old_results_after_an_hour() {
    let machine = Machine::empty();
    // Off by default, as in the source system.
    let config = machine.dir.path().join("throughline/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(&config, "[profiles.claude]\nmicrocompact.cold_minutes = 60\n").unwrap();
    let session = machine.dir.path().join("s");
    let at = |time: &str, body: &Value| {
        let arguments = ["--profile", "claude", "--session", session.to_str().unwrap(), "--now", time];
        String::from_utf8(prepare(&machine, &arguments, &body.to_string()).0).unwrap()
    };
    let mut body = request(8, 20);
    body["messages"].as_array_mut().unwrap().push(json!({"role": "assistant", "content": "That is all."}));
    body["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "Thanks."}));
    let first = at("2026-01-01T12:00:00Z", &body);
    assert!(!first.contains("[Old tool result content cleared]"));
    body["messages"]
        .as_array_mut()
        .unwrap()
        .push(json!({"role": "assistant", "content": "You are welcome."}));
    body["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "One more thing."}));
    let later = at("2026-01-01T13:10:00Z", &body);
    assert_eq!(later.matches("[Old tool result content cleared]").count(), 3, "five of eight stay");
}

#[test]
fn p5_prepare_compacts_at_the_threshold_and_stays_valid() {
    let machine = Machine::empty();
    let body = request(60, 400).to_string();
    let (out, _) = prepare(&machine, &["--window", "60000"], &body);
    assert!(out.len() < body.len() / 3);
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("Never delete anything."));
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["messages"][0]["role"], "user");
    assert_eq!(value["max_tokens"], 8000);
}

#[test]
fn prepare_names_the_line_of_bad_input() {
    let machine = Machine::empty();
    let run = machine
        .command()
        .args(["prepare", "--wire", "chat"])
        .write_stdin("{\"messages\": [\n{]}")
        .assert()
        .failure();
    let error = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(error.contains("line 2"), "{error}");
}

#[test]
fn replay_compares_profiles_on_recorded_sessions() {
    let machine = Machine::with_samples();
    let mut arguments = vec!["replay".to_owned(), LONG.to_owned()];
    arguments.extend(transcripts().iter().map(|path| path.to_string_lossy().into_owned()));
    arguments.extend(["--window", "60000"].map(str::to_owned));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let report = machine.json(&arguments);
    let profiles = report["profiles"].as_array().unwrap();
    let names: Vec<&str> = profiles.iter().map(|p| p["profile"].as_str().unwrap()).collect();
    assert_eq!(names, ["off", "throughline", "claude", "codex"]);
    for profile in &profiles[1..] {
        assert_eq!(profile["violations"], 0);
        assert_eq!(profile["over_threshold"], 0, "{profile}");
        assert!(profile["relative_cost"].as_f64().unwrap() < 1.0, "{profile}");
        assert!(profile["compactions"].as_u64().unwrap() > 0);
    }
    let table = machine.text(&arguments);
    assert!(table.contains("everything") && table.contains("throughline"));
    let html = machine.dir.path().join("page.html");
    machine.run(&[&arguments[..], &["--html", html.to_str().unwrap()]].concat()).success();
    let page = std::fs::read_to_string(html).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("<svg") && !page.contains("http-equiv"));
}

#[test]
fn g_replay_checks_what_every_request_must_hold() {
    let machine = Machine::with_samples();
    let mut arguments = vec!["replay".to_owned(), LONG.to_owned()];
    arguments.extend(transcripts().iter().map(|path| path.to_string_lossy().into_owned()));
    arguments.extend(["--check", "--window", "20000"].map(str::to_owned));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let report = machine.json(&arguments);
    assert_eq!(report["passed"], true, "{report}");
    for profile in ["throughline", "claude", "codex"] {
        let sum = &report["profiles"][profile];
        assert_eq!(sum["violations"], 0, "{sum}");
        assert!(sum["rungs"]["compacted"].as_u64().unwrap() > 0, "{sum}");
    }
    let table = machine.text(&arguments);
    assert!(table.contains("client's own") && table.contains("Every request holds what it must."), "{table}");
}

#[test]
fn replay_names_what_it_can_not_read() {
    let machine = Machine::empty();
    std::fs::write(machine.dir.path().join("x.jsonl"), "hello\n").unwrap();
    let error = machine.error(&["replay", "x.jsonl"]);
    assert!(error.contains("x.jsonl") && error.contains("neither a ledger nor a transcript"), "{error}");
}

#[test]
fn p1_two_conversations_with_the_same_call_ids_do_not_share_a_file() {
    let machine = Machine::empty();
    let saved = |first: &str, line: &str| {
        let mut body = request(1, 8_000);
        body["messages"][0]["content"] = first.into();
        body["messages"][2]["content"][0]["content"] = line.repeat(9_000).into();
        let text =
            String::from_utf8(prepare(&machine, &["--profile", "claude"], &body.to_string()).0).unwrap();
        let path = text.split("saved to: ").nth(1).unwrap().split("\\n").next().unwrap().to_owned();
        (path, line.repeat(9_000))
    };
    for (path, text) in [saved("one", "first log\n"), saved("two", "other log\n")] {
        assert_eq!(std::fs::read_to_string(path).unwrap(), text);
    }
    // Both were written before either was read.
    let (one, text) = saved("one", "first log\n");
    saved("two", "other log\n");
    assert_eq!(std::fs::read_to_string(one).unwrap(), text);
}
