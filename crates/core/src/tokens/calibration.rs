//! The coefficients, as data. `bench/fit_tokens.py` fits them on recorded sessions and prints this file's tables.

use super::profile::Arguments;
use super::{FEATURES, Features};

/// Tokens per statistic of a text: the estimate is their scalar product.
#[derive(Debug, PartialEq)]
pub struct Calibration {
    /// A short name for reports.
    pub name: &'static str,
    /// One coefficient for each of [`FEATURES`]; none is negative.
    pub per: [f64; FEATURES.len()],
}

impl Calibration {
    /// Tokens of a text with these statistics, rounded to the nearest whole.
    pub fn estimate(&self, features: &Features) -> u64 {
        let tokens: f64 = self.per.iter().zip(features.counts()).map(|(per, &n)| per * n as f64).sum();
        tokens.round() as u64
    }
}

/// Tokens that structure costs beyond the words.
#[derive(Debug, PartialEq)]
pub struct Overheads {
    /// A message that holds words or pictures, unless the model said it.
    pub message: u64,
    /// A message of the model that holds words.
    pub answer: u64,
    /// Each block of text.
    pub text: u64,
    /// A tool call, its name and arguments aside.
    pub call: u64,
    /// A tool call whose argument is free text.
    pub free_call: u64,
    /// A tool result.
    pub result: u64,
    /// A block of reasoning.
    pub reasoning: u64,
    /// How the model is shown a call's arguments.
    pub arguments: Arguments,
    /// What sealed reasoning weighs.
    pub seal: Seal,
}

/// Sealed reasoning can't be read, but its length tells how much there is.
#[derive(Debug, PartialEq)]
pub struct Seal {
    /// Characters of the seal that hold no reasoning.
    pub envelope: u64,
    /// Tokens of reasoning for each character beyond the envelope.
    pub per_char: f64,
}

impl Seal {
    /// Tokens behind a seal of this many characters.
    pub fn tokens(&self, chars: usize) -> u64 {
        ((chars as u64).saturating_sub(self.envelope) as f64 * self.per_char).round() as u64
    }
}

// The columns after the bar are not fitted, because the recorded sessions hold too few such characters (symbols of
// open models excepted). They follow the published older Claude vocabulary on short texts in ten languages, and
// cl100k_base for open models.
#[rustfmt::skip]
pub(super) static CLAUDE_4: Calibration = Calibration {
    name: "claude-4",
    //    words  long   caps   numbers marks  mchars gaps   tabs   lines  hash  | symbols repeats letters2 cjk wide
    per: [1.086, 0.079, 0.454, 1.584,  0.623, 0.305, 0.167, 1.208, 1.095, 0.652,  0.70, 0.0625, 0.80, 1.14, 2.1],
};
#[rustfmt::skip]
pub(super) static CLAUDE_4_7: Calibration = Calibration {
    name: "claude-4.7",
    per: [1.180, 0.365, 0.775, 1.397,  1.284, 0.172, 0.082, 0.101, 1.256, 0.616,  0.70, 0.0625, 0.80, 1.14, 2.1],
};
#[rustfmt::skip]
pub(super) static OPEN: Calibration = Calibration {
    name: "open",
    per: [1.037, 0.048, 0.323, 1.488,  0.403, 0.177, 0.129, 0.376, 1.139, 0.656,  1.790, 0.0156, 0.70, 1.14, 2.5],
};

pub(super) static CLAUDE_4_OVERHEADS: Overheads = Overheads {
    message: 0,
    answer: 0,
    text: 6,
    call: 29,
    free_call: 29,
    result: 29,
    reasoning: 14,
    arguments: Arguments::Parameters { each: 13 },
    seal: Seal { envelope: 240, per_char: 0.196 },
};

pub(super) static CLAUDE_4_7_OVERHEADS: Overheads = Overheads {
    message: 0,
    answer: 0,
    text: 0,
    call: 12,
    free_call: 12,
    result: 11,
    reasoning: 0,
    arguments: Arguments::Parameters { each: 20 },
    seal: Seal { envelope: 300, per_char: 0.274 },
};

/// The seal's figures are not fitted: the recorded sessions have it removed.
pub(super) static OPENAI_OVERHEADS: Overheads = Overheads {
    message: 4,
    answer: 7,
    text: 0,
    call: 11,
    free_call: 9,
    result: 11,
    reasoning: 2,
    arguments: Arguments::Json,
    seal: Seal { envelope: 867, per_char: 0.1875 },
};

/// Chat templates of open models, which differ by a few tokens.
pub(super) static OPEN_OVERHEADS: Overheads = Overheads {
    message: 5,
    answer: 5,
    text: 0,
    call: 12,
    free_call: 12,
    result: 8,
    reasoning: 4,
    arguments: Arguments::Json,
    seal: Seal { envelope: 0, per_char: 0.25 },
};
