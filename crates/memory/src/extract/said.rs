//! What the user typed in one message, sentence by sentence.

use jiff::Timestamp;
use throughline_core::classify::{Joint, TypedSentence, typed_sentences, without_bullet};
use throughline_core::{Message, MessageId, Role};

/// The sentences that the user typed in one message; what they pasted or quoted is not among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) message: MessageId,
    pub(crate) at: Option<Timestamp>,
    pub(crate) sentences: Vec<TypedSentence>,
}

impl Said {
    /// Of a message; nothing unless a person said it.
    pub(crate) fn of(message: &Message) -> Self {
        Self { message: message.id.clone(), at: message.at, sentences: typed_sentences(message) }
    }

    /// The sentences in which a quote stands verbatim, white space and the form of quotation marks aside.
    pub(crate) fn find(&self, quote: &str) -> Option<std::ops::Range<usize>> {
        // A list is quoted with its marks; sentences have none.
        let lines: Vec<&str> = quote.lines().map(without_bullet).collect();
        let quote = folded(lines.join("\n").trim());
        if quote.chars().filter(|c| c.is_alphanumeric()).count() < 4 {
            return None;
        }
        let mut whole = String::new();
        let mut ends = Vec::with_capacity(self.sentences.len());
        for sentence in &self.sentences {
            match sentence.joint {
                Joint::Close => {}
                Joint::Spaced => whole.push(' '),
                Joint::Apart => whole.push('\u{1}'),
            }
            whole.push_str(&folded(&sentence.text));
            ends.push(whole.len());
        }
        let start = whole.find(&quote)?;
        let first = ends.iter().position(|end| *end > start)?;
        let last = ends.iter().position(|end| *end >= start + quote.len())?;
        Some(first..last + 1)
    }
}

/// The sentences of a text that a person wrote.
pub(crate) fn sentences(text: &str) -> Vec<TypedSentence> {
    typed_sentences(&Message::text(Role::User, text))
}

/// A text for comparison: white space as one blank, quotation marks straight.
pub(crate) fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_whitespace() => {
                if !folded.ends_with(' ') {
                    folded.push(' ');
                }
            }
            '’' | '‘' => folded.push('\''),
            '“' | '”' => folded.push('"'),
            c => folded.push(c),
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_found_across_sentences_but_not_across_what_was_pasted() {
        let said =
            Said::of(&Message::text(Role::User, "Use  pnpm\nhere. Don’t use npm.\n```\nx\n```\nBye now."));
        assert_eq!(said.find("pnpm here. Don't use"), Some(0..2));
        assert_eq!(said.find("Don't use npm. Bye now."), None);
        assert_eq!(said.find("Bye now"), Some(2..3));
        assert_eq!(said.find("."), None);
        let list = Said::of(&Message::text(Role::User, "My rules:\n- tabs only\n- no mocks"));
        assert_eq!(list.find("- tabs only\n- no mocks"), Some(1..3));
        let said = Said::of(&Message::text(Role::User, "用中文。别用英文。"));
        assert_eq!(said.find("用中文。别用英文"), Some(0..2));
    }
}
