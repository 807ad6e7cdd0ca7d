//! Which messages become one on a wire, and which become several.
//!
//! **Joining.** Two adjacent messages of one role become one message on Anthropic and Chat if
//! - they share a [`group`](throughline_core::Message::group): they are records of one API message; or
//! - both are the model's, and at least one shows that it came from another wire; or
//! - (Anthropic) both are [`Role::Tool`] messages that hold results, which Anthropic has in one user message.
//!
//! Nothing else is ever joined. Messages decoded from a wire are whole there: encoding them to the same wire gives the
//! same list. Responses has an item per block and joins nothing.
//!
//! **Splitting.** Chat and Responses have results as messages of their own: what stands beside them in a message follows
//! once all calls of the turn are answered, and so do pictures in a result, which Chat has no place for.
//!
//! **Waiting.** Instructions that stand between another wire's call and its result follow once the calls are answered: Anthropic
//! and Chat want results right behind calls.
//!
//! **Where a message came from** is seen in its form: a shape names its wire; a block that stands bare and is no text is a
//! Responses item; arguments in a JSON string are OpenAI's, as a JSON value they are Anthropic's. Plain text shows
//! nothing, and is at home anywhere.

use crate::fit::fitting;
use crate::object::home;
use std::borrow::Cow;
use std::collections::HashMap;
use throughline_core::{
    Block, Body, CallId, GroupId, Message, ResultContent, Role, Shape, ToolInput, ToolResult, Wire,
};

/// What becomes one message on the wire.
pub(crate) struct Run<'a> {
    /// Who speaks.
    pub(crate) role: Role,
    /// What is said.
    pub(crate) blocks: Vec<Cow<'a, Block>>,
    /// How the message looked, if it is one message, whole.
    pub(crate) shape: Option<&'a Shape>,
    /// Its content stood bare, not in a list.
    pub(crate) bare: bool,
    /// Some of it came from another wire.
    pub(crate) foreign: bool,
    group: Option<&'a GroupId>,
}

impl<'a> Run<'a> {
    fn new(wire: Wire, message: &'a Message, blocks: Vec<Cow<'a, Block>>) -> Self {
        Self {
            role: message.role,
            blocks,
            shape: message.shape.as_ref(),
            bare: message.bare,
            foreign: is_foreign(wire, message),
            group: message.group.as_ref(),
        }
    }

    /// Some blocks of a message that is taken apart.
    fn part(role: Role, blocks: Vec<Cow<'a, Block>>) -> Self {
        Self { role, blocks, shape: None, bare: false, foreign: true, group: None }
    }

    /// The one block that stood bare.
    pub(crate) fn bare(&self) -> Option<&Block> {
        match self.blocks.as_slice() {
            [block] if self.bare => Some(block),
            _ => None,
        }
    }

    fn join(&mut self, next: Self) {
        self.blocks.extend(next.blocks);
        self.foreign |= next.foreign;
        self.bare = false;
    }

    fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.blocks.iter().filter_map(|block| result(block))
    }
}

fn result(block: &Block) -> Option<&ToolResult> {
    if let Body::ToolResult(result) = &block.body { Some(result) } else { None }
}

/// All messages of an answer as one. `None` if there are none.
pub(crate) fn answer(wire: Wire, messages: &[Message]) -> Option<Run<'_>> {
    let (first, rest) = messages.split_first()?;
    let mut run = Run::new(wire, first, fitting(wire, first).unwrap_or_default());
    for message in rest {
        run.join(Run::new(wire, message, fitting(wire, message).unwrap_or_default()));
    }
    Some(run)
}

/// Messages as they stand on `wire`: joined, split, without what does not belong there, results right behind calls.
pub(crate) fn runs<'a>(wire: Wire, messages: &[&'a Message]) -> Vec<Run<'a>> {
    let mut line =
        Line { wire, runs: Vec::with_capacity(messages.len()), late: Vec::new(), open: HashMap::new() };
    for &message in messages {
        if let Some(blocks) = fitting(wire, message) {
            line.add(message, blocks);
        }
    }
    line.end_turn();
    line.runs
}

struct Line<'a> {
    wire: Wire,
    runs: Vec<Run<'a>>,
    /// What must wait until all calls are answered.
    late: Vec<Run<'a>>,
    /// Calls without an answer yet, and whether they came from another wire.
    open: HashMap<&'a CallId, bool>,
}

