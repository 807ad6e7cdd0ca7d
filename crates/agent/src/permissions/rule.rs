//! Rules: what is permitted, asked or refused, as text.

use super::command::{SimpleCommand, has_harmless_variables};
use super::command_pattern::CommandPattern;
use super::path_pattern::PathPattern;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Tools that a rule can name beside those of MCP servers.
const TOOLS: [&str; 19] = [
    "Bash",
    "BashOutput",
    "CallTool",
    "Edit",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "KillShell",
    "Memory",
    "Read",
    "Recall",
    "Skill",
    "Snip",
    "Task",
    "TodoWrite",
    "ToolSearch",
    "Unsandboxed",
    "WebFetch",
    "Write",
];

/// The most bytes of a rule.
const LONGEST: usize = 4096;

/// A rule, such as `Bash(cargo test:*)`, `Read(~/notes/**)`, `WebFetch(domain:example.com)` or `mcp__server__tool`. As text it
/// is what it was made from.
#[derive(Clone)]
pub struct Rule {
    text: String,
    subject: Subject,
}

/// What a rule is about.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    /// A tool by its name.
    Tool(String),
    /// Commands; all of them, or those that look like this.
    Command(Option<CommandPattern>),
    /// A command outside the sandbox, to the letter.
    Unsandboxed(String),
    /// Reading.
    Read(Option<PathPattern>),
    /// Making and changing files.
    Edit(Option<PathPattern>),
    /// Fetching.
    Network(Option<Domain>),
    /// A server's tools, or one of them.
    Mcp {
        /// The server.
        server: String,
        /// The tool; all of them if none.
        tool: Option<String>,
    },
}

/// A host, or a host and those below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Domain {
    pub(super) host: String,
    pub(super) has_below: bool,
}

/// What is wrong with a rule, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{rule}` is no rule: {problem}")]
pub struct RuleError {
    /// The text.
    pub rule: String,
    /// What is wrong, and what would be right.
    pub problem: String,
}

impl Rule {
    /// The rule as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Whether it is about commands and permits this one, redirections aside.
    pub(super) fn covers_command(&self, simple: &SimpleCommand) -> bool {
        match &self.subject {
            Subject::Command(Some(pattern)) => pattern.covers(simple) && has_harmless_variables(simple),
            Subject::Command(None)
            | Subject::Tool(_)
            | Subject::Unsandboxed(_)
            | Subject::Read(_)
            | Subject::Edit(_)
            | Subject::Network(_)
            | Subject::Mcp { .. } => false,
        }
    }

    /// The rule for exactly this command.
    pub(super) fn exact_command(command: &str) -> Option<Self> {
        let escaped = command.trim().replace('\\', "\\\\").replace('*', "\\*");
        format!("Bash({escaped})").parse().ok()
    }

    /// The rule for exactly this command, outside the sandbox.
    pub(super) fn unsandboxed(command: &str) -> Option<Self> {
        format!("Unsandboxed({})", command.trim()).parse().ok()
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        let shown = throughline_core::text::one_line(text, 120);
        let failed = |problem: String| RuleError { rule: shown.clone(), problem };
        if text.len() > LONGEST {
            return Err(failed(format!("it is longer than {LONGEST} bytes")));
        }
        if let Some(c) = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
            return Err(failed(format!("it holds the control character {c:?}")));
        }
        let (tool, inner) = match text.split_once('(') {
            Some((tool, rest)) => match rest.strip_suffix(')') {
                Some(inner) if !inner.trim().is_empty() => (tool, Some(inner.trim())),
                Some(_) => {
                    return Err(failed(format!("nothing is in the parentheses; `{tool}` alone means all")));
                }
                None => return Err(failed("its last character must be `)`".to_owned())),
            },
            None => (text, None),
        };
        let subject = subject(tool, inner).map_err(failed)?;
        let text = match inner {
            Some(inner) => format!("{tool}({inner})"),
            None => tool.to_owned(),
        };
        Ok(Self { text, subject })
    }
}

fn subject(tool: &str, inner: Option<&str>) -> Result<Subject, String> {
    match (tool, inner) {
        ("Bash", inner) => Ok(Subject::Command(inner.map(CommandPattern::new).transpose()?)),
        ("Unsandboxed", Some(inner)) => Ok(Subject::Unsandboxed(inner.to_owned())),
        ("Unsandboxed", None) => Err("name the command: `Unsandboxed(docker build .)`".to_owned()),
        ("Read", inner) => Ok(Subject::Read(inner.map(PathPattern::new).transpose()?)),
        ("Edit", inner) => Ok(Subject::Edit(inner.map(PathPattern::new).transpose()?)),
        ("Write", Some(inner)) => Err(format!("`Edit({inner})` is for making and changing files")),
        ("Grep" | "Glob", Some(inner)) => Err(format!("`Read({inner})` is for reading, by any tool")),
        ("WebFetch", None) => Ok(Subject::Network(None)),
        ("WebFetch", Some(inner)) => Ok(Subject::Network(Some(domain(inner)?))),
        (name, inner) if name.starts_with("mcp__") => mcp(name, inner),
        (name, None) if TOOLS.contains(&name) => Ok(Subject::Tool(name.to_owned())),
        (name, Some(_)) if TOOLS.contains(&name) => Err(format!(
            "`{name}` takes nothing in parentheses; Bash, Read, Edit, WebFetch and Unsandboxed do"
        )),
        (name, _) => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> String {
    match TOOLS.iter().find(|tool| tool.eq_ignore_ascii_case(name.trim())) {
        Some(tool) => format!("the tool is called `{tool}`"),
        None => format!(
            "there is no tool {name:?}; rules are for {}, and `mcp__server` or `mcp__server__tool`",
            TOOLS.join(", ")
        ),
    }
}

fn domain(inner: &str) -> Result<Domain, String> {
    let Some(host) = inner.strip_prefix("domain:") else {
        return Err(format!(
            "write `WebFetch(domain:{})`",
            inner.trim_start_matches("https://").trim_end_matches('/')
        ));
    };
    let (host, has_below) = match host.strip_prefix("*.") {
        Some(host) => (host, true),
        None => (host, false),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':' | '[' | ']');
    if host.is_empty() || host.starts_with('.') || !host.chars().all(is_plain) {
        return Err(format!(
            "{host:?} is no host; one is `example.com`, or `*.example.com` with all below it (others than ASCII as `xn--…`)"
        ));
    }
    Ok(Domain { host: host.trim_end_matches('.').to_ascii_lowercase(), has_below })
}

fn mcp(name: &str, inner: Option<&str>) -> Result<Subject, String> {
    if inner.is_some() {
        return Err("tools of MCP servers take nothing in parentheses".to_owned());
    }
    let rest = name.strip_prefix("mcp__").unwrap_or_default();
    let (server, tool) = match rest.split_once("__") {
        Some((server, "*")) => (server, None),
        Some((server, tool)) => (server, Some(tool)),
        None => (rest, None),
    };
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:@".contains(c);
    if server.is_empty() || tool == Some("") || !rest.trim_end_matches('*').chars().all(is_plain) {
        return Err("write `mcp__server` or `mcp__server__tool`".to_owned());
    }
    if rest.contains('*') && tool.is_some() {
        return Err("write `mcp__server` for all tools of a server".to_owned());
    }
    Ok(Subject::Mcp { server: server.to_owned(), tool: tool.map(str::to_owned) })
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rule({:?})", self.text)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Rule {}

impl std::hash::Hash for Rule {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
