//! Handles: ids that tools gave out and that later calls will name, such as running agents and background commands.

use super::failures::only_looks;
use super::outcome::ResultFrame;
use super::{Action, trim_front};
use crate::{MessageId, ToolCall, pattern_groups};
use std::ops::Range;

/// An id of something that is still running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handle {
    /// The id.
    pub id: String,
    /// The result that gave it.
    pub message: MessageId,
    /// What was started, in a few words.
    pub what: String,
    /// The file that its output goes to, where the result names one.
    pub output: Option<String>,
}

pattern_groups! { include_str!("../../data/handles.tsv"); CLOSES ENDED }

/// Handles remembered.
const MOST: usize = 64;
/// Results are read up to this many bytes: handles stand at their beginning or end.
const READ: usize = 4_000;

/// The handles that are open.
#[derive(Clone, Debug, Default)]
pub(super) struct Handles(Vec<Handle>);

impl Handles {
    pub(super) fn open(&self) -> &[Handle] {
        &self.0
    }

    /// Takes in the result of a call: it may give a handle, or say that something ended. Returns the ids that ended.
    pub(super) fn result(&mut self, call: &HandleCall<'_>, message: &MessageId, text: &str) -> Vec<String> {
        let HandleCall { name, what, gives } = *call;
        if gives == HandleSource::Nowhere {
            return Vec::new();
        }
        let framed = frame_lines(text);
        let text = &format!(
            "{}\n{}",
            crate::text::head(text, READ),
            crate::text::tail(text, READ.min(text.len().saturating_sub(READ)))
        );
        let is_end = !self.0.is_empty() && ENDED.is_in(text);
        let is_closing = CLOSES.is_in(name);
        let ended = self.close(|id| {
            (is_end && (text.contains(id) || what.contains(id))) || (is_closing && what.contains(id))
        });
        let text = match gives {
            HandleSource::Frame => &framed,
            HandleSource::Nowhere | HandleSource::Anywhere => text,
        };
        if is_closing {
            return ended;
        }
        for row in ROWS.iter().filter(|row| row.group == "given") {
            // What has no number and no path in it is a word of a text about handles.
            let is_id = |id: &&str| id.contains(|c: char| c.is_ascii_digit() || c == '/');
            let is_own = |place: &Range<usize>| {
                let before = text[..place.start].rsplit('\n').next().unwrap_or_default();
                match gives {
                    HandleSource::Nowhere => false,
                    HandleSource::Frame => before.chars().all(|c| c.is_alphabetic() || c == ' '),
                    HandleSource::Anywhere => !is_search_hit(before),
                }
            };
            let mut places = row.pattern.places(text).into_iter().filter(is_own);
            let id = places.find_map(|place| {
                let groups = row.pattern.groups(&text[place]).unwrap_or_default();
                groups.into_iter().skip(1).find(is_id).map(str::to_owned)
            });
            let Some(id) = id else { continue };
            if self.0.iter().all(|handle| handle.id != id) {
                let what = crate::text::one_line(what, 120);
                self.0.push(Handle { id, message: message.clone(), what, output: output_file(text) });
                trim_front(&mut self.0, MOST);
            }
        }
        ended
    }

    /// Takes in a notice of the client that something ended. Returns the ids that ended.
    pub(super) fn notice(&mut self, text: &str) -> Vec<String> {
        let is_end = !self.0.is_empty() && ENDED.is_in(text);
        self.close(|id| is_end && text.contains(id))
    }

    fn close(&mut self, is_ended: impl Fn(&str) -> bool) -> Vec<String> {
        let ended = self.0.extract_if(.., |handle| is_ended(&handle.id));
        ended.map(|handle| handle.id).collect()
    }
}

/// A call whose result may give a handle.
pub(super) struct HandleCall<'a> {
    /// The tool.
    pub(super) name: &'a str,
    /// The call in its own words.
    pub(super) what: &'a str,
    /// Part of the result that may give a handle.
    pub(super) gives: HandleSource,
}

/// Part of a result in which a tool tells handles of its own. Elsewhere they are quoted from files, logs and pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandleSource {
    Nowhere,
    /// The lines that the client puts around a command's output.
    Frame,
    Anywhere,
}

