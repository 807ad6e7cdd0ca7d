//! Sub-agents: a session of their own, fewer tools, the same rules.

use crate::agent_world::{Room, World, call, last_result, results, scaffold, shape, wait_for, words};
use serde_json::json;
use throughline_agent::Event;
use throughline_agent::agent::EndReason;
use throughline_agent::permissions::{Approval, Mode};
use throughline_core::stages::OwnTools;
use throughline_core::{Usage, Wire};
use throughline_ledger::list;
use throughline_testkit::{Answer, Fault, Gate, Playbook, Playlist, Reply, Seen};

const WIRES: [Wire; 2] = [Wire::Anthropic, Wire::Responses];

fn is_sub(seen: &Seen) -> bool {
    words(seen).first().is_some_and(|first| first.starts_with("Sub:"))
}

/// The parent begins a sub-agent and ends; what the sub-agent does is given.
fn with_sub(script: impl throughline_testkit::Script) -> Playbook {
    Playbook::new()
        .when(is_sub, script)
        .once(|_| true, call("Task", json!({"description": "a look", "prompt": "Sub: look at it"})))
        .otherwise("Done.")
}

fn usage() -> Usage {
    Usage { input: 1000, output: 100, ..Usage::default() }
}

#[tokio::test]
async fn a_sub_agent_has_a_session_of_its_own_and_its_spending_is_the_parents() {
    for wire in WIRES {
        let sub = Playlist::new()
            .then(call("Read", json!({"file_path": "a.txt"})).usage(usage()))
            .then(Answer::text("It says hello.").usage(usage()));
        let mut world = World::new(wire, with_sub(sub));
        world.own_tools = OwnTools { snip: true, recall: true };
        world.write("a.txt", "hello\n");
        world.write("AGENTS.md", "Indent with tabs.\n");
        let mut agent = world.begin().await;
        let room = Room::default();
        let end = room.turn(&mut agent, "have it looked at").await.unwrap();
        assert_eq!(end.why, EndReason::Done);
        let last = world.server.last().unwrap();
        assert_eq!(last_result(&last), "It says hello.");

        let sessions = list(&world.home()).unwrap();
        let subs: Vec<_> = sessions.iter().filter(|listed| listed.card.parent_session.is_some()).collect();
        assert_eq!((sessions.len(), subs.len()), (2, 1));
        assert_eq!(subs[0].card.parent_session.as_ref(), Some(agent.session().id()));
        assert_eq!(agent.spending().requests, 4, "two of its own, two of the sub-agent's");
        assert!(agent.spending().usage.output >= 200);

        let seen: Vec<Seen> = world.requests().into_iter().filter(is_sub).collect();
        let tools = seen[0].tools().iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for name in ["Memory", "Task", "TodoWrite", "Snip", "ExitPlanMode"] {
            assert!(!tools.contains(&name.to_owned()), "{name}: {tools:?}");
            assert!(last.tools().contains(&name), "{name}: {:?}", last.tools());
        }
        assert!(tools.contains(&"Read".to_owned()) && tools.contains(&"Recall".to_owned()), "{tools:?}");
        let told = scaffold(&seen[0]);
        assert!(told.contains("You are a sub-agent") && told.contains("Indent with tabs."), "{told}");
        assert_eq!(words(&seen[0]), ["Sub: look at it"], "it knows nothing else");
        assert!(room.ear.events().iter().any(|event| matches!(event, Event::Sub { .. })));

        let ledger = agent.session().path().to_owned();
        let spent = agent.spending();
        agent.close("test").await.unwrap();
        let agent = world.resume(&ledger).await;
        assert_eq!(agent.spending().requests, spent.requests, "and after a resume");
        world.all_valid();
    }
}

