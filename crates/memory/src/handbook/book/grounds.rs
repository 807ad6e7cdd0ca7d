//! Where the book's evidence is: `EVIDENCE.md`, which code alone writes.

use super::entry::{Print, cut, one_line};
use super::flaw::{BookFile, Flaw, FlawKind};
use crate::handbook::{Evidence, EvidenceKey, FindingKind};
use jiff::Timestamp;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use std::collections::{BTreeMap, BTreeSet};
use throughline_core::{MessageId, SessionId};

const BETWEEN: &str = " · ";
const UNKNOWN: &str = "unknown";
const PLACES: &str = "Places";
const SESSIONS: &str = "Sessions";
const WRITTEN: &str = "Written by code";
const REMOVED: &str = "Taken out by hand";
const LEAD: &str = "Written by code; what is changed here is lost. For each key of MEMORY.md: when, what for, in which session and message, and words of it.";
/// Hashes in a line.
const IN_LINE: usize = 8;
/// What an id may not hold as it is: `%` and spaces, besides control characters and all that is not ASCII.
const ODD: &AsciiSet = &CONTROLS.add(b' ').add(b'%');

/// A place that bears statements out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ground {
    /// Where it is.
    pub evidence: Evidence,
    /// When it was said, or written down.
    pub at: Option<Timestamp>,
    /// What it bears out.
    pub kinds: BTreeSet<FindingKind>,
    /// Words of it.
    pub quote: Option<String>,
}

/// A session that the book rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRef {
    /// When something was last said in it.
    pub updated: Option<Timestamp>,
    /// Its summary, in the handbook's folder.
    pub summary: Option<String>,
}

/// All places and sessions that are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grounds {
    places: BTreeMap<EvidenceKey, Ground>,
    sessions: BTreeMap<SessionId, SessionRef>,
    /// Statements that code worded, and those of them that somebody took out or changed.
    pub(super) written: BTreeSet<Print>,
    pub(super) removed: BTreeSet<Print>,
}

impl Grounds {
    /// The place of a key.
    pub fn get(&self, key: &EvidenceKey) -> Option<&Ground> {
        self.places.get(key)
    }

    /// A session.
    pub fn session(&self, id: &SessionId) -> Option<&SessionRef> {
        self.sessions.get(id)
    }

    /// All places, by key.
    pub fn places(&self) -> impl Iterator<Item = (&EvidenceKey, &Ground)> {
        self.places.iter()
    }

    /// All sessions, by id.
    pub fn sessions(&self) -> impl Iterator<Item = (&SessionId, &SessionRef)> {
        self.sessions.iter()
    }

    /// Adds a place. What is known of it already is united.
    pub fn add(&mut self, mut ground: Ground) -> EvidenceKey {
        let key = ground.evidence.key();
        // There is one time of a place.
        if let Evidence::Message { at, .. } = &mut ground.evidence {
            ground.at = at.take().or(ground.at);
        }
        ground.quote = ground
            .quote
            .map(|quote| cut(&one_line(&quote), super::MOST_QUOTE))
            .filter(|quote| !quote.is_empty());
        match self.places.get_mut(&key) {
            Some(known) => {
                known.at = known.at.max(ground.at);
                known.kinds.append(&mut ground.kinds);
                // The longest words tell most; of two as long, always the same.
                let length =
                    |quote: &Option<String>| quote.as_ref().map(|quote| (quote.len(), quote.clone()));
                if length(&ground.quote) > length(&known.quote) {
                    known.quote = ground.quote;
                }
            }
            None => {
                self.places.insert(key.clone(), ground);
            }
        }
        key
    }

    /// Adds a session.
    pub fn add_session(&mut self, id: SessionId, session: SessionRef) {
        let summary = session.summary.map(|path| one_line(&path)).filter(|path| !path.is_empty());
        self.sessions.insert(id, SessionRef { summary, ..session });
    }

    /// Leaves only what is named, and the sessions of that.
    pub(super) fn retain(&mut self, named: &BTreeSet<EvidenceKey>) {
        self.places.retain(|key, _| named.contains(key));
        let needed: BTreeSet<&SessionId> =
            self.places.values().filter_map(|ground| ground.evidence.session()).collect();
        self.sessions.retain(|id, _| needed.contains(id));
    }

    /// `EVIDENCE.md`.
    pub fn to_markdown(&self) -> String {
        let mut out = format!("# Evidence\n\n{LEAD}\n\n## {PLACES}\n\n");
        // By time, so that the file grows at its end.
        let mut places: Vec<_> = self.places.iter().collect();
        places.sort_by_key(|(key, ground)| (ground.at, *key));
        for (key, ground) in places {
            out.push_str(&place_line(key, ground));
        }
        out.push_str(&format!("\n## {SESSIONS}\n\n"));
        let mut sessions: Vec<_> = self.sessions.iter().collect();
        sessions.sort_by_key(|(id, session)| (session.updated, *id));
        for (id, session) in sessions {
            let summary = session.summary.as_deref().map_or(UNKNOWN.to_owned(), coded);
            out.push_str(&format!(
                "- {}{BETWEEN}{}{BETWEEN}{summary}\n",
                coded(id.as_str()),
                time(session.updated)
            ));
        }
        for (heading, prints) in [(WRITTEN, &self.written), (REMOVED, &self.removed)] {
            if prints.is_empty() {
                continue;
            }
            out.push_str(&format!("\n## {heading}\n\n"));
            let prints: Vec<String> = prints.iter().map(ToString::to_string).collect();
            for line in prints.chunks(IN_LINE) {
                out.push_str(&format!("- {}\n", line.join(" ")));
            }
        }
        out
    }

