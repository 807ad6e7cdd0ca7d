//! What was run, how often it worked, and in which order before commits: procedures.

use super::purpose::{self, Purpose};
use super::shell::{Place, Step};
use super::spot::{Ends, Spot, keywords};
use super::tell::Told;
use super::vocabulary::{VERBS, has};
use crate::extract::pattern::patterns;
use crate::handbook::voice::{is_harmful_command, is_order};
use crate::handbook::{Basis, FindingKind};
use std::collections::{BTreeSet, HashMap};

patterns! {
    FILE = r"^[\w./@*{},-]+\.(?:rs|go|py|ts|tsx|js|jsx|mjs|cjs|java|kt|c|h|cc|cpp|hpp|rb|php|cs|swift|ex|exs|lua|sh|md|mdx|json|ya?ml|toml|sql|css|html|vue|svelte)(?:::\S+|:\d+)?$";
}

/// Commands remembered; the longest unused are forgotten first.
const MOST: usize = 600;
/// Places that bear out one command.
const MOST_SPOTS: usize = 6;
/// Procedures of a session.
const MOST_PROCEDURES: usize = 9;
const MOST_TOOLS: usize = 3;
const MOST_ORDERS: usize = 40;
/// Runs that worked before a tool of the project's own, or a narrow command, is told.
const OFTEN: u32 = 3;

/// One command in all its runs.
#[derive(Debug)]
pub(super) struct Runs {
    pub(super) told: String,
    pub(super) purpose: Purpose,
    family: String,
    pub(super) worked: u32,
    pub(super) failed: u32,
    spots: Vec<Spot>,
    seen: u64,
}

/// All commands.
#[derive(Debug, Default)]
pub(super) struct Ran {
    by_text: HashMap<String, Runs>,
    /// Checks that worked since the last commit, in order, each once.
    since: Vec<String>,
    /// What was run before a commit, and how often.
    orders: HashMap<Vec<String>, (u32, Vec<Spot>)>,
    seen: u64,
}

impl Ran {
    /// Takes in a run of a step.
    pub(super) fn run(&mut self, step: &Step, purpose: Purpose, worked: bool, ends: Ends<'_>) {
        self.seen += 1;
        if purpose == Purpose::Commit {
            self.committed(worked, ends);
            return;
        }
        if !purpose.is_procedure() || step.place == Place::Elsewhere {
            return;
        }
        let told = general(&step.told(), purpose);
        if worked
            && matches!(
                purpose,
                Purpose::Test | Purpose::Lint | Purpose::Format | Purpose::Build | Purpose::Generate
            )
            && is_general(&told)
        {
            self.since.retain(|known| known != &told);
            if self.since.len() < MOST_ORDERS {
                self.since.push(told.clone());
            }
        }
        if self.by_text.len() >= MOST && !self.by_text.contains_key(&told) {
            let mut ages: Vec<u64> = self.by_text.values().map(|runs| runs.seen).collect();
            ages.sort_unstable();
            let oldest = ages.get(MOST / 2).copied().unwrap_or_default();
            self.by_text.retain(|_, runs| runs.seen >= oldest);
        }
        let seen = self.seen;
        let runs = self.by_text.entry(told.clone()).or_insert_with(|| Runs {
            told,
            purpose,
            family: purpose::family(step, purpose),
            worked: 0,
            failed: 0,
            spots: Vec::new(),
            seen,
        });
        runs.seen = seen;
        if worked {
            runs.worked += 1;
            ends.note(&mut runs.spots, MOST_SPOTS);
        } else {
            runs.failed += 1;
        }
    }

    fn committed(&mut self, worked: bool, ends: Ends<'_>) {
        let order = std::mem::take(&mut self.since);
        if !worked
            || order.len() < 2
            || order.len() > 5
            || (self.orders.len() >= MOST_ORDERS && !self.orders.contains_key(&order))
        {
            return;
        }
        let (times, spots) = self.orders.entry(order).or_default();
        *times += 1;
        ends.note(spots, MOST_SPOTS);
    }

    /// All commands that were remembered, the most used first.
    pub(super) fn all(&self) -> Vec<&Runs> {
        let mut all: Vec<&Runs> = self.by_text.values().collect();
        all.sort_by(|a, b| {
            (b.worked + b.failed).cmp(&(a.worked + a.failed)).then_with(|| a.told.cmp(&b.told))
        });
        all
    }

