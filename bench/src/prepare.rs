//! Does the next request of a long conversation cost little more than copying it?
//!
//! A conversation of 200K tokens to which one message is added, against parsing and writing that message and copying the rest;
//! then the first request, against parsing and tokenizing it.

use crate::measure::{alternate, mb, median, ratio, time, verdict};
use crate::{Setup, corpus};
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::Duration;
use throughline_core::pipeline::{Moment, Unrecorded};
use throughline_core::profile::Profile;
use throughline_core::tokens::Counter;
use throughline_core::{Message, Wire};
use throughline_engine::Options;
use throughline_wire::splice::{Body, Changes, Fragment};

const WIRE: Wire = Wire::Anthropic;

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    let tokens = if setup.quick { 20_000 } else { 200_000 };
    println!("prepare: a conversation of {tokens} tokens, and one more message");
    let history = History::new(setup, tokens)?;
    let first = history.request(history.elements.len() - 1, "[]");
    let next = history.request(history.elements.len(), "[]");
    let moved = history.request(history.elements.len(), r#"[{"name":"New","input_schema":{}}]"#);
    let added = history.elements.last().map(|element| element.to_string()).unwrap_or_default();
    println!(
        "  {:.2} MB, {} messages, the last of {} bytes",
        mb(next.len() as u64),
        history.elements.len(),
        added.len()
    );

    let mut failed = 0;
    for case in CASES {
        let request = if case.is_moved { &moved } else { &next };
        let Next { prepare, count, baseline } = compare_next(&first, request, &added, case)?;
        println!(
            "  {prepare:.2?} against {baseline:.2?}; counting what is new takes {count:.2?} more, {:.2}× with it",
            ratio(prepare + count, baseline)
        );
        failed += verdict(case.what, ratio(prepare, baseline), 3.0, "×");
    }

    for (what, window) in
        [("whole pipeline, unchanged", 1_000_000), ("whole pipeline, after a compaction", tokens / 2)]
    {
        let (ours, baseline) = compare_pipeline(&first, &next, &added, window)?;
        println!("  {ours:.2?} against {baseline:.2?}");
        failed += verdict(what, ratio(ours, baseline), 3.0, "×");
    }
    let mut copies = vec![next.clone(); 7];
    let (ours, baseline) = alternate(
        7,
        || {
            let body = copies.pop().unwrap_or_default();
            let mut preparer = managed(1_000_000);
            black_box(preparer.prepare(body, &Moment::default(), &mut Unrecorded)?.bytes.len());
            Ok(())
        },
        || {
            let value: Value = serde_json::from_slice(&next)?;
            let messages: Vec<Message> = value["messages"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|element| throughline_wire::decode_message(WIRE, element.clone()))
                .collect();
            black_box(Counter::for_model(MODEL).view(&messages).total());
            Ok(())
        },
    )?;
    println!("  {ours:.2?} against {baseline:.2?}");
    failed += verdict("whole pipeline, first request", ratio(ours, baseline), 3.0, "×");

    let bare = tiktoken::get_encoding("o200k_base").ok_or_else(|| anyhow::anyhow!("no o200k table"))?;
    let mut copies = vec![next.clone(); 7];
    let (ours, baseline) = alternate(
        7,
        || {
            black_box(Preparer::open(copies.pop().unwrap_or_default())?.tokens);
            Ok(())
        },
        || {
            let value: Value = serde_json::from_slice(&next)?;
            black_box(tokens_of(&value["messages"], bare));
            Ok(())
        },
    )?;
    println!("  {ours:.2?} against {baseline:.2?}");
    failed += verdict("first request", ratio(ours, baseline), 3.0, "×");

    let (ours, baseline) = alternate(
        31,
        || {
            black_box(Body::parse(WIRE, next.as_slice())?.len());
            Ok(())
        },
        || {
            black_box(serde_json::from_slice::<Value>(&next)?.is_object());
            Ok(())
        },
    )?;
    println!("  {ours:.2?} against {baseline:.2?}");
    Ok(failed + verdict("first cut, against parsing alone", ratio(ours, baseline), 1.0, "×"))
}

