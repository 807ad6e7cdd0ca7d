//! A kept message as a model reads it: numbered, and in a form that no content can imitate.

use jiff::Timestamp;
use std::ops::Range;
use throughline_core::text::{middle_cut, one_line};
use throughline_core::tokens::Counter;
use throughline_core::{Block, Body, Fragment, Message, MessageId, Role, Speaker, ToolInput};

/// Characters of a tool's name.
const NAME: usize = 60;

/// Who speaks in a part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Voice {
    /// The user's own words.
    User,
    /// What the client put in the user's place.
    Client,
    /// The agent's words.
    Agent,
    /// A call, with its arguments.
    Call,
    /// What a tool gave.
    Result,
}

/// One message of a transcript. Each of its lines but those that name it begins with a blank, so that no content can begin another message.
#[derive(Clone, Debug)]
pub(super) struct Passage {
    /// By which a model refers to it: `m12`.
    pub(super) number: u32,
    pub(super) message: Message,
    pub(super) text: String,
    /// Where in the text who speaks.
    pub(super) parts: Vec<(Voice, Range<usize>)>,
    /// Tokens of the text; of several texts together no more than the sum.
    pub(super) tokens: u64,
    /// Words that the user wrote.
    pub(super) user_words: usize,
}

impl Passage {
    /// The message, whole.
    pub(super) fn of(number: u32, message: Message, counter: &mut Counter) -> Self {
        Self::within(number, message, Bounds { bytes: usize::MAX, blocks: usize::MAX }, counter)
    }

    /// The message with at most so many tokens: what is long is cut in the middle.
    pub(super) fn fitted(self, most: u64, counter: &mut Counter) -> Self {
        let mut bounds = Bounds { bytes: self.text.len(), blocks: self.message.blocks.len().max(1) };
        let mut passage = self;
        while passage.tokens > most && (bounds.bytes > 16 || bounds.blocks > 1) {
            // A little less than in proportion, for the note on what is missing.
            let share = (most as f64 / passage.tokens as f64 * 0.9).min(0.9);
            bounds.bytes = ((bounds.bytes as f64 * share) as usize).max(16);
            if bounds.bytes / bounds.blocks < 64 {
                bounds.blocks = (bounds.blocks / 2).max(1);
            }
            passage = Self::within(passage.number, passage.message, bounds, counter);
        }
        passage
    }

    fn within(number: u32, message: Message, bounds: Bounds, counter: &mut Counter) -> Self {
        let mut text = String::new();
        let mut parts = Vec::new();
        let count = message.blocks.len();
        let each = bounds.bytes / count.min(bounds.blocks).max(1);
        for (at, block) in message.blocks.iter().enumerate() {
            // The first and the last ones tell most.
            let head = bounds.blocks.div_ceil(2);
            if at >= head && count - at > bounds.blocks - head {
                continue;
            }
            let Some((voice, what, words)) = spoken(&message, block) else { continue };
            let start = text.len();
            text.push_str(&format!("[m{number} {what}]\n"));
            for line in lines(&middle_cut(&words, each)) {
                text.push(' ');
                text.push_str(line);
                text.push('\n');
            }
            parts.push((voice, start..text.len()));
        }
        let tokens = counter.text(&text) + 1;
        let user_words = message.user_words().split_whitespace().count();
        Self { number, message, text, parts, tokens, user_words }
    }

    pub(super) fn id(&self) -> &MessageId {
        &self.message.id
    }

    pub(super) fn at(&self) -> Option<Timestamp> {
        self.message.at
    }

    /// Whether a turn begins here.
    pub(super) fn begins_turn(&self) -> bool {
        self.message.is_real_user()
    }

    /// Whether somebody speaks in it in a certain way.
    pub(super) fn has(&self, voice: Voice) -> bool {
        self.parts.iter().any(|(one, _)| *one == voice)
    }
}

/// What of a message is shown.
#[derive(Clone, Copy)]
struct Bounds {
    bytes: usize,
    blocks: usize,
}

/// Who speaks in a block, how that is named, and the words.
fn spoken(message: &Message, block: &Block) -> Option<(Voice, String, String)> {
    let (voice, what, words) = match &block.body {
        Body::Text(text) => {
            let is_scaffold = || !message.flags.typed && Fragment::recognise(Speaker::User, text).is_some();
            let (voice, what) = match message.role {
                Role::User if message.flags.meta || is_scaffold() => (Voice::Client, "client"),
                Role::User => (Voice::User, "user"),
                Role::Assistant => (Voice::Agent, "agent"),
                Role::Tool => (Voice::Result, "result"),
                Role::System | Role::Developer => return None,
            };
            (voice, what.to_owned(), text.clone())
        }
        Body::ToolCall(call) => {
            let name = one_line(&call.name, NAME).replace(['[', ']'], "");
            (Voice::Call, format!("calls {name}"), arguments(&call.input))
        }
        Body::ToolResult(result) => {
            let what = if result.is_error == Some(true) { "error" } else { "result" };
            (Voice::Result, what.to_owned(), result.content.to_text().into_owned())
        }
        Body::Reasoning { .. } | Body::Image(_) | Body::Document(_) | Body::Unknown(_) => return None,
    };
    Some((voice, what, words))
}

/// Arguments as people read them: what a model quotes of a command stands here letter by letter.
fn arguments(input: &ToolInput) -> String {
    let Some(value) = input.to_json() else { return input.to_text().into_owned() };
    let Some(fields) = value.as_object() else { return value.to_string() };
    let lines: Vec<String> = fields
        .iter()
        .map(|(key, value)| match value.as_str() {
            Some(text) => format!("{key}: {text}"),
            None => format!("{key}: {value}"),
        })
        .collect();
    lines.join("\n")
}

/// The lines of a text, by everything that looks like the end of one.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'])
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
}
