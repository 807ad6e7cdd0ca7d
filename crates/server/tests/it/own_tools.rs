//! Tools that the proxy offers the model and answers itself: the client sees one normal answer.

use crate::kit::{Asking, Reply, World};
use serde_json::{Value, json};
use std::io::Read as _;
use std::time::Duration;
use throughline_core::stages::OwnTools;
use throughline_core::{Body, Message, Role, Wire};
use throughline_server::Settings;
use throughline_testkit::{Answer, Fault, Figures, Playlist, Reply as Played, Seen, Stall};
use throughline_wire::stream::StreamDecoder;
use throughline_wire::{Response, Stop, encode_messages, sse};

const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::Responses, Wire::Chat];
/// Long enough for any machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn offering(settings: &mut Settings) {
    settings.manage.as_mut().unwrap().tools = OwnTools { snip: false, recall: true };
}

fn every_way() -> impl Iterator<Item = (Wire, bool)> {
    WIRES.into_iter().flat_map(|wire| [(wire, true), (wire, false)])
}

fn user(wire: Wire, text: &str) -> Value {
    match wire {
        Wire::Anthropic | Wire::Chat => json!({"role": "user", "content": text}),
        Wire::Responses => {
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
        }
    }
}

/// A request of a client that has a tool of its own.
fn unnamed(wire: Wire, streams: bool, messages: &[Value]) -> Asking {
    let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    let (path, body) = match wire {
        Wire::Anthropic => (
            "/v1/messages",
            json!({"model": "claude-opus-4-5", "max_tokens": 99, "stream": streams, "messages": messages,
                "tools": [{"name": "Bash", "description": "runs", "input_schema": schema}]}),
        ),
        Wire::Responses => (
            "/v1/responses",
            json!({"model": "gpt-5", "store": false, "stream": streams, "input": messages,
                "tools": [{"type": "function", "name": "Bash", "parameters": schema}]}),
        ),
        Wire::Chat => (
            "/v1/chat/completions",
            json!({"model": "gpt-5", "stream": streams, "messages": messages, "stream_options": {"include_usage": true},
                "tools": [{"type": "function", "function": {"name": "Bash", "parameters": schema}}]}),
        ),
    };
    Asking::post(path, body.to_string()).header("accept-encoding", "gzip, br")
}

/// The same, of a client that has a name for the conversation.
fn request(wire: Wire, streams: bool, messages: &[Value]) -> Asking {
    unnamed(wire, streams, messages).header("x-throughline-session", "one")
}

/// What a client makes of a reply.
fn read(wire: Wire, streams: bool, reply: &Reply) -> Response {
    assert!(reply.status == 200 && reply.is_whole, "{reply:?}");
    if !streams {
        return Response::decode(wire, &reply.body).unwrap();
    }
    let mut events = Vec::new();
    sse::Parser::default().push(&reply.body, &mut events).unwrap();
    let mut decoder = StreamDecoder::new(wire);
    for event in &events {
        decoder.push(event).unwrap();
    }
    assert!(decoder.is_complete(), "{}", reply.text());
    decoder.finish()
}

/// Words and calls, in order.
fn said(messages: &[Message]) -> Vec<String> {
    let blocks = messages.iter().flat_map(|message| &message.blocks);
    blocks
        .filter_map(|block| match &block.body {
            Body::Text(text) if !text.is_empty() => Some(text.clone()),
            Body::ToolCall(call) => Some(format!("{}()", call.name)),
            Body::ToolResult(result) => Some(format!("= {}", result.content.to_text())),
            _ => None,
        })
        .collect()
}

/// What the client sends next: its history, the answer, and results for its calls.
fn next(wire: Wire, history: &[Value], answer: &Response, words: &str) -> Vec<Value> {
    let mut messages = history.to_vec();
    messages.extend(encode_messages(wire, &answer.messages));
    let calls: Vec<String> =
        answer.messages.iter().flat_map(Message::calls).map(|call| call.id.to_string()).collect();
    let result = |id: &String| match wire {
        Wire::Anthropic => json!({"type": "tool_result", "tool_use_id": id, "content": "done"}),
        Wire::Responses => json!({"type": "function_call_output", "call_id": id, "output": "done"}),
        Wire::Chat => json!({"role": "tool", "tool_call_id": id, "content": "done"}),
    };
    let results: Vec<Value> = calls.iter().map(result).collect();
    match (wire, results.is_empty()) {
        (Wire::Anthropic, false) => messages.push(json!({"role": "user", "content": results})),
        (Wire::Responses | Wire::Chat, false) => messages.extend(results),
        (_, true) => messages.push(user(wire, words)),
    }
    messages
}

