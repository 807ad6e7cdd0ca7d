//! Candidates: the documents that score best by their own words, in one sweep over the postings.
//!
//! The scores are those of [`crate::rank`] with the neighbours left out, so nothing is found by one measure and ranked
//! by another. Documents are swept window by window. Terms that could not lift a document among the best by
//! themselves are not swept: they are looked up in the few documents for which they would decide (MaxScore). Since
//! whole blocks of postings are added up at a time, this costs a fraction of the index library's own union.

use crate::plan::{Feature, Plan};
use crate::postings::{Cursor, Located};
use crate::rank::{self, Worth};
use crate::snapshot::Snapshot;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::{DocAddress, DocId, SegmentOrdinal, SegmentReader, TERMINATED, TantivyError};

/// Documents swept at a time: their sums stay in the processor's cache.
const WINDOW: u32 = 1 << 14;
/// The first window: what is found there saves work in all that follow.
const FIRST_WINDOW: u32 = 1 << 11;

/// Looking a document up costs as much as sweeping so many postings.
const LOOK_UP: u64 = 24;

/// Terms worth less than this share of the best one are weak …
const WEAK: f32 = 0.3;
/// … and left out where the others find so many times the documents that are wanted.
const ENOUGH: u64 = 16;

/// What is swept, and for how many documents.
#[derive(Clone, Copy)]
pub(crate) struct Sweep<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) plan: &'a Plan,
    /// Where the plan's terms are.
    pub(crate) located: &'a [Located],
    pub(crate) wanted: usize,
}

impl Sweep<'_> {
    /// Documents that have a term, those that were taken out included.
    fn frequency(&self, term: usize) -> u64 {
        self.located[term].iter().flatten().map(|info| u64::from(info.doc_freq)).sum()
    }
}

/// The best documents by their own words, best first; of equal ones the first.
pub(crate) fn best(sweep: Sweep<'_>) -> Result<Vec<DocAddress>, TantivyError> {
    let Sweep { snapshot, plan, located, wanted } = sweep;
    let worths = worths(sweep);
    let mut sums = Sums::new(plan, Top::new(wanted, floor(sweep, &worths)));
    for (ord, reader) in snapshot.searcher.segment_readers().iter().enumerate() {
        let columns = &snapshot.columns[ord];
        let mut terms = Vec::with_capacity(worths.len());
        for &(term, worth) in &worths {
            if let Some(info) = located[term].get(ord).and_then(Option::as_ref) {
                let cursor = Cursor::open(&columns.body, info)?;
                let worth = Tabled::new(worth, &sums.dampening);
                terms.push(Swept { cursor, frequency: info.doc_freq, worth });
            }
        }
        sums.sweep(Segment { ord: ord as SegmentOrdinal, reader, lengths: &columns.lengths }, terms);
    }
    Ok(sums.top.into_sorted())
}

/// What each term is worth that candidates are found by, the worthiest first.
///
/// Where the worthier terms find enough, weak ones are left to the ranking: a document that has only them would not
/// come near the top, and there are very many of those.
fn worths(sweep: Sweep<'_>) -> Vec<(usize, Worth)> {
    let Sweep { plan, wanted, .. } = sweep;
    let mut worths = vec![Worth::default(); plan.terms.len()];
    for feature in &plan.features {
        match *feature {
            Feature::Word { term, value } => worths[term].word += value,
            Feature::Compound { whole: Some(term), value, .. } => worths[term].whole += value,
            Feature::Compound { whole: None, .. } | Feature::Bonus { .. } => {}
        }
    }
    let mut order: Vec<usize> =
        (0..worths.len()).filter(|&term| worths[term].most() > 0.0 && sweep.frequency(term) > 0).collect();
    order.sort_by(|&a, &b| worths[b].most().total_cmp(&worths[a].most()));
    let best = order.first().map_or(0.0, |&term| worths[term].most());
    let mut found = 0;
    order.retain(|&term| {
        let keep = found < wanted as u64 * ENOUGH || worths[term].most() >= best * WEAK;
        found += sweep.frequency(term);
        keep
    });
    for feature in &plan.features {
        // Who has the whole has its parts.
        if let Feature::Compound { whole: Some(whole), phrase: Some(phrase), .. } = *feature {
            for &(_, part) in plan.phrases[phrase].iter().filter(|(_, part)| !order.contains(part)) {
                worths[whole].word += std::mem::take(&mut worths[part].word);
            }
        }
    }
    order.into_iter().map(|term| (term, worths[term])).collect()
}

