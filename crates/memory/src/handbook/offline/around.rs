//! What a session shows of its surroundings: versions, programs that are missing, where the project lives.

use super::purpose::Purpose;
use super::shell::{Place, Step};
use super::spot::{Spot, clean, keywords, note};
use super::tell::Told;
use crate::extract::pattern::patterns;
use crate::handbook::voice::is_order;
use crate::handbook::{Basis, FindingKind};
use std::collections::BTreeMap;
use throughline_core::text::head;

patterns! {
    VERSION = r"^v?\d+\.\d+(?:\.\d+)?(?:[-+.][\w.]+)?$|^(?:[\w+.-]+ )?(?:version )?(?:[\w.-]*?)v?\d+\.\d+(?:\.\d+)?(?:[-+.][\w.]+)?(?: \S+){0,3}$";
    NOT_FOUND = r"(?m)^(?:\S*(?:sh|zsh|bash)(?:: line \d+|:\d+)?: )?([A-Za-z][\w.-]{1,40}): command not found|command not found: ([A-Za-z][\w.-]{1,40})\s*$|^/bin/\w+: \d+: ([A-Za-z][\w.-]{1,40}): not found";
    REMOTE = r"(?:github\.com|gitlab\.[\w.]+|bitbucket\.org|codeberg\.org|[\w-]+\.ghe\.com)[:/]([\w.-]+/[\w.-]+?)(?:\.git)?(?:[/\s)]|$)";
    HOST = r"(github\.com|gitlab\.[\w.]+|bitbucket\.org|codeberg\.org|[\w-]+\.ghe\.com)[:/]";
    BASE = r"\borigin/(main|master|develop|trunk)\b";
    SERVER = r"^mcp__([A-Za-z0-9_-]{2,40}?)__\w";
}

const MOST: usize = 24;
const MOST_TOLD: usize = 6;

/// What was seen of the surroundings.
#[derive(Debug, Default)]
pub(super) struct Around {
    versions: BTreeMap<String, (String, Spot)>,
    missing: BTreeMap<String, Vec<Spot>>,
    remotes: BTreeMap<String, (u32, Vec<Spot>)>,
    bases: BTreeMap<String, (u32, Vec<Spot>)>,
    servers: BTreeMap<String, (u32, Vec<Spot>)>,
}

/// A run, as far as it shows the surroundings.
pub(super) struct Run<'a> {
    pub(super) step: &'a Step,
    pub(super) purpose: Purpose,
    pub(super) worked: bool,
    /// Whether the step was run alone: then the output is its own.
    pub(super) is_alone: bool,
    pub(super) output: &'a str,
    pub(super) spot: &'a Spot,
}

impl Around {
    /// Takes in a run.
    pub(super) fn run(&mut self, run: &Run<'_>, cwd: Option<&str>) {
        let program = run.step.program();
        if run.worked && run.is_alone {
            self.version(run, cwd);
        }
        if !run.worked
            && run.is_alone
            && self.missing.len() < MOST
            && let Some(name) = NOT_FOUND
                .groups(head(run.output, 2_000))
                .and_then(|groups| groups.into_iter().skip(1).find(|name| !name.is_empty()))
            && run.step.words.iter().any(|word| word == name)
        {
            note(self.missing.entry(name.to_owned()).or_default(), run.spot, 3);
        }
        // Only what git itself says about the project's own remote.
        let is_here = run.step.place == Place::Here && run.step.words.get(1).is_some_and(|word| word != "-C");
        if run.worked && program == "git" && is_here {
            let is_remote = run.step.words.get(1).is_some_and(|word| word == "remote");
            let says = |line: &&str| {
                let line = line.trim_start();
                (run.purpose == Purpose::Push && line.starts_with("To "))
                    || (is_remote
                        && run.is_alone
                        && (line.starts_with("origin") || line.contains("://") || line.starts_with("git@")))
            };
            let line = head(run.output, 4_000).lines().find(says).unwrap_or_default();
            if let (Some(host), Some(name)) = (HOST.groups(line), REMOTE.groups(line))
                && let (Some(host), Some(name)) = (host.get(1), name.get(1))
            {
                count(&mut self.remotes, &format!("{host}/{name}"), run.spot);
            }
        }
        if run.worked && program == "git" {
            for word in run.step.words.iter().skip(1) {
                if let Some(base) =
                    BASE.groups(word).and_then(|groups| groups.get(1).map(|base| (*base).to_owned()))
                {
                    count(&mut self.bases, &base, run.spot);
                }
            }
        }
    }

    /// A tool was used.
    pub(super) fn used(&mut self, tool: &str, worked: Option<bool>, spot: &Spot) {
        if worked != Some(true) {
            return;
        }
        if let Some(server) =
            SERVER.groups(tool).and_then(|groups| groups.get(1).map(|name| (*name).to_owned()))
        {
            count(&mut self.servers, &server, spot);
        }
    }

    fn version(&mut self, run: &Run<'_>, cwd: Option<&str>) {
        let words = &run.step.words;
        let asks = words.len() == 2 && matches!(words[1].as_str(), "--version" | "-v" | "-V" | "version");
        if !asks || self.versions.len() >= MOST || run.step.program().contains(['$', '"', '<']) {
            return;
        }
        let Some(line) = run.output.lines().map(str::trim).find(|line| !line.is_empty()) else { return };
        let line = clean(line, cwd, 80);
        if VERSION.is_in(&line) && !is_order(&line) {
            self.versions.insert(run.step.program().to_owned(), (line, run.spot.clone()));
        }
    }

    /// What is sure.
    pub(super) fn told(self) -> Vec<Told> {
        let mut found = Vec::new();
        let mut tell = |text: String, names: &[&str], spots: Vec<Spot>| {
            found.push(Told {
                keywords: keywords(names.iter().copied(), &text, 6),
                ..Told::new(FindingKind::Environment, Basis::Observed, text, spots)
            });
        };
        if let Some((remote, spots)) = most(&self.remotes, 1) {
            tell(format!("The project is {remote}"), &["remote"], spots);
        }
        if let Some((base, spots)) = most(&self.bases, 2) {
            tell(format!("Branches start from `{base}`"), &["branch"], spots);
        }
        for (program, (line, spot)) in self.versions {
            tell(format!("Version of `{program}`: {line}"), &[&program, "version"], vec![spot]);
        }
        for (name, spots) in self.missing {
            tell(format!("`{name}` is not on the PATH"), &[&name], spots);
        }
        for (server, (times, spots)) in self.servers {
            if times >= 2 {
                tell(format!("The MCP server `{server}` is connected and answers"), &["mcp", &server], spots);
            }
        }
        found.truncate(MOST_TOLD);
        found
    }
}

fn count(counts: &mut BTreeMap<String, (u32, Vec<Spot>)>, name: &str, spot: &Spot) {
    if counts.len() >= MOST && !counts.contains_key(name) {
        return;
    }
    let (times, spots) = counts.entry(name.to_owned()).or_default();
    *times += 1;
    note(spots, spot, 3);
}

fn most(counts: &BTreeMap<String, (u32, Vec<Spot>)>, least: u32) -> Option<(String, Vec<Spot>)> {
    let (name, (times, spots)) = counts.iter().max_by_key(|(_, (times, _))| *times)?;
    (*times >= least && !is_order(name)).then(|| (name.clone(), spots.clone()))
}
