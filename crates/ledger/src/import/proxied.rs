//! Sessions that are here by way of the proxy already.
//!
//! The proxy writes a ledger of what passes it, the client a transcript of the same conversation. A transcript that says nothing
//! else is left alone. One that says more (the session was also held without the proxy, and condensed in between) is imported
//! whole, beside the proxy's ledger: nothing is lost, and both ledgers name the same [`ClientSession`].

use super::outcome::{Lane, Output};
use super::peek;
use super::scratch::{Scratch, Table};
use super::shadow::key;
use super::source::{self, AnyImporter, Format, Standing};
use crate::lines::Content;
use crate::{Home, LedgerError, Reader, write_private};
use serde::{Deserialize, Serialize};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use throughline_core::{Body, ClientSession, Message, Record, Role, SessionId, Watermark};

/// What transcripts were found to hold nothing of their own, so that they need not be read again. It can be thrown away.
const CHECKED: &str = "proxied.json";

/// The ledgers that a proxy wrote.
pub(super) struct Proxied {
    home: Home,
    ledgers: HashMap<ClientSession, Here>,
    /// By the transcript's path.
    checked: BTreeMap<String, Checked>,
    is_changed: bool,
}

/// A ledger that a proxy wrote.
struct Here {
    session: SessionId,
    path: PathBuf,
}

/// A transcript that held nothing of its own up to here. Ledgers only grow: it still does not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Checked {
    ledger: String,
    until: Watermark,
}

/// How a transcript stands to what came by way of the proxy.
pub(super) enum Share {
    /// Nothing of it did.
    None,
    /// Some of it is in this session.
    Part(SessionId),
    /// All of it is in this session, or will be: it is being held.
    All(SessionId),
}

impl Proxied {
    /// Those among the ledgers of a home. One that can't be read is none.
    pub(super) fn find<'a>(home: &Home, ledgers: impl Iterator<Item = &'a PathBuf>) -> Self {
        let mut found = HashMap::new();
        for path in ledgers {
            let Ok(Some(card)) = peek::card(path) else { continue };
            let (Some(named), Some(session)) = (card.client_session.clone(), card.session) else { continue };
            // An imported ledger is named by its transcript.
            if ClientSession::of_transcript(&card.client, &session) != named {
                found.insert(named, Here { session, path: path.clone() });
            }
        }
        let checked = std::fs::read(home.index().join(CHECKED)).ok();
        let checked = checked.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        Self { home: home.clone(), ledgers: found, checked, is_changed: false }
    }

    /// The ledger of a client's session.
    pub(super) fn session(&self, of: &ClientSession) -> Option<&SessionId> {
        self.ledgers.get(of).map(|here| &here.session)
    }

    /// How a transcript of this session stands to what is here.
    pub(super) fn share(
        &mut self,
        (format, path): (Format, &Path),
        of: &ClientSession,
    ) -> Result<Share, LedgerError> {
        let Some(here) = self.ledgers.get(of) else { return Ok(Share::None) };
        let (all, part) = (Share::All(here.session.clone()), Share::Part(here.session.clone()));
        let (name, ledger) = (path.to_string_lossy().into_owned(), self.home.relative(&here.path));
        if let Some(checked) = self.checked.get(&name).filter(|checked| checked.ledger == ledger)
            && source::standing(path, &checked.until)? == Standing::Same
        {
            return Ok(all);
        }
        // What was said last comes into the ledger when the session rests.
        if is_being_written(&here.path)? {
            return Ok(all);
        }
        Ok(match self.covered(format, path)? {
            Some(until) => {
                self.checked.insert(name, Checked { ledger, until });
                self.is_changed = true;
                all
            }
            None => part,
        })
    }

    /// Up to where a transcript was read, if all that it says is in ledgers of the proxy.
    fn covered(&self, format: Format, path: &Path) -> Result<Option<Watermark>, LedgerError> {
        let scratch = Scratch::of(&self.home);
        let mut importer = AnyImporter::new(format, path, &scratch);
        let mut lines = source::lines(path)?;
        let mut last = source::LastLine::default();
        let (mut out, mut end) = (Vec::new(), 0);
        let mut said: HashMap<Lane, Said> = HashMap::new();
        while let Some(line) = lines.next_line()? {
            let Content::Whole(bytes) = &line.bytes else { return Ok(None) };
            importer.as_importer().line(bytes, &mut out);
            importer.check()?;
            for output in out.drain(..) {
                let Output::Record { lane, record: Record::Message(message) } = output else { continue };
                let said = match said.entry(lane) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => {
                        let facts = importer.as_importer().facts(lane);
                        let named = facts
                            .and_then(|f| Some(ClientSession::of_transcript(f.client, f.session.as_ref()?)));
                        let Some(here) = named.and_then(|named| self.ledgers.get(&named)) else {
                            return Ok(None);
                        };
                        new.insert(Said::of(&self.home, &here.path, &scratch)?)
                    }
                };
                if !said.has(&message) {
                    return Ok(None);
                }
            }
            last.set(&line.bytes);
            end = line.offset + bytes.len() as u64 + u64::from(line.complete);
        }
        scratch.check()?;
        let path = path.to_string_lossy().into_owned();
        Ok(Some(Watermark { path, offset: end, seal: last.seal() }))
    }

    /// Writes down what was found. If that can't be, it is found again.
    pub(super) fn remember(&self) {
        if !self.is_changed {
            return;
        }
        if let Ok(text) = serde_json::to_vec(&self.checked) {
            let _ = write_private(self.home.root(), &format!("index/{CHECKED}"), &text);
        }
    }
}

