//! The digest: the most useful strings that fit, by trying prices.
//!
//! A price of a byte decides which strings are told. The search for a price ends as soon as the text is somewhat too
//! long: then the strings that are worth least are left out until it fits, which takes no new choice of strings.

use super::place::{Lines, Placer};
use super::pool::{Known, Pool};
use super::said::Said;
use super::{Archive, render};
use crate::scribe::DigestWanted;
use crate::tokens::Counter;

/// Prices of a byte that can be tried, on a scale whose steps are equal in the logarithm: chances differ by orders of
/// magnitude.
const STEPS: u32 = 4096;
/// The logarithm of the cheapest price; the dearest is one.
const CHEAPEST: f64 = -16.0;
/// The logarithm of what a step adds to the price.
const LOG: f64 = -CHEAPEST / STEPS as f64;
/// How much the digest shrinks where the price grows, both as logarithms: a first guess.
const SLOPE: f64 = 0.8;
/// Tries after which the doubt is halved rather than divided by how far off the last tries were.
const GUESSES: usize = 8;
/// How full the budget is to be before strings are left out, and at most.
const AMPLE: f64 = 1.15;
const TOO_MUCH: f64 = 1.5;
/// What part of the budget is aimed at, and with what part the search is content: to find the very last strings that fit
/// would take as long again.
const AIM: f64 = 0.998;
const FULL: f64 = 0.994;
/// Tries to leave out just enough: after so many of them the doubt is small, whatever the first guesses were worth.
const TRIMS: usize = 12;
/// Bytes of a token by which the first price is chosen: less than they have, as strings stand more than once.
const TOKEN: f64 = 2.4;
/// Strings by their worth for each byte, four groups for every power of two.
const GROUPS: usize = 96;

impl Archive {
    /// Lines about what was said, oldest first, in at most `wanted.budget` tokens by `counter`. What `wanted.said` says
    /// already is repeated only where it holds other strings together.
    ///
    /// The same archive and request give the same text; nothing in it was not said, up to the words at the beginning of
    /// a line that say who speaks.
    pub fn digest(&self, wanted: &DigestWanted<'_>, counter: &mut Counter) -> String {
        let mut known = Known::new(self, Said::new(wanted.said));
        let mut placer = Placer::new(self);
        let mut search = Search::new(self.first_step(&known, wanted.budget));
        let mut floor = search.step;
        let mut pool = Pool::new(&mut known, price(floor));
        let mut best = String::new();
        while let Some(step) = search.next() {
            if step < floor {
                floor = step;
                pool = Pool::new(&mut known, price(floor));
            }
            let lines = placer.place(&known, &pool, price(step));
            let text = render::render(self, lines);
            let filled = filled(&text, wanted.budget, counter);
            search.tell(step, filled);
            if filled <= 1.0 {
                best = text;
            } else if filled <= TOO_MUCH || search.next().is_none() {
                return self.trim(lines, Draft { text, filled }, wanted.budget, counter);
            }
        }
        best
    }

    /// Leaves out what is worth least until the rest fits.
    fn trim(&self, lines: &Lines, whole: Draft, budget: u64, counter: &mut Counter) -> String {
        let order = lines.by_worth();
        let mut best = String::new();
        // The largest share known to leave room, and the smallest known to be too much.
        let (mut low, mut high) = (0.0, 1.0);
        let mut share = 1.0;
        let mut filled = whole.filled;
        // How full a byte makes the budget: that changes little while the text is trimmed.
        let mut a_byte = whole.filled / whole.text.len() as f64;
        for _ in 0..TRIMS {
            let guess = share * AIM / filled.max(1e-3);
            share = if guess > low && guess < high { guess } else { (low + high) / 2.0 };
            let text = render::render(self, &lines.best(&order, share));
            filled = text.len() as f64 * a_byte;
            if filled <= 1.0 {
                filled = self::filled(&text, budget, counter);
                a_byte = filled / text.len().max(1) as f64;
            }
            if filled > 1.0 {
                high = share;
                continue;
            }
            low = share;
            if text.len() > best.len() {
                best = text;
            }
            if filled >= FULL {
                break;
            }
        }
        best
    }

    /// A step whose price may be about right: where the strings worth it, each said once, fill the budget.
    fn first_step(&self, known: &Known<'_>, budget: u64) -> u32 {
        let mut bytes = [0.0; GROUPS];
        for (name, chance) in self.names.iter().zip(&known.chance) {
            let length = name.text.len() as f64 + 2.0;
            bytes[group(chance / length)] += length;
        }
        let mut room = budget as f64 * TOKEN;
        for (at, bytes) in bytes.iter().enumerate().rev() {
            room -= bytes;
            if room < 0.0 {
                return step_of_group(at);
            }
        }
        1
    }
}

/// A text, and how full it makes its budget.
struct Draft {
    text: String,
    filled: f64,
}

fn filled(text: &str, budget: u64, counter: &mut Counter) -> f64 {
    counter.text(text) as f64 / budget.max(1) as f64
}

/// The price of a byte at a step.
fn price(step: u32) -> f64 {
    (CHEAPEST - CHEAPEST * f64::from(step) / f64::from(STEPS)).exp()
}

/// The group of a worth between zero and one, by its exponent and the first two bits behind it.
fn group(worth: f64) -> usize {
    let lowest = (1023 - GROUPS as u64 / 4) << 2;
    (worth.to_bits() >> 50).saturating_sub(lowest).min(GROUPS as u64 - 1) as usize
}

fn step_of_group(group: usize) -> u32 {
    let log = (group as f64 - GROUPS as f64) / 4.0 * std::f64::consts::LN_2;
    ((1.0 - log / CHEAPEST) * f64::from(STEPS)).clamp(1.0, f64::from(STEPS - 1)) as u32
}

/// The search for a step at which the digest fits and leaves little room.
struct Search {
    /// The next step to be tried.
    step: u32,
    tries: usize,
    /// The highest step known to be too cheap and the lowest known to fit.
    low: u32,
    high: u32,
    /// The last try: its step, and the logarithm of how far it was from what is aimed at.
    last: Option<(f64, f64)>,
    is_full: bool,
}

impl Search {
    fn new(step: u32) -> Self {
        Self { step, tries: 0, low: 0, high: STEPS, last: None, is_full: false }
    }

    fn next(&self) -> Option<u32> {
        (!self.is_full && self.high - self.low > 1).then_some(self.step)
    }

    /// Takes in how full the budget was at a step.
    fn tell(&mut self, step: u32, filled: f64) {
        self.tries += 1;
        self.is_full = (FULL..=1.0).contains(&filled);
        if filled <= 1.0 {
            self.high = step;
        } else {
            self.low = step;
        }
        let at = f64::from(step);
        let off = (filled.max(1e-3) / AMPLE).ln();
        let slope = match self.last {
            Some((last_at, last_off)) => {
                ((last_off - off) / (at - last_at) / LOG).clamp(SLOPE / 2.0, SLOPE * 4.0)
            }
            None => SLOPE,
        };
        self.last = Some((at, off));
        let halved = (f64::from(self.low) + f64::from(self.high)) / 2.0;
        // At the cheapest price everything is told, which says little about the others.
        let guess = if self.tries > GUESSES || step == 1 { halved } else { at + off / slope / LOG };
        let guess = guess.round() as u32;
        self.step = guess.clamp(self.low + 1, (self.high - 1).max(self.low + 1));
    }
}
