//! The messages that are scored for a query: the best of the index, those around them, and the unindexed tail.

use crate::index::Fields;
use crate::places::Places;
use crate::plan::{Plan, Row};
use crate::postings::{Cursor, Located};
use crate::rank::{self, Counts, NEIGHBOURS, SAME_SITTING_MS};
use crate::snapshot::Snapshot;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocId, DocSet, SegmentOrdinal, SegmentReader, TantivyError, Term};

/// What scaffold counts, where it is searched.
pub(crate) const SCAFFOLD: f32 = 0.5;
/// Best candidates whose neighbours are looked for in other segments too.
const FAR_NEIGHBOURS: usize = 64;

/// Where a message of the pool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the index.
    Index(DocAddress),
    /// In the unindexed tail.
    Tail(usize),
}

/// One message of the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) place: Place,
    /// See [`crate::index::place`].
    pub(crate) key: u64,
    /// Milliseconds since 1970.
    pub(crate) at: Option<i64>,
    pub(crate) length: f32,
    /// Whether it may be a hit; else it only speaks for its neighbours.
    pub(crate) eligible: bool,
}

/// The messages that are scored for a query.
pub(crate) struct Pool<'a> {
    plan: &'a Plan,
    pub(crate) entries: Vec<Entry>,
    terms: Vec<f32>,
    phrases: Vec<f32>,
}

/// A document of one segment that is to join the pool.
#[derive(Clone, Copy)]
struct Member {
    doc: DocId,
    key: u64,
    eligible: bool,
}

/// What of the index is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) fields: &'a Fields,
    /// Where the plan's terms are.
    pub(crate) located: &'a [Located],
    /// Whether scaffold counts.
    pub(crate) scaffold: bool,
    /// Whether neighbours of candidates may be hits themselves.
    pub(crate) neighbours_eligible: bool,
}

impl<'a> Pool<'a> {
    /// An empty pool.
    pub(crate) fn new(plan: &'a Plan) -> Self {
        Self { plan, entries: Vec::new(), terms: Vec::new(), phrases: Vec::new() }
    }

    /// Takes in a message whose words were counted already.
    pub(crate) fn push(&mut self, entry: Entry, terms: &[f32], phrases: &[f32]) {
        self.entries.push(entry);
        self.terms.extend_from_slice(terms);
        self.phrases.extend_from_slice(phrases);
    }

    /// Takes in candidates of the index, best first, and the messages around them and around what is in already.
    pub(crate) fn add_candidates(
        &mut self,
        scope: Scope<'_>,
        candidates: &[DocAddress],
    ) -> Result<(), TantivyError> {
        let segments = scope.snapshot.searcher.segment_readers();
        let mut docs: Vec<Vec<Member>> = vec![Vec::new(); segments.len()];
        let mut far = self.missing_neighbours();
        for (ord, segment) in segments.iter().enumerate() {
            let keys = &scope.snapshot.columns[ord].place;
            let key_of = |doc: DocId| keys.first(doc).unwrap_or(0);
            for (rank, candidate) in candidates.iter().enumerate() {
                if candidate.segment_ord as usize != ord {
                    continue;
                }
                let key = key_of(candidate.doc_id);
                docs[ord].push(Member { doc: candidate.doc_id, key, eligible: true });
                for (step, _) in NEIGHBOURS {
                    // The neighbour whose window this candidate stands in: nearly always the next document.
                    let wanted = key.wrapping_add_signed(step);
                    let near = i64::from(candidate.doc_id) + step;
                    match DocId::try_from(near) {
                        Ok(near) if near < segment.max_doc() && key_of(near) == wanted => {
                            if !segment.is_deleted(near) {
                                docs[ord].push(Member {
                                    doc: near,
                                    key: wanted,
                                    eligible: scope.neighbours_eligible,
                                });
                            }
                        }
                        Ok(_) | Err(_) if rank < FAR_NEIGHBOURS => far.push(wanted),
                        Ok(_) | Err(_) => {}
                    }
                }
            }
        }
        far.sort_unstable();
        far.dedup();
        for wanted in far {
            if let Some(found) = find_place(scope, wanted)? {
                let eligible = scope.neighbours_eligible;
                docs[found.segment_ord as usize].push(Member { doc: found.doc_id, key: wanted, eligible });
            }
        }
        for (ord, mut docs) in docs.into_iter().enumerate() {
            // A message that is candidate and neighbour is eligible as a candidate.
            docs.sort_unstable_by_key(|member| (member.doc, !member.eligible));
            docs.dedup_by_key(|member| member.doc);
            self.count(scope, ord as SegmentOrdinal, &docs)?;
        }
        Ok(())
    }

