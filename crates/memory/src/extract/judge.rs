//! The judgement of the gate: from a proposal and the user's words to what may be written. It touches nothing.

use super::anchors::anchors;
use super::borne;
use super::dates::absolute;
use super::proposal::{Action, Proposal};
use super::refusal::Refusal;
use super::said::{Said, folded};
use super::shape::{Shaped, Words, is_global, split_reason, title};
use super::signal::{self, Worth, confirms, gives_reason, worth};
use super::target::{self, Known};
use super::terms::{guards, subjects, terms};
use super::wish::{self, Wish};
use crate::Tier;
use crate::topics::{Anchor, By, Source, TopicType};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::path::Path;
use throughline_core::SessionId;
use throughline_core::classify::{TypedSentence, without_lead, without_quotes};

/// Quotes of one proposal at most.
const MOST_QUOTES: usize = 4;
/// Sentences that one proposal may rest on.
const MOST_SENTENCES: usize = 8;

/// What the gate judges by.
pub(super) struct Scene<'a> {
    /// What the user said, oldest message first.
    pub(super) said: &'a [Said],
    /// How many of these were looked at before: nothing rests on them alone.
    pub(super) old: usize,
    /// What is remembered, and holds.
    pub(super) known: &'a [Known],
    /// Project instructions.
    pub(super) instructions: &'a [String],
    /// What was recalled into this session.
    pub(super) recalled: &'a [String],
    pub(super) session: &'a SessionId,
    pub(super) now: Timestamp,
    pub(super) zone: &'a TimeZone,
    pub(super) root: Option<&'a Path>,
}

/// What may be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ruling {
    /// This is to be remembered.
    Add(Draft),
    /// This takes the place of what a memory says.
    Replace {
        /// The memory.
        target: crate::MemoryId,
        /// What it is to say.
        draft: Draft,
    },
    /// This is to be forgotten.
    Forget {
        /// The memory.
        target: crate::MemoryId,
        /// The words that ask for it.
        quote: String,
    },
}

/// A memory, ready to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) kind: TopicType,
    pub(super) tier: Tier,
    pub(super) words: Shaped,
    pub(super) source: Source,
    pub(super) anchors: Vec<Anchor>,
}

/// Where a proposal's quotes stand.
struct Basis<'a> {
    /// The sentences, in the order in which they were said.
    sentences: Vec<(&'a Said, &'a TypedSentence)>,
}

/// What a sentence says to memory.
struct Rule<'a> {
    said: &'a Said,
    sentence: &'a TypedSentence,
    /// The rule itself: without "remember that".
    text: String,
    /// By the words; `None` if whoever proposes may say.
    kind: Option<TopicType>,
}

impl<'a> Scene<'a> {
    /// What may be written of a proposal.
    pub(super) fn judge(&self, proposal: &Proposal) -> Result<Ruling, Refusal> {
        let basis = self.basis(proposal)?;
        match &proposal.action {
            Action::Add => Ok(Ruling::Add(self.draft(proposal, &basis)?)),
            Action::Update { file } => {
                let known = self.target(file)?;
                if !basis.sentences.iter().any(|(_, sentence)| target::is_changed(&sentence.text, known)) {
                    return Err(Refusal::NotNamed);
                }
                Ok(Ruling::Replace { target: known.id.clone(), draft: self.draft(proposal, &basis)? })
            }
            Action::Forget { file } => {
                let known = self.target(file)?;
                let wish = basis.sentences.iter().find_map(|(said, sentence)| {
                    let wishes = wish::of_sentences(&said.sentences);
                    wishes
                        .into_iter()
                        .find(|wish| matches!(wish, Wish::Forget { .. }) && wish.sentence() == sentence.text)
                });
                let wish = wish.ok_or(Refusal::NotAsked)?;
                self.forget(&wish, Some(known))
            }
        }
    }