/// The model whose tokens the whole pipeline counts.
const MODEL: &str = "claude-sonnet-4-5";

fn managed(window: u64) -> throughline_engine::Preparer {
    let options = Options { window: Some(window), ..Options::new(Profile::throughline()) };
    throughline_engine::Preparer::new(WIRE, options)
}

/// The next request through every stage, with what is new counted and decided about, against parsing and writing what was
/// added and copying the rest.
fn compare_pipeline(
    first: &[u8],
    next: &[u8],
    added: &str,
    window: u64,
) -> anyhow::Result<(Duration, Duration)> {
    const RUNS: usize = 21;
    let (mut ours, mut baseline) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let open = || -> anyhow::Result<throughline_engine::Preparer> {
            let mut preparer = managed(window);
            preparer.prepare(first.to_vec(), &Moment::default(), &mut Unrecorded)?;
            Ok(preparer)
        };
        let (mut preparer, mut request) = (open()?, next.to_vec());
        ours.push(time(&mut || {
            let body = std::mem::take(&mut request);
            black_box(preparer.prepare(body, &Moment::default(), &mut Unrecorded)?.bytes.len());
            Ok(())
        })?);
        // The same again, so that caches and free memory are as they were for ours.
        let (_preparer, request) = (open()?, next.to_vec());
        baseline.push(time(&mut || {
            let value: Value = serde_json::from_str(added)?;
            let mut out = Vec::with_capacity(request.len());
            out.extend_from_slice(&request[..request.len() - added.len()]);
            out.extend_from_slice(value.to_string().as_bytes());
            black_box(out);
            Ok(())
        })?);
    }
    Ok((median(ours), median(baseline)))
}

/// What is done to a request.
#[derive(Clone, Copy)]
struct Case {
    what: &'static str,
    /// Other tools before the messages: everything stands elsewhere than in the request before.
    is_moved: bool,
    /// How many early messages are replaced.
    edits: usize,
    output: Output,
}

/// How the request is handed on.
#[derive(Clone, Copy)]
enum Output {
    /// In one piece.
    Whole,
    /// As what stays and what is new, by turns.
    Pieces,
}

const CASES: [Case; 5] = [
    Case { what: "next request, unchanged", is_moved: false, edits: 0, output: Output::Whole },
    Case { what: "next request, one edit", is_moved: false, edits: 1, output: Output::Whole },
    Case { what: "next request, 100 edits", is_moved: false, edits: 100, output: Output::Whole },
    Case { what: "next request, 100 edits, in pieces", is_moved: false, edits: 100, output: Output::Pieces },
    Case { what: "next request, other tools, one edit", is_moved: true, edits: 1, output: Output::Whole },
];

/// The requests of one conversation: the least that has to be done with each.
struct Preparer {
    body: Body,
    counter: Counter,
    tokens: u64,
}

impl Preparer {
    /// The first request: everything is read and counted.
    fn open(request: Vec<u8>) -> anyhow::Result<Self> {
        let body = Body::parse(WIRE, request)?;
        let mut preparer = Self { body, counter: Counter::for_model("gpt-5"), tokens: 0 };
        let messages: Vec<Message> = preparer.body.messages(0..preparer.body.len()).collect();
        preparer.count(&messages);
        Ok(preparer)
    }

    /// A further request: writes it as it is to be sent, and tells what is new in it.
    fn prepare(
        &mut self,
        request: Vec<u8>,
        changes: &Changes,
        output: Output,
    ) -> anyhow::Result<Vec<Message>> {
        let advance = self.body.advance(request)?;
        let new = advance.body.messages(advance.same..advance.body.len()).collect();
        self.body = advance.body;
        match output {
            Output::Whole => drop(black_box(self.body.rebuild(changes)?)),
            Output::Pieces => drop(black_box(self.body.pieces(changes)?)),
        }
        Ok(new)
    }

    fn count(&mut self, new: &[Message]) {
        self.tokens += self.counter.view(new).total();
    }
}

/// Median times.
struct Next {
    /// Finding out what is new, reading it, writing the request.
    prepare: Duration,
    /// Counting what is new, which the baseline does not.
    count: Duration,
    /// Parsing and writing what was added, and copying the rest.
    baseline: Duration,
}

