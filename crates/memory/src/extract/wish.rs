//! "Remember …" and "forget …", in English and Chinese (M4).
//!
//! A wish acts at once, so a false one costs more than one that was missed: what is quoted, pasted or asked is none, nor is a reminder for
//! the work at hand ("don't forget to run the tests"), nor an idiom ("forget it"), nor a feature ("remember the scroll position").

use super::pattern::pattern_groups;
use super::said::sentences;
use super::terms::terms;
use throughline_core::classify::{SentenceKind, TypedSentence, without_quotes};

/// What the user asks of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Something is to be remembered.
    Remember {
        /// What, in the user's words.
        what: String,
        /// The sentence that says so, verbatim.
        sentence: String,
    },
    /// Something is to be forgotten.
    Forget {
        /// What, in the user's words.
        what: String,
        /// The sentence that says so, verbatim.
        sentence: String,
    },
}

impl Wish {
    /// What it is about.
    pub fn what(&self) -> &str {
        match self {
            Self::Remember { what, .. } | Self::Forget { what, .. } => what,
        }
    }

    /// The sentence that says so.
    pub fn sentence(&self) -> &str {
        match self {
            Self::Remember { sentence, .. } | Self::Forget { sentence, .. } => sentence,
        }
    }
}

pattern_groups! {
    include_str!("../../data/patterns/wish.tsv");
    LEADS DURABLE STATES REMEMBER REMEMBER_ASIDE REMEMBER_TO SAVE NOT_FORGET FROM_NOW
    BACK TAIL IDIOM FORGET UNSAVE FOR_NOW ZH_LEAD ZH_REMEMBER ZH_FEATURE ZH_STATES ZH_NOT_FORGET ZH_FACT
    ZH_LATER ZH_BACK ZH_FORGET ZH_TAKE
}

/// What a text asks of memory, in the user's own words; in order. A text that asks for nothing has none.
///
/// ```
/// use throughline_memory::extract::{Wish, wishes};
///
/// let found = wishes("Remember that deploys go out on Tuesdays. 忘掉那条部署冻结的规则。");
/// assert!(matches!(&found[0], Wish::Remember { what, .. } if what == "deploys go out on Tuesdays."));
/// assert!(matches!(&found[1], Wish::Forget { what, .. } if what == "那条部署冻结的规则。"));
/// assert!(wishes("Do you remember the password?").is_empty());
/// assert!(wishes("Don't forget to run the tests.").is_empty());
/// ```
pub fn wishes(text: &str) -> Vec<Wish> {
    of_sentences(&sentences(text))
}

pub(crate) fn of_sentences(sentences: &[TypedSentence]) -> Vec<Wish> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(sentence) = sentences.get(at) {
        at += 1;
        match read(&sentence.text) {
            None => {}
            Some(Read::Remember(what)) => {
                found.push(Wish::Remember { what, sentence: sentence.text.clone() });
            }
            Some(Read::Forget(what)) => found.push(Wish::Forget { what, sentence: sentence.text.clone() }),
            // "Remember:" and a list.
            Some(Read::List) => {
                while let Some(item) = sentences.get(at).filter(|item| item.paragraph == sentence.paragraph) {
                    if !SentenceKind::Question.is_in(&item.text) {
                        let said = item.text.clone();
                        found.push(Wish::Remember { what: said.clone(), sentence: said });
                    }
                    at += 1;
                }
            }
            // "… Remember that."
            Some(Read::Back) => {
                let before = at.checked_sub(2).and_then(|before| sentences.get(before));
                let before = before.filter(|before| {
                    before.paragraph == sentence.paragraph && !SentenceKind::Question.is_in(&before.text)
                });
                let is_new = |said: &str| found.last().is_none_or(|wish: &Wish| wish.sentence() != said);
                if let Some(before) = before.filter(|before| is_new(&before.text)) {
                    let said = before.text.clone();
                    found.push(Wish::Remember { what: said.clone(), sentence: said });
                }
            }
        }
    }
    found
}

/// What one sentence asks for.
#[derive(Debug, PartialEq, Eq)]
enum Read {
    Remember(String),
    Forget(String),
    /// What follows is to be remembered.
    List,
    /// What stands before is to be remembered.
    Back,
}

fn read(sentence: &str) -> Option<Read> {
    let straight = sentence.replace('’', "'");
    let plain = without_quotes(&straight);
    if SentenceKind::Question.is_in(&plain) {
        return None;
    }
    english(&plain, &straight).or_else(|| chinese(&plain, &straight))
}

/// The end of a sentence as it was written, of which `rest` is the end with quotes blanked.
fn as_written(sentence: &str, plain: &str, rest: &str) -> String {
    // Leads hold no quotes: what is before the rest is the same in both.
    let at = plain.len() - rest.len();
    sentence.get(at..).unwrap_or(rest).trim().trim_end_matches(['?', '？']).trim().to_owned()
}

