//! Fixtures, and records in a form that people can review: one line each.

use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use throughline_core::{Body, Event, Flags, Item, Message, Op, Record};
use throughline_ledger::import::{ImportReport, Importer, LineOutcome, Output, discover_in, import};
use throughline_ledger::{Home, Reader, SyncPolicy, resume};

pub(crate) fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

pub(crate) fn fixture_lines(name: &str) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(fixture(name)).unwrap();
    bytes.strip_suffix(b"\n").unwrap_or(&bytes).split(|b| *b == b'\n').map(<[u8]>::to_vec).collect()
}

/// What an importer makes of a fixture, line by line, with what became of the lines that made nothing.
pub(crate) fn told(mut importer: impl Importer, name: &str) -> String {
    let mut text = String::new();
    let mut out = Vec::new();
    for (n, line) in fixture_lines(name).iter().enumerate() {
        let outcome = importer.line(line, &mut out);
        let silent = out.is_empty();
        for output in out.drain(..) {
            match output {
                Output::Record { lane, record } => {
                    writeln!(text, "{:>2} {}{}", n + 1, ">".repeat(lane.0 as usize), brief(&record)).unwrap();
                }
                Output::ToolResultFile { call, name, .. } => {
                    writeln!(text, "{:>2} file {name} of {call}", n + 1).unwrap();
                }
            }
        }
        match outcome {
            LineOutcome::Imported if silent => writeln!(text, "{:>2} noted", n + 1).unwrap(),
            LineOutcome::Imported => {}
            LineOutcome::Skipped(reason) => writeln!(text, "{:>2} skipped: {reason}", n + 1).unwrap(),
            LineOutcome::Unreadable(reason) => writeln!(text, "{:>2} unreadable: {reason}", n + 1).unwrap(),
        }
    }
    text
}

/// The records of a ledger, cards left out.
pub(crate) fn records(home: &Home, path: &std::path::Path) -> Vec<Record> {
    let mut reader = Reader::open(home, path, 0).unwrap();
    let mut records = Vec::new();
    while let Some((_, record)) = reader.next_record().unwrap() {
        if !matches!(record, Record::Card(_)) {
            records.push(record);
        }
    }
    records
}

/// One line that says what matters about a record. Ids made of zeros are cut to their number.
pub(crate) fn brief(record: &Record) -> String {
    let text = match record {
        Record::Meta(meta) => {
            let mut text = format!("meta {} {} {}", meta.id, meta.client, meta.cwd.as_deref().unwrap_or("-"));
            if let Some(parent) = &meta.parent_session {
                write!(text, " agent of {parent}").unwrap();
            }
            if let Some(fork) = &meta.forked_from {
                write!(
                    text,
                    " fork of {} after {:?}",
                    fork.session,
                    fork.message.as_ref().map(|m| m.as_str())
                )
                .unwrap();
            }
            let extra: Vec<&str> = meta.extra.keys().map(String::as_str).collect();
            if !extra.is_empty() {
                write!(text, " +{}", extra.join(",")).unwrap();
            }
            text
        }
        Record::Message(message) => format!("message {}", said(message)),
        Record::Turn(turn) => {
            format!("turn {} {}", turn.model.as_deref().unwrap_or("-"), turn.cwd.as_deref().unwrap_or("-"))
        }
        Record::Event(event) => happened(event),
        Record::Edit(edit) => {
            let ops: Vec<String> = edit.ops.iter().map(op).collect();
            format!("edit {} {} ({})", edit.id, ops.join(" "), edit.reason)
        }
        Record::Checkpoint(checkpoint) => {
            let items: Vec<String> = checkpoint
                .items
                .iter()
                .map(|item| match item {
                    Item::Keep { id, origin, .. } => match &origin.session {
                        Some(session) => format!("keep {id} of {session}"),
                        None => format!("keep {id}"),
                    },
                    Item::New(message) => format!("new {}", said(message)),
                })
                .collect();
            format!("checkpoint {} {} [{}]", checkpoint.id, checkpoint.strategy, items.join(" | "))
        }
        Record::Card(_) => "card".to_owned(),
    };
    text.replace("-0000-4000-8000-000000000000", "").replace("019f0000-0000-7000-8000-00000000000", "thread-")
}

