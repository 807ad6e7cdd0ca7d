//! JSON as providers and clients write it, and as they should not: unknown keys, odd orders, wrong types, missing keys.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::Union;
use serde_json::{Map, Value, json};
use throughline_core::Wire;

/// Times the usual number of cases, which `PROPTEST_CASES` sets.
pub(crate) fn more(times: u32) -> ProptestConfig {
    ProptestConfig::with_cases(ProptestConfig::default().cases * times)
}

pub(crate) fn wire() -> impl Strategy<Value = Wire> {
    prop_oneof![Just(Wire::Anthropic), Just(Wire::Responses), Just(Wire::Chat)]
}

pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-z 日本é\\n\"\\\\]{1,12}",
        1 => Just(String::new()),
        1 => Just("data:image/png;base64,AAAA".to_owned()),
    ]
}

/// Any JSON.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((key(), inner), 0..4).prop_map(|pairs| pairs.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

/// Keys that mean something somewhere, and keys that do not.
fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => "[a-d]{1,2}",
        1 => prop::sample::select(vec![
            "type", "role", "content", "text", "id", "call_id", "source", "data", "function", "arguments", "source.data",
            "function.name", "", "in", "is",
        ]).prop_map(str::to_owned),
    ]
}

#[derive(Clone, Debug)]
enum Twist {
    Remove(usize),
    Replace(usize, Value),
    Insert(usize, String, Value),
    Last(usize),
}

fn twist() -> impl Strategy<Value = Twist> {
    prop_oneof![
        1 => (0..6usize).prop_map(Twist::Remove),
        1 => (0..6usize, value()).prop_map(|(at, value)| Twist::Replace(at, value)),
        3 => (0..6usize, key(), value()).prop_map(|(at, key, value)| Twist::Insert(at, key, value)),
        3 => (0..6usize).prop_map(Twist::Last),
    ]
}

fn apply(object: Value, twist: Twist) -> Value {
    let Value::Object(map) = object else { return object };
    let mut pairs: Vec<(String, Value)> = map.into_iter().collect();
    let n = pairs.len().max(1);
    match twist {
        Twist::Remove(at) if !pairs.is_empty() => drop(pairs.remove(at % n)),
        Twist::Replace(at, value) if !pairs.is_empty() => pairs[at % n].1 = value,
        Twist::Last(at) if !pairs.is_empty() => {
            let pair = pairs.remove(at % n);
            pairs.push(pair);
        }
        Twist::Insert(at, key, value) => pairs.insert(at % (n + 1).min(pairs.len() + 1), (key, value)),
        Twist::Remove(_) | Twist::Replace(..) | Twist::Last(_) => {}
    }
    pairs.into_iter().collect::<Map<_, _>>().into()
}

/// An object as it should be, most of the time.
fn odd(object: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let twists = prop_oneof![4 => Just(Vec::new()), 2 => vec(twist(), 1..3)];
    (object, twists).prop_map(|(object, twists)| twists.into_iter().fold(object, apply))
}

fn one_of(all: Vec<BoxedStrategy<Value>>) -> Union<BoxedStrategy<Value>> {
    Union::new(all)
}

fn id() -> impl Strategy<Value = String> {
    "call_[a-c]"
}

fn list(item: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    vec(item, 0..4).prop_map(Value::from)
}

/// A string or a list.
fn content(part: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop_oneof![1 => text().prop_map(Value::from), 2 => list(part)]
}

mod anthropic {
    use super::*;

    fn source() -> impl Strategy<Value = Value> {
        odd(one_of(vec![
            text().prop_map(|t| json!({"type": "base64", "media_type": "image/png", "data": t})).boxed(),
            text().prop_map(|t| json!({"type": "base64", "data": t, "media_type": "image/png"})).boxed(),
            text().prop_map(|t| json!({"type": "url", "url": t})).boxed(),
            text().prop_map(|t| json!({"type": "file", "file_id": t})).boxed(),
            text().prop_map(|t| json!({"type": "text", "media_type": "text/plain", "data": t})).boxed(),
        ]))
    }

    fn leaf() -> impl Strategy<Value = Value> {
        odd(one_of(vec![
            text().prop_map(|t| json!({"type": "text", "text": t})).boxed(),
            text()
                .prop_map(|t| json!({"type": "text", "text": t, "cache_control": {"type": "ephemeral"}}))
                .boxed(),
            source().prop_map(|s| json!({"type": "image", "source": s})).boxed(),
            source().prop_map(|s| json!({"type": "document", "source": s, "title": "x"})).boxed(),
            text().prop_map(|t| json!({"type": "tool_reference", "tool_name": t})).boxed(),
        ]))
    }

