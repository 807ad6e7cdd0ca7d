//! From the lines of a file to pieces of work for the writer, on a thread of its own: parsing and writing take about as
//! long, and neither waits for the other.

use super::codex::CodexImporter;
use super::outcome::{Facts, ForkRef, Importer, Lane, LineOutcome, Output};
use super::peek::{self, Keys};
use super::report::{FileReport, Outcome};
use super::scratch::Scratch;
use super::source::{self, AnyImporter, Format};
use crate::LedgerError;
use crate::lines::Content;
use std::path::Path;
use std::sync::mpsc::SyncSender;
use throughline_core::{Meta, Record, SessionId, Watermark};

/// Source bytes between two writes.
const BATCH: u64 = 256 << 10;
/// Lines in which a transcript must say which session it is.
const PROBE: usize = 100_000;

/// What some lines of a file came to.
#[derive(Default)]
pub(super) struct Piece {
    /// What is to be written, with where the line that says so ends.
    pub(super) outputs: Vec<(u64, Output)>,
    /// First lines of sessions that are in their ledgers already.
    pub(super) begun: Vec<(Lane, Meta)>,
    /// What was known when the part that is in the ledger ended; with the first piece.
    pub(super) old: Option<Box<Facts>>,
    /// What is known of the sessions concerned.
    pub(super) facts: Vec<(Lane, Facts)>,
    /// How far the file was read.
    pub(super) watermark: Option<Watermark>,
    pub(super) bytes: u64,
}

/// Reads a file from its front. Lines that end before `done` only remind the importer of what the ledger has.
///
/// Ends early, without an error, when nobody takes its pieces any more.
pub(super) fn pump(
    path: &Path,
    mut importer: AnyImporter,
    done: u64,
    pieces: &SyncSender<Piece>,
) -> Result<FileReport, LedgerError> {
    let mut report = FileReport::new(path, Outcome::Imported);
    let mut lines = source::lines(path)?;
    let mut last = source::LastLine::default();
    let mut piece = Piece::default();
    let mut out = Vec::new();
    let (mut end, mut any_new, mut mended) = (0, false, 0);
    while let Some(line) = lines.next_line()? {
        let length = match &line.bytes {
            Content::Whole(bytes) => bytes.len() as u64,
            Content::TooLong(bytes) => *bytes,
        };
        if let (Content::Whole(bytes), false) = (&line.bytes, line.complete)
            && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_err()
        {
            report.notes.push("the last line is unfinished; it is left for the next import".to_owned());
            break;
        }
        let line_end = line.offset + length;
        let is_new = line_end > done;
        if is_new && !any_new {
            any_new = true;
            piece.old = importer.as_importer().facts(Lane::MAIN).map(Box::new);
        }
        report.lines += 1;
        let mended_before = importer.as_importer().mended();
        let outcome = match &line.bytes {
            Content::Whole(bytes) => importer.as_importer().line(bytes, &mut out),
            Content::TooLong(bytes) => importer.as_importer().too_long(*bytes, &mut out),
        };
        importer.check()?;
        if !is_new {
            piece.begun.extend(out.drain(..).filter_map(|output| match output {
                Output::Record { lane, record: Record::Meta(meta) } => Some((lane, *meta)),
                Output::Record { .. } | Output::ToolResultFile { .. } => None,
            }));
            continue;
        }
        count(&mut report, outcome);
        mended += importer.as_importer().mended() - mended_before;
        piece.outputs.extend(out.drain(..).map(|output| (line_end, output)));
        last.set(&line.bytes);
        end = line_end + u64::from(line.complete);
        piece.bytes += length + 1;
        if piece.bytes >= BATCH {
            let full = std::mem::take(&mut piece);
            if pieces.send(sealed(full, path, end, &last, &mut importer)).is_err() {
                return Ok(report);
            }
        }
    }
    if mended > 0 {
        report.notes.push(format!("{mended} lines held half characters, which were replaced"));
    }
    // Even lines that came to nothing move the watermark; the writer may be gone only after an error of its own.
    if any_new {
        let _ = pieces.send(sealed(piece, path, end, &last, &mut importer));
    }
    Ok(report)
}

fn sealed(
    mut piece: Piece,
    path: &Path,
    end: u64,
    last: &source::LastLine,
    importer: &mut AnyImporter,
) -> Piece {
    let mut lanes: Vec<Lane> = piece
        .outputs
        .iter()
        .map(|(_, output)| match output {
            Output::Record { lane, .. } | Output::ToolResultFile { lane, .. } => *lane,
        })
        .chain([Lane::MAIN])
        .collect();
    lanes.sort_by_key(|lane| lane.0);
    lanes.dedup();
    piece.facts =
        lanes.into_iter().filter_map(|lane| Some((lane, importer.as_importer().facts(lane)?))).collect();
    let path = path.to_string_lossy().into_owned();
    piece.watermark = Some(Watermark { path, offset: end, seal: last.seal() });
    piece
}

fn count(report: &mut FileReport, outcome: LineOutcome) {
    match outcome {
        LineOutcome::Imported => {}
        LineOutcome::Skipped(reason) => report.skip(&reason),
        LineOutcome::Unreadable(reason) => report.bad_line(reason),
    }
}

/// The session of a file, and the one it was forked from without a copy of its history.
pub(super) fn probe(
    format: Format,
    path: &Path,
) -> Result<Option<(SessionId, Option<ForkRef>)>, LedgerError> {
    let mut importer = AnyImporter::new(format, path, &Scratch::default());
    let mut lines = source::lines(path)?;
    let mut out = Vec::new();
    for _ in 0..PROBE {
        let Some(line) = lines.next_line()? else { break };
        if let Content::Whole(bytes) = line.bytes {
            importer.as_importer().line(bytes, &mut out);
            out.clear();
        }
        if let Some(facts) = importer.as_importer().facts(Lane::MAIN)
            && let Some(session) = facts.session
        {
            return Ok(Some((session, facts.fork)));
        }
    }
    Ok(None)
}

/// Reads the lines of a rollout that end before `until`, or whose ordinal is smaller; gives the keys of their records.
pub(super) fn replay(
    importer: &mut CodexImporter,
    path: &Path,
    before_ordinal: Option<u64>,
    until: u64,
) -> Result<Keys, LedgerError> {
    let mut lines = source::lines(path)?;
    let (mut out, mut made) = (Vec::new(), Keys::new(importer.scratch()));
    while let Some(line) = lines.next_line()? {
        if line.offset >= until {
            break;
        }
        match line.bytes {
            Content::Whole(bytes) => {
                if let (Some(limit), Some(ordinal)) = (before_ordinal, CodexImporter::ordinal_of(bytes))
                    && ordinal >= limit
                {
                    break;
                }
                importer.line(bytes, &mut out);
            }
            Content::TooLong(bytes) => {
                importer.too_long(bytes, &mut out);
            }
        }
        importer.scratch().check()?;
        for output in out.drain(..) {
            if let Output::Record { record, .. } = output
                && let Some(key) = peek::key_of(&record)
            {
                made.add(key);
            }
        }
    }
    Ok(made)
}