/// What a ledger says, by what it can be recognised by: the words of a text, the id of a call.
struct Said(Table);

impl Said {
    fn of(home: &Home, ledger: &Path, scratch: &Scratch) -> Result<Self, LedgerError> {
        let mut table = Table::new(scratch);
        let mut reader = Reader::open(home, ledger, 0)?;
        while let Some((_, record)) = reader.next_record()? {
            if let Record::Message(message) = record {
                marks(&message, |mark| table.put(mark, 1));
            }
        }
        Ok(Self(table))
    }

    /// Whether it says this. What a client adds, and shows in place of an answer, is not asked for.
    fn has(&self, message: &Message) -> bool {
        let flags = &message.flags;
        let is_scaffold = match message.role {
            Role::User => !message.is_real_user() && message.results().next().is_none(),
            Role::System | Role::Developer => true,
            Role::Assistant | Role::Tool => false,
        };
        if flags.meta || flags.summary || flags.display_only || is_scaffold {
            return true;
        }
        let mut has = true;
        marks(message, |mark| has &= self.0.get(mark).is_some());
        has
    }
}

/// What a message can be recognised by, however a client cuts it into records. Thoughts are not sent back by all.
fn marks(message: &Message, mut take: impl FnMut(u128)) {
    let who = match message.role {
        Role::Assistant => 'a',
        Role::User | Role::Tool | Role::System | Role::Developer => 'u',
    };
    for block in &message.blocks {
        match &block.body {
            Body::Text(text) if text.trim().is_empty() => {}
            Body::Text(text) => take(key(&format!("{who}:{}", text.trim()))),
            Body::ToolCall(call) => take(key(&format!("call:{}", call.id))),
            Body::ToolResult(result) => take(key(&format!("result:{}", result.call))),
            Body::Reasoning { .. } | Body::Image(_) | Body::Document(_) | Body::Unknown(_) => {}
        }
    }
}

fn is_being_written(ledger: &Path) -> Result<bool, LedgerError> {
    let file = File::open(ledger).map_err(LedgerError::io("open", ledger))?;
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(LedgerError::io("lock", ledger)(error)),
    }
}
