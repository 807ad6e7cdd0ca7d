//! Everything that was said, as terms.

use super::handle::Handles;
use super::lexer::{Term, terms};
use super::text::block_text;
use super::tool::NAME;
use super::units::units;
use crate::text::head;
use crate::{Block, Body, CallId, Message, MessageId, Role};
use std::collections::HashMap;
use std::ops::Range;

/// Bytes of one block that are searched; of a longer one, beginning and end. It can be read whole by its handle.
pub const LONGEST_BLOCK: usize = 1 << 20;
/// Bytes of a call that say what its result is about: the tool, the path, the command.
const CONTEXT: usize = 300;

/// In-session search over everything that was said, also what no view shows any more.
///
/// It grows by [`push`](Self::push) and holds no text: some 1.2 bytes for each byte that was said. What it finds are
/// places; the text is wherever the messages are. Pushing one by one or all at once gives the same index.
///
/// The terms stand in the order they were said, and a search runs over all of them: a few milliseconds for a session
/// of megabytes, and nothing to keep up to date while the session grows.
///
/// ```
/// use throughline_core::recall::{Index, Wanted};
/// use throughline_core::{Message, Role};
///
/// let said = Message::text(Role::User, "the token lives in `AuthState::refreshToken`");
/// let mut index = Index::default();
/// index.push(&said);
/// let found = index.search("where is refresh_token kept?", &Wanted::default());
/// assert_eq!(found[0].message, said.id);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Index {
    pub(super) handles: Handles,
    pub(super) pieces: Vec<Piece>,
    pub(super) units: Vec<Unit>,
    pub(super) terms: Vec<Term>,
    pub(super) contexts: Vec<Term>,
    /// Calls that have no result yet.
    open_calls: HashMap<CallId, Asked>,
}

/// One block of one message.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) message: u32,
    pub(super) block: u32,
    /// Of a result: the call it answers.
    pub(super) asked: Option<Asked>,
}

/// A call, as its result knows it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    message: u32,
    /// What it is about, in [`Index::contexts`]; `None` for a call of this very tool.
    context: Option<Range<u32>>,
}

/// A few lines of a block.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unit {
    pub(super) piece: u32,
    pub(super) start: u32,
    pub(super) end: u32,
    /// Where its terms end in [`Index::terms`]; they begin where those of the unit before end.
    pub(super) terms_end: u32,
}

impl Index {
    /// Takes in one more message. One that is there already changes nothing.
    ///
    /// Searched is what was said in the session: not the instructions of whoever runs the model, which every view
    /// shows, not summaries, which say it again, and not what this tool answered before.
    pub fn push(&mut self, message: &Message) {
        let place = self.handles.len() as u32;
        if !self.handles.push(&message.id) || message.flags.summary || message.flags.display_only {
            return;
        }
        match message.role {
            Role::System | Role::Developer => return,
            Role::User | Role::Assistant | Role::Tool => {}
        }
        for (at, block) in message.blocks.iter().enumerate() {
            self.block(place, at as u32, block);
        }
    }

    fn block(&mut self, message: u32, block: u32, what: &Block) {
        let text = block_text(what);
        let asked = match &what.body {
            Body::ToolCall(call) => {
                let own = call.name == NAME;
                let from = self.contexts.len() as u32;
                if !own {
                    let contexts = &mut self.contexts;
                    terms(head(&text, CONTEXT), |term| contexts.push(term));
                }
                let context = (!own).then_some(from..self.contexts.len() as u32);
                self.open_calls.insert(call.id.clone(), Asked { message, context });
                if own {
                    return;
                }
                None
            }
            Body::ToolResult(result) => self.open_calls.remove(&result.call),
            Body::Text(_)
            | Body::Reasoning { .. }
            | Body::Image(_)
            | Body::Document(_)
            | Body::Unknown(_) => None,
        };
        if asked.as_ref().is_some_and(|asked| asked.context.is_none()) {
            return;
        }
        let piece = self.pieces.len() as u32;
        self.pieces.push(Piece { message, block, asked });
        for part in searched(&text) {
            self.text(piece, &text, part);
        }
    }

    fn text(&mut self, piece: u32, text: &str, part: Range<usize>) {
        let from = part.start;
        let (all, unit_list) = (&mut self.terms, &mut self.units);
        let text = &text[part];
        units(text, |range| {
            terms(&text[range.clone()], |term| all.push(term));
            unit_list.push(Unit {
                piece,
                start: (from + range.start) as u32,
                end: (from + range.end) as u32,
                terms_end: all.len() as u32,
            });
        });
    }

    /// The handles of all messages.
    pub fn handles(&self) -> &Handles {
        &self.handles
    }

    /// How many messages were pushed.
    pub fn len(&self) -> usize {
        self.handles.len()
    }

    /// Whether nothing was pushed.
    pub fn is_empty(&self) -> bool {
        self.handles.is_empty()
    }

    /// Bytes of memory that the index uses for what was said, about.
    pub fn bytes(&self) -> usize {
        self.terms.len() * size_of::<Term>()
            + self.contexts.len() * size_of::<Term>()
            + self.units.len() * size_of::<Unit>()
            + self.pieces.len() * size_of::<Piece>()
    }

    /// What the call of a result is about.
    pub(super) fn context(&self, piece: u32) -> &[Term] {
        let asked = self.pieces.get(piece as usize).and_then(|piece| piece.asked.as_ref());
        let context = asked.and_then(|asked| asked.context.clone()).unwrap_or_default();
        &self.contexts[context.start as usize..context.end as usize]
    }

    /// The message with the call that a block answers.
    pub(super) fn asked_by(&self, message: &MessageId, block: usize) -> Option<&MessageId> {
        let place = self.handles.place(message)?;
        let first = self.pieces.partition_point(|piece| piece.message < place);
        let mut pieces = self.pieces[first..].iter().take_while(|piece| piece.message == place);
        let asked = pieces.find(|piece| piece.block as usize == block)?.asked.as_ref()?;
        Some(self.handles.at(asked.message))
    }

    pub(super) fn terms_of(&self, unit: u32) -> &[Term] {
        let at = unit as usize;
        let from = at.checked_sub(1).map_or(0, |before| self.units[before].terms_end);
        &self.terms[from as usize..self.units[at].terms_end as usize]
    }

    pub(super) fn piece_of(&self, unit: u32) -> &Piece {
        &self.pieces[self.units[unit as usize].piece as usize]
    }

    pub(super) fn message_of(&self, unit: u32) -> &MessageId {
        self.handles.at(self.piece_of(unit).message)
    }
}

/// The parts of a text that are searched.
pub(super) fn searched(text: &str) -> impl Iterator<Item = Range<usize>> {
    let (first, second) = match text.len() <= LONGEST_BLOCK {
        true => (0..text.len(), None),
        false => {
            let half = LONGEST_BLOCK / 2;
            (0..text.floor_char_boundary(half), Some(text.ceil_char_boundary(text.len() - half)..text.len()))
        }
    };
    [Some(first), second].into_iter().flatten()
}
