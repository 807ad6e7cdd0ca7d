//! Stopping a turn, and saying more while one runs.

use crate::agent_world::{Room, World, call, results, scaffold, shape, times, wait_for, words};
use serde_json::json;
use throughline_agent::Event;
use throughline_agent::agent::EndReason;
use throughline_agent::permissions::Mode;
use throughline_core::Wire;
use throughline_testkit::{Answer, Ending, Fault, Gate, Playlist, Stall};

const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::Responses, Wire::Chat];

#[tokio::test]
async fn an_interrupt_while_the_model_speaks_keeps_what_it_said() {
    for wire in WIRES {
        let long = Answer::text("The beginning of a long story. ".repeat(40)).deltas(20);
        let script =
            Playlist::new().then(long.spoilt_by(Fault::Stall(Stall::AfterEvents(12)))).then("Short.");
        let world = World::new(wire, script);
        let mut agent = world.begin().await;
        let room = Room::default();
        let beside = async {
            room.ear.until(|event| matches!(event, Event::Text { .. })).await;
            room.interrupt();
        };
        let end = room.turn_while(&mut agent, "tell me", beside).await.unwrap();
        assert_eq!(end.why, EndReason::Interrupted, "{wire:?}");
        let end = room.turn(&mut agent, "shorter").await.unwrap();
        assert_eq!(end.text, "Short.");
        let last = world.server.last().unwrap();
        let told = scaffold(&last);
        assert_eq!(times(&told, "<turn_aborted>"), 1, "{wire:?}: {told}");
        assert_eq!(words(&last), ["tell me", "shorter"]);
        let said = shape(&last);
        assert!(said.contains("The beginning"), "{said}");
        world.all_valid();
    }
}

#[tokio::test]
async fn what_the_model_said_before_its_stream_broke_is_kept_and_the_next_turn_goes_on() {
    for wire in WIRES {
        let broken = || {
            let long = Answer::text("The beginning of a long story. ".repeat(40)).deltas(20);
            long.spoilt_by(Fault::CutAfterEvents(12, Ending::Clean))
        };
        // Once more than it is tried again.
        let script = Playlist::new().then(broken()).then(broken()).then(broken()).then("Good.");
        let world = World::new(wire, script);
        let mut agent = world.begin().await;
        let room = Room::default();
        let mut failed = 0;
        while let Err(error) = room.turn(&mut agent, "tell me").await {
            assert!(error.to_string().contains("cut off"), "{wire:?}: {error}");
            failed += 1;
        }
        assert!(failed >= 1, "{wire:?}");
        let last = world.server.last().unwrap();
        let kept = times(&shape(&last), "Assistant: The beginning");
        assert_eq!(kept, failed, "{wire:?}: {}", shape(&last));
        world.all_valid();
    }
}

#[tokio::test]
async fn an_interrupt_before_the_first_word_leaves_nothing_half_said() {
    for wire in WIRES {
        let gate = Gate::new();
        let world = World::new(wire, Playlist::new().then(Answer::text("Too late.").at(&gate)).then("Good."));
        let mut agent = world.begin().await;
        let room = Room::default();
        let beside = async {
            wait_for("the request", || world.server.count() == 1).await;
            room.interrupt();
        };
        let end = room.turn_while(&mut agent, "go", beside).await.unwrap();
        assert_eq!((end.why, end.text.as_str()), (EndReason::Interrupted, ""));
        gate.open();
        room.turn(&mut agent, "again").await.unwrap();
        let last = world.server.last().unwrap();
        assert!(!shape(&last).contains("Too late"));
        assert_eq!(words(&last), ["go", "again"]);
        world.all_valid();
    }
}

#[tokio::test]
async fn an_interrupt_kills_the_command_that_runs_and_answers_every_call() {
    for wire in WIRES {
        let calls = Answer::text("I run it.")
            .call("Bash", json!({"command": "while true; do echo x > tick.txt; sleep 0.05; done"}))
            .call("Bash", json!({"command": "echo next > next.txt"}));
        let world = World::new(
            wire,
            Playlist::new()
                .then(calls)
                .then(call("Bash", json!({"command": "rm tick.txt; sleep 1; ls"})))
                .then("Fine."),
        )
        .mode(Mode::Full);
        let mut agent = world.begin().await;
        let room = Room::default();
        let beside = async {
            wait_for("the command's beginning", || world.path("tick.txt").exists()).await;
            room.interrupt();
        };
        let end = room.turn_while(&mut agent, "run", beside).await.unwrap();
        assert_eq!((end.why, end.text.as_str()), (EndReason::Interrupted, "I run it."));
        let end = room.turn(&mut agent, "what is there?").await.unwrap();
        assert_eq!(end.why, EndReason::Done);
        let last = world.server.last().unwrap();
        assert_eq!(results(&last).len(), 3, "{}", shape(&last));
        assert!(!results(&last)[2].contains("tick.txt"), "the command runs on: {}", results(&last)[2]);
        assert!(world.read("next.txt").is_none());
        assert_eq!(times(&scaffold(&last), "<turn_aborted>"), 1);
        world.all_valid();
    }
}

