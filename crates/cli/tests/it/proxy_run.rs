//! `run`: a client as usual, with the proxy beneath it.

use crate::proxy_kit::{KEY, Serving, Told, World, files, kill};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

/// Where a client was told to ask is a server of ours, which passed on to the provider.
fn is_ours(world: &World, base: &str) -> bool {
    base.starts_with("http://127.0.0.1:") && !base.starts_with(&world.provider.url())
}

#[test]
fn any_program_is_led_by_its_variables_and_ends_as_it_ends() {
    let world = World::new();
    let url = world.provider.url();
    let mut command = world.command(&["run", "--", "agent", "--flag", "two words"]);
    let output = command
        .env("ANTHROPIC_BASE_URL", &url)
        .env("OPENAI_API_BASE", format!("{url}/v1"))
        .env("CLIENT_EXIT", "7")
        .output()
        .unwrap();
    let told = Told::of(output);
    assert_eq!(told.code, Some(7), "{}", told.err);
    assert!(told.out.contains("said by the client"), "{}", told.out);
    let report = world.report();
    assert_eq!(report.words, ["--flag", "two words"]);
    assert_eq!(report.statuses, [200, 200]);
    assert!(is_ours(&world, &report.variables["ANTHROPIC_BASE_URL"]));
    assert_eq!(report.variables["OPENAI_BASE_URL"], report.variables["OPENAI_API_BASE"]);
    let asked: Vec<String> = world.provider.requests().iter().map(|seen| seen.path.clone()).collect();
    assert_eq!(asked, ["/v1/messages", "/v1/responses"]);
    assert!(told.err.contains("2 requests"), "{}", told.err);
    assert!(!told.out.contains("2 requests"), "standard output is the client's");
    assert!(!format!("{}{}", told.out, told.err).contains(KEY));
    for folder in ["throughline/proxy/servers", "throughline/proxy/run"] {
        assert!(files(&world.path(folder)).is_empty(), "nothing of the run is left there");
    }
}

#[test]
fn a_summary_is_for_programs_too_and_can_be_left_out() {
    let world = World::new();
    let (url, file) = (world.provider.url(), world.path("summary.json"));
    let arguments =
        ["run", "--quiet", "--summary", file.to_str().unwrap(), "--anthropic", &url, "--", "claude"];
    let told = world.run(&arguments);
    assert_eq!((told.code, told.err.as_str()), (Some(0), ""));
    let summary: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(summary["figures"]["requests"], 1, "{summary}");
    assert_eq!(summary["sessions"].as_array().unwrap().len(), 1);
    let told = world.run(&["--json", "run", "--anthropic", &url, "--", "claude"]);
    let summary: Value = serde_json::from_str(told.err.trim()).unwrap();
    assert_eq!(summary["exit_status"], 0);
}

#[test]
fn claude_goes_where_its_settings_say_and_they_are_not_touched() {
    let world = World::new();
    let user = json!({"env": {"ANTHROPIC_BASE_URL": "https://nowhere.invalid", "OTHER": "1"}});
    let project = json!({"env": {"ANTHROPIC_BASE_URL": world.provider.url()}, "model": "opus"});
    world.write(".claude/settings.json", &user.to_string());
    world.write("work/.claude/settings.local.json", &project.to_string());
    let before = (files(&world.path(".claude")), files(&world.path("work")));
    let mut command = world.command(&["run", "--", "claude", "-p", "hello"]);
    let told = Told::of(command.current_dir(world.path("work")).output().unwrap());
    assert_eq!(told.code, Some(0), "{}", told.err);
    let report = world.report();
    // Its own settings would win over a variable: ours are given as settings, too.
    let ours = report.settings.unwrap()["env"]["ANTHROPIC_BASE_URL"].as_str().unwrap().to_owned();
    assert!(is_ours(&world, &ours) && ours == report.variables["ANTHROPIC_BASE_URL"]);
    assert_eq!(&report.words[2..], ["-p", "hello"]);
    assert_eq!((report.statuses, world.provider.count()), (vec![200], 1));
    assert_eq!(before, (files(&world.path(".claude")), files(&world.path("work"))));
    assert!(
        !report.variables.contains_key("_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"),
        "it is not Anthropic"
    );
}

