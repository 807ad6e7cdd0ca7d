//! What a person does with a session between turns: go back, undo, pin, take another model, fork.

use crate::agent_world::{Room, World, call, last_result, scaffold, shape, times, words};
use serde_json::json;
use throughline_agent::agent::{EndReason, Which};
use throughline_agent::permissions::Mode;
use throughline_core::Wire;
use throughline_testkit::{Answer, Playlist, Seen};

const WIRES: [Wire; 2] = [Wire::Anthropic, Wire::Responses];

fn write(text: &str) -> Answer {
    call("Write", json!({"file_path": "a.txt", "content": text}))
}

fn long_answer() -> Answer {
    Answer::text("I looked at this part, and it is as it should be. ".repeat(160))
}

#[tokio::test]
async fn going_back_puts_files_back_and_can_be_undone() {
    for wire in WIRES {
        let script = Playlist::new()
            .then(call("Read", json!({"file_path": "a.txt"})))
            .then(write("one\n"))
            .then(call("Write", json!({"file_path": "new/b.txt", "content": "b\n"})))
            .then("First.")
            .then(write("two\n"))
            .then("Second.")
            .forever("Yes.");
        let world = World::new(wire, script).mode(Mode::AcceptEdits);
        world.write("a.txt", "zero\n");
        let mut agent = world.begin().await;
        let room = Room::default();
        room.turn(&mut agent, "make one").await.unwrap();
        room.turn(&mut agent, "make two").await.unwrap();
        let said = agent.session().user_messages();
        assert_eq!(agent.changed_since(&said[1].id).len(), 1);

        let back = agent.rewind(&said[1].id, true).unwrap();
        assert_eq!(back.words, "make two");
        assert_eq!(world.read("a.txt").unwrap(), "one\n");
        assert!(world.read("new/b.txt").is_some());
        let back = agent.rewind(&said[0].id, true).unwrap();
        assert_eq!(back.words, "make one");
        assert_eq!(world.read("a.txt").unwrap(), "zero\n");
        assert!(!world.path("new").exists());
        room.turn(&mut agent, "otherwise").await.unwrap();
        let last = world.server.last().unwrap();
        assert_eq!(words(&last), ["otherwise"]);
        assert_eq!(times(&scaffold(&last), "<shell>"), 1, "the head stands");
        world.all_valid();
    }
}

#[tokio::test]
async fn going_back_without_files_leaves_them_and_undo_brings_the_words_back() {
    let world = World::new(Wire::Anthropic, Playlist::new().then(write("one\n")).forever("Yes."))
        .mode(Mode::AcceptEdits);
    let mut agent = world.begin().await;
    let room = Room::default();
    room.turn(&mut agent, "make one").await.unwrap();
    let said = agent.session().user_messages();
    assert!(agent.rewind(&said[0].id, false).unwrap().files.is_none());
    assert_eq!(world.read("a.txt").unwrap(), "one\n");
    assert!(agent.session().user_messages().is_empty());
    assert!(agent.session_mut().undo().unwrap().is_some());
    room.turn(&mut agent, "again").await.unwrap();
    assert_eq!(words(&world.server.last().unwrap()), ["make one", "again"]);
    world.all_valid();
}

#[tokio::test]
async fn what_was_told_since_is_told_again_when_one_goes_back_before_it() {
    for wire in WIRES {
        let world = World::new(wire, Playlist::new().forever("Yes."));
        world.write("AGENTS.md", "Indent with tabs.\n");
        let mut agent = world.begin().await;
        let room = Room::default();
        room.turn(&mut agent, "one").await.unwrap();
        world.write("AGENTS.md", "Indent with four blanks.\n");
        room.turn(&mut agent, "two").await.unwrap();
        let first = agent.session().user_messages()[0].id.clone();
        agent.rewind(&first, false).unwrap();
        let ledger = agent.session().path().to_owned();
        drop(agent);
        let mut agent = world.resume(&ledger).await;
        room.turn(&mut agent, "one again").await.unwrap();
        let last = world.server.last().unwrap();
        assert_eq!(times(&scaffold(&last), "Indent with four blanks."), 1, "{wire:?}: {}", shape(&last));
        assert_eq!(words(&last), ["one again"]);
        world.all_valid();
    }
}