    /// Reads what [`to_markdown`](Self::to_markdown) writes. A line that can't be read, or whose key is not that of its place,
    /// is left out and told.
    pub fn parse(text: &str) -> (Self, Vec<Flaw>) {
        let mut grounds = Self::default();
        let mut flaws = Vec::new();
        let mut section = "";
        for (at, line) in text.lines().enumerate() {
            let line = line.trim_end();
            if let Some(heading) = line.strip_prefix("## ") {
                section = heading.trim();
                continue;
            }
            let Some(item) = line.strip_prefix("- ") else { continue };
            let read = match section {
                PLACES => parse_place(item).map(|(key, ground)| {
                    grounds.places.insert(key, ground);
                }),
                SESSIONS => parse_session(item).map(|(id, session)| {
                    grounds.sessions.insert(id, session);
                }),
                WRITTEN => parse_prints(item).map(|prints| grounds.written.extend(prints)),
                REMOVED => parse_prints(item).map(|prints| grounds.removed.extend(prints)),
                _ => None,
            };
            if read.is_none() {
                let what = FlawKind::Unreadable("the line is none of those that code writes here".to_owned());
                flaws.push(Flaw { file: BookFile::Evidence, line: at + 1, what });
            }
        }
        (grounds, flaws)
    }
}

fn time(at: Option<Timestamp>) -> String {
    at.map_or(UNKNOWN.to_owned(), |at| at.to_string())
}

fn parse_time(text: &str) -> Option<Option<Timestamp>> {
    if text == UNKNOWN { Some(None) } else { text.parse().ok().map(Some) }
}

/// An id or a path without spaces. A word that means "unknown" is not it.
fn coded(id: &str) -> String {
    let coded = utf8_percent_encode(id, ODD).to_string();
    if coded == UNKNOWN { coded.replacen('u', "%75", 1) } else { coded }
}

fn decoded(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

fn place_line(key: &EvidenceKey, ground: &Ground) -> String {
    let kinds: Vec<&str> = ground.kinds.iter().map(|kind| kind.name()).collect();
    let kinds = if kinds.is_empty() { UNKNOWN.to_owned() } else { kinds.join(", ") };
    let place = match &ground.evidence {
        Evidence::Message { session, message, at: _ } => {
            format!("session {}{BETWEEN}message {}", coded(session.as_str()), coded(message.as_str()))
        }
        Evidence::Note { file } => format!("note {}", coded(file)),
    };
    let quote = ground.quote.as_ref().map_or(String::new(), |quote| format!("{BETWEEN}“{quote}”"));
    format!("- {key}{BETWEEN}{}{BETWEEN}{kinds}{BETWEEN}{place}{quote}\n", time(ground.at))
}

fn parse_place(item: &str) -> Option<(EvidenceKey, Ground)> {
    let (key, rest) = item.split_once(BETWEEN)?;
    let key = EvidenceKey::parse(key)?;
    let (at, rest) = rest.split_once(BETWEEN)?;
    let at = parse_time(at)?;
    let (kinds, rest) = rest.split_once(BETWEEN)?;
    let kinds: Option<BTreeSet<FindingKind>> = match kinds {
        UNKNOWN => Some(BTreeSet::new()),
        kinds => kinds
            .split(", ")
            .map(|name| FindingKind::ALL.into_iter().find(|kind| kind.name() == name))
            .collect(),
    };
    let (place, rest) = rest.split_once(BETWEEN).unwrap_or((rest, ""));
    let (evidence, quote) = match place.strip_prefix("note ") {
        Some(file) => (Evidence::Note { file: decoded(file)? }, rest),
        None => {
            let session = SessionId::new(decoded(place.strip_prefix("session ")?)?);
            let (message, quote) = rest.split_once(BETWEEN).unwrap_or((rest, ""));
            let message = MessageId::new(decoded(message.strip_prefix("message ")?)?);
            (Evidence::Message { session, message, at: None }, quote)
        }
    };
    let quote = match quote {
        "" => None,
        quote => Some(quote.strip_prefix('“')?.strip_suffix('”')?.to_owned()),
    };
    (evidence.key() == key).then_some((key, Ground { evidence, at, kinds: kinds?, quote }))
}

fn parse_session(item: &str) -> Option<(SessionId, SessionRef)> {
    let (id, rest) = item.split_once(BETWEEN)?;
    let (updated, summary) = rest.split_once(BETWEEN)?;
    let summary = if summary == UNKNOWN { None } else { Some(decoded(summary)?) };
    Some((SessionId::new(decoded(id)?), SessionRef { updated: parse_time(updated)?, summary }))
}

fn parse_prints(item: &str) -> Option<Vec<Print>> {
    item.split(' ').map(Print::parse).collect()
}