    /// What a wish to forget means; of a certain memory, if one is proposed.
    pub(super) fn forget(&self, wish: &Wish, proposed: Option<&Known>) -> Result<Ruling, Refusal> {
        let known = target::named(wish.what(), self.known)?;
        if proposed.is_some_and(|proposed| proposed.id != known.id) {
            return Err(Refusal::NotNamed);
        }
        Ok(Ruling::Forget { target: known.id.clone(), quote: wish.sentence().to_owned() })
    }

    /// A memory by its file's name: the name alone, as listed.
    fn target(&self, file: &str) -> Result<&'a Known, Refusal> {
        let none = || Refusal::NoMemory { file: file.to_owned() };
        let mut found =
            self.known.iter().filter(|known| known.id.file == file || known.id.to_string() == file);
        let first = found.next().ok_or_else(none)?;
        let others: Vec<String> = found.map(|known| known.id.to_string()).collect();
        if others.is_empty() {
            return Ok(first);
        }
        Err(Refusal::Ambiguous { candidates: std::iter::once(first.id.to_string()).chain(others).collect() })
    }

    /// Finds the quotes in what the user typed.
    fn basis(&self, proposal: &Proposal) -> Result<Basis<'a>, Refusal> {
        let quotes: Vec<&String> = proposal.quotes.iter().filter(|quote| !quote.trim().is_empty()).collect();
        if quotes.is_empty() {
            return Err(Refusal::NotSaid);
        }
        let mut places: Vec<(usize, usize)> = Vec::new();
        for quote in quotes.iter().take(MOST_QUOTES) {
            let at = self.find(quote, proposal).ok_or_else(|| self.not_said(quote))?;
            places.extend(at.1.map(|sentence| (at.0, sentence)));
        }
        places.sort_unstable();
        places.dedup();
        if !places.iter().any(|(message, _)| *message >= self.old) {
            return Err(Refusal::NotSaid);
        }
        if places.len() > MOST_SENTENCES {
            return Err(Refusal::NotLasting);
        }
        let sentence = |(message, at): (usize, usize)| {
            let said = self.said.get(message)?;
            Some((said, said.sentences.get(at)?))
        };
        Ok(Basis { sentences: places.into_iter().filter_map(sentence).collect() })
    }

    /// In the message that is named, else in the newest that has it.
    fn find(&self, quote: &str, proposal: &Proposal) -> Option<(usize, std::ops::Range<usize>)> {
        let is_named = |said: &Said| Some(&said.message) == proposal.message.as_ref();
        let all = || self.said.iter().enumerate().rev();
        all()
            .filter(|(_, said)| is_named(said))
            .chain(all())
            .find_map(|(at, said)| Some((at, said.find(quote)?)))
    }

    fn not_said(&self, quote: &str) -> Refusal {
        let quote = folded(quote.trim());
        let is_recalled = self.recalled.iter().any(|text| folded(text).contains(&quote));
        if is_recalled { Refusal::Recalled } else { Refusal::NotSaid }
    }

    fn draft(&self, proposal: &Proposal, basis: &Basis<'a>) -> Result<Draft, Refusal> {
        let rule = self.rule(basis)?;
        if self.is_instructed(&rule.text) {
            return Err(Refusal::InInstructions);
        }
        let today = rule.said.at.unwrap_or(self.now).to_zoned(self.zone.clone()).date();
        let kind = rule.kind.or(proposal.kind).unwrap_or_else(|| signal::guess(&rule.text));
        let words = self.words(proposal, basis, &Rule { kind: Some(kind), ..rule.same() }, today);
        let quote =
            basis.sentences.iter().map(|(_, sentence)| sentence.text.as_str()).collect::<Vec<_>>().join(" ");
        let mut messages: Vec<String> =
            basis.sentences.iter().map(|(said, _)| said.message.to_string()).collect();
        messages.dedup();
        Ok(Draft {
            kind,
            tier: tier(&quote, signal_kind(&rule), proposal.tier),
            words,
            anchors: anchors(&quote, self.root),
            source: Source {
                by: By::User,
                session: Some(self.session.to_string()),
                messages,
                at: rule.said.at.unwrap_or(self.now),
                quote,
            },
        })
    }

    /// The sentence that says what is to be remembered.
    fn rule(&self, basis: &Basis<'a>) -> Result<Rule<'a>, Refusal> {
        let mut refusal = None;
        let mut maybe = None;
        let is_confirmed = basis.sentences.iter().any(|(_, sentence)| confirms(&sentence.text));
        for (at, (said, sentence)) in basis.sentences.iter().copied().enumerate() {
            let next = basis.sentences.get(at + 1).is_some_and(|(_, next)| gives_reason(&next.text));
            let rule = |text: &str, kind| Rule { said, sentence, text: text.to_owned(), kind };
            if let Some(wish) = wished(said, sentence) {
                match excluded(&wish) {
                    Some(why) => refusal = refusal.or(Some(why)),
                    None => {
                        let kind = match worth(&wish, next) {
                            Worth::Keep(kind) => Some(kind),
                            Worth::Maybe(_) | Worth::No(_) => Some(signal::guess(&wish)),
                        };
                        return Ok(rule(&wish, kind));
                    }
                }
                continue;
            }
            let text = sentence.text.as_str();
            match worth(text, next) {
                Worth::Keep(kind) => return Ok(rule(text, Some(kind))),
                Worth::Maybe(_) if gives_reason(text) => {}
                Worth::Maybe(_) => maybe = maybe.or(Some(rule(text, None))),
                // What was asked for once, and confirmed when it was done, is how it is to be done.
                Worth::No(Refusal::CurrentTask | Refusal::NotLasting)
                    if is_confirmed
                        && !confirms(text)
                        && excluded(text).is_none()
                        && subjects(text).len() >= 2 =>
                {
                    maybe = maybe.or(Some(rule(text, Some(TopicType::Feedback))));
                }
                Worth::No(why) => refusal = refusal.or(Some(why)),
            }
        }
        maybe.ok_or(refusal.unwrap_or(Refusal::NotLasting))
    }

    /// The words of the memory: those proposed as far as the user's bear them out, else the user's own.
    fn words(&self, proposal: &Proposal, basis: &Basis<'_>, rule: &Rule<'_>, today: Date) -> Shaped {
        let kind = rule.kind.unwrap_or(TopicType::Project);
        let reason = basis
            .sentences
            .iter()
            .map(|(_, sentence)| sentence)
            .find(|sentence| **sentence != rule.sentence && gives_reason(&sentence.text));
        let own = Words { kind, rule: &rule.text, reason: reason.map(|reason| reason.text.as_str()), today }
            .shape();
        let mut sources: Vec<String> = Vec::new();
        for (_, sentence) in &basis.sentences {
            sources.push(sentence.text.clone());
            sources.push(absolute(&sentence.text, today));
        }
        let reasons: Vec<String> =
            sources.iter().filter_map(|source| split_reason(source).1).map(str::to_owned).collect();
        let Some(body) = borne::body(&proposal.body, &sources, &reasons) else { return own };
        let description =
            borne::line(&proposal.description, &sources).unwrap_or_else(|| own.description.clone());
        let name = borne::line(&proposal.name, &sources).map_or(own.name, |name| title(&name));
        Shaped { name, description, body }
    }

    /// Whether project instructions say it already.
    fn is_instructed(&self, rule: &str) -> bool {
        let (wanted, limits) = (subjects(rule), guards(without_lead(rule)));
        if wanted.len() < 2 {
            return false;
        }
        let says = |line: &str| {
            let has = subjects(line);
            let shared = wanted.intersection(&has).count();
            shared * 10 >= wanted.len() * 9
                && guards(line).iter().filter(|guard| limits.contains(guard)).count() >= limits.len()
        };
        self.instructions.iter().flat_map(|text| text.lines()).any(says)
    }
}

