//! What the model sees already, and need not be shown again.

use super::index::searched;
use super::lexer::{Term, terms};
use super::text::block_text;
use super::units::units;
use crate::Message;
use std::collections::HashSet;

/// What a view shows, as far as a search must know it.
///
/// It is made of the messages as they are *shown*: a result that was cleared is not seen, though its message is there.
#[derive(Clone, Debug, Default)]
pub struct Visible {
    units: HashSet<u64>,
    terms: HashSet<Term>,
}

impl Visible {
    /// Takes in a message as the model sees it.
    pub fn push(&mut self, shown: &Message) {
        for block in &shown.blocks {
            let text = block_text(block);
            for part in searched(&text) {
                self.push_text(&text[part]);
            }
        }
    }

    /// Takes in words that the model sees.
    pub fn push_text(&mut self, text: &str) {
        let mut own = Vec::new();
        units(text, |range| {
            own.clear();
            terms(&text[range], |term| own.push(term));
            self.units.insert(print(&own));
            self.terms.extend(&own);
        });
    }

    /// Whether exactly these terms stand together in the view.
    pub(super) fn shows(&self, unit: &[Term]) -> bool {
        self.units.contains(&print(unit))
    }

    /// Whether a term stands anywhere in the view.
    pub(super) fn knows(&self, term: Term) -> bool {
        self.terms.contains(&term)
    }
}

impl<'a> FromIterator<&'a Message> for Visible {
    fn from_iter<I: IntoIterator<Item = &'a Message>>(shown: I) -> Self {
        let mut visible = Self::default();
        shown.into_iter().for_each(|message| visible.push(message));
        visible
    }
}

/// A number that is the same for units that say the same.
pub(super) fn print(terms: &[Term]) -> u64 {
    terms.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, term| {
        (hash ^ u64::from(term.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    })
}
