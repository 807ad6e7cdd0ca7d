//! Turns: text, calls one after the other and at once, what is recorded and what the next request begins with.

use crate::agent_world::{Room, World, call, grows, last_result, results, shape, words};
use serde_json::json;
use throughline_agent::Event;
use throughline_agent::agent::{EndReason, Said};
use throughline_agent::permissions::Mode;
use throughline_core::Wire;
use throughline_testkit::{Answer, Gate, Playlist, Reply, Seen};

const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::Responses, Wire::Chat];

#[tokio::test]
async fn a_turn_without_calls_is_one_request() {
    for wire in WIRES {
        let world = World::new(wire, Playlist::new().then("Good morning."));
        let mut agent = world.begin().await;
        let room = Room::default();
        let end = room.turn(&mut agent, "hello").await.unwrap();
        assert_eq!((end.why, end.text.as_str(), end.steps), (EndReason::Done, "Good morning.", 1));
        assert_eq!(words(&world.requests()[0]), ["hello"], "{wire:?}");
        world.all_valid();
        let mut text = String::new();
        for event in room.ear.events() {
            if let Event::Text { text: piece } = event {
                text.push_str(&piece);
            }
        }
        assert_eq!(text, "Good morning.", "it is heard as it comes");
    }
}

#[tokio::test]
async fn a_turn_with_calls_goes_on_until_the_model_is_done_and_every_request_begins_with_the_one_before() {
    for wire in WIRES {
        let script = Playlist::new()
            .then(Answer::text("I look.").call("Read", json!({"file_path": "a.txt"})))
            .then(call("Edit", json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"})))
            .then(call("Read", json!({"file_path": "a.txt"})))
            .then("It says two now.")
            .then("You are welcome.");
        let world = World::new(wire, script).mode(Mode::AcceptEdits);
        world.write("a.txt", "one\n");
        let mut agent = world.begin().await;
        let room = Room::default();
        let end = room.turn(&mut agent, "make it two").await.unwrap();
        assert_eq!((end.why, end.steps), (EndReason::Done, 4), "{wire:?}");
        assert_eq!(world.read("a.txt").unwrap(), "two\n");
        room.turn(&mut agent, "thanks").await.unwrap();
        let requests = world.requests();
        assert!(last_result(&requests[1]).contains("one"), "{}", shape(&requests[1]));
        assert!(last_result(&requests[3]).contains("two"), "{}", shape(&requests[3]));
        assert_eq!(words(&requests[4]), ["make it two", "thanks"]);
        world.all_valid();
        grows(&requests);
        assert!(room.person.asked().is_empty());
    }
}

#[tokio::test]
async fn results_are_recorded_in_the_order_of_the_calls_whatever_kind_they_are() {
    for wire in [Wire::Anthropic, Wire::Responses] {
        let script = Playlist::new()
            .then(
                Answer::empty()
                    .call("Read", json!({"file_path": "a.txt"}))
                    .call("Nonsense", json!({}))
                    .call("Write", json!({"file_path": "b.txt", "content": "made of the first\n"}))
                    .call("Read", json!({"file_path": "b.txt"}))
                    .call("Read", json!({}))
                    .call("Write", json!({"file_path": "c.txt", "content": "made of the second\n"}))
                    .call("Glob", json!({"pattern": "*.txt"})),
            )
            .then("Done.");
        let world = World::new(wire, script).mode(Mode::AcceptEdits);
        world.write("a.txt", "the first\n");
        let mut agent = world.begin().await;
        Room::default().turn(&mut agent, "go").await.unwrap();
        let seen = &world.requests()[1];
        let results = results(seen);
        assert_eq!(results.len(), 7, "{}", shape(seen));
        for (at, part) in [
            (0, "the first"),
            (1, "no tool \"Nonsense\""),
            (3, "made of the first"),
            (4, "file_path"),
            (6, "c.txt"),
        ] {
            assert!(results[at].contains(part), "{at}: {}", results[at]);
        }
        world.all_valid();
    }
}

#[tokio::test]
async fn writers_run_one_after_the_other_and_what_reads_behind_them_sees_what_they_wrote() {
    let script = Playlist::new()
        .then(
            Answer::empty()
                .call("Bash", json!({"command": "sleep 0.3; echo one >> log.txt"}))
                .call("Bash", json!({"command": "echo two >> log.txt"}))
                .call("Read", json!({"file_path": "log.txt"})),
        )
        .then("Done.");
    let world = World::new(Wire::Anthropic, script).mode(Mode::Full);
    let mut agent = world.begin().await;
    Room::default().turn(&mut agent, "go").await.unwrap();
    assert_eq!(world.read("log.txt").unwrap(), "one\ntwo\n");
    let read = last_result(&world.requests()[1]);
    assert!(read.contains("one") && read.contains("two"), "{read}");
}

/// A script in which sub-agents are held until the test lets them go. What they are told begins with `Part`.
fn two_parts(gate: &Gate) -> impl FnMut(&Seen) -> Reply + Send + 'static {
    let gate = gate.clone();
    move |seen: &Seen| {
        let said = words(seen).pop().unwrap_or_default();
        if said.starts_with("Part") {
            return Answer::text(format!("{said} is looked at.")).at(&gate).into();
        }
        if results(seen).is_empty() {
            return Answer::empty()
                .call("Task", json!({"description": "first", "prompt": "Part one"}))
                .call("Task", json!({"description": "second", "prompt": "Part two"}))
                .into();
        }
        "Both are done.".into()
    }
}

#[tokio::test]
async fn calls_that_change_nothing_run_at_the_same_time() {
    let gate = Gate::new();
    let world = World::new(Wire::Anthropic, two_parts(&gate));
    let mut agent = world.begin().await;
    let room = Room::default();
    let beside = async {
        // The parent's request and one of each helper, though neither was answered.
        crate::agent_world::wait_for("both helpers' requests", || world.server.count() == 3).await;
        gate.open();
    };
    let end = room.turn_while(&mut agent, "look at both", beside).await.unwrap();
    assert_eq!(end.text, "Both are done.");
    let last = world.server.last().unwrap();
    assert_eq!(results(&last), ["Part one is looked at.", "Part two is looked at."]);
    world.all_valid();
}

#[tokio::test]
async fn pictures_beside_the_words_reach_the_model() {
    let world = World::new(Wire::Anthropic, Playlist::new().then("A square."));
    let mut agent = world.begin().await;
    let room = Room::default();
    let picture = throughline_core::Block::text("what stands beside");
    let said = Said { text: "what is this?".to_owned(), beside: vec![picture] };
    agent.turn(said, &room.desk()).await.unwrap();
    assert!(words(&world.requests()[0])[0].contains("what stands beside"));
}