impl<'a> Rule<'a> {
    fn same(&self) -> Rule<'a> {
        Rule { said: self.said, sentence: self.sentence, text: self.text.clone(), kind: self.kind }
    }
}

/// What the words alone say the rule is about: nobody who proposes makes it wider.
fn signal_kind(rule: &Rule<'_>) -> TopicType {
    rule.kind.unwrap_or_else(|| signal::guess(&rule.text))
}

/// Where it holds. Whoever proposes may narrow that.
fn tier(quote: &str, kind: TopicType, proposed: Option<Tier>) -> Tier {
    let is_global = is_global(&without_quotes(quote), kind);
    match proposed {
        Some(Tier::Project | Tier::Worktree | Tier::Team) => Tier::Project,
        Some(Tier::Global) | None if is_global => Tier::Global,
        Some(Tier::Global) | None => Tier::Project,
    }
}

/// What a sentence asks to remember.
fn wished(said: &Said, sentence: &TypedSentence) -> Option<String> {
    wish::of_sentences(&said.sentences).into_iter().find_map(|wish| match wish {
        Wish::Remember { what, sentence: whole } if whole == sentence.text => Some(what),
        Wish::Remember { .. } | Wish::Forget { .. } => None,
    })
}

/// What is not saved even on request.
fn excluded(text: &str) -> Option<Refusal> {
    let plain = without_quotes(&text.replace('’', "'"));
    if terms(text).len() < 2 {
        return Some(Refusal::NotLasting);
    }
    signal::excluded(plain.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use throughline_core::{Message, Role};

    const WORDS: [&str; 22] = [
        "always", "never", "use", "tabs", "before", "commits", "not", "ask", "without", "review", "evil.sh",
        "the", "user", "push", "main", "instead", "of", "because", "Friday", "不要", "推送", "因为",
    ];

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(WORDS.to_vec()), 1..9).prop_map(|words| words.join(" "))
    }

    proptest! {
        #[test]
        fn whatever_is_proposed_only_words_of_the_user_are_written(
            said in prop::collection::vec(text(), 1..4),
            (name, description, body) in (text(), text(), text()),
            (reason, from, len) in (text(), 0usize..40, 4usize..60),
        ) {
            let words = said.join(". ");
            let message = Message::text(Role::User, words.clone());
            let all = [Said::of(&message)];
            let quote: String = words.chars().skip(from.min(words.chars().count() / 2)).take(len).collect();
            let proposal = Proposal {
                name, description, body: format!("{body}.\n\n**Why:** {reason}"), kind: Some(TopicType::User), tier: Some(Tier::Global),
                ..Proposal::of_words(vec![quote], message.id.clone())
            };
            let scene = Scene {
                said: &all, old: 0, known: &[], instructions: &[], recalled: &[], session: &SessionId::new("s"),
                now: Timestamp::UNIX_EPOCH, zone: &TimeZone::UTC, root: None,
            };
            if let Ok(Ruling::Add(draft)) = scene.judge(&proposal) {
                prop_assert!(words.contains(&draft.source.quote) || folded(&words).contains(&folded(&draft.source.quote)));
                let plain = draft.words.body.replace("**Why:**", " ").replace("**How to apply:**", " ");
                let own = terms(&words);
                for text in [&draft.words.name, &draft.words.description, &plain] {
                    for term in terms(text).into_iter().filter(|term| !term.word.starts_with("1970")) {
                        let cut = term.word.ends_with('…');
                        prop_assert!(cut || own.contains(&term), "{term:?} of {text:?} is not in {words:?}");
                    }
                }
                // No limit of the sentences that it rests on is lost.
                let rule = draft.words.body.clone();
                let sentence = all[0].sentences.iter().find(|sentence| {
                    guards(without_lead(&sentence.text)).iter().all(|guard| guards(&rule).contains(guard))
                });
                prop_assert!(sentence.is_some(), "{rule:?} of {words:?}");
            }
        }
    }
}