#[tokio::test]
async fn a_sub_agents_questions_reach_the_same_person() {
    let sub = || {
        Playlist::new().then(call("Write", json!({"file_path": "a.txt", "content": "x"}))).forever("Tried.")
    };
    for (answer, is_there) in
        [(Approval::Once, true), (Approval::Refuse { why: Some("not you".to_owned()) }, false)]
    {
        let world = World::new(Wire::Anthropic, with_sub(sub()));
        let mut agent = world.begin().await;
        let room = Room::with([answer]);
        room.turn(&mut agent, "go").await.unwrap();
        assert_eq!(room.person.asked().len(), 1);
        assert_eq!(world.read("a.txt").is_some(), is_there);
        world.all_valid();
    }
}

#[tokio::test]
async fn stopping_at_a_sub_agents_question_stops_the_turn() {
    let sub =
        Playlist::new().then(call("Write", json!({"file_path": "a.txt", "content": "x"}))).forever("Tried.");
    let world = World::new(Wire::Anthropic, with_sub(sub));
    let mut agent = world.begin().await;
    let room = Room::with([Approval::Stop]);
    let end = room.turn(&mut agent, "go").await.unwrap();
    assert!(world.read("a.txt").is_none());
    assert_eq!(end.why, EndReason::Interrupted, "who says stop means all of it");
    room.turn(&mut agent, "go on").await.unwrap();
    world.all_valid();
}

#[tokio::test]
async fn an_interrupt_stops_a_sub_agent_and_what_it_runs() {
    let sub = Playlist::new()
        .then(call("Bash", json!({"command": "while true; do echo x > tick.txt; sleep 0.05; done"})))
        .forever("Never.");
    let world = World::new(Wire::Anthropic, with_sub(sub)).mode(Mode::Full);
    let mut agent = world.begin().await;
    let room = Room::default();
    let beside = async {
        wait_for("the command", || world.path("tick.txt").exists()).await;
        room.interrupt();
    };
    let end = room.turn_while(&mut agent, "go", beside).await.unwrap();
    assert_eq!(end.why, EndReason::Interrupted);
    std::fs::remove_file(world.path("tick.txt")).unwrap();
    let count = world.server.count();
    room.turn(&mut agent, "go on").await.unwrap();
    assert_eq!(world.server.count(), count + 1);
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert!(!world.path("tick.txt").exists(), "the command runs on");
    world.all_valid();
}

#[tokio::test]
async fn a_sub_agent_that_fails_is_a_failed_call() {
    for wire in WIRES {
        let world = World::new(wire, with_sub(Fault::ServerError));
        let mut agent = world.begin().await;
        let end = Room::default().turn(&mut agent, "go").await.unwrap();
        assert_eq!(end.why, EndReason::Done);
        let last = world.server.last().unwrap();
        assert!(last_result(&last).contains("the sub-agent failed"), "{}", shape(&last));
        world.all_valid();
    }
}

#[tokio::test]
async fn a_sub_agent_in_plan_mode_changes_nothing() {
    let sub =
        Playlist::new().then(call("Write", json!({"file_path": "a.txt", "content": "x"}))).forever("Tried.");
    let world = World::new(Wire::Anthropic, with_sub(sub)).mode(Mode::Plan);
    let mut agent = world.begin().await;
    Room::with([Approval::Once]).turn(&mut agent, "go").await.unwrap();
    assert!(world.read("a.txt").is_none());
}

#[tokio::test]
async fn what_a_sub_agent_changed_goes_back_with_the_turn_and_what_it_read_is_not_read_by_the_parent() {
    let sub = Playlist::new()
        .then(call("Read", json!({"file_path": "a.txt"})))
        .then(call("Write", json!({"file_path": "a.txt", "content": "of the sub-agent\n"})))
        .forever("Done.");
    let edit = call("Edit", json!({"file_path": "b.txt", "old_string": "zero", "new_string": "one"}));
    let script = Playbook::new()
        .when(is_sub, sub)
        .once(|_| true, call("Task", json!({"description": "a look", "prompt": "Sub: look at it"})))
        .once(|_| true, edit)
        .otherwise("Done.");
    let world = World::new(Wire::Anthropic, script).mode(Mode::AcceptEdits);
    world.write("a.txt", "zero\n");
    world.write("b.txt", "zero\n");
    let mut agent = world.begin().await;
    let room = Room::default();
    room.turn(&mut agent, "go").await.unwrap();
    assert_eq!(world.read("a.txt").unwrap(), "of the sub-agent\n");
    assert_eq!(world.read("b.txt").unwrap(), "zero\n", "nobody has read it");
    let first = agent.session().user_messages()[0].id.clone();
    agent.rewind(&first, true).unwrap();
    assert_eq!(world.read("a.txt").unwrap(), "zero\n");
}

