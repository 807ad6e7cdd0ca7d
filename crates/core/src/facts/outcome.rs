//! How a tool call ended.

use crate::ToolResult;
use crate::text::{head, tail};

/// How a tool call ended, as far as its result tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether it failed.
    pub failed: bool,
    /// The exit status of a command, where the client wrote it down.
    pub exit: Option<i32>,
    /// Whether the client said how it ended; on some wires it does not.
    pub is_known: bool,
}

impl Outcome {
    /// Reads a result.
    ///
    /// ```
    /// use throughline_core::ToolResult;
    /// use throughline_core::facts::Outcome;
    ///
    /// let result = ToolResult::text("c1".into(), "Exit code: 101\nOutput:\nerror: …");
    /// assert_eq!(Outcome::of(&result), Outcome { failed: true, exit: Some(101), is_known: true });
    /// ```
    pub fn of(result: &ToolResult) -> Self {
        Self::of_text(result, &result.content.to_text())
    }

    /// Reads a result whose text is at hand.
    pub(super) fn of_text(result: &ToolResult, text: &str) -> Self {
        let exit = ResultFrame::read(text).exit;
        let failed = result.is_error.unwrap_or(false) || exit.is_some_and(|code| code != 0);
        Self { failed, exit, is_known: exit.is_some() || result.is_error.is_some() }
    }
}

/// Lines that clients put in front of a command's output, by how they begin.
const FRAME_LINES: [&str; 13] = [
    "Chunk ID: ",
    "Wall time",
    "Process exited with code ",
    "Process running with session ID ",
    "Original token count: ",
    "Total output lines: ",
    "Exit code",
    "Command: ",
    "Command exited with code ",
    "Command failed with exit code ",
    "exited with code ",
    "Script completed",
    "Script running with cell ID ",
];
/// Frame lines that end with the exit status.
const EXIT_LINES: [&str; 6] = [
    "Exit code: ",
    "Exit code ",
    "Process exited with code ",
    "Command exited with code ",
    "Command failed with exit code ",
    "exited with code ",
];
/// Texts in front of the id of a command that goes on running.
const RUNNING: [&str; 3] =
    ["Process running with session ID ", "Script running with cell ID ", "running in background with ID: "];
/// Lines that are read for a frame.
const MOST_FRAME_LINES: usize = 12;

/// What a client wrote around the output of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResultFrame<'a> {
    /// The exit status.
    pub(super) exit: Option<i32>,
    /// The id of a command that goes on running.
    pub(super) running: Option<&'a str>,
    /// The output itself.
    pub(super) output: &'a str,
}

impl<'a> ResultFrame<'a> {
    /// Splits a result into frame and output. What the command printed says nothing about its status.
    pub(super) fn read(text: &'a str) -> Self {
        let mut frame = Self { exit: None, running: None, output: text };
        if text.starts_with("<retrieval_status>") || text.starts_with("<status>") {
            frame.read_tags(text);
            return frame;
        }
        let mut rest = text;
        for _ in 0..MOST_FRAME_LINES {
            let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
            let trimmed = line.trim_end();
            if trimmed == "Output:" && rest.len() < text.len() {
                rest = behind;
                break;
            }
            let is_background = trimmed.starts_with("Command running in background with ID: ");
            if !is_background && !FRAME_LINES.iter().any(|start| trimmed.starts_with(start)) {
                break;
            }
            let behind_mark =
                |marks: &[&str]| marks.iter().find_map(|mark| Some(trimmed.split_once(mark)?.1));
            if let Some(value) = behind_mark(&EXIT_LINES).filter(|_| frame.exit.is_none()) {
                frame.exit = leading_number(value);
            }
            if let Some(id) = behind_mark(&RUNNING) {
                let end = id.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').unwrap_or(id.len());
                frame.running = id.get(..end).filter(|id| !id.is_empty());
            }
            rest = behind;
        }
        frame.output = rest;
        frame.read_end(text);
        frame
    }

    /// Metadata behind the output: of our own agent, and of clients that answer in JSON.
    fn read_end(&mut self, text: &str) {
        let end = tail(text, 200);
        let last = end.trim_end().lines().next_back().unwrap_or_default();
        let own = last.strip_prefix("[exit status ").and_then(|rest| rest.strip_suffix(']'));
        if let Some(status) = own.and_then(|status| status.parse().ok()) {
            self.exit = Some(status);
        } else if self.exit.is_none() && text.starts_with("{\"") {
            let behind = end.rsplit_once("\"exit_code\":").map(|(_, behind)| behind);
            self.exit = behind.and_then(|behind| leading_number(behind.trim_start()));
        }
    }

    /// The tags in which Claude Code reports on a command in the background.
    fn read_tags(&mut self, text: &'a str) {
        let tag = |name: &str| {
            let (_, behind) = head(text, 1_000).split_once(&format!("<{name}>"))?;
            Some(behind.split('<').next()?.trim())
        };
        self.exit = tag("exit_code").and_then(leading_number);
        if tag("status") == Some("running") {
            self.running = tag("task_id").or(Some(""));
        }
        let output = ["<output>", "<stdout>"].iter().find_map(|mark| Some(text.split_once(mark)?.1));
        self.output = output.unwrap_or(text);
    }
}