#[test]
fn settings_that_claude_is_given_stay_with_ours_among_them() {
    let world = World::new();
    world.write(
        "mine.json",
        &json!({"env": {"ANTHROPIC_BASE_URL": world.provider.url()}, "model": "x"}).to_string(),
    );
    let told = world.run(&["run", "--", "claude", "--settings", "mine.json", "-p", "hello"]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    let report = world.report();
    let settings = report.settings.unwrap();
    assert_eq!(settings["model"], "x");
    assert!(is_ours(&world, settings["env"]["ANTHROPIC_BASE_URL"].as_str().unwrap()));
    assert_eq!(world.provider.count(), 1);
}

#[test]
fn the_window_of_claude_is_that_of_anthropic_only_if_anthropic_answers() {
    let world = World::new();
    // Nothing is asked: the address is the real one.
    let told = Told::of(world.command(&["run", "--", "claude"]).env("CLIENT_ASKS", "0").output().unwrap());
    assert_eq!(told.code, Some(0), "{}", told.err);
    let variables = world.report().variables;
    assert_eq!(variables["_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"], "1");
    assert!(told.err.contains("did not ask by way of Throughline"), "{}", told.err);
}

#[test]
fn codex_is_led_by_an_override_and_its_files_are_not_touched() {
    let world = World::new();
    let url = world.provider.url();
    world.write(
        ".codex/config.toml",
        &format!(
            "model_provider = \"mine\"\n[model_providers.mine]\nname = \"Mine\"\nbase_url = \"{url}/v1\"\n"
        ),
    );
    let before = files(&world.path(".codex"));
    let told = world.run(&["run", "--", "codex", "exec", "hello"]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    let report = world.report();
    assert_eq!(report.words[0], "-c");
    assert!(
        report.words[1].starts_with("model_providers.mine.base_url=\"http://127.0.0.1:"),
        "{:?}",
        report.words
    );
    assert_eq!(&report.words[2..], ["exec", "hello"]);
    assert_eq!((report.statuses, world.provider.count()), (vec![200], 1));
    // By the built-in provider, whose address has a key of its own, in a profile.
    world.write(
        ".codex/away.config.toml",
        &format!("model_provider = \"openai\"\nopenai_base_url = \"{url}\""),
    );
    let told = world.run(&["run", "--", "codex", "--profile", "away", "exec", "hello"]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert!(world.report().words[1].starts_with("openai_base_url=\"http://127.0.0.1:"));
    assert_eq!(world.provider.count(), 2);
    std::fs::remove_file(world.path(".codex/away.config.toml")).unwrap();
    assert_eq!(before, files(&world.path(".codex")));
}

#[test]
fn what_can_not_be_taken_over_is_refused_before_anything_starts() {
    let world = World::new();
    let bedrock =
        world.command(&["run", "--", "claude"]).env("CLAUDE_CODE_USE_BEDROCK", "1").output().unwrap();
    let told = Told::of(bedrock);
    assert_eq!(told.code, Some(1));
    assert!(
        told.err.contains("Amazon Bedrock") && told.err.contains("unset CLAUDE_CODE_USE_BEDROCK"),
        "{}",
        told.err
    );
    world.write(".claude/settings.json", &json!({"env": {"CLAUDE_CODE_USE_VERTEX": "true"}}).to_string());
    let told = world.run(&["run", "--", "claude"]);
    assert!(told.err.contains("Vertex") && told.err.contains("settings.json"), "{}", told.err);
    let told = world.run(&["run", "--", "codex", "--oss"]);
    assert!(told.code == Some(1) && told.err.contains("--oss"), "{}", told.err);
    world.write(".codex/config.toml", "model_provider = \"unknown\"");
    let told = world.run(&["run", "--", "codex"]);
    assert!(told.err.contains("does not describe it"), "{}", told.err);
    world.write(".codex/config.toml", "model_provider = ");
    let told = world.run(&["run", "--", "codex"]);
    assert!(told.err.contains("cannot read") && told.err.contains("config.toml"), "{}", told.err);
    assert!(!world.path("report.json").exists(), "no client was started");
}

#[test]
fn a_program_that_is_not_there_is_said_not_to_be() {
    let world = World::new();
    let told = world.run(&["run", "--", "no-such-program"]);
    assert_eq!(told.code, Some(127));
    assert!(told.err.contains("cannot start no-such-program"), "{}", told.err);
    assert_eq!(world.run(&["run"]).code, Some(2));
}

#[test]
fn input_output_and_the_way_it_died_are_the_programs_own() {
    let world = World::new();
    let mut child = world
        .command(&["run", "--quiet", "--", "sh", "-c", "cat; echo oops >&2; kill -9 $$"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"through\n").unwrap();
    let told = Told::of(child.wait_with_output().unwrap());
    assert_eq!((told.code, told.out.as_str(), told.err.as_str()), (Some(137), "through\n", "oops\n"));
}

#[test]
fn signals_reach_the_program_which_decides_what_they_mean() {
    let world = World::new();
    for signal in ["TERM", "HUP", "INT"] {
        let script = format!("trap 'exit 42' {signal}; echo ready; while :; do sleep 0.05; done");
        let mut child = world
            .command(&["run", "--quiet", "--", "sh", "-c", &script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        kill(child.id(), signal);
        assert_eq!(child.wait().unwrap().code(), Some(42), "{signal}");
    }
}

#[test]
fn a_server_that_runs_already_is_used_when_asked_for_or_when_the_client_is_led_there() {
    let world = World::new();
    let told = world.run(&["run", "--attach", "--", "agent"]);
    assert!(told.code == Some(1) && told.err.contains("no server runs"), "{}", told.err);
    let serving = Serving::start(&world, &[]);
    let told = world.run(&["run", "--attach", "--", "agent"]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert_eq!(world.report().variables["ANTHROPIC_BASE_URL"], serving.address());
    assert!(told.err.contains("the server goes on"), "{}", told.err);
    let mut command = world.command(&["run", "--", "agent"]);
    let told = Told::of(command.env("ANTHROPIC_BASE_URL", serving.address()).output().unwrap());
    assert_eq!(world.report().variables["ANTHROPIC_BASE_URL"], serving.address());
    assert!(told.err.contains("that one is used"), "{}", told.err);
    assert_eq!(world.provider.count(), 4);
    let mut command = world.command(&["run", "--attach", "--", "agent"]);
    let told = Told::of(command.env("OPENAI_BASE_URL", "https://elsewhere.invalid/v1").output().unwrap());
    assert!(told.code == Some(1) && told.err.contains("leave --attach away"), "{}", told.err);
}