#[tokio::test]
async fn what_ended_in_the_background_is_told_the_one_who_began_it() {
    let gate = Gate::new();
    let held = gate.clone();
    let mut asked = 0;
    let script = move |seen: &Seen| -> Reply {
        if is_sub(seen) {
            return match results(seen).len() {
                0 => call("Glob", json!({"pattern": "*"})).at(&held).into(),
                _ => "Seen.".into(),
            };
        }
        asked += 1;
        match asked {
            1 => call("Bash", json!({"command": "echo the end is near", "run_in_background": true})).into(),
            2 => call("Task", json!({"description": "a look", "prompt": "Sub: look at it"})).into(),
            _ => "Done.".into(),
        }
    };
    let world = World::new(Wire::Anthropic, script).mode(Mode::Full);
    let mut agent = world.begin().await;
    let tasks = agent.tasks().clone();
    let room = Room::default();
    let beside = async {
        wait_for("the sub-agent's request", || world.requests().iter().any(is_sub)).await;
        wait_for("the command's end", || tasks.running().is_empty()).await;
        gate.open();
    };
    room.turn_while(&mut agent, "go", beside).await.unwrap();
    let requests = world.requests();
    let told = |seen: &&Seen| scaffold(seen).contains("has ended");
    assert!(
        !requests.iter().filter(|seen| is_sub(seen)).any(|seen| told(&seen)),
        "it is not the sub-agent's"
    );
    assert!(told(&requests.last().unwrap()), "{}", shape(requests.last().unwrap()));
}

#[tokio::test]
async fn a_sub_agent_is_told_the_mode_that_holds_now() {
    let world = World::new(Wire::Anthropic, with_sub("Seen."));
    let mut agent = world.begin().await;
    agent.mode().set(Mode::Plan);
    Room::default().turn(&mut agent, "go").await.unwrap();
    let sub = world.requests().into_iter().find(is_sub).unwrap();
    let told = scaffold(&sub);
    assert!(told.contains("Permission mode: plan") && !told.contains("Permission mode: ask"), "{told}");
    let plan = throughline_agent::assembly::mode_text(Mode::Plan).unwrap();
    assert!(!told.contains(plan), "it makes no plan of its own: {told}");
}

#[tokio::test]
async fn hooks_of_the_session_are_not_a_sub_agents_and_its_own_are() {
    let config = "[[hooks.UserPromptSubmit]]\nshell = 'cat >> prompts.txt'\n[[hooks.Stop]]\nshell = 'cat >> stops.txt'\n\
        [[hooks.SubagentStop]]\nshell = 'cat >> subs.txt'\n[[hooks.SessionEnd]]\nshell = 'cat >> ends.txt'\n\
        [[hooks.PreToolUse]]\nmatcher = 'Glob'\nshell = 'cat >> tools.txt'\n";
    let sub = Playlist::new().then(call("Glob", json!({"pattern": "*"}))).forever("Seen.");
    let world = World::new(Wire::Anthropic, with_sub(sub)).config(config);
    let mut agent = world.begin().await;
    Room::default().turn(&mut agent, "go").await.unwrap();
    let count = |file: &str| world.read(file).map_or(0, |text| text.matches("hook_event_name").count());
    assert_eq!(["prompts.txt", "stops.txt", "subs.txt", "ends.txt", "tools.txt"].map(count), [1, 1, 1, 0, 1]);
    assert!(world.read("subs.txt").unwrap().contains("Seen."));
}
