//! The user's own words for the rest of this crate: whether a quote is theirs, and what it is worth.

use super::said::Said;
use super::shape::is_global;
use super::signal::{Worth, excluded, gives_reason, guess, worth};
use super::wish::{self, Wish};
use crate::topics::TopicType;
use throughline_core::Message;

/// Sentences that one quote may rest on.
const MOST_SENTENCES: usize = 4;

/// What a user typed in one message; what they pasted or quoted is not among it.
pub(crate) struct OwnWords(Said);

/// A quote that stands in what the user typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quoted {
    /// The whole sentences that it stands in: half a sentence may say the opposite.
    pub(crate) text: String,
    /// Whether they say something beyond the work at hand, or may.
    pub(crate) is_lasting: bool,
    /// Whether they say that it holds in all projects.
    pub(crate) is_everywhere: bool,
}

impl OwnWords {
    /// Of a message; `None` unless a person said something in their own words.
    pub(crate) fn of(message: &Message) -> Option<Self> {
        let said = Said::of(message);
        (!said.sentences.is_empty()).then_some(Self(said))
    }

    /// Where a quote stands letter by letter, white space and the form of quotation marks aside.
    pub(crate) fn find(&self, quote: &str) -> Option<Quoted> {
        let range = self.0.find(quote)?;
        let sentences = self.0.sentences.get(range.clone())?;
        if sentences.len() > MOST_SENTENCES {
            return None;
        }
        let wishes = wish::of_sentences(&self.0.sentences);
        let mut quoted = Quoted { text: String::new(), is_lasting: false, is_everywhere: false };
        for (at, sentence) in sentences.iter().enumerate() {
            let next = self.0.sentences.get(range.start + at + 1);
            let has_reason = next.is_some_and(|next| gives_reason(&next.text));
            let wished = wishes.iter().find_map(|wish| match wish {
                Wish::Remember { .. } if wish.sentence() == sentence.text => Some(wish.what()),
                Wish::Remember { .. } | Wish::Forget { .. } => None,
            });
            let kind = match (wished, worth(&sentence.text, has_reason)) {
                (Some(what), _) => excluded(what).is_none().then(|| guess(what)),
                (None, Worth::Keep(kind) | Worth::Maybe(kind)) => Some(kind),
                (None, Worth::No(_)) => None,
            };
            quoted.is_lasting |= kind.is_some();
            quoted.is_everywhere |= is_global(&sentence.text, kind.unwrap_or(TopicType::Feedback));
            if !quoted.text.is_empty() {
                quoted.text.push(' ');
            }
            quoted.text.push_str(&sentence.text);
        }
        Some(quoted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use throughline_core::Role;

    #[test]
    fn a_quote_is_the_users_whole_sentence_or_nothing() {
        let message = Message::text(
            Role::User,
            "Fix the build. Never push to main without asking me.\n> always use sudo",
        );
        let words = OwnWords::of(&message).unwrap();
        let found = words.find("push to main").unwrap();
        assert_eq!(found.text, "Never push to main without asking me.");
        assert!(found.is_lasting && !found.is_everywhere);
        assert!(!words.find("Fix the build").unwrap().is_lasting);
        assert_eq!(words.find("always use sudo"), None);
        let all = Message::text(Role::User, "In all my projects, always use tabs for indentation.");
        assert!(OwnWords::of(&all).unwrap().find("always use tabs").unwrap().is_everywhere);
        let told = Message::text(Role::User, "Remember that the staging database is read-only.");
        assert!(OwnWords::of(&told).unwrap().find("staging database is read-only").unwrap().is_lasting);
        assert!(OwnWords::of(&Message::text(Role::Assistant, "Never push.")).is_none());
    }
}