fn messages(seen: &Seen) -> Vec<Message> {
    seen.request().unwrap().messages
}

fn recall(words: &str) -> Answer {
    Answer::text(words).thinking("Where was it?").call("Recall", json!({"query": "port"}))
}

const NOTHING: &str = "Nothing in the record of this session";

#[tokio::test(flavor = "multi_thread")]
async fn the_client_sees_one_answer_and_the_model_what_it_really_said() {
    for (wire, streams) in every_way() {
        let script = Playlist::new()
            .then(recall("I look."))
            .then(Answer::text("It is 7.").thinking("So it is 7.").call("Bash", json!({"command": "ls"})))
            .then("Done.")
            .then("Gladly.");
        let world = World::with(script, offering).await;
        let history = [user(wire, "which port?")];
        let reply = world.ask(request(wire, streams, &history)).await;
        let answer = read(wire, streams, &reply);
        let joined = match wire {
            Wire::Anthropic | Wire::Responses => vec!["I look.", "It is 7.", "Bash()"],
            Wire::Chat => vec!["I look.\n\nIt is 7.", "Bash()"],
        };
        assert_eq!(said(&answer.messages), joined, "{wire:?} {streams}");
        assert_eq!(answer.stop, Stop::ToolUse);
        assert!(!reply.text().contains("Recall"));
        // The provider was asked twice, the second time with our result behind what it said.
        let asked = world.provider.requests();
        assert_eq!(asked.len(), 2);
        assert_eq!(asked[0].tools(), ["Bash", "Recall"]);
        assert_eq!(asked[1].tools(), ["Bash", "Recall"]);
        assert_eq!(asked[1].header("accept-encoding"), Some("identity"));
        let second = said(&messages(&asked[1]));
        assert_eq!(second[..3], ["which port?", "I look.", "Recall()"]);
        assert!(second[3].starts_with(&format!("= {NOTHING}")), "{second:?}");
        assert!(messages(&asked[1]).starts_with(&messages(&asked[0])));
        assert!(asked[1].cached > asked[0].tokens / 2, "the prefix is found in the cache");
        // The client's gauge shows what the second request found.
        assert_eq!(answer.usage.prompt(), asked[1].tokens);
        // What the client sends next arrives with what was really said.
        let history = next(wire, &history, &answer, "");
        let answer = read(wire, streams, &world.ask(request(wire, streams, &history)).await);
        let asked = world.provider.requests();
        let third = messages(&asked[2]);
        let plain =
            |messages: &[Message]| messages.iter().map(|m| (m.role, m.blocks.clone())).collect::<Vec<_>>();
        assert!(plain(&third).starts_with(&plain(&messages(&asked[1]))), "{wire:?} {streams}");
        assert_eq!(said(&third)[4..], ["It is 7.", "Bash()", "= done"]);
        let result =
            asked[1].body.windows(NOTHING.len()).position(|text| text == NOTHING.as_bytes()).unwrap();
        assert!(asked[2].shares(&asked[1]) > result + NOTHING.len(), "to the byte, our result included");
        // And again, with marks moved by a client that caches.
        let mut history = next(wire, &history, &answer, "thanks");
        if wire == Wire::Anthropic {
            let last = history.last_mut().unwrap();
            last["content"] =
                json!([{"type": "text", "text": "thanks", "cache_control": {"type": "ephemeral"}}]);
        }
        read(wire, streams, &world.ask(request(wire, streams, &history)).await);
        let asked = world.provider.requests();
        assert!(plain(&messages(&asked[3])).starts_with(&plain(&third)), "{wire:?} {streams}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_ours_among_the_clients_are_answered_when_it_comes_back() {
    for (wire, streams) in every_way() {
        let script = Playlist::new()
            .then(
                Answer::text("Both.")
                    .call("Bash", json!({"command": "ls"}))
                    .call("Recall", json!({"query": "port"}))
                    .call("Bash", json!({"command": "pwd"}))
                    .call("Recall", json!({"query": "host"})),
            )
            .then("Done.");
        let world = World::with(script, offering).await;
        let history = [user(wire, "look")];
        let answer = read(wire, streams, &world.ask(request(wire, streams, &history)).await);
        assert_eq!(said(&answer.messages), ["Both.", "Bash()", "Bash()"]);
        assert_eq!(answer.stop, Stop::ToolUse);
        assert_eq!(world.provider.count(), 1);
        // Another process: what it has to know is in the ledger.
        let world = world.restarted(offering).await;
        let history = next(wire, &history, &answer, "");
        let answer = read(wire, streams, &world.ask(request(wire, streams, &history)).await);
        assert_eq!(said(&answer.messages), ["Done."]);
        let second = messages(&world.provider.requests()[1]);
        assert_eq!(
            said(&second)[..6],
            ["look", "Both.", "Bash()", "Recall()", "Bash()", "Recall()"],
            "{wire:?}"
        );
        let results = second.iter().flat_map(Message::results).count();
        assert_eq!(results, 4);
        assert_eq!(throughline_core::invariants::check(&second), []);
        assert_eq!(world.provider.requests()[1].tools(), ["Bash", "Recall"], "the tools stay the same");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_calls_at_once_and_one_after_the_other() {
    for (wire, streams) in every_way() {
        let two =
            Answer::empty().call("Recall", json!({"query": "a"})).call("Recall", json!({"handle": "zzzzzz"}));
        let script = Playlist::new().then(two).then(recall("More.")).then("Done.").then("Fine.");
        let world = World::with(script, offering).await;
        let history = [user(wire, "look")];
        let answer = read(wire, streams, &world.ask(request(wire, streams, &history)).await);
        assert_eq!(said(&answer.messages).join("|").replace("\n\n", "|"), "More.|Done.");
        assert_eq!(answer.stop, Stop::EndTurn);
        let asked = world.provider.requests();
        let third = messages(&asked[2]);
        assert_eq!(said(&third)[1..3], ["Recall()", "Recall()"]);
        assert!(said(&third)[4].contains("No message has the handle"), "{:?}", said(&third));
        // The output of all, the input of the last.
        assert_eq!(answer.usage.prompt(), asked[2].tokens);
        let world = world.restarted(offering).await;
        let history = next(wire, &history, &answer, "thanks");
        read(wire, streams, &world.ask(request(wire, streams, &history)).await);
        let fourth = messages(&world.provider.requests()[3]);
        assert_eq!(said(&fourth)[..said(&third).len()], said(&third));
        assert_eq!(said(&fourth)[said(&third).len()..], ["Done.", "thanks"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_never_stops_asking_is_stopped() {
    for (wire, streams) in every_way() {
        let world = World::with(Playlist::new().forever(recall("Again.")), offering).await;
        let history = [user(wire, "look")];
        let answer = read(wire, streams, &world.ask(request(wire, streams, &history)).await);
        assert_eq!(answer.stop, Stop::EndTurn, "{wire:?} {streams}");
        assert!(answer.messages.iter().flat_map(Message::calls).next().is_none());
        assert_eq!(world.provider.count(), 7, "five answers, one that says it is enough, and the end");
        let last = said(&messages(&world.provider.last().unwrap()));
        assert!(last.last().unwrap().contains("often enough"), "{last:?}");
        // The conversation goes on.
        let history = next(wire, &history, &answer, "stop that");
        read(wire, streams, &world.ask(request(wire, streams, &history)).await);
        let then = messages(&world.provider.requests()[7]);
        assert_eq!(throughline_core::invariants::check(&then), []);
        assert_eq!(then.iter().flat_map(Message::calls).count(), 6);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_fails_in_between_is_seen_to_fail_and_nothing_of_ours_is() {
    for (wire, streams) in every_way() {
        let faults: [Played; 3] = [
            Fault::Overloaded.into(),
            Fault::Invalid.into(),
            Answer::text("It is seven, as was said.")
                .deltas(3)
                .spoilt_by(Fault::CutAfterEvents(5, throughline_testkit::Ending::Reset)),
        ];
        for (n, fault) in faults.into_iter().enumerate() {
            let script = Playlist::new().then(recall("I look.")).then(fault).then("It is 7.");
            let world = World::with(script, offering).await;
            let history = [user(wire, "which port?")];
            let reply = world.ask(request(wire, streams, &history)).await;
            assert!(!reply.text().contains("Recall"), "{}", reply.text());
            if streams || n == 2 {
                assert!(!reply.is_whole, "{wire:?} {n}: the client asks again: {}", reply.text());
            } else {
                assert!(reply.status >= 400, "{wire:?} {n}");
            }
            // It asks again, and is answered.
            let answer = read(wire, streams, &world.ask(request(wire, streams, &history)).await);
            assert_eq!(said(&answer.messages), ["It is 7."]);
            let again = &world.provider.requests()[2];
            let tools: &[&str] = if n == 1 { &["Bash"] } else { &["Bash", "Recall"] };
            assert_eq!(again.tools(), tools, "what the provider refuses is not tried again");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_in_the_middle_leaves_nothing_behind() {
    let script = Playlist::new()
        .then(recall("I look."))
        .then(Answer::text("It is 7.").spoilt_by(Fault::Stall(Stall::AfterEvents(3))))
        .then("Good day.");
    let world = World::with(script, offering).await;
    let history = [user(Wire::Anthropic, "which port?")];
    let (address, ask) = (world.proxy.address(), request(Wire::Anthropic, true, &history));
    let begun = tokio::task::spawn_blocking(move || {
        let mut stream = ask.send(address);
        stream.read_exact(&mut [0; 200]).unwrap();
        stream
    });
    let stream = begun.await.unwrap();
    assert_eq!(world.provider.wait_for(2, PATIENCE).len(), 2);
    drop(stream);
    assert_eq!(world.provider.wait_for_departures(1, PATIENCE), 1, "nobody goes on reading for it");
    let answer = read(Wire::Anthropic, true, &world.ask(request(Wire::Anthropic, true, &history)).await);
    assert_eq!(said(&answer.messages), ["Good day."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_can_not_take_our_tools_is_not_offered_them() {
    let world = World::with("Good day.", offering).await;
    // No tools of its own: the request is the client's, to the byte.
    let plain =
        br#"{ "model":"m", "max_tokens" : 9, "messages": [{"content":"hello","role":"user"}] }"#.to_vec();
    world.ask(Asking::post("/v1/messages", plain.clone()).header("x-throughline-session", "a")).await;
    assert_eq!(world.provider.requests()[0].body, plain);
    // A tool of the same name.
    let same = json!({"model": "m", "max_tokens": 9, "tools": [{"name": "Recall", "input_schema": {"type": "object"}}],
        "messages": [user(Wire::Anthropic, "hello")]})
    .to_string();
    world.ask(Asking::post("/v1/messages", same.clone()).header("x-throughline-session", "b")).await;
    assert_eq!(world.provider.requests()[1].body, same.into_bytes());
    // Codex's way to bring tools.
    let codex = json!({"model": "m", "store": false, "input": [
        {"type": "additional_tools", "role": "developer", "tools": [{"name": "exec"}]}, user(Wire::Responses, "hello")]})
    .to_string();
    world.ask(Asking::post("/v1/responses", codex.clone()).header("x-throughline-session", "c")).await;
    assert_eq!(world.provider.requests()[2].body, codex.into_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_of_the_cache_stays_behind_all_tools() {
    let world = World::with("Good day.", offering).await;
    let marked = json!({"model": "m", "max_tokens": 9, "messages": [user(Wire::Anthropic, "hello")], "tools": [
        {"name": "Bash", "input_schema": {"type": "object"}},
        {"name": "Read", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}]});
    world.ask(Asking::post("/v1/messages", marked.to_string()).header("x-throughline-session", "a")).await;
    assert_eq!(world.provider.requests()[0].tools(), ["Bash", "Recall", "Read"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_a_call_of_ours_passes_to_the_byte() {
    for (wire, streams) in every_way() {
        let plain = || {
            Answer::text("Recall is a word, \u{e9} too.")
                .thinking("Hm.")
                .call("Bash", json!({}))
                .figures(Figures::Missing)
                .with_comments()
                .in_pieces(7)
        };
        let world = World::with(plain(), offering).await;
        let history = [user(wire, "which port?")];
        let through = world.ask(request(wire, streams, &history)).await;
        let alone = throughline_testkit::Server::start(plain()).unwrap();
        let direct = request(wire, streams, &history).of(alone.address()).await;
        assert_eq!(through.text(), direct.text());
        assert_eq!(through.header("content-type"), direct.header("content-type"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_cut_is_found_again() {
    for wire in WIRES {
        let script = Playlist::new().then("Noted.").then(recall("I look.")).then("It is 4711.");
        let world = World::with(script, |settings| {
            settings.manage.as_mut().unwrap().profile = throughline_core::profile::Profile::claude();
            offering(settings);
            // A window so small that old results are cleared.
            settings.manage.as_mut().unwrap().window = Some(16_000);
        })
        .await;
        let lines = |from: usize| -> String {
            (from..from + 3000).map(|n| format!("line {n} of the log\n")).collect()
        };
        let log = format!("{}the port of the staging host is 4711\n{}", lines(0), lines(3000));
        let mut history = vec![user(wire, "read the log")];
        let (call, result) = match wire {
            Wire::Anthropic => (
                json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat log"}}]}),
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": log}]}),
            ),
            Wire::Responses => (
                json!({"type": "function_call", "call_id": "t1", "name": "Bash", "arguments": "{\"command\":\"cat log\"}"}),
                json!({"type": "function_call_output", "call_id": "t1", "output": log}),
            ),
            Wire::Chat => (
                json!({"role": "assistant", "content": null, "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "Bash", "arguments": "{\"command\":\"cat log\"}"}}]}),
                json!({"role": "tool", "tool_call_id": "t1", "content": log}),
            ),
        };
        history.extend([call, result]);
        let answer = read(wire, true, &world.ask(request(wire, true, &history)).await);
        let history = next(wire, &history, &answer, "which port has the staging host?");
        let answer = read(wire, true, &world.ask(request(wire, true, &history)).await);
        assert!(said(&answer.messages).last().unwrap().ends_with("It is 4711."));
        let asked = world.provider.requests();
        let results: Vec<String> = messages(&asked[2])
            .iter()
            .filter(|message| message.role != Role::Assistant)
            .flat_map(|message| {
                message.results().map(|r| r.content.to_text().into_owned()).collect::<Vec<_>>()
            })
            .collect();
        let ours = results.last().unwrap();
        assert!(ours.starts_with("<record>") && ours.contains("4711"), "{wire:?}: {ours}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_without_a_name_goes_on_behind_a_stitched_answer() {
    for (wire, streams) in every_way() {
        let mixed = Answer::text("Both.")
            .call("Bash", json!({"command": "ls"}))
            .call("Recall", json!({"query": "port"}));
        for (is_mixed, first) in [(false, recall("I look.")), (true, mixed)] {
            let script = Playlist::new().then(first).then("Second.").then("Third.").then("Fourth.");
            let world = World::with(script, offering).await;
            let mut history = vec![user(wire, "which port?")];
            for words in ["and the host?", "thanks", "bye"] {
                let answer = read(wire, streams, &world.ask(unnamed(wire, streams, &history)).await);
                history = next(wire, &history, &answer, words);
            }
            let last = messages(&world.provider.last().unwrap());
            assert!(
                said(&last).contains(&"Recall()".to_owned()),
                "{wire:?} {streams} {is_mixed}: {:?}",
                said(&last)
            );
            assert_eq!(throughline_core::invariants::check(&last), []);
            assert_eq!(
                world.home.ledgers().unwrap().len(),
                1,
                "{wire:?} {streams} {is_mixed}: one conversation"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_that_the_model_drops_are_gone_from_the_next_request() {
    for (wire, streams) in every_way() {
        let script = |seen: &Seen| -> Played {
            let text = String::from_utf8_lossy(&seen.body).into_owned();
            match seen.last_user_text() {
                words if words.starts_with("drop") => {
                    let at = text.find("[id:").unwrap() + 4;
                    let id = &text[at..at + text[at..].find(']').unwrap()];
                    Answer::text("I drop it.").call("Snip", json!({"ids": [id], "reason": "done"})).into()
                }
                words => Answer::text(format!("Said: {}", words.split(" [id").next().unwrap().trim())).into(),
            }
        };
        let world = World::with(script, |settings| {
            settings.manage.as_mut().unwrap().tools = OwnTools { snip: true, recall: false };
        })
        .await;
        let mut history = vec![user(wire, "an old matter")];
        for words in ["drop the old matter", "what is left?"] {
            let answer = read(wire, streams, &world.ask(request(wire, streams, &history)).await);
            assert!(answer.messages.iter().flat_map(Message::calls).next().is_none());
            history = next(wire, &history, &answer, words);
        }
        read(wire, streams, &world.ask(request(wire, streams, &history)).await);
        let asked = world.provider.requests();
        let after = &asked[2];
        assert_eq!(after.tools(), ["Bash", "Snip"]);
        assert!(
            said(&messages(after)).iter().any(|words| words.starts_with("= Dropped")),
            "{:?}",
            said(&messages(after))
        );
        let last = said(&messages(asked.last().unwrap()));
        // What was done for it is gone; what was asked stays (G).
        assert!(last.iter().any(|words| words.contains("an old matter")), "{wire:?} {streams}: {last:?}");
        assert!(last.iter().any(|words| words == "Snip()"));
    }
}