    pub(super) fn block() -> impl Strategy<Value = Value> {
        one_of(vec![
            leaf().boxed(),
            odd((text(), text())
                .prop_map(|(t, s)| json!({"type": "thinking", "thinking": t, "signature": s})))
            .boxed(),
            odd(text().prop_map(|t| json!({"type": "redacted_thinking", "data": t}))).boxed(),
            odd((id(), value())
                .prop_map(|(id, v)| json!({"type": "tool_use", "id": id, "name": "Bash", "input": v})))
            .boxed(),
            odd((id(), value()).prop_map(
                |(id, v)| json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": v}),
            ))
            .boxed(),
            odd((id(), content(leaf()), any::<bool>()).prop_map(
                |(id, c, e)| json!({"tool_use_id": id, "type": "tool_result", "content": c, "is_error": e}),
            ))
            .boxed(),
            odd((id(), value()).prop_map(
                |(id, v)| json!({"type": "web_search_tool_result", "tool_use_id": id, "content": v}),
            ))
            .boxed(),
            odd(text().prop_map(|t| json!({"type": "compaction", "content": t}))).boxed(),
        ])
    }

    pub(super) fn message() -> impl Strategy<Value = Value> {
        let role = prop::sample::select(vec!["user", "assistant", "system", "weird"]);
        let message =
            odd((role, content(block()))
                .prop_map(|(role, content)| json!({"role": role, "content": content})));
        prop_oneof![20 => message, 1 => value()]
    }
}

mod responses {
    use super::*;

    pub(super) fn part() -> impl Strategy<Value = Value> {
        odd(one_of(vec![
            text().prop_map(|t| json!({"type": "input_text", "text": t})).boxed(),
            text().prop_map(|t| json!({"type": "output_text", "text": t, "annotations": []})).boxed(),
            text().prop_map(|t| json!({"type": "input_image", "image_url": t, "detail": "auto"})).boxed(),
            text().prop_map(|t| json!({"type": "input_image", "file_id": t})).boxed(),
            text().prop_map(|t| json!({"type": "input_file", "filename": "a.pdf", "file_data": t})).boxed(),
            text().prop_map(|t| json!({"type": "input_file", "file_url": t})).boxed(),
            text().prop_map(|t| json!({"type": "refusal", "refusal": t})).boxed(),
        ]))
    }

    pub(super) fn item() -> impl Strategy<Value = Value> {
        let role = || prop::sample::select(vec!["user", "assistant", "developer", "system", "weird"]);
        let summary = || list(odd(text().prop_map(|t| json!({"type": "summary_text", "text": t})))).boxed();
        let known = odd(one_of(vec![
            (role(), content(part())).prop_map(|(r, c)| json!({"type": "message", "role": r, "content": c})).boxed(),
            (role(), content(part())).prop_map(|(r, c)| json!({"role": r, "content": c})).boxed(),
            (role(), content(part()))
                .prop_map(|(r, c)| json!({"type": "message", "id": "m", "role": r, "content": c, "phase": "commentary"}))
                .boxed(),
            (summary(), text())
                .prop_map(|(s, t)| json!({"type": "reasoning", "summary": s, "content": null, "encrypted_content": t}))
                .boxed(),
            (summary(), list(text().prop_map(|t| json!({"type": "reasoning_text", "text": t}))))
                .prop_map(|(s, c)| json!({"type": "reasoning", "id": "r", "summary": s, "content": c}))
                .boxed(),
            (id(), text())
                .prop_map(|(id, t)| json!({"type": "function_call", "name": "f", "arguments": t, "call_id": id}))
                .boxed(),
            (id(), content(part()))
                .prop_map(|(id, c)| json!({"type": "function_call_output", "call_id": id, "output": c}))
                .boxed(),
            (id(), text())
                .prop_map(|(id, t)| json!({"type": "custom_tool_call", "name": "f", "input": t, "call_id": id}))
                .boxed(),
            (id(), content(part()))
                .prop_map(|(id, c)| json!({"type": "custom_tool_call_output", "call_id": id, "output": c}))
                .boxed(),
            (id(), value())
                .prop_map(|(id, v)| json!({"type": "local_shell_call", "call_id": id, "status": "completed", "action": v}))
                .boxed(),
            (id(), text())
                .prop_map(|(id, t)| json!({"type": "local_shell_call_output", "id": id, "output": t}))
                .boxed(),
            (id(), value())
                .prop_map(|(id, v)| json!({"type": "tool_search_call", "call_id": id, "execution": "client", "arguments": v}))
                .boxed(),
            (id(), list(value()))
                .prop_map(|(id, v)| json!({"type": "tool_search_output", "call_id": id, "tools": v}))
                .boxed(),
            (value()).prop_map(|v| json!({"type": "web_search_call", "id": "w", "action": v})).boxed(),
            (text()).prop_map(|t| json!({"type": "image_generation_call", "id": "i", "result": t})).boxed(),
            (text()).prop_map(|t| json!({"type": "compaction", "encrypted_content": t})).boxed(),
            (value()).prop_map(|v| json!({"type": "ghost_snapshot", "ghost_commit": v})).boxed(),
            Just(json!({"type": "compaction_trigger"})).boxed(),
            list(value()).prop_map(|v| json!({"type": "additional_tools", "role": "developer", "tools": v})).boxed(),
        ]));
        prop_oneof![20 => known, 1 => value()]
    }
}

