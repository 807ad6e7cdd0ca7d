//! What is known about how a model's provider counts, by the model's name.

use super::calibration::{
    CLAUDE_4, CLAUDE_4_7, CLAUDE_4_7_OVERHEADS, CLAUDE_4_OVERHEADS, OPEN, OPEN_OVERHEADS, OPENAI_OVERHEADS,
    Overheads,
};
use super::{ImageRule, Tokenizer};

/// How the model is shown the arguments of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arguments {
    /// As the JSON text.
    Json,
    /// As named parameters whose strings stand unescaped.
    Parameters {
        /// Tokens around each parameter.
        each: u64,
    },
}

/// What becomes of reasoning when the user speaks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningRule {
    /// The model goes on seeing it.
    Kept,
    /// The provider drops it: only the current turn's counts.
    CurrentTurn,
}

/// Everything known about how one model's provider counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Text to tokens.
    pub tokenizer: Tokenizer,
    /// Tokens of structure.
    pub overheads: &'static Overheads,
    /// Pictures to tokens.
    pub images: ImageRule,
    /// What becomes of reasoning when the user speaks again.
    pub reasoning: ReasoningRule,
}

impl Profile {
    /// The profile of a model, by the name that requests carry; prefixes of gateways and clouds are understood.
    /// An unknown name is taken for an open model behind a chat template.
    ///
    /// ```
    /// use throughline_core::tokens::{Profile, ReasoningRule, Tokenizer};
    ///
    /// assert_eq!(Profile::for_model("openai/gpt-5.5").tokenizer, Tokenizer::O200k);
    /// assert_eq!(Profile::for_model("gpt-4-turbo").tokenizer, Tokenizer::Cl100k);
    /// assert_eq!(Profile::for_model("claude-sonnet-4-5").reasoning, ReasoningRule::CurrentTurn);
    /// assert_eq!(Profile::for_model("qwen3-coder").tokenizer.name(), "open");
    /// ```
    pub fn for_model(model: &str) -> Self {
        let name = model.to_ascii_lowercase();
        if let Some(at) = name.find("claude") {
            return claude(&name[at..]);
        }
        let name = name.rsplit('/').next().unwrap_or_default();
        let name = name.strip_prefix("ft:").unwrap_or(name);
        // The short names that Claude Code's settings use.
        if ["opus", "sonnet", "haiku"].contains(&name.split('[').next().unwrap_or_default()) {
            return claude(name);
        }
        openai(name).unwrap_or(Self {
            tokenizer: Tokenizer::Estimate(&OPEN),
            overheads: &OPEN_OVERHEADS,
            images: ImageRule::TILES_GPT_4O,
            reasoning: ReasoningRule::CurrentTurn,
        })
    }
}

fn claude(name: &str) -> Profile {
    // A name without a number means the newest model.
    let version = version(name).unwrap_or((u32::MAX, 0));
    // Seen in recorded sessions: kept by Opus 4.5, 4.6 and the fifth generation, dropped by Sonnet 4.5.
    let keeps = match version {
        (4, 5) => name.contains("opus"),
        (4, 6) => !name.contains("haiku"),
        other => other > (4, 6),
    };
    let reasoning = if keeps { ReasoningRule::Kept } else { ReasoningRule::CurrentTurn };
    if version >= (4, 7) {
        Profile {
            tokenizer: Tokenizer::Estimate(&CLAUDE_4_7),
            overheads: &CLAUDE_4_7_OVERHEADS,
            images: ImageRule::CLAUDE_4_7,
            reasoning,
        }
    } else {
        Profile {
            tokenizer: Tokenizer::Estimate(&CLAUDE_4),
            overheads: &CLAUDE_4_OVERHEADS,
            images: ImageRule::CLAUDE,
            reasoning,
        }
    }
}

fn openai(name: &str) -> Option<Profile> {
    let o_series = name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if !(name.starts_with("gpt-") || name.starts_with("chatgpt-") || name.starts_with("codex") || o_series) {
        return None;
    }
    let old = ["gpt-3.5", "gpt-35"].iter().any(|prefix| name.starts_with(prefix))
        || name == "gpt-4"
        || name.starts_with("gpt-4-");
    let small = name.contains("mini") || name.contains("nano");
    let images = if small && !name.starts_with("gpt-4o") {
        ImageRule::PATCHES
    } else if name.starts_with("gpt-5") {
        ImageRule::TILES_GPT_5
    } else if o_series {
        ImageRule::TILES_O
    } else {
        ImageRule::TILES_GPT_4O
    };
    // Seen in recorded sessions: dropped up to gpt-5.5, kept by gpt-5.6.
    let keeps = name.starts_with("gpt-") && version(name).is_some_and(|version| version >= (5, 6));
    Some(Profile {
        tokenizer: if old { Tokenizer::Cl100k } else { Tokenizer::O200k },
        overheads: &OPENAI_OVERHEADS,
        images,
        reasoning: if keeps { ReasoningRule::Kept } else { ReasoningRule::CurrentTurn },
    })
}

/// The first one or two numbers of a name; longer ones are dates.
fn version(name: &str) -> Option<(u32, u32)> {
    let mut numbers = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .skip_while(|part| !is_number(part))
        .map_while(|part| is_number(part).then(|| part.parse::<u32>().ok()).flatten());
    let major = numbers.next()?;
    Some((major, numbers.next().unwrap_or(0)))
}

fn is_number(part: &str) -> bool {
    (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
}