/// What the worst of the wanted documents scores at least: where enough documents have a term, so many have its least.
fn floor(sweep: Sweep<'_>, worths: &[(usize, Worth)]) -> f32 {
    let readers = sweep.snapshot.searcher.segment_readers();
    let gone: u64 = readers.iter().map(|segment| u64::from(segment.num_deleted_docs())).sum();
    let enough = sweep.wanted as u64 + gone;
    let least =
        worths.iter().filter(|&&(term, _)| sweep.frequency(term) >= enough).map(|(_, worth)| worth.least());
    // A little less, so that a document that scores just this is still found.
    least.fold(0.0, f32::max) * 0.999
}

/// One segment.
#[derive(Clone, Copy)]
struct Segment<'a> {
    ord: SegmentOrdinal,
    reader: &'a SegmentReader,
    /// How long its documents are.
    lengths: &'a FieldNormReader,
}

/// A term in one segment.
struct Swept {
    cursor: Cursor,
    /// Documents that have it.
    frequency: u32,
    worth: Tabled,
}

/// What a term is worth, with the most frequent case at hand.
struct Tabled {
    worth: Worth,
    /// What it is worth where it occurs once, by the byte that the index keeps of a document's length.
    once: [f32; 256],
}

impl Tabled {
    fn new(worth: Worth, dampening: &[f32; 256]) -> Self {
        Self { worth, once: dampening.map(|dampening| worth.of(1.0, dampening)) }
    }

    fn of(&self, count: u32, length: u8, dampening: &[f32; 256]) -> f32 {
        match count {
            1 => self.once[usize::from(length)],
            _ => self.worth.of(count as f32, dampening[usize::from(length)]),
        }
    }
}

/// The sums of a window, and what came of those before it.
struct Sums {
    top: Top,
    /// How much a document's length takes away, by the byte that the index keeps of it.
    dampening: [f32; 256],
    /// One for each document of the window; 0 where it has none of the decisive terms.
    sums: Vec<f32>,
    /// Documents of the window that have one.
    touched: Vec<DocId>,
    /// Those that may be among the best.
    promising: Vec<DocId>,
    window: u32,
}

/// A window of documents.
#[derive(Clone, Copy)]
struct Window {
    start: DocId,
    end: DocId,
}

impl Window {
    fn slot(self, doc: DocId) -> usize {
        (doc - self.start) as usize
    }
}

impl Sums {
    fn new(plan: &Plan, top: Top) -> Self {
        let length = |byte: usize| FieldNormReader::id_to_fieldnorm(byte as u8) as f32;
        Self {
            top,
            dampening: std::array::from_fn(|byte| rank::dampening(length(byte), plan.average_length)),
            sums: vec![0.0; WINDOW as usize],
            touched: Vec::with_capacity(FIRST_WINDOW as usize),
            promising: Vec::new(),
            window: FIRST_WINDOW,
        }
    }