impl<'a> Line<'a> {
    fn add(&mut self, message: &'a Message, blocks: Vec<Cow<'a, Block>>) {
        let answers = message.results().next().is_some();
        for result in message.results() {
            self.open.remove(&result.call);
        }
        match message.role {
            // Other wires let instructions stand between a call and its result.
            Role::System | Role::Developer if self.open.values().any(|foreign| *foreign) => {
                self.late.push(Run::new(self.wire, message, blocks));
                return;
            }
            Role::User if !answers => self.end_turn(),
            Role::User | Role::System | Role::Developer | Role::Assistant | Role::Tool => {}
        }
        let foreign = is_foreign(self.wire, message);
        if answers && self.wire != Wire::Anthropic {
            self.add_split(message, blocks);
        } else {
            self.push(Run::new(self.wire, message, blocks));
        }
        self.open
            .extend(message.calls().filter(|call| call.kind.needs_result()).map(|call| (&call.id, foreign)));
        if self.open.is_empty() {
            self.end_turn();
        }
    }

    /// Results first, the rest of their message later.
    fn add_split(&mut self, message: &'a Message, blocks: Vec<Cow<'a, Block>>) {
        let (mut results, rest): (Vec<_>, Vec<_>) =
            blocks.into_iter().partition(|block| result(block).is_some());
        let mut pictures = Vec::new();
        if self.wire == Wire::Chat {
            for block in results.iter_mut().filter(|block| home(block) != Some(Wire::Chat)) {
                take_pictures(block, &mut pictures);
            }
        }
        if rest.is_empty() {
            self.push(Run::new(self.wire, message, results));
        } else {
            self.push(Run::part(Role::Tool, results));
            self.late.push(Run::part(message.role, rest));
        }
        if !pictures.is_empty() {
            self.late.push(Run::part(Role::User, pictures));
        }
    }

    fn push(&mut self, run: Run<'a>) {
        match self.runs.last_mut() {
            Some(last) if joins(self.wire, last, &run) => last.join(run),
            Some(_) | None => self.runs.push(run),
        }
    }

    fn end_turn(&mut self) {
        self.open.clear();
        self.runs.append(&mut self.late);
    }
}

fn joins(wire: Wire, a: &Run<'_>, b: &Run<'_>) -> bool {
    if a.role != b.role || wire == Wire::Responses {
        return false;
    }
    let one_group = a.group.is_some() && a.group == b.group;
    match a.role {
        Role::Assistant => one_group || a.foreign || b.foreign,
        Role::Tool => one_group || (wire == Wire::Anthropic && holds_results(a) && holds_results(b)),
        Role::User | Role::System | Role::Developer => one_group,
    }
}

/// Whether these are results of another wire: Anthropic's own stand in user messages.
fn holds_results(run: &Run<'_>) -> bool {
    run.shape.is_none_or(|shape| shape.wire() != Wire::Anthropic)
        && run.results().count() == run.blocks.len()
        && !run.blocks.is_empty()
}

/// Whether the form of a message shows that it came from another wire.
fn is_foreign(wire: Wire, message: &Message) -> bool {
    origin(message).is_some_and(|origin| origin != wire)
}

fn origin(message: &Message) -> Option<Wire> {
    let item = match message.blocks.as_slice() {
        [Block { body: Body::Text(_) | Body::Unknown(_), .. }] => None,
        [_] if message.bare => Some(Wire::Responses),
        _ => None,
    };
    let by_shape = || message.shape.as_ref().map(Shape::wire);
    let by_block = || message.blocks.iter().find_map(home);
    let by_call = || {
        message.calls().next().map(|call| match call.input {
            ToolInput::Json(_) => Wire::Anthropic,
            ToolInput::JsonText(_) | ToolInput::Text(_) => Wire::Chat,
        })
    };
    item.or_else(by_shape).or_else(by_block).or_else(by_call)
}

/// Takes the parts of a result that are no text.
fn take_pictures<'a>(block: &mut Cow<'a, Block>, pictures: &mut Vec<Cow<'a, Block>>) {
    let is_picture = |part: &Block| matches!(part.body, Body::Image(_) | Body::Document(_));
    let Some(ResultContent::Parts(parts)) = result(block).map(|result| &result.content) else { return };
    if !parts.iter().any(is_picture) {
        return;
    }
    if let Body::ToolResult(ToolResult { content: ResultContent::Parts(parts), .. }) =
        &mut block.to_mut().body
    {
        let (taken, mut texts): (Vec<_>, Vec<_>) = std::mem::take(parts).into_iter().partition(is_picture);
        pictures.extend(taken.into_iter().map(Cow::Owned));
        if texts.is_empty() {
            texts.push(Block::text(SHOWN_LATER));
        }
        *parts = texts;
    }
}

/// What a result says whose only content comes in a message of its own.
const SHOWN_LATER: &str = "[shown in a later message]";
