//! What the user said that holds beyond the task: preferences, and what they had to point out.
//!
//! A topic memory is kept for months on one sentence, so its bar is high. Here a sentence is one of many in a book that is made anew, stands
//! with its quote, and ages out: what corrects, lays down or wishes for a way of working is enough. What is only about the task at hand
//! never is.

use super::spot::{Spot, keywords};
use super::tell::Told;
use crate::extract::pattern::pattern_groups;
use crate::extract::said::Said;
use crate::extract::shape::is_global;
use crate::extract::signal::{Worth, excluded, gives_reason, worth};
use crate::extract::terms::subjects;
use crate::extract::wish::{self, Wish};
use crate::handbook::{Basis, FindingKind, Reach};
use crate::topics::TopicType;
use throughline_core::classify::SentenceKind::{Preference, Prohibition, Question, Reported, Stop};
use throughline_core::classify::{TypedSentence, plain, without_lead, without_quotes};
use throughline_core::text::one_line;

pattern_groups! {
    include_str!("../../../data/patterns/spoken.tsv");
    LIKES PRINCIPLE NO_NEED LASTING_THING ALWAYS GERUND IDIOM STANDARD ALIGNS FIRST INSTEAD WHERE_TO
    PUBLIC NOW NAMED_SYMBOL REPROACH ASKS_TESTS
}

const MOST_TOLD: usize = 8;
const MOST_KEPT: usize = 60;
const LONGEST: usize = 240;

/// What was said, so far.
#[derive(Debug, Default)]
pub(super) struct Spoken {
    kept: Vec<(u32, Told)>,
    asks_tests: Vec<(String, Spot)>,
}

impl Spoken {
    /// Takes in a message of the user.
    pub(super) fn said(&mut self, said: &Said, spot: &Spot) {
        let wishes = wish::of_sentences(&said.sentences);
        for (at, sentence) in said.sentences.iter().enumerate() {
            let reason = said
                .sentences
                .get(at + 1)
                .filter(|next| next.paragraph == sentence.paragraph && gives_reason(&next.text));
            let wish = wishes.iter().find(|wish| wish.sentence() == sentence.text);
            let weight = match wish {
                Some(Wish::Remember { what, .. }) if excluded(what).is_none() => 10,
                Some(_) => continue,
                None => weight(&sentence.text, reason.is_some()),
            };
            if weight > 0 {
                self.keep(weight, &said.sentences, at, reason, spot);
            } else if is_reproach(&sentence.text) {
                let text = format!("Had to be pointed out: “{}”", one_line(&sentence.text, 160));
                self.push(
                    5,
                    Told {
                        quote: None,
                        keywords: keywords([], &sentence.text, 6),
                        ..Told::new(FindingKind::Pitfall, Basis::Said, text, vec![spot.clone()])
                    },
                );
            } else if ASKS_TESTS.is_in(&sentence.text)
                && sentence.text.chars().count() <= 140
                && self.asks_tests.len() < 4
            {
                self.asks_tests.push((sentence.text.clone(), spot.clone()));
            }
        }
    }

    fn keep(
        &mut self,
        weight: u32,
        all: &[TypedSentence],
        at: usize,
        reason: Option<&TypedSentence>,
        spot: &Spot,
    ) {
        let Some(sentence) = all.get(at) else { return };
        let mut text = without_lead(&sentence.text).trim().to_owned();
        // "Avoid such shortcuts." says nothing without what stood before it.
        let before = at
            .checked_sub(1)
            .and_then(|before| all.get(before))
            .filter(|before| before.paragraph == sentence.paragraph);
        if subjects(&text).len() <= 3
            && let Some(before) = before.filter(|before| !Reported.is_in(&before.text))
        {
            // What goes on from a word about the task at hand is about it too.
            if NOW.is_in(&before.text) {
                return;
            }
            text = format!("{} {text}", without_lead(&before.text).trim());
        }
        if let Some(reason) = reason {
            text = format!("{text} {}", reason.text);
        }
        let kind = match worth(&sentence.text, reason.is_some()) {
            Worth::Keep(kind) | Worth::Maybe(kind) => kind,
            Worth::No(_) => TopicType::Feedback,
        };
        // Who somebody is holds everywhere; that a sentence has "I" in it does not make it so.
        let is_about_user = kind == TopicType::User && matches!(worth(&sentence.text, false), Worth::Keep(_));
        let scope = if is_about_user { TopicType::User } else { TopicType::Feedback };
        let reach = if is_global(&without_quotes(&text), scope) { Reach::Everywhere } else { Reach::Project };
        self.push(
            weight,
            Told {
                quote: Some(one_line(&sentence.text, LONGEST)).filter(|quote| !quote.ends_with('…')),
                keywords: keywords([], &text, 7),
                reach,
                ..Told::new(
                    // Where something is outside of the project is no wish.
                    match kind {
                        TopicType::Reference => FindingKind::Environment,
                        TopicType::User | TopicType::Feedback | TopicType::Project => FindingKind::Preference,
                    },
                    Basis::Said,
                    capital(&one_line(&text, LONGEST)),
                    vec![spot.clone()],
                )
            },
        );
    }