    /// Sweeps one segment by terms of it, the worthiest first.
    fn sweep(&mut self, swept: Segment<'_>, mut terms: Vec<Swept>) {
        let Segment { ord, reader, lengths } = swept;
        // What the terms from this one on can add at most.
        let mut rest = vec![0.0; terms.len() + 1];
        for n in (0..terms.len()).rev() {
            rest[n] = rest[n + 1] + terms[n].worth.worth.most();
        }
        loop {
            // Whatever has only terms from here on is not among the best.
            let decisive = rest.iter().position(|&most| most <= self.top.threshold).unwrap_or(terms.len());
            let start = terms[..decisive].iter().map(|term| term.cursor.doc()).min().unwrap_or(TERMINATED);
            if start == TERMINATED {
                return;
            }
            let window = Window { start, end: start.saturating_add(self.window).min(TERMINATED) };
            self.window = (self.window * 2).min(WINDOW);
            self.add_decisive(&mut terms[..decisive], window, lengths);
            for n in decisive..terms.len() {
                self.drop_hopeless(window, rest[n]);
                // Postings of this term in the window, if they are spread evenly.
                let spread =
                    u64::from(terms[n].frequency) * u64::from(WINDOW) / u64::from(reader.max_doc().max(1));
                if self.promising.len() as u64 * LOOK_UP > spread {
                    self.add(&mut terms[n], window, lengths);
                } else {
                    self.look_up(&mut terms[n], window, lengths);
                }
            }
            self.drop_hopeless(window, 0.0);
            self.promising.sort_unstable();
            for &doc in &self.promising {
                if !reader.is_deleted(doc) {
                    self.top.push(self.sums[window.slot(doc)], DocAddress::new(ord, doc));
                }
            }
            for doc in self.touched.drain(..) {
                self.sums[window.slot(doc)] = 0.0;
            }
        }
    }

    /// Adds up what the decisive terms are worth, in all documents that have one.
    fn add_decisive(&mut self, terms: &mut [Swept], window: Window, lengths: &FieldNormReader) {
        let Self { dampening, sums, touched, .. } = self;
        for term in terms {
            let Swept { cursor, worth, .. } = term;
            cursor.each_before(window.end, |doc, count| {
                let sum = &mut sums[window.slot(doc)];
                if *sum == 0.0 {
                    touched.push(doc);
                }
                *sum += worth.of(count, lengths.fieldnorm_id(doc), dampening);
            });
        }
        self.promising.clear();
        self.promising.extend_from_slice(&self.touched);
    }

    /// Adds what a term is worth where there is something already.
    fn add(&mut self, term: &mut Swept, window: Window, lengths: &FieldNormReader) {
        let Self { dampening, sums, .. } = self;
        let Swept { cursor, worth, .. } = term;
        cursor.skip_to(window.start);
        cursor.each_before(window.end, |doc, count| {
            let sum = &mut sums[window.slot(doc)];
            if *sum > 0.0 {
                *sum += worth.of(count, lengths.fieldnorm_id(doc), dampening);
            }
        });
    }

    /// Adds what a term is worth in the promising documents.
    fn look_up(&mut self, term: &mut Swept, window: Window, lengths: &FieldNormReader) {
        self.promising.sort_unstable();
        for &doc in &self.promising {
            let count = term.cursor.count(doc);
            if count > 0 {
                let worth = term.worth.of(count, lengths.fieldnorm_id(doc), &self.dampening);
                self.sums[window.slot(doc)] += worth;
            }
        }
    }

    /// Forgets documents that `rest` more would not put among the best.
    fn drop_hopeless(&mut self, window: Window, rest: f32) {
        let (sums, threshold) = (&self.sums, self.top.threshold);
        self.promising.retain(|&doc| sums[window.slot(doc)] + rest > threshold);
    }
}

/// The best so far.
struct Top {
    wanted: usize,
    /// Scores as bits, which are ordered like the scores since none is negative; the worst on top.
    heap: BinaryHeap<Reverse<(u32, Reverse<DocAddress>)>>,
    /// Only more than this is of use.
    threshold: f32,
}

impl Top {
    fn new(wanted: usize, threshold: f32) -> Self {
        Self { wanted, heap: BinaryHeap::with_capacity(wanted.min(1 << 12) + 1), threshold }
    }

    fn push(&mut self, score: f32, doc: DocAddress) {
        if score <= self.threshold {
            return;
        }
        self.heap.push(Reverse((score.to_bits(), Reverse(doc))));
        if self.heap.len() > self.wanted {
            self.heap.pop();
        }
        if self.heap.len() == self.wanted
            && let Some(Reverse((worst, _))) = self.heap.peek()
        {
            self.threshold = self.threshold.max(f32::from_bits(*worst));
        }
    }

    fn into_sorted(self) -> Vec<DocAddress> {
        self.heap.into_sorted_vec().into_iter().map(|Reverse((_, Reverse(doc)))| doc).collect()
    }
}

#[cfg(test)]
mod tests;
