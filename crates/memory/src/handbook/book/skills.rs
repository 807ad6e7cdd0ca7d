//! Procedures that proved stable, as skills.

use super::Book;
use super::entry::Entry;
use super::fold::is_list;
use super::item::codes;
use crate::handbook::{Basis, Evidence, FindingKind};
use crate::skill::{Skill, SkillLimits, one_line, slug};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::BTreeSet;

/// Sessions in which a procedure must have worked.
pub const SKILL_SESSIONS: usize = 3;
/// Days on which it must have.
pub const SKILL_DAYS: usize = 2;
/// Skills of one handbook.
pub const MOST_SKILLS: usize = 12;
/// The skill that tells how work is checked.
const CHECKING: &str = "check-changes";
/// Places that each command of it names.
const CHECK_EVIDENCE: usize = 3;
/// Problems that a skill tells.
const MOST_PROBLEMS: usize = 5;
/// Words of a command that show whether things are as they should be.
const CHECKS: [&str; 12] = [
    "test",
    "tests",
    "check",
    "lint",
    "clippy",
    "build",
    "verify",
    "smoke",
    "typecheck",
    "pytest",
    "nextest",
    "ci",
];

impl Book {
    /// Skills made of procedures that were seen to work in [`SKILL_SESSIONS`] sessions on [`SKILL_DAYS`] days, and have not failed since: one for
    /// each that has several steps, and one for all single commands that check the work. They hold what was done, and nothing else.
    pub fn skills(&self) -> Vec<Skill> {
        let limits = SkillLimits::default();
        let (many, single): (Vec<&Entry>, Vec<&Entry>) = self
            .of(FindingKind::Procedure)
            .filter(|entry| self.is_stable(entry))
            .partition(|entry| steps(entry).len() > 1);
        let mut names: BTreeSet<String> = [CHECKING.to_owned()].into();
        let mut skills = Vec::new();
        skills.extend(
            self.checking(&single, &limits).into_iter().filter(|skill| skill.validate(&limits).is_ok()),
        );
        for entry in many {
            if skills.len() == MOST_SKILLS {
                break;
            }
            let base = name_of(entry, &limits);
            let numbered = (2..).map(|n| format!("{}-{n}", slug(&base, limits.name_chars - 4)));
            let mut all = std::iter::once(base.clone()).chain(numbered.take(MOST_SKILLS));
            let Some(name) = all.find(|name| !names.contains(name)) else { continue };
            let skill = self.skill(entry, name, &limits);
            if skill.validate(&limits).is_ok() {
                names.insert(skill.name.clone());
                skills.push(skill);
            }
        }
        skills
    }

    fn is_stable(&self, entry: &Entry) -> bool {
        let steps = steps(entry);
        let days: BTreeSet<_> = entry
            .evidence
            .iter()
            .filter_map(|key| Some(self.grounds.get(key)?.at?.to_zoned(TimeZone::UTC).date()))
            .collect();
        let failed_since = self.problems(&[entry]).iter().any(|problem| problem.last > entry.last);
        entry.basis == Basis::Observed
            && entry.support >= SKILL_SESSIONS
            && days.len() >= SKILL_DAYS
            && (steps.len() >= 2 || steps.iter().any(|step| is_check(step)))
            && !failed_since
    }

    /// Pitfalls of the procedures' commands.
    fn problems(&self, entries: &[&Entry]) -> Vec<&Entry> {
        let commands: BTreeSet<String> = entries.iter().flat_map(|entry| codes(&entry.text)).collect();
        // The first command of a pitfall is the one that failed.
        let failed =
            |problem: &&Entry| codes(&problem.text).first().is_some_and(|code| commands.contains(code));
        self.of(FindingKind::Pitfall).filter(failed).collect()
    }

    fn place(&self) -> String {
        self.scope.as_ref().map_or(String::new(), |scope| format!(" in {scope}"))
    }

    fn skill(&self, entry: &Entry, name: String, limits: &SkillLimits) -> Skill {
        let text = ended(&entry.text);
        let about = format!("{text} Use when this is to be done{}. {}", self.place(), seen(entry));
        let mut body = format!("# {}\n\n{text}\n\n## Steps\n\n", title(&name));
        for (at, step) in steps(entry).iter().enumerate() {
            body.push_str(&format!("{}. Run `{step}`.\n", at + 1));
        }
        body.push_str(&self.known_problems(&[entry]));
        body.push_str(&format!(
            "\n## Evidence\n\n{}\n\n{}",
            seen(entry),
            self.evidence_of(entry, usize::MAX)
        ));
        Skill {
            name,
            description: one_line(&about, limits.description_chars),
            body: body.trim_end().to_owned(),
        }
    }

