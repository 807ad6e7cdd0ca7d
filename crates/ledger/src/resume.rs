//! From a file to a view, at the cost of what came after the newest checkpoint.

use crate::blobs::Blobs;
use crate::home::{Home, session_of};
use crate::lines::{BackwardLines, Content};
use crate::reader::{Reader, decode};
use crate::{LedgerError, Problem, ProblemKind};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use throughline_core::{
    Card, Checkpoint, EditId, Entry, Item, Message, MessageId, Meta, Op, Origin, Record, SessionId, View,
};

/// How many parents of parents a fork may have.
const MAX_FORKS: usize = 64;

/// A session as it stands.
#[derive(Debug)]
pub struct Resumed {
    /// The session.
    pub session: SessionId,
    /// What a model would be sent now.
    pub view: View,
    /// The newest card that was met on the way.
    pub card: Option<Card>,
    /// The first line, where the scan came that far.
    pub meta: Option<Meta>,
    /// Bytes that were read line by line: the suffix, not the file.
    pub scanned: u64,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// Resumes a session from its ledger.
pub fn resume(home: &Home, path: &Path) -> Result<Resumed, LedgerError> {
    let file = File::open(path).map_err(LedgerError::io("open", path))?;
    let end = file.metadata().map_err(LedgerError::io("look at", path))?.len();
    resume_until(home, path, end)
}

/// Resumes a session as it stood when its ledger ended at `end`.
pub fn resume_until(home: &Home, path: &Path, end: u64) -> Result<Resumed, LedgerError> {
    Scan { home, blobs: Blobs::of(home), problems: Vec::new() }.session(path, end, MAX_FORKS)
}

struct Scan<'a> {
    home: &'a Home,
    blobs: Blobs,
    problems: Vec<Problem>,
}

/// What the backwards scan found.
struct Suffix {
    /// Newest first.
    records: Vec<(u64, Record)>,
    base: Option<Checkpoint>,
    base_offset: u64,
    meta: Option<Meta>,
    card: Option<Card>,
    scanned: u64,
}