#[tokio::test]
async fn a_file_that_was_read_in_what_was_gone_back_over_must_be_read_again() {
    let edit = call("Edit", json!({"file_path": "a.txt", "old_string": "zero", "new_string": "one"}));
    let script = Playlist::new()
        .then(call("Read", json!({"file_path": "a.txt"})))
        .then("Read.")
        .then(edit)
        .then("Hm.");
    let world = World::new(Wire::Anthropic, script).mode(Mode::AcceptEdits);
    world.write("a.txt", "zero\n");
    let mut agent = world.begin().await;
    let room = Room::default();
    room.turn(&mut agent, "read it").await.unwrap();
    let first = agent.session().user_messages()[0].id.clone();
    agent.rewind(&first, true).unwrap();
    room.turn(&mut agent, "edit it").await.unwrap();
    assert_eq!(world.read("a.txt").unwrap(), "zero\n");
    assert!(
        last_result(&world.server.last().unwrap()).contains("was not read yet"),
        "{}",
        last_result(&world.server.last().unwrap())
    );
}

#[tokio::test]
async fn what_is_pinned_stands_to_the_letter_behind_a_compaction() {
    let pinned = format!(
        "The numbers are {}.",
        (0..200).map(|n| (n * 7919).to_string()).collect::<Vec<_>>().join(" ")
    );
    let script = Playlist::new().then(Answer::text(pinned.clone())).forever(long_answer());
    let world = World::new(Wire::Anthropic, script);
    let mut agent = world.begin().await;
    let room = Room::default();
    for n in 0..6 {
        room.turn(&mut agent, &format!("step {n}")).await.unwrap();
    }
    let entries = agent.session().pipeline().view().entries();
    let id = entries
        .iter()
        .find(|entry| entry.message.to_text().contains("The numbers are"))
        .unwrap()
        .message
        .id
        .clone();
    agent.session_mut().pin(&id, true).unwrap();
    assert!(agent.compact(None, &room.desk()).await.unwrap().changed());
    room.turn(&mut agent, "after").await.unwrap();
    let body = String::from_utf8_lossy(&world.server.last().unwrap().body).into_owned();
    assert!(body.contains(&pinned));
    world.all_valid();
}

#[tokio::test]
async fn another_model_goes_on_and_is_told_once() {
    for (wire, next) in
        [(Wire::Anthropic, "claude-opus-4-5"), (Wire::Responses, "gpt-5-mini"), (Wire::Chat, "gpt-4o")]
    {
        let script = Playlist::new().then(call("Glob", json!({"pattern": "*"}))).forever("Yes.");
        let world = World::new(wire, script);
        let mut agent = world.begin().await;
        let room = Room::default();
        room.turn(&mut agent, "one").await.unwrap();
        agent.switch_model(world.model_named(next), &room.desk()).await.unwrap();
        room.turn(&mut agent, "two").await.unwrap();
        room.turn(&mut agent, "three").await.unwrap();
        let last = world.server.last().unwrap();
        assert_eq!(last.model(), next);
        assert_eq!(times(&scaffold(&last), "<model_switch>"), 1, "{wire:?}: {}", shape(&last));
        assert_eq!(words(&last), ["one", "two", "three"]);
        world.all_valid();
    }
}

#[tokio::test]
async fn a_session_that_goes_on_with_another_model_tells_it_so_once() {
    for (wire, next) in [(Wire::Anthropic, "claude-opus-4-5"), (Wire::Responses, "gpt-5-mini")] {
        let mut world = World::new(wire, Playlist::new().forever("Yes."));
        let mut agent = world.begin().await;
        let room = Room::default();
        room.turn(&mut agent, "one").await.unwrap();
        let ledger = agent.session().path().to_owned();
        agent.close("test").await.unwrap();
        let first = world.model.clone();
        world.model = next.to_owned();
        for n in 0..2 {
            let mut agent = world.resume(&ledger).await;
            room.turn(&mut agent, "two").await.unwrap();
            let told = scaffold(&world.server.last().unwrap());
            assert_eq!(times(&told, "<model_switch>"), 1, "{wire:?} {n}: {told}");
            assert!(told.contains(&format!("Up to here {first} answered")), "{told}");
            agent.close("test").await.unwrap();
        }
        // It was switched to, and asked nothing: still it is the last.
        world.model = first.clone();
        let mut agent = world.resume(&ledger).await;
        agent.switch_model(world.model_named(next), &room.desk()).await.unwrap();
        drop(agent);
        world.model = next.to_owned();
        let mut agent = world.resume(&ledger).await;
        room.turn(&mut agent, "three").await.unwrap();
        let told = scaffold(&world.server.last().unwrap());
        assert_eq!(times(&told, "<model_switch>"), 3, "{told}");
        world.all_valid();
    }
}

