//! Behind a proxy of the network's: providers are asked by way of it, this machine is not.

use crate::proxy_kit::{Told, World, files};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

const PASSWORD: &str = "never-to-be-seen";

/// One that lets nobody through, and remembers who asked for what.
struct Network {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Network {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let head: Vec<String> =
                    lines.map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
                log.lock().unwrap().push(head[0].clone());
                stream.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").unwrap();
            }
        });
        Self { address, asked }
    }

    /// As a variable names it.
    fn url(&self) -> String {
        format!("http://me:{PASSWORD}@{}", self.address)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn shows_no_password(world: &World, told: &Told) {
    assert!(!format!("{}{}", told.out, told.err).contains(PASSWORD), "{}{}", told.out, told.err);
    for (path, bytes) in files(&world.path("throughline")) {
        assert!(!String::from_utf8_lossy(&bytes).contains(PASSWORD), "it is in {}", path.display());
    }
}

#[test]
fn a_client_stays_on_this_machine_and_its_provider_is_asked_by_way_of_the_proxy() {
    let (world, network) = (World::new(), Network::start());
    let mut command = world.command(&["run", "--json", "--", "agent"]);
    command.env("HTTPS_PROXY", network.url()).env("NO_PROXY", "intranet.example");
    let told = Told::of(command.output().unwrap());
    shows_no_password(&world, &told);
    let report = world.report();
    for name in ["NO_PROXY", "no_proxy"] {
        assert_eq!(report.variables[name], "intranet.example,127.0.0.1,localhost,::1");
    }
    assert_eq!(report.variables["HTTPS_PROXY"], network.url(), "what else it does is its own");
    assert_eq!(report.statuses, [502, 502]);
    let asked = network.asked();
    assert_eq!(asked, ["CONNECT api.anthropic.com:443 HTTP/1.1", "CONNECT api.openai.com:443 HTTP/1.1"]);
    assert!(told.err.contains(&format!("by way of the proxy {}", network.address)), "{}", told.err);
}

#[test]
fn claude_code_may_have_the_proxy_in_its_settings() {
    let (world, network) = (World::new(), Network::start());
    let settings = json!({"env": {"HTTPS_PROXY": network.url(), "NO_PROXY": "intranet.example"}});
    world.write(".claude/settings.json", &settings.to_string());
    let told = world.run(&["run", "--", "claude", "-p", "hi"]);
    shows_no_password(&world, &told);
    let report = world.report();
    let given = &report.settings.as_ref().unwrap()["env"];
    assert_eq!(given["NO_PROXY"], "intranet.example,127.0.0.1,localhost,::1", "a variable would not win");
    assert_eq!(given["no_proxy"], given["NO_PROXY"]);
    assert_eq!(report.statuses, [502]);
    assert_eq!(network.asked(), ["CONNECT api.anthropic.com:443 HTTP/1.1"]);
}

#[test]
fn claude_code_takes_the_proxy_for_plain_http_where_there_is_no_other() {
    let (world, network) = (World::new(), Network::start());
    let told =
        Told::of(world.command(&["run", "--", "claude"]).env("HTTP_PROXY", network.url()).output().unwrap());
    shows_no_password(&world, &told);
    assert_eq!(network.asked(), ["CONNECT api.anthropic.com:443 HTTP/1.1"]);
}

#[test]
fn a_provider_on_this_machine_is_asked_directly() {
    let (world, network) = (World::new(), Network::start());
    let mut command = world.command(&["run", "--", "agent"]);
    command.env("ANTHROPIC_BASE_URL", world.provider.url()).env("OPENAI_BASE_URL", world.provider.url());
    for name in ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"] {
        command.env(name, network.url());
    }
    let told = Told::of(command.output().unwrap());
    assert_eq!(world.report().statuses, [200, 200], "{}", told.err);
    assert!(network.asked().is_empty());
}

#[test]
fn serve_and_doctor_say_which_proxy() {
    let (world, network) = (World::new(), Network::start());
    let mut command = world.command(&["serve", "--json", "--port", "0"]);
    command.env("https_proxy", network.url()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    crate::proxy_kit::kill(child.id(), "TERM");
    let told = Told::of(child.wait_with_output().unwrap());
    shows_no_password(&world, &told);
    let hello: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(hello["by_way_of"], network.address.to_string());
    assert!(!line.contains(PASSWORD));

    let doctor = |name: &str, value: &str| {
        let mut command = world.command(&["doctor", "--json", "--offline"]);
        let told = Told::of(command.env(name, value).output().unwrap());
        shows_no_password(&world, &told);
        let all: Value = serde_json::from_str(&told.out).unwrap();
        let all = all["findings"].as_array().unwrap().clone();
        let of = |what: &str| all.iter().find(|one| one["what"] == what).map(|one| one["text"].to_string());
        (of("network"), of("addresses"))
    };
    let (network_says, _) = doctor("HTTPS_PROXY", &network.url());
    assert!(network_says.unwrap().contains(&network.address.to_string()));
    let (nothing, wrong) = doctor("ALL_PROXY", &format!("gopher://me:{PASSWORD}@proxy.example"));
    assert!(nothing.is_none() && wrong.unwrap().contains("ALL_PROXY names no proxy that can be used"));
}
