//! How a tool call ended.

use crate::ToolResult;
use memchr::memmem;

/// How a tool call ended, as far as its result tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether it failed.
    pub failed: bool,
    /// The exit status of a command, where the client wrote it down.
    pub exit: Option<i32>,
}

/// The marks that clients put before an exit status: what stands before and behind [`CORE`] in them.
const MARKS: [(&str, &str); 7] = [
    ("E", " code: "),
    ("E", " code "),
    ("e", " code: "),
    ("e", " code "),
    ("e", "ed with code "),
    ("e", " status "),
    ("\"e", "_code\":"),
];
/// The letters that all marks share: few results hold them, so the rest is seldom compared.
const CORE: &str = "xit";

impl Outcome {
    /// Reads a result.
    ///
    /// ```
    /// use throughline_core::ToolResult;
    /// use throughline_core::facts::Outcome;
    ///
    /// let result = ToolResult::text("c1".into(), "Exit code: 101\nOutput:\nerror: …");
    /// assert_eq!(Outcome::of(&result), Outcome { failed: true, exit: Some(101) });
    /// ```
    pub fn of(result: &ToolResult) -> Self {
        Self::of_text(result, &result.content.to_text())
    }

    /// Reads a result whose text is at hand.
    pub(super) fn of_text(result: &ToolResult, text: &str) -> Self {
        let exit = exit_status(text);
        let failed = result.is_error.unwrap_or(false) || exit.is_some_and(|code| code != 0);
        Self { failed, exit }
    }
}

/// Clients write the status into the first lines, or as metadata behind the output; output in between is the command's
/// own and says nothing.
fn exit_status(text: &str) -> Option<i32> {
    let head = crate::text::head(text, 300);
    let tail = crate::text::tail(text, 200);
    if let Some(status) = own_status(tail) {
        return Some(status);
    }
    // Behind the output only the client's own metadata counts.
    find_status(head, &MARKS).or_else(|| find_status(tail, &MARKS[6..]))
}

/// Our own agent ends a command's output with a line `[exit status 1]`.
fn own_status(tail: &str) -> Option<i32> {
    let last = tail.trim_end().lines().next_back()?;
    last.strip_prefix("[exit status ")?.strip_suffix(']')?.parse().ok()
}

/// The number behind the first place of a mark, for the first of the marks that has one.
fn find_status(text: &str, marks: &[(&str, &str)]) -> Option<i32> {
    let cores: Vec<usize> = memmem::find_iter(text.as_bytes(), CORE).collect();
    marks.iter().find_map(|(before, after)| {
        let rest = cores.iter().find_map(|&at| {
            let (start, end) = text.split_at(at);
            start.ends_with(before).then(|| end[CORE.len()..].strip_prefix(after))?
        })?;
        let rest = rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
        rest[..end].parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Outcome {
        Outcome::of(&ToolResult::text("c".into(), text))
    }

    #[test]
    fn the_statuses_of_both_clients_are_read() {
        assert_eq!(of("Exit code 2\nls: no such file").exit, Some(2));
        assert_eq!(of("Chunk ID: 1\nWall time: 0.1\nProcess exited with code 0\nOutput:\nok").exit, Some(0));
        let own = format!("{}[exit status 101]", "a line\n".repeat(200));
        assert_eq!(of(&own), Outcome { failed: true, exit: Some(101) });
        let json = format!(
            r#"{{"output":"{}","metadata":{{"exit_code":1,"duration_seconds":2}}}}"#,
            "x".repeat(900)
        );
        assert_eq!(of(&json), Outcome { failed: true, exit: Some(1) });
    }

    #[test]
    fn what_a_command_prints_about_other_statuses_is_not_its_own() {
        let log = format!("{}the server failed with exit code 7", "line\n".repeat(200));
        assert_eq!(of(&log), Outcome { failed: false, exit: None });
    }
}
