//! What a text rests on: the findings and notes behind its keys.

use crate::handbook::book::{Entry, Ground, Grounds, SessionRef, summary_path};
use crate::handbook::{Basis, Evidence, EvidenceKey, Finding, FindingKind, HandNote, Scope};
use crate::store::Output;
use std::collections::{BTreeMap, BTreeSet};

/// Letters from which a word says something.
const WORD: usize = 4;
/// The share of a text's words that must stand in what it rests on.
const SHARE: f64 = 0.5;
/// Letters of the shortest quote.
const QUOTE: usize = 8;

/// Findings and notes, by the keys of their evidence.
pub(super) struct Bearing<'a> {
    findings: BTreeMap<EvidenceKey, Vec<&'a Finding>>,
    notes: BTreeMap<EvidenceKey, &'a HandNote>,
    grounds: Grounds,
}

impl<'a> Bearing<'a> {
    pub(super) fn of(scope: &Scope, outputs: &'a [Output], notes: &'a [HandNote]) -> Self {
        let mut bearing =
            Self { findings: BTreeMap::new(), notes: BTreeMap::new(), grounds: Grounds::default() };
        for output in outputs {
            bearing.add_output(scope, output);
        }
        for note in notes {
            let evidence = Evidence::Note { file: note.file.clone() };
            let kinds = [FindingKind::Preference].into();
            let key = bearing.grounds.add(Ground { evidence, at: note.at, kinds, quote: None });
            bearing.notes.insert(key, note);
        }
        bearing
    }

    fn add_output(&mut self, scope: &Scope, output: &'a Output) {
        let source = &output.source;
        let mut is_borne = false;
        for finding in &output.extraction.findings {
            for evidence in &finding.evidence {
                // A session bears out what happened in it, and nothing else.
                if evidence.session() != Some(&source.session) {
                    continue;
                }
                let ground = Ground {
                    evidence: evidence.clone(),
                    at: Some(source.updated),
                    kinds: [finding.kind].into(),
                    quote: finding.quote.clone(),
                };
                let key = self.grounds.add(ground);
                self.findings.entry(key).or_default().push(finding);
                is_borne = true;
            }
        }
        if is_borne {
            let summary = match scope {
                Scope::Global => None,
                Scope::Project(_) => Some(summary_path(source, &output.extraction.slug)),
            };
            let session = SessionRef { updated: Some(source.updated), summary };
            self.grounds.add_session(source.session.clone(), session);
        }
    }

    /// The places of all evidence.
    pub(super) fn grounds(&self) -> &Grounds {
        &self.grounds
    }

    /// The findings behind an entry.
    fn behind(&self, entry: &Entry) -> impl Iterator<Item = &'a Finding> {
        entry.evidence.iter().filter_map(|key| self.findings.get(key)).flatten().copied()
    }

    fn notes_behind(&self, entry: &Entry) -> impl Iterator<Item = &'a HandNote> {
        entry.evidence.iter().filter_map(|key| self.notes.get(key)).copied()
    }

    /// What the user said that an entry rests on.
    pub(super) fn said(&self, entry: &Entry) -> Vec<String> {
        let said = self.behind(entry).filter(|finding| finding.basis == Basis::Said);
        let words = said.flat_map(|finding| finding.quote.iter().chain([&finding.text]).cloned());
        words.chain(self.notes_behind(entry).map(|note| note.text.clone())).collect()
    }

    /// All words behind an entry.
    pub(super) fn words(&self, entry: &Entry) -> Vec<&'a str> {
        let findings = self.behind(entry).flat_map(|finding| {
            let rest = finding.quote.iter().chain(&finding.keywords);
            std::iter::once(finding.text.as_str()).chain(rest.map(String::as_str))
        });
        findings.chain(self.notes_behind(entry).map(|note| note.text.as_str())).collect()
    }

    /// Whether an entry is what a finding says, letter by letter.
    pub(super) fn is_finding(&self, entry: &Entry) -> bool {
        self.behind(entry).any(|finding| finding.kind == entry.kind && finding.text.trim() == entry.text)
    }

    /// How an entry is known: by the best of what is behind it.
    pub(super) fn basis(&self, entry: &Entry) -> Basis {
        if self.notes_behind(entry).next().is_some() {
            return Basis::Said;
        }
        let of =
            |basis| self.behind(entry).any(|finding| finding.basis == basis && finding.kind == entry.kind);
        [Basis::Said, Basis::Observed].into_iter().find(|basis| of(*basis)).unwrap_or(Basis::Concluded)
    }

    /// Whether somebody wrote it down by hand.
    pub(super) fn is_noted(&self, entry: &Entry) -> bool {
        self.notes_behind(entry).next().is_some()
    }

    /// Whether a finding behind an entry has its outcome.
    pub(super) fn has_outcome(&self, entry: &Entry) -> bool {
        self.behind(entry).any(|finding| finding.outcome == entry.outcome)
    }
}

