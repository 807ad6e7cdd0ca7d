//! Several answers of the model become one for the client, and what the model said comes back in later requests.

use crate::arbitrary::{any_response, more, wire};
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};
use throughline_core::{Block, Body, Message, Role, Wire};
use throughline_wire::sse::{Event, Parser};
use throughline_wire::stitch::{Ending, Expander, Form, OwnResult, Stitched, Stitcher};
use throughline_wire::stream::{StreamDecoder, events};
use throughline_wire::{Response, Stop, encode_messages, splice};

const OWN: &[&str] = &["Recall", "Snip"];

/// A part of an answer.
#[derive(Clone, Debug)]
enum Unit {
    Thinking(String),
    Text(String),
    Call(&'static str),
}

/// An answer of the model in a wire's own form. `n` keeps ids apart.
fn answer(wire: Wire, n: usize, units: &[Unit], stop: Option<&str>) -> Value {
    let calls = units.iter().any(|unit| matches!(unit, Unit::Call(_)));
    match wire {
        Wire::Anthropic => {
            let content: Vec<Value> = units
                .iter()
                .enumerate()
                .map(|(at, unit)| match unit {
                    Unit::Thinking(text) => {
                        json!({"type": "thinking", "thinking": text, "signature": format!("s{n}{at}")})
                    }
                    Unit::Text(text) => json!({"type": "text", "text": text}),
                    Unit::Call(name) => {
                        json!({"type": "tool_use", "id": format!("c{n}{at}"), "name": name, "input": {"query": "x"}})
                    }
                })
                .collect();
            json!({
                "id": format!("msg_{n}"), "type": "message", "role": "assistant", "model": "m", "content": content,
                "stop_reason": stop.unwrap_or(if calls { "tool_use" } else { "end_turn" }), "stop_sequence": null,
                "usage": {"input_tokens": 100 * (n + 1), "cache_read_input_tokens": 7 * n, "output_tokens": 10 + n},
            })
        }
        Wire::Responses => {
            let output: Vec<Value> = units
                .iter()
                .enumerate()
                .map(|(at, unit)| match unit {
                    // The same id in each answer, as some servers have it.
                    Unit::Thinking(text) => json!({
                        "type": "reasoning", "id": format!("rs_{at}"), "summary": [{"type": "summary_text", "text": text}],
                        "encrypted_content": format!("e{n}{at}"),
                    }),
                    Unit::Text(text) => json!({
                        "type": "message", "id": format!("msg_{at}"), "status": "completed", "role": "assistant",
                        "content": [{"type": "output_text", "text": text, "annotations": []}],
                    }),
                    Unit::Call(name) => json!({
                        "type": "function_call", "id": format!("fc_{n}_{at}"), "call_id": format!("c{n}{at}"), "name": name,
                        "arguments": "{\"query\":\"x\"}", "status": "completed",
                    }),
                })
                .collect();
            let (input, written) = (100 * (n + 1), 10 + n);
            json!({
                "id": format!("resp_{n}"), "object": "response", "created_at": n, "status": stop.unwrap_or("completed"),
                "error": null, "model": "m", "output": output,
                "usage": {"input_tokens": input, "input_tokens_details": {"cached_tokens": 7 * n}, "output_tokens": written,
                    "output_tokens_details": {"reasoning_tokens": 1}, "total_tokens": input + written},
            })
        }
        Wire::Chat => {
            let text: Vec<&str> = units
                .iter()
                .filter_map(|unit| match unit {
                    Unit::Text(text) => Some(text.as_str()),
                    Unit::Thinking(_) | Unit::Call(_) => None,
                })
                .collect();
            let text = text.concat();
            let mut message = json!({"role": "assistant", "content": if text.is_empty() { Value::Null } else { text.into() }});
            let made: Vec<Value> = units
                .iter()
                .enumerate()
                .filter_map(|(at, unit)| match unit {
                    Unit::Call(name) => Some(json!({"id": format!("c{n}{at}"), "type": "function",
                        "function": {"name": name, "arguments": "{\"query\":\"x\"}"}})),
                    Unit::Text(_) | Unit::Thinking(_) => None,
                })
                .collect();
            if calls {
                message["tool_calls"] = made.into();
            }
            let reason = stop.unwrap_or(if calls { "tool_calls" } else { "stop" });
            let (input, written) = (100 * (n + 1), 10 + n);
            json!({
                "id": format!("chat-{n}"), "object": "chat.completion", "created": n, "model": "m",
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": {"prompt_tokens": input, "completion_tokens": written, "total_tokens": input + written,
                    "prompt_tokens_details": {"cached_tokens": 7 * n}},
            })
        }
    }
}

