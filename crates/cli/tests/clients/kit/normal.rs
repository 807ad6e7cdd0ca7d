//! What differs between two runs of the same thing: names that are drawn, times, ports.

use regex::{Captures, Regex};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Drawn names: UUIDs, runs of hexadecimal digits that are no word, files for long results.
static IDS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{16,64}\b|tool-results/[a-z0-9]+")
        .unwrap()
});
/// Moments, as people and as file names write them, and as milliseconds.
static TIMES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"\b20\d\d-\d\d-\d\d[T ]\d\d[:-]\d\d[:-]\d\d(?:\.\d+)?(?:Z|\+00:00)?|\b1[789]\d{8}(?:\d{3}\b|\.\d+|\b)",
    )
    .unwrap()
});
/// Sockets, processes, names for people, and numbers by who was first.
static PROCESSES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"/cc-socks/\d+|"id":"item_\d+"|"process_id":"\d+"|"slug":"[a-z-]+"|"run_id":"[0-9a-z-]+""#)
        .unwrap()
});
/// What is said of a command.
static COMMANDS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"Chunk ID: [0-9a-f]+|Wall time:? [0-9.]+|duration_ms: \d+").unwrap());
/// Figures that a clock gave, beside those whose names end in milliseconds, or that depend on their length.
const MEASURED: [&str; 7] =
    ["end_byte_offset", "durationSeconds", "started_at", "completed_at", "secs", "nanos", "duration"];

/// Gives every drawn name a number by when it is first met, so that what belonged together still does.
#[derive(Default)]
pub(super) struct Normal {
    names: HashMap<String, String>,
    replaced: Vec<(String, String)>,
}

impl Normal {
    /// Takes this out wherever it stands.
    pub(super) fn replace(&mut self, what: &str, by: &str) {
        self.replaced.push((what.to_owned(), by.to_owned()));
    }

    pub(super) fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (what, by) in &self.replaced {
            text = text.replace(what, by);
        }
        let text = PROCESSES.replace_all(&text, "<process>");
        let text = COMMANDS.replace_all(&text, "<command>");
        let text = TIMES.replace_all(&text, "<time>");
        IDS.replace_all(&text, |found: &Captures<'_>| {
            let next = format!("<id {}>", self.names.len());
            self.names.entry(found[0].to_owned()).or_insert(next).clone()
        })
        .into_owned()
    }

    /// With the numbers of the names that were met, and none for others.
    pub(super) fn known(&self, text: &str) -> String {
        let known = |found: &Captures<'_>| self.names.get(&found[0]).cloned().unwrap_or_default();
        IDS.replace_all(&TIMES.replace_all(text, "<time>"), known).into_owned()
    }

    /// A line that is JSON, without what was measured.
    pub(super) fn line(&mut self, line: &str) -> String {
        match serde_json::from_str::<Value>(line) {
            Ok(mut value) => {
                unmeasured(&mut value);
                self.text(&value.to_string())
            }
            Err(_) => self.text(line),
        }
    }
}

fn unmeasured(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if value.is_number() && is_measured(key) {
                    *value = 0.into();
                } else {
                    unmeasured(value);
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(unmeasured),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_measured(key: &str) -> bool {
    let ends = ["Ms", "_ms", "Duration", "DurationWithoutRetries", "_duration"];
    ends.iter().any(|end| key.ends_with(end)) || MEASURED.contains(&key)
}