/// Whether a quote is long enough to say something, and stands in one of the texts letter by letter.
pub(super) fn is_quote_of(quote: &str, texts: &[String]) -> bool {
    let plain = one_line(quote);
    texts.iter().map(|text| one_line(text)).any(|text| {
        text.contains(&plain) && (plain.chars().count() >= QUOTE || text.chars().count() < 2 * QUOTE)
    })
}

/// Whether commands, addresses and most words of a text stand in the sources.
pub(super) fn is_borne(text: &str, sources: &[&str]) -> bool {
    let joined = sources.iter().map(|source| one_line(source)).collect::<Vec<_>>().join("\n").to_lowercase();
    let exact = codes(text).into_iter().chain(addresses(text).map(str::to_owned));
    if exact.into_iter().any(|part| !joined.contains(&one_line(&part).to_lowercase())) {
        return false;
    }
    let known: BTreeSet<&str> = words(&joined).collect();
    let lower = text.to_lowercase();
    let (mut all, mut there) = (0_usize, 0_usize);
    for word in words(&lower).filter(|word| word.chars().count() >= WORD) {
        all += 1;
        // Forms of one word differ at the end.
        let stem: String = word.chars().take(word.chars().count().saturating_sub(2).max(WORD)).collect();
        there += usize::from(known.contains(word) || known.iter().any(|known| known.starts_with(&stem)));
    }
    there as f64 >= all as f64 * SHARE
}

/// What stands as code: between backticks, and lines within fences.
pub(super) fn codes(text: &str) -> Vec<String> {
    let mut codes = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            codes.push(line.trim().to_owned());
        } else {
            codes.extend(line.split('`').skip(1).step_by(2).map(|code| code.trim().to_owned()));
        }
    }
    codes.retain(|code| !code.is_empty());
    codes
}

fn addresses(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | ')' | '>' | '”' | ']');
    text.match_indices("://").map(move |(at, _)| {
        let start = text[..at]
            .rfind(|c: char| !c.is_ascii_alphanumeric())
            .map_or(0, |before| before + text[before..].chars().next().map_or(1, char::len_utf8));
        let rest = &text[start..];
        rest[..rest.find(ends).unwrap_or(rest.len())].trim_end_matches(['.', ',', ';'])
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_addresses_and_words_must_be_there() {
        let source = ["The importer is tested by `cargo test -p importer`; see https://docs.example/a."];
        for good in ["Tests of the importer: `cargo test -p importer`.", "See https://docs.example/a"] {
            assert!(is_borne(good, &source), "{good}");
        }
        for bad in [
            "The importer is tested by `cargo test`, `curl x`.",
            "See https://docs.example/b",
            "Deployment happens every Friday from the staging branch",
        ] {
            assert!(!is_borne(bad, &source), "{bad}");
        }
    }

    #[test]
    fn quotes_are_letter_by_letter_and_no_snippets() {
        let said = ["Use pnpm, never npm.".to_owned()];
        assert!(is_quote_of("pnpm, never npm", &said));
        assert!(!is_quote_of("pnpm never npm", &said));
        assert!(!is_quote_of("Use", &said));
        assert!(is_quote_of("Tabs.", &["Tabs.".to_owned()]));
    }
}
