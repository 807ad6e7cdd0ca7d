//! What an agent remembers of the folder it works in.

use crate::agent_world::{Room, World, call, last_result, scaffold};
use serde_json::json;
use std::fs;
use throughline_agent::permissions::{Approval, Mode};
use throughline_core::Wire;
use throughline_memory::topics::{Meta, NewTopic, TopicType};
use throughline_memory::{Memories, MemoryPlaces, Project, Tier};
use throughline_testkit::Playlist;

fn topic(name: &str, text: &str) -> NewTopic {
    NewTopic {
        kind: TopicType::Feedback,
        name: name.to_owned(),
        description: text.to_owned(),
        body: text.to_owned(),
        meta: Meta::default(),
    }
}

/// Makes the project a repository, and `other` a linked worktree of it.
fn link(world: &World) {
    let own = world.path(".git/worktrees/other");
    fs::create_dir_all(&own).unwrap();
    world.write(".git/HEAD", "ref: refs/heads/main\n");
    world.write(".git/worktrees/other/HEAD", "ref: refs/heads/other\n");
    world.write(".git/worktrees/other/commondir", "../..\n");
    let dot_git = world.outside("other/.git");
    fs::write(own.join("gitdir"), format!("{}\n", dot_git.display())).unwrap();
    fs::write(dot_git, format!("gitdir: {}\n", own.display())).unwrap();
}

#[tokio::test]
async fn m1_a_session_in_a_worktree_is_told_what_the_project_knows_and_adds_to_it() {
    let add =
        json!({"action": "add", "type": "project", "name": "Freeze", "text": "Code freeze from 2026-12-01"});
    let script = Playlist::new().then(call("Memory", add)).forever("Yes.");
    let mut world = World::new(Wire::Anthropic, script).mode(Mode::Full);
    link(&world);
    let home = world.home();
    let below = world.outside("");
    let memories = |folder: &str| {
        let project = Project::find(&home, &below.join(folder));
        Memories::open(&home, &project, &MemoryPlaces::default())
    };
    memories("project")
        .add_to(Tier::Project, topic("Tests first", "Run the tests before every commit"))
        .unwrap();
    memories("project").add_to(Tier::Global, topic("Tone", "Answer briefly and without praise")).unwrap();
    memories("other").add_to(Tier::Worktree, topic("Port", "Here the server listens on port 9000")).unwrap();
    fs::create_dir(world.outside("other/src")).unwrap();
    world.project = "other/src";
    let mut agent = world.begin().await;
    // The user never said so: they are asked.
    Room::with([Approval::Once]).turn(&mut agent, "go").await.unwrap();
    let told = scaffold(&world.server.requests()[0]);
    let at = |words: &str| told.find(words).unwrap_or_else(|| panic!("{words} in {told}"));
    assert!(at("Tests first") < at("## Memories of this worktree alone"));
    assert!(
        at("port 9000") < at("## Memories for every project")
            && at("Tone") > at("## Memories for every project")
    );
    assert!(last_result(&world.server.last().unwrap()).contains("Saved as project_freeze.md"));
    let main = memories("project");
    assert_eq!(main.read(&"project_freeze.md".parse().unwrap()).unwrap().name, "Freeze");
}

#[tokio::test]
async fn memory_that_is_off_is_neither_told_nor_written() {
    let world =
        World::new(Wire::Anthropic, Playlist::new().forever("Yes.")).config("[memory]\nenabled = false\n");
    let home = world.home();
    let project = Project::find(&home, &world.path(""));
    let memories = Memories::open(&home, &project, &MemoryPlaces::default());
    memories.add_to(Tier::Project, topic("Tests first", "Run the tests before every commit")).unwrap();
    let mut agent = world.begin().await;
    Room::default().turn(&mut agent, "go").await.unwrap();
    let seen = world.server.last().unwrap();
    assert!(!scaffold(&seen).contains("Tests first"));
    assert!(!String::from_utf8_lossy(&seen.body).contains("\"name\":\"Memory\""));
}

#[tokio::test]
async fn m1_memories_are_where_the_user_says() {
    let world = World::new(Wire::Anthropic, Playlist::new().forever("Yes."));
    let place = world.outside("mine");
    let world = world.config(&format!("[memory]\ndir = {:?}\n", place.display().to_string()));
    fs::create_dir(&place).unwrap();
    fs::write(place.join("MEMORY.md"), "- [Tests first](feedback_tests-first.md) — before every commit\n")
        .unwrap();
    let mut agent = world.begin().await;
    Room::default().turn(&mut agent, "go").await.unwrap();
    assert!(scaffold(&world.server.last().unwrap()).contains("Tests first"));
}
