//! When notes are due (N2), and how far they reach (N5). Pure.

use super::limits::NotesLimits;
use throughline_core::{CallId, Message, MessageId, Role};

/// Who is speaking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thread {
    /// The conversation with the person.
    Main,
    /// A sub-agent, a fork, an ephemeral session: no notes are kept.
    Other,
}

/// How the last answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastTurn {
    /// It calls tools: the work goes on.
    Calls,
    /// It calls none: a natural break.
    Rests,
}

/// What there is to see behind an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Tokens of the context now.
    pub context_tokens: u64,
    /// Tool calls since the last observation.
    pub calls: u64,
    /// How the last answer ended.
    pub last_turn: LastTurn,
    /// Who is speaking.
    pub thread: Thread,
}

impl Observation {
    /// Looks at what was said since the last observation: the last answer, and what came before it.
    pub fn of<'a>(context_tokens: u64, said: impl IntoIterator<Item = &'a Message>, thread: Thread) -> Self {
        let said: Vec<&Message> = said.into_iter().collect();
        let calls = said.iter().map(|message| message.calls().count() as u64).sum();
        let answer = last_answer(&said);
        let rests = answer.iter().all(|m| m.calls().all(|call| !call.kind.needs_result()));
        let last_turn = if rests { LastTurn::Rests } else { LastTurn::Calls };
        Self { context_tokens, calls, last_turn, thread }
    }
}

/// Why notes are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// They were never written and the context is large enough.
    First,
    /// The context grew, and enough tools were called.
    Calls,
    /// The context grew, and the conversation rests.
    Break,
}

/// The context at the last update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// There was none.
    Never,
    /// There was one, at a size that is not known: the next observation stands for it.
    Unknown,
    /// There was one, at this size.
    At(u64),
}

/// What was seen since the last update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    mark: Mark,
    calls: u64,
    now: Option<Observation>,
}

impl Default for Trigger {
    fn default() -> Self {
        Self { mark: Mark::Never, calls: 0, now: None }
    }
}

impl Trigger {
    /// A session that has notes already, last updated at this size of the context, if that is known.
    pub fn resumed(context_tokens: Option<u64>) -> Self {
        Self { mark: context_tokens.map_or(Mark::Unknown, Mark::At), ..Self::default() }
    }

    /// Takes in what is to be seen now. A context that shrank (it was compacted) is what it grows from.
    pub fn observe(&mut self, seen: Observation) {
        if seen.thread == Thread::Other {
            return;
        }
        self.mark = match self.mark {
            Mark::Never => Mark::Never,
            Mark::Unknown => Mark::At(seen.context_tokens),
            Mark::At(tokens) => Mark::At(tokens.min(seen.context_tokens)),
        };
        self.calls = self.calls.saturating_add(seen.calls);
        self.now = Some(seen);
    }

    /// Whether notes are due now.
    ///
    /// ```
    /// use throughline_memory::notes::{Due, LastTurn, NotesLimits, Observation, Thread, Trigger};
    ///
    /// let mut trigger = Trigger::default();
    /// let seen = Observation { context_tokens: 10_000, calls: 1, last_turn: LastTurn::Calls, thread: Thread::Main };
    /// trigger.observe(seen);
    /// assert_eq!(trigger.due(&NotesLimits::default()), Some(Due::First));
    /// trigger.attempted();
    /// trigger.observe(Observation { context_tokens: 15_000, ..seen });
    /// assert_eq!(trigger.due(&NotesLimits::default()), None);
    /// trigger.observe(Observation { context_tokens: 15_000, calls: 0, last_turn: LastTurn::Rests, ..seen });
    /// assert_eq!(trigger.due(&NotesLimits::default()), Some(Due::Break));
    /// ```
    pub fn due(&self, limits: &NotesLimits) -> Option<Due> {
        let now = self.now?;
        let mark = match self.mark {
            Mark::Never => return (now.context_tokens >= limits.first_tokens).then_some(Due::First),
            Mark::Unknown => return None,
            Mark::At(tokens) => tokens,
        };
        if now.context_tokens.saturating_sub(mark) < limits.growth_tokens {
            return None;
        }
        if self.calls >= limits.tool_calls {
            return Some(Due::Calls);
        }
        match now.last_turn {
            LastTurn::Rests => Some(Due::Break),
            LastTurn::Calls => None,
        }
    }

    /// An update begins: growth and calls are counted anew, whether it succeeds or not, so that an update which fails is
    /// not tried again before as much has happened as for the next one.
    pub fn attempted(&mut self) {
        self.mark = Mark::At(self.context_tokens());
        self.calls = 0;
    }

    /// Tokens of the context as last seen.
    pub fn context_tokens(&self) -> u64 {
        self.now.map_or(0, |now| now.context_tokens)
    }
}

/// The records of the last answer: clients may write one per block.
fn last_answer<'a, 'm>(messages: &'a [&'m Message]) -> &'a [&'m Message] {
    let is_answer = |message: &&Message| message.role == Role::Assistant && !message.flags.display_only;
    let Some(end) = messages.iter().rposition(is_answer) else { return &[] };
    let group = &messages[end].group;
    let same = |message: &&&Message| {
        is_answer(message) && (group.is_none() || message.group.is_none() || message.group == *group)
    };
    let length = messages[..=end].iter().rev().take_while(same).count();
    &messages[end + 1 - length..=end]
}

/// The last message that notes written from these messages cover: the newest one, but nothing while a call of the last answer
/// waits for its result, so that no pair of call and result is parted later (N5).
pub fn boundary<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Option<MessageId> {
    let messages: Vec<&Message> = messages.into_iter().filter(|m| !m.flags.display_only).collect();
    let mut open: Vec<&CallId> = last_answer(&messages)
        .iter()
        .flat_map(|message| message.calls())
        .filter(|call| call.kind.needs_result())
        .map(|call| &call.id)
        .collect();
    let results = messages.iter().rev().take_while(|message| message.role != Role::Assistant);
    for result in results.flat_map(|message| message.results()) {
        open.retain(|call| **call != result.call);
    }
    let last = messages.last().filter(|message| !message.id.as_str().is_empty());
    last.filter(|_| open.is_empty()).map(|message| message.id.clone())
}
