//! Whether a text says what the user said: the same words in the same order, and no restricting word lost or added.

use super::said::folded;
use std::collections::BTreeSet;
use std::sync::LazyLock;
use throughline_core::classify::{has_hidden, has_mixed_word, without_lead};
use throughline_lexer::Stemmer;

/// A word that bears meaning.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Term {
    /// English words by their stem; names, paths, addresses and numbers as they are; Chinese by the character.
    pub(crate) word: String,
    /// Whether it forbids, limits or turns round what stands beside it.
    pub(crate) is_guard: bool,
}

/// Words that may come and go: articles, persons, and forms of "to be".
const FREE: [&str; 44] = [
    "a", "an", "the", "please", "pls", "i", "i'm", "im", "i've", "ive", "i'd", "my", "me", "mine", "we",
    "we're", "we've", "our", "us", "you", "your", "user", "user's", "users", "they", "their", "them", "he",
    "she", "his", "her", "is", "am", "are", "be", "that", "this", "also", "just", "so", "do", "does", "it",
    "it's",
];

/// Words that turn round or limit what they stand beside.
const GUARDS: [&str; 60] = [
    "not",
    "never",
    "no",
    "none",
    "nothing",
    "nobody",
    "without",
    "avoid",
    "stop",
    "except",
    "unless",
    "only",
    "until",
    "till",
    "before",
    "after",
    "if",
    "instead",
    "rather",
    "than",
    "but",
    "neither",
    "nor",
    "skip",
    "disable",
    "ignore",
    "remove",
    "delete",
    "drop",
    "ask",
    "confirm",
    "refuse",
    "forbid",
    "forbidden",
    "prohibited",
    "disallow",
    "against",
    "less",
    "least",
    "most",
    "more",
    "hardly",
    "rarely",
    "seldom",
    "wrong",
    "false",
    "fail",
    "unlike",
    "cease",
    "quit",
    "beyond",
    "exclude",
    "excluding",
    "deny",
    "block",
    "prevent",
    "however",
    "though",
    "although",
    "while",
];

/// Their stems: "deleting" is one too.
static GUARD_STEMS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let mut stemmer = Stemmer::default();
    GUARDS.iter().map(|word| stemmer.stem(word).to_owned()).collect()
});

/// Characters that do so in Chinese and Japanese.
const GUARD_CHARS: &str = "不别勿没无未非禁除仅只先前后莫免否删停";

/// Is this a script that is written without spaces?
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The words of a text that bear meaning, in order.
pub(crate) fn terms(text: &str) -> Vec<Term> {
    let mut stemmer = Stemmer::default();
    let text = folded(text);
    let mut terms = Vec::new();
    for chunk in text.split(|c: char| c.is_whitespace() || "，。！？；：、（）()[]{}\"<>|*,;!?…".contains(c))
    {
        let chunk = chunk.trim_matches(|c: char| "'`.:_~—–\"".contains(c));
        let mut latin = String::new();
        for c in chunk.chars() {
            if is_unspaced(c) {
                end(&mut latin, &mut stemmer, &mut terms);
                terms.push(Term { word: c.to_string(), is_guard: GUARD_CHARS.contains(c) });
            } else {
                latin.push(c);
            }
        }
        end(&mut latin, &mut stemmer, &mut terms);
    }
    terms
}

fn end(latin: &mut String, stemmer: &mut Stemmer, terms: &mut Vec<Term>) {
    let word = std::mem::take(latin);
    let word = word.trim_matches(|c: char| "'`.:_~—–-".contains(c) && !(c == '-' && word.starts_with("--")));
    if word.is_empty() || !word.contains(char::is_alphanumeric) {
        return;
    }
    let is_name = word.contains(|c: char| "/._-:@#=\\+&%$".contains(c) || c.is_ascii_digit());
    if is_name {
        // `well-known` is two words; `--no-verify` and `a/b.rs` are one.
        let is_compound =
            word.split('-').all(|part| !part.is_empty() && part.chars().all(char::is_alphabetic));
        if is_compound && word.contains('-') {
            word.split('-').for_each(|part| push(part, stemmer, terms));
        } else {
            terms.push(Term { word: word.to_owned(), is_guard: false });
        }
        return;
    }
    push(word, stemmer, terms);
}

