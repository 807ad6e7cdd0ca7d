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
    /// Where the last whole line ends: what comes after is being written, or was cut off.
    pub end: u64,
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
    Scan { home, blobs: Blobs::of(home), problems: Vec::new() }.session(path, end)
}

struct Scan<'a> {
    home: &'a Home,
    blobs: Blobs,
    problems: Vec<Problem>,
}

/// What the backwards scan of one file found.
struct Suffix {
    path: PathBuf,
    /// Newest first.
    records: Vec<(u64, Record)>,
    base: Option<Checkpoint>,
    base_offset: u64,
    /// The newest one: a later line may tell more than the first.
    meta: Option<Meta>,
    card: Option<Card>,
    scanned: u64,
    end: u64,
}

impl Suffix {
    fn session(&self) -> SessionId {
        let said = self.meta.as_ref().map(|meta| meta.id.clone());
        let said = said.or_else(|| self.card.as_ref().and_then(|card| card.session.clone()));
        said.unwrap_or_else(|| session_of(&self.path).unwrap_or_default().into())
    }
}

impl Scan<'_> {
    fn session(mut self, path: &Path, end: u64) -> Result<Resumed, LedgerError> {
        // This session first, then the one it was forked from, and so on to one that needs no other.
        let mut chain = vec![self.scan_back(path, end)?];
        let mut seen = HashSet::from([path.to_owned()]);
        while let Some(fork) =
            chain.last().filter(|s| s.base.is_none()).and_then(|s| s.meta.as_ref()?.forked_from.clone())
        {
            let parent =
                self.ledger_of(&fork.session, Some(&fork.path)).filter(|path| seen.insert(path.clone()));
            let Some(parent) = parent else {
                let place = self.home.sessions().join(&fork.path);
                self.report(&place, 0, ProblemKind::MissingParent(fork.session.to_string()));
                break;
            };
            let length = std::fs::metadata(&parent).map_err(LedgerError::io("look at", &parent))?.len();
            if length < fork.offset {
                self.report(&parent, length, ProblemKind::ShortParent(fork.session.to_string()));
            }
            chain.push(self.scan_back(&parent, fork.offset.min(length))?);
        }
        let mut view: Option<View> = None;
        let mut parent: Option<SessionId> = None;
        for suffix in chain.iter_mut().rev() {
            let inherited = match (view.take(), &parent) {
                (Some(view), Some(parent)) => Some(taken_over(&view, parent, suffix.meta.as_ref())),
                (_, _) => None,
            };
            parent = Some(suffix.session());
            view = Some(self.fold(suffix, inherited)?);
        }
        let session = parent.unwrap_or_else(|| session_of(path).unwrap_or_default().into());
        let own = chain.swap_remove(0);
        Ok(Resumed {
            session,
            view: view.unwrap_or_default(),
            card: own.card,
            meta: own.meta,
            scanned: own.scanned,
            end: own.end,
            problems: self.problems,
        })
    }

    /// The view at the end of one file, given that of the session it was forked from.
    fn fold(&mut self, suffix: &mut Suffix, inherited: Option<View>) -> Result<View, LedgerError> {
        let path = suffix.path.clone();
        let mut view = match (&suffix.base, inherited) {
            (Some(checkpoint), _) => {
                let entries = self.entries_of(&path, checkpoint, suffix.base_offset)?;
                View::from_checkpoint(checkpoint.id.clone(), entries)
            }
            (None, Some(inherited)) => inherited,
            (None, None) => {
                if suffix.meta.is_none() && suffix.end > 0 {
                    self.report(&path, 0, ProblemKind::NoMeta);
                }
                View::default()
            }
        };
        let mut replay = view.replay();
        for (offset, record) in suffix.records.drain(..).rev() {
            let origin = Origin { session: None, offset };
            match record {
                Record::Message(message) => replay.push(Entry::new(*message, origin)),
                Record::Edit(edit) => replay.edit(*edit, origin),
                Record::Checkpoint(checkpoint) => {
                    let entries = self.entries_of(&path, &checkpoint, offset)?;
                    replay.replace(&checkpoint, entries);
                }
                Record::Meta(_) | Record::Turn(_) | Record::Event(_) | Record::Card(_) => {}
            }
        }
        replay.finish();
        Ok(view)
    }

    /// Reads backwards to the newest checkpoint that was not undone, or to the front.
    fn scan_back(&mut self, path: &Path, end: u64) -> Result<Suffix, LedgerError> {
        let file = File::open(path).map_err(LedgerError::io("open", path))?;
        let mut lines = BackwardLines::new(&file, path, end);
        let mut undone: HashSet<EditId> = HashSet::new();
        let mut suffix = Suffix {
            path: path.to_owned(),
            records: Vec::new(),
            base: None,
            base_offset: 0,
            meta: None,
            card: None,
            scanned: 0,
            end,
        };
        while let Some(line) = lines.next_line()? {
            let offset = line.offset;
            suffix.scanned = end - offset;
            if !line.complete {
                suffix.end = offset;
            }
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
                    // A file that has grown meanwhile is being written: the rest of the line is on its way.
                    if file.metadata().is_ok_and(|meta| meta.len() == end) {
                        self.report(path, offset, ProblemKind::Torn);
                    }
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
                    suffix.meta.get_or_insert(*meta);
                }
                Record::Turn(_) | Record::Event(_) => {}
                Record::Message(_) | Record::Checkpoint(_) => suffix.records.push((offset, record)),
            }
        }
        Ok(suffix)
    }

    fn ledger_of(&self, session: &SessionId, relative: Option<&str>) -> Option<PathBuf> {
        let hinted = relative.and_then(|r| self.home.resolve(r)).filter(|path| path.is_file());
        hinted.or_else(|| self.home.find_exact(session).ok())
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
                Item::Keep { id, origin, overlays, pinned } => {
                    let source = sources.entry(origin.session.clone()).or_insert_with(|| {
                        let file = match &origin.session {
                            None => Some(path.to_owned()),
                            Some(session) => self.ledger_of(session, None),
                        };
                        Source { path: file, found: HashMap::new(), searched: false }
                    });
                    let Some((offset, message)) = source.message(self.home, id, origin.offset) else {
                        self.report(path, checkpoint_offset, ProblemKind::MissingMessage(id.to_string()));
                        continue;
                    };
                    if offset != origin.offset {
                        self.report(path, checkpoint_offset, ProblemKind::Misplaced(id.to_string()));
                    }
                    let mut entry = Entry::new(message, Origin { session: origin.session.clone(), offset });
                    entry.overlays.clone_from(overlays);
                    entry.pinned.clone_from(pinned);
                    entries.push(entry);
                }
            }
        }
        Ok(entries)
    }

    fn report(&mut self, path: &Path, offset: u64, kind: ProblemKind) {
        self.problems.push(Problem { path: path.to_owned(), offset, line: None, kind });
    }
}

