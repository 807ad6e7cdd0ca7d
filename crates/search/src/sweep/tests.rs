use super::*;
use crate::analysis::Stemmer;
use crate::doc::{Doc, Words};
use crate::index::Index;
use crate::plan::Statistics;
use crate::postings::Lookup;
use crate::query::Parsed;
use throughline_core::Role;

/// Words that occur in about one of so many documents.
const WORDS: [(&str, u64); 5] = [("kelp", 2), ("moss", 9), ("fern", 40), ("iris", 700), ("yarrow_root", 90)];

/// The same numbers for the same seed, evenly spread.
fn scatter(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 8
}

/// A text that has each word as often as its number says, among others.
fn text(n: u64) -> String {
    let mut text = "stone ".repeat(1 + (scatter(n) % 40) as usize);
    for (w, (word, rarity)) in WORDS.iter().enumerate() {
        let roll = scatter(n * 31 + w as u64 + 1);
        if roll.is_multiple_of(*rarity) {
            text.extend(std::iter::repeat_n(format!("{word}, "), 1 + (roll / 1_000 % 4) as usize));
        }
    }
    text
}

fn doc(n: u64) -> Doc {
    Doc {
        session: "s".into(),
        path: "s".into(),
        id: n.to_string().into(),
        ordinal: n,
        role: Role::User,
        at: None,
        cwd: None,
        offset: n,
        end: n + 1,
        words: Words { body: text(n), ..Words::default() },
    }
}

/// What each document that is left is worth, by counting in the postings one by one; the terms are the sweep's.
fn by_hand(sweep: Sweep<'_>) -> Vec<(DocAddress, f32)> {
    let Sweep { snapshot, plan, located, .. } = sweep;
    let worths = worths(sweep);
    let mut scores = Vec::new();
    for (ord, segment) in snapshot.searcher.segment_readers().iter().enumerate() {
        let columns = &snapshot.columns[ord];
        for doc in segment.doc_ids_alive() {
            let dampening = rank::dampening(columns.lengths.fieldnorm(doc) as f32, plan.average_length);
            let mut score = 0.0;
            for &(term, worth) in &worths {
                let Some(info) = &located[term][ord] else { continue };
                let count = Cursor::open(&columns.body, info).unwrap().count(doc);
                score += if count > 0 { worth.of(count as f32, dampening) } else { 0.0 };
            }
            scores.push((DocAddress::new(ord as SegmentOrdinal, doc), score));
        }
    }
    scores
}

/// An index of two segments, of several windows and of one, and some documents that were taken out.
fn index(dir: &std::path::Path) -> Index {
    let mut index = Index::open(dir).unwrap();
    for numbers in [0..9_000, 9_000..10_000] {
        let mut writer = index.writer(1).unwrap();
        for n in numbers {
            let mut doc = doc(n);
            doc.path = if n % 50 == 7 { "gone".into() } else { doc.path };
            writer.add_document(index.document(&doc)).unwrap();
        }
        writer.commit().unwrap();
        index.forget(&writer, "gone");
        writer.commit().unwrap();
    }
    index.reload().unwrap();
    index
}

fn plan(query: &str, index: &Index, snapshot: &Snapshot) -> (Plan, Vec<Located>) {
    let parsed = Parsed::new(query, &mut Stemmer::default());
    let mut lookup = Lookup::new(snapshot, index.fields.body);
    let mut frequency = |term: &str| lookup.frequency(term).unwrap();
    let (documents, tokens) = (snapshot.searcher.num_docs(), snapshot.tokens);
    let plan = Plan::new(&parsed, Statistics { documents, tokens, frequency: &mut frequency });
    let located = lookup.all(&plan.terms).unwrap();
    (plan, located)
}

#[test]
fn the_sweep_finds_what_scoring_every_document_finds() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let snapshot = index.snapshot();
    assert!(snapshot.searcher.segment_readers().len() > 1);
    for query in ["iris", "kelp", "kelp moss", "fern moss kelp iris", "yarrow_root kelp", "kelp nothing"] {
        let (plan, located) = plan(query, &index, &snapshot);
        for wanted in [1, 10, 64, 20_000] {
            let sweep = Sweep { snapshot: &snapshot, plan: &plan, located: &located, wanted };
            let scores = by_hand(sweep);
            let mut expected: Vec<f32> =
                scores.iter().map(|(_, score)| *score).filter(|&score| score > 0.0).collect();
            expected.sort_by(|a, b| b.total_cmp(a));
            let found = best(sweep).unwrap();
            assert_eq!(found.len(), expected.len().min(wanted), "{query}");
            for (n, address) in found.iter().enumerate() {
                let (_, score) = scores[scores.binary_search_by_key(address, |(at, _)| *at).unwrap()];
                assert!((score - expected[n]).abs() <= 1e-4 * score, "{query}, {wanted}: the {n}th");
            }
        }
    }
}

#[test]
fn weak_terms_are_swept_only_where_the_others_find_too_little() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let snapshot = index.snapshot();
    let swept = |query: &str, wanted: usize| {
        let (plan, located) = plan(query, &index, &snapshot);
        let sweep = Sweep { snapshot: &snapshot, plan: &plan, located: &located, wanted };
        worths(sweep).into_iter().map(|(term, _)| plan.terms[term].clone()).collect::<Vec<_>>()
    };
    assert_eq!(swept("kelp fern", 10), ["fern"]);
    assert_eq!(swept("kelp fern", 1_000), ["fern", "kelp"]);
    // Its parts go with the whole.
    assert_eq!(swept("yarrow_root", 5), ["yarrow_root"]);
}
