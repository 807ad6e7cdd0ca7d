//! Bringing the index up to date with the ledgers: many messages, few commits.

use crate::error::SearchError;
use crate::index::{Index, Watermark};
use crate::markers::Marker;
use crate::source::Source;
use crate::store::{Store, WriteLock};
use tantivy::IndexWriter;
use tantivy::indexer::UserOperation;
use throughline_ledger::Home;

/// How far a sync or a rebuild is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Ledgers read.
    pub ledgers_done: usize,
    /// Ledgers to read.
    pub ledgers: usize,
    /// Messages taken in.
    pub messages: u64,
    /// Bytes of ledger read.
    pub bytes_done: u64,
    /// Bytes of ledger to read.
    pub bytes: u64,
}

/// Messages handed to one indexing thread together, so that neighbours stay neighbours.
const BATCH: usize = 256;
/// The same by text, so that memory stays bounded.
const BATCH_BYTES: usize = 2 << 20;
/// A commit after so many messages: what a crash can undo of a long sync.
const COMMIT_EVERY: u64 = 500_000;
/// From so many bytes on, all threads are worth their start.
const MANY_BYTES: u64 = 8 << 20;
const MAX_THREADS: usize = 4;
/// Messages that are merged into one segment for each one taken in: what merging costs stays a part of what indexing
/// costs.
const MERGE_PER_MESSAGE: u64 = 2;

/// One ledger to read.
pub(crate) struct Job {
    pub(crate) ledger: String,
    pub(crate) from: Watermark,
    /// The ledger is shorter than the index knows it: take it out and read it anew.
    pub(crate) anew: bool,
    /// Bytes to read.
    pub(crate) bytes: u64,
}

/// How far each ledger was read.
pub(crate) type Reached = Vec<(String, u64)>;

/// Writes what the ledgers have into an index. Needs the right to write.
pub(crate) fn run(
    _lock: &WriteLock,
    home: &Home,
    index: &mut Index,
    jobs: &[Job],
    progress: &mut dyn FnMut(Progress),
) -> Result<Reached, SearchError> {
    let mut at = Progress {
        ledgers: jobs.len(),
        bytes: jobs.iter().map(|job| job.bytes).sum(),
        ..Progress::default()
    };
    progress(at);
    let threads = if at.bytes < MANY_BYTES {
        1
    } else {
        std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
    };
    let mut writer: Option<IndexWriter> = None;
    let mut reached = Reached::new();
    let mut committed_at = 0;
    for job in jobs {
        if job.anew {
            index.forget(open_once(&mut writer, index, threads)?, &job.ledger);
        }
        let from = if job.anew { Watermark::default() } else { job.from };
        let Some(mut source) = Source::open(home, &job.ledger, from)? else {
            at.ledgers_done += 1;
            continue;
        };
        let mut batch = Batch::default();
        let bytes_before = at.bytes_done;
        while let Some(doc) = source.next_doc()? {
            at.messages += 1;
            batch.bytes += doc.words.body.len() + doc.words.scaffold.len();
            batch.operations.push(UserOperation::Add(index.document(&doc)));
            if batch.operations.len() >= BATCH || batch.bytes >= BATCH_BYTES {
                open_once(&mut writer, index, threads)?.run(batch.take())?;
                at.bytes_done = bytes_before + source.end().saturating_sub(from.end);
                progress(at);
            }
        }
        if !batch.operations.is_empty() {
            open_once(&mut writer, index, threads)?.run(batch.take())?;
        }
        at.bytes_done = bytes_before + source.end().saturating_sub(from.end);
        at.ledgers_done += 1;
        reached.push((job.ledger.clone(), source.end()));
        progress(at);
        if at.messages - committed_at >= COMMIT_EVERY
            && let Some(writer) = &mut writer
        {
            writer.commit()?;
            committed_at = at.messages;
        }
    }
    if let Some(mut writer) = writer {
        writer.commit()?;
        // A process that ends would cut merges short, and segments would pile up.
        writer.wait_merging_threads()?;
        index.merge_small(at.messages * MERGE_PER_MESSAGE)?;
    }
    index.reload()?;
    Ok(reached)
}

#[derive(Default)]
struct Batch {
    operations: Vec<UserOperation>,
    bytes: usize,
}

impl Batch {
    fn take(&mut self) -> Vec<UserOperation> {
        self.bytes = 0;
        std::mem::take(&mut self.operations)
    }
}

fn open_once<'a>(
    writer: &'a mut Option<IndexWriter>,
    index: &Index,
    threads: usize,
) -> Result<&'a mut IndexWriter, SearchError> {
    Ok(match writer {
        Some(writer) => writer,
        None => writer.insert(index.writer(threads)?),
    })
}

/// Takes away the marks of ledgers that are all in the index.
pub(crate) fn clear_markers(home: &Home, markers: &[Marker], reached: &Reached) -> Result<(), SearchError> {
    for marker in markers {
        let until = reached.iter().find(|(ledger, _)| *ledger == marker.ledger).map(|(_, end)| *end);
        if let Some(until) = until.or_else(|| marker.ledger_len(home).is_none().then_some(0)) {
            marker.clear(home, until)?;
        }
    }
    Ok(())
}

/// Makes a whole new index from the ledgers alone and puts it in the old one's place.
pub(crate) fn rebuild(
    lock: &WriteLock,
    home: &Home,
    store: &Store,
    progress: &mut dyn FnMut(Progress),
) -> Result<(String, Index), SearchError> {
    // Marks first: what is written from here on stays marked.
    let markers = Marker::all(home)?;
    let jobs = home
        .ledgers()?
        .into_iter()
        .map(|path| Job {
            ledger: home.relative(&path),
            from: Watermark::default(),
            anew: false,
            bytes: std::fs::metadata(&path).map_or(0, |meta| meta.len()),
        })
        .collect::<Vec<_>>();
    let name = store.fresh_name();
    let dir = store.dir(&name);
    crate::store::make_private_dir(&dir)?;
    let mut index = Index::open(&dir)?;
    let reached = run(lock, home, &mut index, &jobs, progress)?;
    store.make_current(lock, &name)?;
    clear_markers(home, &markers, &reached)?;
    Ok((name, index))
}
