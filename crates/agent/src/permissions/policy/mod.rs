//! What a call may do.
//!
//! Architecture invariant: **a decision is a function of the call, the mode and the rules**, and of where links lead that a command
//! names. Nothing is opened, run or remembered; what can't be judged is asked.
//!
//! The strictest wins: what a rule denies, the agent's own folder, what plan mode forbids; then what is asked whatever else
//! permits it (guarded paths, ask rules); then what rules and approvals permit; then what the mode permits.

mod command;
mod files;

use super::guard::{Guard, Written};
use super::offer;
use super::path_pattern::Bases;
use super::rule::{Domain, Rule, RuleError, Subject};
use super::verdict::Verdict;
use super::{Approvals, Mode};
use crate::Access;
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use throughline_engine::config::PermissionSettings;

/// What is permitted, asked and refused, whoever says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Permitted without asking.
    pub allow: Vec<Rule>,
    /// Asked, whatever else permits it.
    pub ask: Vec<Rule>,
    /// Refused, whatever else permits it.
    pub deny: Vec<Rule>,
}

/// A rule of the configuration is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("permissions.{list}: {error}")]
pub struct RulesError {
    /// The list that it is in: `allow`, `ask` or `deny`.
    pub list: &'static str,
    /// What is wrong.
    pub error: RuleError,
}

impl Rules {
    /// The rules of a configuration. One that is no rule is an error: a rule that was meant to refuse must not be lost.
    pub fn of(settings: &PermissionSettings) -> Result<Self, RulesError> {
        let read = |list: &'static str, texts: &[String]| {
            let rules = texts.iter().map(|text| text.parse().map_err(|error| RulesError { list, error }));
            rules.collect::<Result<Vec<Rule>, RulesError>>()
        };
        Ok(Self {
            allow: read("allow", &settings.allow)?,
            ask: read("ask", &settings.ask)?,
            deny: read("deny", &settings.deny)?,
        })
    }
}

/// What a policy is made of.
#[derive(Clone, Debug)]
pub struct PolicyInput {
    /// The rules of the configuration.
    pub rules: Rules,
    /// Where the agent works.
    pub workspace: Workspace,
    /// What the user permitted before.
    pub approvals: Arc<Approvals>,
    /// Whether commands run in a sandbox that keeps them from writing outside the workspace and in what configures agents.
    pub sandbox_enforced: bool,
    /// Whether commands in the sandbox may use the network.
    pub network: bool,
    /// The user's home folder, links resolved.
    pub home: Option<PathBuf>,
    /// The agent's own folder, links resolved: sessions, memory, settings, approvals.
    pub own: PathBuf,
}

/// What calls may do.
#[derive(Clone, Debug)]
pub struct Policy {
    input: PolicyInput,
    guard: Guard,
}

impl Policy {
    /// A policy.
    pub fn new(input: PolicyInput) -> Self {
        let guard = Guard::new(&input.workspace, input.own.clone());
        Self { input, guard }
    }

    /// The same policy in another workspace.
    #[must_use]
    pub fn in_workspace(&self, workspace: Workspace) -> Self {
        Self::new(PolicyInput { workspace, ..self.input.clone() })
    }

    /// What it was made of.
    pub fn input(&self) -> &PolicyInput {
        &self.input
    }

    /// Decides about a call of a tool.
    pub fn decide(&self, tool: &str, access: &Access, mode: Mode) -> Verdict {
        if let Some(rule) = self.input.rules.deny.iter().find(|rule| names(rule, tool)) {
            return denied(rule);
        }
        let asked = self.input.rules.ask.iter().find(|rule| names(rule, tool));
        let verdict = match access {
            // What stays in the session; sub-agents, whose calls are decided one by one; and memory, which is the user's own and
            // no part of the project, so that it may be kept in plan mode too.
            Access::Inner | Access::Agent | Access::Memory => Verdict::Allow,
            Access::Read { paths } => self.read(tool, paths, mode),
            Access::Write { paths } => self.write(tool, paths, mode),
            Access::Command { command, cwd, unsandboxed } => {
                self.command(command::Call { command, cwd, is_unsandboxed: *unsandboxed }, mode)
            }
            Access::Network { url } => self.network(url, mode),
            Access::Mcp { server, tool: name, claims_read_only: _ } => self.mcp(server, name, mode),
        };
        match (verdict, asked) {
            (Verdict::Allow | Verdict::Ask(_), Some(rule)) => asks(rule),
            (verdict, Some(_) | None) => verdict,
        }
    }

    /// Whether a file that a search comes across is passed over: reading it by itself would be asked or refused.
    pub fn skips(&self, path: &Path) -> bool {
        let is_refused = |rule: &Rule| match rule.subject() {
            Subject::Read(Some(pattern)) => pattern.may_match(path, self.bases(&self.folders())),
            Subject::Read(None)
            | Subject::Tool(_)
            | Subject::Command(_)
            | Subject::Unsandboxed(_)
            | Subject::Edit(_)
            | Subject::Network(_)
            | Subject::Mcp { .. } => false,
        };
        let rules = &self.input.rules;
        self.guard.reading(path, Written::Plain).is_some()
            || rules.deny.iter().chain(&rules.ask).any(is_refused)
    }

