//! The list of skills that a session is told of, within its budget.

use super::Skill;
use crate::assembly::sources::Sources;
use crate::assembly::text::{inert, shown};
use throughline_core::prompt;
use throughline_core::text::one_line;
use throughline_core::tokens::Tokenizer;

/// How to use skills.
const LEAD: &str = include_str!("../../../../../prompts/assembly_skills.md");

/// How much the list may take.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Budget {
    /// Tokens, of a window that is known.
    Tokens(u64, Tokenizer),
    /// Characters.
    Chars(usize),
}

impl Budget {
    pub(crate) fn of(sources: &Sources) -> Self {
        match sources.window {
            Some(window) => Self::Tokens(window * sources.limits.skills_percent / 100, sources.tokenizer),
            None => Self::Chars(sources.limits.skills_chars),
        }
    }

    fn holds(self, text: &str) -> bool {
        match self {
            // No token is shorter than a byte.
            Self::Tokens(most, _) if text.len() as u64 <= most => true,
            Self::Tokens(most, tokenizer) => tokenizer.count(text) <= most,
            Self::Chars(most) => text.chars().count() <= most,
        }
    }
}

/// A list within its budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listing {
    /// The body of the fragment.
    pub(crate) text: String,
    /// What had to be left out.
    pub(crate) cut: Option<String>,
}

/// Descriptions when not all of them fit.
const SHORT_CHARS: usize = 80;

/// The skills that the model may call for; `None` if there are none.
pub(crate) fn listing(skills: &[&Skill], budget: Budget, description_chars: usize) -> Option<Listing> {
    if skills.is_empty() {
        return None;
    }
    let with = |chars: usize| whole(skills.iter().map(|skill| line(skill, chars)));
    let attempts = [
        (with(description_chars), None),
        (with(SHORT_CHARS.min(description_chars)), Some("descriptions are cut short")),
        (whole(skills.iter().map(|skill| format!("- {}", skill.name))), Some("only names are listed")),
    ];
    for (text, cut) in attempts {
        if budget.holds(&text) {
            return Some(Listing { text, cut: cut.map(str::to_owned) });
        }
    }
    // As many names as fit, found by halves.
    let some = |count: usize| {
        let names = skills.iter().take(count).map(|skill| format!("- {}", skill.name));
        whole(names.chain([format!(
            "{} more: call the Skill tool without a name to list them.",
            skills.len() - count
        )]))
    };
    let (mut fits, mut over) = (0, skills.len());
    while over - fits > 1 {
        let middle = usize::midpoint(fits, over);
        if budget.holds(&some(middle)) { fits = middle } else { over = middle }
    }
    Some(Listing { text: some(fits), cut: Some(format!("{} of {} names are listed", fits, skills.len())) })
}

fn whole(lines: impl Iterator<Item = String>) -> String {
    format!("{}\n{}", prompt(LEAD), lines.collect::<Vec<_>>().join("\n"))
}

/// A skill in one line.
pub(crate) fn line(skill: &Skill, description_chars: usize) -> String {
    let description = one_line(&skill.description, description_chars);
    format!("- {}: {} (file: {})", skill.name, inert(&description), shown(&skill.path))
}
