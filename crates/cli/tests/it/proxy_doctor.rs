//! `doctor` and `stats`: does it work, and what did it come to?

use crate::proxy_kit::{KEY, Serving, Told, World, ask, conversation};
use serde_json::{Value, json};
use throughline_testkit::{Http, Playbook, Reply, Server};

fn finding<'a>(findings: &'a Value, about: &str, what: &str) -> &'a Value {
    let all = findings["findings"].as_array().unwrap();
    let found = all.iter().find(|one| one["about"].as_str().unwrap().contains(about) && one["what"] == what);
    found.unwrap_or_else(|| panic!("nothing about {what} of {about} in {findings:#}"))
}

fn doctor(world: &World, provider: Option<&Server>, arguments: &[&str]) -> (Option<i32>, Value) {
    let mut command = world.command(&[&["doctor", "--json"], arguments].concat());
    match provider {
        Some(provider) => {
            command.env("ANTHROPIC_BASE_URL", provider.url());
            command.env("OPENAI_BASE_URL", format!("{}/v1", provider.url()));
            command.env("ANTHROPIC_MODEL", "claude-haiku-4-5").env("OPENAI_MODEL", "gpt-5-mini");
        }
        None => drop(command.env_remove("ANTHROPIC_API_KEY").env_remove("OPENAI_API_KEY")),
    }
    let told = Told::of(command.output().unwrap());
    assert!(!format!("{}{}", told.out, told.err).contains(KEY), "a key is shown");
    let findings = serde_json::from_str(&told.out).unwrap_or_else(|_| panic!("{}\n{}", told.out, told.err));
    (told.code, findings)
}

#[test]
fn without_keys_this_machine_is_looked_at() {
    let world = World::new();
    let (code, findings) = doctor(&world, None, &[]);
    assert_eq!((code, &findings["works"]), (Some(0), &json!(true)), "{findings:#}");
    for what in ["version", "config", "home", "ledgers", "proxy", "page"] {
        assert_eq!(finding(&findings, "this machine", what)["verdict"], "works", "{findings:#}");
    }
    let key = finding(&findings, "api.anthropic.com", "key");
    assert!(key["verdict"] == "not_measured" && key["text"].as_str().unwrap().contains("ANTHROPIC_API_KEY"));
    assert!(world.kept().is_empty(), "a check leaves nothing behind");
}

#[test]
fn a_few_requests_prove_credentials_streaming_and_cache() {
    let world = World::new();
    let (code, findings) = doctor(&world, Some(&world.provider), &["--yes"]);
    assert_eq!(code, Some(0), "{findings:#}");
    for what in ["credentials", "streaming", "cache"] {
        let all = findings["findings"].as_array().unwrap().iter().filter(|one| one["what"] == what);
        let verdicts: Vec<&Value> = all.map(|one| &one["verdict"]).collect();
        assert_eq!(verdicts, [&json!("works"), &json!("works")], "{what} in {findings:#}");
    }
    // A list of models and two requests for each of the two.
    assert_eq!(world.provider.count(), 6);
    assert!(world.kept().is_empty());
}

#[test]
fn nothing_is_spent_unasked() {
    let world = World::new();
    let (code, findings) = doctor(&world, Some(&world.provider), &[]);
    assert_eq!(code, Some(0), "{findings:#}");
    assert!(finding(&findings, "127.0.0.1", "streaming")["text"].as_str().unwrap().contains("--yes"));
    assert!(world.provider.requests().iter().all(|seen| seen.path == "/v1/models"));
    let before = world.provider.count();
    let (_, findings) = doctor(&world, Some(&world.provider), &["--offline"]);
    assert!(finding(&findings, "127.0.0.1", "key")["text"].as_str().unwrap().contains("not tried"));
    assert_eq!(world.provider.count(), before);
}

#[test]
fn what_is_broken_is_said_and_fails() {
    let world = World::new();
    let refused =
        Http::json(401, &json!({"error": {"type": "authentication_error", "message": "invalid x-api-key"}}));
    let provider = Server::start(Playbook::new().when_other(|_| true, Reply::from(refused))).unwrap();
    let (code, findings) = doctor(&world, Some(&provider), &["--yes"]);
    assert_eq!((code, &findings["works"]), (Some(1), &json!(false)));
    let credentials = finding(&findings, "127.0.0.1", "credentials");
    assert!(
        credentials["verdict"] == "broken"
            && credentials["text"].as_str().unwrap().contains("invalid x-api-key")
    );
    world.write("throughline/config.toml", "[proxy]\nprot = 1\n");
    let (code, findings) = doctor(&world, None, &[]);
    assert_eq!(code, Some(1));
    assert!(finding(&findings, "this machine", "config")["text"].as_str().unwrap().contains("proxy.port"));
}

#[test]
fn stats_add_up_what_requests_came_to() {
    let world = World::new();
    let told = world.run(&["stats"]);
    assert!(told.code == Some(0) && told.out.contains("No requests yet"), "{}", told.out);
    let serving = Serving::start(&world, &[]);
    for words in ["hello", "good evening"] {
        assert_eq!(ask(&serving.address(), "/v1/messages", &conversation(words)).0, 200);
    }
    let stats: Value = serde_json::from_str(&world.run(&["stats", "--json"]).out).unwrap();
    assert_eq!(stats["running"][0]["address"], serving.address());
    assert!(
        !stats.to_string().contains(serving.hello["token"].as_str().unwrap()),
        "the token stays in its file"
    );
    serving.stop();
    let told = world.run(&["stats", "--since", "1d", "--json"]);
    let stats: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(stats["total"]["requests"], 2, "{stats:#}");
    assert_eq!(stats["models"]["claude-sonnet-4-5"]["requests"], 2);
    assert_eq!(stats["days"].as_object().unwrap().len(), 1);
    assert!(stats["total"]["dollars"].as_f64().unwrap() > 0.0);
    assert_eq!(stats["running"], json!([]));
    let told = world.run(&["stats"]);
    assert!(told.out.contains("claude-sonnet-4-5") && told.out.contains("requests"), "{}", told.out);
    let stats: Value =
        serde_json::from_str(&world.run(&["stats", "--project", "/nowhere", "--json"]).out).unwrap();
    assert_eq!(stats["total"]["requests"], 0);
}
