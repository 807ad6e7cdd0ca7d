//! A model's answer on one section: strict JSON, and bullets with evidence in it.

use crate::handbook::{FindingKind, TaskOutcome};
use serde::Deserialize;

/// Bytes of the answer's fields together: what is longer is no answer to what was asked.
const LONGEST: usize = 96 << 10;
/// Characters of a slug.
const SLUG: usize = 60;

/// What a model says of a section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    pub(super) raw_memory: String,
    pub(super) rollout_summary: String,
    pub(super) rollout_slug: Option<String>,
}

impl Answer {
    /// Reads an answer: the object, and nothing around it.
    ///
    /// # Errors
    /// Why it is none, in words for the model.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let answer: Self = serde_json::from_str(text.trim()).map_err(|error| error.to_string())?;
        let bytes = answer.raw_memory.len() + answer.rollout_summary.len();
        if bytes > LONGEST {
            return Err(format!("it has {bytes} bytes, and {LONGEST} is the most"));
        }
        Ok(answer)
    }

    /// Whether nothing was worth keeping.
    pub(super) fn is_empty(&self) -> bool {
        self.raw_memory.trim().is_empty() || self.rollout_summary.trim().is_empty()
    }

    /// The slug as part of a file's name; empty if there is none.
    pub(super) fn slug(&self) -> String {
        slug(self.rollout_slug.as_deref().unwrap_or_default())
    }
}

/// Lower-case words with `-` between them.
pub(super) fn slug(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let text: String = text.chars().take(4 * SLUG).map(plain).collect();
    let mut slug = String::new();
    for word in text.split('-').filter(|word| !word.is_empty()) {
        if slug.len() + 1 + word.len() > SLUG {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(word);
    }
    slug
}

/// One bullet, as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bullet {
    /// The heading that it stands under; `None` if that is none of ours.
    pub(super) kind: Option<FindingKind>,
    /// One line, without evidence and outcome.
    pub(super) text: String,
    /// Numbers of messages, as they stand there.
    pub(super) evidence: Vec<u32>,
    pub(super) outcome: Option<TaskOutcome>,
}

/// The bullets of a text, in order.
pub(super) fn bullets(text: &str) -> Vec<Bullet> {
    let mut kind = None;
    let mut found: Vec<(Option<FindingKind>, String)> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            continue;
        }
        if let Some(heading) = heading(trimmed) {
            kind = heading;
            is_open = false;
        } else if let Some(words) = ["- ", "* ", "• "].iter().find_map(|mark| trimmed.strip_prefix(mark)) {
            found.push((kind, words.to_owned()));
            is_open = true;
        } else if let (Some((_, words)), true) = (found.last_mut(), is_open) {
            words.push(' ');
            words.push_str(trimmed);
        }
    }
    found.into_iter().map(|(kind, words)| bullet(kind, &words)).collect()
}

/// The kind that a heading names; `None` if the line is no heading.
#[expect(clippy::option_option, reason = "a heading that names no kind is a heading")]
fn heading(line: &str) -> Option<Option<FindingKind>> {
    let marked = line.starts_with('#') || (line.starts_with("**") && line.ends_with("**"));
    let name = line.trim_matches(['#', '*', ':', ' ']).to_lowercase();
    let kind = match name.as_str() {
        "preferences" | "user preferences" | "preference" => Some(FindingKind::Preference),
        "procedures" | "procedure" => Some(FindingKind::Procedure),
        "pitfalls" | "pitfall" => Some(FindingKind::Pitfall),
        "environment" => Some(FindingKind::Environment),
        "tasks" | "task" => Some(FindingKind::Task),
        _ => None,
    };
    (marked || (kind.is_some() && !line.starts_with('-'))).then_some(kind)
}

fn bullet(kind: Option<FindingKind>, words: &str) -> Bullet {
    let mut rest = words.trim();
    let (mut evidence, mut outcome) = (Vec::new(), None);
    loop {
        let cut = rest.trim_end_matches(['.', ';', ',', ' ']);
        if let Some((before, numbers)) = numbers_at_end(cut) {
            evidence.splice(0..0, numbers);
            rest = before;
        } else if let (None, Some((before, told))) = (outcome, outcome_at_end(cut)) {
            outcome = Some(told);
            rest = before;
        } else {
            break;
        }
    }
    evidence.dedup();
    let text = rest.split_whitespace().collect::<Vec<_>>().join(" ");
    Bullet { kind, text, evidence, outcome }
}

