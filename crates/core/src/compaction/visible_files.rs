//! Content of files as the view shows it, for hosts that can't read files themselves (P5e).

use crate::facts::{Action, Outcome};
use crate::{Body, CallId, Entry, ToolCall, ToolInput};
use serde_json::Value;
use std::collections::HashMap;

/// Beginnings of results that say that a file is not there.
const MISSING: [&str; 4] = ["does not exist", "no such file", "not found", "there is no"];
/// Commands that change or remove the files they name.
const CHANGING: [&str; 10] =
    ["rm", "mv", "unlink", "truncate", "tee", "patch", "sed -i", "perl -i", "perl -pi", "git rm"];
/// Commands that change files without naming them.
const CHANGING_ALL: [&str; 6] =
    ["git checkout", "git restore", "git reset --hard", "git stash", "git apply", "git pull"];

/// The newest content of each of some files that the view shows: the last read or write, with later edits applied. A file is
/// left out if its content is no longer shown, if it was removed, or if a later change can't be followed.
pub(super) fn visible_contents(
    entries: &[Entry],
    paths: &[&str],
    relative: impl Fn(&str) -> String,
) -> HashMap<String, String> {
    let mut contents: HashMap<String, String> = HashMap::new();
    let mut open: HashMap<CallId, FileCall> = HashMap::new();
    for entry in entries {
        for (at, block) in entry.message.blocks.iter().enumerate() {
            match &block.body {
                Body::ToolCall(call) => {
                    if let Some(file_call) = FileCall::parse(call, &relative)
                        && file_call.concerns(paths)
                    {
                        open.insert(call.id.clone(), file_call);
                    }
                }
                Body::ToolResult(result) => {
                    let Some(call) = open.remove(&result.call) else { continue };
                    let text = result.content.to_text();
                    let result = CallResult {
                        failed: Outcome::of(result).failed,
                        is_shown: entry.overlays.iter().all(|overlay| overlay.block != at),
                        text: &text,
                    };
                    call.apply(&result, paths, &mut contents);
                }
                Body::Text(_)
                | Body::Reasoning { .. }
                | Body::Image(_)
                | Body::Document(_)
                | Body::Unknown(_) => {}
            }
        }
    }
    contents
}

/// A call that reads or changes files.
enum FileCall {
    Read { path: String },
    Write { path: String, content: Option<String> },
    Edit { paths: Vec<String>, replacements: Option<Vec<Replacement>> },
    Shell { command: String },
}

/// One replacement of an edit.
struct Replacement {
    old: String,
    new: String,
    all: bool,
}

struct CallResult<'a> {
    failed: bool,
    /// The result still stands in the view as it came.
    is_shown: bool,
    text: &'a str,
}

impl FileCall {
    fn parse(call: &ToolCall, relative: &impl Fn(&str) -> String) -> Option<Self> {
        let input = match &call.input {
            ToolInput::Json(value) => value.clone(),
            ToolInput::JsonText(text) => serde_json::from_str(text).unwrap_or(Value::Null),
            ToolInput::Text(_) => Value::Null,
        };
        match Action::of(call) {
            Action::Read { path } => Some(Self::Read { path: relative(&path) }),
            Action::Write { path } => {
                let content =
                    ["content", "file_text", "contents"].iter().find_map(|key| input[*key].as_str());
                Some(Self::Write { path: relative(&path), content: content.map(str::to_owned) })
            }
            Action::Edit { paths } => Some(Self::Edit {
                paths: paths.iter().map(|path| relative(path)).collect(),
                replacements: replacements(&input),
            }),
            Action::Shell { command, .. } => Some(Self::Shell { command }),
            Action::Script(_)
            | Action::Continue { .. }
            | Action::Search { .. }
            | Action::Todos(_)
            | Action::AddTodo(_)
            | Action::ChangeTodo { .. }
            | Action::Plan(_)
            | Action::Delegate { .. }
            | Action::Web { .. }
            | Action::Ask
            | Action::Other => None,
        }
    }

    fn concerns(&self, wanted: &[&str]) -> bool {
        match self {
            Self::Read { path } | Self::Write { path, .. } => wanted.contains(&path.as_str()),
            Self::Edit { paths, .. } => paths.iter().any(|path| wanted.contains(&path.as_str())),
            Self::Shell { .. } => true,
        }
    }

    fn apply(self, result: &CallResult<'_>, wanted: &[&str], contents: &mut HashMap<String, String>) {
        match self {
            Self::Read { path } if result.failed => {
                let text = result.text.to_lowercase();
                if MISSING.iter().any(|words| text.contains(words)) {
                    contents.remove(&path);
                }
            }
            Self::Read { path } if result.is_shown && !result.text.trim().is_empty() => {
                contents.insert(path, result.text.to_owned());
            }
            Self::Read { path } => drop(contents.remove(&path)),
            Self::Write { .. } | Self::Edit { .. } if result.failed => {}
            Self::Write { path, content } => match content {
                Some(content) => drop(contents.insert(path, content)),
                None => drop(contents.remove(&path)),
            },
            Self::Edit { paths, replacements } => {
                for path in paths {
                    let old = contents.remove(&path);
                    let new = old.and_then(|old| edited(&old, replacements.as_deref()?));
                    contents.extend(new.map(|new| (path, new)));
                }
            }
            // A command that failed may have done a part of its work.
            Self::Shell { command } => {
                wanted.iter().filter(|path| may_change(&command, path)).for_each(|path| {
                    contents.remove(*path);
                });
            }
        }
    }
}

