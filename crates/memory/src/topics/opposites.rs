//! Whether two texts say the opposite: such are never made one.

use super::prints::Words;
use super::sentences::{key, units};

/// The share of subject words at which two sentences are about the same.
const SAME_SUBJECT: f64 = 0.6;
/// The same for sentences that differ in figures alone, where more must agree.
const SAME_BUT_FIGURES: f64 = 0.75;

/// Words of a subject up to which opposite words may be all that differs.
const SHORT: usize = 3;

/// Words that turn a sentence round.
const NEGATIONS: [&str; 18] = [
    "no",
    "not",
    "never",
    "none",
    "nor",
    "neither",
    "without",
    "cannot",
    "avoid",
    "stop",
    "forbid",
    "forbidden",
    "refuse",
    "dont",
    "doesnt",
    "cant",
    "wont",
    "unless",
];
/// The same in a script without spaces.
const NEGATIONS_WITHIN: [&str; 14] = [
    "不",
    "别",
    "勿",
    "没有",
    "禁止",
    "从未",
    "避免",
    "切莫",
    "无需",
    "未",
    "ない",
    "しない",
    "禁じ",
    "ません",
];
/// Pairs of which a text has one and its opposite the other.
const PAIRS: [(&str, &str); 14] = [
    ("always", "never"),
    ("enable", "disable"),
    ("enabled", "disabled"),
    ("allow", "deny"),
    ("before", "after"),
    ("with", "without"),
    ("on", "off"),
    ("tabs", "spaces"),
    ("true", "false"),
    ("required", "optional"),
    ("use", "avoid"),
    ("include", "exclude"),
    ("first", "last"),
    ("short", "long"),
];
/// Words that give weight and no meaning.
const WEIGHT: [&str; 11] =
    ["always", "please", "must", "should", "do", "does", "can", "will", "ever", "just", "really"];

/// A sentence, ready to be compared.
pub(crate) struct Statement {
    text: String,
    words: Vec<String>,
    /// Whether it denies something.
    pub(crate) is_negated: bool,
    /// The first word of weight behind each negation.
    negated: Vec<String>,
    /// What it is about: its words without negations, weight and figures.
    pub(crate) subject: Words,
    /// Words with digits.
    pub(crate) figures: Vec<String>,
}

impl Statement {
    pub(crate) fn of(text: &str) -> Self {
        let words: Vec<String> = key(&spelled_out(text)).split(' ').map(str::to_owned).collect();
        let is_negation = |word: &str| NEGATIONS.contains(&word);
        let within = NEGATIONS_WITHIN.iter().any(|mark| text.contains(mark));
        let counts = |word: &&String| !is_negation(word) && !WEIGHT.contains(&word.as_str());
        let negated = words
            .iter()
            .enumerate()
            .filter(|(_, word)| is_negation(word))
            .filter_map(|(at, _)| words[at + 1..].iter().find(counts).cloned())
            .collect();
        let is_figure = |word: &&String| word.contains(|c: char| c.is_ascii_digit());
        let subject: Vec<&str> =
            words.iter().filter(counts).filter(|word| !is_figure(word)).map(String::as_str).collect();
        let mut plain = subject.join(" ");
        for mark in NEGATIONS_WITHIN {
            plain = plain.replace(mark, "");
        }
        Self {
            text: text.to_owned(),
            is_negated: within || words.iter().any(|word| is_negation(word)),
            negated,
            subject: Words::of(&plain),
            figures: words.iter().filter(is_figure).cloned().collect(),
            words,
        }
    }

