//! Requests that the provider finds too long are made smaller and sent again; the client does not notice.

use crate::kit::{Asking, Reply, World, proxy_before};
use serde_json::{Value, json};
use throughline_core::profile::Threshold;
use throughline_core::{Event, Record, Wire, invariants};
use throughline_ledger::session;
use throughline_testkit::{
    Answer, Ending, ErrorEvent, Fault, Http, Playlist, Reply as Reply_, Seen, Window, Wording,
};
use throughline_wire::Request;

const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::Responses, Wire::Chat];

/// A conversation of so many turns, of some 270 tokens each, that ends with words of the user.
pub(crate) fn conversation(wire: Wire, turns: usize) -> Value {
    let mut messages = Vec::new();
    for turn in 0..turns {
        let ask = format!("Turn {turn}: look at src/part_{turn}.rs. Never touch file_{turn}.lock.");
        let path = format!("src/part_{turn}.rs");
        let text: String =
            (0..25).map(|line| format!("let value_{turn}_{line} = {};\n", turn * line)).collect();
        let id = format!("call_{turn}");
        match wire {
            Wire::Anthropic => messages.extend([
                json!({"role": "user", "content": ask}),
                json!({"role": "assistant", "content": [
                    {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": path}}]}),
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}),
                json!({"role": "assistant", "content": [{"type": "text", "text": format!("Part {turn} is fine.")}]}),
            ]),
            Wire::Responses => messages.extend([
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": ask}]}),
                json!({"type": "function_call", "call_id": id, "name": "read_file", "arguments": json!({"path": path}).to_string()}),
                json!({"type": "function_call_output", "call_id": id, "output": text}),
                json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": format!("Part {turn} is fine.")}]}),
            ]),
            Wire::Chat => messages.extend([
                json!({"role": "user", "content": ask}),
                json!({"role": "assistant", "content": null, "tool_calls": [
                    {"id": id, "type": "function", "function": {"name": "read_file", "arguments": json!({"path": path}).to_string()}}]}),
                json!({"role": "tool", "tool_call_id": id, "content": text}),
                json!({"role": "assistant", "content": format!("Part {turn} is fine.")}),
            ]),
        }
    }
    messages.push(match wire {
        Wire::Responses => {
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And now?"}]})
        }
        Wire::Anthropic | Wire::Chat => json!({"role": "user", "content": "And now?"}),
    });
    match wire {
        Wire::Anthropic => {
            json!({"model": "claude-sonnet-4-5", "max_tokens": 1000, "system": "Be brief.", "messages": messages})
        }
        Wire::Responses => json!({"model": "gpt-5", "instructions": "Be brief.", "input": messages}),
        Wire::Chat => json!({"model": "gpt-5", "messages": messages}),
    }
}

pub(crate) fn path(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "/v1/messages",
        Wire::Responses => "/v1/responses",
        Wire::Chat => "/v1/chat/completions",
    }
}

fn asking(wire: Wire, body: &Value) -> Asking {
    Asking::post(path(wire), body.to_string()).header("x-throughline-session", "one")
}

fn assert_valid(wire: Wire, seen: &Seen) {
    let request = Request::decode(wire, &seen.body).unwrap();
    let broken = invariants::check(&request.messages);
    assert!(broken.is_empty(), "{broken:?}");
}

/// The events of a name in the one session that there is.
pub(crate) fn events(home: &throughline_ledger::Home, name: &str) -> Vec<Event> {
    let mut events = Vec::new();
    for path in home.ledgers().unwrap() {
        session::each_record(home, &path, &mut |_, record| {
            if let Record::Event(event) = record
                && event.name == name
            {
                events.push(*event);
            }
            Ok::<_, throughline_ledger::LedgerError>(())
        })
        .unwrap();
    }
    events
}

fn said(reply: &Reply) -> bool {
    reply.status == 200 && reply.text().contains("Good day.")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_is_too_long_is_cured_on_every_wire() {
    for wire in WIRES {
        let script = Window { limit: 8_000, wording: wording(wire), script: Answer::text("Good day.") };
        let world = World::new(script).await;
        let reply = world.ask(asking(wire, &conversation(wire, 50))).await;
        assert!(said(&reply), "{wire:?}: {}", reply.text());
        let seen = world.provider.requests();
        assert_eq!(seen.len(), 2, "{wire:?}");
        assert!(seen[0].tokens > 8_000 && seen[1].tokens <= 8_000, "{wire:?}");
        assert_valid(wire, &seen[1]);
        let sent = String::from_utf8(seen[1].body.clone()).unwrap();
        assert!(sent.contains("And now?") && sent.contains("file_49.lock"), "{wire:?}: what binds is there");
        let cured = &events(&world.home, "proxy.cured");
        assert_eq!(cured.len(), 1);
        assert_eq!(cured[0].data["window"], 8_000, "{wire:?}");
        assert_eq!(cured[0].data["sent_again"], true);
    }
}

/// A wording with figures that each wire has.
fn wording(wire: Wire) -> Wording {
    match wire {
        Wire::Anthropic => Wording::Anthropic,
        Wire::Responses | Wire::Chat => Wording::OpenAiMessages,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_learnt_holds_for_the_session_and_after_a_restart() {
    let wire = Wire::Anthropic;
    let script = Window { limit: 8_000, wording: Wording::Anthropic, script: Answer::text("Good day.") };
    let world = World::new(script).await;
    assert!(said(&world.ask(asking(wire, &conversation(wire, 50))).await));
    // So much more that the cured request would be too long again, if the window were not known.
    assert!(said(&world.ask(asking(wire, &conversation(wire, 75))).await));
    assert_eq!(events(&world.home, "proxy.cured").len(), 1, "the next one is made small in time");
    let home = world.home.clone();
    world.proxy.stop().await;
    let (proxy, _home) =
        proxy_before(world.provider.address(), |settings| settings.home = home.clone()).await;
    let reply = asking(wire, &conversation(wire, 110)).of(proxy.address()).await;
    assert!(said(&reply), "{}", reply.text());
    assert_eq!(events(&home, "proxy.cured").len(), 1, "an earlier run told of it");
    assert!(world.provider.requests().iter().skip(1).all(|seen| seen.tokens <= 8_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_provider_is_understood() {
    for wording in Wording::ALL {
        let wire = match wording {
            Wording::Anthropic | Wording::Bedrock => Wire::Anthropic,
            Wording::AnthropicSum => continue,
            Wording::OpenAiStream | Wording::OpenAiInput => Wire::Responses,
            _ => Wire::Chat,
        };
        let refused = Playlist::new().then(Fault::too_long(wording)).forever(Answer::text("Good day."));
        let world = World::with(refused, |settings| {
            // A refusal without a word is about the size only where the window is nearly full.
            if wording == Wording::Silent {
                let managing = settings.manage.as_mut().unwrap();
                managing.window = Some(12_000);
                let limits = managing.profile.compact.as_mut().unwrap();
                (limits.threshold, limits.early_share) = (Threshold::Share(1.0), None);
            }
        })
        .await;
        let reply = world.ask(asking(wire, &conversation(wire, 50))).await;
        let seen = world.provider.requests();
        assert!(said(&reply), "{wording:?}: {} of {} tokens", reply.status, seen[0].tokens);
        assert_eq!(seen.len(), 2, "{wording:?}");
        assert!(seen[1].body.len() < seen[0].body.len(), "{wording:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_large_is_cured_too() {
    for wire in WIRES {
        let refused = Playlist::new().then(Fault::TooLarge).forever(Answer::text("Good day."));
        let world = World::new(refused).await;
        assert!(said(&world.ask(asking(wire, &conversation(wire, 40))).await), "{wire:?}");
        assert_eq!(world.provider.requests().len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_not_be_cured_is_told_as_it_came() {
    let wire = Wire::Anthropic;
    let refusals: [(&str, Fault); 4] = [
        ("it goes on", Fault::too_long(Wording::Anthropic)),
        ("the answer is too long, not the prompt", Fault::too_long(Wording::AnthropicSum)),
        ("something else is wrong", Fault::Invalid),
        ("the key is wrong", Fault::Unauthorized),
    ];
    for (why, fault) in refusals {
        let persists = matches!(&fault, Fault::TooLong(too_long) if too_long.wording == Wording::Anthropic);
        let world = World::new(fault.clone()).await;
        let ask = asking(wire, &conversation(wire, 40));
        let through = world.ask(ask.clone()).await;
        let alone = throughline_testkit::Server::start(fault).unwrap();
        let direct = ask.of(alone.address()).await;
        assert_eq!(through.status, direct.status, "{why}");
        let of = |reply: &Reply| -> Value { serde_json::from_slice(&reply.body).unwrap() };
        assert_eq!(of(&through)["error"], of(&direct)["error"], "{why}");
        let asked = world.provider.requests();
        let most = if persists { 3 } else { 1 };
        assert!(asked.len() <= most, "{why}: asked {} times", asked.len());
        for pair in asked.windows(2) {
            assert!(pair[1].body.len() < pair[0].body.len(), "{why}: each is smaller");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_without_a_word_of_a_short_request_is_the_clients() {
    let silent = Http { status: 400, headers: Vec::new(), body: Vec::new() };
    let world = World::new(throughline_testkit::Reply::from(silent)).await;
    let reply = world.ask(asking(Wire::Chat, &conversation(Wire::Chat, 40))).await;
    assert_eq!((reply.status, reply.body.len()), (400, 0));
    assert_eq!(world.provider.requests().len(), 1);
}

/// A window of which fifty turns fill more than half, and nothing is done about that.
fn half_full(wire: Wire, settings: &mut throughline_server::Settings) {
    let window = match wire {
        Wire::Anthropic => 30_000,
        Wire::Responses | Wire::Chat => 18_000,
    };
    let managing = settings.manage.as_mut().unwrap();
    managing.window = Some(window);
    let limits = managing.profile.compact.as_mut().unwrap();
    (limits.threshold, limits.early_share) = (Threshold::Share(1.0), None);
}

/// A conversation that is to be streamed.
fn streaming(wire: Wire, turns: usize) -> Value {
    let mut body = conversation(wire, turns);
    body["stream"] = true.into();
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_begins_with_the_refusal_is_cured_before_the_client_sees_any_of_it() {
    for (wire, after) in
        [(Wire::Responses, 1), (Wire::Responses, 2), (Wire::Anthropic, 0), (Wire::Anthropic, 1)]
    {
        let fault = Fault::ErrorAfter(after, ErrorEvent::TooLong);
        let refused = Playlist::new().then(fault).forever(Answer::text("Good day."));
        let world = World::with(refused, |settings| half_full(wire, settings)).await;
        let reply = world.ask(asking(wire, &streaming(wire, 50))).await;
        let text = reply.text();
        assert!(reply.is_whole && text.contains("Good day"), "{wire:?} {after}: {text}");
        assert!(!text.contains("context_length") && !text.contains("too long"), "{wire:?} {after}: {text}");
        let begins = text.matches("event: response.created\n").count()
            + text.matches("event: message_start\n").count();
        assert_eq!(begins, 1, "{wire:?} {after}: {text}");
        let seen = world.provider.requests();
        assert_eq!(seen.len(), 2, "{wire:?} {after}");
        assert!(seen[1].body.len() < seen[0].body.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_was_held_back_is_given_to_the_byte() {
    let faults = [
        Reply_::from(Answer::text("Good day.")),
        Fault::ErrorAfter(3, ErrorEvent::TooLong).into(),
        Fault::ErrorAfter(1, ErrorEvent::Overloaded).into(),
        Fault::CutAfterEvents(1, Ending::Abrupt).into(),
        Fault::CutAfterEvents(1, Ending::Clean).into(),
        Fault::CutAfterEvents(4, Ending::Abrupt).into(),
    ];
    for fault in faults {
        for wire in WIRES {
            let world = World::with(fault.clone(), |settings| half_full(wire, settings)).await;
            let ask = asking(wire, &streaming(wire, 50));
            let through = world.ask(ask.clone()).await;
            let alone = throughline_testkit::Server::start(fault.clone()).unwrap();
            let direct = ask.of(alone.address()).await;
            assert_eq!(through.is_whole, direct.is_whole, "{wire:?} {fault:?}");
            assert_eq!(through.text(), direct.text(), "{wire:?} {fault:?}");
        }
    }
}