    /// Places around messages of the tail that the tail itself does not have.
    fn missing_neighbours(&self) -> Vec<u64> {
        let places = Places::new(self.entries.iter().map(|entry| entry.key));
        let around = self
            .entries
            .iter()
            .flat_map(|entry| NEIGHBOURS.into_iter().map(|(step, _)| entry.key.wrapping_add_signed(step)));
        around.filter(|&key| places.get(key).is_none()).collect()
    }

    /// Counts the plan's terms in documents of one segment, given in order.
    fn count(&mut self, scope: Scope<'_>, ord: SegmentOrdinal, docs: &[Member]) -> Result<(), TantivyError> {
        if docs.is_empty() {
            return Ok(());
        }
        let segment = scope.snapshot.searcher.segment_reader(ord);
        let columns = &scope.snapshot.columns[ord as usize];
        for &Member { doc, key, eligible } in docs {
            self.entries.push(Entry {
                place: Place::Index(DocAddress::new(ord, doc)),
                key,
                at: columns.at.first(doc),
                length: columns.lengths.fieldnorm(doc) as f32,
                eligible,
            });
        }
        let (width, rows) = (self.plan.terms.len(), self.plan.phrases.len());
        let (first, first_phrase) = (self.terms.len(), self.phrases.len());
        self.terms.resize(first + docs.len() * width, 0.0);
        self.phrases.resize(first_phrase + docs.len() * rows, 0.0);
        let mut fields = vec![(scope.fields.body, 1.0)];
        if scope.scaffold {
            fields.push((scope.fields.scaffold, SCAFFOLD));
        }
        for (field, share) in fields {
            let inverted = segment.inverted_index(field)?;
            for (n, term) in self.plan.terms.iter().enumerate() {
                let info = if field == scope.fields.body {
                    scope.located[n].get(ord as usize).cloned().flatten()
                } else {
                    inverted.get_term_info(&Term::from_field_text(field, term))?
                };
                let Some(info) = info else { continue };
                let mut cursor = Cursor::open(&inverted, &info)?;
                for (row, member) in docs.iter().enumerate() {
                    self.terms[first + row * width + n] += share * cursor.count(member.doc) as f32;
                }
            }
            for (n, phrase) in self.plan.phrases.iter().enumerate() {
                let has_all =
                    |row: usize| phrase.iter().all(|&(_, term)| self.terms[first + row * width + term] > 0.0);
                let rows_with_all: Vec<usize> = (0..docs.len()).filter(|&row| has_all(row)).collect();
                if rows_with_all.is_empty() {
                    continue;
                }
                let Some(mut finder) = PhraseFinder::open(segment, field, self.plan, phrase)? else {
                    continue;
                };
                for row in rows_with_all {
                    let count = finder.count(docs[row].doc);
                    self.phrases[first_phrase + row * rows + n] += share * count as f32;
                }
            }
        }
        let first_entry = self.entries.len() - docs.len();
        for (row, entry) in self.entries[first_entry..].iter_mut().enumerate() {
            let phrases = &self.phrases[first_phrase + row * rows..];
            entry.eligible &= self.plan.excluded.iter().all(|&phrase| phrases[phrase] == 0.0);
        }
        Ok(())
    }

    fn terms_of(&self, n: usize) -> &[f32] {
        let width = self.plan.terms.len();
        &self.terms[n * width..(n + 1) * width]
    }

    fn phrases_of(&self, n: usize) -> &[f32] {
        let width = self.plan.phrases.len();
        &self.phrases[n * width..(n + 1) * width]
    }