    /// Why two statements can't both hold, as far as words tell.
    pub(crate) fn opposes(&self, other: &Self) -> Option<String> {
        let overlap = self.subject.jaccard(&other.subject);
        let quote = |what: &str| {
            Some(format!("{what}: \u{201c}{}\u{201d} and \u{201c}{}\u{201d}", self.text, other.text))
        };
        if overlap < SAME_SUBJECT {
            // Opposite words may be all that differs.
            let is_short = self.subject.0.len().max(other.subject.0.len()) <= SHORT;
            return (is_short && overlap > 0.0 && self.has_opposite(other))
                .then(|| quote("they are opposites"))
                .flatten();
        }
        if self.is_negated != other.is_negated {
            return quote("one denies what the other says");
        }
        if self.is_negated
            && overlap >= SAME_BUT_FIGURES
            && !self.negated.is_empty()
            && !other.negated.is_empty()
        {
            let shared = self.negated.iter().any(|word| other.negated.contains(word));
            if !shared {
                return quote("they deny different things");
            }
        }
        if self.has_opposite(other) {
            return quote("they are opposites");
        }
        let differ = !self.figures.is_empty() && !other.figures.is_empty() && self.figures != other.figures;
        if differ && overlap >= SAME_BUT_FIGURES {
            return quote("they give different figures");
        }
        None
    }

    /// Hashes of which two short statements that are opposites by a pair of words have one in common.
    pub(crate) fn pair_probes(&self) -> Vec<u64> {
        if self.subject.0.len() > SHORT {
            return Vec::new();
        }
        let has = |word: &str| self.words.iter().any(|known| known == word);
        let pairs = PAIRS.iter().enumerate().filter(|(_, (a, b))| has(a) != has(b));
        let salts = pairs.map(|(at, _)| (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        salts.flat_map(|salt| self.subject.0.iter().map(move |hash| hash ^ salt)).collect()
    }

    fn has_opposite(&self, other: &Self) -> bool {
        let has = |words: &[String], word: &str| words.iter().any(|known| known == word);
        PAIRS.into_iter().any(|(a, b)| {
            let one = |x: &Self, y: &Self| {
                has(&x.words, a) && !has(&x.words, b) && has(&y.words, b) && !has(&y.words, a)
            };
            one(self, other) || one(other, self)
        })
    }
}

/// Without short forms: "don't" is "do not".
fn spelled_out(text: &str) -> String {
    let text = text.replace('’', "'").to_lowercase();
    text.replace("can't", "can not").replace("won't", "will not").replace("n't", " not").replace('\'', " ")
}

/// Why two memories can't both hold, as far as their words tell. Each is given as its description and body: a name is a title, and
/// states nothing.
pub(super) fn contradiction(newer: [&str; 2], older: [&str; 2]) -> Option<String> {
    let statements = |[description, body]: [&str; 2]| -> Vec<Statement> {
        let said = units(body).into_iter().map(|unit| unit.text);
        std::iter::once(description.to_owned()).chain(said).map(|text| Statement::of(&text)).collect()
    };
    let (newer, older) = (statements(newer), statements(older));
    newer.iter().find_map(|one| older.iter().find_map(|other| one.opposes(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opposed(a: &str, b: &str) -> bool {
        contradiction(["", a], ["", b]).is_some()
    }

    #[test]
    fn what_one_denies_the_other_is_an_opposite() {
        for (a, b) in [
            ("Always squash commits before merging.", "Never squash commits before merging."),
            ("Always squash.", "Never squash."),
            ("Use tabs for indentation", "Don't use tabs for indentation"),
            ("Use tabs, not spaces", "Use spaces, not tabs"),
            ("Indent with tabs", "Indent with spaces"),
            ("The timeout of the gateway is 30 seconds.", "The timeout of the gateway is 60 seconds."),
            ("Run the migrations before the deploy.", "Run the migrations after the deploy."),
            ("提交前要运行测试", "提交前不要运行测试"),
            ("Deploys go out on Friday. Fine.", "Fine. Deploys can’t go out on Friday."),
        ] {
            assert!(opposed(a, b), "{a} / {b}");
            assert!(opposed(b, a), "{b} / {a}");
        }
    }

    #[test]
    fn what_says_the_same_or_something_else_is_none() {
        for (a, b) in [
            ("Always squash commits before merging.", "Squash all commits before merging."),
            ("Never push to main.", "Never push to main, never ever."),
            ("Run the tests. Never push to main.", "Never push to main. Run the tests."),
            ("The database is in Frankfurt.", "No deploys on Friday."),
            ("提交前要运行测试", "提交前运行全部测试"),
        ] {
            assert!(!opposed(a, b), "{a} / {b}: {:?}", contradiction(["", a], ["", b]));
        }
    }
}
