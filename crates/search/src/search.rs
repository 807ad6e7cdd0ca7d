use crate::analysis::Stemmer;
use crate::engine;
use crate::error::SearchError;
use crate::hit::{Hit, Ledgers};
use crate::index::{Index, Watermark};
use crate::markers::Marker;
use crate::pool::Place;
use crate::query::Query;
use crate::snippet::{Snippet, Sought, snippet};
use crate::source::Source;
use crate::store::{Stamp, Store};
use crate::sync::{self, Job, Progress};
use crate::tail::Tail;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use throughline_ledger::Home;

/// A tail up to this size is searched as it is; a longer one is put into the index first.
const TAIL_BYTES: u64 = 512 << 10;
/// While another process writes the index, so much of the tail is searched as it is.
const TAIL_BYTES_WHILE_LOCKED: u64 = 16 << 20;

/// Search over every message of every session of a home.
///
/// The index follows the ledgers by itself: a message is found by the very next search, whoever wrote it. An index
/// that is missing, damaged or of another version is made anew from the ledgers, with a [notice](Self::take_notices).
pub struct Search {
    home: Home,
    store: Store,
    open: Option<Open>,
    tail: Tail,
    /// What `tail` was read from: ledger, from where, to where.
    tail_of: Vec<(String, Watermark, u64)>,
    stemmer: Stemmer,
    notices: Vec<String>,
}

struct Open {
    name: String,
    index: Index,
    stamp: Stamp,
    watermarks: HashMap<String, Watermark>,
}

impl Search {
    /// Opens the index of a home. Nothing is built yet, however large the home.
    pub fn open(home: &Home) -> Result<Self, SearchError> {
        let mut search = Self {
            home: home.clone(),
            store: Store::of(home),
            open: None,
            tail: Tail::default(),
            tail_of: Vec::new(),
            stemmer: Stemmer::default(),
            notices: Vec::new(),
        };
        search.refresh()?;
        Ok(search)
    }

    /// Whether the next search or sync has to make the index anew, which takes as long as the ledgers are large.
    pub fn needs_rebuild(&self) -> bool {
        self.open.is_none()
    }

