//! `memory_summary.md`: short, navigational, within a token limit.

use super::Book;
use super::entry::{Entry, cut};
use super::item::codes;
use crate::handbook::FindingKind;
use crate::topics::sentences::key;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::BTreeSet;
use throughline_core::tokens::Counter;

/// The first line: the version of the form.
pub const SUMMARY_VERSION: &str = "v1";
const PROFILE: &str = "User Profile";
const PREFERENCES: &str = "User preferences";
const TIPS: &str = "General Tips";
const WITHIN: &str = "What's in Memory";
/// Percent of the tokens that are each part's own, in the order of the parts; what one leaves the later ones get.
const SHARES: [u64; 4] = [5, 45, 30, 20];
/// Characters of a line.
const MOST_LINE: usize = 300;
/// Words that lead to what is not told.
const MOST_WORDS: usize = 40;
/// Characters of each.
const MOST_WORD: usize = 40;

/// A line of the summary, and the statement that it tells.
struct Line<'a> {
    text: String,
    tells: Option<&'a Entry>,
}

impl Book {
    /// `memory_summary.md` in at most so many tokens: what is worth most of each part, first. Its four headings always stand, also where the limit has
    /// no room for them.
    pub fn summary(&self, tokens: u64, counter: &mut Counter) -> String {
        let parts = [
            (PROFILE, self.profile()),
            (PREFERENCES, self.preferences()),
            (TIPS, self.tips()),
            (WITHIN, self.within()),
        ];
        let mut room = tokens.saturating_sub(counter.text(&rendered(&parts, &[0; 4])));
        let mut taken = [0_usize; 4];
        let mut spare = 0;
        for (at, share) in SHARES.into_iter().enumerate() {
            let own = room * share / 100 + spare;
            spare = own - take(&parts[at].1, &mut taken[at], own, counter);
        }
        // What the later parts left goes to the first that has more to say.
        for at in [1, 2, 3] {
            spare -= take(&parts[at].1, &mut taken[at], spare, counter);
        }
        room = tokens;
        let mut whole = rendered(&parts, &taken);
        // Counts of lines don't add up to the token.
        while counter.text(&whole) > room && taken.iter().any(|count| *count > 0) {
            if let Some(longest) = taken.iter_mut().max() {
                *longest -= 1;
            }
            whole = rendered(&parts, &taken);
        }
        let words = self.words_of_untold(&parts, &taken);
        if let Some(more) = fitting(&whole, words, room, counter) {
            whole = more;
        }
        whole
    }

    /// Whose it is and what it rests on: nothing that would be a guess.
    fn profile(&self) -> Vec<Line<'_>> {
        let Some(scope) = &self.scope else { return Vec::new() };
        let times: Vec<Timestamp> = self.grounds.places().filter_map(|(_, ground)| ground.at).collect();
        let (Some(first), Some(last)) = (times.iter().min(), times.iter().max()) else { return Vec::new() };
        let sessions = self.grounds.sessions().count();
        let text = format!("- {scope}: {sessions} sessions, {} to {}.", day(*first), day(*last));
        vec![Line { text, tells: None }]
    }

    fn preferences(&self) -> Vec<Line<'_>> {
        self.of(FindingKind::Preference).map(|entry| line(entry, "")).collect()
    }

    /// Procedures, pitfalls and what holds here, those of most worth first.
    fn tips(&self) -> Vec<Line<'_>> {
        let mut kinds = [FindingKind::Procedure, FindingKind::Pitfall, FindingKind::Environment]
            .map(|kind| self.of(kind).collect::<Vec<_>>().into_iter());
        let mut lines = Vec::new();
        // By turns: the best of each comes before the rest of any.
        while kinds.iter().any(|kind| kind.len() > 0) {
            lines.extend(kinds.iter_mut().filter_map(Iterator::next).map(|entry| line(entry, "")));
        }
        lines
    }

    /// What was done, the newest first, with the file that tells more.
    fn within(&self) -> Vec<Line<'_>> {
        let mut tasks: Vec<&Entry> = self.of(FindingKind::Task).collect();
        tasks.sort_by_key(|entry| std::cmp::Reverse(entry.last));
        let lines = tasks.into_iter().map(|entry| {
            let sessions = self.sessions_of(entry);
            let file = sessions.first().and_then(|id| self.grounds.session(id)?.summary.as_deref());
            line(entry, &file.map_or(String::new(), |file| format!(" → {file}")))
        });
        lines.collect()
    }

    /// Words that lead to the statements which are not told, for searching.
    fn words_of_untold(&self, parts: &[(&str, Vec<Line<'_>>); 4], taken: &[usize; 4]) -> Vec<String> {
        let told: Vec<&Entry> = parts
            .iter()
            .zip(taken)
            .flat_map(|((_, lines), count)| lines.iter().take(*count).filter_map(|line| line.tells))
            .collect();
        let untold =
            self.entries.iter().filter(|entry| !told.iter().any(|known| std::ptr::eq(*known, *entry)));
        let mut seen = BTreeSet::new();
        // Of what names nothing else, the files and commands in it.
        let words = untold.flat_map(|entry| match entry.keywords.as_slice() {
            [] => codes(&entry.text).into_iter().take(2).map(|code| last_part(&code).to_owned()).collect(),
            words => words.iter().take(3).cloned().collect::<Vec<_>>(),
        });
        let words = words.map(|word| cut(&word, MOST_WORD)).filter(|word| seen.insert(key(word)));
        words.take(MOST_WORDS).collect()
    }
}

/// A file's name; of anything else, all of it.
fn last_part(code: &str) -> &str {
    let is_path = !code.contains(' ');
    code.rsplit('/').next().filter(|name| is_path && !name.is_empty()).unwrap_or(code)
}

fn day(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).date().to_string()
}