impl Scan<'_> {
    fn session(mut self, path: &Path, end: u64, depth: usize) -> Result<Resumed, LedgerError> {
        let suffix = self.scan_back(path, end)?;
        let session = suffix.meta.as_ref().map(|meta| meta.id.clone());
        let session = session.or_else(|| suffix.card.as_ref().and_then(|card| card.session.clone()));
        let session = session.unwrap_or_else(|| session_of(path).unwrap_or_default().into());

        let mut view = match (&suffix.base, &suffix.meta) {
            (Some(checkpoint), _) => {
                let entries = self.entries_of(path, checkpoint, suffix.base_offset)?;
                View::from_checkpoint(checkpoint.id.clone(), entries)
            }
            (None, Some(Meta { forked_from: Some(fork), .. })) => {
                self.parent_view(&session, &fork.session, &fork.path, fork.offset, depth)?
            }
            (None, Some(_)) => View::default(),
            (None, None) => {
                if end > 0 {
                    self.report(path, 0, ProblemKind::NoMeta);
                }
                View::default()
            }
        };
        for (offset, record) in suffix.records.into_iter().rev() {
            let origin = Origin { session: None, offset };
            match record {
                Record::Message(message) => view.push(Entry::new(*message, origin)),
                Record::Edit(edit) => {
                    let id = edit.id.to_string();
                    if view.edit(*edit, origin).is_err() {
                        self.report(path, offset, ProblemKind::BadUndo(id));
                    }
                }
                Record::Checkpoint(checkpoint) => {
                    let entries = self.entries_of(path, &checkpoint, offset)?;
                    view.replace(&checkpoint, entries);
                }
                Record::Meta(_) | Record::Turn(_) | Record::Event(_) | Record::Card(_) => {}
            }
        }
        Ok(Resumed {
            session,
            view,
            card: suffix.card,
            meta: suffix.meta,
            scanned: suffix.scanned,
            problems: self.problems,
        })
    }

    /// Reads backwards to the newest checkpoint that was not undone, or to the front.
    fn scan_back(&mut self, path: &Path, end: u64) -> Result<Suffix, LedgerError> {
        let file = File::open(path).map_err(LedgerError::io("open", path))?;
        let mut lines = BackwardLines::new(&file, path, end);
        let mut undone: HashSet<EditId> = HashSet::new();
        let mut suffix =
            Suffix { records: Vec::new(), base: None, base_offset: 0, meta: None, card: None, scanned: 0 };
        while let Some(line) = lines.next_line()? {
            let offset = line.offset;
            suffix.scanned = end - offset;
            let bytes = match line.bytes {
                Content::TooLong(bytes) => {
                    self.report(path, offset, ProblemKind::TooLong(bytes));
                    continue;
                }
                Content::Whole([]) => continue,
                Content::Whole(bytes) => bytes,
            };
            let mut missing = Vec::new();
            let record = match decode(&self.blobs, bytes, &mut missing) {
                Ok(record) => record,
                // A line that was cut off can still be whole, if only its end is missing.
                Err(_) if !line.complete => {
                    self.report(path, offset, ProblemKind::Torn);
                    continue;
                }
                Err(kind) => {
                    self.report(path, offset, kind);
                    continue;
                }
            };
            for hash in missing {
                self.report(path, offset, ProblemKind::MissingBlob(hash));
            }
            match record {
                Record::Checkpoint(checkpoint) if !undone.contains(&checkpoint.id) => {
                    suffix.base = Some(*checkpoint);
                    suffix.base_offset = offset;
                    return Ok(suffix);
                }
                Record::Edit(edit) => {
                    if !undone.contains(&edit.id) {
                        undone.extend(edit.undoes().cloned());
                    }
                    suffix.records.push((offset, Record::Edit(edit)));
                }
                Record::Card(card) => {
                    suffix.card.get_or_insert(*card);
                }
                Record::Meta(meta) => {
                    suffix.meta = Some(*meta);
                    return Ok(suffix);
                }
                Record::Turn(_) | Record::Event(_) => {}
                Record::Message(_) | Record::Checkpoint(_) => suffix.records.push((offset, record)),
            }
        }
        Ok(suffix)
    }

    fn parent_view(
        &mut self,
        session: &SessionId,
        parent: &SessionId,
        relative: &str,
        offset: u64,
        depth: usize,
    ) -> Result<View, LedgerError> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(LedgerError::EndlessForks(session.clone()));
        };
        let Some(path) = self.ledger_of(parent, Some(relative)) else {
            self.report(
                &self.home.sessions().join(relative),
                0,
                ProblemKind::MissingParent(parent.to_string()),
            );
            return Ok(View::default());
        };
        let scan = Scan { home: self.home, blobs: self.blobs.clone(), problems: Vec::new() };
        let resumed = scan.session(&path, offset, depth)?;
        self.problems.extend(resumed.problems);
        // Seen from here, the parent's lines lie in another file.
        let entries = resumed.view.entries().iter().cloned().map(|mut entry| {
            entry.origin.session.get_or_insert_with(|| parent.clone());
            entry
        });
        Ok(View::from_entries(entries.collect()))
    }

    fn ledger_of(&self, session: &SessionId, relative: Option<&str>) -> Option<PathBuf> {
        let hinted = relative.and_then(|r| self.home.resolve(r)).filter(|path| path.is_file());
        hinted.or_else(|| self.home.find(session.as_str()).ok())
    }

    /// A checkpoint's messages. One that is not where the checkpoint says is looked for in the whole file.
    fn entries_of(
        &mut self,
        path: &Path,
        checkpoint: &Checkpoint,
        checkpoint_offset: u64,
    ) -> Result<Vec<Entry>, LedgerError> {
        let mut sources: HashMap<Option<SessionId>, Source> = HashMap::new();
        let mut entries = Vec::with_capacity(checkpoint.items.len());
        for item in &checkpoint.items {
            match item {
                Item::New(message) => {
                    let origin = Origin { session: None, offset: checkpoint_offset };
                    entries.push(Entry::new((**message).clone(), origin));
                }
                Item::Keep { id, origin, overlays } => {
                    let file = match &origin.session {
                        None => Some(path.to_owned()),
                        Some(session) => self.ledger_of(session, None),
                    };
                    let source = sources.entry(origin.session.clone()).or_insert_with(|| Source {
                        path: file,
                        found: HashMap::new(),
                        searched: false,
                    });
                    match source.message(self.home, id, origin.offset)? {
                        Some(message) => {
                            let mut entry = Entry::new(message, origin.clone());
                            entry.overlays.clone_from(overlays);
                            entries.push(entry);
                        }
                        None => {
                            self.report(path, checkpoint_offset, ProblemKind::MissingMessage(id.to_string()));
                        }
                    }
                }
            }
        }
        Ok(entries)
    }

    fn report(&mut self, path: &Path, offset: u64, kind: ProblemKind) {
        self.problems.push(Problem { path: path.to_owned(), offset, line: None, kind });
    }
}

/// A ledger that kept messages are read from.
struct Source {
    path: Option<PathBuf>,
    /// Filled only when a message was not where it should be.
    found: HashMap<MessageId, Message>,
    searched: bool,
}

impl Source {
    fn message(&mut self, home: &Home, id: &MessageId, offset: u64) -> Result<Option<Message>, LedgerError> {
        let Some(path) = &self.path else { return Ok(None) };
        if let Some(record) = crate::read_record_at(home, path, offset)?
            && let Some(message) = message_in(record, id)
        {
            return Ok(Some(message));
        }
        if !self.searched {
            self.searched = true;
            let mut reader = Reader::open(home, path, 0)?;
            while let Some((_, record)) = reader.next_record()? {
                for message in messages_in(record) {
                    self.found.insert(message.id.clone(), message);
                }
            }
        }
        Ok(self.found.get(id).cloned())
    }
}

fn message_in(record: Record, id: &MessageId) -> Option<Message> {
    messages_in(record).into_iter().find(|message| message.id == *id)
}

/// The messages that a line holds: a message line its own, a checkpoint and an edit those that they bring in.
pub(crate) fn messages_in(record: Record) -> Vec<Message> {
    match record {
        Record::Message(message) => vec![*message],
        Record::Checkpoint(checkpoint) => checkpoint
            .items
            .into_iter()
            .filter_map(|item| match item {
                Item::New(message) => Some(*message),
                Item::Keep { .. } => None,
            })
            .collect(),
        Record::Edit(edit) => edit
            .ops
            .into_iter()
            .filter_map(|op| match op {
                Op::Fold { with, .. } => Some(*with),
                Op::Replace { .. } | Op::Remove { .. } | Op::Rewind { .. } | Op::Undo { .. } => None,
            })
            .collect(),
        Record::Meta(_) | Record::Turn(_) | Record::Event(_) | Record::Card(_) => Vec::new(),
    }
}
