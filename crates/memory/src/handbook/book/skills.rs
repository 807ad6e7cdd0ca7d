//! Procedures that proved stable, as skills.

use super::Book;
use super::entry::Entry;
use super::item::codes;
use crate::handbook::{Basis, Evidence, FindingKind};
use crate::skill::{Skill, SkillLimits, one_line, slug};
use jiff::tz::TimeZone;
use std::collections::BTreeSet;

/// Sessions in which a procedure must have worked.
pub const SKILL_SESSIONS: usize = 3;
/// Days on which it must have.
pub const SKILL_DAYS: usize = 2;
/// Skills of one handbook.
pub const MOST_SKILLS: usize = 12;
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
    /// Skills made of procedures that were seen to work in [`SKILL_SESSIONS`] sessions on [`SKILL_DAYS`] days, and have not failed since; with two
    /// steps at least, or one that tells whether all is well. They hold what was done, and nothing else.
    pub fn skills(&self) -> Vec<Skill> {
        let limits = SkillLimits::default();
        let mut names = BTreeSet::new();
        let mut skills = Vec::new();
        for entry in self.of(FindingKind::Procedure).filter(|entry| self.is_stable(entry)) {
            let base = name_of(entry, &limits);
            let numbered = (2..).map(|n| format!("{}-{n}", slug(&base, limits.name_chars - 4)));
            let name = std::iter::once(base.clone())
                .chain(numbered.take(MOST_SKILLS))
                .find(|name| !names.contains(name));
            let Some(name) = name else { continue };
            let skill = self.skill(entry, name, &limits);
            if skill.validate(&limits).is_ok() {
                names.insert(skill.name.clone());
                skills.push(skill);
            }
            if skills.len() == MOST_SKILLS {
                break;
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
        let failed_since = self.problems(entry).any(|problem| problem.last > entry.last);
        entry.basis == Basis::Observed
            && entry.support >= SKILL_SESSIONS
            && days.len() >= SKILL_DAYS
            && (steps.len() >= 2 || steps.iter().any(|step| is_check(step)))
            && !failed_since
    }

    /// Pitfalls of one of the procedure's commands.
    fn problems(&self, entry: &Entry) -> impl Iterator<Item = &Entry> {
        let commands: BTreeSet<String> = codes(&entry.text).into_iter().collect();
        self.of(FindingKind::Pitfall)
            .filter(move |problem| codes(&problem.text).iter().any(|code| commands.contains(code)))
    }

    fn skill(&self, entry: &Entry, name: String, limits: &SkillLimits) -> Skill {
        let place = self.scope.as_ref().map_or(String::new(), |scope| format!(" in {scope}"));
        let day = |at: Option<jiff::Timestamp>| {
            at.map_or(String::new(), |at| at.to_zoned(TimeZone::UTC).date().to_string())
        };
        let seen = format!(
            "Seen to work in {} sessions, {} to {}.",
            entry.support,
            day(entry.first),
            day(entry.last)
        );
        let description = one_line(
            &format!("{} Use when this is to be done{place}. {seen}", ended(&entry.text)),
            limits.description_chars,
        );
        let mut body = format!("# {}\n\n{}\n\n## Steps\n\n", title(&name), ended(&entry.text));
        for (at, step) in steps(entry).iter().enumerate() {
            body.push_str(&format!("{}. Run `{step}`.\n", at + 1));
        }
        let problems: Vec<&Entry> = self.problems(entry).take(MOST_PROBLEMS).collect();
        if !problems.is_empty() {
            body.push_str("\n## Known problems\n\n");
            for problem in problems {
                body.push_str(&format!("- {}{}\n", super::bullet::said(problem), keys(problem)));
            }
        }
        body.push_str(&format!("\n## Evidence\n\n{seen}\n\n"));
        for key in &entry.evidence {
            if let Some(ground) = self.grounds.get(key)
                && let Evidence::Message { session, message, .. } = &ground.evidence
            {
                body.push_str(&format!(
                    "- {key}: {}, session {session}, message {message}\n",
                    day(ground.at)
                ));
            }
        }
        Skill { name, description, body: body.trim_end().to_owned() }
    }
}

/// The commands of a procedure as they stand in it.
fn steps(entry: &Entry) -> Vec<&str> {
    entry.text.split('`').skip(1).step_by(2).map(str::trim).filter(|step| !step.is_empty()).collect()
}

fn is_check(step: &str) -> bool {
    step.split(|c: char| !c.is_alphanumeric())
        .any(|word| CHECKS.contains(&word.to_ascii_lowercase().as_str()))
}

fn keys(entry: &Entry) -> String {
    let keys: Vec<&str> = entry.evidence.iter().map(|key| key.as_str()).collect();
    format!(" [{}]", keys.join(" "))
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