    /// The best eligible messages with their scores, best first; equal ones newest first.
    pub(crate) fn best(&self, limit: usize) -> Vec<(f32, usize)> {
        let places = Places::new(self.entries.iter().map(|entry| entry.key));
        let mut ranked = Vec::with_capacity(self.entries.len());
        let mut around: Vec<(f32, &[f32])> = Vec::with_capacity(NEIGHBOURS.len());
        for (n, entry) in self.entries.iter().enumerate() {
            if !entry.eligible {
                continue;
            }
            around.clear();
            for (step, share) in NEIGHBOURS {
                if let Some(m) = places.get(entry.key.wrapping_add_signed(step))
                    && same_sitting(entry.at, self.entries[m].at)
                {
                    around.push((share, self.terms_of(m)));
                }
            }
            let own = Counts { terms: self.terms_of(n), phrases: self.phrases_of(n), length: entry.length };
            let score = rank::score(self.plan, own, &around);
            if score > 0.0 {
                ranked.push((score, n));
            }
        }
        let order = |a: &(f32, usize), b: &(f32, usize)| {
            let (x, y) = (&self.entries[a.1], &self.entries[b.1]);
            b.0.total_cmp(&a.0).then(y.at.cmp(&x.at)).then(x.key.cmp(&y.key))
        };
        if ranked.len() > limit {
            ranked.select_nth_unstable_by(limit, order);
            ranked.truncate(limit);
        }
        ranked.sort_by(order);
        ranked
    }
}

fn same_sitting(a: Option<i64>, b: Option<i64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.abs_diff(b) <= SAME_SITTING_MS.unsigned_abs(),
        (None, _) | (_, None) => true,
    }
}

/// The document at a place, wherever it is.
fn find_place(scope: Scope<'_>, key: u64) -> Result<Option<DocAddress>, TantivyError> {
    let term = Term::from_field_u64(scope.fields.place, key);
    for (ord, segment) in scope.snapshot.searcher.segment_readers().iter().enumerate() {
        let inverted = segment.inverted_index(scope.fields.place)?;
        let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::Basic)? else { continue };
        let mut doc = postings.doc();
        while doc != tantivy::TERMINATED {
            if !segment.is_deleted(doc) {
                return Ok(Some(DocAddress::new(ord as SegmentOrdinal, doc)));
            }
            doc = postings.advance();
        }
    }
    Ok(None)
}

/// Moves to `doc` or beyond; true where it is there.
fn seek(postings: &mut SegmentPostings, doc: DocId) -> bool {
    postings.doc() == doc || (postings.doc() < doc && postings.seek(doc) == doc)
}

/// Counts terms in a row.
struct PhraseFinder {
    parts: Vec<(usize, SegmentPostings)>,
    positions: Vec<Vec<u32>>,
}

impl PhraseFinder {
    fn open(
        segment: &SegmentReader,
        field: Field,
        plan: &Plan,
        phrase: &Row,
    ) -> Result<Option<Self>, TantivyError> {
        let inverted = segment.inverted_index(field)?;
        let mut parts = Vec::with_capacity(phrase.len());
        for &(distance, term) in phrase {
            let term = Term::from_field_text(field, &plan.terms[term]);
            match inverted.read_postings(&term, IndexRecordOption::WithFreqsAndPositions)? {
                Some(postings) => parts.push((distance, postings)),
                None => return Ok(None),
            }
        }
        let positions = vec![Vec::new(); parts.len()];
        Ok(Some(Self { parts, positions }))
    }

    fn count(&mut self, doc: DocId) -> usize {
        for ((distance, postings), positions) in self.parts.iter_mut().zip(&mut self.positions) {
            if !seek(postings, doc) {
                return 0;
            }
            positions.clear();
            postings.positions(positions);
            let distance = *distance as u32;
            positions.retain(|&position| position >= distance);
            positions.iter_mut().for_each(|position| *position -= distance);
        }
        count_rows(&self.positions)
    }
}

/// How often all parts stand in a row, given where each stands less its distance.
pub(crate) fn count_rows(starts: &[Vec<u32>]) -> usize {
    let Some((first, others)) = starts.split_first() else { return 0 };
    first.iter().filter(|start| others.iter().all(|other| other.binary_search(start).is_ok())).count()
}

/// A length as the index keeps it, in one byte: the tail is weighed the same.
pub(crate) fn rounded_length(tokens: usize) -> f32 {
    let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
    FieldNormReader::id_to_fieldnorm(FieldNormReader::fieldnorm_to_id(tokens)) as f32
}
