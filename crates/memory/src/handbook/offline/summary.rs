//! The session in Markdown, for who wants to know more than its findings.

use super::ran::Runs;
use super::spot::Spot;
use super::tasks::Task;
use super::tell::Told;
use crate::handbook::voice::{is_harmful_command, is_order};
use crate::handbook::{FindingKind, TaskOutcome};
use std::fmt::Write;
use throughline_core::text::one_line;

/// Bytes of a summary: some 1,500 tokens.
const LONGEST: usize = 5_600;
const MOST_TASKS: usize = 14;
const MOST_COMMANDS: usize = 12;

/// What a summary is made of.
pub(super) struct Session<'a> {
    pub(super) cwd: Option<&'a str>,
    pub(super) first: Option<&'a Spot>,
    pub(super) last: Option<&'a Spot>,
    pub(super) tasks: &'a [Task],
    pub(super) told: &'a [Told],
    pub(super) runs: &'a [&'a Runs],
}

impl Session<'_> {
    /// In Markdown; every item names its message.
    pub(super) fn markdown(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "# {}\n", self.title());
        if let Some(cwd) = self.cwd {
            let _ = writeln!(out, "- folder: `{cwd}`");
        }
        if let (Some(first), Some(last)) =
            (self.first.and_then(|spot| spot.at), self.last.and_then(|spot| spot.at))
        {
            let _ = writeln!(out, "- from {first:.0} to {last:.0}");
        }
        self.tasks(&mut out);
        self.kind(&mut out, "What the user said", FindingKind::Preference);
        self.kind(&mut out, "Pitfalls", FindingKind::Pitfall);
        self.files(&mut out);
        self.commands(&mut out);
        self.kind(&mut out, "Environment", FindingKind::Environment);
        if out.len() > LONGEST {
            let mut cut = throughline_core::text::head(&out, LONGEST).to_owned();
            cut.truncate(cut.rfind('\n').unwrap_or(cut.len()));
            cut.push_str("\n- …\n");
            return cut;
        }
        out
    }

    /// What the session was about: the words of its weightiest task.
    pub(super) fn title(&self) -> String {
        let asked = self.main().map_or("", |task| task.asked.as_str());
        let title = one_line(asked.trim_start_matches(['#', ' ']), 100);
        if title.is_empty() { "Session".to_owned() } else { title }
    }

    fn main(&self) -> Option<&Task> {
        let with_words = self.tasks.iter().filter(|task| task.asked.split_whitespace().count() >= 3);
        with_words.max_by_key(|task| task.files.len().min(6) * 2 + task.pulls.len()).or(self.tasks.first())
    }

    /// A few telling words for a file's name.
    pub(super) fn slug(&self) -> String {
        let task = self.main();
        let asked = task.map_or("", |task| task.asked.as_str());
        let words = super::spot::keywords([], asked, 6);
        let mut slug = String::new();
        for word in words {
            let plain: String = word
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
                .collect();
            let plain: Vec<&str> = plain.split('-').filter(|part| !part.is_empty()).collect();
            let plain = plain.join("-");
            if plain.is_empty() || slug.len() + plain.len() > 48 {
                continue;
            }
            if !slug.is_empty() {
                slug.push('-');
            }
            slug.push_str(&plain);
        }
        if slug.is_empty() { "session".to_owned() } else { slug }
    }

    fn tasks(&self, out: &mut String) {
        let told: Vec<&Task> = self.tasks.iter().filter(|task| !task.asked.is_empty()).collect();
        if told.is_empty() {
            return;
        }
        out.push_str("\n## Tasks\n");
        let skipped = told.len().saturating_sub(MOST_TASKS);
        for task in told.iter().take(MOST_TASKS) {
            let outcome = match task.outcome {
                TaskOutcome::Success => "success",
                TaskOutcome::Partial => "partial",
                TaskOutcome::Failed => "failed",
                TaskOutcome::Uncertain => "uncertain",
            };
            let _ = writeln!(
                out,
                "- “{}” — {outcome}: {}{}",
                one_line(&task.asked, 140),
                one_line(&task.result, 220),
                named(task.spots.first())
            );
            if let Some((sentence, spot)) = &task.conclusion {
                let _ = writeln!(out, "  - concluded, unchecked: {sentence}{}", named(Some(spot)));
            }
        }
        if skipped > 0 {
            let _ = writeln!(out, "- and {skipped} more");
        }
    }

    fn kind(&self, out: &mut String, heading: &str, kind: FindingKind) {
        let mut told = self.told.iter().filter(|told| told.kind == kind).peekable();
        if told.peek().is_none() {
            return;
        }
        let _ = writeln!(out, "\n## {heading}");
        for told in told {
            let quote =
                told.quote.as_ref().filter(|quote| !told.text.to_lowercase().contains(&quote.to_lowercase()));
            let quote = quote.map_or(String::new(), |quote| format!(" “{quote}”"));
            let _ = writeln!(
                out,
                "- {}{quote}{}",
                one_line(&told.text, super::tell::LONGEST),
                named(told.spots.last())
            );
        }
    }

    fn files(&self, out: &mut String) {
        let mut files: Vec<&str> = Vec::new();
        for path in self.tasks.iter().flat_map(|task| &task.files) {
            if files.len() < 12 && !files.contains(&path.as_str()) {
                files.push(path);
            }
        }
        if !files.is_empty() {
            let list: Vec<String> = files.iter().map(|path| format!("`{path}`")).collect();
            let _ = writeln!(out, "\n## Files changed\n- {}", list.join(", "));
        }
        let pulls: Vec<&str> = self.tasks.iter().flat_map(|task| &task.pulls).map(String::as_str).collect();
        if !pulls.is_empty() {
            let _ = writeln!(out, "\n## References\n- {}", pulls.join("\n- "));
        }
    }

    fn commands(&self, out: &mut String) {
        let fit: Vec<_> = self
            .runs
            .iter()
            .filter(|runs| !is_harmful_command(&runs.told) && !is_order(&format!("`{}`", runs.told)))
            .collect();
        if fit.is_empty() {
            return;
        }
        out.push_str("\n## Commands\n");
        for runs in fit.into_iter().take(MOST_COMMANDS) {
            let of = runs.worked + runs.failed;
            let _ = writeln!(out, "- `{}`: worked {} of {of} times", one_line(&runs.told, 120), runs.worked);
        }
    }
}

fn named(spot: Option<&Spot>) -> String {
    spot.map_or(String::new(), |spot| format!(" (m: {})", spot.message))
}