    /// How work is checked here: each command by itself, in no order that nobody kept.
    fn checking(&self, entries: &[&Entry], limits: &SkillLimits) -> Option<Skill> {
        let commands: Vec<String> =
            entries.iter().filter_map(|entry| Some(format!("`{}`", steps(entry).first()?))).collect();
        if commands.is_empty() {
            return None;
        }
        let about = format!(
            "How work is checked{}: {}. Each was seen to work in {SKILL_SESSIONS} sessions or more. Use when a change is to be checked.",
            self.place(),
            commands.join(", ")
        );
        let mut body = format!("# {}\n\n## Commands\n\n", title(CHECKING));
        for entry in entries {
            body.push_str(&format!("- {} {}\n", ended(&entry.text), seen(entry)));
        }
        body.push_str(&self.known_problems(entries));
        body.push_str("\n## Evidence\n\n");
        for entry in entries {
            body.push_str(&self.evidence_of(entry, CHECK_EVIDENCE));
        }
        let description = one_line(&about, limits.description_chars);
        Some(Skill { name: CHECKING.to_owned(), description, body: body.trim_end().to_owned() })
    }

    fn known_problems(&self, entries: &[&Entry]) -> String {
        let problems = self.problems(entries);
        let lines = problems.into_iter().take(MOST_PROBLEMS).map(|problem| {
            let keys: Vec<&str> = problem.evidence.iter().map(|key| key.as_str()).collect();
            format!("- {} [{}]\n", super::bullet::told(problem), keys.join(" "))
        });
        let lines: String = lines.collect();
        if lines.is_empty() { lines } else { format!("\n## Known problems\n\n{lines}") }
    }

    fn evidence_of(&self, entry: &Entry, most: usize) -> String {
        let mut lines = String::new();
        for key in entry.evidence.iter().take(most) {
            if let Some(ground) = self.grounds.get(key)
                && let Evidence::Message { session, message, .. } = &ground.evidence
            {
                lines.push_str(&format!(
                    "- {key}: {}, session {session}, message {message}\n",
                    day(ground.at)
                ));
            }
        }
        lines
    }
}

fn day(at: Option<Timestamp>) -> String {
    at.map_or("unknown".to_owned(), |at| at.to_zoned(TimeZone::UTC).date().to_string())
}

fn seen(entry: &Entry) -> String {
    format!("Seen to work in {} sessions, {} to {}.", entry.support, day(entry.first), day(entry.last))
}

/// The commands of a procedure as they stand in it, in order. Those of a list are no steps.
fn steps(entry: &Entry) -> Vec<&str> {
    if is_list(&entry.text) {
        return Vec::new();
    }
    entry.text.split('`').skip(1).step_by(2).map(str::trim).filter(|step| !step.is_empty()).collect()
}

fn is_check(step: &str) -> bool {
    step.split(|c: char| !c.is_alphanumeric())
        .any(|word| CHECKS.contains(&word.to_ascii_lowercase().as_str()))
}

fn ended(text: &str) -> String {
    if text.ends_with(['.', '!', '?', '。']) { text.to_owned() } else { format!("{text}.") }
}

/// What is said of the commands, as a name; else the commands.
fn name_of(entry: &Entry, limits: &SkillLimits) -> String {
    const WORDS: usize = 8;
    let first = entry.text.split('`').next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().take(WORDS).collect();
    let said = slug(&words.join(" "), limits.name_chars);
    let is_enough = said.split('-').count() >= 2;
    match (is_enough, steps(entry).last()) {
        (false, Some(step)) => {
            let words: Vec<&str> = step.split_whitespace().take(WORDS).collect();
            let name = slug(&words.join(" "), limits.name_chars);
            if name.is_empty() {
                slug(&format!("procedure {}", entry.print()), limits.name_chars)
            } else {
                name
            }
        }
        (true, _) | (false, None) => said,
    }
}

fn title(name: &str) -> String {
    let words = name.replace('-', " ");
    let mut chars = words.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