/// A statement as a line: what, and the newest key. Of a task the words by which more of it is found.
fn line<'a>(entry: &'a Entry, pointer: &str) -> Line<'a> {
    let said = match entry.kind {
        FindingKind::Task => super::bullet::said(entry),
        FindingKind::Preference
        | FindingKind::Procedure
        | FindingKind::Pitfall
        | FindingKind::Environment => super::bullet::told(entry),
    };
    let key = entry.evidence.first().map_or(String::new(), |key| format!(" [{key}]"));
    let text = format!("- {}{pointer}{key}", cut(&said, MOST_LINE));
    Line { text, tells: Some(entry) }
}

/// Takes lines for so many tokens; says what they took.
fn take(lines: &[Line<'_>], taken: &mut usize, tokens: u64, counter: &mut Counter) -> u64 {
    let mut spent = 0;
    while let Some(line) = lines.get(*taken) {
        let cost = counter.text(&line.text) + 1;
        if spent + cost > tokens {
            break;
        }
        spent += cost;
        *taken += 1;
    }
    spent
}

fn rendered(parts: &[(&str, Vec<Line<'_>>); 4], taken: &[usize; 4]) -> String {
    let mut out = format!("{SUMMARY_VERSION}\n");
    for ((heading, lines), count) in parts.iter().zip(taken) {
        out.push_str(&format!("\n## {heading}\n"));
        if *count > 0 {
            out.push('\n');
        }
        for line in lines.iter().take(*count) {
            out.push_str(&line.text);
            out.push('\n');
        }
    }
    out
}

/// The summary with as many words as there is room for.
fn fitting(whole: &str, mut words: Vec<String>, tokens: u64, counter: &mut Counter) -> Option<String> {
    let gap = if whole.ends_with(&format!("## {WITHIN}\n")) { "\n" } else { "" };
    while !words.is_empty() {
        let more = format!("{whole}{gap}- More in MEMORY.md, by words: {}\n", words.join(", "));
        if counter.text(&more) <= tokens {
            return Some(more);
        }
        words.truncate(words.len() * 2 / 3);
    }
    None
}

/// Whether a text has the form of a summary: the version, and its four headings in order.
pub fn is_summary(text: &str) -> bool {
    let mut lines = text.lines();
    let begins = lines.next().map(str::trim_end) == Some(SUMMARY_VERSION)
        && lines.next().is_some_and(|line| line.trim().is_empty());
    let headings: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("## ")).map(str::trim).collect();
    begins && headings == [PROFILE, PREFERENCES, TIPS, WITHIN]
}
