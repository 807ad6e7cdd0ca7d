//! What is left of a scene, in a form that can be compared.

use super::normal::Normal;
use super::stage::Ran;
use regex::Regex;
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use throughline_testkit::Seen;

/// Where clients keep their sessions.
const KEPT: [&str; 2] = ["home/.claude/projects", "home/.codex/sessions"];

/// What is left of a scene.
pub(super) struct Trace {
    parts: Vec<(String, String)>,
    /// The codings that each request said it can take.
    codings: Vec<Option<String>>,
    /// Whether the model was offered our tool: answers are not compressed then.
    is_offered: bool,
}

impl Trace {
    /// Takes down what the provider saw, what the client printed, and the transcripts and files that it wrote.
    pub(super) fn take(folder: &Path, urls: &[String], ran: &[Ran], requests: &[Seen]) -> Self {
        let mut normal = Normal::default();
        for url in urls {
            normal.replace(url, "<address>");
        }
        let (mut parts, mut codings, mut is_offered) = (Vec::new(), Vec::new(), false);
        let mut seen: Vec<&Seen> = requests.iter().collect();
        // Of those that are sent at once, any may arrive first.
        seen.sort_by_key(|seen| if is_sent_with_others(seen) { seen.body.clone() } else { Vec::new() });
        for (at, seen) in seen.into_iter().enumerate() {
            let mut headers: Vec<String> = seen
                .headers
                .iter()
                .filter(|(name, _)| {
                    !["host", "connection", "content-length", "accept-encoding"]
                        .contains(&name.to_lowercase().as_str())
                })
                .map(|(name, value)| format!("{name}: {value}"))
                .collect();
            headers.sort();
            let head = format!("{} {}?{}\n{}", seen.method, seen.path, seen.query, headers.join("\n"));
            codings.push(seen.header("accept-encoding").map(str::to_owned));
            let mut body = sorted(seen.json().clone());
            if offered(&body).is_some() {
                is_offered = true;
                body["tools"].as_array_mut().map(Vec::pop);
            }
            parts.push((format!("request {at}"), normal.text(&format!("{head}\n\n{body}"))));
        }
        for (at, ran) in ran.iter().enumerate() {
            let mut lines: Vec<String> = ran.out.lines().map(|line| normal.line(line)).collect();
            // Of commands that Codex runs at once, any may start first.
            lines.chunk_by_mut(|a, b| is_command(a) && is_command(b)).for_each(<[String]>::sort);
            parts.push((format!("output {at}"), format!("{:?}\n{}", ran.code, lines.join("\n"))));
            parts.push((format!("complaints {at}"), normal.text(&ran.err)));
        }
        let mut files = Vec::new();
        for below in KEPT.iter().chain(&["work"]) {
            list(&folder.join(below), &mut files);
        }
        files.sort_by_key(|path| normal.known(&path.to_string_lossy()));
        for path in files {
            let name = normal.text(&path.strip_prefix(folder).unwrap().to_string_lossy());
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            let lines = text.lines().filter(|line| !is_by_the_clock(line)).map(|line| normal.line(line));
            let mut lines: Vec<String> = lines.map(unnumbered).collect();
            lines.chunk_by_mut(|a, b| is_of_a_call(a) && is_of_a_call(b)).for_each(<[String]>::sort);
            parts.push((name, lines.join("\n")));
        }
        Self { parts, codings, is_offered }
    }

    /// The other is the same.
    #[track_caller]
    pub(super) fn is_also(&self, other: &Self) {
        let names = |trace: &Self| trace.parts.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        for ((name, direct), (other, proxied)) in self.parts.iter().zip(&other.parts) {
            assert!(name == other && direct == proxied, "{}", difference((name, direct), (other, proxied)));
        }
        assert_eq!(names(self), names(other), "the same parts");
        if !other.is_offered {
            assert_eq!(self.codings, other.codings);
        }
    }
}

/// Our tool, if a request offers it.
pub(super) fn offered(body: &Value) -> Option<&Value> {
    let last = body["tools"].as_array()?.last()?;
    [&last["name"], &last["function"]["name"]].into_iter().any(|name| name == "Recall").then_some(last)
}

/// The SDKs' asynchronous calls, and what Claude Code counts.
fn is_sent_with_others(seen: &Seen) -> bool {
    let is_async = seen.header("x-stainless-async").is_some_and(|value| value != "false");
    is_async || seen.path.ends_with("/count_tokens")
}

/// What Codex writes down of a call's end: of several at once, in any order.
fn is_of_a_call(line: &str) -> bool {
    line.contains(r#""type":"function_call_output""#) || line.contains(r#""type":"CommandExecution""#)
}

/// Without the numbers that depend on that order.
fn unnumbered(line: String) -> String {
    static NUMBERS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#""ordinal":\d+,|<id \d+>"#).unwrap());
    if is_of_a_call(&line) { NUMBERS.replace_all(&line, "").into_owned() } else { line }
}

fn is_command(line: &str) -> bool {
    line.contains(r#""type":"command_execution""#)
}

/// What clients keep of their sessions below a folder, one after the other.
pub(super) fn transcripts(folder: &Path) -> String {
    let mut files = Vec::new();
    KEPT.iter().for_each(|below| list(&folder.join(below), &mut files));
    files.iter().map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()).collect()
}

/// Claude Code writes down where it is every now and then.
fn is_by_the_clock(line: &str) -> bool {
    ["last-prompt", "atis-latch", "mode", "tools-used"]
        .iter()
        .any(|kind| line.starts_with(&format!("{{\"type\":\"{kind}\"")))
}

/// Codex writes some of its keys in another order each time.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<(String, Value)> =
                map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
            pairs.into_iter().collect::<Map<_, _>>().into()
        }
        Value::Array(list) => list.into_iter().map(sorted).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// Where two texts begin to differ, with a little around it.
fn difference((name, direct): (&str, &str), (other, proxied): (&str, &str)) -> String {
    let common = direct.bytes().zip(proxied.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        let bytes = text.as_bytes();
        let piece = &bytes[common.saturating_sub(300).min(bytes.len())..(common + 300).min(bytes.len())];
        String::from_utf8_lossy(piece).into_owned()
    };
    format!("directly, {name}:\n…{}…\n\nby way of the proxy, {other}:\n…{}…", around(direct), around(proxied))
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { list(&path, files) } else { files.push(path) }
    }
}
