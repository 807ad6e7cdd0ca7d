//! Permissions through the whole loop: who is asked, what is remembered, what the model is told.

use crate::agent_world::{Absent, Room, World, call, last_result, results, scaffold, shape};
use serde_json::json;
use throughline_agent::agent::{Desk, EndReason, Said};
use throughline_agent::permissions::{Approval, Headless, Mode};
use throughline_agent::{Event, FileDiff};
use throughline_core::Wire;
use throughline_testkit::{Answer, Playlist};

const WIRES: [Wire; 2] = [Wire::Anthropic, Wire::Responses];

fn write(file: &str) -> Answer {
    call("Write", json!({"file_path": file, "content": "new\n"}))
}

fn refusal(why: &str) -> Approval {
    Approval::Refuse { why: Some(why.to_owned()) }
}

#[tokio::test]
async fn what_is_asked_runs_once_and_is_asked_again() {
    let world =
        World::new(Wire::Anthropic, Playlist::new().then(write("a.txt")).then(write("b.txt")).then("Done."));
    let mut agent = world.begin().await;
    let room = Room::with([Approval::Once, Approval::Once]);
    let end = room.turn(&mut agent, "make both").await.unwrap();
    assert_eq!(end.why, EndReason::Done);
    assert_eq!(world.read("a.txt").unwrap(), "new\n");
    assert_eq!(world.read("b.txt").unwrap(), "new\n");
    assert_eq!(room.person.asked().len(), 2);
    world.all_valid();
}

