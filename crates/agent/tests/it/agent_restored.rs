//! What comes back behind a compaction (P5e): files as they are now, the plan in force, commands, tools, what start hooks say.

use crate::agent_world::{Room, World, call, last_result, scaffold, shape, times, wait_for};
use serde_json::json;
use throughline_agent::agent::Agent;
use throughline_agent::permissions::{Approval, Mode};
use throughline_core::Wire;
use throughline_engine::config::{Deferred, McpServer};
use throughline_testkit::{Answer, Playlist};

/// A profile that brings files back.
const CLAUDE: &str = "profile = \"claude\"\n";

/// Some two thousand tokens of the model's.
fn long_answer() -> Answer {
    Answer::text("I looked at this part, and it is as it should be. ".repeat(160))
}

/// Says enough that a compaction pays, condenses all of it, and goes on. What the model is then told.
async fn after_compaction(world: &World, agent: &mut Agent, room: &Room) -> String {
    for n in 0..14 {
        room.turn(agent, &format!("step {n}")).await.unwrap();
    }
    assert!(agent.compact(None, &room.desk()).await.unwrap().changed());
    room.turn(agent, "after").await.unwrap();
    let last = world.server.last().unwrap();
    world.all_valid();
    scaffold(&last)
}

#[tokio::test]
async fn p5e_files_come_back_as_they_are_on_disk() {
    for wire in [Wire::Anthropic, Wire::Responses] {
        let read = |path: &str| json!({"file_path": path});
        let edit = json!({"file_path": "own.rs", "old_string": "first", "new_string": "second"});
        let script = Playlist::new()
            .then(
                Answer::empty()
                    .call("Read", read("own.rs"))
                    .call("Read", read("gone.rs"))
                    .call("Read", read("other.rs")),
            )
            .then(call("Edit", edit))
            .forever(long_answer());
        let world = World::new(wire, script).mode(Mode::AcceptEdits).config(CLAUDE);
        for name in ["own.rs", "gone.rs", "other.rs"] {
            world.write(name, &format!("// the first {name}\n"));
        }
        let mut agent = world.begin().await;
        let room = Room::default();
        room.turn(&mut agent, "begin").await.unwrap();
        std::fs::remove_file(world.path("gone.rs")).unwrap();
        world.write("other.rs", "// changed by somebody else\n");
        let told = after_compaction(&world, &mut agent, &room).await;
        assert!(told.contains("<attachment: own.rs>\n// the second own.rs"), "{wire:?}: {told}");
        assert!(told.contains("<attachment: other.rs>\n// changed by somebody else"), "{told}");
        assert!(!told.contains("<attachment: gone.rs>"), "{told}");
        // Once, however often it is condensed.
        let told = after_compaction(&world, &mut agent, &room).await;
        assert_eq!(times(&told, "<attachment: own.rs>"), 1, "{told}");
    }
}

#[tokio::test]
async fn p5e_a_file_that_would_be_asked_about_now_does_not_come_back() {
    let script = Playlist::new()
        .then(call("Read", json!({"file_path": "../other/secret.txt"})))
        .forever(long_answer());
    let world = World::new(Wire::Anthropic, script).config(CLAUDE);
    std::fs::write(world.outside("other/secret.txt"), "the first words").unwrap();
    let mut agent = world.begin().await;
    let room = Room::with([Approval::Once]);
    room.turn(&mut agent, "begin").await.unwrap();
    assert!(last_result(&world.server.last().unwrap()).contains("the first words"));
    std::fs::write(world.outside("other/secret.txt"), "words of another time").unwrap();
    let told = after_compaction(&world, &mut agent, &room).await;
    assert!(!told.contains("words of another time"), "{told}");
}

#[tokio::test]
async fn p5e_a_plan_that_the_user_refused_is_not_brought_back() {
    for (answer, comes_back) in [(Approval::Refuse { why: None }, false), (Approval::Once, true)] {
        let script = Playlist::new()
            .then(call("ExitPlanMode", json!({"plan": "1. Drop the table."})))
            .forever(long_answer());
        let world = World::new(Wire::Anthropic, script).mode(Mode::Plan).config(CLAUDE);
        let mut agent = world.begin().await;
        let room = Room::with([answer]);
        room.turn(&mut agent, "plan it").await.unwrap();
        let told = after_compaction(&world, &mut agent, &room).await;
        assert_eq!(told.contains("<plan>\n1. Drop the table."), comes_back, "{told}");
    }
}

#[tokio::test]
async fn p5e_a_command_of_the_background_that_ended_is_known_with_its_result() {
    let script = Playlist::new()
        .then(call("Bash", json!({"command": "echo all is built", "run_in_background": true})))
        .forever(long_answer());
    let world = World::new(Wire::Anthropic, script).mode(Mode::Full);
    let mut agent = world.begin().await;
    let room = Room::default();
    room.turn(&mut agent, "build it").await.unwrap();
    wait_for("the command's end", || agent.tasks().running().is_empty()).await;
    let told = after_compaction(&world, &mut agent, &room).await;
    assert!(told.contains("bash_1 (echo all is built) has ended"), "{told}");
    assert!(told.contains("Its last line: all is built"), "{told}");
    // Also in another process, which knows of no commands.
    let ledger = agent.session().path().to_owned();
    agent.close("test").await.unwrap();
    let mut agent = world.resume(&ledger).await;
    let told = after_compaction(&world, &mut agent, &room).await;
    assert!(told.contains("bash_1 (echo all is built) has ended"), "{told}");
}

#[tokio::test]
async fn p5e_tools_that_were_found_are_described_again() {
    let tool = |name: &str, about: &str| json!({"name": name, "description": about, "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}}});
    let script =
        Playlist::new().then(call("ToolSearch", json!({"query": "weather forecast"}))).forever(long_answer());
    let mut world = World::new(Wire::Anthropic, script).mode(Mode::Full);
    let tools = [tool("forecast", "Tells the weather forecast"), tool("paint", "Paints a wall")];
    let server = McpServer { deferred: Deferred::Always, ..crate::mcp::child(&json!({"tools": tools})) };
    world.servers = vec![("web".to_owned(), server)];
    let mut agent = world.begin().await;
    let room = Room::default();
    room.turn(&mut agent, "will it rain?").await.unwrap();
    assert!(last_result(&world.server.last().unwrap()).contains("mcp__web__forecast"));
    let told = after_compaction(&world, &mut agent, &room).await;
    assert!(told.contains("## mcp__web__forecast\nTells the weather forecast\nArguments: {"), "{told}");
    assert!(!told.contains("Paints a wall"), "{told}");
    agent.close("test").await.unwrap();
}

#[tokio::test]
async fn p5e_what_start_hooks_say_is_there_once() {
    for wire in [Wire::Anthropic, Wire::Responses] {
        let world = World::new(wire, Playlist::new().forever(long_answer()))
            .config("[[hooks.SessionStart]]\nshell = 'echo the branch is main'\n");
        let mut agent = world.begin().await;
        let room = Room::default();
        room.turn(&mut agent, "one").await.unwrap();
        assert_eq!(times(&scaffold(&world.server.last().unwrap()), "the branch is main"), 1);
        for _ in 0..2 {
            let told = after_compaction(&world, &mut agent, &room).await;
            let last = world.server.last().unwrap();
            assert_eq!(times(&told, "the branch is main"), 1, "{wire:?}: {}", shape(&last));
        }
    }
}