mod chat {
    use super::*;

    fn part() -> impl Strategy<Value = Value> {
        let image = odd(text().prop_map(|t| json!({"url": t, "detail": "low"})));
        let file = odd(text().prop_map(|t| json!({"filename": "a", "file_data": t})));
        let stored = odd(text().prop_map(|t| json!({"file_id": t})));
        odd(one_of(vec![
            text().prop_map(|t| json!({"type": "text", "text": t})).boxed(),
            image.prop_map(|i| json!({"type": "image_url", "image_url": i})).boxed(),
            file.prop_map(|f| json!({"type": "file", "file": f})).boxed(),
            stored.prop_map(|f| json!({"type": "file", "file": f})).boxed(),
            text().prop_map(|t| json!({"type": "refusal", "refusal": t})).boxed(),
            text()
                .prop_map(|t| json!({"type": "input_audio", "input_audio": {"data": t, "format": "wav"}}))
                .boxed(),
        ]))
    }

    fn call() -> impl Strategy<Value = Value> {
        let function = odd(text().prop_map(|t| json!({"name": "f", "arguments": t})));
        let custom = odd(text().prop_map(|t| json!({"name": "f", "input": t})));
        odd(one_of(vec![
            (id(), function).prop_map(|(id, f)| json!({"id": id, "type": "function", "function": f})).boxed(),
            (id(), custom).prop_map(|(id, c)| json!({"id": id, "type": "custom", "custom": c})).boxed(),
        ]))
    }

    fn some_content() -> impl Strategy<Value = Value> {
        prop_oneof![4 => content(part()), 1 => Just(Value::Null)]
    }

    pub(super) fn answer() -> impl Strategy<Value = Value> {
        odd(one_of(vec![
            (some_content(), list(call()))
                .prop_map(|(c, calls)| json!({"role": "assistant", "content": c, "tool_calls": calls}))
                .boxed(),
            some_content().prop_map(|c| json!({"role": "assistant", "content": c, "refusal": null})).boxed(),
            (some_content(), text(), text())
                .prop_map(|(c, t, r)| json!({"role": "assistant", "reasoning_content": t, "content": c, "refusal": r}))
                .boxed(),
            (some_content(), text())
                .prop_map(|(c, t)| json!({"role": "assistant", "content": c, "reasoning": t, "name": "x"}))
                .boxed(),
        ]))
    }

    pub(super) fn message() -> impl Strategy<Value = Value> {
        let role = prop::sample::select(vec!["user", "system", "developer", "function"]);
        let known = one_of(vec![
            odd((role, content(part())).prop_map(|(r, c)| json!({"role": r, "content": c}))).boxed(),
            answer().boxed(),
            answer().boxed(),
            odd((id(), content(part()))
                .prop_map(|(id, c)| json!({"role": "tool", "tool_call_id": id, "content": c})))
            .boxed(),
        ]);
        prop_oneof![20 => known, 1 => value()]
    }
}

/// One element of `messages` or `input`.
pub(crate) fn element(wire: Wire) -> BoxedStrategy<Value> {
    match wire {
        Wire::Anthropic => anthropic::message().boxed(),
        Wire::Responses => responses::item().boxed(),
        Wire::Chat => chat::message().boxed(),
    }
}

