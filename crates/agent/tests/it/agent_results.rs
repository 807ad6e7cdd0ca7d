//! Long results in our own agent: put aside only where the window needs it, and read back from the file that is named.

use crate::agent_world::{Room, World, call, last_result, results, shape};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use throughline_agent::permissions::{Approval, Mode};
use throughline_core::Wire;
use throughline_core::stages::budget::recognise;
use throughline_testkit::{Playlist, Reply, Seen};

const COMMAND: &str = "seq -f 'the line number %.0f of the log' 1 4000";

fn log() -> String {
    (1..=4_000).map(|n| format!("the line number {n} of the log\n")).collect()
}

#[tokio::test]
async fn p1_long_output_reaches_the_model_whole_while_it_fits() {
    let script = Playlist::new().then(call("Bash", json!({"command": COMMAND}))).forever("Done.");
    let world = World::new(Wire::Anthropic, script).mode(Mode::Full);
    let mut agent = world.begin().await;
    Room::default().turn(&mut agent, "show me the log").await.unwrap();
    assert_eq!(last_result(&world.server.last().unwrap()), log().trim_end());
    world.all_valid();
}

#[tokio::test]
async fn p1_long_output_is_put_aside_in_a_small_window_and_read_back_from_its_file() {
    for wire in [Wire::Anthropic, Wire::Responses] {
        let script = |seen: &Seen| -> Reply {
            match results(seen).as_slice() {
                [] => call("Bash", json!({"command": COMMAND})).into(),
                [only] => {
                    let path = recognise(only).unwrap().path.unwrap();
                    let offset = only.split("`offset` ").nth(1).unwrap().split(' ').next().unwrap();
                    let offset: u64 = offset.parse().unwrap();
                    call("Read", json!({"file_path": path, "offset": offset, "limit": 50})).into()
                }
                _ => "Done.".into(),
            }
        };
        // The command may be asked about, the read may not.
        let world = World::new(wire, script).mode(Mode::AcceptEdits).config("[window]\ntokens = 20000\n");
        let mut agent = world.begin().await;
        let room = Room::with([Approval::Once]);
        room.turn(&mut agent, "show me the log").await.unwrap();
        let last = world.server.last().unwrap();
        let read = last_result(&last);
        assert_eq!(recognise(&read), None, "{}", shape(&last));
        let placeholder = results(&last).first().cloned().unwrap();
        let path = recognise(&placeholder).unwrap().path.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), log().trim_end(), "the file holds the full text");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        // It goes on where the beginning ends.
        let shown = placeholder.split("\n[… ").next().unwrap();
        let number: u64 =
            shown.rsplit("line number ").next().unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!(read.contains(&format!("the line number {} of the log", number + 1)), "{read}");
        assert!(read.contains(&format!("the line number {} of the log", number + 50)));
        assert!(room.person.asked().iter().all(|ask| ask.tool == "Bash"), "{:?}", room.person.asked());
        world.all_valid();
    }
}

#[tokio::test]
async fn p1_a_page_of_what_was_saved_always_fits_and_reaches_every_character() {
    // One line of some 34,000 characters.
    let command = "seq -s , 1 7000 | tr -d '\\n'; printf '%s\\n' THE-END";
    let saved = std::sync::OnceLock::new();
    let script = move |seen: &Seen| -> Reply {
        let results = results(seen);
        match results.as_slice() {
            [] => call("Bash", json!({"command": command})).into(),
            [.., last] if last.contains("Read on with") || recognise(last).is_some() => {
                let path = saved.get_or_init(|| recognise(last).unwrap().path.unwrap());
                let next = last.rsplit("`offset` ").next().unwrap();
                let offset: u64 = next.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap();
                call("Read", json!({"file_path": path, "offset": offset})).into()
            }
            _ => "Done.".into(),
        }
    };
    let world =
        World::new(Wire::Anthropic, script).mode(Mode::AcceptEdits).config("[window]\ntokens = 12000\n");
    let mut agent = world.begin().await;
    Room::with([Approval::Once]).turn(&mut agent, "show me the line").await.unwrap();
    let last = last_result(&world.server.last().unwrap());
    assert!(last.contains("THE-END") && recognise(&last).is_none(), "{last}");
    world.all_valid();
}

#[tokio::test]
async fn nothing_else_of_the_agents_own_folder_may_be_read() {
    let script = |seen: &Seen| -> Reply {
        match results(seen).len() {
            0 => call("Read", json!({"file_path": "../user/results/saved.txt"})).into(),
            1 => call("Read", json!({"file_path": "../user/results/link.txt"})).into(),
            2 => call("Read", json!({"file_path": "../home/config.toml"})).into(),
            _ => "Done.".into(),
        }
    };
    let world =
        World::new(Wire::Anthropic, script).mode(Mode::AcceptEdits).config("[window]\ntokens = 20000\n");
    let mut agent = world.begin().await;
    // A link leads into the one folder that may be read, and another one out of it.
    let folder = agent.session().folder().join("tool-results");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("saved.txt"), "what was saved").unwrap();
    std::os::unix::fs::symlink(world.outside("home/config.toml"), folder.join("link.txt")).unwrap();
    std::os::unix::fs::symlink(&folder, world.outside("user/results")).unwrap();
    let room = Room::default();
    room.turn(&mut agent, "look around").await.unwrap();
    assert_eq!(room.person.asked().len(), 2, "where it really leads counts");
    let results = results(&world.server.last().unwrap());
    assert!(results[0].contains("what was saved"), "{results:?}");
    assert!(results[1..].iter().all(|result| result.contains("refused")), "{results:?}");
}
