//! A session in sections that a model can read one at a time, by real token counts.
//!
//! Memory follows the number of sections that are kept, not the session: a section is complete before the next one begins, and if there
//! are too many, those go in which the user said least. The first, where the task is set, and the last, where it ends, stay.

use super::transcript::{Passage, Voice};
use crate::handbook::HandbookLimits;
use std::collections::HashMap;
use throughline_core::tokens::Counter;
use throughline_core::{Message, MessageId};

/// The fewest tokens of a section that say anything.
const LEAST: u64 = 200;

/// A part of a session, for one request.
#[derive(Clone, Debug)]
pub struct Section {
    passages: Vec<Passage>,
}

/// A session, cut.
#[derive(Clone, Debug, Default)]
pub struct Sections {
    /// In order.
    pub sections: Vec<Section>,
    /// What did not go in: the first and the last number of each run of messages.
    pub left_out: Vec<(u32, u32)>,
}

/// Cuts a session into sections, message by message.
pub struct Sectioner {
    counter: Counter,
    budget: u64,
    most: usize,
    number: u32,
    open: Vec<Passage>,
    first: Option<Section>,
    middle: Vec<Section>,
    last: Option<Section>,
    left_out: Vec<(u32, u32)>,
}

impl Sectioner {
    /// For a model, by its name and its window, if that is known.
    pub fn new(model: &str, window: Option<u64>, limits: &HandbookLimits) -> Self {
        let budget = match window {
            Some(window) => (window / 100).saturating_mul(u64::from(limits.window_percent)),
            None => limits.part_tokens,
        };
        Self {
            counter: Counter::for_model(model),
            budget: budget.max(LEAST),
            most: limits.parts.max(1),
            number: 0,
            open: Vec::new(),
            first: None,
            middle: Vec::new(),
            last: None,
            left_out: Vec::new(),
        }
    }

    /// Tokens that a section may have.
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// Takes in one more message.
    pub fn push(&mut self, message: Message) {
        self.number = self.number.saturating_add(1);
        let passage =
            Passage::of(self.number, message, &mut self.counter).fitted(self.budget, &mut self.counter);
        if tokens(&self.open) + passage.tokens > self.budget {
            let carried = self.open.split_off(self.cut(&passage));
            self.close();
            self.open = carried;
        }
        self.open.push(passage);
    }

    /// Where to cut so that one more passage has room: at the beginning of a turn if that is not far, not between a call and its result, or
    /// right here.
    fn cut(&self, next: &Passage) -> usize {
        let end = self.open.len();
        let has_room = |at: usize| {
            let carried = tokens(&self.open[at..]);
            carried <= self.budget / 2 && carried + next.tokens <= self.budget
        };
        if next.begins_turn() {
            return end;
        }
        let turn = (1..end).rev().take_while(|at| has_room(*at)).find(|at| self.open[*at].begins_turn());
        let call = || {
            let at = end.checked_sub(1).filter(|at| *at > 0)?;
            let is_torn = next.has(Voice::Result) && self.open[at].has(Voice::Call);
            (is_torn && has_room(at)).then_some(at)
        };
        turn.or_else(call).unwrap_or(end)
    }

    fn close(&mut self) {
        let passages = std::mem::take(&mut self.open);
        if passages.is_empty() {
            return;
        }
        let section = Section { passages };
        if self.first.is_none() {
            self.first = Some(section);
        } else if let Some(before) = self.last.replace(section) {
            self.middle.push(before);
            if self.middle.len() > self.most.saturating_sub(2) {
                // Of those in which the user said least, the latest.
                let least =
                    self.middle.iter().enumerate().rev().min_by_key(|(_, section)| section.user_words());
                if let Some(at) = least.map(|(at, _)| at) {
                    let gone = self.middle.remove(at);
                    self.leave_out(&gone);
                }
            }
        }
    }

    fn leave_out(&mut self, section: &Section) {
        if let (Some(first), Some(last)) = (section.passages.first(), section.passages.last()) {
            self.left_out.push((first.number, last.number));
        }
    }

    /// All sections.
    pub fn finish(mut self) -> Sections {
        self.close();
        if self.most < 2
            && let Some(last) = self.last.take()
        {
            self.leave_out(&last);
        }
        let sections = self.first.into_iter().chain(self.middle).chain(self.last).collect();
        self.left_out.sort_unstable();
        self.left_out.dedup_by(|next, before| {
            let is_near = before.1.checked_add(1) == Some(next.0);
            if is_near {
                before.1 = next.1;
            }
            is_near
        });
        Sections { sections, left_out: self.left_out }
    }
}

impl Section {
    /// The transcript.
    pub fn text(&self) -> String {
        self.passages.iter().map(|passage| passage.text.as_str()).collect()
    }

    /// The messages, in order, with the numbers by which the transcript names them.
    pub fn messages(&self) -> impl Iterator<Item = (u32, &MessageId)> {
        self.passages.iter().map(|passage| (passage.number, passage.id()))
    }

    /// Words that the user wrote.
    pub fn user_words(&self) -> usize {
        self.passages.iter().map(|passage| passage.user_words).sum()
    }

    pub(super) fn by_number(&self) -> HashMap<u32, &Passage> {
        self.passages.iter().map(|passage| (passage.number, passage)).collect()
    }

    pub(super) fn passages(&self) -> &[Passage] {
        &self.passages
    }

    /// Two sections of half the tokens; one, cut in the middle, if it is a single message. `None` if there is nothing left to cut.
    pub(super) fn halved(mut self, counter: &mut Counter) -> Option<Vec<Self>> {
        let all = tokens(&self.passages);
        if self.passages.len() < 2 {
            let passage = self.passages.pop()?;
            let before = passage.tokens;
            let passage = passage.fitted(before / 2, counter);
            return (passage.tokens < before).then(|| vec![Self { passages: vec![passage] }]);
        }
        let mut sum = 0;
        let half = self.passages.iter().position(|passage| {
            sum += passage.tokens;
            sum * 2 > all
        });
        let at = half.unwrap_or(0).clamp(1, self.passages.len() - 1);
        let rest = self.passages.split_off(at);
        Some(vec![self, Self { passages: rest }])
    }
}

fn tokens(passages: &[Passage]) -> u64 {
    passages.iter().map(|passage| passage.tokens).sum()
}