impl HandleSource {
    /// The part for the result of an action.
    pub(super) fn of(action: &Action, text: &str) -> Self {
        match action {
            // A file that is shown may begin like a frame.
            Action::Shell { command, .. }
                if only_looks(command)
                    && !text.starts_with("Chunk ID: ")
                    && !ResultFrame::read(text).output.trim().is_empty() =>
            {
                Self::Nowhere
            }
            Action::Shell { .. } | Action::Continue { .. } => Self::Frame,
            Action::Script(_) | Action::Delegate { .. } | Action::Other => Self::Anywhere,
            Action::Read { .. }
            | Action::Edit { .. }
            | Action::Write { .. }
            | Action::Search { .. }
            | Action::Todos(_)
            | Action::AddTodo(_)
            | Action::ChangeTodo { .. }
            | Action::Plan(_)
            | Action::Web { .. }
            | Action::Ask => Self::Nowhere,
        }
    }
}

/// The lines of a result that may be the client's: those of the frame, and the first and last line of the output.
fn frame_lines(text: &str) -> String {
    let output = ResultFrame::read(text).output;
    let frame = text.strip_suffix(output).unwrap_or_default();
    let mut lines = output.trim().lines();
    let (first, last) = (lines.next().unwrap_or_default(), lines.next_back().unwrap_or_default());
    format!("{frame}\n{first}\n{last}")
}

/// Returns true for what stands before a match in the line of a search hit: `src/a.ts:14: `.
fn is_search_hit(before: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    let parts: Vec<&str> = before.split(':').collect();
    parts.len() > 2 && parts[1..parts.len() - 1].iter().any(|part| is_number(part))
}

/// The file that a result says the output goes to.
fn output_file(text: &str) -> Option<String> {
    let rows = ROWS.iter().filter(|row| row.group == "output");
    rows.filter_map(|row| Some((*row.pattern.groups(text)?.get(1)?).to_owned())).next()
}

/// What a call is about, in its own words.
pub(super) fn describe(call: &ToolCall) -> String {
    format!("{} {}", call.name, call.input.to_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call<'a>(name: &'a str, what: &'a str, gives: HandleSource) -> HandleCall<'a> {
        HandleCall { name, what, gives }
    }

    #[test]
    fn handles_open_and_close() {
        let mut handles = Handles::default();
        let message = MessageId::new("m1");
        handles.result(
            &call("Bash", "cargo test", HandleSource::Frame),
            &message,
            "Command running in background with ID: bash_7. Output is being written to: /tmp/tasks/bash_7.output",
        );
        assert_eq!(handles.open()[0].output.as_deref(), Some("/tmp/tasks/bash_7.output"));
        handles.result(
            &call("spawn_agent", "review", HandleSource::Anywhere),
            &message,
            r#"{"agent_id":"019f-aa","nickname":"x"}"#,
        );
        assert_eq!(
            handles.open().iter().map(|handle| handle.id.as_str()).collect::<Vec<_>>(),
            ["bash_7", "019f-aa"]
        );
        let kill = call("KillShell", r#"{"shell_id":"bash_7"}"#, HandleSource::Anywhere);
        assert_eq!(handles.result(&kill, &message, "killed"), ["bash_7"]);
        assert_eq!(handles.open().len(), 1);
        handles.notice(
            "<task-notification><task-id>019f-aa</task-id><status>completed</status></task-notification>",
        );
        assert!(handles.open().is_empty());
    }

    #[test]
    fn an_id_is_found_behind_words_about_it() {
        let mut handles = Handles::default();
        let message = MessageId::new("m1");
        let text = "Async agent launched. (Never quote this, including the agentId below.)\nagentId: a67a543ad670c2d83 (internal)";
        handles.result(&call("Agent", "find callers", HandleSource::Anywhere), &message, text);
        handles.result(
            &call("spawn_agent", "review", HandleSource::Anywhere),
            &message,
            r#"{"task_name": "/root/perf_review"}"#,
        );
        let ids: Vec<&str> = handles.open().iter().map(|handle| handle.id.as_str()).collect();
        assert_eq!(ids, ["a67a543ad670c2d83", "/root/perf_review"]);
    }
}
