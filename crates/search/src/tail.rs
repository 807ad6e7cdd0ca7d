//! Messages that are in a ledger and not yet in the index. They are counted directly, with the same analysis and
//! the same scores, so that a message is found by the very next search.

use crate::analysis::{Lexer, PathTokenizer, Stemmer};
use crate::doc::Doc;
use crate::find::folder;
use crate::index::{ancestors, place};
use crate::plan::Plan;
use crate::pool::{Entry, Place, Pool, SCAFFOLD, count_rows, rounded_length};
use crate::query::Filters;
use std::collections::HashMap;

/// Messages of the tail, read and taken apart once.
#[derive(Default)]
pub(crate) struct Tail {
    pub(crate) docs: Vec<Doc>,
    counted: Vec<Counted>,
    /// Tokens of all bodies.
    pub(crate) tokens: u64,
    /// How many bodies hold a term.
    frequency: HashMap<Box<str>, u64>,
}

/// Which messages of the tail may be hits.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) filters: &'a Filters,
    /// Whether scaffold counts.
    pub(crate) scaffold: bool,
    /// Whether a message without any of the words may be a hit for those around it.
    pub(crate) neighbours_eligible: bool,
}

struct Counted {
    body: HashMap<Box<str>, Vec<u32>>,
    scaffold: HashMap<Box<str>, Vec<u32>>,
    length: usize,
}

impl Tail {
    /// Takes messages in.
    pub(crate) fn extend(&mut self, docs: impl IntoIterator<Item = Doc>, stemmer: &mut Stemmer) {
        for doc in docs {
            let (body, length) = positions(&doc.words.body, stemmer);
            let (scaffold, _) = positions(&doc.words.scaffold, stemmer);
            self.tokens += length as u64;
            for term in body.keys() {
                *self.frequency.entry(term.clone()).or_default() += 1;
            }
            self.counted.push(Counted { body, scaffold, length });
            self.docs.push(doc);
        }
    }

    /// How many messages hold a term.
    pub(crate) fn frequency(&self, term: &str) -> u64 {
        self.frequency.get(term).copied().unwrap_or(0)
    }

    /// Puts all messages into a query's pool.
    pub(crate) fn join(&self, pool: &mut Pool<'_>, plan: &Plan, wanted: Wanted<'_>) {
        let Wanted { filters, scaffold, neighbours_eligible } = wanted;
        let mut terms = vec![0.0; plan.terms.len()];
        let mut phrases = vec![0.0; plan.phrases.len()];
        for (n, (doc, counted)) in self.docs.iter().zip(&self.counted).enumerate() {
            terms.fill(0.0);
            phrases.fill(0.0);
            counted.count(plan, &counted.body, 1.0, (&mut terms, &mut phrases));
            if scaffold {
                counted.count(plan, &counted.scaffold, SCAFFOLD, (&mut terms, &mut phrases));
            }
            let found = || {
                plan.finders
                    .iter()
                    .map(|finder| &finder.term)
                    .chain(&plan.wholes)
                    .any(|&term| terms[term] > 0.0)
                    || !plan.required.is_empty()
            };
            let eligible = passes(doc, filters)
                && (neighbours_eligible || found())
                && plan.required.iter().all(|&phrase| phrases[phrase] > 0.0)
                && plan.excluded.iter().all(|&phrase| phrases[phrase] == 0.0);
            let entry = Entry {
                place: Place::Tail(n),
                key: place(doc.session.as_str(), doc.ordinal),
                at: doc.at.map(|at| at.as_millisecond()),
                length: rounded_length(counted.length),
                eligible,
            };
            pool.push(entry, &terms, &phrases);
        }
    }
}

impl Counted {
    fn count(
        &self,
        plan: &Plan,
        positions: &HashMap<Box<str>, Vec<u32>>,
        share: f32,
        (terms, phrases): (&mut [f32], &mut [f32]),
    ) {
        if positions.is_empty() {
            return;
        }
        let found: Vec<Option<&Vec<u32>>> =
            plan.terms.iter().map(|term| positions.get(term.as_str())).collect();
        for (count, found) in terms.iter_mut().zip(&found) {
            *count += share * found.map_or(0, Vec::len) as f32;
        }
        for (count, phrase) in phrases.iter_mut().zip(&plan.phrases) {
            let starts: Option<Vec<Vec<u32>>> = phrase
                .iter()
                .map(|&(distance, term)| {
                    let distance = distance as u32;
                    found[term].map(|at| at.iter().filter_map(|&p| p.checked_sub(distance)).collect())
                })
                .collect();
            if let Some(starts) = starts {
                *count += share * count_rows(&starts) as f32;
            }
        }
    }
}

/// Where each term of a text stands, and how many tokens there are.
fn positions(text: &str, stemmer: &mut Stemmer) -> (HashMap<Box<str>, Vec<u32>>, usize) {
    let mut found: HashMap<Box<str>, Vec<u32>> = HashMap::new();
    let mut count = 0;
    let mut lexer = Lexer::new(text, stemmer);
    while lexer.next_chunk() {
        for token in lexer.tokens() {
            count += 1;
            let (term, position) = (lexer.text(token), token.position as u32);
            match found.get_mut(term) {
                Some(positions) => positions.push(position),
                None => {
                    found.insert(term.into(), vec![position]);
                }
            }
        }
    }
    (found, count)
}

/// What the index's filters do, on a message at hand.
fn passes(doc: &Doc, filters: &Filters) -> bool {
    let Filters { session, project, role, tool, file, from, to } = filters;
    session.as_ref().is_none_or(|session| *session == doc.session)
        && project.as_ref().is_none_or(|project| {
            doc.cwd.as_deref().is_some_and(|cwd| ancestors(cwd).any(|above| above == folder(project)))
        })
        && role.is_none_or(|role| role == doc.role)
        && tool.as_ref().is_none_or(|tool| {
            let tool = tool.to_lowercase();
            doc.words.tools.iter().any(|name| name.to_lowercase() == tool)
        })
        && file.as_ref().is_none_or(|file| doc.words.files.iter().any(|path| has_steps(path, file)))
        && from.is_none_or(|from| doc.at.is_some_and(|at| at.as_millisecond() >= from.as_millisecond()))
        && to.is_none_or(|to| doc.at.is_some_and(|at| at.as_millisecond() <= to.as_millisecond()))
}

fn has_steps(path: &str, wanted: &str) -> bool {
    let wanted: Vec<&str> = PathTokenizer::steps(wanted).collect();
    let path: Vec<&str> = PathTokenizer::steps(path).collect();
    !wanted.is_empty() && path.windows(wanted.len()).any(|steps| steps == wanted)
}