    fn network(&self, url: &str, mode: Mode) -> Verdict {
        let host = reqwest::Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let host = host.and_then(|url| url.host_str().map(|host| host.trim_end_matches('.').to_owned()));
        let Some(host) = host else {
            return Verdict::deny(format!(
                "{:?} is no address of a web page; one begins with https://",
                throughline_core::text::one_line(url, 200)
            ));
        };
        let names = |rule: &&Rule, is_broad: bool| match rule.subject() {
            Subject::Network(None) => true,
            Subject::Network(Some(domain)) => is_in(&host, domain, is_broad),
            Subject::Tool(_)
            | Subject::Command(_)
            | Subject::Unsandboxed(_)
            | Subject::Read(_)
            | Subject::Edit(_)
            | Subject::Mcp { .. } => false,
        };
        let rules = &self.input.rules;
        if let Some(rule) = rules.deny.iter().find(|rule| names(rule, true)) {
            return denied(rule);
        }
        if let Some(rule) = rules.ask.iter().find(|rule| names(rule, true)) {
            return asks(rule);
        }
        if mode == Mode::Full || self.allowing().iter().any(|rule| names(&rule, false)) {
            return Verdict::Allow;
        }
        Verdict::offer(format!("it fetches from {host}"), offer::domain(&host))
    }

    fn mcp(&self, server: &str, tool: &str, mode: Mode) -> Verdict {
        let rules = &self.input.rules;
        let may_name = |rule: &&Rule| match rule.subject() {
            Subject::Mcp { server: named, tool: of } => {
                let name = match of {
                    Some(of) => format!("{named}__{of}"),
                    None => named.clone(),
                };
                // Whichever way the name is read.
                [server.to_owned(), format!("{server}__{tool}")]
                    .iter()
                    .any(|full| plain(full) == plain(&name))
            }
            Subject::Tool(_)
            | Subject::Command(_)
            | Subject::Unsandboxed(_)
            | Subject::Read(_)
            | Subject::Edit(_)
            | Subject::Network(_) => false,
        };
        let names = |rule: &Rule| match rule.subject() {
            Subject::Mcp { server: named, tool: of } => {
                named == server && of.as_ref().is_none_or(|of| of == tool) && !server.contains("__")
            }
            Subject::Tool(_)
            | Subject::Command(_)
            | Subject::Unsandboxed(_)
            | Subject::Read(_)
            | Subject::Edit(_)
            | Subject::Network(_) => false,
        };
        if let Some(rule) = rules.deny.iter().find(may_name) {
            return denied(rule);
        }
        if let Some(rule) = rules.ask.iter().find(may_name) {
            return asks(rule);
        }
        match mode {
            Mode::Full => Verdict::Allow,
            Mode::Plan => Verdict::ask(format!(
                "in plan mode nothing may be changed, and nobody knows what `{tool}` of the MCP server `{server}` does"
            )),
            Mode::Ask | Mode::AcceptEdits if self.allowing().iter().any(names) => Verdict::Allow,
            Mode::Ask | Mode::AcceptEdits => Verdict::offer(
                format!("`{tool}` of the MCP server `{server}` can do whatever that server can"),
                offer::mcp(server, tool),
            ),
        }
    }

    /// The rules that permit: those of the configuration, and what the user permitted before.
    fn allowing(&self) -> Vec<Rule> {
        let mut rules = self.input.rules.allow.clone();
        rules.extend(self.input.approvals.rules());
        rules
    }

    fn folders(&self) -> Vec<&Path> {
        self.input.workspace.folders().collect()
    }

    fn bases<'a>(&'a self, folders: &'a [&'a Path]) -> Bases<'a> {
        Bases { workspace: folders, home: self.input.home.as_deref() }
    }
}

/// Whether a rule without a pattern names a tool of ours.
fn names(rule: &Rule, tool: &str) -> bool {
    match rule.subject() {
        Subject::Tool(name) => name == tool,
        Subject::Command(None) => tool == "Bash",
        Subject::Read(None) => tool == "Read",
        Subject::Edit(None) => matches!(tool, "Edit" | "Write"),
        Subject::Network(None) => tool == "WebFetch",
        Subject::Mcp { .. } => rule.as_str() == tool,
        Subject::Command(Some(_))
        | Subject::Unsandboxed(_)
        | Subject::Read(Some(_))
        | Subject::Edit(Some(_))
        | Subject::Network(Some(_)) => false,
    }
}

fn denied(rule: &Rule) -> Verdict {
    Verdict::deny(format!("the rule `{rule}` refuses it; do without it, or tell the user why it is needed"))
}

fn asks(rule: &Rule) -> Verdict {
    Verdict::ask(format!("the rule `{rule}` says that it is asked"))
}

/// Whether a host is of a domain. What is refused is refused with all below it.
fn is_in(host: &str, domain: &Domain, is_broad: bool) -> bool {
    let is_below = host.strip_suffix(domain.host.as_str()).is_some_and(|rest| rest.ends_with('.'));
    host == domain.host || ((is_broad || domain.has_below) && is_below)
}

/// A name as providers take it.
fn plain(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '_' })
        .collect()
}
