//! Token counts: real byte-pair tables for OpenAI's models, a calibrated estimate for the others, pictures and
//! documents by size, and a correction learnt from the usage that providers report.
//!
//! - [`Tokenizer`]: text to tokens. [`Profile`]: everything known about how one model's provider counts.
//! - [`Counter`]: messages to tokens, by kind; each text is counted once.
//! - [`Correction`]: what the provider reported, turned into better predictions.
//!
//! ```
//! use throughline_core::tokens::{Corrections, Counter};
//! use throughline_core::{Message, Role, Usage};
//!
//! let mut counter = Counter::for_model("claude-opus-4-5");
//! let view = [Message::text(Role::User, "never touch the lockfile")];
//! let counted = counter.view(&view).total();
//!
//! // The provider saw the system prompt and the tools too, and says so.
//! let mut corrections = Corrections::default();
//! corrections.observe("claude-opus-4-5", counted, &Usage { input: 20_000 + counted, ..Usage::default() });
//! assert_eq!(corrections.estimate("claude-opus-4-5", counted + 100), 20_000 + counted + 100);
//! ```

mod bpe;
mod breakdown;
mod calibration;
mod correction;
mod counter;
mod features;
mod image;
mod profile;

pub use bpe::{LONGEST_RUN, chunks};
pub use breakdown::{Breakdown, ViewCount};
pub use calibration::{Calibration, Overheads, Seal};
pub use correction::{Correction, Corrections};
pub use counter::Counter;
pub(crate) use counter::turn_start;
pub use features::{FEATURES, Features};
pub use image::{ImageRule, Size, document_tokens};
pub use profile::{Arguments, Profile, ReasoningRule};

/// How text becomes tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tokenizer {
    /// OpenAI's table since gpt-4o. Exact.
    O200k,
    /// OpenAI's table for gpt-4 and gpt-3.5. Exact.
    Cl100k,
    /// A linear model of text statistics, for models whose table is not public or not carried here.
    Estimate(&'static Calibration),
}

impl Tokenizer {
    /// The tokenizer of a model, by its name; an unknown name gets the estimate for open models.
    ///
    /// ```
    /// use throughline_core::tokens::Tokenizer;
    ///
    /// assert_eq!(Tokenizer::for_model("gpt-5.2-codex"), Tokenizer::O200k);
    /// assert!(matches!(Tokenizer::for_model("claude-opus-4-5"), Tokenizer::Estimate(_)));
    /// ```
    pub fn for_model(model: &str) -> Self {
        Profile::for_model(model).tokenizer
    }

    /// Tokens of a text. Takes time linear in its length, whatever it holds.
    ///
    /// ```
    /// use throughline_core::tokens::Tokenizer;
    ///
    /// assert_eq!(Tokenizer::O200k.count("hello world"), 2);
    /// assert_eq!(Tokenizer::for_model("claude-opus-4-5").count(""), 0);
    /// ```
    pub fn count(self, text: &str) -> u64 {
        match self {
            Self::O200k => bpe::count(bpe::Table::O200k, text),
            Self::Cl100k => bpe::count(bpe::Table::Cl100k, text),
            Self::Estimate(calibration) => calibration.estimate(&Features::of(text)),
        }
    }

    /// Whether counts are the provider's own, to the token.
    pub fn is_exact(self) -> bool {
        match self {
            Self::O200k | Self::Cl100k => true,
            Self::Estimate(_) => false,
        }
    }

    /// A short name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
            Self::Estimate(calibration) => calibration.name,
        }
    }
}
