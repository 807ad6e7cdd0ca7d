//! The part of a message that shows why it was found.

use crate::analysis::{Initials, Kind, Lexer, Stemmer};
use crate::plan::{Feature, Plan};
use serde::Serialize;

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

/// What snippets show: the terms of a plan and what each is worth. Made once for all hits of a query.
pub(crate) struct Sought<'a> {
    terms: Vec<(&'a str, f32)>,
    initials: Initials,
    best: f32,
}

impl<'a> Sought<'a> {
    /// What is looked for in a plan.
    pub(crate) fn of(plan: &'a Plan) -> Self {
        let mut values = vec![0.0_f32; plan.terms.len()];
        let mut note = |term: usize, value: f32| values[term] = values[term].max(value);
        for feature in &plan.features {
            match feature {
                Feature::Word { term, value } => note(*term, *value),
                Feature::Compound { whole: Some(term), phrase: _, value } => note(*term, *value),
                // The parts of a compound that has a whole are words of the query already.
                Feature::Compound { whole: None, phrase: Some(phrase), value } => {
                    plan.phrases[*phrase].iter().for_each(|&(_, term)| note(term, value * 0.5));
                }
                Feature::Compound { whole: None, phrase: None, .. } | Feature::Bonus { .. } => {}
            }
        }
        let terms = plan.terms.iter().map(String::as_str).zip(values.iter().copied());
        let terms: Vec<(&str, f32)> = terms.filter(|(_, value)| *value > 0.0).collect();
        let initials = Initials::of(terms.iter().map(|(term, _)| *term));
        Self { terms, initials, best: values.into_iter().fold(0.0, f32::max) }
    }
}

/// The snippet of a text.
pub(crate) fn snippet(text: &str, sought: &Sought<'_>, stemmer: &mut Stemmer) -> Snippet {
    let matches = matches(text, sought, stemmer);
    let from = best_start(&matches);
    cut(text, from, &matches)
}

fn matches(text: &str, sought: &Sought<'_>, stemmer: &mut Stemmer) -> Vec<Match> {
    let mut found: Vec<Match> = Vec::new();
    let mut lexer = Lexer::looking_for(text, stemmer, &sought.initials);
    let mut until = usize::MAX;
    while lexer.next_chunk() {
        for token in lexer.tokens().iter().filter(|token| token.kind != Kind::Mark) {
            let text = lexer.text(token);
            let Some(term) = sought.terms.iter().position(|(term, _)| *term == text) else { continue };
            let value = sought.terms[term].1;
            if value == sought.best {
                until = until.min(token.to + LOOK_ON);
            } else if found.len() >= MAX_MATCHES {
                continue;
            }
            found.push(Match { from: token.from, to: token.to, term, value });
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
    let mut seen: Vec<usize> = Vec::new();
    for (n, first) in matches.iter().enumerate() {
        seen.clear();
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
    for (n, piece) in text[from..to].split(|c: char| c.is_ascii_control()).enumerate() {
        if n > 0 {
            out.text.push(' ');
        }
        out.text.push_str(piece);
    }
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
        snippet(text, &Sought::of(&Plan::new(&parsed, statistics)), stemmer)
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

    /// All matches, by reading every chunk.
    fn matches_of_all(text: &str, sought: &Sought<'_>, stemmer: &mut Stemmer) -> Vec<(usize, usize, usize)> {
        let mut found = Vec::new();
        let mut lexer = Lexer::new(text, stemmer);
        while lexer.next_chunk() {
            for token in lexer.tokens().iter().filter(|token| token.kind != Kind::Mark) {
                let term = sought.terms.iter().position(|(term, _)| *term == lexer.text(token));
                found.extend(term.map(|term| (token.from, token.to, term)));
            }
        }
        found.sort();
        found
    }

    proptest! {
        #[test]
        fn what_is_passed_over_holds_nothing_that_is_looked_for(
            text in "((run|Ran|dying|café|parse|Config|HTTP|x|v2|don't|数据|went|e3aaeba09c|[a-zA-Z0-9])[ _./:,(é'-]{0,2}){0,60}",
            query in "((run|parse|config|parseConfig|die|go|x|v2|http|数据|e3aaeba|[a-z]{1,3})[ _./]){1,4}",
        ) {
            let stemmer = &mut Stemmer::default();
            let parsed = Parsed::new(&query, stemmer);
            let plan = Plan::new(&parsed, Statistics { documents: 10, tokens: 100, frequency: &mut |_| 1 });
            let sought = Sought::of(&plan);
            let mut found: Vec<(usize, usize, usize)> =
                matches(&text, &sought, stemmer).iter().map(|m| (m.from, m.to, m.term)).collect();
            found.sort();
            prop_assert_eq!(found, matches_of_all(&text, &sought, stemmer));
        }

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
