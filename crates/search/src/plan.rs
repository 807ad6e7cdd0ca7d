//! A parsed query with the statistics of the corpus: which terms to count, and what each is worth.

use crate::analysis::{ASKS, TIME};
use crate::query::{Parsed, Phrase, Word};

/// Terms counted for one query; the rarest are kept.
const MAX_TERMS: usize = 32;

/// Words worth less than this share of the best one, see [`Plan::drop_weak_finders`].
const WEAK: f32 = 0.3;

/// A phrase over the plan's terms: distance from the first, and which term.
pub(crate) type Row = Vec<(usize, usize)>;

/// What gives a document its score.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Feature {
    /// A word: counts where it stands, and less around it.
    Word {
        /// Which term.
        term: usize,
        /// What it is worth.
        value: f32,
    },
    /// A compound: counts only where it stands.
    Compound {
        /// The term that is all of it.
        whole: Option<usize>,
        /// Which phrase is its parts in a row.
        phrase: Option<usize>,
        /// What it is worth.
        value: f32,
    },
    /// Something that speaks for or against a document as a whole.
    Bonus {
        /// Which term.
        term: usize,
        /// What it is worth; may be negative.
        value: f32,
    },
}

/// A term by which candidates are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Finder {
    /// Which term.
    pub(crate) term: usize,
    /// Its weight in the query, rarity left out: the index library knows that itself.
    pub(crate) weight: f32,
    value: f32,
    /// Documents that hold it; not told for compounds.
    frequency: u64,
}

/// A query ready to be scored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// Terms to count.
    pub(crate) terms: Vec<String>,
    /// Rows of terms to count.
    pub(crate) phrases: Vec<Row>,
    /// What counts.
    pub(crate) features: Vec<Feature>,
    /// Phrases that must occur.
    pub(crate) required: Vec<usize>,
    /// Phrases that must not.
    pub(crate) excluded: Vec<usize>,
    /// Terms by which candidates are found, words first, the worthiest first.
    pub(crate) finders: Vec<Finder>,
    /// Terms of which each document that holds one must be scored, however long it is.
    pub(crate) wholes: Vec<usize>,
    /// The mean length of a document.
    pub(crate) average_length: f32,
}

/// How much the corpus has of what.
pub(crate) struct Statistics<'a> {
    /// Documents.
    pub(crate) documents: u64,
    /// Tokens in all of them.
    pub(crate) tokens: u64,
    /// Documents that hold a term.
    pub(crate) frequency: &'a mut dyn FnMut(&str) -> u64,
}

/// Bonuses, in units of the mean worth of a word. A speaker named in the query speaks for a message, a time for an
/// answer to "when", and a question against an answer.
const SPEAKER: f32 = 1.0;
const WHEN: f32 = 0.3;
const QUESTION: f32 = -0.15;

impl Plan {
    /// Weighs a query.
    pub(crate) fn new(parsed: &Parsed, statistics: Statistics<'_>) -> Self {
        let Statistics { documents, tokens, frequency } = statistics;
        let mut plan =
            Self { average_length: (tokens as f32 / documents.max(1) as f32).max(1.0), ..Self::default() };
        let mut words: Vec<(&Word, f32, u64)> = parsed
            .words
            .iter()
            .map(|word| (word, frequency(&word.term)))
            .map(|(word, frequency)| (word, word.weight * rarity(documents, frequency), frequency))
            .collect();
        // Words that nobody wrote are the rarest of all, and must not push out those that can find something.
        words.sort_by(|a, b| (a.2 == 0).cmp(&(b.2 == 0)).then_with(|| b.1.total_cmp(&a.1)));
        words.truncate(MAX_TERMS);
        let unit = match words.len() {
            0 => 1.0,
            n => words.iter().map(|(_, value, _)| value).sum::<f32>() / n as f32,
        };
        for (word, value, frequency) in words {
            let term = plan.term(&word.term);
            plan.features.push(Feature::Word { term, value });
            plan.finders.push(Finder { term, weight: word.weight, value, frequency });
        }
        let mut rarity = |term: &str| rarity(documents, frequency(term));
        for compound in parsed.compounds.iter().take(MAX_TERMS) {
            let rarest = compound.parts.iter().map(|(_, part)| rarity(part)).fold(0.0, f32::max);
            let value = match &compound.whole {
                // A whole that nobody wrote says nothing about how rare its parts in a row are.
                Some(whole) if frequency_of(documents, rarity(whole)) >= 1 => rarity(whole).max(rarest),
                Some(_) | None => rarest,
            };
            let whole = compound.whole.as_ref().map(|whole| plan.term(whole));
            let value = compound.weight * value;
            plan.finders.extend(whole.map(|term| Finder {
                term,
                weight: compound.weight,
                value,
                frequency: 0,
            }));
            plan.wholes.extend(whole.filter(|_| !compound.parts.is_empty()));
            let phrase = (compound.parts.len() > 1).then(|| plan.phrase(&compound.parts));
            plan.features.push(Feature::Compound { whole, phrase, value });
        }
        for phrase in &parsed.required {
            let value = phrase.iter().map(|(_, term)| rarity(term)).fold(0.0, f32::max);
            let phrase = plan.phrase(phrase);
            plan.required.push(phrase);
            plan.features.push(Feature::Compound { whole: None, phrase: Some(phrase), value });
        }
        for phrase in &parsed.excluded {
            let phrase = plan.phrase(phrase);
            plan.excluded.push(phrase);
        }
        for label in &parsed.labels {
            plan.bonus(label, SPEAKER * unit);
        }
        if parsed.asks_when {
            plan.bonus(TIME, WHEN * unit);
        }
        if parsed.is_question {
            plan.bonus(ASKS, QUESTION * unit);
        }
        plan
    }

    /// Leaves common words to be counted in what the others find, where those find at least `enough`: a document that
    /// has only them would not come near the top, and there are very many of those.
    pub(crate) fn drop_weak_finders(&mut self, enough: u64) {
        let best = self.finders.iter().filter(|f| f.frequency > 0).map(|f| f.value).fold(0.0, f32::max);
        let mut found = 0;
        self.finders.retain(|finder| {
            let keep = finder.frequency == 0 || found < enough || finder.value >= best * WEAK;
            found += finder.frequency;
            keep
        });
    }

    fn bonus(&mut self, term: &str, value: f32) {
        let term = self.term(term);
        self.features.push(Feature::Bonus { term, value });
    }

    fn term(&mut self, term: &str) -> usize {
        if let Some(known) = self.terms.iter().position(|t| t == term) {
            return known;
        }
        self.terms.push(term.to_owned());
        self.terms.len() - 1
    }

    fn phrase(&mut self, phrase: &Phrase) -> usize {
        let row: Row = phrase.iter().map(|(distance, term)| (*distance, self.term(term))).collect();
        if let Some(known) = self.phrases.iter().position(|p| *p == row) {
            return known;
        }
        self.phrases.push(row);
        self.phrases.len() - 1
    }
}

/// How much a term says: the fewer documents hold it, the more.
fn rarity(documents: u64, frequency: u64) -> f32 {
    let (n, df) = (documents as f32, frequency.min(documents) as f32);
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
}

/// 1 or more unless no document holds a term of this rarity.
fn frequency_of(documents: u64, value: f32) -> u64 {
    u64::from(value < rarity(documents, 0))
}
