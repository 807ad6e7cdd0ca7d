//! The index library's part: which documents are worth scoring.

use crate::analysis::PathTokenizer;
use crate::index::{Fields, role_name};
use crate::plan::{Plan, Row};
use crate::query::Filters;
use std::ops::Bound;
use tantivy::Term;
use tantivy::query::{
    BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, Occur, PhraseQuery, Query, RangeQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};

/// What is searched, and where.
#[derive(Clone, Copy)]
pub(crate) struct Finding<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) filters: &'a Filters,
    pub(crate) fields: &'a Fields,
    /// Whether scaffold is searched.
    pub(crate) scaffold: bool,
}

/// The query that finds candidates by all that is looked for.
pub(crate) fn candidates(finding: Finding<'_>) -> Box<dyn Query> {
    let terms: Vec<(usize, f32)> = finding.plan.finders.iter().map(|f| (f.term, f.weight)).collect();
    documents_with(finding, &terms)
}

/// The query that finds documents with one of the compounds; `None` where there is none.
///
/// Among candidates by words, a long document with the very path that is looked for comes after all the short ones
/// with parts of it.
pub(crate) fn compounds(finding: Finding<'_>) -> Option<Box<dyn Query>> {
    let terms: Vec<(usize, f32)> = finding.plan.wholes.iter().map(|&term| (term, 1.0)).collect();
    (!terms.is_empty()).then(|| documents_with(finding, &terms))
}

fn documents_with(finding: Finding<'_>, terms: &[(usize, f32)]) -> Box<dyn Query> {
    let Finding { plan, filters, fields, scaffold } = finding;
    let searched: &[(Field, f32)] =
        if scaffold { &[(fields.body, 1.0), (fields.scaffold, 0.5)] } else { &[(fields.body, 1.0)] };
    let mut words: Vec<(Occur, Box<dyn Query>)> = Vec::new();
    for &(field, share) in searched {
        for &(term, weight) in terms {
            let term = Term::from_field_text(field, &plan.terms[term]);
            let query: Box<dyn Query> = Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
            let boost = share * weight;
            words.push((
                Occur::Should,
                if boost == 1.0 { query } else { Box::new(BoostQuery::new(query, boost)) },
            ));
        }
    }
    let mut musts = filter_queries(filters, fields);
    for &phrase in &plan.required {
        musts.push(in_any(searched, plan, &plan.phrases[phrase]));
    }
    // Only single terms: the index library's exclusion of phrases seeks backwards. The pool sees to the others.
    let excluded: Vec<_> = plan
        .excluded
        .iter()
        .map(|&phrase| &plan.phrases[phrase])
        .filter(|phrase| phrase.len() == 1)
        .map(|phrase| in_any(searched, plan, phrase))
        .collect();
    if musts.is_empty() && excluded.is_empty() {
        // A bare union is what the index library prunes best.
        return Box::new(BooleanQuery::new(words));
    }
    let mut all: Vec<(Occur, Box<dyn Query>)> = Vec::new();
    if plan.required.is_empty() {
        all.push((Occur::Must, Box::new(BooleanQuery::new(words))));
    } else {
        all.extend(words);
    }
    all.extend(musts.into_iter().map(|query| (Occur::Must, query)));
    all.extend(excluded.into_iter().map(|query| (Occur::MustNot, query)));
    Box::new(BooleanQuery::new(all))
}

fn in_any(fields: &[(Field, f32)], plan: &Plan, phrase: &Row) -> Box<dyn Query> {
    let mut anywhere: Vec<Box<dyn Query>> = Vec::new();
    for &(field, _) in fields {
        let terms: Vec<(usize, Term)> =
            phrase.iter().map(|&(at, term)| (at, Term::from_field_text(field, &plan.terms[term]))).collect();
        anywhere.push(in_a_row(terms));
    }
    if anywhere.len() == 1 { anywhere.remove(0) } else { Box::new(BooleanQuery::union(anywhere)) }
}

fn in_a_row(mut terms: Vec<(usize, Term)>) -> Box<dyn Query> {
    match terms.len() {
        0 => Box::new(EmptyQuery),
        1 => Box::new(TermQuery::new(terms.remove(0).1, IndexRecordOption::WithFreqs)),
        _ => Box::new(PhraseQuery::new_with_offset(terms)),
    }
}

fn filter_queries(filters: &Filters, fields: &Fields) -> Vec<Box<dyn Query>> {
    let Filters { session, project, role, tool, file, from, to } = filters;
    let mut out: Vec<Box<dyn Query>> = Vec::new();
    let mut add = |query: Box<dyn Query>| out.push(Box::new(ConstScoreQuery::new(query, 0.0)));
    let exact = |field: Field, text: &str| -> Box<dyn Query> {
        Box::new(TermQuery::new(Term::from_field_text(field, text), IndexRecordOption::Basic))
    };
    if let Some(session) = session {
        add(exact(fields.session, session.as_str()));
    }
    if let Some(project) = project {
        add(exact(fields.project, folder(project)));
    }
    if let Some(role) = role {
        add(exact(fields.role, role_name(*role)));
    }
    if let Some(tool) = tool {
        add(exact(fields.tool, &tool.to_lowercase()));
    }
    if let Some(file) = file {
        let steps = PathTokenizer::steps(file)
            .enumerate()
            .map(|(n, step)| (n, Term::from_field_text(fields.file, step)));
        add(in_a_row(steps.collect()));
    }
    if from.is_some() || to.is_some() {
        let bound = |at: &Option<jiff::Timestamp>| match at {
            Some(at) => Bound::Included(Term::from_field_i64(fields.at, at.as_millisecond())),
            None => Bound::Unbounded,
        };
        // An open end still needs a typed bound, or the query would not know its field.
        let (mut lower, upper) = (bound(from), bound(to));
        if matches!(lower, Bound::Unbounded) {
            lower = Bound::Included(Term::from_field_i64(fields.at, i64::MIN));
        }
        add(Box::new(RangeQuery::new(lower, upper)));
    }
    out
}

/// A folder without the slash at its end.
pub(crate) fn folder(path: &str) -> &str {
    let trimmed = path.trim_end_matches(['/', '\\']);
    if trimmed.is_empty() { path.get(..1).unwrap_or(path) } else { trimmed }
}
