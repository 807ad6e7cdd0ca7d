//! What a session is told: at its beginning, when something changes, behind a compaction, and when it goes on.

use crate::agent_world::{Room, World, grows, scaffold, shape, times, words};
use throughline_agent::permissions::Mode;
use throughline_core::{Role, Wire};
use throughline_engine::session::Scribe;
use throughline_testkit::{Answer, Playbook, Playlist, playbook};

const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::Responses, Wire::Chat];
/// Words of the prompts that ask for a summary.
const ASKS_SUMMARY: &str = "is a request of the system that manages this conversation";

/// Some two thousand tokens of the model's.
fn long_answer() -> Answer {
    Answer::text("I looked at this part, and it is as it should be. ".repeat(160))
}

#[tokio::test]
async fn a1_the_first_request_holds_everything_once_and_the_second_turn_repeats_nothing() {
    for wire in WIRES {
        let world = World::new(wire, Playlist::new().then("Hello.").then("Yes."));
        world.write("AGENTS.md", "Indent with tabs.\n");
        let mut agent = world.begin().await;
        let room = Room::default();
        room.turn(&mut agent, "hello").await.unwrap();
        room.turn(&mut agent, "still there?").await.unwrap();
        let requests = world.requests();
        for seen in &requests {
            let told = scaffold(seen);
            for part in ["Indent with tabs.", "<shell>", "<permissions instructions>"] {
                assert_eq!(times(&told, part), 1, "{wire:?} {part}: {told}");
            }
        }
        assert_eq!(words(&requests[1]), ["hello", "still there?"]);
        let developers =
            requests[0].request().unwrap().messages.iter().filter(|m| m.role == Role::Developer).count();
        assert_eq!(developers > 0, wire == Wire::Responses);
        grows(&requests);
        world.all_valid();
    }
}

#[tokio::test]
async fn a2_only_what_changed_is_told_and_nobody_takes_it_for_the_users_words() {
    for wire in WIRES {
        let world = World::new(wire, Playlist::new().forever("Yes."));
        world.write("AGENTS.md", "Indent with tabs.\n");
        let mut agent = world.begin().await;
        let room = Room::default();
        room.turn(&mut agent, "one").await.unwrap();
        world.write("AGENTS.md", "Indent with four blanks.\n");
        room.turn(&mut agent, "two").await.unwrap();
        agent.mode().set(Mode::Plan);
        room.turn(&mut agent, "three").await.unwrap();
        std::fs::remove_file(world.path("AGENTS.md")).unwrap();
        agent.mode().set(Mode::Ask);
        room.turn(&mut agent, "four").await.unwrap();
        let requests = world.requests();
        let second = scaffold(&requests[1]);
        assert_eq!(times(&second, "Indent with four blanks."), 1, "{second}");
        assert_eq!(times(&second, "<shell>"), 1, "{second}");
        let plan = throughline_agent::assembly::mode_text(Mode::Plan).unwrap();
        assert_eq!(times(&scaffold(&requests[1]), plan), 0);
        assert_eq!(times(&scaffold(&requests[2]), plan), 1, "{}", shape(&requests[2]));
        let fourth = scaffold(&requests[3]);
        assert!(fourth.contains("The mode that was described before has ended"), "{fourth}");
        assert!(fourth.contains("These instructions no longer hold"), "{fourth}");
        assert_eq!(words(&requests[3]), ["one", "two", "three", "four"], "{wire:?}");
        grows(&requests);
        world.all_valid();
    }
}

#[tokio::test]
async fn a2_behind_a_compaction_the_head_stands_and_what_changed_since_is_told_again() {
    for wire in WIRES {
        let world = World::new(wire, Playlist::new().forever(long_answer()));
        world.write("AGENTS.md", "Indent with tabs.\n");
        let mut agent = world.begin().await;
        let room = Room::default();
        room.turn(&mut agent, "one").await.unwrap();
        world.write("AGENTS.md", "Indent with four blanks.\n");
        agent.mode().set(Mode::Plan);
        for n in 0..6 {
            room.turn(&mut agent, &format!("step {n}")).await.unwrap();
        }
        assert!(agent.compact(None, &room.desk()).await.unwrap().changed());
        room.turn(&mut agent, "after").await.unwrap();
        let last = world.server.last().unwrap();
        let told = scaffold(&last);
        let plan = throughline_agent::assembly::mode_text(Mode::Plan).unwrap();
        assert_eq!(times(&told, "Indent with four blanks."), 1, "{wire:?}: {}", shape(&last));
        assert_eq!(times(&told, plan), 1, "{wire:?}: {}", shape(&last));
        assert!(times(&told, "<shell>") >= 1, "{wire:?}: {told}");
        world.all_valid();
    }
}