/// The first request prepared, and the next one received: what happens before the clock runs.
fn receive(first: &[u8], next: &[u8]) -> anyhow::Result<(Preparer, Vec<u8>)> {
    Ok((Preparer::open(first.to_vec())?, next.to_vec()))
}

/// Prepares `next` after `first`.
fn compare_next(first: &[u8], next: &[u8], added: &str, case: Case) -> anyhow::Result<Next> {
    const RUNS: usize = 51;
    let Case { edits, output, .. } = case;
    let mut changes = Changes::default();
    for at in 0..edits {
        let summary = json!({"role": "user", "content": "what happened here"});
        changes.replace(4 + 8 * at..6 + 8 * at, vec![Fragment::from(&summary)]);
    }
    let (mut prepare, mut count, mut baseline) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let (mut preparer, mut request) = receive(first, next)?;
        let mut new = Vec::new();
        prepare.push(time(&mut || {
            new = preparer.prepare(std::mem::take(&mut request), &changes, output)?;
            Ok(())
        })?);
        count.push(time(&mut || {
            preparer.count(&new);
            Ok(())
        })?);
        // The same again, so that caches and free memory are as they were for ours.
        let (_preparer, request) = receive(first, next)?;
        baseline.push(time(&mut || {
            let value: Value = serde_json::from_str(added)?;
            let mut out = Vec::with_capacity(request.len());
            out.extend_from_slice(&request[..request.len() - added.len()]);
            out.extend_from_slice(value.to_string().as_bytes());
            black_box(out);
            Ok(())
        })?);
    }
    Ok(Next { prepare: median(prepare), count: median(count), baseline: median(baseline) })
}

fn tokens_of(value: &Value, bare: &tiktoken::CoreBpe) -> usize {
    match value {
        Value::String(text) => bare.count(text),
        Value::Array(items) => items.iter().map(|item| tokens_of(item, bare)).sum(),
        Value::Object(map) => map.values().map(|item| tokens_of(item, bare)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Calls of tools and their results, made of recorded texts.
struct History {
    elements: Vec<Value>,
}

impl History {
    fn new(setup: &Setup, tokens: u64) -> anyhow::Result<Self> {
        const LONGEST: usize = 6_000;
        let texts = corpus::texts(&setup.data, 8 << 20)?;
        anyhow::ensure!(!texts.is_empty(), "no texts in {}", setup.data.display());
        let mut counter = Counter::for_model("gpt-5");
        let (mut elements, mut counted) = (Vec::new(), 0);
        for (n, text) in texts.iter().cycle().enumerate() {
            let text = &text[..text.floor_char_boundary(LONGEST)];
            counted += counter.text(text) + 50;
            let id = format!("toolu_{n:06}");
            elements.push(json!({"role": "assistant", "content": [
                {"type": "text", "text": "Now the next file."},
                {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": format!("src/file{n}.rs")}},
            ]}));
            elements.push(json!({"role": "user", "content": [
                {"tool_use_id": id, "type": "tool_result", "content": text},
            ]}));
            if counted >= tokens {
                break;
            }
        }
        elements.insert(0, json!({"role": "user", "content": "Read all files."}));
        // What is added is said by the user: a request never ends with a call that waits for its result.
        let words: String = texts.iter().flat_map(|text| text.chars()).take(5_800).collect();
        elements.push(json!({"role": "user", "content": [{"type": "text", "text": words}]}));
        Ok(Self { elements })
    }

    /// The first messages, with the marks for the cache where Claude Code has them: on the last one.
    fn request(&self, count: usize, tools: &str) -> Vec<u8> {
        let mut elements: Vec<Value> = self.elements[..count].to_vec();
        if let Some(block) = elements.last_mut().and_then(|last| last["content"].get_mut(0)) {
            block["cache_control"] = json!({"type": "ephemeral"});
        }
        let messages = Value::Array(elements);
        format!(
            r#"{{"model":"claude","tools":{tools},"messages":{messages},"max_tokens":32000,"stream":true}}"#
        )
        .into_bytes()
    }
}
