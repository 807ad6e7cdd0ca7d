//! What there is, from the ends of the files alone.

use crate::home::Home;
use crate::lines::{BackwardLines, Content, read_exact_at};
use crate::{LedgerError, Reader};
use serde::Serialize;
use std::fs::File;
use std::path::{Path, PathBuf};
use throughline_core::{Card, Record};

/// The newest card always begins within the last this many bytes.
pub const TAIL: u64 = 16 << 10;

/// One session in a list.
#[derive(Clone, Debug, Serialize)]
pub struct Listed {
    /// Its ledger.
    pub path: PathBuf,
    /// The ledger's length in bytes.
    pub bytes: u64,
    /// What is known about it.
    #[serde(flatten)]
    pub card: Card,
}

/// Every session, newest first. Reads 16 KB of each file; only a ledger whose end holds no card (a crash while it was
/// young, a damaged file) is read further.
pub fn list(home: &Home) -> Result<Vec<Listed>, LedgerError> {
    let mut listed = Vec::new();
    let mut buffer = Vec::new();
    for path in home.ledgers()? {
        let file = File::open(&path).map_err(LedgerError::io("open", &path))?;
        let bytes = file.metadata().map_err(LedgerError::io("look at", &path))?.len();
        let card = match card_in_tail(&file, &path, bytes, &mut buffer)? {
            Some((_, card)) => card,
            None => card_from_front(home, &path)?,
        };
        listed.push(Listed { path, bytes, card });
    }
    listed.sort_by(|a, b| b.card.updated.cmp(&a.card.updated).then_with(|| b.path.cmp(&a.path)));
    Ok(listed)
}

fn card_in_tail(
    file: &File,
    path: &Path,
    end: u64,
    buffer: &mut Vec<u8>,
) -> Result<Option<(u64, Card)>, LedgerError> {
    const CARD: &[u8] = br#"{"kind":"card","#;
    let start = end.saturating_sub(TAIL);
    buffer.resize((end - start) as usize, 0);
    read_exact_at(file, buffer, start).map_err(LedgerError::io("read", path))?;
    let mut until = buffer.len();
    while let Some(at) = memchr::memmem::rfind(&buffer[..until], CARD) {
        let at_line_start = if at == 0 { start == 0 } else { buffer[at - 1] == b'\n' };
        if at_line_start
            && let Some(length) = memchr::memchr(b'\n', &buffer[at..])
            && let Ok(Record::Card(card)) = Record::parse(&buffer[at..at + length])
        {
            return Ok(Some((start + at as u64, *card)));
        }
        until = at;
    }
    Ok(None)
}

/// The newest card of a ledger that ends at `end`, and where its line begins.
pub fn newest_card(file: &File, path: &Path, end: u64) -> Result<Option<(u64, Card)>, LedgerError> {
    if let Some(found) = card_in_tail(file, path, end, &mut Vec::new())? {
        return Ok(Some(found));
    }
    let mut lines = BackwardLines::new(file, path, end);
    while let Some(line) = lines.next_line()? {
        if let (Content::Whole(bytes), true) = (&line.bytes, line.complete)
            && bytes.starts_with(br#"{"kind":"card","#)
            && let Ok(Record::Card(card)) = Record::parse(bytes)
        {
            return Ok(Some((line.offset, *card)));
        }
    }
    Ok(None)
}

/// What the first line tells, for a ledger without a card.
fn card_from_front(home: &Home, path: &Path) -> Result<Card, LedgerError> {
    let file = File::open(path).map_err(LedgerError::io("open", path))?;
    let end = file.metadata().map_err(LedgerError::io("look at", path))?.len();
    if let Some((_, card)) = newest_card(&file, path, end)? {
        return Ok(card);
    }
    let mut card = Card { session: crate::home::session_of(path).map(Into::into), ..Card::default() };
    if let Some((_, Record::Meta(meta))) = Reader::open(home, path, 0)?.next_record()? {
        card.session = Some(meta.id);
        card.created = Some(meta.created);
        card.updated = Some(meta.created);
        card.cwd = meta.cwd;
        card.client = meta.client;
        card.client_session = meta.client_session;
    }
    Ok(card)
}
