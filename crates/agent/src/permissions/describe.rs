//! What the model is told about permissions.

use super::rule::Subject;
use super::{Mode, Policy, Rule};

/// Parts, each a line that begins with its name in brackets.
const PARTS: &str = include_str!("../../../../prompts/permissions.md");
/// The most rules of a list that the model is told.
const RULES: usize = 12;

/// The body of `<permissions instructions>`: what may be done without asking, where, and what the sandbox takes away.
pub fn describe(mode: Mode, policy: &Policy) -> String {
    let input = policy.input();
    let mut lines = vec![part(match mode {
        Mode::Ask => "ask",
        Mode::AcceptEdits => "accept-edits",
        Mode::Plan => "plan",
        Mode::Full => "full",
    })];
    let folders: Vec<String> =
        input.workspace.folders().map(|folder| format!("`{}`", folder.display())).collect();
    lines.push(part("workspace").replace("{folders}", &folders.join(", ")));
    match (mode, input.sandbox_enforced, input.network) {
        (Mode::Full, _, _) => {}
        (Mode::Ask | Mode::AcceptEdits | Mode::Plan, false, _) => lines.push(part("no-sandbox")),
        (Mode::Ask | Mode::AcceptEdits | Mode::Plan, true, true) => lines.push(part("sandbox-network")),
        (Mode::Ask | Mode::AcceptEdits | Mode::Plan, true, false) => lines.push(part("sandbox")),
    }
    for (name, rules) in [("denied", &input.rules.deny), ("asked", &input.rules.ask)] {
        if !rules.is_empty() {
            lines.push(part(name).replace("{rules}", &listed(rules)));
        }
    }
    let allowed: Vec<Rule> = input.rules.allow.iter().cloned().chain(input.approvals.rules()).collect();
    if !allowed.is_empty() && !matches!(mode, Mode::Full | Mode::Plan) {
        lines.push(part("allowed").replace("{rules}", &listed(&allowed)));
    }
    lines.push(part("refused"));
    lines.join("\n")
}

/// What commands may do with the network, in a line for `<environment_context>`.
pub fn describe_network(mode: Mode, policy: &Policy) -> String {
    let input = policy.input();
    let access = match (mode, input.sandbox_enforced, input.network) {
        (Mode::Full, _, _) | (Mode::Ask | Mode::AcceptEdits | Mode::Plan, true, true) => "enabled",
        (Mode::Ask | Mode::AcceptEdits | Mode::Plan, true, false) => {
            "restricted: commands in the sandbox have no network"
        }
        (Mode::Ask | Mode::AcceptEdits | Mode::Plan, false, _) => {
            "enabled: commands run without a sandbox once they are permitted"
        }
    };
    let is_network = |rule: &&Rule| matches!(rule.subject(), Subject::Network(_));
    let limits =
        [("denied", &input.rules.deny), ("asked", &input.rules.ask), ("allowed", &input.rules.allow)];
    let limits = limits.into_iter().filter_map(|(word, rules)| {
        let rules: Vec<Rule> = rules.iter().filter(is_network).cloned().collect();
        (!rules.is_empty()).then(|| format!("{word}: {}", listed(&rules)))
    });
    std::iter::once(access.to_owned()).chain(limits).collect::<Vec<_>>().join("; ")
}

fn part(name: &str) -> String {
    let lead = format!("[{name}] ");
    let lines = throughline_core::prompt(PARTS).lines();
    lines.filter_map(|line| line.strip_prefix(&lead)).next().unwrap_or_default().to_owned()
}

fn listed(rules: &[Rule]) -> String {
    let shown: Vec<String> = rules
        .iter()
        .take(RULES)
        .map(|rule| format!("`{}`", throughline_core::text::one_line(rule.as_str(), 100)))
        .collect();
    let more = rules.len().saturating_sub(RULES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