fn bytes(wire: Wire, form: Form, body: &Value) -> Vec<u8> {
    match form {
        Form::Whole => body.to_string().into_bytes(),
        Form::Streamed => {
            let mut out = Vec::new();
            let response = Response::from_value(wire, body.clone()).unwrap();
            events(&response).iter().for_each(|event| event.write(&mut out));
            out
        }
    }
}

fn decode(wire: Wire, form: Form, bytes: &[u8]) -> Response {
    match form {
        Form::Whole => Response::decode(wire, bytes).unwrap(),
        Form::Streamed => {
            let mut decoder = StreamDecoder::new(wire);
            for event in parse(bytes) {
                decoder.push(&event).unwrap();
            }
            decoder.finish()
        }
    }
}

fn parse(bytes: &[u8]) -> Vec<Event> {
    let mut events = Vec::new();
    Parser::default().push(bytes, &mut events).unwrap();
    events
}

/// Gives bytes in pieces of these sizes, over and over.
fn feed(stitcher: &mut Stitcher, bytes: &[u8], sizes: &[usize], out: &mut Vec<u8>) {
    let mut rest = bytes;
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let (piece, more) = rest.split_at((*sizes.next().unwrap()).clamp(1, rest.len()));
        stitcher.push(piece, out);
        rest = more;
    }
}

/// All the blocks of an answer; Chat's texts as one.
fn blocks(response: &Response) -> Vec<Body> {
    let is_said = |body: &Body| !matches!(body, Body::Text(text) if text.is_empty());
    response
        .messages
        .iter()
        .flat_map(|message| &message.blocks)
        .map(|block| block.body.clone())
        .filter(is_said)
        .collect()
}

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![Just(Form::Streamed), Just(Form::Whole)]
}

fn text() -> impl Strategy<Value = String> {
    "[a-zé ]{1,20}".prop_map(|text| format!("Recall {text}"))
}

/// An answer that waits for us alone.
fn ours() -> impl Strategy<Value = Vec<Unit>> {
    (prop::option::of(text()), prop::option::of(text()), 1..3usize).prop_map(|(thinking, said, calls)| {
        let mut units: Vec<Unit> = thinking.map(Unit::Thinking).into_iter().collect();
        units.extend(said.map(Unit::Text));
        units.extend((0..calls).map(|n| Unit::Call(OWN[n % 2])));
        units
    })
}

/// The last answer: words, calls of the client's, and of ours among them.
fn last() -> impl Strategy<Value = Vec<Unit>> {
    let calls = prop::collection::vec(prop::sample::select(vec!["Bash", "Recall", "Read"]), 0..4);
    (prop::option::of(text()), text(), calls).prop_map(|(thinking, said, calls)| {
        let mut units: Vec<Unit> = thinking.map(Unit::Thinking).into_iter().collect();
        units.push(Unit::Text(said));
        let is_mixed = calls.iter().any(|name| *name != "Recall");
        units.extend(calls.into_iter().filter(|name| is_mixed || *name != "Recall").map(Unit::Call));
        units
    })
}

fn is_own(unit: &Unit) -> bool {
    matches!(unit, Unit::Call(name) if OWN.contains(name))
}

/// What the client should have been told.
fn expected(wire: Wire, rounds: &[Vec<Unit>]) -> Vec<Body> {
    let mut all = Vec::new();
    let mut text = String::new();
    for (n, units) in rounds.iter().enumerate() {
        let body = answer(wire, n, units, None);
        let said = Response::from_value(wire, body).unwrap();
        for body in blocks(&said) {
            match body {
                Body::ToolCall(call) if OWN.contains(&call.name.as_str()) => {}
                Body::Text(more) if wire == Wire::Chat => {
                    let apart = text.ends_with(|c: char| !c.is_whitespace())
                        && !more.starts_with(char::is_whitespace);
                    text.push_str(if apart { "\n\n" } else { "" });
                    text.push_str(&more);
                }
                body => all.push(body),
            }
        }
    }
    if !text.is_empty() {
        all.insert(0, Body::Text(text));
    }
    all
}

