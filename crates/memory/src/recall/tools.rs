//! Memories about tools that are in use: their manual is known by then, their warnings are not (M7).

use super::words::terms;
use crate::topics::{Topic, TopicType};
use std::collections::BTreeSet;

/// Words of a manual.
const MANUAL: [&str; 22] = [
    "usage",
    "how to use",
    "to use",
    "options",
    "flags",
    "parameters",
    "arguments",
    "syntax",
    "commands",
    "documentation",
    "reference",
    "manual",
    "examples",
    "cheat sheet",
    "api",
    "supports",
    "endpoint",
    "用法",
    "参数",
    "命令",
    "文档",
    "示例",
];

/// Words of a warning, or of a known problem.
const WARNING: [&str; 44] = [
    "never",
    "don't",
    "do not",
    "not ",
    "must",
    "only",
    "avoid",
    "careful",
    "caution",
    "warning",
    "beware",
    "bug",
    "broken",
    "breaks",
    "crash",
    "fails",
    "failed",
    "hangs",
    "freezes",
    "timeout",
    "times out",
    "limit",
    "known issue",
    "known problem",
    "workaround",
    "instead",
    "wrong",
    "loses",
    "deletes",
    "costs",
    "ask before",
    "forbidden",
    "banned",
    "deprecated",
    "flaky",
    "注意",
    "不要",
    "禁止",
    "不能",
    "必须",
    "小心",
    "超时",
    "失败",
    "限制",
];

/// Tools whose names are everyday words: a memory is about them only if it says that it speaks of the tool.
const EVERYDAY: [&str; 14] = [
    "read", "write", "edit", "task", "search", "fetch", "list", "run", "open", "view", "shell", "bash",
    "grep", "glob",
];

/// How much of a memory is worth showing beside the tools in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Worth {
    /// All of it.
    Whole,
    /// These lines: the rest is the manual of a tool in use.
    Warnings(String),
    /// Nothing: it is such a manual.
    Nothing,
}

/// How much of a memory is worth showing.
pub(super) fn worth(topic: &Topic, tools: &[String]) -> Worth {
    // What somebody was told, and who they are, is no manual, whatever it speaks of.
    if !matches!(topic.kind, Some(TopicType::Reference | TopicType::Project) | None)
        || !tools.iter().any(|tool| is_about(topic, tool))
    {
        return Worth::Whole;
    }
    let head = format!("{}\n{}", topic.name, topic.description).to_lowercase();
    if !has_one(&head, &MANUAL) {
        return Worth::Whole;
    }
    let is_warning = |line: &&str| has_one(&line.to_lowercase(), &WARNING);
    let warnings: Vec<&str> = topic.body.lines().filter(is_warning).map(str::trim_end).collect();
    match warnings.is_empty() {
        true if has_one(&head, &WARNING) => Worth::Whole,
        true => Worth::Nothing,
        false => Worth::Warnings(warnings.join("\n")),
    }
}

fn has_one(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// Whether the name or the description of a memory says that it is about a tool.
fn is_about(topic: &Topic, tool: &str) -> bool {
    let head = format!("{} {}", topic.name, topic.description);
    let said: BTreeSet<String> = terms(&head).into_iter().collect();
    let lower = head.to_lowercase();
    // `mcp__github__create_issue` is a tool of `github`.
    let names: Vec<&str> = match tool.strip_prefix("mcp__") {
        Some(rest) => rest.split("__").collect(),
        None => vec![tool],
    };
    names.iter().any(|name| {
        let name = name.to_lowercase();
        if name.is_empty() {
            return false;
        }
        if EVERYDAY.contains(&name.as_str()) {
            return [format!("{name} tool"), format!("`{name}`"), format!("tool {name}")]
                .iter()
                .any(|words| lower.contains(words));
        }
        let parts = terms(&name);
        !parts.is_empty() && parts.iter().all(|part| said.contains(part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topics::Meta;
    use jiff::Timestamp;

    fn topic(kind: TopicType, (name, description): (&str, &str), body: &str) -> Topic {
        Topic {
            file: "a.md".to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
            kind: Some(kind),
            body: body.to_owned(),
            modified: Timestamp::UNIX_EPOCH,
            meta: Meta::default(),
        }
    }

    #[test]
    fn m7_the_manual_of_a_tool_in_use_stays_out_and_its_warnings_do_not() {
        let tools = ["mcp__linear__create_issue".to_owned(), "Bash".to_owned()];
        let head = ("Linear API", "Usage of the Linear tools: parameters and examples");
        let plain = topic(TopicType::Reference, head, "create_issue takes a title and a team.");
        assert_eq!(worth(&plain, &tools), Worth::Nothing);
        assert_eq!(worth(&plain, &["Read".to_owned()]), Worth::Whole);
        let warned = topic(
            TopicType::Reference,
            head,
            "create_issue takes a title.\nNever set the assignee: the call times out.\nTeams are listed by get_teams.",
        );
        assert_eq!(
            worth(&warned, &tools),
            Worth::Warnings("Never set the assignee: the call times out.".to_owned())
        );
        // What the user said about the tool is no manual.
        let said =
            topic(TopicType::Feedback, ("Linear tickets", "How to use Linear: one ticket a bug"), "Yes.");
        assert_eq!(worth(&said, &tools), Worth::Whole);
        // A fact that merely mentions it is none either.
        let fact =
            topic(TopicType::Project, ("Tickets are in Linear", "Work is tracked in Linear"), "Team PAY.");
        assert_eq!(worth(&fact, &tools), Worth::Whole);
    }

    #[test]
    fn tools_with_everyday_names_are_meant_only_where_the_memory_says_tool() {
        let tools = ["Read".to_owned(), "Bash".to_owned()];
        let books = topic(TopicType::Reference, ("What to read", "Manual of style, read it first"), "x");
        assert_eq!(worth(&books, &tools), Worth::Whole);
        let manual = topic(TopicType::Reference, ("Bash tool", "Usage and options of the Bash tool"), "x");
        assert_eq!(worth(&manual, &tools), Worth::Nothing);
    }
}
