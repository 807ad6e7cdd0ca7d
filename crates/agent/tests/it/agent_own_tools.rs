//! Tools that are about the session itself, through the whole loop.

use crate::agent_world::{Room, World, call, last_result, results, scaffold, shape, times, words};
use serde_json::json;
use throughline_agent::permissions::Mode;
use throughline_agent::{Event, TodoState};
use throughline_core::Wire;
use throughline_core::stages::OwnTools;
use throughline_testkit::{Answer, Playlist, Reply, Seen};

const WIRES: [Wire; 2] = [Wire::Anthropic, Wire::Responses];

#[tokio::test]
async fn the_todo_list_is_shown_and_there_again_when_the_session_goes_on() {
    let todos = json!({"todos": [{"content": "read", "status": "completed"}, {"content": "write", "status": "in_progress"}]});
    let world = World::new(Wire::Anthropic, Playlist::new().then(call("TodoWrite", todos)).forever("Yes."));
    let mut agent = world.begin().await;
    let room = Room::default();
    room.turn(&mut agent, "go").await.unwrap();
    assert!(
        room.ear.events().iter().any(|event| matches!(event, Event::Todos { todos } if todos.len() == 2))
    );
    let ledger = agent.session().path().to_owned();
    drop(agent);
    let agent = world.resume(&ledger).await;
    let list = agent.todos();
    assert_eq!((list.len(), list[1].content.as_str(), list[1].status), (2, "write", TodoState::InProgress));
    drop(agent);
    assert!(world.begin().await.todos().is_empty(), "another session has its own");
}

/// The tag of the message that has these words.
fn tag(seen: &Seen, words: &str) -> String {
    let told = scaffold(seen);
    let from = told.find(words).unwrap();
    let at = from + told[from..].find("[id:").unwrap() + 4;
    told[at..].chars().take_while(|c| *c != ']').collect()
}

#[tokio::test]
async fn the_model_can_drop_a_turn_that_it_no_longer_needs() {
    for wire in WIRES {
        let script = |seen: &Seen| -> Reply {
            let said = scaffold(seen);
            if said.contains("tidy up") && !results(seen).iter().any(|text| text.contains("ropped")) {
                return call("Snip", json!({"ids": [tag(seen, "the first topic")], "reason": "done"})).into();
            }
            "Noted.".into()
        };
        let mut world = World::new(wire, script);
        world.own_tools = OwnTools { snip: true, recall: true };
        let mut agent = world.begin().await;
        let room = Room::default();
        room.turn(&mut agent, "the first topic: the number is 4711").await.unwrap();
        room.turn(&mut agent, "the second topic").await.unwrap();
        room.turn(&mut agent, "tidy up").await.unwrap();
        room.turn(&mut agent, "go on").await.unwrap();
        let last = world.server.last().unwrap();
        // What was done for it is gone; what was asked stays (G).
        assert_eq!(times(&shape(&last), "Noted."), 2, "{wire:?}: {}", shape(&last));
        assert!(scaffold(&last).contains("4711"), "{wire:?}: {}", shape(&last));
        assert!(scaffold(&last).contains("the second topic") && times(&scaffold(&last), "<shell>") == 1);
        world.all_valid();
    }
}

#[tokio::test]
async fn the_model_finds_again_what_a_compaction_took() {
    let long = || Answer::text("I looked at this part, and it is as it should be. ".repeat(160));
    let script = move |seen: &Seen| -> Reply {
        let said = words(seen).pop().unwrap_or_default();
        if said.starts_with("where") && !results(seen).iter().any(|text| text.contains("xylophone")) {
            return call("Recall", json!({"query": "xylophone"})).into();
        }
        if said.starts_with("step 1") && results(seen).is_empty() {
            return call("Bash", json!({"command": "echo the key word is xylophone"})).into();
        }
        long().into()
    };
    let mut world = World::new(Wire::Anthropic, script).mode(Mode::Full);
    world.own_tools = OwnTools { snip: true, recall: true };
    let mut agent = world.begin().await;
    let room = Room::default();
    for n in 0..7 {
        room.turn(&mut agent, &format!("step {n}")).await.unwrap();
    }
    assert!(agent.compact(None, &room.desk()).await.unwrap().changed());
    room.turn(&mut agent, "where was that instrument?").await.unwrap();
    let last = world.server.last().unwrap();
    assert!(last_result(&last).contains("xylophone"), "{}", shape(&last));
    world.all_valid();
}

#[tokio::test]
async fn a_turn_that_outgrows_the_window_while_it_runs_goes_on_to_its_end() {
    for wire in WIRES {
        let mut step = 0;
        let script = move |_: &Seen| -> Reply {
            step += 1;
            if step > 30 {
                return "All thirty are done.".into();
            }
            let command = format!(
                "for i in $(seq 1 60); do echo \"line $i of run {step}: everything is as it should be\"; done"
            );
            Answer::text(format!("Run {step}.")).call("Bash", json!({"command": command})).into()
        };
        let world = World::new(wire, script).mode(Mode::Full).config("[window]\ntokens = 20000\n");
        let mut agent = world.begin().await;
        let room = Room::default();
        let end = room.turn(&mut agent, "do thirty runs, and never touch keep.lock").await.unwrap();
        assert_eq!((end.text.as_str(), end.steps), ("All thirty are done.", 31), "{wire:?}");
        assert!(room.ear.events().iter().any(|event| matches!(event, Event::Compacted { .. })));
        let last = world.server.last().unwrap();
        assert!(scaffold(&last).contains("never touch keep.lock"), "{}", shape(&last));
        world.all_valid();
    }
}