fn english(plain: &str, sentence: &str) -> Option<Read> {
    let start = LEADS.find(plain).map_or(0, |lead| lead.end);
    let rest = &plain[start..];
    let written = |tail: &str| as_written(sentence, plain, tail);
    if BACK.is_in(rest) {
        return Some(Read::Back);
    }
    if let Some(tail) = TAIL.find(plain) {
        let what = plain[..tail.start].trim();
        return is_telling(what)
            .then(|| Read::Remember(sentence.get(..tail.start).unwrap_or(what).trim().to_owned()));
    }
    if let Some(to) = REMEMBER_TO.find(rest) {
        // A reminder for now, unless it is for always.
        return DURABLE.is_in(plain).then(|| Read::Remember(written(&rest[to.end..]))).filter(told);
    }
    if let Some(head) = NOT_FORGET.find(rest).or_else(|| SAVE.find(rest)) {
        let what = &rest[head.end..];
        return if what.trim().is_empty() {
            rest.trim_end().ends_with(':').then_some(Read::List)
        } else {
            Some(Read::Remember(written(what))).filter(told)
        };
    }
    if let Some(head) = REMEMBER.find(rest).filter(|_| !REMEMBER_ASIDE.is_in(rest)) {
        let groups = REMEMBER.groups(rest).unwrap_or_default();
        let (that, mark) =
            (groups.get(1).copied().unwrap_or_default(), groups.get(2).copied().unwrap_or_default());
        let what = &rest[head.end..];
        if what.trim().is_empty() {
            return (!mark.is_empty()).then_some(Read::List);
        }
        let is_statement = !that.is_empty() || !mark.is_empty() || STATES.is_in(what) || DURABLE.is_in(what);
        return is_statement.then(|| Read::Remember(written(what))).filter(told);
    }
    if let Some(what) = forgotten(rest) {
        return Some(Read::Forget(written_middle(sentence, what)));
    }
    if FROM_NOW.is_in(plain) && !FOR_NOW.is_in(plain) {
        let groups = FROM_NOW.groups(plain)?;
        let what = groups.iter().skip(1).find(|group| !group.is_empty())?;
        return Some(Read::Remember(written_middle(sentence, what))).filter(told);
    }
    None
}

fn forgotten(rest: &str) -> Option<&str> {
    if IDIOM.is_in(rest) || FOR_NOW.is_in(rest) {
        return None;
    }
    let groups = FORGET.groups(rest).or_else(|| UNSAVE.groups(rest))?;
    groups.into_iter().skip(1).find(|group| !group.is_empty()).filter(|what| !terms(what).is_empty())
}

/// What a group holds, as it was written: with its quotes, if they are still there.
fn written_middle(sentence: &str, what: &str) -> String {
    let trimmed = what.trim();
    match trimmed.split_once('…') {
        None => trimmed.to_owned(),
        Some((before, _)) => match sentence.find(before.trim()) {
            Some(at) => sentence[at..].trim().to_owned(),
            None => trimmed.to_owned(),
        },
    }
}

fn chinese(plain: &str, sentence: &str) -> Option<Read> {
    if plain.is_ascii() {
        return None;
    }
    let start = ZH_LEAD.find(plain).map_or(0, |lead| lead.end);
    let rest = plain[start..].trim_start();
    let written = |tail: &str| as_written(sentence, plain, tail);
    if ZH_FEATURE.is_in(rest) {
        return None;
    }
    if ZH_BACK.is_in(rest) {
        return Some(Read::Back);
    }
    if let Some(head) = ZH_REMEMBER.find(rest) {
        let mark = ZH_REMEMBER.groups(rest).and_then(|groups| groups.get(1).map(|mark| !mark.is_empty()));
        let what = &rest[head.end..];
        if what.trim().is_empty() {
            return mark.filter(|is| *is).map(|_| Read::List);
        }
        let is_statement = mark == Some(true) || ZH_STATES.is_in(what);
        return is_statement.then(|| Read::Remember(written(what))).filter(told);
    }
    if let Some(head) = ZH_NOT_FORGET.find(rest) {
        let what = &rest[head.end..];
        return (DURABLE.is_in(what) || ZH_FACT.is_in(what))
            .then(|| Read::Remember(written(what)))
            .filter(told);
    }
    if ZH_LATER.is_in(rest) && !FOR_NOW.is_in(rest) {
        return Some(Read::Remember(written(rest))).filter(told);
    }
    if let Some(groups) = ZH_TAKE.groups(rest) {
        let what = groups.into_iter().skip(1).find(|group| !group.is_empty())?;
        return Some(Read::Forget(what.trim().to_owned())).filter(told);
    }
    if let Some(head) = ZH_FORGET.find(rest) {
        let of = ZH_FORGET.groups(rest).and_then(|groups| groups.get(1).map(|of| of.len())).unwrap_or(0);
        return Some(Read::Forget(written(&rest[head.end - of..]))).filter(told);
    }
    None
}

fn told(read: &Read) -> bool {
    match read {
        Read::Remember(what) | Read::Forget(what) => is_telling(what),
        Read::List | Read::Back => true,
    }
}

/// Whether there are enough words to say something.
fn is_telling(what: &str) -> bool {
    terms(what).len() >= 2
}