/// `[m12 m40]`, or with commas, at the end.
fn numbers_at_end(text: &str) -> Option<(&str, Vec<u32>)> {
    let (before, inside) = text.strip_suffix(']')?.rsplit_once('[')?;
    let words = inside.split([' ', ',', ';']).filter(|word| !word.is_empty());
    let numbers: Option<Vec<u32>> = words.map(|word| word.strip_prefix('m')?.parse().ok()).collect();
    Some((before.trim_end(), numbers.filter(|numbers| !numbers.is_empty())?))
}

fn outcome_at_end(text: &str) -> Option<(&str, TaskOutcome)> {
    let (before, inside) = text.strip_suffix(')')?.rsplit_once('(')?;
    let outcome = match inside.trim().to_lowercase().strip_prefix("outcome:")?.trim() {
        "success" => TaskOutcome::Success,
        "partial" => TaskOutcome::Partial,
        "failed" | "failure" => TaskOutcome::Failed,
        "uncertain" => TaskOutcome::Uncertain,
        _ => return None,
    };
    Some((before.trim_end(), outcome))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn h2_an_answer_is_one_object_with_three_strings() {
        let good = r#"{"raw_memory":"- x [m1]","rollout_summary":"s","rollout_slug":"A b/../c"}"#;
        let answer = Answer::parse(&format!(" {good}\n")).unwrap();
        assert_eq!((answer.slug().as_str(), answer.is_empty()), ("a-b-c", false));
        for odd in [
            "",
            "nothing",
            &format!("Sure: {good}"),
            &format!("```json\n{good}\n```"),
            &format!("{good} {good}"),
            r#"{"raw_memory":"x"}"#,
            r#"{"raw_memory":"x","rollout_summary":"s","rollout_slug":"s","more":1}"#,
            r#"{"raw_memory":["x"],"rollout_summary":"s","rollout_slug":"s"}"#,
            &format!(
                r#"{{"raw_memory":"{}","rollout_summary":"s","rollout_slug":"s"}}"#,
                "x".repeat(LONGEST)
            ),
        ] {
            assert!(Answer::parse(odd).is_err(), "{}", throughline_core::text::head(odd, 80));
        }
        for empty in [("", "", ""), ("", "s", "s"), (" \n", "s", "s"), ("x", "", "s")] {
            let (raw_memory, rollout_summary, slug) = empty;
            let answer = Answer {
                raw_memory: raw_memory.to_owned(),
                rollout_summary: rollout_summary.to_owned(),
                rollout_slug: Some(slug.to_owned()),
            };
            assert!(answer.is_empty());
        }
    }

    #[test]
    fn bullets_have_their_heading_evidence_and_outcome() {
        let text = "## Preferences\n- \"never push\"\n  without asking [m3, m4].\n\n**Procedures**\n* `make` works [m1] [m2]\n# Other\n- odd [m9]\nTasks:\n- did it [m7 m8] (outcome: success)\n- no evidence\n- array [0] of `x[m1]`";
        let found = bullets(text);
        let told: Vec<_> = found
            .iter()
            .map(|bullet| (bullet.kind, bullet.text.as_str(), bullet.evidence.as_slice(), bullet.outcome))
            .collect();
        use FindingKind::{Preference, Procedure, Task};
        assert_eq!(
            told,
            [
                (Some(Preference), "\"never push\" without asking", &[3, 4][..], None),
                (Some(Procedure), "`make` works", &[1, 2], None),
                (None, "odd", &[9], None),
                (Some(Task), "did it", &[7, 8], Some(TaskOutcome::Success)),
                (Some(Task), "no evidence", &[], None),
                (Some(Task), "array [0] of `x[m1]`", &[], None),
            ]
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_trouble(text in any::<String>(), like in "(- |## |\\[m[0-9]{1,12}\\]|\\(outcome: |Tasks:|\n|[a-z ]){0,40}") {
            for text in [text, like] {
                for bullet in bullets(&text) {
                    prop_assert!(!bullet.text.contains('\n'));
                }
                let slug = slug(&text);
                prop_assert!(slug.len() <= SLUG && slug.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'));
            }
        }
    }
}
