//! Hooks at the moments of a turn.

use crate::agent_world::{Room, World, call, last_result, scaffold, shape, times, wait_for, words};
use serde_json::json;
use throughline_agent::agent::{AgentError, EndReason};
use throughline_agent::permissions::{Approval, Mode};
use throughline_core::Wire;
use throughline_engine::session::SessionError;
use throughline_testkit::{Answer, Gate, Playlist, Script};

fn hooked(event: &str, shell: &str, script: impl Script) -> World {
    let config = format!("[[hooks.{event}]]\nshell = '''{shell}'''\n");
    World::new(Wire::Anthropic, script).config(&config)
}

fn write() -> Answer {
    call("Write", json!({"file_path": "a.txt", "content": "x"}))
}

fn permission(word: &str) -> String {
    let said = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": word, "permissionDecisionReason": "house rules"}});
    format!("echo '{said}'")
}

#[tokio::test]
async fn a_hook_can_refuse_a_call_that_the_mode_permits() {
    let world = hooked(
        "PreToolUse",
        "echo 'not on a Friday' >&2; exit 2",
        Playlist::new().then(write()).then("Well."),
    )
    .mode(Mode::Full);
    let mut agent = world.begin().await;
    Room::default().turn(&mut agent, "go").await.unwrap();
    assert!(world.read("a.txt").is_none());
    assert!(last_result(&world.server.last().unwrap()).contains("not on a Friday"));
}

#[tokio::test]
async fn a_hook_can_have_the_user_asked_and_can_permit_what_would_be_asked() {
    let world = hooked("PreToolUse", &permission("ask"), Playlist::new().then(write()).then("Well."))
        .mode(Mode::Full);
    let mut agent = world.begin().await;
    let room = Room::with([Approval::Refuse { why: None }]);
    room.turn(&mut agent, "go").await.unwrap();
    assert_eq!(room.person.asked().len(), 1);
    assert!(world.read("a.txt").is_none());

    let world = hooked("PreToolUse", &permission("allow"), Playlist::new().then(write()).then("Well."));
    let mut agent = world.begin().await;
    let room = Room::default();
    room.turn(&mut agent, "go").await.unwrap();
    assert!(room.person.asked().is_empty() && world.read("a.txt").is_some());
}

#[tokio::test]
async fn a_hook_that_permits_does_not_permit_what_a_rule_or_plan_mode_denies() {
    let script = || Playlist::new().then(write()).then("Well.");
    let config = format!(
        "[permissions]\ndeny = [\"Edit\"]\n[[hooks.PreToolUse]]\nshell = '''{}'''\n",
        permission("allow")
    );
    let ruled = World::new(Wire::Anthropic, script()).config(&config);
    let planned = hooked("PreToolUse", &permission("allow"), script()).mode(Mode::Plan);
    for world in [ruled, planned] {
        let mut agent = world.begin().await;
        Room::default().turn(&mut agent, "go").await.unwrap();
        assert!(world.read("a.txt").is_none());
    }
}

#[tokio::test]
async fn what_hooks_say_about_a_call_is_told_behind_all_results() {
    for event in ["PreToolUse", "PostToolUse"] {
        let said = json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": "the linter is unhappy"}});
        let two =
            Answer::empty().call("Glob", json!({"pattern": "*"})).call("Read", json!({"file_path": "a.txt"}));
        let world = hooked(event, &format!("echo '{said}'"), Playlist::new().then(two).then("I see."));
        world.write("a.txt", "x\n");
        let mut agent = world.begin().await;
        Room::default().turn(&mut agent, "go").await.unwrap();
        let last = world.server.last().unwrap();
        assert_eq!(times(&scaffold(&last), "the linter is unhappy"), 2, "{event}: {}", shape(&last));
        assert_eq!(words(&last), ["go"], "they are not the user's words");
        world.all_valid();
    }
}

#[tokio::test]
async fn a_hook_can_stop_the_turn_at_a_call() {
    let two = Answer::empty()
        .call("Read", json!({"file_path": "a.txt"}))
        .call("Write", json!({"file_path": "b.txt", "content": "x"}));
    let stop = json!({"continue": false, "stopReason": "the budget is spent"});
    let world = hooked("PreToolUse", &format!("echo '{stop}'"), Playlist::new().then(two).then("Yes."))
        .mode(Mode::Full);
    let mut agent = world.begin().await;
    let room = Room::default();
    let end = room.turn(&mut agent, "go").await.unwrap();
    assert_eq!(end.why, EndReason::Halted);
    assert!(world.read("b.txt").is_none());
    room.turn(&mut agent, "and now?").await.unwrap();
    assert!(shape(&world.server.last().unwrap()).contains("the budget is spent"));
    world.all_valid();
}

#[tokio::test]
async fn a_hook_can_make_a_turn_go_on_but_not_for_ever() {
    let world = hooked("Stop", "echo 'the tests have not run' >&2; exit 2", Playlist::new().forever("Done."));
    let mut agent = world.begin().await;
    let end = Room::default().turn(&mut agent, "go").await.unwrap();
    assert_eq!((end.why, end.steps), (EndReason::Done, 4));
    let last = world.server.last().unwrap();
    assert_eq!(times(&scaffold(&last), "the tests have not run"), 3);
    assert_eq!(words(&last), ["go"]);
    world.all_valid();
}

#[tokio::test]
async fn a_hook_can_refuse_what_the_user_says_and_nothing_is_recorded() {
    let shell = "if grep -q secret; then echo 'no secrets here' >&2; exit 2; fi";
    let world = hooked("UserPromptSubmit", shell, Playlist::new().then("Hello."));
    let mut agent = world.begin().await;
    let room = Room::default();
    let refused = room.turn(&mut agent, "the secret is 7").await;
    assert!(
        matches!(refused, Err(AgentError::Session(SessionError::Blocked(why))) if why.contains("no secrets here"))
    );
    room.turn(&mut agent, "hello").await.unwrap();
    assert_eq!(words(&world.server.last().unwrap()), ["hello"]);
    world.all_valid();
}

#[tokio::test]
async fn a_hook_that_refuses_what_steers_does_not_end_the_turn() {
    let gate = Gate::new();
    let shell = "if grep -q secret; then echo 'no secrets here' >&2; exit 2; fi";
    let script = Playlist::new().then(call("Glob", json!({"pattern": "*"})).at(&gate)).then("Done.");
    let world = hooked("UserPromptSubmit", shell, script);
    let mut agent = world.begin().await;
    let room = Room::default();
    let beside = async {
        wait_for("the request", || world.server.count() == 1).await;
        room.inbox.steer("the secret is 7");
        room.inbox.steer("only text files");
        gate.open();
    };
    let end = room.turn_while(&mut agent, "list", beside).await.unwrap();
    assert_eq!(end.why, EndReason::Done);
    assert!(room.ear.warnings().contains("no secrets here"));
    assert_eq!(words(&world.server.last().unwrap()), ["list", "only text files"]);
}

#[tokio::test]
async fn a_broken_hook_stops_nothing_and_people_are_told() {
    let world = hooked("PreToolUse", "exit 7", Playlist::new().then(write()).then("Done.")).mode(Mode::Full);
    let mut agent = world.begin().await;
    let room = Room::default();
    room.turn(&mut agent, "go").await.unwrap();
    assert!(world.read("a.txt").is_some());
    assert!(room.ear.warnings().contains("PreToolUse hook 1"), "{}", room.ear.warnings());
}
