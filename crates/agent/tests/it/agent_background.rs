//! Commands that run while the conversation goes on.

use crate::agent_world::{Room, World, call, last_result, scaffold, shape, times, wait_for, words};
use serde_json::json;
use throughline_agent::permissions::Mode;
use throughline_core::Wire;
use throughline_testkit::{Answer, Playlist};

fn begin(command: &str) -> Answer {
    call("Bash", json!({"command": command, "run_in_background": true}))
}

const UNTIL_GO: &str = "while [ ! -e go ]; do sleep 0.05; done; echo all is built";

#[tokio::test]
async fn the_model_is_told_once_that_a_command_in_the_background_has_ended() {
    for wire in [Wire::Anthropic, Wire::Responses] {
        let script = Playlist::new().then(begin(UNTIL_GO)).forever("Yes.");
        let world = World::new(wire, script).mode(Mode::Full);
        let mut agent = world.begin().await;
        let room = Room::default();
        room.turn(&mut agent, "build it").await.unwrap();
        assert!(last_result(&world.server.last().unwrap()).contains("bash_1"));
        room.turn(&mut agent, "meanwhile").await.unwrap();
        assert!(!scaffold(&world.server.last().unwrap()).contains("has ended"));
        world.write("go", "");
        wait_for("the command's end", || agent.tasks().running().is_empty()).await;
        room.turn(&mut agent, "and?").await.unwrap();
        room.turn(&mut agent, "good").await.unwrap();
        let last = world.server.last().unwrap();
        let told = scaffold(&last);
        assert_eq!(times(&told, "has ended"), 1, "{wire:?}: {}", shape(&last));
        assert!(told.contains("all is built"), "{told}");
        assert_eq!(words(&last), ["build it", "meanwhile", "and?", "good"]);
        crate::agent_world::grows(&world.requests());
        world.all_valid();
    }
}

#[tokio::test]
async fn what_runs_in_the_background_is_known_behind_a_compaction() {
    let long = Answer::text("I looked at this part, and it is as it should be. ".repeat(160));
    let world =
        World::new(Wire::Anthropic, Playlist::new().then(begin(UNTIL_GO)).forever(long)).mode(Mode::Full);
    let mut agent = world.begin().await;
    let room = Room::default();
    for n in 0..6 {
        room.turn(&mut agent, &format!("step {n}")).await.unwrap();
    }
    assert!(agent.compact(None, &room.desk()).await.unwrap().changed());
    room.turn(&mut agent, "after").await.unwrap();
    let told = scaffold(&world.server.last().unwrap());
    assert!(told.contains("Commands still run in the background") && told.contains("bash_1"), "{told}");
    world.all_valid();
    agent.close("test").await.unwrap();
}

#[tokio::test]
async fn what_runs_in_the_background_is_stopped_when_the_session_ends() {
    for is_closed in [true, false] {
        let command = "while true; do echo x > tick.txt; sleep 0.05; done";
        let world = World::new(Wire::Anthropic, Playlist::new().then(begin(command)).forever("Yes."))
            .mode(Mode::Full);
        let mut agent = world.begin().await;
        let room = Room::default();
        room.turn(&mut agent, "run it").await.unwrap();
        wait_for("the command", || world.path("tick.txt").exists()).await;
        if is_closed {
            agent.close("test").await.unwrap();
        } else {
            drop(agent);
        }
        wait_for("the command's end", || {
            let _ = std::fs::remove_file(world.path("tick.txt"));
            std::thread::sleep(std::time::Duration::from_millis(500));
            !world.path("tick.txt").exists()
        })
        .await;
    }
}

#[tokio::test]
async fn an_interrupt_leaves_what_runs_in_the_background() {
    let two = begin(UNTIL_GO).call("Bash", json!({"command": "touch here.txt; sleep 600"}));
    let world = World::new(Wire::Anthropic, Playlist::new().then(two).forever("Yes.")).mode(Mode::Full);
    let mut agent = world.begin().await;
    let room = Room::default();
    let beside = async {
        wait_for("the second command", || world.path("here.txt").exists()).await;
        room.interrupt();
    };
    room.turn_while(&mut agent, "go", beside).await.unwrap();
    assert_eq!(agent.tasks().running().len(), 1);
    world.write("go", "");
    wait_for("the command's end", || agent.tasks().running().is_empty()).await;
    room.turn(&mut agent, "and?").await.unwrap();
    assert!(scaffold(&world.server.last().unwrap()).contains("all is built"));
    world.all_valid();
}
