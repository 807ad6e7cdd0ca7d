//! Records of a ledger, from the front, with a report of what could not be read.

use crate::blobs::{self, Blobs};
use crate::home::Home;
use crate::lines::{Content, ForwardLines, open_at};
use crate::{LedgerError, Problem, ProblemKind};
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use throughline_core::{Origin, Record, RecordError, parse_json};

/// Whether a file begins as ledgers do.
pub fn is_ledger(path: &Path) -> Result<bool, LedgerError> {
    const HEAD: &[u8] = br#"{"kind":"meta""#;
    let mut head = Vec::with_capacity(HEAD.len());
    let file = open_at(path, 0)?;
    file.take(HEAD.len() as u64).read_to_end(&mut head).map_err(LedgerError::io("read", path))?;
    Ok(head == HEAD)
}

/// Reads records in the order they were written.
pub struct Reader {
    blobs: Blobs,
    path: PathBuf,
    lines: ForwardLines<File>,
    /// The number of the last line read, where reading began at the front.
    line: Option<u64>,
    end: u64,
    /// What could not be read so far.
    pub problems: Vec<Problem>,
}

impl Reader {
    /// Reads from `offset`, which must be the beginning of a line.
    pub fn open(home: &Home, path: &Path, offset: u64) -> Result<Self, LedgerError> {
        let lines = ForwardLines::new(open_at(path, offset)?, path, offset);
        Ok(Self {
            blobs: Blobs::of(home),
            path: path.to_owned(),
            lines,
            line: (offset == 0).then_some(0),
            end: offset,
            problems: Vec::new(),
        })
    }

    /// The next readable record and where its line begins. A torn last line is not given out: it may still be written.
    pub fn next_record(&mut self) -> Result<Option<(Origin, Record)>, LedgerError> {
        loop {
            let Some(line) = self.lines.next_line()? else { return Ok(None) };
            self.line = self.line.map(|n| n + 1);
            let offset = line.offset;
            let problem = match (line.bytes, line.complete) {
                (_, false) => ProblemKind::Torn,
                (Content::TooLong(bytes), true) => {
                    self.end = offset + bytes + 1;
                    ProblemKind::TooLong(bytes)
                }
                (Content::Whole(bytes), true) => {
                    self.end = offset + bytes.len() as u64 + 1;
                    if bytes.is_empty() {
                        continue; // what closes a torn line, or a person's editor
                    }
                    let mut missing = Vec::new();
                    match decode(&self.blobs, bytes, &mut missing) {
                        Ok(record) => {
                            for hash in missing {
                                self.report(offset, ProblemKind::MissingBlob(hash));
                            }
                            return Ok(Some((Origin { session: None, offset }, record)));
                        }
                        Err(kind) => kind,
                    }
                }
            };
            self.report(offset, problem);
        }
    }

    /// Everything before this byte has been read: a later reader can begin here.
    pub fn end(&self) -> u64 {
        self.end
    }

    fn report(&mut self, offset: u64, kind: ProblemKind) {
        self.problems.push(Problem { path: self.path.clone(), offset, line: self.line, kind });
    }
}

/// A line as a record, blobs put back in; `missing` takes the hashes of those that were not there.
pub(crate) fn decode(blobs: &Blobs, line: &[u8], missing: &mut Vec<String>) -> Result<Record, ProblemKind> {
    let record = if blobs::has_blobs(line) {
        parse_json::<Value>(line).map_err(RecordError::from).and_then(|mut value| {
            blobs::bring_back(blobs, &mut value, missing);
            Record::parse(&serde_json::to_vec(&value)?)
        })
    } else {
        Record::parse(line)
    };
    record.map_err(|e| match e {
        RecordError::UnknownKind(kind) => ProblemKind::Newer(kind),
        RecordError::Malformed(why) => ProblemKind::Garbage(why.to_string()),
    })
}

/// The record whose line begins at `offset`.
pub fn read_record_at(home: &Home, path: &Path, offset: u64) -> Result<Option<Record>, LedgerError> {
    Ok(Reader::open(home, path, offset)?
        .next_record()?
        .filter(|(at, _)| at.offset == offset)
        .map(|(_, record)| record))
}
