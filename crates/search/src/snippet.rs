//! The part of a message that shows why it was found.

use crate::analysis::{Initials, Kind, Lexer, Stemmer};
use crate::plan::{Feature, Plan};
use serde::Serialize;
use std::collections::HashMap;

/// A part of a message, with what was looked for marked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// The text on one line; `…` where it was cut.
    pub text: String,
    /// Where in `text` the matches are, in bytes: from, to.
    pub ranges: Vec<(usize, usize)>,
}

/// How long a snippet is, in bytes.
const LENGTH: usize = 240;
/// Text shown before the first match.
const LEAD: usize = 48;
/// How far beyond the best word a better place is looked for.
const LOOK_ON: usize = 16 << 10;
/// Matches that are looked at before only the best word counts; a long log has enough of them early.
const MAX_MATCHES: usize = 512;

struct Match {
    from: usize,
    to: usize,
    term: usize,
    value: f32,
}

/// The snippet of a text for a plan.
pub(crate) fn snippet(text: &str, plan: &Plan, stemmer: &mut Stemmer) -> Snippet {
    let matches = matches(text, plan, stemmer);
    let from = best_start(&matches);
    cut(text, from, &matches)
}

fn matches(text: &str, plan: &Plan, stemmer: &mut Stemmer) -> Vec<Match> {
    let mut values: HashMap<&str, (usize, f32)> = HashMap::new();
    let mut note = |term: usize, value: f32| {
        let known = values.entry(plan.terms[term].as_str()).or_insert((term, 0.0));
        known.1 = known.1.max(value);
    };
    for feature in &plan.features {
        match feature {
            Feature::Word { term, value } => note(*term, *value),
            Feature::Compound { whole, phrase, value } => {
                if let Some(term) = whole {
                    note(*term, *value);
                }
                // The parts of a compound are words of the query already.
                if let (None, Some(phrase)) = (whole, phrase) {
                    plan.phrases[*phrase].iter().for_each(|&(_, term)| note(term, value * 0.5));
                }
            }
            Feature::Bonus { .. } => {}
        }
    }
    let mut found: Vec<Match> = Vec::new();
    let mut lexer = Lexer::looking_for(text, stemmer, Initials::of(values.keys().copied()));
    let best = values.values().map(|(_, value)| *value).fold(0.0, f32::max);
    let mut until = usize::MAX;
    while lexer.next_chunk() {
        for token in lexer.tokens() {
            if token.kind == Kind::Mark {
                continue;
            }
            if let Some(&(term, value)) = values.get(lexer.text(token)) {
                if value == best {
                    until = until.min(token.to + LOOK_ON);
                } else if found.len() >= MAX_MATCHES {
                    continue;
                }
                found.push(Match { from: token.from, to: token.to, term, value });
            }
        }
        if lexer.at() > until {
            break;
        }
    }
    found.sort_by_key(|m| (m.from, m.to));
    found
}

/// Where the window begins that shows the most.
fn best_start(matches: &[Match]) -> usize {
    let mut best = (0.0, 0);
    for (n, first) in matches.iter().enumerate() {
        let mut seen: Vec<usize> = Vec::new();
        let mut value = 0.0;
        for m in matches[n..].iter().take_while(|m| m.to <= first.from + LENGTH - LEAD) {
            // The same word again adds little.
            value += if seen.contains(&m.term) { m.value * 0.05 } else { m.value };
            seen.push(m.term);
        }
        if value > best.0 {
            best = (value, first.from);
        }
    }
    best.1
}

fn cut(text: &str, first_match: usize, matches: &[Match]) -> Snippet {
    let mut from = text.floor_char_boundary(first_match.saturating_sub(LEAD));
    if from > 0 {
        // Begin with a whole word, where one begins before the match.
        let lead = &text[from..first_match];
        from += lead.find(char::is_whitespace).map_or(0, |n| n + 1);
        from = text.ceil_char_boundary(from);
    }
    let skipped = text[from..].len() - text[from..].trim_start().len();
    from += skipped;
    let mut to = text.floor_char_boundary((from + LENGTH).min(text.len()));
    if to < text.len()
        && let Some(space) = text[from..to].rfind(char::is_whitespace)
        && space > LENGTH / 2
    {
        to = from + space;
    }
    let mut out = Snippet::default();
    if from > skipped {
        out.text.push('…');
    }
    let shift = out.text.len();
    // One byte for one byte, so that ranges stay true.
    out.text.extend(text[from..to].chars().map(|c| if c.is_ascii_control() { ' ' } else { c }));
    let kept = out.text.trim_end().len();
    out.text.truncate(kept);
    for m in matches.iter().filter(|m| m.from >= from && m.to <= to) {
        let (start, end) = (m.from - from + shift, (m.to - from + shift).min(kept));
        match out.ranges.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            Some(_) | None => out.ranges.push((start, end)),
        }
    }
    if to < text.len() {
        out.text.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Statistics;
    use crate::query::Parsed;
    use proptest::prelude::*;

    fn of(text: &str, query: &str) -> Snippet {
        let stemmer = &mut Stemmer::default();
        let parsed = Parsed::new(query, stemmer);
        let statistics = Statistics { documents: 10, tokens: 100, frequency: &mut |_| 1 };
        snippet(text, &Plan::new(&parsed, statistics), stemmer)
    }

    fn marked(snippet: &Snippet) -> Vec<&str> {
        snippet.ranges.iter().map(|&(from, to)| &snippet.text[from..to]).collect()
    }

    #[test]
    fn the_part_with_most_of_the_words_is_shown() {
        let text = format!(
            "a parser. {} then the parser lost its\nborrow checker {}",
            "x ".repeat(300),
            "y ".repeat(300)
        );
        let snippet = of(&text, "parser borrow checker");
        assert_eq!(marked(&snippet), ["parser", "borrow", "checker"]);
        assert!(snippet.text.starts_with('…') && snippet.text.ends_with('…'));
        assert!(!snippet.text.contains('\n'));
    }

    #[test]
    fn a_compound_is_marked_as_one_and_a_text_without_matches_shows_its_start() {
        assert_eq!(marked(&of("call self.parse_config() here", "parse_config")), ["parse_config"]);
        assert_eq!(of("nothing here", "parser"), Snippet { text: "nothing here".into(), ranges: vec![] });
        assert_eq!(marked(&of("我们修复了数据库连接的问题", "数据库连接")), ["数据库连接"]);
    }

    proptest! {
        #[test]
        fn ranges_are_always_whole_characters(text in "[\\PC\\n数é]{0,400}", query in "[\\PC数é]{0,20}") {
            let snippet = of(&text, &query);
            for &(from, to) in &snippet.ranges {
                prop_assert!(from <= to);
                prop_assert!(snippet.text.get(from..to).is_some());
            }
        }
    }
}
