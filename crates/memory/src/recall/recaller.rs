//! From a request to the text that joins the turn.

use super::gather::{MOST_OF_TIER, Ranked, Shelves, Sought};
use super::query::Reach;
use super::tools::{Worth, worth};
use super::weigh::STALE;
use super::{Ask, Candidate, Chosen, Recalled, Selector, anchors, frame};
use crate::memories::{Memories, MemoryId};
use crate::topics::{Aged, MANIFEST_FILES, Topic};
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use throughline_core::tokens::Counter;

/// Memories that are read before the choice, the best by rank.
const MOST_READ: usize = 16;

/// Finds memories that help. One for a session: it keeps what it knows of the folders between requests. See [the module](super) for
/// what it guarantees.
pub struct Recall {
    memories: Memories,
    shelves: Mutex<Shelves>,
    counter: Mutex<Counter>,
}

/// A memory that may come, as its file is now.
struct Read {
    chosen: Chosen,
    fits: bool,
}

impl Recall {
    /// Over these memories. Nothing is read or written before somebody asks.
    pub fn new(memories: Memories) -> Self {
        let counter = Counter::for_model("");
        Self { memories, shelves: Mutex::default(), counter: Mutex::new(counter) }
    }

    /// Counting tokens as a model does.
    #[must_use]
    pub fn with_counter(self, counter: Counter) -> Self {
        Self { counter: Mutex::new(counter), ..self }
    }

    /// The memories.
    pub fn memories(&self) -> &Memories {
        &self.memories
    }

    /// The memories that help with a request, and the text by which they join the turn. It never fails: what goes wrong is in
    /// [`Recalled::trouble`], and costs memories at worst.
    pub async fn recall(&self, ask: &Ask<'_>, selector: &dyn Selector) -> Recalled {
        let read = self.read_best(ask);
        let mut candidates: Vec<Candidate> = read.iter().map(Read::candidate).collect();
        if selector.wants_all() {
            candidates.extend(self.others(ask, &candidates));
        }
        if candidates.is_empty() {
            return Recalled::default();
        }
        let selection = selector.select(&candidates, ask).await;
        let mut recalled = Recalled {
            by: selection.by,
            receipt: selection.receipt,
            trouble: selection.trouble,
            ..Recalled::default()
        };
        let mut taken = BTreeSet::new();
        for id in selection.ids {
            if recalled.chosen.len() >= ask.limits.most || !taken.insert(id.clone()) {
                continue;
            }
            // Read again: a model may have taken its time.
            let known = candidates.iter().find(|one| one.id == id);
            let Some(one) = known else { continue };
            let again = self.read(&one.id, (one.score, ask));
            recalled.chosen.extend(again.map(|read| Chosen { score: one.score, ..read.chosen }));
        }
        let mut counter = lock(&self.counter);
        recalled.text = frame::frame(&mut recalled.chosen, (ask.now, ask.limits.tokens), &mut counter);
        recalled.tokens = recalled.text.as_deref().map_or(0, |text| counter.text(text));
        recalled
    }

    /// Memories that share words with a query, the best first, without a floor: for people who look for something.
    pub fn search(&self, query: &str, most: usize, now: Timestamp) -> Vec<Candidate> {
        let sought = Sought { text: query, reach: Reach::Own, most };
        let found = lock(&self.shelves).find(&self.memories, sought, now);
        let candidate = |one: Ranked| Candidate { id: one.id, head: one.head, score: one.score, fits: false };
        found.ranked.into_iter().take(most).map(candidate).collect()
    }

    /// What there is, a line each, newest first, at most [`MANIFEST_FILES`]: `- [type] file.md (time): description` (M4). What is
    /// superseded or expired is not in it. Empty if there is nothing.
    pub fn manifest(&self, now: Timestamp) -> String {
        let newest = lock(&self.shelves).newest(&self.memories, MANIFEST_FILES, now);
        let mut text = String::new();
        for Ranked { id, head, score: _ } in newest {
            let kind = head.kind.map(|kind| format!("[{kind}] ")).unwrap_or_default();
            // Writing to a string can't fail.
            let _ = write!(text, "- {kind}{id} ({:.0})", head.modified);
            if !head.description.is_empty() {
                let _ = write!(text, ": {}", head.description);
            }
            text.push('\n');
        }
        text
    }

    /// The best by rank, as their files are now, the best first.
    fn read_best(&self, ask: &Ask<'_>) -> Vec<Read> {
        let sought = Sought { text: ask.text, reach: Reach::Near, most: MOST_OF_TIER };
        let found = lock(&self.shelves).find(&self.memories, sought, ask.now);
        let floor = found.floor(ask.limits.floor);
        let new = found.ranked.into_iter().filter(|one| !ask.shown.contains(&one.id)).take(MOST_READ);
        let mut read: Vec<Read> = new.filter_map(|one| self.read(&one.id, (one.score, ask))).collect();
        for one in &mut read {
            one.fits = one.chosen.score >= floor;
        }
        read.sort_by(|a, b| b.chosen.score.total_cmp(&a.chosen.score));
        read
    }

    /// A memory as its file is now; `None` if it is gone, over, or worth nothing beside the tools in use.
    fn read(&self, id: &MemoryId, (score, ask): (f32, &Ask<'_>)) -> Option<Read> {
        let store = self.memories.store(id.tier)?;
        let topic = store.read(&id.file).ok()?;
        if !store.lifetimes().is_live(Aged::from(&topic), ask.now) {
            return None;
        }
        let warnings = match worth(&topic, ask.tools) {
            Worth::Whole => None,
            Worth::Warnings(lines) => Some(lines),
            Worth::Nothing => return None,
        };
        let stale = ask.root.map_or_else(Vec::new, |root| anchors::gone(root, &topic.meta.anchors));
        let score = if stale.is_empty() { score } else { score * STALE };
        let chosen = Chosen { id: id.clone(), topic, score, stale, warnings, is_cut: false };
        Some(Read { chosen, fits: false })
    }

    /// The newest memories that are not among the candidates, for who wants to see more than words find.
    fn others(&self, ask: &Ask<'_>, candidates: &[Candidate]) -> Vec<Candidate> {
        let known: BTreeSet<&MemoryId> = candidates.iter().map(|one| &one.id).collect();
        let newest = lock(&self.shelves).newest(&self.memories, MANIFEST_FILES, ask.now);
        let is_new = |one: &Ranked| !known.contains(&one.id) && !ask.shown.contains(&one.id);
        let room = MANIFEST_FILES.saturating_sub(candidates.len());
        let candidate = |one: Ranked| Candidate { id: one.id, head: one.head, score: 0.0, fits: false };
        newest.into_iter().filter(is_new).take(room).map(candidate).collect()
    }
}

impl Read {
    fn candidate(&self) -> Candidate {
        let Topic { file, name, description, kind, modified, meta, body: _ } = self.chosen.topic.clone();
        let head = crate::topics::TopicHead { file, name, description, kind, modified, meta };
        Candidate { id: self.chosen.id.clone(), head, score: self.chosen.score, fits: self.fits }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic in between leaves nothing that is relied on: catalogues are checked, the counter only remembers.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