#[tokio::test]
async fn the_window_that_the_user_set_holds_for_the_next_model_too() {
    let world =
        World::new(Wire::Anthropic, Playlist::new().forever("Yes.")).config("[window]\ntokens = 40000\n");
    let mut agent = world.begin().await;
    let room = Room::default();
    room.turn(&mut agent, "one").await.unwrap();
    agent.switch_model(world.model_named("claude-opus-4-5"), &room.desk()).await.unwrap();
    assert_eq!(agent.spending().window, 40_000);
}

#[tokio::test]
async fn what_does_not_fit_the_next_model_is_condensed_first() {
    // The figures make it large: what the provider counts is what counts.
    let world =
        World::new(Wire::Responses, Playlist::new().forever(Answer::text("I looked at it. ".repeat(9_000))));
    let mut agent = world.begin().await;
    let room = Room::default();
    for n in 0..4 {
        room.turn(&mut agent, &format!("step {n}: never touch keep_{n}.lock")).await.unwrap();
    }
    let before = agent.spending().context;
    assert!(before > 128_000, "{before}");
    let pass = agent.switch_model(world.model_named("gpt-4o"), &room.desk()).await.unwrap();
    assert!(pass.is_some_and(|pass| pass.changed()));
    assert!(agent.spending().context < 100_000, "{}", agent.spending().context);
    let end = room.turn(&mut agent, "after").await.unwrap();
    assert_eq!(end.why, EndReason::Done);
    let last = world.server.last().unwrap();
    assert_eq!(last.model(), "gpt-4o");
    let told = scaffold(&last);
    assert!(told.contains("<model_switch>") && told.contains("keep_0.lock"), "{}", shape(&last));
    world.all_valid();
}

/// What stands in a request where a provider would look for it: its system prompt, and roles it does not know.
fn roles(seen: &Seen) -> Vec<String> {
    let list = seen.json().get("messages").or_else(|| seen.json().get("input")).unwrap();
    list.as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["role"].as_str())
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn a_model_of_another_provider_is_told_everything_that_the_first_was() {
    let wires = [(Wire::Anthropic, "claude-opus-4-5"), (Wire::Responses, "gpt-5"), (Wire::Chat, "gpt-4.1")];
    for (from, _) in wires {
        for (to, next) in wires.into_iter().filter(|(to, _)| *to != from) {
            let script = Playlist::new().then(call("Glob", json!({"pattern": "*"}))).forever("Yes.");
            let world = World::new(from, script);
            world.write("AGENTS.md", "Indent with tabs.\n");
            let mut agent = world.begin().await;
            let room = Room::default();
            room.turn(&mut agent, "one").await.unwrap();
            agent.switch_model(world.model_on(to, next), &room.desk()).await.unwrap();
            room.turn(&mut agent, "two").await.unwrap();
            let last = world.server.last().unwrap();
            let told = scaffold(&last);
            for part in ["<permissions instructions>", "Indent with tabs.", "<model_switch>"] {
                assert!(told.contains(part), "{from:?} to {to:?}, {part}: {}", shape(&last));
            }
            assert_eq!(words(&last), ["one", "two"], "{from:?} to {to:?}: {}", shape(&last));
            if to == Wire::Anthropic {
                assert!(
                    roles(&last).iter().all(|role| role == "user" || role == "assistant"),
                    "{:?}",
                    roles(&last)
                );
            }
            world.all_valid();
        }
    }
}

#[tokio::test]
async fn a_fork_goes_its_own_way() {
    let world = World::new(Wire::Anthropic, Playlist::new().forever("Yes."));
    let mut agent = world.begin().await;
    let room = Room::default();
    room.turn(&mut agent, "one").await.unwrap();
    let answer = agent.session().pipeline().view().entries().last().unwrap().message.id.clone();
    room.turn(&mut agent, "two").await.unwrap();
    let ledger = agent.session().path().to_owned();
    let mut at_message = world.begin_in(Which::Fork(ledger.clone(), Some(answer))).await;
    room.turn(&mut at_message, "three").await.unwrap();
    let forked = world.server.last().unwrap();
    assert_eq!(words(&forked), ["one", "three"]);
    assert_eq!(times(&scaffold(&forked), "<shell>"), 1);
    let mut at_end = world.begin_in(Which::Fork(ledger, None)).await;
    room.turn(&mut at_end, "four").await.unwrap();
    assert_eq!(words(&world.server.last().unwrap()), ["one", "two", "four"]);
    room.turn(&mut agent, "five").await.unwrap();
    assert_eq!(words(&world.server.last().unwrap()), ["one", "two", "five"]);
    world.all_valid();
}