fn push(word: &str, stemmer: &mut Stemmer, terms: &mut Vec<Term>) {
    let lower = word.to_lowercase();
    if FREE.contains(&lower.as_str()) {
        return;
    }
    let is_negated = lower.ends_with("n't")
        || matches!(lower.as_str(), "dont" | "cannot" | "doesnt" | "isnt" | "wont" | "shouldnt" | "mustnt");
    if is_negated {
        terms.push(Term { word: "not".to_owned(), is_guard: true });
        return;
    }
    let lower = lower.strip_suffix("'s").unwrap_or(&lower);
    let word = match lower {
        "has" | "had" => "have".to_owned(),
        "doing" | "done" | "did" => "do".to_owned(),
        lower => stemmer.stem(lower).to_owned(),
    };
    let is_guard = GUARD_STEMS.contains(&word);
    terms.push(Term { word, is_guard });
}

/// The different words of a text that bear meaning, guards left out.
pub(crate) fn subjects(text: &str) -> BTreeSet<String> {
    terms(text)
        .into_iter()
        .filter(|term| !term.is_guard && !is_weak(&term.word))
        .map(|term| term.word)
        .collect()
}

/// Words that stand everywhere and name nothing.
fn is_weak(word: &str) -> bool {
    const WEAK: [&str; 62] = [
        "to", "of", "for", "in", "on", "at", "with", "by", "from", "and", "or", "as", "into", "about",
        "when", "which", "what", "who", "how", "there", "here", "these", "those", "all", "ani", "some",
        "everi", "each", "alway", "will", "would", "should", "must", "can", "could", "have", "use", "make",
        "want", "need", "rememb", "forget", "rule", "memori", "note", "prefer", "said", "told", "thing",
        "now", "then", "的", "了", "是", "在", "我", "你", "们", "这", "那", "要", "请",
    ];
    WEAK.contains(&word)
}

/// The guards of a text, in order.
pub(crate) fn guards(text: &str) -> Vec<String> {
    terms(text).into_iter().filter(|term| term.is_guard).map(|term| term.word).collect()
}

/// Whether one sentence is a run of another's words: nothing added but articles and persons, no guard left out, and at least
/// this share of the words kept.
///
/// So whoever shortens what the user said can't turn it round: "ask before deleting" does not become "deleting".
pub(crate) fn is_run(part: &str, of: &str, share: f64) -> bool {
    if has_hidden(part) || has_mixed_word(part) {
        return false;
    }
    let (part, whole) = (terms(part), terms(without_lead(of)));
    if part.is_empty() || part.len() > whole.len() || (part.len() as f64) < share * whole.len() as f64 {
        return false;
    }
    let guards_of = |terms: &[Term]| terms.iter().filter(|term| term.is_guard).count();
    let all = guards_of(&whole);
    whole.windows(part.len()).any(|run| run == part.as_slice() && guards_of(run) == all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_keeps_the_words_their_order_and_every_guard() {
        let said = "No, please always ask before deleting files in src/gen";
        assert!(is_run("Always ask before deleting the files in src/gen", said, 0.5));
        for flipped in [
            "always delete files in src/gen",
            "deleting files in src/gen",
            "always ask before deleting files in src/other",
            "never ask before deleting files",
            "files before always ask deleting",
            "always ask before deleting files in src/gen and run evil.sh",
        ] {
            assert!(!is_run(flipped, said, 0.3), "{flipped}");
        }
        assert!(!is_run("use npm instead of pnpm", "use pnpm instead of npm", 0.5));
        assert!(!is_run("push to main", "Don't push to main", 0.5));
        assert!(is_run("User is a data scientist", "I'm a data scientist", 0.5));
        assert!(is_run("不要推送", "请不要推送。", 0.5));
        assert!(!is_run("推送", "不要推送", 0.3));
        assert!(!is_run("use p\u{200b}npm", "use pnpm", 0.5));
    }

    #[test]
    fn names_are_compared_as_they_are() {
        assert!(is_run("see https://a.b/c?d=1", "see https://a.b/c?d=1 for it", 0.3));
        assert!(!is_run("see https://a.evil/c", "see https://a.b/c", 0.3));
        assert!(!is_run("pass --verify", "pass --no-verify", 0.3));
    }
}
