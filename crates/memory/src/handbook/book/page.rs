//! `MEMORY.md`: sections of bullets.

use super::bullet;
use super::entry::{Entry, MOST_TEXT, Wording, one_line};
use super::flaw::{BookFile, Flaw, FlawKind};
use super::grounds::Grounds;
use super::{Book, Loose, Place};
use crate::handbook::{FindingKind, Scope};
use jiff::Timestamp;

const TITLE: &str = "# Handbook:";
const SCOPE: &str = "scope:";
const UPDATED: &str = "updated:";
const LEAD: &str =
    "The keys at the end of a line stand for messages and notes that bear it out: see EVIDENCE.md.";

/// The heading of a section.
pub(super) fn heading(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Preference => "User preferences",
        FindingKind::Procedure => "Procedures",
        FindingKind::Pitfall => "Pitfalls",
        FindingKind::Environment => "Environment",
        FindingKind::Task => "Tasks",
    }
}

pub(super) fn render(book: &Book) -> String {
    let name = book.scope.as_ref().map_or("unknown".to_owned(), |scope| one_line(&scope.to_string()));
    let mut out = format!("{TITLE} {name}\n\n");
    if let Some(scope) = &book.scope {
        out.push_str(&format!("{SCOPE} {}\n", one_line(&scope.to_text())));
    }
    if let Some(updated) = book.updated {
        out.push_str(&format!("{UPDATED} {updated}\n"));
    }
    out.push_str(&format!("\n{LEAD}\n"));
    let loose = |place: Place| book.loose.iter().filter(move |loose| loose.place == place);
    for text in loose(Place::Top) {
        out.push_str(&format!("\n{}\n", text.text));
    }
    for kind in FindingKind::ALL {
        let mut entries = book.entries.iter().filter(|entry| entry.kind == kind).peekable();
        let mut between = loose(Place::Section(kind)).peekable();
        if entries.peek().is_none() && between.peek().is_none() {
            continue;
        }
        out.push_str(&format!("\n## {}\n", heading(kind)));
        for text in between {
            out.push_str(&format!("\n{}\n", text.text));
        }
        if entries.peek().is_some() {
            out.push('\n');
        }
        for entry in entries {
            out.push_str(&bullet::render(entry, book.sessions_named(entry)));
            out.push('\n');
        }
    }
    for Loose { place, text } in &book.loose {
        if let Place::Unknown(heading) = place {
            let text = if text.is_empty() { String::new() } else { format!("\n{text}\n") };
            out.push_str(&format!("\n## {heading}\n{text}"));
        }
    }
    out
}

/// Reads the pages of a book.
#[derive(Default)]
struct Reader {
    place: Place,
    scope: Option<Scope>,
    updated: Option<Timestamp>,
    has_title: bool,
    has_lead: bool,
    entries: Vec<Entry>,
    loose: Vec<(Place, Vec<String>)>,
    /// Whether the next text of this place begins a block of its own.
    apart: bool,
    flaws: Vec<Flaw>,
}

impl Reader {
    fn flaw(&mut self, at: usize, what: FlawKind) {
        self.flaws.push(Flaw { file: BookFile::Memory, line: at + 1, what });
    }

    /// The lines of a place, made if it is the first.
    fn lines(&mut self) -> &mut Vec<String> {
        let found = self.loose.iter().position(|(place, _)| *place == self.place);
        let at = found.unwrap_or_else(|| {
            self.loose.push((self.place.clone(), Vec::new()));
            self.loose.len() - 1
        });
        &mut self.loose[at].1
    }

    fn keep(&mut self, lines: &[&str]) {
        let apart = std::mem::take(&mut self.apart);
        let kept = self.lines();
        if apart && !kept.is_empty() {
            kept.push(String::new());
        }
        kept.extend(lines.iter().map(|line| line.trim_end().to_owned()));
    }

    fn section(&mut self, at: usize, name: &str) {
        let known = FindingKind::ALL.into_iter().find(|kind| heading(*kind).eq_ignore_ascii_case(name));
        self.place = match known {
            Some(kind) => Place::Section(kind),
            None => {
                self.flaw(at, FlawKind::UnknownSection(name.to_owned()));
                Place::Unknown(name.to_owned())
            }
        };
        self.apart = true;
        if known.is_none() {
            self.lines();
        }
    }