#[tokio::test]
async fn a_turn_that_is_stopped_before_it_begins_asks_nobody() {
    let world = World::new(Wire::Anthropic, Playlist::new().then("Hello."));
    let mut agent = world.begin().await;
    let room = Room::default();
    room.interrupt();
    let end = agent.turn("go".into(), &room.desk()).await.unwrap();
    assert_eq!(end.why, EndReason::Interrupted);
    room.turn(&mut agent, "now").await.unwrap();
    assert_eq!(words(&world.server.last().unwrap()), ["go", "now"]);
    world.all_valid();
}

#[tokio::test]
async fn what_steers_reaches_the_model_at_its_next_step_once_as_the_users_words() {
    for wire in WIRES {
        let gate = Gate::new();
        let script =
            Playlist::new().then(call("Glob", json!({"pattern": "*"})).at(&gate)).then("I see.").then("Bye.");
        let world = World::new(wire, script);
        let mut agent = world.begin().await;
        let room = Room::default();
        let beside = async {
            wait_for("the request", || world.server.count() == 1).await;
            room.inbox.steer("only the text files");
            room.inbox.queue("and then rest");
            gate.open();
        };
        let end = room.turn_while(&mut agent, "list the files", beside).await.unwrap();
        assert_eq!((end.why, end.steps), (EndReason::Done, 2), "{wire:?}");
        let requests = world.requests();
        assert_eq!(words(&requests[0]), ["list the files"]);
        assert_eq!(words(&requests[1]), ["list the files", "only the text files"], "{}", shape(&requests[1]));
        assert!(
            room.ear
                .events()
                .iter()
                .any(|event| matches!(event, Event::Steered { text } if text == "only the text files"))
        );
        let queued = room.inbox.take_queued().unwrap();
        assert_eq!(queued.text, "and then rest", "what is queued is the caller's");
        room.turn(&mut agent, &queued.text).await.unwrap();
        assert_eq!(words(&world.requests()[2]), ["list the files", "only the text files", "and then rest"]);
        crate::agent_world::grows(&world.requests());
        world.all_valid();
    }
}

#[tokio::test]
async fn a_turn_that_would_be_over_goes_on_for_what_steers() {
    let gate = Gate::new();
    let script = Playlist::new().then(Answer::text("Done.").at(&gate)).then("With tests.");
    let world = World::new(Wire::Anthropic, script);
    let mut agent = world.begin().await;
    let room = Room::default();
    let beside = async {
        wait_for("the request", || world.server.count() == 1).await;
        room.inbox.steer("with tests, please");
        gate.open();
    };
    let end = room.turn_while(&mut agent, "write it", beside).await.unwrap();
    assert_eq!((end.text.as_str(), end.steps), ("With tests.", 2));
    world.all_valid();
}

#[tokio::test]
async fn what_steers_when_the_turn_is_over_comes_first_in_the_next() {
    let world = World::new(Wire::Anthropic, Playlist::new().then("Done.").forever("Yes."));
    let mut agent = world.begin().await;
    let room = Room::default();
    room.turn(&mut agent, "one").await.unwrap();
    room.inbox.queue("three");
    room.inbox.steer("two");
    assert_eq!(room.inbox.waiting(), ["two", "three"]);
    while let Some(said) = room.inbox.take_queued() {
        room.turn(&mut agent, &said.text).await.unwrap();
    }
    assert_eq!(words(&world.server.last().unwrap()), ["one", "two", "three"]);
}

#[tokio::test]
async fn what_steered_a_turn_that_was_stopped_is_not_lost() {
    let gate = Gate::new();
    let world =
        World::new(Wire::Anthropic, Playlist::new().then(Answer::text("Late.").at(&gate)).then("Yes."));
    let mut agent = world.begin().await;
    let room = Room::default();
    let beside = async {
        wait_for("the request", || world.server.count() == 1).await;
        room.inbox.steer("do it otherwise");
        room.interrupt();
    };
    let end = room.turn_while(&mut agent, "go", beside).await.unwrap();
    assert_eq!(end.why, EndReason::Interrupted);
    assert_eq!(room.inbox.take_queued().unwrap().text, "do it otherwise");
    gate.open();
}
