//! What a person writes down by command, in the shape of a memory.

use super::dates::absolute;
use super::refusal::Refusal;
use super::said::sentences;
use super::shape::{Words, is_global};
use super::signal::{excluded, gives_reason, guess};
use crate::topics::TopicType;
use jiff::civil::Date;
use throughline_core::classify::{SentenceKind, plain, without_quotes};

/// A memory made of what a person wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// What it is about: as said, or by its words.
    pub kind: TopicType,
    /// What it is called.
    pub name: String,
    /// When it helps, in a line.
    pub description: String,
    /// What is to be remembered.
    pub body: String,
    /// Whether its words say that it holds in every project.
    pub is_global: bool,
    /// Why such a thing is not remembered (M2), as far as its words tell.
    pub objection: Option<Refusal>,
}

/// Gives what a person wrote the shape of a memory. A sentence, or one and its reason, is put as M2 says; anything longer stays as it
/// was written. Expressions such as "tomorrow" get their date in both cases.
///
/// ```
/// use jiff::civil::date;
/// use throughline_memory::extract::written;
///
/// let made = written("Don't mock the database, because it hid a broken migration", None, date(2026, 3, 2));
/// assert_eq!(made.kind.name(), "feedback");
/// assert_eq!(made.body, "Don't mock the database.\n\n**Why:** It hid a broken migration.");
/// ```
pub fn written(text: &str, kind: Option<TopicType>, today: Date) -> Written {
    let text = text.trim();
    let said: Vec<String> = sentences(text).into_iter().map(|sentence| sentence.text).collect();
    let first = said.first().map_or(text, String::as_str);
    let kind = kind.unwrap_or_else(|| guess(first));
    let objection = said.iter().find_map(|sentence| excluded(&plain(sentence)));
    let asks = SentenceKind::Question.is_in(without_quotes(first).trim());
    let reason = said.get(1).map(String::as_str).filter(|second| gives_reason(second));
    let shaped = Words { kind, rule: first, reason, today }.shape();
    let is_short = !text.contains('\n') && said.len() == 1 + usize::from(reason.is_some());
    Written {
        kind,
        name: shaped.name,
        description: shaped.description,
        body: if is_short { shaped.body } else { absolute(text, today) },
        is_global: is_global(text, kind),
        objection: objection.or_else(|| asks.then_some(Refusal::Question)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    const TODAY: Date = date(2026, 3, 2);

    #[test]
    fn what_is_long_stays_as_it_was_written() {
        let text = "Deploys:\n\n- staging first\n- then production, tomorrow";
        let made = written(text, None, TODAY);
        assert_eq!(made.body, format!("{text} (2026-03-03)"));
        assert!(!made.name.is_empty() && !made.name.contains('\n'), "{made:?}");
        let made = written("Use tabs. Use LF. Use UTF-8.", Some(TopicType::Feedback), TODAY);
        assert_eq!(made.body, "Use tabs. Use LF. Use UTF-8.");
    }

    #[test]
    fn m2_what_is_never_saved_is_told() {
        let why = |text: &str| written(text, None, TODAY).objection;
        assert_eq!(why("The fix is to clear the cache."), Some(Refusal::FixRecipe));
        assert_eq!(why("We are working on the parser right now."), Some(Refusal::CurrentTask));
        assert_eq!(why("Where are the docs?"), Some(Refusal::Question));
        assert_eq!(why("Never push on Fridays."), None);
    }

    #[test]
    fn a_text_without_a_sentence_is_a_memory_all_the_same() {
        let made = written("```\ncode\n```", None, TODAY);
        assert_eq!(made.body, "```\ncode\n```");
        let made = written("", None, TODAY);
        assert_eq!((made.body.as_str(), made.objection), ("", None));
    }
}