fn said(message: &Message) -> String {
    let Flags { meta, typed, summary, display_only, error } = message.flags;
    let flags =
        [(meta, "meta"), (typed, "typed"), (summary, "summary"), (display_only, "hidden"), (error, "error")];
    let flags: String = flags.iter().filter(|(on, _)| *on).map(|(_, name)| format!(" {name}")).collect();
    let group = message.group.as_ref().map(|g| format!(" {g}")).unwrap_or_default();
    let parent = message.parent.as_ref().map_or("-", |p| p.as_str());
    let blocks: Vec<String> = message
        .blocks
        .iter()
        .map(|block| {
            let words: String = block.to_text().chars().take(40).collect::<String>().replace('\n', "⏎");
            match &block.body {
                Body::Text(_) => format!("\"{words}\""),
                Body::Reasoning { .. } => format!("reasoning \"{words}\""),
                Body::ToolCall(call) => format!("call {} {} {words}", call.id, call.name),
                Body::ToolResult(result) => format!("result {} \"{words}\"", result.call),
                Body::Image(_) => "image".to_owned(),
                Body::Document(_) => "document".to_owned(),
                Body::Unknown(_) => format!("unknown {words}"),
            }
        })
        .collect();
    let real = if message.is_real_user() { " REAL" } else { "" };
    let role = format!("{:?}", message.role).to_lowercase();
    format!("{} <{parent} {role}{group}{flags}{real} {}", message.id, blocks.join(" + "))
}

fn happened(event: &Event) -> String {
    let mut data = event.data.to_string();
    if data.chars().count() > 150 {
        data = data.chars().take(150).collect::<String>() + "…";
    }
    format!("event {} {data}", event.name)
}

fn op(op: &Op) -> String {
    match op {
        Op::Replace { message, .. } => format!("replace in {message}"),
        Op::Remove { messages } => {
            let ids: Vec<&str> = messages.iter().map(|m| m.as_str()).collect();
            format!("remove {}", ids.join(","))
        }
        Op::Fold { first, last, .. } => format!("fold {first}..{last}"),
        Op::Rewind { to } => format!("rewind to {}", to.as_ref().map_or("the beginning", |m| m.as_str())),
        Op::Pin { messages } => format!("pin {}", messages.len()),
        Op::Unpin { messages } => format!("unpin {}", messages.len()),
        Op::Undo { edit } => format!("undo {edit}"),
    }
}

/// A session of Claude Code.
pub(crate) const ROOT: &str = "5e551011-0000-4000-8000-000000000001";
/// A session of Codex, and another.
pub(crate) const THREAD: &str = "019f0000-0000-7000-8000-000000000006";
pub(crate) const THREAD_FORK: &str = "019f0000-0000-7000-8000-000000000007";

fn uuid(n: usize) -> String {
    format!("{n:08x}-0000-4000-8000-000000000000")
}

fn claude_record(n: usize, parent: Option<usize>, kind: &str, content: Value) -> Value {
    let time = format!("2026-03-01T10:{:02}:{:02}.{:03}Z", (n / 60) % 60, n % 60, n % 1000);
    let mut record = json!({
        "parentUuid": parent.map(uuid), "isSidechain": false, "sessionId": ROOT, "cwd": "/w", "type": kind,
        "uuid": uuid(n), "timestamp": time, "message": {"role": kind, "content": content},
    });
    if kind == "assistant" {
        record["message"]["id"] = format!("msg{n}").into();
        record["message"]["model"] = "m".into();
    }
    record
}

/// A line of a Claude Code transcript: record `n` on top of `parent`.
pub(crate) fn claude_line(n: usize, parent: Option<usize>, kind: &str, content: Value) -> String {
    claude_record(n, parent, kind, content).to_string()
}

/// As [`claude_line`], of a sub-agent, who says `side <n>`.
pub(crate) fn side_line(n: usize, parent: Option<usize>, agent: &str) -> String {
    let kind = if n % 2 == 1 { "user" } else { "assistant" };
    let mut record = claude_record(n, parent, kind, json!([{"type": "text", "text": format!("side {n}")}]));
    record["isSidechain"] = true.into();
    record["agentId"] = agent.into();
    record.to_string()
}

/// A line of a Codex rollout, `n` seconds after its beginning.
pub(crate) fn codex_line(n: usize, kind: &str, payload: Value) -> String {
    let time = format!("2026-04-01T09:{:02}:{:02}.000Z", n / 60, n % 60);
    json!({"timestamp": time, "type": kind, "payload": payload}).to_string()
}

/// A Codex item.
pub(crate) fn said_by(role: &str, text: &str) -> Value {
    let kind = if role == "user" { "input_text" } else { "output_text" };
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}

pub(crate) fn write(path: &Path, lines: &[String]) {
    std::fs::write(path, lines.join("\n") + "\n").unwrap();
}

pub(crate) fn run(home: &Home, paths: &[&Path]) -> ImportReport {
    let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
    import(home, &discover_in(&paths), SyncPolicy::Never, &mut |_| {}).unwrap()
}

/// What a model would be sent.
pub(crate) fn words(home: &Home, session: &str) -> Vec<String> {
    let resumed = resume(home, &home.find_exact(&session.into()).unwrap()).unwrap();
    resumed.view.messages().map(|message| message.to_text()).collect()
}