/// A parent's view as a fork takes it over: up to the message it was forked at, and seen from another file.
fn taken_over(view: &View, parent: &SessionId, meta: Option<&Meta>) -> View {
    let entries = view.entries();
    let at = meta.and_then(|meta| meta.forked_from.as_ref()?.message.as_ref());
    let last = at.and_then(|id| entries.iter().rposition(|entry| entry.message.id == *id));
    let taken = match last {
        Some(last) => &entries[..=last],
        None => entries,
    };
    let entries = taken.iter().cloned().map(|mut entry| {
        entry.origin.session.get_or_insert_with(|| parent.clone());
        entry
    });
    View::from_entries(entries.collect())
}

/// A ledger that kept messages are read from.
struct Source {
    path: Option<PathBuf>,
    /// Filled only when a message was not where it should be.
    found: HashMap<MessageId, (u64, Message)>,
    searched: bool,
}

impl Source {
    /// A message and where its line begins. Whatever keeps it from being read at its offset, the whole file is searched
    /// for it once.
    fn message(&mut self, home: &Home, id: &MessageId, offset: u64) -> Option<(u64, Message)> {
        let path = self.path.as_ref()?;
        if let Ok(Some(record)) = crate::read_record_at(home, path, offset)
            && let Some(message) = message_in(record, id)
        {
            return Some((offset, message));
        }
        if !self.searched {
            self.searched = true;
            let mut reader = Reader::open(home, path, 0).ok()?;
            while let Ok(Some((origin, record))) = reader.next_record() {
                for message in messages_in(record) {
                    self.found.insert(message.id.clone(), (origin.offset, message));
                }
            }
        }
        self.found.get(id).cloned()
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
                Op::Replace { .. }
                | Op::Remove { .. }
                | Op::Rewind { .. }
                | Op::Pin { .. }
                | Op::Unpin { .. }
                | Op::Undo { .. } => None,
            })
            .collect(),
        Record::Meta(_) | Record::Turn(_) | Record::Event(_) | Record::Card(_) => Vec::new(),
    }
}