struct Told {
    out: Vec<u8>,
    stitched: Stitched,
    /// The model's own answers, and our results, as they were sent.
    sent: Vec<Value>,
}

fn results(calls: &[throughline_core::ToolCall]) -> Vec<OwnResult> {
    calls
        .iter()
        .map(|call| OwnResult {
            call: call.id.clone(),
            text: format!("result of {}", call.id),
            is_error: false,
        })
        .collect()
}

/// Plays some answers to a request.
fn play(wire: Wire, form: Form, rounds: &[Vec<Unit>], sizes: &[usize]) -> Told {
    let request = splice::Body::parse(wire, request(wire, &[]).to_string()).unwrap();
    let mut stitcher = Stitcher::new(wire, form, OWN);
    let mut stitched = Stitched::to(&request);
    let mut out = Vec::new();
    for (n, units) in rounds.iter().enumerate() {
        let body = answer(wire, n, units, None);
        feed(&mut stitcher, &bytes(wire, form, &body), sizes, &mut out);
        match stitcher.end(&mut out) {
            Ending::Ours(round) => {
                assert!(n + 1 < rounds.len());
                assert_eq!(round.response.messages, Response::from_value(wire, body).unwrap().messages);
                stitched.go_on(&round, &results(&round.calls));
                stitcher.go_on();
            }
            Ending::Mixed(round) => stitched.end_mixed(&round, &results(&round.calls)),
            Ending::Over(Some(last)) => stitched.end(&last),
            Ending::Over(None) => assert_eq!(n, 0),
            Ending::Broken => panic!("broken"),
        }
    }
    let sent = stitched.elements().iter().map(|f| serde_json::from_slice(f.bytes()).unwrap()).collect();
    Told { out, stitched, sent }
}

/// A request with more behind it.
fn request(wire: Wire, more: &[Value]) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "look it up"})];
    messages.extend_from_slice(more);
    match wire {
        Wire::Anthropic => json!({"model": "m", "max_tokens": 9, "messages": messages}),
        Wire::Responses => json!({"model": "m", "store": false, "input": messages}),
        Wire::Chat => json!({"model": "m", "messages": messages}),
    }
}

fn conversation(wire: Wire, body: &[u8]) -> Vec<Message> {
    throughline_wire::Request::decode(wire, body).unwrap().messages
}

/// The client's results for its own calls.
fn answers(wire: Wire, response: &Response) -> Vec<Value> {
    let results: Vec<OwnResult> =
        results(&response.messages.iter().flat_map(|message| message.calls()).cloned().collect::<Vec<_>>());
    let block = |result: &OwnResult| match wire {
        Wire::Anthropic => {
            json!({"type": "tool_result", "tool_use_id": result.call.as_str(), "content": result.text})
        }
        Wire::Responses => {
            json!({"type": "function_call_output", "call_id": result.call.as_str(), "output": result.text})
        }
        Wire::Chat => json!({"role": "tool", "tool_call_id": result.call.as_str(), "content": result.text}),
    };
    let all: Vec<Value> = results.iter().map(block).collect();
    match wire {
        Wire::Anthropic if all.is_empty() => vec![json!({"role": "user", "content": "go on"})],
        Wire::Anthropic => vec![json!({"role": "user", "content": all})],
        Wire::Responses | Wire::Chat => all,
    }
}

