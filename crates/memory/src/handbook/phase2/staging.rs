//! What a fork works on: a copy of the handbook that is nowhere on the disk.
//!
//! Paths are names in a table, so there is nothing to lead out of it: no link, no `..`, no other file. What it comes to is checked
//! before any of it is written.

use super::folder::Files;
use super::paths::{MEMORY, Part, SUMMARY, part, skill_of};
use crate::handbook::HandbookLimits;
use regex::RegexBuilder;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use throughline_core::{ToolCall, ToolDefinition, Wire};
use throughline_model::Toolbox;

/// Calls of one consolidation.
const MOST_CALLS: usize = 400;
/// Bytes of an answer.
const ANSWER_BYTES: usize = 40_000;
const MOST_LINES: usize = 200;
/// Bytes of a pattern's machine.
const PATTERN_BYTES: usize = 1 << 20;

/// A copy of a handbook, and what may be done with it.
pub(super) struct Staging<'a> {
    files: BTreeMap<String, String>,
    /// Skills that people made: they are read, and stay.
    foreign: &'a BTreeSet<String>,
    limits: &'a HandbookLimits,
    calls: usize,
}

impl<'a> Staging<'a> {
    pub(super) fn new(files: &Files, foreign: &'a BTreeSet<String>, limits: &'a HandbookLimits) -> Self {
        let text =
            |(path, bytes): (&String, &Vec<u8>)| (path.clone(), String::from_utf8_lossy(bytes).into_owned());
        Self { files: files.iter().map(text).collect(), foreign, limits, calls: 0 }
    }

    /// A file, if it is there.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// The skills that are ours, by name.
    pub(super) fn skills(&self) -> impl Iterator<Item = (&str, &str)> {
        let ours = self.files.iter().filter_map(|(path, text)| Some((skill_of(path)?, text.as_str())));
        ours.filter(|(name, _)| !self.foreign.contains(*name))
    }

