//! Postings block by block: what the sweep and the pool read term counts with.

use crate::snapshot::Snapshot;
use std::collections::HashMap;
use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, InvertedIndexReader, TERMINATED, TantivyError, Term};

/// Where a term's postings are, in each segment that has them.
pub(crate) type Located = Vec<Option<TermInfo>>;

/// Looks terms of the body up, each once in a query.
pub(crate) struct Lookup<'a> {
    snapshot: &'a Snapshot,
    body: Field,
    known: HashMap<String, Located>,
}

impl<'a> Lookup<'a> {
    /// Knows nothing yet.
    pub(crate) fn new(snapshot: &'a Snapshot, body: Field) -> Self {
        Self { snapshot, body, known: HashMap::new() }
    }

    /// How many documents hold a term, those that were taken out since included.
    pub(crate) fn frequency(&mut self, term: &str) -> Result<u64, TantivyError> {
        Ok(self.locate(term)?.iter().flatten().map(|info| u64::from(info.doc_freq)).sum())
    }

    /// Where the postings of these terms are, in the order given.
    pub(crate) fn all(mut self, terms: &[String]) -> Result<Vec<Located>, TantivyError> {
        for term in terms {
            self.locate(term)?;
        }
        Ok(terms.iter().map(|term| self.known.remove(term).unwrap_or_default()).collect())
    }

    fn locate(&mut self, term: &str) -> Result<&Located, TantivyError> {
        if !self.known.contains_key(term) {
            let wanted = Term::from_field_text(self.body, term);
            let found = self.snapshot.columns.iter().map(|columns| columns.body.get_term_info(&wanted));
            let located = found.collect::<Result<Located, _>>()?;
            self.known.insert(term.to_owned(), located);
        }
        Ok(&self.known[term])
    }
}

/// Reads the postings of one term, forwards.
pub(crate) struct Cursor {
    postings: BlockSegmentPostings,
    /// Where in the current block.
    at: usize,
}

impl Cursor {
    /// Stands on the first document.
    pub(crate) fn open(inverted: &InvertedIndexReader, info: &TermInfo) -> Result<Self, TantivyError> {
        let postings = inverted.read_block_postings_from_terminfo(info, IndexRecordOption::WithFreqs)?;
        Ok(Self { postings, at: 0 })
    }

    /// The document it stands on; [`TERMINATED`] behind the last.
    pub(crate) fn doc(&self) -> DocId {
        self.postings.docs().get(self.at).copied().unwrap_or(TERMINATED)
    }

    /// Goes on to the first document that is not before `doc`.
    pub(crate) fn skip_to(&mut self, doc: DocId) {
        if self.doc() < doc {
            self.at = self.postings.seek(doc);
        }
    }

    /// How often the term occurs in a document. Documents must be asked for in order.
    pub(crate) fn count(&mut self, doc: DocId) -> u32 {
        self.skip_to(doc);
        if self.doc() == doc { self.postings.freq(self.at) } else { 0 }
    }

    /// Hands on every document before `end` with its count.
    pub(crate) fn each_before(&mut self, end: DocId, mut each: impl FnMut(DocId, u32)) {
        loop {
            let docs = self.postings.docs().get(self.at..).unwrap_or_default();
            let freqs = self.postings.freqs().get(self.at..).unwrap_or_default();
            let Some(&last) = docs.last() else { return };
            let here = if last < end { docs.len() } else { docs.partition_point(|&doc| doc < end) };
            for (&doc, &count) in docs[..here].iter().zip(freqs) {
                each(doc, count);
            }
            if here < docs.len() {
                self.at += here;
                return;
            }
            self.postings.advance();
            self.at = 0;
        }
    }
}