proptest! {
    #![proptest_config(more(2))]

    #[test]
    fn p8_what_calls_none_of_our_tools_passes_to_the_byte(
        (wire, body) in any_response(), form in form(), sizes in prop::collection::vec(1..40usize, 1..4),
    ) {
        let given = bytes(wire, form, &body);
        let mut stitcher = Stitcher::new(wire, form, OWN);
        let mut out = Vec::new();
        feed(&mut stitcher, &given, &sizes, &mut out);
        prop_assert_eq!(stitcher.end(&mut out), Ending::Over(None));
        prop_assert_eq!(out, given);
    }

    #[test]
    fn p8_any_bytes_pass_as_they_are(
        wire in wire(), form in form(), text in "(data|event|: )?[\\r\\n:a-z{}\\\\u0\"]{0,60}", sizes in prop::collection::vec(1..9usize, 1..4),
    ) {
        let mut stitcher = Stitcher::new(wire, form, OWN);
        let mut out = Vec::new();
        feed(&mut stitcher, text.as_bytes(), &sizes, &mut out);
        prop_assert_eq!(stitcher.end(&mut out), Ending::Over(None));
        prop_assert_eq!(out, text.as_bytes());
    }

    #[test]
    fn p8_several_answers_are_one_for_the_client(
        wire in wire(), form in form(), before in prop::collection::vec(ours(), 0..3), last in last(),
        sizes in prop::collection::vec(1..60usize, 1..4),
    ) {
        let rounds: Vec<Vec<Unit>> = before.into_iter().chain([last]).collect();
        let told = play(wire, form, &rounds, &sizes);
        prop_assert_eq!(&told.out, &play(wire, form, &rounds, &[usize::MAX]).out, "however it is cut");
        let response = decode(wire, form, &told.out);
        prop_assert_eq!(blocks(&response), expected(wire, &rounds));
        let n = rounds.len() - 1;
        let first = answer(wire, 0, &rounds[0], None);
        prop_assert_eq!(response.envelope.get("id"), first.get("id"));
        let waits = rounds[n].iter().any(|unit| matches!(unit, Unit::Call(_)) && !is_own(unit));
        prop_assert_eq!(&response.stop, if waits { &Stop::ToolUse } else { &Stop::EndTurn });
        // What was read is what the last request found; what was written is everything.
        prop_assert_eq!(response.usage.prompt(), match wire {
            Wire::Anthropic => 100 * (n as u64 + 1) + 7 * n as u64,
            Wire::Responses | Wire::Chat => 100 * (n as u64 + 1),
        });
        prop_assert_eq!(response.usage.output, (0..=n as u64).map(|n| 10 + n).sum::<u64>());
        let text = String::from_utf8(told.out.clone()).unwrap();
        prop_assert!(!text.contains("\"name\":\"Recall\"") && !text.contains("\"name\":\"Snip\""));
        if form == Form::Streamed {
            in_order(wire, &told.out);
        }
    }

    #[test]
    fn p8_an_answer_that_is_given_up_has_a_valid_end(
        wire in wire(), form in form(), rounds in prop::collection::vec(ours(), 1..4), sizes in prop::collection::vec(1..60usize, 1..4),
    ) {
        let mut stitcher = Stitcher::new(wire, form, OWN);
        let mut out = Vec::new();
        for (n, units) in rounds.iter().enumerate() {
            if n > 0 {
                stitcher.go_on();
            }
            feed(&mut stitcher, &bytes(wire, form, &answer(wire, n, units, None)), &sizes, &mut out);
            prop_assert!(matches!(stitcher.end(&mut out), Ending::Ours(_)));
        }
        stitcher.give_up(&mut out);
        let response = decode(wire, form, &out);
        prop_assert_eq!(blocks(&response), expected(wire, &rounds));
        prop_assert_eq!(response.stop, Stop::EndTurn);
    }

    #[test]
    fn p8_what_the_model_said_comes_back_when_the_client_repeats_the_answer(
        wire in wire(), form in form(), before in prop::collection::vec(ours(), 0..3), last in last(), keep in any::<bool>(),
    ) {
        let rounds: Vec<Vec<Unit>> = before.into_iter().chain([last]).collect();
        let told = play(wire, form, &rounds, &[usize::MAX]);
        let mut response = decode(wire, form, &told.out);
        if !keep {
            // Some clients do not repeat reasoning.
            for message in &mut response.messages {
                message.blocks.retain(|block| !matches!(block.body, Body::Reasoning { .. }));
            }
            response.messages.retain(|message| !message.blocks.is_empty());
        }
        let mut more = encode_messages(wire, &response.messages);
        more.extend(answers(wire, &response));
        more.push(json!({"role": "user", "content": "and now?"}));
        let body = request(wire, &more).to_string();
        let mut expander = Expander::default();
        expander.learn(serde_json::from_value(serde_json::to_value(&told.stitched).unwrap()).unwrap());
        let stitched = rounds.iter().flatten().any(is_own);
        let expanded = expander.expand(&Bytes::from(body.clone()), wire).unwrap();
        prop_assert_eq!(expanded.is_some(), stitched);
        let Some(expanded) = expanded else { return Ok(()) };
        // It begins with what was sent to the model before, and no call is without its result.
        let messages = conversation(wire, &expanded);
        let first = throughline_wire::Request::from_value(wire, request(wire, &told.sent)).unwrap().messages;
        let plain = |message: &Message| (message.role, message.blocks.iter().map(|b| b.body.clone()).filter(|b| keep || !matches!(b, Body::Reasoning { .. })).collect::<Vec<_>>());
        let kept = |messages: &[Message]| messages.iter().map(plain).filter(|(_, blocks)| !blocks.is_empty()).collect::<Vec<_>>();
        prop_assert!(kept(&messages).starts_with(&kept(&first)), "{:#?}\n{:#?}", messages, first);
        prop_assert_eq!(throughline_core::invariants::check(&messages), vec![]);
        // Everything the client said is still there, in order.
        let said = |messages: &[Message]| messages.iter().filter(|m| m.role == Role::User && m.results().next().is_none()).map(Message::to_text).collect::<Vec<_>>();
        prop_assert_eq!(said(&messages), said(&conversation(wire, body.as_bytes())));
        // The same again, with more behind it and the marks moved.
        let again = expander.expand(&Bytes::from(body.clone()), wire).unwrap().unwrap();
        prop_assert_eq!(&again, &expanded);
        more.push(json!({"role": "assistant", "content": "Yes."}));
        more.push(json!({"role": "user", "content": [{"type": if wire == Wire::Responses { "input_text" } else { "text" }, "text": "good"}]}));
        let longer = request(wire, &more).to_string();
        let next = expander.expand(&Bytes::from(longer.clone()), wire).unwrap().unwrap();
        let mut fresh = Expander::default();
        fresh.learn(told.stitched.clone());
        prop_assert_eq!(&next, &fresh.expand(&Bytes::from(longer.clone()), wire).unwrap().unwrap(), "remembering changes nothing");
        prop_assert!(conversation(wire, &next).iter().map(plain).collect::<Vec<_>>().starts_with(&messages.iter().map(plain).collect::<Vec<_>>()));
    }
}

