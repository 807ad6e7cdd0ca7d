//! What a request asks about, in weighted words.

use super::tables::{TABLES, Telling};
use super::words::{Sort, each_term};
use std::collections::HashMap;

/// Bytes of a request that are read at either end. What is longer is pasted: its middle says least about what is wanted.
const READ: usize = 8 << 10;
/// Different words that are looked up at most.
const MOST_WORDS: usize = 400;

/// A request as ranking sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Query {
    /// Its words, each once, in the order in which they first stand.
    pub(crate) words: Vec<Word>,
    /// Whether it asks about the world rather than about this work: "what is a monad?"
    pub(crate) is_general: bool,
    /// Whether words that are near its own count as well.
    pub(crate) reach: Reach,
}

/// Which words a request finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Its own, for somebody who looks for them.
    #[default]
    Own,
    /// Those near them as well, for somebody who does not know what there is.
    Near,
}

/// A word of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Word {
    /// The term that it is found by.
    pub(crate) term: String,
    /// As it was typed, in lower case.
    pub(crate) typed: String,
    pub(crate) sort: Sort,
    pub(crate) telling: Telling,
}

impl Query {
    pub(crate) fn of(text: &str, reach: Reach) -> Self {
        let mut query = Self { words: Vec::new(), is_general: is_general(text), reach };
        let mut places: HashMap<String, usize> = HashMap::new();
        let (head, tail) = ends(text);
        for part in [head, tail] {
            each_term(part, |term| {
                if places.len() >= MOST_WORDS || places.contains_key(term.text) {
                    return;
                }
                places.insert(term.text.to_owned(), query.words.len());
                query.words.push(Word {
                    term: term.text.to_owned(),
                    typed: part.get(term.from..term.to).unwrap_or_default().to_lowercase(),
                    sort: term.sort,
                    telling: TABLES.telling(term.text),
                });
            });
        }
        query
    }

    /// Whether a term is one of its words.
    pub(crate) fn has(&self, term: &str) -> bool {
        self.words.iter().any(|word| word.term == term)
    }
}

fn ends(text: &str) -> (&str, &str) {
    if text.len() <= 2 * READ {
        return (text, "");
    }
    (throughline_core::text::head(text, READ), throughline_core::text::tail(text, READ))
}

/// How questions about the world begin.
const OPENINGS: [&str; 16] = [
    "what is a ",
    "what is an ",
    "what's a ",
    "what's an ",
    "what are ",
    "what does ",
    "what year ",
    "explain ",
    "tell me ",
    "how do i ",
    "how can i ",
    "how to ",
    "how many ",
    "how long ",
    "write a ",
    "difference between ",
];
/// What stands in them anywhere.
const ANYWHERE: [&str; 5] =
    ["the difference between ", "the capital of ", "recommendations", "是什么", "什么是"];
/// How they begin in Chinese.
const OPENINGS_ZH: [&str; 4] = ["解释一下", "写一个", "介绍一下", "推荐"];
/// Who says one of these speaks of something at hand.
const AT_HAND: [&str; 13] =
    ["this", "that", "these", "our", "my", "we", "it", "the", "here", "their", "我们", "这个", "这里"];

/// Whether a request asks about the world rather than about this work. Such a question is answered from what everybody knows; a
/// memory must fit it all the better to help.
fn is_general(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    if text.len() > 120 || text.lines().count() > 1 {
        return false;
    }
    if ANYWHERE.iter().any(|words| text.contains(words)) {
        return true;
    }
    let opens = OPENINGS.iter().chain(&OPENINGS_ZH).any(|words| text.starts_with(words));
    let is_at_hand = AT_HAND.iter().any(|word| match word.is_ascii() {
        true => text.split(|c: char| !c.is_alphanumeric()).any(|one| one == *word),
        false => text.contains(word),
    });
    opens && !is_at_hand
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_about_the_world_are_told_from_questions_about_the_work() {
        for text in [
            "What is a monad?",
            "what's the difference between a mutex and a channel",
            "解释一下 TCP 三次握手",
        ] {
            assert!(Query::of(text, Reach::Near).is_general, "{text}");
        }
        for text in [
            "how do i deploy it",
            "explain what this pod's restartPolicy does",
            "where is the session state kept",
            "",
        ] {
            assert!(!Query::of(text, Reach::Near).is_general, "{text}");
        }
    }

    #[test]
    fn words_come_once_and_of_long_texts_both_ends_are_read() {
        let query = Query::of("deploy the deployment, then deploy", Reach::Own);
        assert_eq!(query.words.len(), 1);
        let long = format!("alpha {} omega", "x ".repeat(20_000));
        let query = Query::of(&long, Reach::Own);
        assert!(query.has("alpha") && query.has("omega"));
        let many: String = (0..2_000).map(|n| format!("word{n}x ")).collect();
        assert!(Query::of(&many, Reach::Own).words.len() <= MOST_WORDS);
    }
}