/// A request body.
pub(crate) fn request(wire: Wire) -> BoxedStrategy<Value> {
    let elements = vec(element(wire), 0..8).prop_map(Value::from);
    match wire {
        Wire::Anthropic => odd((elements, value()).prop_map(
            |(m, v)| json!({"model": "m", "messages": m, "system": v, "max_tokens": 9, "stream": true}),
        ))
        .boxed(),
        Wire::Responses => odd((prop_oneof![4 => elements, 1 => text().prop_map(Value::from)], text())
            .prop_map(
                |(i, t)| json!({"model": "m", "instructions": t, "input": i, "tools": [], "store": false}),
            ))
        .boxed(),
        Wire::Chat => {
            odd((elements, value()).prop_map(|(m, v)| json!({"model": "m", "messages": m, "tools": v})))
                .boxed()
        }
    }
}

/// A wire, and a request of it.
pub(crate) fn any_request() -> impl Strategy<Value = (Wire, Value)> {
    wire().prop_flat_map(|wire| request(wire).prop_map(move |request| (wire, request)))
}

/// Unknown keys and odd orders, but nothing missing and nothing of a wrong type.
fn extra(object: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let twist = prop_oneof![
        (0..6usize, "[x-z]{1,2}", value()).prop_map(|(at, key, value)| Twist::Insert(at, key, value)),
        (0..6usize).prop_map(Twist::Last),
    ];
    (object, vec(twist, 0..3)).prop_map(|(object, twists)| twists.into_iter().fold(object, apply))
}

fn figure() -> impl Strategy<Value = u32> {
    any::<u32>()
}

fn usage(wire: Wire) -> BoxedStrategy<Value> {
    let figures = (figure(), figure(), figure());
    extra(figures.prop_map(move |(a, b, c)| match wire {
        Wire::Anthropic => json!({
            "input_tokens": a, "cache_creation_input_tokens": 0, "cache_read_input_tokens": b,
            "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4}, "output_tokens": c,
        }),
        Wire::Responses => json!({
            "input_tokens": a, "input_tokens_details": {"cached_tokens": b}, "output_tokens": c,
            "output_tokens_details": {"reasoning_tokens": 1}, "total_tokens": 5,
        }),
        Wire::Chat => json!({
            "prompt_tokens": a, "completion_tokens": c, "prompt_tokens_details": {"cached_tokens": b},
        }),
    }))
    .boxed()
}

/// A response body in order, save for unknown keys; what its content is made of may be odd.
pub(crate) fn response(wire: Wire) -> BoxedStrategy<Value> {
    let usage = usage(wire);
    let content = match wire {
        Wire::Anthropic => list(prop_oneof![10 => anthropic::block(), 1 => value()]).boxed(),
        Wire::Responses => list(responses::item()).boxed(),
        Wire::Chat => {
            let choice = extra((chat::answer(), prop::sample::select(vec!["stop", "length", "tool_calls"])).prop_map(
                |(message, why)| json!({"index": 0, "message": message, "logprobs": null, "finish_reason": why}),
            ));
            vec(choice, 0..3)
                .prop_map(|mut choices| {
                    for (index, choice) in choices.iter_mut().enumerate() {
                        choice["index"] = index.into();
                    }
                    choices.into()
                })
                .boxed()
        }
    };
    extra((content, usage).prop_map(move |(content, usage)| match wire {
        Wire::Anthropic => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": "tool_use", "stop_sequence": null, "usage": usage,
        }),
        Wire::Responses => json!({
            "id": "resp_1", "object": "response", "status": "completed", "error": null, "model": "m",
            "output": content, "usage": usage,
        }),
        Wire::Chat => json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 7, "model": "m", "choices": content,
            "usage": usage,
        }),
    }))
    .boxed()
}

/// A wire, and a response of it.
pub(crate) fn any_response() -> impl Strategy<Value = (Wire, Value)> {
    wire().prop_flat_map(|wire| response(wire).prop_map(move |response| (wire, response)))
}

/// A wire, and a response of it that may be odd all over.
pub(crate) fn any_odd_response() -> impl Strategy<Value = (Wire, Value)> {
    wire().prop_flat_map(|wire| odd(response(wire)).prop_map(move |response| (wire, response)))
}
