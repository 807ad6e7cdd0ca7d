//! Turns that end otherwise: limits, failures, nonsense from the model.

use crate::agent_world::{Room, World, call, last_result, results, shape, words};
use serde_json::json;
use throughline_agent::agent::{EndReason, TurnLimits};
use throughline_agent::permissions::Mode;
use throughline_core::{Usage, Wire};
use throughline_testkit::{Answer, Fault, Playbook, Playlist, playbook};
use throughline_wire::Stop;

const WIRES: [Wire; 2] = [Wire::Anthropic, Wire::Responses];

#[tokio::test]
async fn a_turn_has_no_more_steps_than_it_may_have() {
    for wire in WIRES {
        let look = || Answer::text("Again.").call("Glob", json!({"pattern": "*"}));
        let mut world = World::new(wire, Playlist::new().times(3, look()).forever("Enough."));
        world.limits = TurnLimits { steps: 3, cost: None };
        let mut agent = world.begin().await;
        let room = Room::default();
        let end = room.turn(&mut agent, "go").await.unwrap();
        assert_eq!((end.why, end.steps, end.text.as_str()), (EndReason::MaxSteps, 3, "Again."));
        assert_eq!(world.server.count(), 3);
        let end = room.turn(&mut agent, "go on").await.unwrap();
        assert_eq!((end.why, end.steps), (EndReason::Done, 1), "the limit is a turn's");
        let last = world.server.last().unwrap();
        assert!(last_result(&last).contains("as many steps"), "{}", shape(&last));
        world.all_valid();
    }
}

#[tokio::test]
async fn the_last_step_that_is_allowed_may_be_the_last_word() {
    let mut world = World::new(
        Wire::Anthropic,
        Playlist::new().then(call("Glob", json!({"pattern": "*"}))).then("Done."),
    );
    world.limits = TurnLimits { steps: 2, cost: None };
    let mut agent = world.begin().await;
    let end = Room::default().turn(&mut agent, "go").await.unwrap();
    assert_eq!((end.why, end.steps), (EndReason::Done, 2));
}

#[tokio::test]
async fn a_turn_that_cost_as_much_as_it_may_ends_and_changes_nothing_more() {
    for wire in WIRES {
        let dear = Usage { input: 1_000_000, output: 100_000, ..Usage::default() };
        let write = call("Write", json!({"file_path": "a.txt", "content": "x"})).usage(dear);
        let mut world = World::new(wire, Playlist::new().then(write).then("Yes.")).mode(Mode::Full);
        world.limits = TurnLimits { steps: 100, cost: Some(0.5) };
        let mut agent = world.begin().await;
        let room = Room::default();
        let end = room.turn(&mut agent, "go").await.unwrap();
        assert_eq!(end.why, EndReason::MaxCost, "{wire:?}");
        assert!(world.read("a.txt").is_none());
        let end = room.turn(&mut agent, "go on").await.unwrap();
        assert_eq!(end.why, EndReason::Done, "the limit is a turn's");
        world.all_valid();
    }
}

#[tokio::test]
async fn an_answer_that_was_cut_off_is_told() {
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat] {
        let world = World::new(
            wire,
            Playlist::new().then(Answer::text("It begins").stop(Stop::MaxTokens)).then("and ends."),
        );
        let mut agent = world.begin().await;
        let room = Room::default();
        let end = room.turn(&mut agent, "go").await.unwrap();
        assert_eq!((end.why, end.text.as_str()), (EndReason::Truncated, "It begins"), "{wire:?}");
        room.turn(&mut agent, "go on").await.unwrap();
        world.all_valid();
    }
}

#[tokio::test]
async fn a_provider_that_fails_leaves_a_session_that_goes_on() {
    for wire in WIRES {
        let script = Playbook::new()
            .once(playbook::last_user("begin"), call("Glob", json!({"pattern": "*"})))
            .when(|seen| results(seen).len() == 1 && words(seen).len() == 1, Fault::ServerError)
            .otherwise("Here I am.");
        let world = World::new(wire, script);
        let mut agent = world.begin().await;
        let room = Room::default();
        assert!(room.turn(&mut agent, "begin").await.is_err());
        let end = room.turn(&mut agent, "are you there?").await.unwrap();
        assert_eq!(end.text, "Here I am.");
        assert_eq!(words(&world.server.last().unwrap()), ["begin", "are you there?"]);
        world.all_valid();
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_in_a_call_does_nothing_and_the_session_goes_on() {
    use throughline_testkit::Ending;
    for wire in WIRES {
        let half = || {
            Answer::text("I write.")
                .call("Write", json!({"file_path": "a.txt", "content": "x".repeat(200)}))
                .deltas(10)
        };
        let cut = || half().spoilt_by(Fault::CutAfterEvents(9, Ending::Abrupt));
        let world = World::new(wire, Playlist::new().then(cut()).forever("Sorry.")).mode(Mode::Full);
        let mut agent = world.begin().await;
        let room = Room::default();
        let first = room.turn(&mut agent, "go").await;
        assert!(world.read("a.txt").is_none(), "{wire:?}: {first:?}");
        room.turn(&mut agent, "and now?").await.unwrap();
        world.all_valid();
    }
}

#[tokio::test]
async fn arguments_that_are_no_json_are_told_the_model_and_nothing_runs() {
    let item = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "Write", "arguments": "{\"file_path\": \"a.t"});
    let calls = json!({"tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "Write", "arguments": "{\"file_path\": \"a.t"}}]});
    for (wire, raw) in [(Wire::Responses, item), (Wire::Chat, calls)] {
        let world =
            World::new(wire, Playlist::new().then(Answer::empty().raw(raw)).then("Again.").then("Yes."))
                .mode(Mode::Full);
        let mut agent = world.begin().await;
        let room = Room::default();
        room.turn(&mut agent, "go").await.unwrap();
        let last = world.server.last().unwrap();
        assert!(last_result(&last).contains("not valid JSON"), "{wire:?}: {}", shape(&last));
        room.turn(&mut agent, "more").await.unwrap();
        world.all_valid();
    }
}

#[tokio::test]
async fn arguments_of_the_wrong_kind_are_told_the_model() {
    for wire in WIRES {
        let bad = Answer::empty()
            .call("Read", json!("a.txt"))
            .call("Write", json!(["a.txt", 3]))
            .call("Bash", json!({"command": 7}))
            .call("Task", json!({"description": "x", "prompt": "  "}))
            .call("Edit", json!(null))
            .call("TodoWrite", json!({"todos": "all"}))
            .call("", json!({}));
        let world = World::new(wire, Playlist::new().then(bad).then("Hm.").then("Yes.")).mode(Mode::Full);
        let mut agent = world.begin().await;
        let room = Room::default();
        let end = room.turn(&mut agent, "go").await.unwrap();
        assert_eq!(end.why, EndReason::Done, "{wire:?}");
        assert_eq!(
            results(&world.server.last().unwrap()).len(),
            7,
            "{}",
            shape(&world.server.last().unwrap())
        );
        room.turn(&mut agent, "go on").await.unwrap();
        world.all_valid();
    }
}
