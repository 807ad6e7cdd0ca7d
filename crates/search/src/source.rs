//! Messages of a ledger, from a watermark on.

use crate::doc::{Calls, Doc, Words};
use crate::error::SearchError;
use crate::index::Watermark;
use std::path::Path;
use throughline_core::{Body, Message, Record, Role, SessionId};
use throughline_ledger::{Home, Reader};

/// Reads the messages of one ledger that lie behind a watermark.
pub(crate) struct Source {
    reader: Reader,
    path: String,
    session: SessionId,
    cwd: Option<String>,
    calls: Calls,
    ordinal: u64,
    /// Messages whose line begins before this are in the index.
    known_until: u64,
}

impl Source {
    /// Opens the ledger at a relative path; `None` where there is none or it does not begin with a session.
    pub(crate) fn open(home: &Home, relative: &str, from: Watermark) -> Result<Option<Self>, SearchError> {
        let Some(path) = home.resolve(relative).filter(|path| path.is_file()) else { return Ok(None) };
        let Some(Record::Meta(meta)) = first_record(home, &path)? else { return Ok(None) };
        Ok(Some(Self {
            reader: Reader::open(home, &path, from.warm_from)?,
            path: relative.to_owned(),
            session: meta.id,
            cwd: meta.cwd,
            calls: Calls::default(),
            ordinal: from.warm_ordinal,
            known_until: from.end,
        }))
    }

    /// The next message that is not in the index.
    pub(crate) fn next_doc(&mut self) -> Result<Option<Doc>, SearchError> {
        while let Some((origin, record)) = self.reader.next_record()? {
            let message = match record {
                Record::Message(message) => message,
                Record::Turn(turn) => {
                    self.cwd = self.cwd.take().or(turn.cwd);
                    continue;
                }
                Record::Meta(_)
                | Record::Event(_)
                | Record::Edit(_)
                | Record::Checkpoint(_)
                | Record::Card(_) => {
                    continue;
                }
            };
            let ordinal = self.ordinal;
            self.ordinal += 1;
            let words = Words::of(&message, &mut self.calls);
            if origin.offset < self.known_until {
                continue;
            }
            let role = speaker(&message);
            return Ok(Some(Doc {
                session: self.session.clone(),
                path: self.path.clone(),
                id: message.id,
                ordinal,
                role,
                at: message.at,
                cwd: self.cwd.clone(),
                offset: origin.offset,
                end: self.reader.end(),
                words,
            }));
        }
        Ok(None)
    }

    /// Everything before this byte was read.
    pub(crate) fn end(&self) -> u64 {
        self.reader.end()
    }
}

fn first_record(home: &Home, path: &Path) -> Result<Option<Record>, SearchError> {
    Ok(Reader::open(home, path, 0)?.next_record()?.map(|(_, record)| record))
}

/// Some wires put tool results into user messages. Who looks for what the user said does not mean those.
pub(crate) fn speaker(message: &Message) -> Role {
    let only_results = !message.blocks.is_empty()
        && message.blocks.iter().all(|block| matches!(block.body, Body::ToolResult(_)));
    if only_results { Role::Tool } else { message.role }
}