#[tokio::test]
async fn people_are_shown_what_a_call_would_do_to_files_before_it_does() {
    let edit = call("Edit", json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"}));
    let script = Playlist::new()
        .then(call("Read", json!({"file_path": "a.txt"})))
        .then(edit)
        .then(write("b.txt"))
        .then("Done.");
    let world = World::new(Wire::Anthropic, script);
    world.write("a.txt", "one\n");
    let mut agent = world.begin().await;
    let room = Room::with([refusal("no"), refusal("no")]);
    room.turn(&mut agent, "go").await.unwrap();
    let asked = room.person.asked();
    let diff = |at: usize| -> &FileDiff { &asked[at].diff[0] };
    assert_eq!((diff(0).before.as_deref(), diff(0).after.as_str()), (Some("one\n"), "two\n"));
    assert_eq!((diff(1).before.as_deref(), diff(1).after.as_str()), (None, "new\n"));
    assert_eq!(world.read("a.txt").unwrap(), "one\n");
    assert!(world.read("b.txt").is_none(), "a refused call does nothing");
}

#[tokio::test]
async fn a_rule_for_the_session_holds_in_it_and_not_in_the_next() {
    let script = Playlist::new()
        .then(write("a.txt"))
        .then(write("b.txt"))
        .then("Done.")
        .then(write("c.txt"))
        .then("Done.");
    let world = World::new(Wire::Anthropic, script);
    let mut agent = world.begin().await;
    let room = Room::with([Approval::Session("Edit(*.txt)".parse().unwrap())]);
    room.turn(&mut agent, "make both").await.unwrap();
    assert_eq!(room.person.asked().len(), 1);
    assert!(world.read("b.txt").is_some());
    agent.close("test").await.unwrap();

    let mut agent = world.begin().await;
    let room = Room::default();
    room.turn(&mut agent, "and another").await.unwrap();
    assert_eq!(room.person.asked().len(), 1);
    assert!(world.read("c.txt").is_none());
}

#[tokio::test]
async fn a_rule_for_the_project_is_remembered_there_and_nowhere_else() {
    let script = Playlist::new()
        .then(write("a.txt"))
        .then("Done.")
        .then(write("b.txt"))
        .then("Done.")
        .then(write("c.txt"))
        .then("Done.");
    let mut world = World::new(Wire::Anthropic, script);
    let mut agent = world.begin().await;
    let room = Room::with([Approval::Project("Edit(*.txt)".parse().unwrap())]);
    room.turn(&mut agent, "make a").await.unwrap();
    agent.close("test").await.unwrap();

    let mut agent = world.begin().await;
    let room = Room::default();
    room.turn(&mut agent, "make b").await.unwrap();
    assert!(room.person.asked().is_empty(), "{:?}", room.person.asked());
    assert!(world.read("b.txt").is_some());
    agent.close("test").await.unwrap();

    world.project = "other";
    let mut agent = world.begin().await;
    let room = Room::default();
    room.turn(&mut agent, "make c").await.unwrap();
    assert_eq!(room.person.asked().len(), 1);
    assert!(!world.outside("other/c.txt").exists());
}

#[tokio::test]
async fn the_model_hears_why_it_was_refused_and_goes_on() {
    for wire in WIRES {
        let world = World::new(wire, Playlist::new().then(write("a.txt")).then("I ask first."));
        let mut agent = world.begin().await;
        let room = Room::with([refusal("use the folder out/ instead")]);
        let end = room.turn(&mut agent, "go").await.unwrap();
        assert_eq!((end.why, end.text.as_str()), (EndReason::Done, "I ask first."));
        assert!(last_result(&world.requests()[1]).contains("use the folder out/ instead"));
        assert!(world.read("a.txt").is_none());
        world.all_valid();
    }
}

#[tokio::test]
async fn stopping_at_a_question_ends_the_turn_and_leaves_a_valid_history() {
    for wire in WIRES {
        let three = Answer::empty()
            .call("Write", json!({"file_path": "a.txt", "content": "a"}))
            .call("Write", json!({"file_path": "b.txt", "content": "b"}))
            .call("Read", json!({"file_path": "c.txt"}));
        let world = World::new(wire, Playlist::new().then(three).then("As you like."));
        let mut agent = world.begin().await;
        let room = Room::with([Approval::Once, Approval::Stop]);
        let end = room.turn(&mut agent, "go").await.unwrap();
        assert_eq!(end.why, EndReason::Interrupted);
        assert!(world.read("a.txt").is_some() && world.read("b.txt").is_none());
        assert!(room.ear.events().iter().any(|event| matches!(event, Event::Interrupted)));
        room.turn(&mut agent, "something else").await.unwrap();
        let last = world.server.last().unwrap();
        assert_eq!(results(&last).len(), 3, "{}", shape(&last));
        assert!(scaffold(&last).contains("<turn_aborted>"));
        world.all_valid();
    }
}

#[tokio::test]
async fn what_a_rule_denies_is_never_asked_nor_done_in_any_mode() {
    for mode in [Mode::Ask, Mode::AcceptEdits, Mode::Full] {
        let config = "[permissions]\ndeny = [\"Edit(secret/**)\", \"Bash(touch:*)\"]\n";
        let script = Playlist::new()
            .then(write("secret/a.txt"))
            .then(call("Bash", json!({"command": "touch b.txt"})))
            .then("Hm.");
        let world = World::new(Wire::Anthropic, script).config(config).mode(mode);
        let mut agent = world.begin().await;
        let room = Room::with([Approval::Once, Approval::Once]);
        room.turn(&mut agent, "go").await.unwrap();
        assert!(room.person.asked().is_empty(), "{mode:?}");
        assert!(world.read("secret/a.txt").is_none() && world.read("b.txt").is_none(), "{mode:?}");
        let last = world.server.last().unwrap();
        assert!(results(&last).iter().all(|text| text.contains("not permitted")), "{:?}", results(&last));
    }
}

#[tokio::test]
async fn in_plan_mode_nothing_is_changed_until_the_plan_is_approved() {
    for wire in WIRES {
        let plan = || call("ExitPlanMode", json!({"plan": "1. Write the file"}));
        let script = Playlist::new()
            .then(write("a.txt"))
            .then(plan())
            .then(write("a.txt"))
            .then(plan())
            .then(write("a.txt"))
            .then("Done.")
            .then("Yes.");
        let world = World::new(wire, script).mode(Mode::Plan);
        let mut agent = world.begin().await;
        let room = Room::with([refusal("think about tests, too"), Approval::Once]);
        let end = room.turn(&mut agent, "plan it").await.unwrap();
        assert_eq!(end.why, EndReason::Done, "{wire:?}");
        let requests = world.requests();
        assert!(last_result(&requests[1]).contains("plan mode"), "{}", shape(&requests[1]));
        assert!(last_result(&requests[2]).contains("think about tests, too"));
        assert!(last_result(&requests[3]).contains("plan mode"), "a refused plan changes nothing");
        assert!(last_result(&requests[4]).contains("approved"));
        assert_eq!(world.read("a.txt").unwrap(), "new\n");
        assert_eq!(agent.mode().get(), Mode::AcceptEdits);
        assert_eq!(room.person.asked().len(), 2, "nobody is asked for what plan mode refuses");
        room.turn(&mut agent, "really?").await.unwrap();
        let told = scaffold(&world.server.last().unwrap());
        assert!(told.contains("The mode that was described before has ended"), "{told}");
        world.all_valid();
    }
}

#[tokio::test]
async fn a_plan_and_its_first_step_in_one_answer_are_judged_one_after_the_other() {
    let both = call("ExitPlanMode", json!({"plan": "Write it"}))
        .call("Write", json!({"file_path": "a.txt", "content": "x"}));
    let world =
        World::new(Wire::Anthropic, Playlist::new().then(both.clone()).then("No.").then(both).then("Done."))
            .mode(Mode::Plan);
    let mut agent = world.begin().await;
    let room = Room::with([refusal("no"), Approval::Once]);
    room.turn(&mut agent, "plan").await.unwrap();
    assert!(world.read("a.txt").is_none());
    room.turn(&mut agent, "again").await.unwrap();
    assert!(world.read("a.txt").is_some());
}

#[tokio::test]
async fn stopping_at_a_plan_ends_the_turn_also_where_nobody_answers() {
    for is_answered in [true, false] {
        let script = Playlist::new().then(call("ExitPlanMode", json!({"plan": "Write it"}))).then("Well.");
        let world = World::new(Wire::Anthropic, script).mode(Mode::Plan);
        let mut agent = world.begin().await;
        let room = Room::with([Approval::Stop]);
        let desk = if is_answered { room.desk() } else { Desk { approver: &Absent, ..room.desk() } };
        let beside = async {
            if !is_answered {
                room.ear.until(|event| matches!(event, Event::ToolStarted { .. })).await;
                room.interrupt();
            }
        };
        let turn = tokio::time::timeout(crate::agent_world::LONG, agent.turn(Said::from("plan"), &desk));
        let (end, ()) = tokio::join!(turn, beside);
        assert_eq!(end.unwrap().unwrap().why, EndReason::Interrupted);
        assert_eq!(agent.mode().get(), Mode::Plan);
        room.turn(&mut agent, "go on").await.unwrap();
        world.all_valid();
    }
}

#[tokio::test]
async fn an_interrupt_at_a_question_that_nobody_answers_ends_the_turn() {
    let world = World::new(Wire::Responses, Playlist::new().then(write("a.txt")).then("Well."));
    let mut agent = world.begin().await;
    let room = Room::default();
    let desk = Desk { approver: &Absent, ..room.desk() };
    let beside = async {
        room.ear.until(|event| matches!(event, Event::Answered { .. })).await;
        room.interrupt();
    };
    let turn = tokio::time::timeout(crate::agent_world::LONG, agent.turn(Said::from("go"), &desk));
    let (end, ()) = tokio::join!(turn, beside);
    assert_eq!(end.unwrap().unwrap().why, EndReason::Interrupted);
    assert!(world.read("a.txt").is_none());
    room.turn(&mut agent, "go on").await.unwrap();
    world.all_valid();
}

#[tokio::test]
async fn full_mode_asks_for_nothing() {
    let script = Playlist::new()
        .then(write("a.txt"))
        .then(call("Bash", json!({"command": "echo out > ../other/b.txt"})))
        .then("Done.");
    let world = World::new(Wire::Anthropic, script).mode(Mode::Full);
    let mut agent = world.begin().await;
    let room = Room::default();
    room.turn(&mut agent, "go").await.unwrap();
    assert!(room.person.asked().is_empty());
    assert!(world.read("a.txt").is_some());
    assert!(world.outside("other/b.txt").exists());
}

#[tokio::test]
async fn without_anybody_to_ask_the_model_is_told_what_would_permit_it() {
    let script = Playlist::new()
        .then(write("a.txt"))
        .then(call("Bash", json!({"command": "make all"})))
        .then("I could not.");
    let world = World::new(Wire::Anthropic, script);
    let mut agent = world.begin().await;
    let room = Room::default();
    let desk = Desk { approver: &Headless, ..room.desk() };
    let end = agent.turn(Said::from("go"), &desk).await.unwrap();
    assert_eq!(end.why, EndReason::Done);
    let requests = world.requests();
    let told = last_result(&requests[1]);
    assert!(
        told.contains("nobody is there to ask")
            && told.contains("accept-edits")
            && told.contains("permissions.allow"),
        "{told}"
    );
    assert!(last_result(&requests[2]).contains("Bash(make"), "{}", last_result(&requests[2]));
}

#[tokio::test]
async fn another_mode_in_the_middle_of_a_turn_holds_from_the_next_call_on() {
    let world =
        World::new(Wire::Anthropic, Playlist::new().then(write("a.txt")).then(write("b.txt")).then("Done."))
            .mode(Mode::Full);
    let mut agent = world.begin().await;
    let room = Room::with([refusal("no")]);
    let mode = agent.mode().clone();
    let beside = async {
        room.ear.until(|event| matches!(event, Event::ToolStarted { .. })).await;
        mode.set(Mode::Ask);
    };
    room.turn_while(&mut agent, "go", beside).await.unwrap();
    assert!(world.read("a.txt").is_some() && world.read("b.txt").is_none());
}
