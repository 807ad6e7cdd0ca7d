//! `Bash`, `BashOutput` and `KillShell`: what the model gets, and what is left running.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail as tests do")]

use crate::bash_world::{Call, World, eventually, text};
use serde_json::{Value, json};
use std::sync::Mutex;
use throughline_agent::Access;
use throughline_agent::permissions::Mode;
use throughline_agent::tools::bash::{MOST, PASSED};
use throughline_model::CancelToken;

#[tokio::test]
async fn output_and_status_are_told() {
    let world = World::new();
    assert_eq!(world.bash("echo one; echo two >&2; echo three").await, "one\ntwo\nthree");
    assert_eq!(world.bash("true").await, "(it printed nothing)");
    assert_eq!(world.bash("echo no; exit 3").await, "no\n[exit status 3]");
    assert_eq!(world.bash("false").await, "(it printed nothing)\n[exit status 1]");
    assert_eq!(world.bash("kill -9 $$").await, "(it printed nothing)\n[killed by signal 9 (KILL)]");
    assert!(world.bash("no-such-command").await.ends_with("[exit status 127]"));
    let output = world.call("Bash", json!({"command": "exit 1"})).await;
    assert!(output.is_error);
    assert!(!world.call("Bash", json!({"command": "exit 0"})).await.is_error);
}

#[tokio::test]
async fn streams_are_told_in_the_order_in_which_they_were_written() {
    let world = World::new();
    let output = world.bash("for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done").await;
    let expected: Vec<String> = (1..10).map(|i| format!("out {i}\nerr {i}")).collect();
    assert_eq!(output, expected.join("\n"));
}

#[tokio::test]
async fn nothing_can_be_typed_and_each_call_begins_anew() {
    let world = World::new();
    assert_eq!(world.bash("cat; read -r x || echo no input").await, "no input");
    let here = world.workspace.cwd().display().to_string();
    assert_eq!(world.bash("mkdir sub; cd sub; X=1; basename $(pwd)").await, "sub");
    assert_eq!(world.bash("pwd; echo \"x$X\"").await, format!("{here}\nx"));
    assert_eq!(world.bash("[ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo no terminal").await, "no terminal");
}

