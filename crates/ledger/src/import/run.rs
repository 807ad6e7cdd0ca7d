//! The driver: files in, ledgers out.
//!
//! A file is read from its front each time: the importer's memory of what is in the ledger already is rebuilt from the
//! same lines that made it, so a file imported in pieces gives the very records of one imported at once. Lines before
//! the watermark cost their parsing, nothing is written for them; an unchanged file is not read at all.

use super::discover::Discovery;
use super::lanes::Lanes;
use super::outcome::{ForkRef, Lane, Output};
use super::proxied::{Proxied, Share};
use super::pump::{self, Piece};
use super::report::{FileReport, ImportReport, Outcome, Progress};
use super::scratch::Scratch;
use super::session::happened;
use super::source::{self, AnyImporter, Standing};
use super::target::{Others, Source, Target};
use super::{fork, peek};
use crate::home::{file_name, session_of};
use crate::{Home, LedgerError, SyncPolicy, Writer};
use serde_json::json;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use throughline_core::{ClientSession, ForkPoint, Meta, Record, SessionId};

/// Pieces that parsing may be ahead of writing.
const AHEAD: usize = 4;

/// How an import goes.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportOptions {
    /// When what was written is forced to disk.
    pub policy: SyncPolicy,
    /// Sessions that are here by way of the proxy are imported all the same.
    pub copies: bool,
}

impl From<SyncPolicy> for ImportOptions {
    fn from(policy: SyncPolicy) -> Self {
        Self { policy, copies: false }
    }
}

/// One import.
struct Import<'a> {
    home: &'a Home,
    options: ImportOptions,
    progress: &'a mut dyn FnMut(Progress<'_>),
    /// Ledgers by the session in their file name.
    ledgers: HashMap<String, PathBuf>,
    proxied: Proxied,
    /// Transcripts that were left alone because their sessions came by way of the proxy.
    left: HashMap<SessionId, PathBuf>,
    report: ImportReport,
    place: (usize, usize),
    done: u64,
    total: u64,
}