    /// What happened along the way that a person should know.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Messages in the index, the unindexed tail left out.
    pub fn indexed(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.index.len())
    }

    /// Puts everything that the ledgers have into the index, in one go. Waits while another process does the same.
    pub fn sync(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<(), SearchError> {
        let lock = self.store.lock()?;
        self.sync_locked(&lock, progress)
    }

    fn sync_locked(
        &mut self,
        lock: &crate::store::WriteLock,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), SearchError> {
        self.refresh()?;
        if self.open.is_none() {
            return self.rebuild_locked(lock, progress);
        }
        match self.try_sync(lock, progress) {
            Err(SearchError::Index(e)) => {
                self.notices
                    .push(format!("the search index is damaged ({e}); it was made anew from the ledgers"));
                self.rebuild_locked(lock, progress)
            }
            other => other,
        }
    }

    fn try_sync(
        &mut self,
        lock: &crate::store::WriteLock,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), SearchError> {
        let markers = Marker::all(&self.home)?;
        let Some(open) = &mut self.open else { return Ok(()) };
        let mut jobs = Vec::new();
        for marker in &markers {
            let from = open.index.watermark(&marker.ledger)?;
            let len = marker.ledger_len(&self.home).unwrap_or(0);
            let anew = len < from.end;
            let bytes = if anew { len } else { len - from.end };
            jobs.push(Job { ledger: marker.ledger.clone(), from, anew, bytes });
        }
        let reached = sync::run(lock, &self.home, &mut open.index, &jobs, progress)?;
        open.stamp = self.store.stamp(&open.name);
        open.watermarks.clear();
        sync::clear_markers(&self.home, &markers, &reached)
    }

    /// Makes the index anew from the ledgers alone, beside the old one, and puts it in its place.
    pub fn rebuild(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<(), SearchError> {
        let lock = self.store.lock()?;
        self.rebuild_locked(&lock, progress)
    }

    fn rebuild_locked(
        &mut self,
        lock: &crate::store::WriteLock,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), SearchError> {
        let (name, index) = sync::rebuild(lock, &self.home, &self.store, progress)?;
        let stamp = self.store.stamp(&name);
        self.open = Some(Open { name, index, stamp, watermarks: HashMap::new() });
        Ok(())
    }

    /// The messages that fit best, best first. No query is an error; an empty one finds nothing.
    pub fn query(&mut self, query: &Query) -> Result<Vec<Hit>, SearchError> {
        self.refresh()?;

        if self.open.is_none() {
            self.sync(&mut |_| {})?;
        }
        match self.guarded(query) {
            Err(SearchError::Index(e)) => {
                self.notices
                    .push(format!("the search index is damaged ({e}); it was made anew from the ledgers"));
                self.rebuild(&mut |_| {})?;
                self.guarded(query)
            }
            other => other,
        }
    }

    /// A damaged file can make the index library panic where it should fail: both mean the same.
    fn guarded(&mut self, query: &Query) -> Result<Vec<Hit>, SearchError> {
        catch_unwind(AssertUnwindSafe(|| self.try_query(query))).unwrap_or_else(|_| {
            Err(tantivy::TantivyError::InternalError("it could not be read".into()).into())
        })
    }

    fn try_query(&mut self, query: &Query) -> Result<Vec<Hit>, SearchError> {
        self.read_tail()?;
        let Some(open) = &self.open else { return Ok(Vec::new()) };
        let snapshot = open.index.snapshot();
        let ranking = engine::rank(&open.index, &self.tail, query, &mut self.stemmer)?;
        let mut hits = Vec::with_capacity(ranking.ranked.len());
        let mut gone = 0;
        let mut ledgers = Ledgers::of(&self.home);
        let sought = Sought::of(&ranking.plan);
        for (score, place) in ranking.ranked {
            let found = match place {
                Place::Tail(n) => {
                    let doc = &self.tail.docs[n];
                    Some((Hit::of(doc), doc.words.clone()))
                }
                Place::Index(address) => ledgers.hit(&snapshot, address)?,
            };
            let Some((mut hit, words)) = found else {
                gone += 1;
                continue;
            };
            hit.score = score;
            hit.snippet = best_snippet(&words, &sought, query.scaffold, &mut self.stemmer);
            hits.push(hit);
        }
        if gone > 0 {
            self.notices.push(format!("{gone} messages that were found are no longer in their ledgers"));
        }
        Ok(hits)
    }

    /// Opens the current index if it is another one than before, and sees what was committed since.
    fn refresh(&mut self) -> Result<(), SearchError> {
        let Some(name) = self.store.current() else {
            if self.store.has_any() && self.open.is_none() {
                self.notices
                    .push("the search index is of another version; it is made anew from the ledgers".into());
            }
            self.open = None;
            return Ok(());
        };
        let stamp = self.store.stamp(&name);
        if let Some(open) = &mut self.open
            && open.name == name
        {
            if open.stamp == stamp || open.index.reload().is_ok() {
                if open.stamp != stamp {
                    open.stamp = stamp;
                    open.watermarks.clear();
                }
                return Ok(());
            }
            self.open = None;
        }
        match self.store.open(&name) {
            Ok(index) => self.open = Some(Open { name, index, stamp, watermarks: HashMap::new() }),
            // Someone put a new index in its place just now: the next look finds that one.
            Err(_) if self.store.current().as_ref() != Some(&name) => return self.refresh(),
            Err(e) => {
                self.notices.push(format!("{e}; the search index is made anew from the ledgers"));
                self.open = None;
            }
        }
        Ok(())
    }

    /// Reads what the ledgers have beyond the index; puts it into the index where it is much.
    fn read_tail(&mut self) -> Result<(), SearchError> {
        let mut behind = self.behind()?;
        let bytes: u64 = behind.iter().map(|(_, from, len)| len.saturating_sub(from.end)).sum();
        let shrunk = behind.iter().any(|(_, from, len)| *len < from.end);
        let mut limit = TAIL_BYTES;
        if bytes > TAIL_BYTES || shrunk {
            match self.store.try_lock()? {
                Some(lock) => {
                    self.sync_locked(&lock, &mut |_| {})?;
                    behind = self.behind()?;
                }
                None => limit = TAIL_BYTES_WHILE_LOCKED,
            }
        }
        if behind == self.tail_of {
            return Ok(());
        }
        self.tail = Tail::default();
        self.tail_of.clear();
        let mut read = 0;
        for (ledger, from, len) in &behind {
            // What was written since the sync above is still little; the limit is for the other case.
            if read > limit.max(TAIL_BYTES) {
                self.notices.push(
                    "another process is indexing; messages that it has not reached were left out".into(),
                );
                break;
            }
            let Some(mut source) = Source::open(&self.home, ledger, *from)? else { continue };
            while let Some(doc) = source.next_doc()? {
                self.tail.extend([doc], &mut self.stemmer);
                if source.end() - from.end > limit.max(TAIL_BYTES) {
                    break;
                }
            }
            read += len.saturating_sub(from.end);
        }
        self.tail_of = behind;
        Ok(())
    }

    /// Marked ledgers that are longer (or shorter) than the index knows, how far it knows them, and their length.
    fn behind(&mut self) -> Result<Vec<(String, Watermark, u64)>, SearchError> {
        let markers = Marker::all(&self.home)?;
        let Some(open) = &mut self.open else { return Ok(Vec::new()) };
        let mut behind = Vec::new();
        for marker in markers {
            let Some(len) = marker.ledger_len(&self.home) else { continue };
            let from = match open.watermarks.get(&marker.ledger) {
                Some(known) => *known,
                None => {
                    let mark = open.index.watermark(&marker.ledger)?;
                    open.watermarks.insert(marker.ledger.clone(), mark);
                    mark
                }
            };
            if len != from.end {
                behind.push((marker.ledger, from, len));
            }
        }
        Ok(behind)
    }
}

fn best_snippet(
    words: &crate::doc::Words,
    sought: &Sought<'_>,
    scaffold: bool,
    stemmer: &mut Stemmer,
) -> Snippet {
    let body = snippet(&words.body, sought, stemmer);
    if scaffold && body.ranges.is_empty() && !words.scaffold.is_empty() {
        return snippet(&words.scaffold, sought, stemmer);
    }
    body
}
