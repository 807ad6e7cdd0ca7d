//! The offline scribe: what of the user's own sentences is worth keeping, by their words alone.
//!
//! It proposes; the gate decides, for it as for a model.

use super::proposal::Proposal;
use super::refusal::Refusal;
use super::said::Said;
use super::signal::{Worth, confirms, excluded, gives_reason, worth};
use super::terms::subjects;
use super::wish::{self, Wish};
use throughline_core::classify::{SentenceKind, TypedSentence};

/// What is worth keeping of what the user said; the first `old` messages are only looked back at.
pub(super) fn proposals(said: &[Said], old: usize) -> Vec<Proposal> {
    let mut found = Vec::new();
    for (at, message) in said.iter().enumerate().skip(old) {
        let wishes = wish::of_sentences(&message.sentences);
        for (place, sentence) in message.sentences.iter().enumerate() {
            let reason = reason_of(&message.sentences, place);
            let mut quotes = vec![sentence.text.clone()];
            let wish = wishes.iter().find(|wish| wish.sentence() == sentence.text);
            let is_kept = match wish {
                Some(Wish::Remember { .. }) => true,
                Some(Wish::Forget { .. }) => false,
                None => matches!(worth(&sentence.text, reason.is_some()), Worth::Keep(_)),
            };
            if is_kept {
                quotes.extend(reason.map(|reason| reason.text.clone()));
                found.push(Proposal::of_words(quotes, message.message.clone()));
            } else if wish.is_none() && confirms(&sentence.text) {
                let confirmed = at.checked_sub(1).and_then(|before| confirmed(&said[before]));
                if let Some(rule) = confirmed {
                    quotes.insert(0, rule.text.clone());
                    found.push(Proposal::of_words(quotes, message.message.clone()));
                }
            }
        }
    }
    found
}

/// The sentence behind this one, if it gives a reason for it.
fn reason_of(sentences: &[TypedSentence], at: usize) -> Option<&TypedSentence> {
    let (sentence, next) = (sentences.get(at)?, sentences.get(at + 1)?);
    (next.paragraph == sentence.paragraph && gives_reason(&next.text) && !gives_reason(&sentence.text))
        .then_some(next)
}

/// What the message before asked for, if that is one thing: "keep doing it like that" then means it.
fn confirmed(before: &Said) -> Option<&TypedSentence> {
    let mut asked = before.sentences.iter().filter(|sentence| {
        let text = sentence.text.as_str();
        let is_asked = match worth(text, false) {
            Worth::Maybe(_) | Worth::No(Refusal::CurrentTask) => true,
            Worth::Keep(_) | Worth::No(_) => false,
        };
        is_asked
            && !SentenceKind::Question.is_in(text)
            && excluded(text).is_none()
            && subjects(text).len() >= 2
    });
    match (asked.next(), asked.next()) {
        (Some(one), None) => Some(one),
        _ => None,
    }
}
