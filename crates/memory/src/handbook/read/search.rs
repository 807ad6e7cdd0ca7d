//! Search over statements, notes, summaries of sessions and skills.

use super::lines::harmless;
use super::shelf::{Shelf, Shelved};
use super::{Volume, choose};
use crate::handbook::phase2::{MEMORY, NOTES, SKILLS};
use crate::recall::{Indexed, Reach, fits, terms};
use std::collections::HashSet;
use throughline_core::SessionId;
use throughline_core::text::one_line;

/// Hits that are given at most, whatever is asked for.
const MOST: usize = 12;
/// Characters of a hit.
const CHARS: usize = 500;
/// What a word counts in a file's name, and in its text.
const NAME: f32 = 2.5;
const BODY: f32 = 1.0;
/// Lines of a file's passage.
const PASSAGE: usize = 3;
/// Of one file's text so much is looked at.
const FILE_BYTES: usize = 64 << 10;

/// Something that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The file, as it can be opened and cited.
    pub path: String,
    /// The line, from one.
    pub line: usize,
    /// What stands there, in one line, without any force of its own.
    pub text: String,
    /// The session that it comes from, if one is named.
    pub session: Option<SessionId>,
    /// How well it fits.
    pub score: f32,
}

/// What came of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The best first.
    pub hits: Vec<Hit>,
    /// Handbooks that could not be looked into, in words.
    pub problems: Vec<String>,
}

/// A text that is looked through.
struct Doc<'a> {
    volume: Volume,
    path: String,
    body: &'a str,
    line: Option<usize>,
    session: Option<SessionId>,
    indexed: Indexed,
}

pub(super) fn search(shelf: &Shelf, query: &str, most: usize) -> Found {
    let docs: Vec<Doc<'_>> = shelf.books.iter().flat_map(docs).collect();
    let indexed: Vec<Indexed> = docs.iter().map(|doc| doc.indexed.clone()).collect();
    let (scores, _) = fits(query, Reach::Near, &indexed);
    let mut ranked: Vec<(f32, &Doc<'_>)> =
        scores.into_iter().zip(&docs).filter(|(score, _)| *score > 0.0).collect();
    // Of equals the project's own comes first, and the order of the books holds.
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.volume.cmp(&b.1.volume)));
    let wanted: HashSet<String> = terms(query).into_iter().collect();
    let hits = ranked.into_iter().take(most.min(MOST)).map(|(score, doc)| {
        let (line, text) = match doc.line {
            Some(line) => (line, doc.body.to_owned()),
            None => passage(doc.body, &wanted),
        };
        Hit {
            path: format!("{}{}", doc.volume.prefix(), doc.path),
            line,
            text: harmless(&one_line(&text, CHARS)),
            session: doc.session.clone(),
            score,
        }
    });
    Found { hits: hits.collect(), problems: shelf.problems.clone() }
}

fn docs(shelved: &Shelved) -> Vec<Doc<'_>> {
    let volume = shelved.volume;
    let mut docs = Vec::new();
    for entry in shelved.book.entries() {
        let bullet = bullet_of(&shelved.memory, &entry.text, entry.evidence.first().map(|key| key.as_str()));
        docs.push(Doc {
            volume,
            path: MEMORY.to_owned(),
            body: bullet.map_or(&entry.text, |(_, line)| line),
            line: Some(bullet.map_or(1, |(n, _)| n)),
            session: shelved.book.sessions_of(entry).first().map(|id| (*id).clone()),
            indexed: choose::indexed(entry),
        });
    }
    for note in &shelved.notes {
        docs.push(Doc {
            volume,
            path: format!("{NOTES}/{}", note.file),
            body: &note.text,
            line: None,
            session: None,
            indexed: Indexed::of_fields(&[(&note.text, NAME)]),
        });
    }
    for (path, text) in &shelved.files {
        let body = throughline_core::text::head(text, FILE_BYTES);
        // The stem says what it is about; of a skill its folder does.
        let name = path.trim_end_matches(".md").trim_end_matches("/SKILL");
        let name = name.rsplit('/').next().unwrap_or(name);
        let is_skill = path.starts_with(SKILLS);
        let session = body.lines().take(10).find_map(|line| line.strip_prefix("session:"));
        docs.push(Doc {
            volume,
            path: path.clone(),
            body,
            line: None,
            session: session.filter(|_| !is_skill).map(|id| SessionId::from(id.trim().to_owned())),
            indexed: Indexed::of_fields(&[(name, NAME), (body, BODY)]),
        });
    }
    docs
}

/// The bullet of a statement: the line that has its words, or else names its evidence.
fn bullet_of<'a>(memory: &'a str, text: &str, key: Option<&str>) -> Option<(usize, &'a str)> {
    let bullets = || memory.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("- "));
    let by_words = bullets().find(|(_, line)| line.contains(text));
    let found = by_words.or_else(|| key.and_then(|key| bullets().find(|(_, line)| line.contains(key))));
    found.map(|(n, line)| (n + 1, line.trim_start().trim_start_matches("- ")))
}

/// The lines of a text that have most of the words, and where they begin.
fn passage(text: &str, wanted: &HashSet<String>) -> (usize, String) {
    let lines: Vec<&str> = text.lines().collect();
    let counts: Vec<usize> = lines
        .iter()
        .map(|line| terms(line).into_iter().collect::<HashSet<_>>().intersection(wanted).count())
        .collect();
    let windows = (0..lines.len()).map(|at| {
        let end = (at + PASSAGE).min(lines.len());
        // A passage begins with a line that has something.
        let total: usize = counts[at..end].iter().sum();
        (if counts[at] > 0 { total } else { 0 }, std::cmp::Reverse(at))
    });
    let (_, std::cmp::Reverse(at)) = windows.max().unwrap_or((0, std::cmp::Reverse(0)));
    let end = (at + PASSAGE).min(lines.len());
    (at + 1, lines.get(at..end).unwrap_or_default().join(" "))
}
