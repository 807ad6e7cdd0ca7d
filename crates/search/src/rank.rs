//! Scores: how well a message answers, by its own words and by those around it.
//!
//! A message is read in its place: "where did we put it?" – "in the attic" is found by words of the first and is
//! answered by the second. So each word counts twice: where it stands (BM25), and, pooled with its neighbours', in
//! the place where it stands. What came before weighs more than what comes after. Compounds (paths, identifiers)
//! count only where they stand: whoever looks for one wants the message that has it.

use crate::plan::{Feature, Plan};

/// How soon more of the same word stops to count.
const SATURATION: f32 = 0.5;
/// How much a long message is held against itself …
const LENGTH: f32 = 0.3;
/// … up to so many times the mean length.
const LONGEST: f32 = 8.0;
/// What the place counts beside the message itself.
const PLACE: f32 = 2.0;
/// What the parts of a compound in a row count beside the compound itself.
const IN_A_ROW: f32 = 0.5;
/// Neighbours: how far before (negative) or after, and their share.
pub(crate) const NEIGHBOURS: [(i64, f32); 4] = [(-1, 0.6), (-2, 0.3), (1, 0.3), (2, 0.15)];
/// Messages further apart in time do not belong together.
pub(crate) const SAME_SITTING_MS: i64 = 6 * 60 * 60 * 1000;

/// What is known of one message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts<'a> {
    /// How often each of the plan's terms occurs.
    pub(crate) terms: &'a [f32],
    /// How often each of the plan's phrases occurs.
    pub(crate) phrases: &'a [f32],
    /// Tokens.
    pub(crate) length: f32,
}

/// More of the same counts, but ever less.
fn dampened(count: f32, dampening: f32) -> f32 {
    if count > 0.0 { count * (SATURATION + 1.0) / (count + dampening) } else { 0.0 }
}

/// How much the length of a message takes away from what its words count.
pub(crate) fn dampening(length: f32, average: f32) -> f32 {
    SATURATION * (1.0 - LENGTH + LENGTH * (length / average).min(LONGEST))
}

/// What a term counts in a message by itself, in the units of [`score`] without the place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Worth {
    /// As a word.
    pub(crate) word: f32,
    /// As a whole compound.
    pub(crate) whole: f32,
}

impl Worth {
    /// In a message that has the term `count` times, once or more; never 0.
    pub(crate) fn of(self, count: f32, dampening: f32) -> f32 {
        let mut worth = self.word * dampened(count, dampening);
        if self.whole > 0.0 {
            worth += self.whole * dampened(count, SATURATION);
        }
        worth.max(f32::MIN_POSITIVE)
    }

    /// The most it can be.
    pub(crate) fn most(self) -> f32 {
        (self.word + self.whole) * (SATURATION + 1.0)
    }

    /// The least it can be in a message that has the term.
    pub(crate) fn least(self) -> f32 {
        self.of(1.0, dampening(LONGEST, 1.0))
    }
}

/// The score of a message among its neighbours, each with its share.
pub(crate) fn score(plan: &Plan, own: Counts<'_>, neighbours: &[(f32, &[f32])]) -> f32 {
    let dampening = dampening(own.length, plan.average_length);
    let saturate = |count: f32| dampened(count, dampening);
    // A path in a long listing is that path none the less.
    let at_any_length = |count: f32| dampened(count, SATURATION);
    let mut score = 0.0;
    for feature in &plan.features {
        score += match *feature {
            Feature::Word { term, value } => {
                let here = own.terms[term];
                let around: f32 = neighbours.iter().map(|(share, terms)| share * terms[term]).sum();
                value * (saturate(here) + PLACE * saturate(here + around))
            }
            Feature::Compound { whole, phrase, value } => {
                let in_a_row = phrase.map_or(0.0, |phrase| own.phrases[phrase]);
                let found = match whole {
                    // `parse config` may mean `parse_config`, once, but is not it.
                    Some(term) => {
                        at_any_length(own.terms[term]).max(IN_A_ROW * at_any_length(in_a_row.min(1.0)))
                    }
                    None => at_any_length(in_a_row),
                };
                value * (1.0 + PLACE) * found
            }
            Feature::Bonus { term, value } => {
                if own.terms[term] > 0.0 {
                    value
                } else {
                    0.0
                }
            }
        };
    }
    score
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(features: Vec<Feature>) -> Plan {
        Plan { features, average_length: 10.0, ..Plan::default() }
    }

    fn counts<'a>(terms: &'a [f32], phrases: &'a [f32]) -> Counts<'a> {
        Counts { terms, phrases, length: 10.0 }
    }

    #[test]
    fn a_word_counts_most_where_it_stands_and_more_after_it_than_before_it() {
        let plan = plan(vec![Feature::Word { term: 0, value: 1.0 }]);
        let has: &[f32] = &[1.0];
        let here = score(&plan, counts(has, &[]), &[]);
        let after = score(&plan, counts(&[0.0], &[]), &[(0.6, has)]);
        let before = score(&plan, counts(&[0.0], &[]), &[(0.3, has)]);
        assert!(here > after && after > before && before > 0.0);
        // Even between two messages that have it.
        assert!(here > score(&plan, counts(&[0.0], &[]), &[(0.6, has), (0.3, has), (0.3, has), (0.15, has)]));
    }

    #[test]
    fn a_compound_counts_nowhere_else() {
        let plan = plan(vec![Feature::Compound { whole: Some(0), phrase: Some(0), value: 1.0 }]);
        assert_eq!(score(&plan, counts(&[0.0], &[0.0]), &[(0.6, &[5.0])]), 0.0);
        let whole = score(&plan, counts(&[1.0], &[0.0]), &[]);
        let in_a_row = score(&plan, counts(&[0.0], &[9.0]), &[]);
        assert!(whole > in_a_row && in_a_row > 0.0);
    }
}