/// Places and numbers of a stream count up by one.
fn in_order(wire: Wire, out: &[u8]) {
    let data: Vec<Value> =
        parse(out).iter().filter_map(|event| serde_json::from_str(&event.data).ok()).collect();
    let of = |kind: &str| data.iter().filter(|data| data["type"] == kind).collect::<Vec<_>>();
    match wire {
        Wire::Anthropic => {
            for (n, start) in of("content_block_start").iter().enumerate() {
                assert_eq!(start["index"], n);
            }
            for kind in ["message_start", "message_delta", "message_stop"] {
                assert_eq!(of(kind).len(), 1, "{kind}");
            }
        }
        Wire::Responses => {
            for (n, event) in data.iter().enumerate() {
                assert_eq!(event["sequence_number"], n, "{event}");
            }
            let added = of("response.output_item.added");
            for (n, event) in added.iter().enumerate() {
                assert_eq!(event["output_index"], n);
            }
            let done = of("response.completed");
            assert_eq!(done.len(), 1);
            let items: Vec<&Value> =
                of("response.output_item.done").iter().map(|event| &event["item"]).collect();
            assert_eq!(done[0]["response"]["output"].as_array().unwrap().iter().collect::<Vec<_>>(), items);
            let ids: std::collections::HashSet<&str> =
                items.iter().map(|item| item["id"].as_str().unwrap()).collect();
            assert_eq!(ids.len(), items.len(), "no id twice");
        }
        Wire::Chat => {
            assert!(data.iter().all(|chunk| chunk["id"] == "chat-0" && chunk["created"] == 0));
            let reasons =
                data.iter().filter(|chunk| chunk["choices"][0]["finish_reason"].is_string()).count();
            assert_eq!(reasons, 1);
            let done = parse(out).iter().filter(|event| event.data == "[DONE]").count();
            assert_eq!(done, 1);
        }
    }
}

