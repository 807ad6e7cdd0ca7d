//! The process dies in the middle of a turn: the session goes on, valid, with nothing lost that was there.

use crate::agent_world::{LONG, Room, World, results, scaffold, shape, times, words};
use serde_json::json;
use throughline_agent::Event;
use throughline_agent::agent::{EndReason, Said};
use throughline_agent::permissions::Mode;
use throughline_core::Wire;
use throughline_testkit::{Answer, Gate, Playlist};

/// When the process dies.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// The model was asked and has not answered.
    Asked,
    /// It has answered; nothing has run.
    Answered,
    /// Its first call runs.
    FirstCall,
    /// The first call has its result, the second runs.
    SecondCall,
    /// All calls have their results, and the model was asked again.
    AskedAgain,
}

impl Moment {
    const ALL: [Self; 5] = [Self::Asked, Self::Answered, Self::FirstCall, Self::SecondCall, Self::AskedAgain];

    async fn comes(self, room: &Room, world: &World) {
        match self {
            Self::Asked => crate::agent_world::wait_for("the request", || world.server.count() == 1).await,
            Self::Answered => room.ear.until(|event| matches!(event, Event::Answered { .. })).await,
            Self::FirstCall => {
                room.ear
                    .until(|event| matches!(event, Event::ToolStarted { name, .. } if name == "Write"))
                    .await
            }
            Self::SecondCall => {
                room.ear
                    .until(|event| matches!(event, Event::ToolStarted { name, .. } if name == "Bash"))
                    .await
            }
            Self::AskedAgain => {
                crate::agent_world::wait_for("the request", || world.server.count() == 2).await
            }
        }
    }
}

#[tokio::test]
async fn a_session_whose_process_died_goes_on_from_any_moment() {
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat] {
        for moment in Moment::ALL {
            let gate = Gate::new();
            let calls = Answer::text("I do it.")
                .call("Write", json!({"file_path": "a.txt", "content": "x"}))
                .call("Bash", json!({"command": if matches!(moment, Moment::AskedAgain) { "echo quick" } else { "sleep 600" }}))
                .call("Read", json!({"file_path": "a.txt"}));
            let first = if matches!(moment, Moment::Asked) { calls.at(&gate) } else { calls };
            let script = Playlist::new().then(first).then(Answer::text("Later.").at(&gate)).forever("Here.");
            let world = World::new(wire, script).mode(Mode::Full);
            let mut agent = world.begin().await;
            let ledger = agent.session().path().to_owned();
            let room = Room::default();
            let desk = room.desk();
            tokio::select! {
                biased;
                () = moment.comes(&room, &world) => {}
                end = tokio::time::timeout(LONG, agent.turn(Said::from("go"), &desk)) => panic!("{moment:?}: {end:?}"),
            }
            drop(agent);
            gate.open();

            let mut agent = world.resume(&ledger).await;
            // What is left of the list of answers.
            while world.server.count() < 2 {
                room.turn(&mut agent, "go on").await.unwrap();
            }
            let end = room.turn(&mut agent, "and now?").await.unwrap();
            assert_eq!(end.why, EndReason::Done, "{wire:?} {moment:?}");
            let last = world.server.last().unwrap();
            assert_eq!(
                words(&last).first().map(String::as_str),
                Some("go"),
                "{wire:?} {moment:?}: {}",
                shape(&last)
            );
            assert_eq!(times(&scaffold(&last), "<shell>"), 1, "{wire:?} {moment:?}");
            let results = results(&last);
            match moment {
                Moment::Asked => assert!(results.is_empty()),
                Moment::Answered | Moment::FirstCall | Moment::SecondCall => {
                    assert_eq!(results.len(), 3, "{wire:?} {moment:?}: {}", shape(&last));
                    assert!(
                        results[2].contains("the session ended before this call was done"),
                        "{results:?}"
                    );
                }
                Moment::AskedAgain => assert!(results[1].contains("quick"), "{results:?}"),
            }
            world.all_valid();
        }
    }
}

#[tokio::test]
async fn what_a_call_had_done_before_the_process_died_is_known() {
    let calls = Answer::empty()
        .call("Write", json!({"file_path": "a.txt", "content": "x"}))
        .call("Bash", json!({"command": "sleep 600"}));
    let world = World::new(Wire::Anthropic, Playlist::new().then(calls).forever("Here.")).mode(Mode::Full);
    world.write("a.txt", "");
    std::fs::remove_file(world.path("a.txt")).unwrap();
    let mut agent = world.begin().await;
    let ledger = agent.session().path().to_owned();
    let room = Room::default();
    let desk = room.desk();
    tokio::select! {
        biased;
        () = Moment::SecondCall.comes(&room, &world) => {}
        end = agent.turn(Said::from("go"), &desk) => panic!("{end:?}"),
    }
    drop(agent);
    let mut agent = world.resume(&ledger).await;
    let said = agent.session().user_messages();
    assert_eq!(agent.changed_since(&said[0].id).len(), 1, "what was changed is known");
    room.turn(&mut agent, "and?").await.unwrap();
    let last = world.server.last().unwrap();
    assert!(!results(&last)[0].contains("the session ended"), "{:?}", results(&last));
    let said = agent.session().user_messages();
    agent.rewind(&said[0].id, true).unwrap();
    assert!(world.read("a.txt").is_none());
}

/// Looks into the ledger when it hears that a call ended.
struct LedgerReader {
    ledger: std::path::PathBuf,
    found: std::sync::Mutex<Vec<bool>>,
}

impl throughline_agent::Listener for LedgerReader {
    fn hear(&self, event: Event) {
        if let Event::ToolEnded { output, .. } = event {
            let ledger = std::fs::read_to_string(&self.ledger).unwrap_or_default();
            self.found.lock().unwrap().push(ledger.contains(output.trim()));
        }
    }
}

#[tokio::test]
async fn a_result_is_in_the_ledger_before_anybody_hears_of_it() {
    let calls = Answer::empty()
        .call("Bash", json!({"command": "echo first-$((40 + 2))"}))
        .call("Bash", json!({"command": "echo second-$((40 + 3))"}));
    let world = World::new(Wire::Anthropic, Playlist::new().then(calls).forever("Done.")).mode(Mode::Full);
    let mut agent = world.begin().await;
    let listener = LedgerReader { ledger: agent.session().path().to_owned(), found: Vec::new().into() };
    let room = Room::default();
    let desk = throughline_agent::agent::Desk { listener: &listener, ..room.desk() };
    agent.turn(Said::from("go"), &desk).await.unwrap();
    assert_eq!(listener.found.into_inner().unwrap(), [true, true]);
}
