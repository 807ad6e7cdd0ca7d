//! Question: does the classifier tell who asked for what as independent readers do?
//!
//! The labels were made by people who had not seen the code: for each text block that the model did not write, its parts with their
//! kinds. A labelled part counts as found if at least nine tenths of it are classified so; a part of the classifier counts as right
//! if nine tenths of it are labelled so. Requests and tasks are also counted together: both ask for work.

use crate::measure::verdict_at_least;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use throughline_core::classify::{PartKind, classify};
use throughline_core::{Block, Body, Flags, Message, Role};

/// The share of a part that must agree.
const AGREE: f64 = 0.9;

/// One labelled block of text.
#[derive(Debug, Deserialize)]
pub(crate) struct Label {
    /// `claude/NAME.jsonl`, `codex/NAME.jsonl` or `capture/NAME.json`.
    pub(crate) session: String,
    /// The line of the transcript, from 1; of a capture, the message, from 0.
    pub(crate) line: usize,
    /// The block of the message.
    pub(crate) block: usize,
    role: String,
    chars: usize,
    /// Its parts, in code points.
    pub(crate) parts: Vec<LabelledPart>,
    /// `sets_task`, `follow_up` or `none`.
    #[serde(default)]
    pub(crate) task: String,
    /// The line of a later message that takes its place.
    #[serde(default)]
    pub(crate) superseded_by: Option<usize>,
    /// Set for texts that are not blocks of a message.
    #[serde(default)]
    source: Option<String>,
}

/// A part that a reader saw.
#[derive(Debug, Deserialize)]
pub(crate) struct LabelledPart {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The name of a [`PartKind`].
    pub(crate) kind: String,
}

/// How often labels and classifier agree for one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Agreement {
    labelled: usize,
    found: usize,
    predicted: usize,
    right: usize,
}

/// Reads labels, one JSON object a line. Texts that are no blocks of messages are left out.
pub(crate) fn read_labels(path: &Path) -> anyhow::Result<Vec<Label>> {
    let text = std::fs::read_to_string(path)?;
    let mut labels = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let label: Label = serde_json::from_str(line)
            .map_err(|error| anyhow::anyhow!("{}:{}: {error}", path.display(), at + 1))?;
        let is_message =
            matches!(label.role.as_str(), "user" | "developer" | "system") && label.source.is_none();
        if is_message {
            labels.push(label);
        }
    }
    Ok(labels)
}

/// Scores the classifier against labels and prints a table. `transcripts` holds `claude/` and `codex/`, `captures` the captures.
pub(crate) fn run(labels: &[PathBuf], transcripts: &Path, captures: &Path) -> anyhow::Result<usize> {
    let mut kinds: BTreeMap<String, Agreement> = BTreeMap::new();
    let mut sessions: HashMap<String, Vec<Option<Message>>> = HashMap::new();
    let mut scored = 0;
    let mut missing = 0;
    for path in labels {
        for label in read_labels(path)? {
            if !sessions.contains_key(&label.session) {
                sessions.insert(label.session.clone(), read_session(&label.session, transcripts, captures)?);
            }
            let at = if label.session.starts_with("capture/") { label.line } else { label.line - 1 };
            let Some(Some(message)) = sessions.get(&label.session).and_then(|messages| messages.get(at))
            else {
                missing += 1;
                continue;
            };
            scored += 1;
            score(&label, message, &mut kinds);
        }
    }
    println!("{scored} labelled blocks scored, {missing} not found");
    println!("{:22} {:>8} {:>8} {:>9} {:>10}", "kind", "labelled", "recall", "predicted", "precision");
    for (kind, agreement) in &kinds {
        let share = |part: usize, of: usize| {
            if of == 0 { "-".to_owned() } else { format!("{:.3}", part as f64 / of as f64) }
        };
        println!(
            "{kind:22} {:>8} {:>8} {:>9} {:>10}",
            agreement.labelled,
            share(agreement.found, agreement.labelled),
            agreement.predicted,
            share(agreement.right, agreement.predicted)
        );
    }
    let mut failed = 0;
    for (kind, agreement) in kinds.iter().filter(|(_, agreement)| agreement.predicted >= ENOUGH) {
        let precision = agreement.right as f64 / agreement.predicted as f64;
        failed += verdict_at_least(&format!("precision of {kind}"), precision, LEAST_PRECISION);
    }
    if let Some(asks) = kinds.get(ASKS) {
        let recall = asks.found as f64 / asks.labelled.max(1) as f64;
        failed += verdict_at_least("recall of requests and tasks", recall, LEAST_RECALL);
    }
    Ok(failed)
}

/// Requests and tasks together.
const ASKS: &str = "asks together";
/// The share of labelled requests and tasks that must be found, and of what is found of a kind that must be right.
const LEAST_RECALL: f64 = 0.98;
const LEAST_PRECISION: f64 = 0.95;
/// A precision of fewer parts says little.
const ENOUGH: usize = 20;