    fn push(&mut self, weight: u32, told: Told) {
        if let Some((known, same)) = self.kept.iter_mut().find(|(_, known)| known.text == told.text) {
            *known += 2;
            super::spot::note(&mut same.spots, &told.spots[0], 4);
            return;
        }
        self.kept.push((weight, told));
        if self.kept.len() > MOST_KEPT {
            self.kept.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
            self.kept.truncate(MOST_KEPT / 2);
        }
    }

    /// Whether anything was laid down.
    pub(super) fn told(mut self) -> Vec<Told> {
        self.kept.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
        let mut told: Vec<Told> = self.kept.into_iter().map(|(_, told)| told).take(MOST_TOLD).collect();
        if let Some((quote, _)) = self.asks_tests.first() {
            told.push(Told {
                quote: Some(one_line(quote, 160)),
                keywords: ["tests", "coverage"].map(str::to_owned).to_vec(),
                ..Told::new(
                    FindingKind::Preference,
                    Basis::Said,
                    "Asks for tests with a change".to_owned(),
                    self.asks_tests.iter().map(|(_, spot)| spot.clone()).collect(),
                )
            });
        }
        told
    }
}

/// How sure it is that a sentence holds beyond the task; nothing, if it is not.
fn weight(sentence: &str, has_reason: bool) -> u32 {
    let plain = plain(sentence);
    let plain = plain.as_str();
    let words = plain.split_whitespace().count();
    match worth(sentence, has_reason) {
        Worth::Keep(TopicType::User | TopicType::Feedback | TopicType::Reference) => return 9,
        // What is planned for a day is over before the book is read.
        Worth::Keep(TopicType::Project) | Worth::Maybe(_) | Worth::No(_) => {}
    }
    if Question.is_in(plain)
        || Reported.is_in(plain)
        || !(3..=60).contains(&words)
        || excluded(plain).is_some()
        || plain.ends_with(':')
    {
        return 0;
    }
    // Sentences about a symbol are about the code at hand.
    let is_at_hand = NOW.is_in(plain) || NAMED_SYMBOL.is_in(plain);
    let is_lasting = LASTING_THING.is_in(plain);
    let lays_down = Prohibition.is_in(plain) || Stop.is_in(plain) || ALWAYS.is_in(plain);
    let cues = [
        (PRINCIPLE.is_in(plain), 8),
        (PUBLIC.is_in(plain), 8),
        (FIRST.is_in(plain), 7),
        (STANDARD.is_in(plain), 6),
        ((Preference.is_in(plain) || LIKES.is_in(plain)) && !is_at_hand, 6),
        (NO_NEED.is_in(plain) && is_lasting && !is_at_hand, 6),
        (INSTEAD.is_in(plain) && !is_at_hand, 6),
        (lays_down && !is_at_hand && (is_lasting || has_reason || is_general(plain)), 5),
        (ALIGNS.is_in(plain) && !is_at_hand, 5),
        (WHERE_TO.is_in(plain), 5),
    ];
    cues.into_iter().filter(|(is, _)| *is).map(|(_, weight)| weight).max().unwrap_or(0)
}

/// Whether a sentence names a way of working rather than a thing: "avoid guessing".
fn is_general(plain: &str) -> bool {
    GERUND.is_in(plain) && !IDIOM.is_in(plain)
}

fn is_reproach(sentence: &str) -> bool {
    let words = sentence.split_whitespace().count();
    (2..=25).contains(&words) && REPROACH.is_in(&sentence.replace('’', "'"))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
