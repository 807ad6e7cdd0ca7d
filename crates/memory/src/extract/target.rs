//! Which memory a wish or a correction means.

use super::pattern::patterns;
use super::refusal::Refusal;
use crate::MemoryId;
use crate::recall::terms;
use crate::topics::Topic;
use std::collections::BTreeSet;
use throughline_core::classify::without_quotes;

patterns! {
    EVERYTHING = r"^(?:about |that )?(?:everything|anything|all of (?:it|them)|all (?:of )?(?:your |my |the |our )?(?:memor\w+|rules|notes|preferences|things))(?: (?:i|you|we|that|i've|you've|about me|about us)\b.{0,40})?\s*[.!]*$|^(?:所有|全部|一切)(?:的)?(?:记忆|内容|规则|东西|事情)?[。！!了]*$";
    CHANGES = r"\b(?:no longer|any ?more|instead|actually|changed?|now|moved|renamed|switch\w*|from now on|going forward|replac\w+|updat\w+|correct\w*|rather than|not \w+ but|wrong|isn't|aren't|don't|do not|stop|never|new)\b|不再|改成|改为|改用|现在|以后|换成|更新|应该是|而不是|不是|不要|别|错了";
}

/// A memory that is there.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) id: MemoryId,
    pub(super) topic: Topic,
}

/// Words that speak of memory itself, or of nothing in particular. As [`terms`] gives them.
const EMPTY: [&str; 34] = [
    "remember",
    "forget",
    "memori",
    "memory",
    "rule",
    "note",
    "prefer",
    "preference",
    "said",
    "say",
    "told",
    "tell",
    "thing",
    "know",
    "anymor",
    "anymore",
    "please",
    "pleas",
    "actual",
    "actually",
    "longer",
    "instead",
    "now",
    "rememb",
    "convention",
    "fact",
    "old",
    "need",
    "记忆",
    "规则",
    "记住",
    "忘掉",
    "忘记",
    "偏好",
];

/// What is named by a text: the share of its words that a memory must have.
const NAMED: f64 = 0.6;
/// Memories whose shares differ by less are equally meant.
const ALIKE: f64 = 0.15;

/// The words by which a text names something.
fn names(text: &str) -> BTreeSet<String> {
    terms(text).into_iter().filter(|word| !EMPTY.contains(&word.as_str())).collect()
}

/// The one memory that a text names.
pub(super) fn named<'k>(what: &str, known: &'k [Known]) -> Result<&'k Known, Refusal> {
    if EVERYTHING.is_in(what.trim()) {
        return Err(Refusal::TooBroad);
    }
    let wanted = names(what);
    if wanted.is_empty() {
        return Err(Refusal::NotNamed);
    }
    let mut scored: Vec<(f64, &Known)> =
        known.iter().map(|known| (score(&wanted, &known.topic), known)).collect();
    scored.retain(|(score, _)| *score >= NAMED);
    scored.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| x.id.file.cmp(&y.id.file)));
    let best = scored.first().map_or(0.0, |(score, _)| *score);
    scored.retain(|(score, _)| best - score < ALIKE);
    match scored.as_slice() {
        [] => Err(Refusal::NotNamed),
        [(_, one)] => Ok(one),
        several => {
            let candidates = several.iter().map(|(_, known)| known.id.file.clone()).collect();
            Err(Refusal::Ambiguous { candidates })
        }
    }
}

/// Whether a sentence asks to change what a memory says: it must name it, and say that something is otherwise or be about the very
/// same.
pub(super) fn is_changed(sentence: &str, known: &Known) -> bool {
    let said = names(sentence);
    let topic = &known.topic;
    let head = names(&format!("{} {}", topic.name, topic.description));
    let whole = names(&format!("{} {} {}", topic.name, topic.description, topic.body));
    let shared = said.intersection(&whole).count();
    let in_head = said.intersection(&head).count();
    // "Always push" says otherwise than "never push" without a word for it.
    let is_same = shared >= 2 && shared * 5 >= said.len() * 4 && shared * 5 >= head.len() * 4;
    let is_change = CHANGES.is_in(&without_quotes(sentence));
    in_head >= 1 && (is_same || (is_change && (shared >= 2 || shared * 2 >= said.len())))
}

/// The share of the words that a memory has, those in its name and description a little more.
fn score(wanted: &BTreeSet<String>, topic: &Topic) -> f64 {
    let share = |text: &str| {
        let has = names(text);
        wanted.intersection(&has).count() as f64 / wanted.len() as f64
    };
    let head = share(&format!("{} {}", topic.name, topic.description));
    let whole = share(&format!("{} {} {}", topic.name, topic.description, topic.body));
    whole * 0.8 + head * 0.2
}