/// Scores one block. Errors are shown for captures only: sessions of the check side are not to be read.
fn score(label: &Label, message: &Message, kinds: &mut BTreeMap<String, Agreement>) {
    let is_shown = label.session.starts_with("capture/");
    let Some(Body::Text(text)) = message.blocks.get(label.block).map(|block| &block.body) else { return };
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    if chars.len() != label.chars {
        return;
    }
    let mut labelled = vec![""; chars.len()];
    for part in &label.parts {
        labelled[part.start..part.end.min(chars.len())].fill(part.kind.as_str());
    }
    let mut predicted = vec!["none"; chars.len()];
    let parts: Vec<_> = classify(message).into_iter().filter(|part| part.block == label.block).collect();
    let at_byte = |byte: usize| chars.partition_point(|(at, _)| *at < byte);
    for part in &parts {
        predicted[at_byte(part.range.start)..at_byte(part.range.end)].fill(part.kind.name());
    }
    let share = |range: std::ops::Range<usize>, is: &dyn Fn(usize) -> bool| {
        let solid: Vec<usize> = range.filter(|&at| !chars[at].1.is_whitespace()).collect();
        let hits = solid.iter().filter(|&&at| is(at)).count();
        (solid.len(), if solid.is_empty() { 1.0 } else { hits as f64 / solid.len() as f64 })
    };
    let is_ask = |kind: &str| kind == PartKind::TypedRequest.name() || kind == PartKind::AgentTask.name();
    for part in &label.parts {
        let range = part.start..part.end.min(chars.len());
        let (solid, hit) = share(range.clone(), &|at| predicted[at] == part.kind);
        if solid == 0 {
            continue;
        }
        let entry = kinds.entry(part.kind.clone()).or_default();
        entry.labelled += 1;
        entry.found += usize::from(hit >= AGREE);
        if is_ask(&part.kind) {
            let (_, hit) = share(range.clone(), &|at| is_ask(predicted[at]));
            let entry = kinds.entry(ASKS.to_owned()).or_default();
            entry.labelled += 1;
            entry.found += usize::from(hit >= AGREE);
        }
        if is_shown && hit < AGREE {
            let got = most_common(&predicted[range.clone()]);
            let show: String = chars[range.clone()].iter().take(160).map(|(_, c)| *c).collect();
            println!(
                "MISS {} {}:{} {} as {got} ({hit:.2}) {:?}",
                label.session, label.line, label.block, part.kind, show
            );
        }
    }
    for part in &parts {
        let range = at_byte(part.range.start)..at_byte(part.range.end);
        let (solid, hit) = share(range.clone(), &|at| labelled[at] == part.kind.name());
        // Tags and rules that a reader counts to what stands beside them.
        if solid < 4 {
            continue;
        }
        let entry = kinds.entry(part.kind.name().to_owned()).or_default();
        entry.predicted += 1;
        entry.right += usize::from(hit >= AGREE);
        if part.kind.is_ask() {
            let (_, hit) = share(range.clone(), &|at| is_ask(labelled[at]));
            let entry = kinds.entry(ASKS.to_owned()).or_default();
            entry.predicted += 1;
            entry.right += usize::from(hit >= AGREE);
        }
        if is_shown && hit < AGREE {
            let show: String = chars[range.clone()].iter().take(160).map(|(_, c)| *c).collect();
            println!(
                "WRONG {} {}:{} {} is {} ({hit:.2}) {:?}",
                label.session,
                label.line,
                label.block,
                part.kind.name(),
                most_common(&labelled[range.clone()]),
                show
            );
        }
    }
}

fn most_common<'a>(kinds: &[&'a str]) -> &'a str {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    kinds.iter().for_each(|kind| *counts.entry(kind).or_default() += 1);
    counts.into_iter().max_by_key(|(_, count)| *count).map_or("", |(kind, _)| kind)
}

/// The messages of a transcript by line, or of a capture by position, as they stand there.
pub(crate) fn read_session(
    name: &str,
    transcripts: &Path,
    captures: &Path,
) -> anyhow::Result<Vec<Option<Message>>> {
    if let Some(name) = name.strip_prefix("capture/") {
        let value: Value = serde_json::from_slice(&std::fs::read(captures.join(name))?)?;
        let request = &value["request"];
        let messages = ["messages", "input", "contents"].iter().find_map(|key| request[*key].as_array());
        return Ok(messages
            .into_iter()
            .flatten()
            .map(|message| Some(read_message(message, Flags::default())))
            .collect());
    }
    let text = std::fs::read_to_string(transcripts.join(name))?;
    let is_codex = name.starts_with("codex/");
    Ok(text.lines().map(|line| read_line(line, is_codex)).collect())
}

fn read_line(line: &str, is_codex: bool) -> Option<Message> {
    let value: Value = serde_json::from_str(line).ok()?;
    if is_codex {
        let payload = &value["payload"];
        return (value["type"] == "response_item" && payload["type"] == "message")
            .then(|| read_message(payload, Flags::default()));
    }
    let flag = |name: &str| value[name].as_bool().unwrap_or(false);
    let flags = Flags { meta: flag("isMeta"), summary: flag("isCompactSummary"), ..Flags::default() };
    value["message"].is_object().then(|| read_message(&value["message"], flags))
}

fn read_message(value: &Value, flags: Flags) -> Message {
    let role = match value["role"].as_str().unwrap_or("user") {
        "assistant" | "model" => Role::Assistant,
        "system" => Role::System,
        "developer" => Role::Developer,
        "tool" => Role::Tool,
        _ => Role::User,
    };
    let content = if value["content"].is_null() { &value["parts"] } else { &value["content"] };
    let blocks = match content {
        Value::String(text) => vec![Block::text(text.clone())],
        Value::Array(items) => items
            .iter()
            .map(|item| match item["text"].as_str() {
                Some(text) => Block::text(text),
                None => Body::Unknown(item.clone()).into(),
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    let mut message = Message::new(role, blocks);
    message.flags = flags;
    message
}
