//! The digest: the most useful strings that fit, by trying prices.

use super::names::Name;
use super::place::{self, Stakes};
use super::{Archive, render, weigh};
use crate::entity::{self, Kind};
use crate::scribe::DigestWanted;
use crate::tokens::Counter;

/// Prices tried: each halves the doubt.
const ROUNDS: usize = 12;
/// The cheapest and the dearest price of a byte, as powers: chances differ by orders of magnitude.
const PRICES: (f64, f64) = (-16.0, 0.0);
/// Joints of a string that are looked at.
const MOST_JOINTS: usize = 16;

impl Archive {
    /// Lines about what was said, oldest first, in at most `wanted.budget` tokens by `counter`. What `wanted.said` says
    /// already is repeated only where it holds other strings together.
    ///
    /// The same archive and request give the same text; nothing in it was not said, up to the words at the beginning of
    /// a line that say who speaks.
    pub fn digest(&self, wanted: &DigestWanted<'_>, counter: &mut Counter) -> String {
        let stakes = self.stakes(wanted);
        let mut best = String::new();
        let (mut low, mut high) = PRICES;
        for _ in 0..ROUNDS {
            let middle = (low + high) / 2.0;
            let text = render::render(self, &place::place(self, &stakes, middle.exp()));
            if counter.text(&text) <= wanted.budget {
                high = middle;
                best = text;
            } else {
                low = middle;
            }
        }
        best
    }

    fn stakes(&self, wanted: &DigestWanted<'_>) -> Stakes {
        let now = self.items.len() as u32;
        let is_said = |name: &Name| {
            wanted
                .said
                .iter()
                .any(|said| memchr::memmem::find(said.as_bytes(), name.text.as_bytes()).is_some())
        };
        Stakes {
            chance: self.names.iter().map(|name| weigh::chance(name, now)).collect(),
            said: self.names.iter().map(is_said).collect(),
            within: (0u32..)
                .zip(self.names.iter())
                .filter_map(|(id, name)| Some((id, self.within(name)?)))
                .collect(),
        }
    }

    /// The shorter strings of the archive that a string contains, as far as its own joints show them.
    fn within(&self, name: &Name) -> Option<Vec<u32>> {
        let mut parts = Vec::new();
        let mut add = |text: &str| {
            if text.len() < name.text.len() {
                parts.extend(self.names.find(text));
            }
        };
        match name.kind {
            Kind::Quoted => entity::scan(&name.text, |entity| add(entity.text)),
            Kind::Path | Kind::Symbol | Kind::Error | Kind::Id | Kind::Number | Kind::Flag => {
                for (at, _) in name.text.match_indices(['/', '.', ':', '-']).take(MOST_JOINTS) {
                    add(&name.text[..at]);
                    add(&name.text[at + 1..]);
                }
            }
        }
        parts.sort_unstable();
        parts.dedup();
        (!parts.is_empty()).then_some(parts)
    }
}