/// The replacements of an edit's input; nothing where it is an edit of another form.
fn replacements(input: &Value) -> Option<Vec<Replacement>> {
    let one = |edit: &Value| {
        let text = |keys: [&str; 2]| keys.iter().find_map(|key| edit[*key].as_str()).map(str::to_owned);
        Some(Replacement {
            old: text(["old_string", "old_str"])?,
            new: text(["new_string", "new_str"])?,
            all: edit["replace_all"].as_bool().unwrap_or(false),
        })
    };
    match input["edits"].as_array() {
        Some(edits) => edits.iter().map(one).collect(),
        None => one(input).map(|edit| vec![edit]),
    }
}

/// A content with replacements made; nothing where one does not fit what is shown.
fn edited(content: &str, replacements: &[Replacement]) -> Option<String> {
    let mut text = without_line_numbers(content);
    for Replacement { old, new, all } in replacements {
        let count = if old.is_empty() { 0 } else { text.matches(old.as_str()).count() };
        text = match (count, all) {
            (1, _) | (2.., true) => text.replace(old.as_str(), new),
            (0, _) | (_, false) => return None,
        };
    }
    Some(text)
}

/// The text of a read without the line numbers in front of its lines, and without what follows the numbered lines.
fn without_line_numbers(text: &str) -> String {
    let mut lines = Vec::new();
    let mut last: Option<u64> = None;
    for line in text.lines() {
        match numbered(line) {
            Some((number, rest)) if last.is_none_or(|last| number == last + 1) => {
                last = Some(number);
                lines.push(rest);
            }
            Some(_) | None => break,
        }
    }
    if lines.is_empty() { text.to_owned() } else { format!("{}\n", lines.join("\n")) }
}

fn numbered(line: &str) -> Option<(u64, &str)> {
    let line = line.trim_start_matches(' ');
    let end = line.find(|c: char| !c.is_ascii_digit())?;
    let rest = line[end..].strip_prefix(['→', '\t'])?;
    Some((line[..end].parse().ok()?, rest))
}

/// Whether a command may have changed or removed a file.
fn may_change(command: &str, path: &str) -> bool {
    let has = |words: &&str| {
        let is_end =
            |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.' | '/'));
        command.match_indices(*words).any(|(at, _)| {
            is_end(command[..at].chars().next_back()) && is_end(command[at + words.len()..].chars().next())
        })
    };
    if CHANGING_ALL.iter().any(has) {
        return true;
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let folders = path.rsplit('/').skip(1).filter(|folder| folder.len() > 2);
    let is_named = command.contains(name) || folders.into_iter().any(|folder| command.contains(folder));
    if is_named && CHANGING.iter().any(has) {
        return true;
    }
    // A redirection into it.
    command.split('>').skip(1).any(|rest| {
        let target = rest.split_whitespace().next().unwrap_or_default();
        target.trim_matches(['"', '\'', ';', ')']).ends_with(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_numbers_of_every_client_are_taken_off() {
        let text = "     9→fn a() {\n    10→\tb();\n    11→}\n<system-reminder>x</system-reminder>";
        assert_eq!(without_line_numbers(text), "fn a() {\n\tb();\n}\n");
        assert_eq!(without_line_numbers("1\tx\n2\ty\n"), "x\ny\n");
        assert_eq!(without_line_numbers("1. not numbered\n"), "1. not numbered\n");
    }

    #[test]
    fn an_edit_that_does_not_fit_what_is_shown_leaves_nothing() {
        let edit = |old: &str, all| Replacement { old: old.to_owned(), new: "x".to_owned(), all };
        assert_eq!(edited("a b a", &[edit("b", false)]).as_deref(), Some("a x a"));
        assert_eq!(edited("a b a", &[edit("a", true)]).as_deref(), Some("x b x"));
        assert_eq!(edited("a b a", &[edit("a", false)]), None);
        assert_eq!(edited("a b a", &[edit("c", true)]), None);
        assert_eq!(edited("a b a", &[edit("", true)]), None);
    }

    #[test]
    fn commands_that_change_a_file_are_told_from_those_that_look_at_it() {
        for command in [
            "rm src/a.rs",
            "cd src && rm -f a.rs",
            "sed -i 's/x/y/' src/a.rs",
            "echo x >src/a.rs",
            "cat b > 'src/a.rs'",
            "git checkout .",
            "rm -rf src",
        ] {
            assert!(may_change(command, "src/a.rs"), "{command}");
        }
        for command in [
            "cat src/a.rs 2>/dev/null",
            "grep -n form src/a.rs",
            "cargo test 2>&1",
            "ls src > list.txt",
            "rm b.rs",
        ] {
            assert!(!may_change(command, "src/a.rs"), "{command}");
        }
    }
}
