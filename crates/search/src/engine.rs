//! One query from words to ranked messages.

use crate::analysis::Stemmer;
use crate::error::SearchError;
use crate::find::{self, Finding};
use crate::index::Index;
use crate::plan::{Plan, Statistics};
use crate::pool::{Place, Pool, Scope};
use crate::query::{Parsed, Query};
use crate::snapshot::Snapshot;
use crate::tail::{Tail, Wanted};
use tantivy::collector::TopDocs;
use tantivy::{DocAddress, Term};

/// Candidates that are scored again, at least.
const CANDIDATES: usize = 64;
/// The same for a search in one session, where they are cheap.
const CANDIDATES_IN_SESSION: usize = 1024;
/// Candidates for each hit that is asked for.
const CANDIDATES_PER_HIT: usize = 4;

/// So many times the candidates must be found by a query's better words before its weaker ones are left out.
const ENOUGH: u64 = 16;

/// Hits where none are asked for by number.
pub(crate) const DEFAULT_LIMIT: usize = 10;
/// More are never given.
const MAX_LIMIT: usize = 10_000;

/// What a query came to.
pub(crate) struct Ranking {
    /// Best first, at most as many as were asked for.
    pub(crate) ranked: Vec<(f32, Place)>,
    /// For snippets: what was looked for.
    pub(crate) plan: Plan,
}

/// Ranks the messages of an index and of a tail.
pub(crate) fn rank(
    index: &Index,
    tail: &Tail,
    query: &Query,
    stemmer: &mut Stemmer,
) -> Result<Ranking, SearchError> {
    let snapshot = index.snapshot();
    let parsed = Parsed::new(&query.text, stemmer);
    if parsed.has_nothing_to_find() {
        return Ok(Ranking { ranked: Vec::new(), plan: Plan::default() });
    }
    let limit = match query.limit {
        0 => DEFAULT_LIMIT,
        limit => limit.min(MAX_LIMIT),
    };
    let mut plan = weigh(index, &snapshot, tail, &parsed)?;
    let in_session = query.filters.session.is_some();
    let wanted =
        (limit * CANDIDATES_PER_HIT).max(if in_session { CANDIDATES_IN_SESSION } else { CANDIDATES });
    // Exclusions take some away again.
    let wanted = if plan.excluded.is_empty() { wanted } else { wanted * 4 };
    if !in_session {
        plan.drop_weak_finders(wanted as u64 * ENOUGH);
    }
    let scaffold = query.scaffold;
    let finding = Finding { plan: &plan, filters: &query.filters, fields: &index.fields, scaffold };
    let best = |query: &dyn tantivy::query::Query| -> Result<Vec<DocAddress>, SearchError> {
        let found = snapshot.searcher.search(query, &TopDocs::with_limit(wanted).order_by_score())?;
        Ok(found.into_iter().map(|(_, doc)| doc).collect())
    };
    let mut candidates = match find::compounds(finding) {
        Some(finder) => best(&*finder)?,
        None => Vec::new(),
    };
    candidates.extend(best(&*find::candidates(finding))?);
    let mut pool = Pool::new(&plan);
    let neighbours_eligible =
        !query.filters.tell_neighbours_apart() && plan.required.is_empty() && plan.excluded.is_empty();
    tail.join(&mut pool, &plan, Wanted { filters: &query.filters, scaffold, neighbours_eligible });
    let scope = Scope { snapshot: &snapshot, fields: &index.fields, scaffold, neighbours_eligible };
    pool.add_candidates(scope, &candidates)?;
    let ranked = pool.best(limit).into_iter().map(|(score, n)| (score, pool.entries[n].place)).collect();
    Ok(Ranking { ranked, plan })
}

fn weigh(index: &Index, snapshot: &Snapshot, tail: &Tail, parsed: &Parsed) -> Result<Plan, SearchError> {
    let body = index.fields.body;
    let searcher = &snapshot.searcher;
    let tokens = tail.tokens + snapshot.tokens;
    let mut failed = None;
    let mut frequency = |term: &str| {
        let indexed = searcher.doc_freq(&Term::from_field_text(body, term)).unwrap_or_else(|e| {
            failed = Some(e);
            0
        });
        indexed + tail.frequency(term)
    };
    let documents = searcher.num_docs() + tail.docs.len() as u64;
    let plan = Plan::new(parsed, Statistics { documents, tokens, frequency: &mut frequency });
    match failed {
        Some(e) => Err(e.into()),
        None => Ok(plan),
    }
}