/// Imports what was discovered. Trouble with one file is reported and does not stop the others.
///
/// Running it again is harmless: what is in the ledgers already is not added twice, whether the last run ended well or
/// was cut off at any point. A transcript of a session that came by way of the proxy is imported only where it says more than that.
pub fn import(
    home: &Home,
    found: &Discovery,
    options: impl Into<ImportOptions>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<ImportReport, LedgerError> {
    let mut ledgers = HashMap::new();
    for path in home.ledgers()? {
        if let Some(session) = session_of(&path) {
            ledgers.insert(session.to_owned(), path.clone());
        }
    }
    let total = found.files.iter().map(|path| size(path)).sum();
    let report = ImportReport { passed_over: found.passed_over.clone(), ..ImportReport::default() };
    let place = (0, found.files.len());
    let proxied = Proxied::find(home, ledgers.values());
    let (options, left) = (options.into(), HashMap::new());
    let mut run = Import { home, options, progress, ledgers, proxied, left, report, place, done: 0, total };
    // Forks whose parent has not been imported yet wait for it.
    let mut waiting = Vec::new();
    for path in &found.files {
        run.take(path, Some(&mut waiting));
    }
    for path in waiting {
        run.take(&path, None);
    }
    run.proxied.remember();
    let is_proxied = |file: &&FileReport| file.outcome == Outcome::Proxied;
    run.report.proxied = run.report.files.iter().filter(is_proxied).count() as u64;
    Ok(run.report)
}

fn size(path: &Path) -> u64 {
    path.metadata().map_or(0, |meta| meta.len())
}

fn orphan(fork: &ForkRef) -> String {
    let parent = &fork.session;
    format!("its history is in session {parent}, which is not here: import that one and this one again")
}

fn partly(by: &SessionId) -> String {
    format!(
        "a part of it is here by way of the proxy (session {by}); it is imported beside that, and memory is made of the fuller one"
    )
}

/// Where the reading of a file begins.
struct Start {
    importer: AnyImporter,
    /// The lines that end before this byte are in the ledger.
    done: u64,
    /// The ledger's source was another file.
    anew: bool,
    fork: Option<ForkPoint>,
    others: Others,
}

impl Import<'_> {
    fn take(&mut self, path: &Path, waiting: Option<&mut Vec<PathBuf>>) {
        self.tell(path, 0);
        let before = self.done;
        let file = match self.file(path, waiting.is_some()) {
            Ok(Some(file)) => file,
            Ok(None) => {
                if let Some(waiting) = waiting {
                    waiting.push(path.to_owned());
                }
                return;
            }
            Err(error) => FileReport::new(path, Outcome::Failed(error.to_string())),
        };
        self.report.add(file);
        self.done = before + size(path);
        self.place.0 += 1;
        self.tell(path, 0);
    }

    fn tell(&mut self, file: &Path, more: u64) {
        let (index, files) = self.place;
        let done = (self.done + more).min(self.total);
        (self.progress)(Progress { file, index, files, done, total: self.total });
    }

    fn ledger_of(&self, session: &SessionId) -> Option<&PathBuf> {
        self.ledgers.get(&file_name(session))
    }

    /// Imports one file; `None` where it should wait for its parent.
    fn file(&mut self, path: &Path, may_wait: bool) -> Result<Option<FileReport>, LedgerError> {
        // 1. What is it?
        let Some(format) = source::detect(path)? else {
            return Ok(Some(FileReport::new(path, Outcome::Foreign)));
        };
        let mut report = FileReport::new(path, Outcome::Imported);
        report.format = Some(format);
        // 2. Which session?
        let Some((session, fork)) = pump::probe(format, path)? else {
            report.outcome = Outcome::Empty;
            return Ok(Some(report));
        };
        report.sessions.push(session.clone());
        // 3. What of it is there already?
        let (mut done, mut anew) = (0, false);
        if let Some(ledger) = self.ledger_of(&session).cloned()
            && let Some(card) = peek::card(&ledger)?
            && let Some(watermark) = &card.watermark
        {
            (report.outcome, done, anew) = match source::standing(path, watermark)? {
                Standing::Same => {
                    report.outcome = Outcome::Unchanged;
                    return match fork.filter(|_| card.forked_from.is_none()) {
                        None => Ok(Some(report)),
                        Some(fork) => {
                            Ok(self.adopt(&ledger, &fork, &mut report, may_wait)?.then_some(report))
                        }
                    };
                }
                Standing::Grew => (Outcome::Continued, watermark.offset, false),
                Standing::Replaced => (Outcome::Replaced, 0, true),
            };
        }
        // 4. Is it here by another way?
        let named = ClientSession::of_transcript(format.client(), &session);
        match self.proxied.share((format, path), &named)? {
            Share::All(by) if !self.options.copies => {
                (report.outcome, report.proxied) = (Outcome::Proxied, Some(by));
                self.left.insert(session, path.to_owned());
                return Ok(Some(report));
            }
            Share::Part(by) => {
                if report.outcome == Outcome::Imported {
                    report.notes.push(partly(&by));
                }
                report.proxied = Some(by);
            }
            Share::All(by) => report.proxied = Some(by),
            Share::None => {}
        }
        // 5. Where does it begin?
        let scratch = Scratch::of(self.home);
        let importer = AnyImporter::new(format, path, &scratch);
        let mut start = Start { importer, done, anew, fork: None, others: Others::new() };
        if let Some(fork) = fork {
            let mut parent = fork::parent(&fork, &scratch, |session| self.ledger_of(session).cloned())?;
            if parent.is_none() && !may_wait && self.copy_left(&fork.session) {
                parent = fork::parent(&fork, &scratch, |session| self.ledger_of(session).cloned())?;
            }
            match parent {
                Some(mut parent) => {
                    let options = source::codex_options(path);
                    start.fork = Some(parent.point(self.home, &fork)?);
                    start.importer = AnyImporter::Codex(Box::new(parent.importer.forked(options)));
                    start.others = parent.others;
                }
                None if may_wait => return Ok(None),
                None => report.notes.push(orphan(&fork)),
            }
        }
        // 6. Read it.
        self.read(path, start, &mut report)?;
        Ok(Some(report))
    }

    /// Imports a transcript after all that was left alone: another one goes on where it ends, and says nothing of what was before.
    fn copy_left(&mut self, session: &SessionId) -> bool {
        let Some(path) = self.left.remove(session) else { return false };
        let copies = std::mem::replace(&mut self.options.copies, true);
        self.report.files.retain(|file| file.path != path);
        self.place.0 = self.place.0.saturating_sub(1);
        self.take(&path, None);
        self.options.copies = copies;
        true
    }

    /// A fork that was imported before its parent: if that is here now, the ledger says where its history is. `false`
    /// where it should wait for the parent.
    fn adopt(
        &self,
        ledger: &Path,
        fork: &ForkRef,
        report: &mut FileReport,
        may_wait: bool,
    ) -> Result<bool, LedgerError> {
        let Some(mut meta) = peek::meta(ledger)?.filter(|meta| meta.forked_from.is_none()) else {
            return Ok(true);
        };
        let scratch = Scratch::of(self.home);
        let Some(mut parent) = fork::parent(fork, &scratch, |session| self.ledger_of(session).cloned())?
        else {
            if !may_wait {
                report.notes.push(orphan(fork));
            }
            return Ok(!may_wait);
        };
        meta.forked_from = Some(parent.point(self.home, fork)?);
        let mut writer = Writer::open(self.home, ledger, self.options.policy)?;
        writer.append(&[Record::Meta(Box::new(meta))])?;
        writer.update_card(|card| card.forked_from = Some(fork.session.clone()))?;
        writer.end_turn()?;
        report.notes.push(format!("its history was found in session {}", fork.session));
        Ok(true)
    }

    /// Parses on one thread and writes on this one.
    fn read(&mut self, path: &Path, start: Start, report: &mut FileReport) -> Result<(), LedgerError> {
        let Start { importer, done, anew, fork, others } = start;
        let lanes = Lanes { anew, done, fork, others, ..Lanes::default() };
        let mut job = Job { path, lanes, report };
        let (send, pieces) = std::sync::mpsc::sync_channel(AHEAD);
        let tally = std::thread::scope(|scope| {
            let pump = scope.spawn(move || pump::pump(path, importer, done, &send));
            let mut written = Ok(());
            for piece in pieces {
                written = self.write(&mut job, piece);
                if written.is_err() {
                    break;
                }
            }
            // The pieces are dropped by now: a pump that still runs ends.
            let tally = pump.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            written.and(tally)
        })?;
        let Job { mut lanes, report, .. } = job;
        report.tally(tally);
        lanes.end(report)?;
        let changed = report.messages > 0 || lanes.targets.values().any(Target::changed);
        match report.outcome {
            Outcome::Imported if !changed && lanes.targets.is_empty() => report.outcome = Outcome::Empty,
            Outcome::Imported | Outcome::Replaced if !changed => report.outcome = Outcome::Unchanged,
            Outcome::Imported
            | Outcome::Replaced
            | Outcome::Continued
            | Outcome::Unchanged
            | Outcome::Proxied
            | Outcome::Empty
            | Outcome::Foreign
            | Outcome::Failed(_) => {}
        }
        Ok(())
    }

    fn write(&mut self, job: &mut Job<'_>, piece: Piece) -> Result<(), LedgerError> {
        job.lanes.begun.extend(piece.begun);
        job.lanes.old = job.lanes.old.take().or(piece.old);
        for (line_end, output) in piece.outputs {
            self.emit(job, output, line_end)?;
        }
        let Some(watermark) = piece.watermark else { return Ok(()) };
        // Nothing that was new may have been worth a record; how far the file was read is.
        let known = |meta: &Meta| self.ledger_of(&meta.id).is_some();
        if job.lanes.begun.get(&Lane::MAIN).is_some_and(known)
            && let Some(meta) = job.lanes.begun.remove(&Lane::MAIN)
        {
            self.begin(job, Lane::MAIN, meta)?;
        }
        job.lanes.flush(&watermark, piece.facts)?;
        self.report.bytes += piece.bytes;
        self.tell(job.path, watermark.offset);
        Ok(())
    }

    fn emit(&mut self, job: &mut Job<'_>, output: Output, line_end: u64) -> Result<(), LedgerError> {
        let (lane, record) = match output {
            Output::Record { lane, record } => (lane, record),
            Output::ToolResultFile { lane, call, name, at, line } => {
                match source::read_tool_result(job.path, &name) {
                    Some((text, bytes)) => {
                        let data =
                            json!({"call": call, "path": name, "bytes": bytes, "line": line, "text": text});
                        (lane, happened(at, "tool_result_file", data))
                    }
                    None => {
                        job.report.skip("tool result file that is not there");
                        return Ok(());
                    }
                }
            }
        };
        if let Record::Meta(meta) = record {
            return self.begin(job, lane, *meta);
        }
        if !job.lanes.targets.contains_key(&lane) {
            // The session was begun before the watermark: its first line was replayed, not emitted.
            let Some(meta) = job.lanes.begun.remove(&lane) else { return Ok(()) };
            self.begin(job, lane, meta)?;
        }
        match job.lanes.targets.get_mut(&lane) {
            Some(target) => target.add(line_end, record, &job.lanes.others),
            None => Ok(()),
        }
    }

    /// Opens the ledger of a lane, or makes it.
    fn begin(&mut self, job: &mut Job<'_>, lane: Lane, mut meta: Meta) -> Result<(), LedgerError> {
        if job.lanes.targets.contains_key(&lane) {
            return Ok(());
        }
        if !job.report.sessions.contains(&meta.id) {
            job.report.sessions.push(meta.id.clone());
        }
        let target = match self.ledger_of(&meta.id) {
            Some(ledger) => {
                let lanes = &mut job.lanes;
                let own = lane == Lane::MAIN;
                let forked = own && lanes.fork.is_some();
                let source = Source { path: job.path, done: lanes.done, anew: lanes.anew, own, forked };
                let mut target = Target::open(self.home, ledger, self.options.policy, &source)?;
                if own {
                    if let Some(old) = &lanes.old {
                        target.known_so_far(old);
                    }
                    meta.forked_from = lanes.fork.take();
                }
                target.introduce(meta)?;
                target
            }
            None => {
                if lane == Lane::MAIN {
                    meta.forked_from = job.lanes.fork.take();
                }
                // The session whose sub-agent it is may be here by way of the proxy alone.
                if let Some(parent) = meta.parent_session.take_if(|parent| self.ledger_of(parent).is_none()) {
                    let named = ClientSession::of_transcript(&meta.client, &parent);
                    meta.parent_session = Some(self.proxied.session(&named).cloned().unwrap_or(parent));
                }
                let name = file_name(&meta.id);
                let target = Target::create(self.home, meta, self.options.policy)?;
                self.ledgers.insert(name, target.path().to_owned());
                target
            }
        };
        job.lanes.targets.insert(lane, target);
        Ok(())
    }
}

/// One file on its way into its ledgers.
struct Job<'a> {
    path: &'a Path,
    lanes: Lanes,
    report: &'a mut FileReport,
}
