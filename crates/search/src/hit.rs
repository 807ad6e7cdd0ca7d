use crate::doc::{Calls, Doc, Words};
use crate::error::SearchError;
use crate::index::check;
use crate::snapshot::Snapshot;
use crate::snippet::Snippet;
use crate::source::speaker;
use jiff::Timestamp;
use serde::Serialize;
use std::fs::File;
use tantivy::DocAddress;
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

/// Reads messages that were found from their ledgers. Hits come from few ledgers: the last one stays open.
pub(crate) struct Ledgers<'a> {
    home: &'a Home,
    open: Option<(String, File)>,
    buffer: Vec<u8>,
}

/// Where a message's line is.
struct Line<'a> {
    ledger: &'a str,
    from: u64,
    to: u64,
}

/// Longer lines are left to the ledger's own reader.
const LONGEST_LINE: u64 = 4 << 20;

impl<'a> Ledgers<'a> {
    pub(crate) fn of(home: &'a Home) -> Self {
        Self { home, open: None, buffer: Vec::new() }
    }

    /// A message of the index and its words, score and snippet left out; `None` where the ledger no longer has it.
    pub(crate) fn hit(
        &mut self,
        snapshot: &Snapshot,
        address: DocAddress,
    ) -> Result<Option<(Hit, Words)>, SearchError> {
        let doc = address.doc_id;
        let columns = &snapshot.columns[address.segment_ord as usize];
        let (Some(session), Some(path)) = (columns.session.get(doc)?, columns.path.get(doc)?) else {
            return Ok(None);
        };
        let offset = columns.offset.first(doc).unwrap_or(0);
        let line = Line { ledger: &path, from: offset, to: columns.end.first(doc).unwrap_or(0) };
        let record = match self.plain_record(&line) {
            Some(record) => Some(record),
            None => self.whole_record(&line)?,
        };
        let message = match record {
            Some(Record::Message(message)) if columns.check.first(doc) == Some(check(&message.id)) => message,
            Some(_) | None => return Ok(None),
        };
        let words = Words::of(&message, &mut Calls::default());
        let hit = Hit {
            role: speaker(&message),
            id: message.id,
            session: session.into(),
            at: columns.at.first(doc).and_then(|ms| Timestamp::from_millisecond(ms).ok()),
            project: columns.cwd.get(doc)?,
            tool: columns.tool.get(doc)?,
            score: 0.0,
            snippet: Snippet::default(),
            path,
            offset,
        };
        Ok(Some((hit, words)))
    }

    /// The record of a line that is where it was and that refers to nothing outside it.
    fn plain_record(&mut self, line: &Line<'_>) -> Option<Record> {
        let length = line.to.checked_sub(line.from).filter(|&length| length <= LONGEST_LINE)?;
        let file = match &self.open {
            Some((path, file)) if path == line.ledger => file,
            Some(_) | None => {
                let file = File::open(self.home.resolve(line.ledger)?).ok()?;
                &self.open.insert((line.ledger.to_owned(), file)).1
            }
        };
        self.buffer.resize(usize::try_from(length).ok()?, 0);
        read_exact_at(file, &mut self.buffer, line.from).ok()?;
        let line = &self.buffer[..memchr::memchr(b'\n', &self.buffer)?];
        // Blobs are the ledger's business.
        let refers = memchr::memmem::find(line, BLOB).is_some();
        if refers { None } else { Record::parse(line).ok() }
    }

    fn whole_record(&self, line: &Line<'_>) -> Result<Option<Record>, SearchError> {
        let Some(path) = self.home.resolve(line.ledger) else { return Ok(None) };
        match read_record_at(self.home, &path, line.from) {
            Ok(record) => Ok(record),
            Err(LedgerError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e.into()),
        }
    }
}

const BLOB: &[u8] = b"$blob";

#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(not(unix))]
fn read_exact_at(mut file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
    use std::io::{Read, Seek};
    file.seek(std::io::SeekFrom::Start(offset))?;
    file.read_exact(buffer)
}