#[tokio::test]
async fn a_session_that_goes_on_is_told_nothing_twice_and_what_is_different() {
    for wire in WIRES {
        let world = World::new(wire, Playlist::new().forever("Yes."));
        world.write("AGENTS.md", "Indent with tabs.\n");
        let mut agent = world.begin().await;
        let room = Room::default();
        room.turn(&mut agent, "one").await.unwrap();
        let ledger = agent.session().path().to_owned();
        agent.close("test").await.unwrap();

        let mut agent = world.resume(&ledger).await;
        room.turn(&mut agent, "two").await.unwrap();
        agent.close("test").await.unwrap();
        world.write("AGENTS.md", "Indent with four blanks.\n");
        let mut agent = world.resume(&ledger).await;
        room.turn(&mut agent, "three").await.unwrap();
        drop(agent);
        let mut agent = world.resume(&ledger).await;
        room.turn(&mut agent, "four").await.unwrap();

        let requests = world.requests();
        grows(&requests);
        let told = scaffold(&requests[3]);
        for part in ["Indent with tabs.", "Indent with four blanks.", "<shell>", "<permissions instructions>"]
        {
            assert_eq!(times(&told, part), 1, "{wire:?} {part}: {told}");
        }
        assert!(!told.contains("<model_switch>"));
        assert_eq!(words(&requests[3]), ["one", "two", "three", "four"]);
        world.all_valid();
    }
}

#[tokio::test]
async fn a4_a_skill_that_the_user_names_is_there_with_its_words_and_not_as_theirs() {
    let world = World::new(Wire::Anthropic, Playlist::new().forever("Yes."));
    world.write(
        ".agents/skills/release/SKILL.md",
        "---\nname: release\ndescription: How to release.\n---\nCount to eleven first.\n",
    );
    let mut agent = world.begin().await;
    let room = Room::default();
    room.turn(&mut agent, "do nothing").await.unwrap();
    room.turn(&mut agent, "use @release now").await.unwrap();
    let requests = world.requests();
    assert!(scaffold(&requests[0]).contains("How to release."));
    assert!(!scaffold(&requests[0]).contains("Count to eleven"));
    assert_eq!(times(&scaffold(&requests[1]), "Count to eleven first."), 1);
    assert_eq!(words(&requests[1]), ["do nothing", "use @release now"]);
    world.all_valid();
}

#[tokio::test]
async fn p5b_what_project_files_want_of_summaries_reaches_whoever_writes_them() {
    let script = Playbook::new()
        .when(
            playbook::last_user(ASKS_SUMMARY),
            Answer::text("<summary>The parser is being fixed.</summary>"),
        )
        .otherwise(long_answer());
    let mut world = World::new(Wire::Anthropic, script);
    world.scribe = Scribe::Main;
    world.write("AGENTS.md", "Be brief.\n\n# Compact instructions\nAlways keep the list of flaky tests.\n");
    let mut agent = world.begin().await;
    let room = Room::default();
    for n in 0..6 {
        room.turn(&mut agent, &format!("step {n}")).await.unwrap();
    }
    assert!(agent.compact(Some("and the names of people"), &room.desk()).await.unwrap().changed());
    let asked: Vec<String> = world
        .requests()
        .iter()
        .map(|seen| seen.last_user_text())
        .filter(|text| text.contains(ASKS_SUMMARY))
        .collect();
    assert!(
        asked.iter().any(|text| text.contains("list of flaky tests") && text.contains("the names of people")),
        "{asked:?}"
    );
    world.valid();
}

#[tokio::test]
async fn a_conversation_that_outgrows_its_window_is_condensed_and_the_users_words_stay() {
    for wire in [Wire::Anthropic, Wire::Responses] {
        let world = World::new(wire, Playlist::new().forever("I looked at all of it."))
            .config("[window]\ntokens = 20000\n");
        world.write("AGENTS.md", "Indent with tabs.\n");
        let mut agent = world.begin().await;
        let room = Room::default();
        for n in 0..24 {
            let words = format!(
                "step {n}: never touch keep_{n}.lock. {}",
                "This and that is to be looked at. ".repeat(100)
            );
            room.turn(&mut agent, &words).await.unwrap();
        }
        let compacted = room
            .ear
            .events()
            .iter()
            .filter(|event| matches!(event, throughline_agent::Event::Compacted { .. }))
            .count();
        assert!(compacted >= 1, "{wire:?}");
        let last = world.server.last().unwrap();
        assert!(last.tokens < 20_000, "{}", last.tokens);
        let told = scaffold(&last);
        assert!(told.contains("Indent with tabs.") && told.contains("keep_0.lock"), "{}", shape(&last));
        world.all_valid();
    }
}
