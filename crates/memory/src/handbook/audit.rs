//! Whether handbooks rest on what they say they rest on.
//!
//! Every statement names evidence; every piece of it must be a message that is in its session's ledger, or a note that is in the handbook's
//! folder; and the words that are quoted must stand there.

use super::shelf::Shelved;
use super::{Evidence, EvidenceKey};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::PathBuf;
use throughline_core::{MessageId, Record, SessionId};
use throughline_ledger::{Home, LedgerError, Reader, list};
use throughline_redact::redact;

/// What an audit found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Audit {
    /// Statements that were looked at.
    pub statements: usize,
    /// Those whose evidence was found, every piece of it.
    pub borne_out: usize,
    /// Pieces of evidence that were looked for.
    pub places: usize,
    /// Pieces in sessions of other homes, whose ledgers are not here.
    pub elsewhere: usize,
    /// What is wrong.
    pub faults: Vec<Fault>,
}

impl Audit {
    /// The share of statements that are borne out; 1 if there is none.
    pub fn rate(&self) -> f64 {
        if self.statements == 0 { 1.0 } else { self.borne_out as f64 / self.statements as f64 }
    }
}

/// A statement that is not borne out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The handbook's folder.
    pub folder: PathBuf,
    /// The statement.
    pub statement: String,
    /// Why not.
    pub what: Missing,
}

/// What is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "missing", rename_all = "snake_case")]
pub enum Missing {
    /// It names nothing.
    Evidence,
    /// It names a key that stands for nothing.
    Place {
        /// Which.
        key: EvidenceKey,
    },
    /// There is no such session.
    Session {
        /// Which.
        session: SessionId,
    },
    /// The session has no such message.
    Message {
        /// The session.
        session: SessionId,
        /// Which.
        message: MessageId,
    },
    /// There is no such note.
    Note {
        /// Its file.
        file: String,
    },
    /// None of the places that it names has the words that it quotes.
    Words {
        /// Which.
        quote: String,
    },
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evidence => f.write_str("it names no evidence"),
            Self::Place { key } => write!(f, "{key} stands for nothing in EVIDENCE.md"),
            Self::Session { session } => write!(f, "there is no session {session}"),
            Self::Message { session, message } => write!(f, "session {session} has no message {message}"),
            Self::Note { file } => write!(f, "there is no note {file}"),
            Self::Words { quote } => write!(f, "nobody said “{quote}” in what it names"),
        }
    }
}

/// Looks whether statements are borne out. Each ledger that is named is read once. `elsewhere` says of a session whose ledger is not here whether another home
/// has it.
pub fn audit(
    home: &Home,
    books: &[Shelved],
    elsewhere: impl Fn(&SessionId) -> bool,
) -> Result<Audit, LedgerError> {
    let said = Said::of(home, books)?;
    let mut audit = Audit::default();
    for one in books {
        for entry in one.book.entries() {
            audit.statements += 1;
            let mut missing = Vec::new();
            let mut words = Vec::new();
            let mut all_here = true;
            for key in &entry.evidence {
                audit.places += 1;
                let Some(ground) = one.book.grounds().get(key) else {
                    missing.push(Missing::Place { key: key.clone() });
                    continue;
                };
                match &ground.evidence {
                    Evidence::Note { file } => match said.note(one, file) {
                        Some(text) => words.push(text),
                        None => missing.push(Missing::Note { file: file.clone() }),
                    },
                    Evidence::Message { session, message, .. } => match said.sessions.get(session) {
                        None if elsewhere(session) => {
                            audit.elsewhere += 1;
                            all_here = false;
                        }
                        None => missing.push(Missing::Session { session: session.clone() }),
                        Some(messages) => match messages.get(message) {
                            Some(text) => words.push(text.clone()),
                            None => missing.push(Missing::Message {
                                session: session.clone(),
                                message: message.clone(),
                            }),
                        },
                    },
                }
            }
            if entry.evidence.is_empty() {
                missing.push(Missing::Evidence);
            }
            if let Some(quote) = &entry.quote
                && missing.is_empty()
                && all_here
                && !words.iter().any(|text| has(text, quote))
            {
                missing.push(Missing::Words { quote: quote.clone() });
            }
            if missing.is_empty() {
                audit.borne_out += 1;
            }
            let fault = |what| Fault { folder: one.folder.clone(), statement: entry.text.clone(), what };
            audit.faults.extend(missing.into_iter().map(fault));
        }
    }
    Ok(audit)
}

/// What was said in the messages that books name: nothing else is held.
struct Said {
    sessions: HashMap<SessionId, HashMap<MessageId, String>>,
}

impl Said {
    fn of(home: &Home, books: &[Shelved]) -> Result<Self, LedgerError> {
        let mut named: BTreeMap<&SessionId, BTreeSet<&MessageId>> = BTreeMap::new();
        for (_, ground) in books.iter().flat_map(|one| one.book.grounds().places()) {
            if let Evidence::Message { session, message, .. } = &ground.evidence {
                named.entry(session).or_default().insert(message);
            }
        }
        let mut sessions = HashMap::new();
        for listed in list(home)? {
            let Some(session) = listed.card.session else { continue };
            let Some(wanted) = named.remove(&session) else { continue };
            let mut found = HashMap::new();
            let mut reader = Reader::open(home, &listed.path, 0)?;
            while let Some((_, record)) = reader.next_record()? {
                reader.problems.clear();
                if let Record::Message(message) = record
                    && wanted.contains(&message.id)
                {
                    found.insert(message.id.clone(), plain(&redact(&message.to_text()).into_text()));
                }
            }
            sessions.insert(session, found);
        }
        Ok(Self { sessions })
    }

    fn note(&self, one: &Shelved, file: &str) -> Option<String> {
        let is_name = !file.contains(['/', '\\']) && !file.starts_with('.');
        let path = one.folder.join(super::phase2::NOTES).join(file);
        let text = is_name.then(|| std::fs::read_to_string(path).ok()).flatten()?;
        Some(plain(&redact(&text).into_text()))
    }
}

/// Whether a text has these words, one after the other, whatever is between them; what was cut is left out.
fn has(text: &str, quote: &str) -> bool {
    quote.split('…').map(plain).all(|part| text.contains(&part))
}

/// Letters and digits alone, words a space apart: how a quote is set does not matter.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().flat_map(char::to_lowercase));
    }
    out
}
