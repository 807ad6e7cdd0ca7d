//! `serve`: one process, until it is told to stop.

use crate::proxy_kit::{KEY, Serving, World, ask, conversation};
use serde_json::Value;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn it_says_where_it_listens_passes_requests_on_and_says_at_the_end_what_they_came_to() {
    let world = World::new();
    let serving = Serving::start(&world, &[]);
    let address = serving.address();
    assert!(serving.hello["page"].as_str().unwrap().starts_with(&format!("{address}/?token=")));
    let file = world.path(&format!("throughline/proxy/servers/{}.json", address.rsplit(':').next().unwrap()));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let (status, answer) = ask(&address, "/v1/messages", &conversation("hello"));
    assert!(status == 200 && answer.contains("Good day."), "{answer}");
    assert_eq!(world.provider.count(), 1);
    let (code, out, err) = serving.stop();
    assert_eq!(code, Some(0), "{err}");
    let last: Value = serde_json::from_str(out.trim()).unwrap();
    assert_eq!(last["figures"]["requests"], 1, "{out}");
    assert!(!file.exists(), "its file goes with it");
    for (path, bytes) in world.kept() {
        assert!(!String::from_utf8_lossy(&bytes).contains(KEY), "a key is in {}", path.display());
    }
}

#[test]
fn people_are_told_how_to_point_their_clients_at_it() {
    let world = World::new();
    let mut child =
        world.command(&["serve", "--port", "0"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let mut text = String::new();
    while !text.contains("ctrl-C") {
        text += &format!("{}\n", lines.next().unwrap().unwrap());
    }
    crate::proxy_kit::kill(child.id(), "INT");
    assert!(child.wait().unwrap().success());
    for part in [
        "ANTHROPIC_BASE_URL=http://127.0.0.1:",
        "codex -c openai_base_url=",
        "/?token=",
        "https://api.anthropic.com",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "no colours in a pipe");
}

#[test]
fn a_port_that_is_taken_is_said_to_be() {
    let world = World::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let told = world.run(&["serve", "--port", &port]);
    assert_eq!(told.code, Some(1));
    assert!(told.err.contains("is taken by another program"), "{}", told.err);
    let serving = Serving::start(&world, &[]);
    let address = serving.address();
    let told = world.run(&["serve", "--port", address.rsplit(':').next().unwrap()]);
    assert_eq!(told.code, Some(1));
    let pid = format!("process {}", serving.child.id());
    assert!(told.err.contains(&format!("listens on {address} already ({pid}")), "{}", told.err);
}

#[test]
fn the_file_of_a_server_that_is_gone_is_removed() {
    let world = World::new();
    let serving = Serving::start(&world, &[]);
    let port = serving.address().rsplit(':').next().unwrap().to_owned();
    // Killed: nobody removes its file.
    drop(serving);
    let file = world.path(&format!("throughline/proxy/servers/{port}.json"));
    assert!(file.exists());
    world.write("throughline/proxy/servers/1.json", "no file of ours");
    drop(Serving::start(&world, &["--passive"]));
    assert!(!file.exists());
    assert!(!world.path("throughline/proxy/servers/1.json").exists());
}

#[test]
fn addresses_that_can_not_be_right_are_refused_with_a_reason() {
    let world = World::new();
    let told = world.run(&["serve", "--anthropic", "http://example.com"]);
    assert_eq!(told.code, Some(1));
    assert!(
        told.err.contains("--anthropic can't be used") && told.err.contains("not encrypted"),
        "{}",
        told.err
    );
    let itself =
        world.command(&["serve"]).env("ANTHROPIC_BASE_URL", "http://localhost:8787").output().unwrap();
    let err = String::from_utf8(itself.stderr).unwrap();
    assert!(err.contains("requests would come back here"), "{err}");
    let serving = Serving::start(&world, &[]);
    let other = world.run(&["serve", "--port", "0", "--openai", &format!("{}/v1", serving.address())]);
    assert!(other.err.contains("would pass two of them"), "{}", other.err);
    world.write("throughline/config.toml", "[proxy]\nlisten = \"0.0.0.0\"\n");
    let open = world.run(&["serve"]);
    assert_eq!(open.code, Some(1));
    assert!(open.err.contains("other machines") && open.err.contains("config.toml:2"), "{}", open.err);
}

#[test]
fn a_passive_server_keeps_nothing() {
    let world = World::new();
    let serving = Serving::start(&world, &["--passive"]);
    ask(&serving.address(), "/v1/messages", &conversation("hello"));
    let (code, out, _) = serving.stop();
    assert_eq!(code, Some(0));
    assert!(out.contains("\"figures\":null"), "{out}");
    assert!(world.kept().is_empty(), "{:?}", world.kept().keys());
}