#[tokio::test]
async fn colours_progress_bars_and_bytes_that_are_no_text_are_made_plain() {
    let world = World::new();
    assert_eq!(world.bash(r"printf '\033[1;31mred\033[0m\n10%%\r50%%\r100%%\n'").await, "red\n100%");
    assert_eq!(world.bash(r"printf 'a\377\376\000b\n'").await, "a\u{fffd}\u{fffd}b");
    let noise = world.bash("head -c 20000 /dev/urandom").await;
    assert!(noise.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
}

#[tokio::test]
async fn long_output_is_whole() {
    let world = World::new();
    let whole: String = (1..=100_000).map(|i| format!("{i}\n")).collect();
    assert_eq!(world.bash("seq 1 100000; exit 7").await, format!("{whole}[exit status 7]"));
    assert!(!world.path("session/output").exists(), "what the result holds is not kept twice");
}

#[tokio::test]
async fn output_beyond_any_window_is_cut_in_the_middle_and_kept_in_a_private_file() {
    let world = World::new();
    let output = world.bash("seq 1 1000000; exit 7").await;
    assert!(output.chars().count() <= (4 << 20) + 200, "{}", output.chars().count());
    assert!(
        output.starts_with("1\n2\n3\n") && output.ends_with("\n999999\n1000000\n[exit status 7]"),
        "{}",
        output.len()
    );
    let note = output.lines().find(|line| line.starts_with("[… ")).unwrap();
    let path = note.split("everything is in ").nth(1).unwrap().trim_end_matches(" …]");
    let whole: String = (1..=1_000_000).map(|i| format!("{i}\n")).collect();
    assert!(std::fs::read_to_string(path).unwrap() == whole);
    let mode =
        |path: &std::path::Path| std::os::unix::fs::MetadataExt::mode(&path.metadata().unwrap()) & 0o777;
    assert_eq!(mode(path.as_ref()), 0o600);
    assert_eq!(mode(std::path::Path::new(path).parent().unwrap()), 0o700);
    let missing: usize = note.split(' ').nth(1).unwrap().parse().unwrap();
    let shown =
        output.replace(&format!("\n{note}\n"), "").replace("[exit status 7]", "").trim_end().chars().count();
    // The last line end is not shown, and one at the cut is.
    assert!((shown + missing).abs_diff(whole.len()) <= 2, "{shown} {missing}");
}

#[tokio::test]
async fn a_hundred_megabytes_of_output_are_bounded() {
    let world = World::new();
    let line = "0123456789".repeat(10);
    let output = world.bash(&format!("yes {line} | head -c 100000000; echo; echo end")).await;
    assert!(output.chars().count() <= (4 << 20) + 200);
    assert!(output.ends_with("\nend"), "{}", &output[output.len() - 300..]);
    assert!(output.contains("the first 64 MB are in "));
    let file = world.path("session/output").read_dir().unwrap().next().unwrap().unwrap();
    assert_eq!(file.metadata().unwrap().len(), 64 << 20);
}

#[tokio::test]
async fn a_timeout_stops_the_whole_group() {
    let world = World::new();
    // Whoever is left would write within the five seconds for which it is waited below.
    let command =
        "(trap '' TERM; sleep 4; echo late > marker) & (sleep 4; echo late > marker) & echo begun; wait";
    let output = world.call("Bash", json!({"command": command, "timeout": 200})).await;
    assert!(output.is_error);
    let output = text(&output);
    assert!(output.contains("[timed out after 200 ms and was stopped"), "{output}");
    assert_eq!(world.bash("sleep 5; ls").await, "(it printed nothing)");
}

#[tokio::test]
async fn a_cancelled_call_stops_the_whole_group_and_tells_what_was_printed() {
    let world = World::new();
    let cancel = CancelToken::new();
    let heard = Mutex::new(Vec::new());
    let command = "echo begun; (sleep 3; echo late > marker) & sleep 600";
    let call = Call { cancel: cancel.clone(), heard: Some(&heard), ..Call::default() };
    let run = world.call_as("Bash", json!({"command": command}), call);
    let stop = async {
        eventually("it has begun", || !heard.lock().unwrap().is_empty()).await;
        cancel.cancel();
    };
    let (output, ()) = tokio::join!(run, stop);
    assert!(output.is_error);
    assert_eq!(text(&output), "begun\n[stopped before it ended]");
    assert_eq!(world.bash("sleep 4; ls").await, "(it printed nothing)");
}

#[tokio::test]
async fn a_dropped_call_kills_the_group() {
    let world = World::new();
    let heard = Mutex::new(Vec::new());
    let call = Call { heard: Some(&heard), ..Call::default() };
    let run = world.call_as("Bash", json!({"command": "echo begun; sleep 3; echo late > marker"}), call);
    tokio::select! {
        _ = run => panic!("it ended"),
        () = eventually("it has begun", || !heard.lock().unwrap().is_empty()) => {}
    }
    assert_eq!(world.bash("sleep 4; ls").await, "(it printed nothing)");
}

#[tokio::test]
async fn what_is_left_running_does_not_hang_the_call_and_is_stopped() {
    let world = World::new();
    let output = world.bash("(sleep 3; echo late > marker) & echo done").await;
    assert!(output.starts_with("done\n[what it left running was stopped"), "{output}");
    // It has a session of its own and holds the pipe: it can't be stopped, but nobody waits for it.
    let output = world.bash("setsid sleep 20 & echo done").await;
    assert!(output.starts_with("done"), "{output}");
    assert_eq!(world.bash("sleep 4; ls").await, "(it printed nothing)");
}

#[tokio::test]
async fn a_command_that_closes_its_output_is_waited_for() {
    let world = World::new();
    assert_eq!(
        world.bash("echo a; exec >&- 2>&-; sleep 1; echo b > b.txt; exit 4").await,
        "a\n[exit status 4]"
    );
    assert_eq!(world.read("ws/b.txt").as_deref(), Some("b\n"));
}

#[tokio::test]
async fn secrets_of_the_agent_are_not_in_its_environment() {
    let world = World::with(|_, (_, env)| {
        for name in ["ANTHROPIC_API_KEY", "OPENAI_KEY", "GH_PAT", "DATABASE_URL", "MY_SECRET_X", "NPM_TOKEN"]
        {
            env.base.insert(name.into(), "hunter2".into());
        }
        env.base.insert("CARGO_HOME".into(), "plain".into());
        env.base.insert("BASH_ENV".into(), "/nowhere".into());
        env.allowed.push("NPM_TOKEN".to_owned());
    });
    assert_eq!(world.bash("env | grep -c hunter2; echo $NPM_TOKEN $CARGO_HOME").await, "1\nhunter2 plain");
    let output = world
        .bash("echo $PAGER $GIT_PAGER $EDITOR $TERM $GIT_TERMINAL_PROMPT; [ -d $TMPDIR ] && echo tmp")
        .await;
    assert_eq!(output, "cat cat false dumb 0\ntmp");
    assert!(PASSED.contains(&"PATH"));
}

#[tokio::test]
async fn the_last_line_is_told_while_it_runs() {
    let world = World::new();
    let heard = Mutex::new(Vec::new());
    let call = Call { heard: Some(&heard), ..Call::default() };
    let input = json!({"command": "echo first; echo; sleep 0.5; echo 'the  last' | cat"});
    world.call_as("Bash", input, call).await;
    assert_eq!(heard.into_inner().unwrap(), ["first", "the last"]);
}

#[tokio::test]
async fn people_are_not_told_every_line_of_many() {
    let world = World::new();
    let heard = Mutex::new(Vec::new());
    let call = Call { heard: Some(&heard), ..Call::default() };
    world.call_as("Bash", json!({"command": "for i in $(seq 20000); do echo line $i; done"}), call).await;
    let heard = heard.into_inner().unwrap();
    assert!(heard.iter().all(|line| line.starts_with("line ")));
    // Two hundred lines, then one for four kilobytes.
    assert!((1..=200 + 240_000 / 4096).contains(&heard.len()), "{}", heard.len());
}

#[tokio::test]
async fn wrong_input_is_answered_with_what_is_right() {
    let world = World::new();
    let wrong = [
        (json!({}), "command is missing"),
        (json!({"command": 5}), "command is missing"),
        (json!({"command": "  "}), "command is empty"),
        (json!({"command": "a\u{0}b"}), "NUL"),
        (json!({"command": "ls", "timeout": "soon"}), "timeout is not"),
        (json!({"command": "ls", "timeout": -5}), "timeout is not"),
        (json!({"command": "ls", "run_in_background": 1}), "run_in_background is neither"),
        (Value::Null, "command is missing"),
    ];
    for (input, says) in wrong {
        let refused = world.tool("Bash").access(&input, &world.workspace).unwrap_err();
        assert!(refused.contains(says), "{refused}");
        let output = world.call("Bash", input).await;
        assert!(output.is_error && text(&output).contains(says), "{}", text(&output));
    }
    let input = json!({"command": "ls -l", "timeout": "99999999", "unsandboxed": "true"});
    let cwd = world.workspace.cwd().to_owned();
    let access = Access::Command { command: "ls -l".to_owned(), cwd, unsandboxed: true };
    assert_eq!(world.tool("Bash").access(&input, &world.workspace), Ok(access));
    assert_eq!(world.tool("Bash").summary(&input), "Bash ls -l");
}

#[tokio::test]
async fn a_command_in_the_background_is_asked_and_stopped_by_its_id() {
    let world = World::new();
    let command = "echo one; echo two; printf half; while [ ! -e go ]; do sleep 0.02; done; echo; echo three; sleep 600";
    let input = json!({"command": command, "run_in_background": true, "description": "Counts"});
    let begun = world.call("Bash", input).await;
    assert!(text(&begun).contains("bash_1"), "{}", text(&begun));
    let running = world.shell.tasks().running();
    assert_eq!(running.len(), 1);
    assert_eq!((running[0].id.as_str(), running[0].description.as_deref()), ("bash_1", Some("Counts")));
    let log = running[0].output.clone().unwrap();
    let has = |word: &str| std::fs::read_to_string(&log).unwrap().contains(word);

    eventually("two lines are there", || has("two")).await;
    let first = world.call("BashOutput", json!({"id": "bash_1"})).await;
    assert!(text(&first).starts_with("one\ntwo\n"), "{}", text(&first));
    assert!(text(&first).ends_with("[still running]"), "{}", text(&first));
    world.write("ws/go", "");
    eventually("the third is there", || has("three")).await;
    let second = world.call("BashOutput", json!({"id": "bash_1", "filter": "^th"})).await;
    assert_eq!(text(&second), "three\n[still running]");
    let third = world.call("BashOutput", json!({"bash_id": "bash_1"})).await;
    assert_eq!(text(&third), "(nothing new)\n[still running]");

    let stopped = world.call("KillShell", json!({"id": "bash_1"})).await;
    assert!(text(&stopped).starts_with("bash_1 is being stopped"), "{}", text(&stopped));
    eventually("it has stopped", || world.shell.tasks().running().is_empty()).await;
    assert_eq!(world.shell.tasks().take_finished(), []);
    let last = world.call("BashOutput", json!({"id": "bash_1"})).await;
    assert_eq!(text(&last), "(nothing new)\n[stopped before it ended]");
    let again = world.call("KillShell", json!({"id": "bash_1"})).await;
    assert!(text(&again).contains("had ended already"), "{}", text(&again));
}

#[tokio::test]
async fn the_end_of_a_command_in_the_background_is_told_once() {
    let world = World::new();
    for command in ["echo fine", "echo bad; exit 5"] {
        world.call("Bash", json!({"command": command, "run_in_background": true})).await;
    }
    eventually("both have ended", || world.shell.tasks().running().is_empty()).await;
    let ended = world.shell.tasks().take_finished();
    let told: Vec<_> = ended
        .iter()
        .map(|end| (end.id.as_str(), end.how.as_str(), end.failed, end.last_line.as_deref()))
        .collect();
    assert_eq!(
        told,
        [("bash_1", "ended well", false, Some("fine")), ("bash_2", "exit status 5", true, Some("bad"))]
    );
    assert_eq!(world.shell.tasks().take_finished(), []);
    assert_eq!(text(&world.call("BashOutput", json!({"id": "bash_2"})).await), "bad\n[exit status 5]");
}

#[tokio::test]
async fn so_many_commands_run_in_the_background_and_no_more() {
    let world = World::new();
    let sleep = json!({"command": "sleep 600", "run_in_background": true});
    for _ in 0..MOST {
        assert!(!world.call("Bash", sleep.clone()).await.is_error);
    }
    let refused = world.call("Bash", sleep).await;
    assert!(refused.is_error && text(&refused).contains("KillShell"), "{}", text(&refused));
    assert_eq!(world.shell.tasks().stop_all(), MOST);
    eventually("all have stopped", || world.shell.tasks().running().is_empty()).await;
}

#[tokio::test]
async fn dropping_the_registry_kills_what_runs() {
    let mut world = World::new();
    let command = "touch begun; trap '' TERM; sleep 3; echo late > marker";
    world.call("Bash", json!({"command": command, "run_in_background": true})).await;
    eventually("it has begun", || world.path("ws/begun").exists()).await;
    let other = World::new();
    let root = std::mem::replace(&mut world.root, tempfile::tempdir().unwrap());
    drop(world);
    other.bash("sleep 5").await;
    assert!(!root.path().join("ws/marker").exists());
}

#[tokio::test]
async fn unknown_ids_and_filters_are_answered() {
    let world = World::new();
    let none = world.call("BashOutput", json!({"id": "bash_9"})).await;
    assert!(none.is_error && text(&none).contains("there are none"), "{}", text(&none));
    world.call("Bash", json!({"command": "true", "run_in_background": true})).await;
    let unknown = world.call("KillShell", json!({"id": "bash_9"})).await;
    assert!(unknown.is_error && text(&unknown).contains("there are bash_1"), "{}", text(&unknown));
    let wrong = world.call("BashOutput", json!({"id": "bash_1", "filter": "("})).await;
    assert!(wrong.is_error && text(&wrong).contains("filter is not"), "{}", text(&wrong));
    assert!(world.call("KillShell", json!({})).await.is_error);
}

#[tokio::test]
async fn commands_that_branch_without_end_are_stopped_with_their_group() {
    let world = World::new();
    // It grows by one each round, so that the test machine bears it.
    let command = "f() { sleep 30 & sleep 0.01; f; }; f";
    let output =
        world.call_as("Bash", json!({"command": command, "timeout": 500}), Call::of(Mode::Full)).await;
    assert!(text(&output).contains("[timed out"), "{}", text(&output));
}
