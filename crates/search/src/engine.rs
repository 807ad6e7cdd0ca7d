//! One query from words to ranked messages.

use crate::analysis::Stemmer;
use crate::error::SearchError;
use crate::find::{self, Finding};
use crate::index::Index;
use crate::plan::{Plan, Statistics};
use crate::pool::{Place, Pool, Scope};
use crate::postings::{Located, Lookup};
use crate::query::{Filters, Parsed, Query};
use crate::snapshot::Snapshot;
use crate::sweep::{self, Sweep};
use crate::tail::{Tail, Wanted};
use tantivy::DocAddress;
use tantivy::collector::TopDocs;

/// Candidates that are scored again, at least.
const CANDIDATES: usize = 40;
/// The same where the index library finds them, by a score that is only like ours.
const CANDIDATES_FILTERED: usize = 64;
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
    let (mut plan, located) = weigh(index, &snapshot, tail, &parsed)?;
    let candidates = if searches_everything(query, &plan) {
        let wanted = (limit * CANDIDATES_PER_HIT).max(CANDIDATES);
        sweep::best(Sweep { snapshot: &snapshot, plan: &plan, located: &located, wanted })?
    } else {
        filtered_candidates(index, &snapshot, &mut plan, (query, limit))?
    };
    let mut pool = Pool::new(&plan);
    let neighbours_eligible =
        !query.filters.tell_neighbours_apart() && plan.required.is_empty() && plan.excluded.is_empty();
    let scaffold = query.scaffold;
    tail.join(&mut pool, &plan, Wanted { filters: &query.filters, scaffold, neighbours_eligible });
    let scope = Scope {
        snapshot: &snapshot,
        fields: &index.fields,
        located: &located,
        scaffold,
        neighbours_eligible,
    };
    pool.add_candidates(scope, &candidates)?;
    let ranked = pool.best(limit).into_iter().map(|(score, n)| (score, pool.entries[n].place)).collect();
    Ok(Ranking { ranked, plan })
}

/// Whether all that is said anywhere is searched: then a sweep over the postings finds the candidates.
fn searches_everything(query: &Query, plan: &Plan) -> bool {
    query.filters == Filters::default()
        && !query.scaffold
        && plan.required.is_empty()
        && plan.excluded.is_empty()
}

/// Candidates where the index library has to see to filters, phrases and exclusions.
fn filtered_candidates(
    index: &Index,
    snapshot: &Snapshot,
    plan: &mut Plan,
    (query, limit): (&Query, usize),
) -> Result<Vec<DocAddress>, SearchError> {
    let in_session = query.filters.session.is_some();
    let wanted = (limit * CANDIDATES_PER_HIT).max(if in_session {
        CANDIDATES_IN_SESSION
    } else {
        CANDIDATES_FILTERED
    });
    // Exclusions take some away again.
    let wanted = if plan.excluded.is_empty() { wanted } else { wanted * 4 };
    if !in_session {
        plan.drop_weak_finders(wanted as u64 * ENOUGH);
    }
    let finding = Finding { plan, filters: &query.filters, fields: &index.fields, scaffold: query.scaffold };
    let best = |query: &dyn tantivy::query::Query| -> Result<Vec<DocAddress>, SearchError> {
        let found = snapshot.searcher.search(query, &TopDocs::with_limit(wanted).order_by_score())?;
        Ok(found.into_iter().map(|(_, doc)| doc).collect())
    };
    let mut candidates = match find::compounds(finding) {
        Some(finder) => best(&*finder)?,
        None => Vec::new(),
    };
    candidates.extend(best(&*find::candidates(finding))?);
    Ok(candidates)
}

fn weigh(
    index: &Index,
    snapshot: &Snapshot,
    tail: &Tail,
    parsed: &Parsed,
) -> Result<(Plan, Vec<Located>), SearchError> {
    let mut lookup = Lookup::new(snapshot, index.fields.body);
    let mut failed = None;
    let mut frequency = |term: &str| {
        let indexed = lookup.frequency(term).unwrap_or_else(|e| {
            failed = Some(e);
            0
        });
        indexed + tail.frequency(term)
    };
    let documents = snapshot.searcher.num_docs() + tail.docs.len() as u64;
    let tokens = tail.tokens + snapshot.tokens;
    let plan = Plan::new(parsed, Statistics { documents, tokens, frequency: &mut frequency });
    match failed {
        Some(e) => Err(e.into()),
        None => {
            let located = lookup.all(&plan.terms)?;
            Ok((plan, located))
        }
    }
}