    /// How things are done here: the best of each family.
    pub(super) fn procedures(&self) -> Vec<Told> {
        let mut by_family: HashMap<(Purpose, &str), Vec<&Runs>> = HashMap::new();
        for runs in self.by_text.values().filter(|runs| runs.worked > 0 && is_fit(&runs.told)) {
            by_family.entry((runs.purpose, &runs.family)).or_default().push(runs);
        }
        let mut chosen: Vec<(String, &Runs, u32)> = Vec::new();
        for ((purpose, _), mut family) in by_family {
            let times: u32 = family.iter().map(|runs| runs.worked).sum();
            family.sort_by(|a, b| {
                weight(b).cmp(&weight(a)).then_with(|| b.seen.cmp(&a.seen)).then_with(|| a.told.cmp(&b.told))
            });
            let Some(best) = family.first() else { continue };
            let is_known = match purpose {
                Purpose::Tool => times >= OFTEN,
                Purpose::Test | Purpose::Build | Purpose::Lint => is_general(&best.told) || times >= OFTEN,
                Purpose::Format
                | Purpose::Generate
                | Purpose::Release
                | Purpose::Install
                | Purpose::Forge => true,
                Purpose::Commit | Purpose::Push | Purpose::Look => false,
            };
            if is_known {
                let told = if purpose == Purpose::Tool { shared(best, &family) } else { best.told.clone() };
                chosen.push((told, best, times));
            }
        }
        let rank =
            |runs: &Runs, times: u32| (runs.purpose == Purpose::Tool, std::cmp::Reverse(times), runs.purpose);
        chosen.sort_by(|(a_told, a, a_times), (b_told, b, b_times)| {
            rank(a, *a_times).cmp(&rank(b, *b_times)).then_with(|| a_told.cmp(b_told))
        });
        let mut tools = 0;
        chosen.retain(|(_, runs, _)| {
            tools += usize::from(runs.purpose == Purpose::Tool);
            runs.purpose != Purpose::Tool || tools <= MOST_TOOLS
        });
        let mut told: Vec<Told> =
            chosen.into_iter().take(MOST_PROCEDURES).map(|(told, runs, _)| procedure(&told, runs)).collect();
        told.extend(self.order());
        told
    }

    /// What was run before commits, more than once in the same order.
    fn order(&self) -> Option<Told> {
        let mut orders: Vec<_> = self
            .orders
            .iter()
            .filter(|(steps, (times, _))| *times >= 2 && steps.iter().all(|step| is_fit(step)))
            .collect();
        orders.sort_by(|(a, (a_times, _)), (b, (b_times, _))| b_times.cmp(a_times).then_with(|| a.cmp(b)));
        let (steps, (_, spots)) = orders.first()?;
        let list: Vec<String> = steps.iter().map(|step| format!("`{step}`")).collect();
        Some(Told {
            keywords: keywords(["commit"], &steps.join(" "), 6),
            ..Told::new(
                FindingKind::Procedure,
                Basis::Observed,
                format!("Order of checks before commits: {}", list.join(", then ")),
                spots.clone(),
            )
        })
    }
}

fn procedure(told: &str, runs: &Runs) -> Told {
    let text = match runs.purpose {
        Purpose::Tool => format!("In use here: `{told}`"),
        Purpose::Test
        | Purpose::Lint
        | Purpose::Format
        | Purpose::Generate
        | Purpose::Build
        | Purpose::Release
        | Purpose::Install
        | Purpose::Forge
        | Purpose::Commit
        | Purpose::Push
        | Purpose::Look => format!("{}: `{told}`", runs.purpose.title()),
    };
    Told {
        keywords: keywords(runs.family.split(' '), told, 5),
        ..Told::new(FindingKind::Procedure, Basis::Observed, text, runs.spots.clone())
    }
}

/// A command of a tool with what differs from run to run left open.
fn shared(best: &Runs, family: &[&Runs]) -> String {
    if family.len() < 2 {
        return best.told.clone();
    }
    let sets: Vec<BTreeSet<&str>> = family.iter().map(|runs| runs.told.split(' ').collect()).collect();
    let is_shared = |word: &str| sets.iter().filter(|set| set.contains(word)).count() * 2 > sets.len();
    let mut words: Vec<&str> = Vec::new();
    for (at, word) in best.told.split(' ').enumerate() {
        let word = if at == 0 || is_shared(word) || has(VERBS, word) { word } else { "<…>" };
        if !(word == "<…>" && words.last() == Some(&"<…>")) {
            words.push(word);
        }
    }
    words.join(" ")
}

/// What is run often, works, and is not narrowed to one case counts most.
fn weight(runs: &Runs) -> u32 {
    runs.worked * if is_general(&runs.told) { 3 } else { 1 }
}

/// A command with the files that it was run for left open: how it is run does not hang on them.
fn general(told: &str, purpose: Purpose) -> String {
    if !matches!(purpose, Purpose::Test | Purpose::Lint | Purpose::Format) {
        return told.to_owned();
    }
    let mut words: Vec<&str> = Vec::new();
    for (at, word) in told.split(' ').enumerate() {
        let is_file = at > 0 && !word.starts_with('-') && FILE.is_in(word);
        let word = if is_file { "<file>" } else { word };
        if !(is_file && words.last() == Some(&"<file>")) {
            words.push(word);
        }
    }
    words.join(" ")
}

/// Whether a command is not narrowed to one test, one file, one temporary place.
fn is_general(told: &str) -> bool {
    let is_narrow = |word: &str| {
        word == "…"
            || word == "<tmp>"
            || (word.starts_with('<') && word != "<file>")
            || (word.contains('/')
                && std::path::Path::new(word)
                    .extension()
                    .is_some_and(|end| end != "." && !word.ends_with("...")))
            || (word.contains('/') && word.contains("::"))
    };
    !told.split(' ').skip(1).any(is_narrow)
}

/// Whether a command may be held up as the way to do something.
fn is_fit(told: &str) -> bool {
    !told.contains('$')
        && !is_harmful_command(told)
        && !told.contains('\n')
        && !is_order(&format!("`{told}`"))
        && told.chars().count() <= 140
}