    /// As a request offers them.
    pub(super) fn tools(wire: Wire) -> Vec<Value> {
        let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required});
        let text = || json!({"type": "string"});
        let number = || json!({"type": "integer", "minimum": 1});
        [
            ("list", "Lists files of the handbook with their sizes.", object(json!({"folder": text()}), &[])),
            (
                "read",
                "Reads a file, with line numbers.",
                object(json!({"path": text(), "from": number(), "lines": number()}), &["path"]),
            ),
            (
                "search",
                "Finds lines by a regular expression, case-insensitive, in all files or in one.",
                object(json!({"pattern": text(), "path": text()}), &["pattern"]),
            ),
            (
                "write",
                "Replaces a whole file, or makes it.",
                object(json!({"path": text(), "text": text()}), &["path", "text"]),
            ),
            (
                "edit",
                "Replaces a text that stands exactly once in a file.",
                object(json!({"path": text(), "old": text(), "new": text()}), &["path", "old", "new"]),
            ),
            (
                "delete",
                "Removes a skill that is no longer borne out.",
                object(json!({"path": text()}), &["path"]),
            ),
        ]
        .into_iter()
        .map(|(name, description, parameters)| ToolDefinition { name, description, parameters }.on(wire))
        .collect()
    }

    fn list(&self, input: &Value) -> String {
        let folder = input.get("folder").and_then(Value::as_str).unwrap_or_default();
        let folder = folder.trim().trim_start_matches("./").trim_end_matches('/');
        let folder = if folder == "." { "" } else { folder };
        let lines: Vec<String> = self
            .files
            .iter()
            .filter(|(path, _)| {
                folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
            })
            .map(|(path, text)| format!("{path} ({} bytes, {} lines)", text.len(), text.lines().count()))
            .collect();
        if lines.is_empty() { "No file is there.".to_owned() } else { cut(&lines.join("\n")) }
    }

    fn read(&self, input: &Value) -> Result<String, String> {
        let path = path_of(input)?;
        let text = self.files.get(path).ok_or_else(|| missing(path))?;
        let number = |key: &str| input.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        let from = number("from").unwrap_or(1).max(1);
        let most = number("lines").unwrap_or(usize::MAX);
        let all = text.lines().count();
        let mut out = String::new();
        let mut last = from - 1;
        for (at, line) in text.lines().enumerate().skip(from - 1).take(most) {
            let line = format!("{}\t{line}\n", at + 1);
            if out.len() + line.len() > ANSWER_BYTES {
                if out.is_empty() {
                    // One line longer than an answer: its beginning.
                    out.push_str(&line[..line.floor_char_boundary(ANSWER_BYTES)]);
                    out.push('\n');
                    last = at + 1;
                }
                break;
            }
            out.push_str(&line);
            last = at + 1;
        }
        if last < all && out.len() < usize::MAX {
            out.push_str(&format!(
                "[{} of {all} lines shown; go on with from: {}]\n",
                last + 1 - from.min(last + 1),
                last + 1
            ));
        }
        Ok(if out.is_empty() { "The file is empty.".to_owned() } else { out })
    }

    fn search(&self, input: &Value) -> Result<String, String> {
        let pattern = input.get("pattern").and_then(Value::as_str).ok_or("Give a pattern.")?;
        let build = |pattern: &str| {
            RegexBuilder::new(pattern).case_insensitive(true).size_limit(PATTERN_BYTES).build()
        };
        let regex =
            build(pattern).or_else(|_| build(&regex::escape(pattern))).map_err(|error| error.to_string())?;
        let only = input.get("path").and_then(Value::as_str).map(|_| path_of(input)).transpose()?;
        let mut lines = Vec::new();
        for (path, text) in
            self.files.iter().filter(|(path, _)| only.is_none_or(|only| only == path.as_str()))
        {
            let found = text.lines().enumerate().filter(|(_, line)| regex.is_match(line));
            lines.extend(found.take(MOST_LINES).map(|(at, line)| format!("{path}:{}: {line}", at + 1)));
            if lines.len() >= MOST_LINES {
                lines.truncate(MOST_LINES);
                lines.push(format!("[the first {MOST_LINES} lines]"));
                break;
            }
        }
        Ok(if lines.is_empty() { "No line has it.".to_owned() } else { cut(&lines.join("\n")) })
    }

    fn write(&mut self, path: &str, text: &str) -> Result<String, String> {
        self.check_writable(path)?;
        let most = if skill_of(path).is_some() { self.limits.skill_bytes } else { self.limits.book_bytes };
        if text.len() > most {
            return Err(format!("Not written: {} bytes, over the limit of {most}. Condense it.", text.len()));
        }
        let is_new = !self.files.contains_key(path);
        if is_new && skill_of(path).is_some() && self.skills().count() >= self.limits.skills {
            return Err(format!("Not written: there are {} skills, which is the limit.", self.limits.skills));
        }
        self.files.insert(path.to_owned(), text.to_owned());
        Ok(format!("Written: {path}, {} bytes.", text.len()))
    }

    fn edit(&mut self, input: &Value) -> Result<String, String> {
        let path = path_of(input)?;
        self.check_writable(path)?;
        let word = |key: &str| input.get(key).and_then(Value::as_str).ok_or(format!("Give `{key}`."));
        let (old, new) = (word("old")?, word("new")?);
        let text = self.files.get(path).ok_or_else(|| missing(path))?;
        if old.is_empty() {
            return Err("`old` is empty. Give the text to be replaced.".to_owned());
        }
        match text.matches(old).take(2).count() {
            0 => Err(format!("Not done: {path} does not hold this text, letter by letter. Read it again.")),
            1 => {
                let text = text.replacen(old, new, 1);
                self.write(path, &text)
            }
            _ => Err(format!(
                "Not done: the text stands more than once in {path}. Give more of what is around it."
            )),
        }
    }

    fn delete(&mut self, path: &str) -> Result<String, String> {
        self.check_writable(path)?;
        if skill_of(path).is_none() {
            return Err(format!("{path} can't be deleted. Only skills can; write or edit the rest."));
        }
        self.files.remove(path).map(|_| format!("Deleted: {path}.")).ok_or_else(|| missing(path))
    }

    fn check_writable(&self, path: &str) -> Result<(), String> {
        if let Some(name) = skill_of(path).filter(|name| self.foreign.contains(*name)) {
            return Err(format!("The skill {name} is a person's: leave it as it is."));
        }
        match part(path) {
            Some(Part::Book) => Ok(()),
            Some(Part::Material | Part::Hand) | None => Err(format!(
                "{path:?} can't be written here. Only {MEMORY}, {SUMMARY} and skills/<name>/SKILL.md can."
            )),
        }
    }
}

impl Toolbox for Staging<'_> {
    fn call(&mut self, call: &ToolCall) -> Result<String, String> {
        self.calls += 1;
        if self.calls > MOST_CALLS {
            return Err(format!("No more than {MOST_CALLS} calls. End now."));
        }
        let input = call.input.to_json().unwrap_or_default();
        match call.name.as_str() {
            "list" => Ok(self.list(&input)),
            "read" => self.read(&input),
            "search" => self.search(&input),
            "write" => {
                let text = input.get("text").and_then(Value::as_str).ok_or("Give the file's `text`.")?;
                self.write(path_of(&input)?, text)
            }
            "edit" => self.edit(&input),
            "delete" => self.delete(path_of(&input)?),
            other => {
                Err(format!("There is no {other} here: only list, read, search, write, edit and delete."))
            }
        }
    }
}

/// The path that a call names.
fn path_of(input: &Value) -> Result<&str, String> {
    let path = input.get("path").and_then(Value::as_str).ok_or("Give a `path`.")?;
    let path = path.strip_prefix("./").unwrap_or(path);
    let is_plain = !path.is_empty()
        && !path.contains(['\\', '\0'])
        && path.split('/').all(|name| !name.is_empty() && name != "." && name != "..");
    if is_plain { Ok(path) } else { Err(format!("{path:?} is no path in the handbook's folder.")) }
}

fn missing(path: &str) -> String {
    format!("There is no {path}.")
}

fn cut(text: &str) -> String {
    if text.len() <= ANSWER_BYTES {
        return text.to_owned();
    }
    format!("{}\n[cut]", &text[..text.floor_char_boundary(ANSWER_BYTES)])
}
