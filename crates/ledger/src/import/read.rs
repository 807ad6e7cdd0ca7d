//! A transcript's own session as records, with no ledger made of it: for looking, counting and replaying.

use super::outcome::{Lane, Output};
use super::scratch::Scratch;
use super::source::{self, AnyImporter, Format};
use crate::LedgerError;
use crate::lines::Content;
use std::path::Path;
use throughline_core::Record;

/// Reads a transcript of Claude Code or Codex and hands over the records of its own session, in order; those of its
/// sub-agents are left out. `None` where the file is no transcript. Lines that can't be read are records too, as when
/// importing; the history of a fork's parent is not looked for.
pub fn read(path: &Path, take: &mut dyn FnMut(Record)) -> Result<Option<Format>, LedgerError> {
    let Some(format) = source::detect(path)? else { return Ok(None) };
    let mut importer = AnyImporter::new(format, path, &Scratch::default());
    let mut lines = source::lines(path)?;
    let mut out = Vec::new();
    while let Some(line) = lines.next_line()? {
        match &line.bytes {
            Content::Whole(bytes) => importer.as_importer().line(bytes, &mut out),
            Content::TooLong(bytes) => importer.as_importer().too_long(*bytes, &mut out),
        };
        importer.check()?;
        for output in out.drain(..) {
            match output {
                Output::Record { lane: Lane::MAIN, record } => take(record),
                Output::Record { .. } | Output::ToolResultFile { .. } => {}
            }
        }
    }
    Ok(Some(format))
}