#[test]
fn a_call_that_was_cut_off_with_its_answer_is_taken_out_and_the_end_stays_as_it_was() {
    let units = [Unit::Text("I look.".into()), Unit::Call("Recall")];
    for (wire, stop) in
        [(Wire::Anthropic, "max_tokens"), (Wire::Responses, "incomplete"), (Wire::Chat, "length")]
    {
        for form in [Form::Streamed, Form::Whole] {
            let mut body = answer(wire, 0, &units, Some(stop));
            if wire == Wire::Responses {
                body["incomplete_details"] = json!({"reason": "max_output_tokens"});
            }
            let mut stitcher = Stitcher::new(wire, form, OWN);
            let mut out = Vec::new();
            feed(&mut stitcher, &bytes(wire, form, &body), &[7], &mut out);
            assert!(matches!(stitcher.end(&mut out), Ending::Over(Some(_))));
            let response = decode(wire, form, &out);
            assert_eq!(response.stop, Stop::MaxTokens, "{wire:?}");
            assert_eq!(blocks(&response), [Body::Text("I look.".into())]);
        }
    }
}

#[test]
fn a_stream_that_breaks_off_shows_nothing_of_our_call() {
    let units = [Unit::Text("I look.".into()), Unit::Call("Recall"), Unit::Call("Bash")];
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat] {
        let whole = bytes(wire, Form::Streamed, &answer(wire, 0, &units, None));
        for end in 0..whole.len() {
            let mut stitcher = Stitcher::new(wire, Form::Streamed, OWN);
            let mut out = Vec::new();
            stitcher.push(&whole[..end], &mut out);
            stitcher.end(&mut out);
            let mut decoder = StreamDecoder::new(wire);
            for event in parse(&out) {
                decoder.push(&event).unwrap();
            }
            let told = decoder.finish();
            assert!(
                told.messages.iter().flat_map(Message::calls).all(|call| call.name == "Bash"),
                "{wire:?} {end}"
            );
        }
    }
}

#[test]
fn an_answer_that_stands_behind_other_words_is_another_answer() {
    let rounds = vec![vec![Unit::Call("Recall")], vec![Unit::Text("Done.".into())]];
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat] {
        let told = play(wire, Form::Whole, &rounds, &[9]);
        let mut expander = Expander::default();
        assert!(expander.is_empty());
        expander.learn(told.stitched);
        let answer = encode_messages(wire, &[Message::new(Role::Assistant, vec![Block::text("Done.")])]);
        let mut more = answer.clone();
        more.push(json!({"role": "user", "content": "another thing"}));
        more.extend(answer);
        more.push(json!({"role": "user", "content": "thanks"}));
        let expanded =
            expander.expand(&Bytes::from(request(wire, &more).to_string()), wire).unwrap().unwrap();
        let calls = conversation(wire, &expanded).iter().flat_map(Message::calls).count();
        assert_eq!(calls, 1, "{wire:?}: only the first of the two was made of several");
        more[0]["content"] = json!("Done, and more.");
        let body = request(wire, &more).to_string();
        assert_eq!(expander.expand(&Bytes::from(body.clone()), wire).unwrap(), None, "the client changed it");
    }
}

#[test]
fn p4_a_large_event_passes_unseen_and_what_follows_is_looked_at() {
    let large = format!("event: ping\ndata: {}\nid: 1\n\n", "x".repeat(5_000));
    for sizes in [&[1][..], &[7], &[4_000], &[usize::MAX]] {
        let units = [Unit::Text("I look.".into()), Unit::Call("Recall")];
        let mut all = large.clone().into_bytes();
        all.extend(bytes(Wire::Anthropic, Form::Streamed, &answer(Wire::Anthropic, 0, &units, None)));
        let mut stitcher = Stitcher::new(Wire::Anthropic, Form::Streamed, OWN).limit(1 << 20, 2_000);
        let mut out = Vec::new();
        feed(&mut stitcher, &all, sizes, &mut out);
        assert!(stitcher.is_forgotten() || sizes == [usize::MAX], "{sizes:?}");
        assert!(!stitcher.has_overflowed());
        stitcher.end(&mut out);
        assert!(out.starts_with(large.as_bytes()), "{sizes:?}: to the byte");
        assert!(!String::from_utf8_lossy(&out).contains("Recall"), "{sizes:?}");
    }
}

#[test]
fn p4_a_large_event_that_may_hold_a_call_of_ours_ends_the_stream() {
    let call = format!(r#"data: {{"type":"content_block_start","name":"Recall","x":"{}"#, "x".repeat(5_000));
    let mut stitcher = Stitcher::new(Wire::Anthropic, Form::Streamed, OWN).limit(1 << 20, 2_000);
    let mut out = Vec::new();
    feed(&mut stitcher, call.as_bytes(), &[100], &mut out);
    assert!(stitcher.has_overflowed() && out.is_empty());
}
