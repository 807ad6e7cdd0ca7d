//! Long tool results by way of the proxy: whole while they fit, and with a way back that the client need not know of.

use crate::kit::{Asking, World};
use serde_json::{Value, json};
use throughline_core::Message;
use throughline_core::profile::Profile;
use throughline_core::stages::OwnTools;
use throughline_core::stages::budget::recognise;
use throughline_testkit::{Answer, Reply, Seen};

/// A file as Claude Code's `Read` gives it, of some 66 KB.
fn long_file() -> String {
    (1..1_400).map(|n| format!("{n:6}\tfn part_{n}() -> u32 {{ {} }} // as it was\n", n * 7)).collect()
}

/// What Claude Code sends when a call of its model was carried out.
fn claude(tool: &str, result: &str) -> Asking {
    let schema = json!({"type": "object"});
    let tools: Vec<Value> = ["Bash", "Read"]
        .iter()
        .map(|name| json!({"name": name, "description": "Does it.", "input_schema": schema}))
        .collect();
    let input = json!({"file_path": "/project/long.rs", "command": "make"});
    let messages = json!([
        {"role": "user", "content": "What does part_700 give?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": tool, "input": input}]},
        {"role": "user", "content": [{"tool_use_id": "toolu_1", "type": "tool_result", "content": result}]}]);
    let body = json!({"model": "claude-opus-4-5", "max_tokens": 4096, "tools": tools, "messages": messages});
    Asking::post("/v1/messages?beta=true", body.to_string())
        .header("x-claude-code-session-id", "s-1")
        .header("User-Agent", "claude-cli/2.1.325 (external, sdk-cli)")
}

fn results(seen: &Seen) -> Vec<String> {
    let messages: Vec<Message> = seen.request().unwrap().messages;
    let results = messages.iter().flat_map(|message| message.results());
    results.map(|result| result.content.to_text().into_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn p1_a_long_file_in_a_nearly_empty_window_passes_to_the_byte() {
    let file = long_file();
    assert!(file.len() > 66_000);
    for profile in ["throughline", "claude", "codex", "off"] {
        for recall in [false, true] {
            let world = World::with(
                |_: &Seen| Reply::from("4900."),
                |settings| {
                    let manage = settings.manage.as_mut().unwrap();
                    manage.profile = Profile::named(profile).unwrap();
                    manage.tools = OwnTools { snip: false, recall };
                },
            )
            .await;
            let asking = claude("Read", &file);
            assert_eq!(world.ask(asking.clone()).await.status, 200);
            let sent = world.provider.last().unwrap();
            let messages = |bytes: &[u8]| {
                let body = String::from_utf8(bytes.to_vec()).unwrap();
                let from = body.find("\"messages\":").unwrap();
                // The tools stand behind the messages, or in front of them; ours are among them.
                body[from..].split("],\"model\"").next().unwrap().to_owned()
            };
            assert_eq!(messages(&sent.body), messages(asking.body()), "{profile}");
            if !recall {
                assert_eq!(sent.body, asking.body(), "{profile}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p1_what_does_not_fit_is_read_back_by_recall_and_never_as_a_placeholder() {
    for tool in ["Bash", "Read"] {
        let script = |seen: &Seen| -> Reply {
            match results(seen).as_slice() {
                [only] => {
                    let handle = recognise(only).unwrap().handle.unwrap();
                    let from = only.split("Go on with Recall, from \"").nth(1).unwrap();
                    let from = from.split('"').next().unwrap();
                    Answer::empty().call("Recall", json!({"handle": handle, "from": from})).into()
                }
                _ => "It is there.".into(),
            }
        };
        let world = World::with(script, |settings| {
            settings.manage.as_mut().unwrap().window = Some(20_000);
        })
        .await;
        let file = long_file();
        assert_eq!(world.ask(claude(tool, &file)).await.status, 200);
        let sent = world.provider.requests();
        assert_eq!(sent.len(), 2, "{tool}");
        let (first, second) = (results(&sent[0]), results(&sent[1]));
        assert!(!first[0].contains("sessions-data"), "no path that the client may refuse: {}", first[0]);
        assert!(first[0].contains("part_1()") && first[0].contains("part_1399()"));
        assert_eq!(second[0], first[0], "decided once");
        assert_eq!(recognise(&second[1]), None);
        let shown = first[0].split("\n[… ").next().unwrap();
        let last: usize =
            shown.rsplit("fn part_").next().unwrap().split('(').next().unwrap().parse().unwrap();
        assert!(
            second[1].contains(&format!("fn part_{}()", last + 1)),
            "it goes on where it was cut: {}",
            second[1]
        );
    }
}
