use crate::doc::{Calls, Doc, Words};
use crate::error::SearchError;
use crate::index::{Index, role_of};
use crate::snapshot::Snapshot;
use crate::snippet::Snippet;
use jiff::Timestamp;
use serde::Serialize;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use tantivy::schema::Value;
use tantivy::{DocAddress, TantivyDocument};
use throughline_core::{MessageId, Record, Role, SessionId};
use throughline_ledger::{Home, LedgerError, read_record_at};

/// One message that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    /// The message.
    pub id: MessageId,
    /// Its session.
    pub session: SessionId,
    /// Who speaks.
    pub role: Role,
    /// When.
    pub at: Option<Timestamp>,
    /// The folder the session ran in.
    pub project: Option<String>,
    /// The first tool called or answered in it.
    pub tool: Option<String>,
    /// How well it fits; to be compared within one search only.
    pub score: f32,
    /// Why it was found.
    pub snippet: Snippet,
    /// The ledger, relative to the sessions folder.
    pub path: String,
    /// Where the message's line begins in the ledger.
    pub offset: u64,
}

impl Hit {
    /// A message at hand, score and snippet left out.
    pub(crate) fn of(doc: &Doc) -> Self {
        Self {
            id: doc.id.clone(),
            session: doc.session.clone(),
            role: doc.role,
            // The index keeps milliseconds; a hit looks the same wherever it comes from.
            at: doc.at.and_then(|at| Timestamp::from_millisecond(at.as_millisecond()).ok()),
            project: doc.cwd.clone(),
            tool: doc.words.tools.first().cloned(),
            score: 0.0,
            snippet: Snippet::default(),
            path: doc.path.clone(),
            offset: doc.offset,
        }
    }
}

/// What the index keeps of a message, score and snippet left out.
pub(crate) fn stored(
    index: &Index,
    snapshot: &Snapshot,
    address: DocAddress,
) -> Result<Option<Hit>, SearchError> {
    let doc = address.doc_id;
    let columns = &snapshot.columns[address.segment_ord as usize];
    let stored: TantivyDocument = snapshot.searcher.doc(address)?;
    let id = stored.get_first(index.fields.id).and_then(|value| value.as_str().map(MessageId::new));
    let (Some(id), Some(session), Some(path)) = (id, columns.session.get(doc)?, columns.path.get(doc)?)
    else {
        return Ok(None);
    };
    Ok(Some(Hit {
        id,
        session: session.into(),
        role: columns.role.get(doc)?.as_deref().and_then(role_of).unwrap_or(Role::User),
        at: columns.at.first(doc).and_then(|ms| Timestamp::from_millisecond(ms).ok()),
        project: columns.cwd.get(doc)?,
        tool: columns.tool.get(doc)?,
        score: 0.0,
        snippet: Snippet::default(),
        path,
        offset: columns.offset.first(doc).unwrap_or(0),
    }))
}

/// Reads the words of messages from their ledgers. Hits come from few ledgers: the last one stays open.
pub(crate) struct Ledgers<'a> {
    home: &'a Home,
    open: Option<(String, File)>,
    buffer: Vec<u8>,
}

/// Most lines are shorter.
const FIRST_READ: usize = 16 << 10;

impl<'a> Ledgers<'a> {
    pub(crate) fn of(home: &'a Home) -> Self {
        Self { home, open: None, buffer: Vec::new() }
    }

    /// The words of a message; `None` where the ledger no longer has it.
    pub(crate) fn words(&mut self, hit: &Hit) -> Result<Option<Words>, SearchError> {
        let record = match self.short_line(hit) {
            Some(record) => Some(record),
            None => self.whole_record(hit)?,
        };
        Ok(match record {
            Some(Record::Message(message)) if message.id == hit.id => {
                Some(Words::of(&message, &mut Calls::default()))
            }
            Some(_) | None => None,
        })
    }

    /// The record of a line that one small read holds and that refers to nothing outside it.
    fn short_line(&mut self, hit: &Hit) -> Option<Record> {
        let file = match &self.open {
            Some((path, file)) if *path == hit.path => file,
            Some(_) | None => {
                let file = File::open(self.home.resolve(&hit.path)?).ok()?;
                &self.open.insert((hit.path.clone(), file)).1
            }
        };
        self.buffer.clear();
        let mut at = file;
        at.seek(SeekFrom::Start(hit.offset)).ok()?;
        at.take(FIRST_READ as u64).read_to_end(&mut self.buffer).ok()?;
        let line = &self.buffer[..memchr::memchr(b'\n', &self.buffer)?];
        // Blobs are the ledger's business.
        let refers = memchr::memmem::find(line, BLOB).is_some();
        if refers { None } else { Record::parse(line).ok() }
    }

    fn whole_record(&self, hit: &Hit) -> Result<Option<Record>, SearchError> {
        let Some(path) = self.home.resolve(&hit.path) else { return Ok(None) };
        match read_record_at(self.home, &path, hit.offset) {
            Ok(record) => Ok(record),
            Err(LedgerError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e.into()),
        }
    }
}

const BLOB: &[u8] = b"$blob";
