//! The one thing that a fork may do: edit the notes (N3).

use super::document::Document;
use super::prompt::edits;
use super::template::Template;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use throughline_core::{ToolCall, ToolInput};
use throughline_model::Toolbox;

/// Edits of one update at most: each is looked at as a whole.
const MOST_EDITS: usize = 256;

/// Edits a copy of the notes in memory. Only replacements of a text in the notes' own file are carried out, and only those
/// that leave headers and guides as they are; nothing touches the disk.
#[derive(Debug)]
pub struct NotesEditor<'a> {
    path: PathBuf,
    template: &'a Template,
    text: String,
    /// Bytes that the notes may grow to.
    most_bytes: usize,
    applied: usize,
    refused: usize,
    /// Whether the answer that is being carried out asked for something that was refused.
    missed: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The notes.
    pub text: String,
    /// Calls that were carried out.
    pub applied: usize,
    /// Calls that were not.
    pub refused: usize,
}

struct Replacement {
    old: String,
    new: String,
    everywhere: bool,
}

impl<'a> NotesEditor<'a> {
    /// An editor of notes that are kept in a file and have the template's structure.
    pub fn new(path: &Path, template: &'a Template, text: &str) -> Self {
        // Anything sensible is well below; what is over the limits in tokens is cut later.
        let most_bytes = text.len().saturating_add(256 << 10);
        Self {
            path: real(path),
            template,
            text: text.to_owned(),
            most_bytes,
            applied: 0,
            refused: 0,
            missed: false,
        }
    }

    /// The notes as they are now, and how many calls were carried out or refused.
    pub fn finish(self) -> Edited {
        Edited { text: self.text, applied: self.applied, refused: self.refused }
    }

    fn edit(&mut self, call: &ToolCall) -> Result<String, String> {
        if !edits(&call.name) {
            return Err(self.only());
        }
        if self.applied + self.refused >= MOST_EDITS {
            return Err(format!("No more than {MOST_EDITS} edits in one update."));
        }
        let arguments = arguments(call).ok_or_else(|| {
            "The arguments are not an object with file_path, old_string and new_string.".to_owned()
        })?;
        self.check_target(&arguments)?;
        let replacements = replacements(&arguments)?;
        let mut text = self.text.clone();
        for replacement in &replacements {
            text = replacement.apply(&text)?;
            if text.len() > self.most_bytes {
                return Err("The notes would become far too long. Write less.".to_owned());
            }
        }
        let document = Document::parse(&text, self.template.outline());
        document.check(self.template.outline()).map_err(|breach| {
            format!("Not done: {breach}. Headers and guides stay as they are; edit only what is below them.")
        })?;
        self.text = text;
        Ok("Done.".to_owned())
    }

    fn check_target(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        // Tools with several commands: only the one that replaces.
        if let Some(command) = word(arguments, &["command"])
            && command != "str_replace"
        {
            return Err(self.only());
        }
        let path = word(arguments, &["file_path", "path", "filepath", "filename", "file", "target_file"]);
        let path = path.ok_or_else(|| format!("file_path is missing. {}", self.only()))?;
        let path = Path::new(path.trim());
        if !path.is_absolute() || real(path) != self.path {
            return Err(self.only());
        }
        Ok(())
    }

    fn only(&self) -> String {
        format!("Not allowed here. The only thing that can be done is to edit {}.", self.path.display())
    }
}

impl Toolbox for NotesEditor<'_> {
    fn call(&mut self, call: &ToolCall) -> Result<String, String> {
        let result = self.edit(call);
        match result {
            Ok(_) => self.applied += 1,
            Err(_) => {
                self.refused += 1;
                self.missed = true;
            }
        }
        result
    }

    /// All that one answer asked for was done. After a refusal the model may try again.
    fn is_done(&mut self) -> bool {
        !std::mem::take(&mut self.missed) && self.applied > 0
    }
}

impl Replacement {
    fn of(arguments: &Map<String, Value>) -> Result<Self, String> {
        let old = word(arguments, &["old_string", "old_str", "old_text", "old", "search", "find"]);
        let new = word(arguments, &["new_string", "new_str", "new_text", "new", "replace", "replacement"]);
        let (Some(old), Some(new)) = (old, new) else {
            return Err("old_string or new_string is missing.".to_owned());
        };
        let everywhere = ["replace_all", "replaceAll", "all"].iter().find_map(|key| arguments.get(*key));
        let everywhere = everywhere.is_some_and(|value| match value {
            Value::Bool(all) => *all,
            Value::String(word) => word == "true",
            Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
        });
        Ok(Self { old: old.to_owned(), new: new.to_owned(), everywhere })
    }

    fn apply(&self, text: &str) -> Result<String, String> {
        if self.old.is_empty() {
            return Err("old_string is empty: give the text to replace, such as a guide line.".to_owned());
        }
        if self.old == self.new {
            return Err("old_string and new_string are the same.".to_owned());
        }
        match (text.matches(self.old.as_str()).count(), self.everywhere) {
            (0, _) => Err("old_string does not occur in the notes as they are now.".to_owned()),
            (1, _) | (_, true) => Ok(text.replace(self.old.as_str(), &self.new)),
            (several, false) => Err(format!(
                "old_string occurs {several} times; give more of the text around it, or set replace_all."
            )),
        }
    }
}

fn replacements(arguments: &Map<String, Value>) -> Result<Vec<Replacement>, String> {
    match arguments.get("edits") {
        Some(Value::Array(edits)) if !edits.is_empty() && edits.len() <= MOST_EDITS => edits
            .iter()
            .map(|edit| {
                let edit =
                    edit.as_object().ok_or("Each of edits is an object with old_string and new_string.")?;
                Replacement::of(edit)
            })
            .collect(),
        Some(_) => Err(format!("edits is a list of 1 to {MOST_EDITS} edits.")),
        None => Ok(vec![Replacement::of(arguments)?]),
    }
}

/// The arguments as an object; some models write JSON where free text is asked for.
fn arguments(call: &ToolCall) -> Option<Map<String, Value>> {
    let value = match &call.input {
        ToolInput::Json(value) => value.clone(),
        ToolInput::JsonText(text) | ToolInput::Text(text) => serde_json::from_str(text).ok()?,
    };
    match value {
        Value::Object(map) => Some(map),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

fn word<'a>(arguments: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| arguments.get(*key)?.as_str())
}

/// A path without `.` and `..`, links resolved as far as it exists.
fn real(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            // What a link's parent is, only the file system knows.
            Component::ParentDir => {
                plain = plain.canonicalize().unwrap_or(plain);
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    let mut missing: Vec<OsString> = Vec::new();
    let mut there = plain.clone();
    loop {
        if let Ok(mut real) = there.canonicalize() {
            real.extend(missing.iter().rev());
            return real;
        }
        match there.file_name().map(ToOwned::to_owned) {
            Some(name) => missing.push(name),
            None => return plain,
        }
        there.pop();
    }
}
