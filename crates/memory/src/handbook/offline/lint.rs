//! The rules that a linter holds the project to: what it rejected.

use super::spot::{Ends, Spot, clean, keywords};
use super::tell::Told;
use crate::extract::pattern::patterns;
use crate::handbook::voice::{is_harmful_command, is_order};
use crate::handbook::{Basis, FindingKind};
use throughline_core::text::{head, tail};

patterns! {
    GOLANGCI = r"^\S+\.\w+:\d+(?::\d+)?:\s+(?P<what>.+?)\s+\((?P<rule>[a-z][\w-]{2,30})\)$";
    ESLINT = r"^\s*\d+:\d+\s+error\s+(?P<what>.+?)\s{2,}(?P<rule>[\w@/-]{3,50})$";
    CLIPPY = r"(?P<what>)(?P<rule>clippy::[a-z_]{3,50})";
    BIOME = r"^\S+\.\w+:\d+(?::\d+)?\s+(?P<what>)(?P<rule>lint/\w+/\w+)";
    RUFF = r"^\S+\.py:\d+:\d+:\s+(?P<rule>[A-Z]{1,4}\d{3,4})\s+(?:\[\*\]\s+)?(?P<what>.+)$";
}

const LOOK: usize = 4_000;
const MOST_RULES: usize = 40;
const MOST_TOLD: usize = 3;

#[derive(Debug)]
struct Rule {
    name: String,
    what: String,
    command: String,
    times: u32,
    spots: Vec<Spot>,
}

/// Rules that were broken.
#[derive(Debug, Default)]
pub(super) struct Lint {
    rules: Vec<Rule>,
}

impl Lint {
    /// Takes in what a linter said when it failed.
    pub(super) fn failed(&mut self, command: &str, output: &str, ends: Ends<'_>, cwd: Option<&str>) {
        let start = head(output, LOOK);
        for line in start.lines().chain(tail(&output[start.len()..], LOOK).lines()) {
            let Some((rule, what)) = broken(line) else { continue };
            if let Some(known) = self.rules.iter_mut().find(|known| known.name == rule) {
                known.times += 1;
                ends.note(&mut known.spots, 4);
            } else if self.rules.len() < MOST_RULES {
                let (command, what) = (command.to_owned(), clean(&what, cwd, 90));
                self.rules.push(Rule {
                    name: rule,
                    what,
                    command,
                    times: 1,
                    spots: vec![ends.call.clone(), ends.result.clone()],
                });
            }
        }
    }

    /// The rules that were broken most.
    pub(super) fn pitfalls(mut self) -> Vec<Told> {
        self.rules.sort_by(|a, b| b.times.cmp(&a.times).then_with(|| a.name.cmp(&b.name)));
        let fit =
            self.rules.into_iter().filter(|rule| !is_harmful_command(&rule.command) && !is_order(&rule.name));
        fit.take(MOST_TOLD)
            .map(|rule| {
                let what = rule.what.split(": sig:").next().unwrap_or_default();
                let what = if is_order(what) { "" } else { what };
                let example = if what.is_empty() { String::new() } else { format!(", e.g. “{what}”") };
                let text = format!("`{}` rejects what breaks `{}`{example}", rule.command, rule.name);
                Told {
                    keywords: keywords(["lint", rule.name.as_str()], what, 6),
                    ..Told::new(FindingKind::Pitfall, Basis::Observed, text, rule.spots)
                }
            })
            .collect()
    }
}

/// The rule that a line of a linter names, and what it says.
fn broken(line: &str) -> Option<(String, String)> {
    let line = line.trim_end();
    if line.len() > 600 {
        return None;
    }
    for (pattern, rule, what) in
        [(&GOLANGCI, 2, 1), (&ESLINT, 2, 1), (&RUFF, 1, 2), (&CLIPPY, 2, 1), (&BIOME, 2, 1)]
    {
        if let Some(groups) = pattern.groups(line) {
            let name = groups.get(rule)?.to_string();
            // What does not compile breaks no rule.
            let is_rule = !["typecheck", "cached", "error", "default"].contains(&name.as_str());
            return is_rule
                .then(|| (name, groups.get(what).map_or(String::new(), |text| (*text).to_owned())));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_several_linters_are_read() {
        let rule = |line: &str| broken(line).map(|(rule, _)| rule);
        assert_eq!(
            rule("pkg/send.go:41:3: error of an interface method is not wrapped (wrapcheck)").as_deref(),
            Some("wrapcheck")
        );
        assert_eq!(
            rule("  12:3  error  'x' is defined but never used  no-unused-vars").as_deref(),
            Some("no-unused-vars")
        );
        assert_eq!(rule("a.py:1:1: F401 `os` imported but unused").as_deref(), Some("F401"));
        assert_eq!(
            rule("note: `#[warn(clippy::needless_return)]` on by default").as_deref(),
            Some("clippy::needless_return")
        );
        assert_eq!(rule("a.go:1: : x (typecheck)"), None);
        assert_eq!(rule("ok all fine"), None);
    }
}