    /// Whether it is a line of the header. One that can't be read is kept as text.
    fn header(&mut self, at: usize, line: &str) -> bool {
        if self.place != Place::Top {
            return false;
        }
        if line.starts_with(TITLE) && !self.has_title {
            self.has_title = true;
        } else if line == LEAD && !self.has_lead {
            self.has_lead = true;
        } else if let Some(scope) = line.strip_prefix(SCOPE).filter(|_| self.scope.is_none()) {
            self.scope = Scope::parse(scope.trim());
            if self.scope.is_none() {
                self.flaw(at, FlawKind::Unreadable(format!("`{}` is no scope", scope.trim())));
                self.keep(&[line]);
            }
        } else if let Some(updated) = line.strip_prefix(UPDATED).filter(|_| self.updated.is_none()) {
            self.updated = updated.trim().parse().ok();
            if self.updated.is_none() {
                self.flaw(at, FlawKind::Unreadable(format!("`{}` is no time", updated.trim())));
                self.keep(&[line]);
            }
        } else {
            return false;
        }
        true
    }

    /// A bullet with its further lines.
    fn bullet(&mut self, at: usize, lines: &[&str], grounds: &Grounds) {
        let Place::Section(kind) = self.place else {
            // Below a heading that is not ours nothing is a statement.
            return self.keep(lines);
        };
        let joined = one_line(&lines.join(" "));
        let bullet = bullet::parse(joined.get(1..).unwrap_or_default(), kind);
        let whats: Vec<FlawKind> =
            bullet.odd_keys.iter().map(|key| FlawKind::UnknownKey(key.clone())).collect();
        for what in whats {
            self.flaw(at, what);
        }
        let entry = bullet::entry(bullet, kind);
        if entry.evidence.is_empty() || entry.text.is_empty() {
            let what = if entry.evidence.is_empty() { FlawKind::NoEvidence } else { FlawKind::NoStatement };
            self.flaw(at, what);
            return self.keep(lines);
        }
        let chars = entry.text.chars().count();
        if chars > MOST_TEXT {
            self.flaw(at, FlawKind::TooLong { chars, most: MOST_TEXT });
        }
        for key in entry.evidence.iter().filter(|key| grounds.get(key).is_none()) {
            self.flaws.push(Flaw {
                file: BookFile::Memory,
                line: at + 1,
                what: FlawKind::UnknownKey(key.to_string()),
            });
        }
        let wording = if grounds.written.contains(&entry.print()) { Wording::Ours } else { Wording::Theirs };
        self.entries.push(Entry { wording, ..entry });
        self.apart = true;
    }
}

/// Reads a book over the evidence that is known.
pub(super) fn parse(text: &str, grounds: Grounds) -> (Book, Vec<Flaw>) {
    let mut reader = Reader::default();
    let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().collect();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let plain = line.trim_end();
        let start = at;
        at += 1;
        if plain.is_empty() {
            reader.apart = true;
        } else if let Some(name) =
            plain.strip_prefix("##").filter(|rest| rest.is_empty() || rest.starts_with(' '))
        {
            reader.section(start, name.trim());
        } else if is_bullet(plain) {
            while lines.get(at).is_some_and(|next| is_further(next)) {
                at += 1;
            }
            reader.bullet(start, &lines[start..at], &grounds);
        } else if !reader.header(start, plain) {
            reader.flaw(start, FlawKind::Loose);
            reader.keep(&[plain]);
        }
    }
    let Reader { scope, updated, entries, loose, flaws, .. } = reader;
    let loose = loose.into_iter().map(|(place, lines)| Loose { place, text: lines.join("\n") }).collect();
    (Book::assemble(Book { scope, updated, entries, loose, grounds }), flaws)
}

fn is_bullet(line: &str) -> bool {
    line.strip_prefix(['-', '*']).is_some_and(|rest| rest.starts_with(' '))
}

/// Whether a line goes on with the bullet above it.
fn is_further(line: &str) -> bool {
    line.starts_with([' ', '\t']) && !line.trim().is_empty() && !is_bullet(line.trim_start())
}
