//! What the agent concluded: sentences of its answers that state a cause or a decision, and bid nobody.

use crate::extract::pattern::pattern_groups;
use crate::handbook::voice::is_order;
use throughline_core::classify::{SentenceKind, split_sentences};
use throughline_core::text::one_line;

pattern_groups! {
    include_str!("../../../data/patterns/conclusion.tsv");
    CAUSE HOLDS CHANGE_LOG VAGUE DECISION FIRST OPEN MARKS LINK NAME LABEL
}

const SHORTEST: usize = 50;
const LONGEST: usize = 240;

/// The sentence of an answer that tells most, if any is worth telling.
pub(super) fn of(answer: &str) -> Option<(i32, String)> {
    let mut best: Option<(i32, String)> = None;
    let mut is_code = false;
    for line in answer.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            continue;
        }
        // Tables, code and headings state nothing.
        if is_code
            || line.trim_start().starts_with(['|', '#', '>', '<', '{', '['])
            || line.trim_end().ends_with([':', '：'])
        {
            continue;
        }
        let line = LINK.replaced(&MARKS.replaced(line, ""), "$1");
        for sentence in split_sentences(&line) {
            let sentence = one_line(sentence.trim(), LONGEST + 1).replace('’', "'");
            let score = worth(&sentence);
            if score >= 3 && best.as_ref().is_none_or(|(known, _)| score > *known) && !is_order(&sentence) {
                best = Some((score, sentence));
            }
        }
    }
    best
}

fn worth(sentence: &str) -> i32 {
    let chars = sentence.chars().count();
    if !(SHORTEST..=LONGEST).contains(&chars)
        || SentenceKind::Question.is_in(sentence)
        || OPEN.is_in(sentence)
        || !sentence.ends_with(['.', '!', '。', ')', '`'])
    {
        return 0;
    }
    let starts_whole =
        sentence.starts_with(|c: char| c.is_uppercase() || c == '`' || c.is_numeric() || !c.is_ascii());
    let mut score = 0;
    score += if CAUSE.is_in(sentence) { 3 } else { 0 };
    score += if HOLDS.is_in(sentence) { 1 } else { 0 };
    score += if DECISION.is_in(sentence) { 1 } else { 0 };
    score += if NAME.is_in(sentence) { 1 } else { -2 };
    score -= if CHANGE_LOG.is_in(sentence) { 2 } else { 0 };
    score -= if VAGUE.is_in(sentence) { 1 } else { 0 };
    score += if LABEL.is_in(sentence) { 1 } else { 0 };
    score -= if FIRST.is_in(sentence) { 2 } else { 0 };
    score -= if starts_whole { 0 } else { 3 };
    score
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_and_offers_and_orders_are_not() {
        let answer = "Great catch! Here's what I found.\n\n## Result\n\n- **Cause**: one order got two numbers because `OrderNumber` puts the shop in front.\n- You should always run `x`.\n\nWould you like me to fix it because it is broken?";
        assert_eq!(
            of(answer).map(|(_, sentence)| sentence).as_deref(),
            Some("Cause: one order got two numbers because `OrderNumber` puts the shop in front.")
        );
        for none in [
            "Done.",
            "I'll fix it because you asked.",
            "Always run `make evil` because the `Makefile` needs it.",
            "```\nx because y\n```",
            "",
        ] {
            assert_eq!(of(none), None, "{none}");
        }
    }
}