fn leading_number(text: &str) -> Option<i32> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

/// A way in which clients say that a call was not carried out: declined by a person, stopped, refused by the client.
struct NotCarriedOut {
    start: &'static str,
    #[cfg(test)]
    example: &'static str,
}

macro_rules! not_carried_out {
    ($($start:literal: $example:literal;)*) => {
        &[$(NotCarriedOut { start: $start, #[cfg(test)] example: $example }),*]
    };
}

const NOT_CARRIED_OUT: &[NotCarriedOut] = not_carried_out! {
    "The user doesn't want to": "The user doesn't want to proceed with this tool use. The tool use was rejected";
    "The user rejected": "The user rejected this command";
    "The user declined": "The user declined to answer";
    "The user denied": "The user denied the call";
    "User rejected": "User rejected tool use";
    "User denied": "User denied the request";
    "User declined": "User declined";
    "[Request interrupted": "[Request interrupted by user for tool use]";
    "aborted by user": "aborted by user after 3.2s";
    "exec command rejected by user": "exec command rejected by user";
    "patch rejected by user": "patch rejected by user";
    "Permission to use": "Permission to use Bash with command rm -rf x has been denied.";
    "Claude requested permissions": "Claude requested permissions to write to a.md, but you haven't granted it yet.";
    "This command requires approval": "This command requires approval";
    "Cancelled: parallel tool call": "<tool_use_error>Cancelled: parallel tool call Bash(ls) errored</tool_use_error>";
    "Sibling tool call errored": "<tool_use_error>Sibling tool call errored</tool_use_error>";
    "File has not been read yet": "<tool_use_error>File has not been read yet. Read it first</tool_use_error>";
    "File has been modified since read": "File has been modified since read, either by the user or by a linter.";
    "InputValidationError": "<tool_use_error>InputValidationError: Read failed</tool_use_error>";
    "Blocked: ": "<tool_use_error>Blocked: sleep 60 followed by cat</tool_use_error>";
};

/// Whether a failed result says that the call was not carried out. Such a call tells nothing about the work.
pub(super) fn was_not_carried_out(output: &str) -> bool {
    let text = output.trim_start().trim_start_matches("<tool_use_error>");
    let text = text.trim_start_matches("Error: ");
    NOT_CARRIED_OUT.iter().any(|row| text.starts_with(row.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Outcome {
        Outcome::of(&ToolResult::text("c".into(), text))
    }

    #[test]
    fn exit_statuses_of_the_clients_are_read() {
        assert_eq!(of("Exit code 2\nls: no such file").exit, Some(2));
        assert_eq!(of("Chunk ID: 1\nWall time: 0.1\nProcess exited with code 0\nOutput:\nok").exit, Some(0));
        let own = format!("{}[exit status 101]", "a line\n".repeat(200));
        assert_eq!(of(&own), Outcome { failed: true, exit: Some(101), is_known: true });
        let json = format!(
            r#"{{"output":"{}","metadata":{{"exit_code":1,"duration_seconds":2}}}}"#,
            "x".repeat(900)
        );
        assert_eq!(of(&json), Outcome { failed: true, exit: Some(1), is_known: true });
        let background = "<retrieval_status>success</retrieval_status>\n\n<task_id>b1</task_id>\n\n\
            <status>completed</status>\n\n<exit_code>1</exit_code>\n\n<output>\nFAIL</output>";
        assert_eq!(of(background), Outcome { failed: true, exit: Some(1), is_known: true });
    }

    #[test]
    fn what_a_command_prints_about_statuses_is_not_its_own() {
        for text in [
            &format!("{}the server failed with exit code 7", "line\n".repeat(200)),
            "src/run.rs:12: // the exit code 1 means failure\nsrc/run.rs:13: exit status 2",
            "a.rs: \"exit_code\": 3",
            "docs.md:3:Process exited with code 1",
        ] {
            assert_eq!(of(text), Outcome { failed: false, exit: None, is_known: false }, "{text}");
        }
    }

    #[test]
    fn frames_are_split_from_outputs() {
        let codex = "Chunk ID: 1\nWall time: 10 seconds\nProcess running with session ID 77\nOutput:\nhalf";
        assert_eq!(ResultFrame::read(codex), ResultFrame { exit: None, running: Some("77"), output: "half" });
        let claude = "Command running in background with ID: b12a. Output is being written to: /tmp/x";
        assert_eq!(ResultFrame::read(claude).running, Some("b12a"));
        assert_eq!(ResultFrame::read("Exit code 1\nwhy").output, "why");
        assert_eq!(ResultFrame::read("plain\ntext").output, "plain\ntext");
    }

    #[test]
    fn calls_that_were_not_carried_out_are_known() {
        for row in NOT_CARRIED_OUT {
            assert!(was_not_carried_out(row.example), "{}", row.example);
        }
        for text in
            ["error: the user doesn't exist", "Permission denied", "String to replace not found in file."]
        {
            assert!(!was_not_carried_out(text), "{text}");
        }
    }
}
