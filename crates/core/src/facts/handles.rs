//! Handles: ids that tools gave out and that later calls will name, such as running agents and background commands.

use super::trim_front;
use crate::{MessageId, ToolCall, pattern_groups};

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

    /// Takes in the result of a call: it may give a handle, or say that something ended.
    pub(super) fn result(&mut self, call: &str, what: &str, message: &MessageId, text: &str) {
        let text = &format!(
            "{}\n{}",
            crate::text::head(text, READ),
            crate::text::tail(text, READ.min(text.len().saturating_sub(READ)))
        );
        if !self.0.is_empty() && ENDED.is_in(text) {
            self.0.retain(|handle| !(text.contains(&handle.id) || what.contains(&handle.id)));
        }
        if CLOSES.is_in(call) {
            self.0.retain(|handle| !what.contains(&handle.id));
            return;
        }
        for row in ROWS.iter().filter(|row| row.group == "given") {
            // What has no number and no path in it is a word of a text about handles.
            let is_id = |id: &&str| id.contains(|c: char| c.is_ascii_digit() || c == '/');
            let mut places = row.pattern.places(text).into_iter();
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
    }

    /// A notice of the client: something ended.
    pub(super) fn notice(&mut self, text: &str) {
        if !self.0.is_empty() && ENDED.is_in(text) {
            self.0.retain(|handle| !text.contains(&handle.id));
        }
    }
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

    #[test]
    fn handles_open_and_close() {
        let mut handles = Handles::default();
        let message = MessageId::new("m1");
        handles.result(
            "Bash",
            "cargo test",
            &message,
            "Command running in background with ID: bash_7. Output is being written to: /tmp/tasks/bash_7.output",
        );
        assert_eq!(handles.open()[0].output.as_deref(), Some("/tmp/tasks/bash_7.output"));
        handles.result("spawn_agent", "review", &message, r#"{"agent_id":"019f-aa","nickname":"x"}"#);
        assert_eq!(
            handles.open().iter().map(|handle| handle.id.as_str()).collect::<Vec<_>>(),
            ["bash_7", "019f-aa"]
        );
        handles.result("KillShell", r#"{"shell_id":"bash_7"}"#, &message, "killed");
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
        handles.result("Agent", "find callers", &message, text);
        handles.result("spawn_agent", "review", &message, r#"{"task_name": "/root/perf_review"}"#);
        let ids: Vec<&str> = handles.open().iter().map(|handle| handle.id.as_str()).collect();
        assert_eq!(ids, ["a67a543ad670c2d83", "/root/perf_review"]);
    }
}
