//! Conversations to try stages on, and a compact way to read what a model would have seen.

use jiff::Timestamp;
use serde_json::{Value, json};
use throughline_core::stages::{OwnTools, Proposal, Scene};
use throughline_core::tokens::Counter;
use throughline_core::{
    Block, Body, CallKind, EditId, Entry, Media, Message, Op, Origin, ResultContent, Role, Source, ToolCall,
    ToolInput, ToolResult, View, invariants,
};

pub(crate) fn named(id: &str, role: Role, blocks: Vec<Block>) -> Message {
    Message { id: id.into(), ..Message::new(role, blocks) }
}

pub(crate) fn user(id: &str, text: &str) -> Message {
    named(id, Role::User, vec![Block::text(text)])
}

pub(crate) fn says(id: &str, text: &str) -> Message {
    named(id, Role::Assistant, vec![Block::text(text)])
}

pub(crate) fn call(id: &str, tool: &str, input: Value) -> Block {
    let input = ToolInput::Json(input);
    Body::ToolCall(ToolCall { id: id.into(), name: tool.into(), input, kind: CallKind::Function }).into()
}

/// Words, then one call.
pub(crate) fn asks(id: &str, words: &str, call_id: &str, tool: &str) -> Message {
    let input = json!({"of": call_id});
    named(id, Role::Assistant, vec![Block::text(words), call(call_id, tool, input)])
}

pub(crate) fn result(call: &str, text: &str) -> Block {
    Body::ToolResult(ToolResult::text(call.into(), text)).into()
}

pub(crate) fn result_of(call: &str, content: ResultContent) -> Block {
    let call = call.into();
    Body::ToolResult(ToolResult { call, kind: CallKind::Function, content, is_error: None }).into()
}

pub(crate) fn answers(id: &str, call: &str, text: &str) -> Message {
    named(id, Role::User, vec![result(call, text)])
}

pub(crate) fn thinks(text: &str) -> Block {
    Body::Reasoning { text: text.into(), seal: Some("sealed".into()) }.into()
}

pub(crate) fn picture() -> Block {
    let source = Source::Base64 { media_type: "image/png".into(), data: "iVBORw0KGgo=".into() };
    Body::Image(Media { source }).into()
}

/// So many different words.
pub(crate) fn words(count: usize) -> String {
    (0..count).map(|n| format!("word{n} ")).collect()
}

/// A view, and everything that stages are told besides.
pub(crate) struct Stand {
    pub(crate) view: View,
    pub(crate) counter: Counter,
    pub(crate) now: Option<Timestamp>,
    pub(crate) sent: usize,
    pub(crate) tools: OwnTools,
    pub(crate) overhead: u64,
    edits: usize,
}

impl Stand {
    pub(crate) fn new(messages: impl IntoIterator<Item = Message>) -> Self {
        let mut view = View::default();
        messages.into_iter().for_each(|message| view.push(message.into()));
        Self {
            view,
            counter: Counter::for_model("gpt-5"),
            now: None,
            sent: 0,
            tools: OwnTools::default(),
            overhead: 0,
            edits: 0,
        }
    }

    pub(crate) fn with_recall(mut self) -> Self {
        self.tools.recall = true;
        self
    }

    pub(crate) fn with_snip(mut self) -> Self {
        self.tools.snip = true;
        self
    }

    pub(crate) fn push(&mut self, message: Message) {
        self.view.push(message.into());
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        self.view.entries()
    }

    /// Shows a stage the view.
    pub(crate) fn look<T>(&mut self, stage: impl FnOnce(&Scene<'_>, &mut Counter) -> T) -> T {
        let tokens = self.tokens();
        let scene = Scene {
            entries: self.view.entries(),
            tokens: &tokens,
            overhead: self.overhead,
            now: self.now,
            sent: self.sent,
            tools: self.tools,
        };
        stage(&scene, &mut self.counter)
    }

    pub(crate) fn tokens(&mut self) -> Vec<u64> {
        self.view.messages().map(|message| self.counter.message(&message).total()).collect()
    }

    pub(crate) fn total(&mut self) -> u64 {
        self.tokens().iter().sum()
    }

    /// Applies a proposal. It must free what it says, and leave every rule kept.
    pub(crate) fn apply(&mut self, proposal: Proposal) -> EditId {
        let is_trimmed =
            proposal.ops.iter().any(|op| matches!(op, Op::Fold { with, .. } if !with.flags.summary));
        let before = self.total() as i64;
        let freed = proposal.freed;
        let id = EditId::new(format!("e{}", self.edits));
        self.edits += 1;
        self.view.edit(proposal.into_edit(id.clone(), None), Origin::default());
        let really = before - self.total() as i64;
        // A message that is cut in two counts as kept whole: then more is freed than was promised.
        assert!(really == freed || (is_trimmed && really >= freed), "promised {freed}, freed {really}");
        assert!(really > 0, "each edit makes the view smaller");
        self.check();
        id
    }

    /// Every rule is kept, in the view and in the marked copy.
    pub(crate) fn check(&self) {
        let messages: Vec<_> = self.view.messages().collect();
        let messages: Vec<&Message> = messages.iter().map(|m| &**m).collect();
        assert_eq!(invariants::check(&messages), []);
    }

    /// The view as a model would see it, one line a block.
    pub(crate) fn read(&self) -> String {
        read(self.view.messages().map(|message| (*message).clone()))
    }
}

/// Messages, one line a block.
pub(crate) fn read(messages: impl IntoIterator<Item = Message>) -> String {
    let mut lines = String::new();
    for message in messages {
        let role = format!("{:?}", message.role).to_lowercase();
        let kind = if message.flags.summary { "*" } else { "" };
        for block in &message.blocks {
            lines.push_str(&format!("{role}{kind} {}\n", line(block)));
        }
    }
    lines
}

fn line(block: &Block) -> String {
    match &block.body {
        Body::Text(text) => short(text),
        Body::Reasoning { text, .. } => format!("(thinks) {}", short(text)),
        Body::ToolCall(call) => format!("→ {} {} {}", call.id, call.name, call.input.to_text()),
        Body::ToolResult(result) => {
            let failed = if result.is_error == Some(true) { " failed" } else { "" };
            let content = match &result.content {
                ResultContent::Text(text) => short(text),
                ResultContent::Parts(parts) => {
                    let parts: Vec<String> = parts.iter().map(line).collect();
                    format!("[{}]", parts.join(", "))
                }
            };
            format!("← {}{failed} {content}", result.call)
        }
        Body::Image(_) => "(picture)".to_owned(),
        Body::Document(_) => "(document)".to_owned(),
        Body::Unknown(value) => value.to_string(),
    }
}

/// Long texts by their beginning and size; line ends as `⏎`.
fn short(text: &str) -> String {
    let line = text.replace('\n', "⏎");
    match line.char_indices().nth(240) {
        Some((at, _)) => format!("{}… ({} chars)", &line[..at], text.chars().count()),
        None => line,
    }
}
