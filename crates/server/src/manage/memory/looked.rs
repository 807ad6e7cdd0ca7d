//! What is found for a request, where nobody waits.

use super::place::Place;
use futures_util::FutureExt as _;
use jiff::Timestamp;
use std::sync::Arc;
use throughline_core::tokens::Counter;
use throughline_core::{Message, Role, SessionId};
use throughline_engine::remember::Wanted;
use throughline_memory::SaidElsewhere;
use throughline_memory::handbook::read::Reader;
use throughline_memory::recall::{Ask, ByRank, Recalled};

/// How everything begins that a session is told once.
const START: &str = "<system-reminder>\nFrom Throughline: what earlier sessions left for this one.\n";
const END: &str = "\n</system-reminder>";
/// Times that memories are looked for again, without those that the agent is told by others.
const ROUNDS: usize = 3;

/// What to look for.
pub(super) struct Order {
    pub(super) place: Arc<Place>,
    /// What the user said last.
    pub(super) words: String,
    /// Whether the session is told the index and the handbook.
    pub(super) tells_start: bool,
    /// How memories are looked for that help with the words.
    pub(super) wanted: Option<Wanted>,
    /// What the client tells the model itself.
    pub(super) instructions: Vec<String>,
    /// Whose tokens are counted.
    pub(super) model: String,
    /// Tokens of the index, at most.
    pub(super) index_tokens: u64,
    pub(super) now: Timestamp,
}

/// What was found.
#[derive(Default)]
pub(super) struct Looked {
    pub(super) start: Option<Start>,
    pub(super) recalled: Option<Recalled>,
    /// The words that it is for.
    pub(super) words: String,
    /// What went wrong, for people.
    pub(super) problems: Vec<String>,
}

/// What a session is told once, and again behind a compaction.
pub(super) struct Start {
    pub(super) text: String,
    pub(super) tokens: u64,
    /// Memories in it.
    pub(super) memories: usize,
    /// Sessions that its handbook's lines come from.
    pub(super) sessions: Vec<SessionId>,
}

impl Order {
    /// Reads files; what can't be read is left out.
    pub(super) fn look(self) -> Looked {
        let known = SaidElsewhere::of(&self.instructions);
        let mut looked = Looked { problems: self.place.problems.clone(), ..Looked::default() };
        if self.tells_start {
            looked.start = self.start(&known, &mut looked.problems);
        }
        if !self.words.is_empty() {
            looked.recalled = self.recall(&known);
        }
        looked.problems.extend(looked.recalled.as_ref().and_then(|recalled| recalled.trouble.clone()));
        Looked { words: self.words, ..looked }
    }

    fn start(&self, known: &SaidElsewhere, problems: &mut Vec<String>) -> Option<Start> {
        let mut counter = Counter::for_model(&self.model);
        let index = self.place.memories.index_for_session();
        problems.extend(index.problems.iter().cloned());
        let index = index.told(self.index_tokens, known, &mut counter);
        let reading = self.place.reading.as_ref();
        let handbook =
            reading.and_then(|reading| reading.choose_for(&self.words, Reader::IsTold, &mut counter));
        let parts: Vec<&str> = [
            index.as_ref().map(|index| index.text.as_str()),
            handbook.as_ref().map(|handbook| handbook.text.as_str()),
        ]
        .into_iter()
        .flatten()
        .collect();
        if parts.is_empty() {
            return None;
        }
        let text = format!("{START}\n{}{END}", parts.join("\n\n"));
        Some(Start {
            tokens: counter.text(&text),
            text,
            memories: index.map_or(0, |index| index.lines),
            sessions: handbook.map(|handbook| handbook.sessions).unwrap_or_default(),
        })
    }

    fn recall(&self, known: &SaidElsewhere) -> Option<Recalled> {
        let mut wanted = self.wanted.clone()?;
        let root = self.place.folder.as_deref();
        for _ in 0..ROUNDS {
            let ask = Ask {
                text: &self.words,
                tools: &wanted.tools,
                shown: &wanted.shown,
                now: self.now,
                root,
                limits: &wanted.settings.limits,
            };
            // By rank nobody is asked: it is there at once.
            let recalled = wanted.recall.recall(&ask, &ByRank).now_or_never()?;
            let said = |topic: &throughline_memory::topics::Topic| {
                known.says(&topic.description)
                    || topic.body.lines().next().is_some_and(|line| known.says(line))
            };
            let again: Vec<_> =
                recalled.chosen.iter().filter(|one| said(&one.topic)).map(|one| one.id.clone()).collect();
            if again.is_empty() {
                return recalled.text.is_some().then_some(recalled);
            }
            wanted.shown.extend(again);
        }
        None
    }
}

/// A message of ours.
pub(super) fn own(text: &str) -> Message {
    let mut message = Message::text(Role::User, text);
    message.flags.meta = true;
    message
}

/// Whether a message is what a session is told once.
pub(super) fn is_start(message: &Message) -> bool {
    message.flags.meta && message.to_text().starts_with(START)
}
