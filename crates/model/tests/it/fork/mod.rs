//! Forks: on the parent's exact bytes, within caps, with a receipt.

mod bytes;
mod caps;
mod receipts;
mod talk;
mod trouble;

use crate::support::{provider, quick};
use serde_json::{Value, json};
use throughline_core::cost::Price;
use throughline_core::{Message, Role, ToolCall};
use throughline_model::{
    CancelToken, Caps, Delivery, Fork, Forked, Http, Model, Prefix, Tail, Toolbox, Wire,
};
use throughline_testkit::Server;

/// Enough for anything that a test does.
pub(crate) const AMPLE: Caps =
    Caps { turns: 9, input_tokens: 1 << 30, output_tokens: 1 << 20, dollars: 100.0, seconds: 60 };

/// A parent's request, spaced and escaped as no encoder of ours would. The limit on the answer stands behind the
/// messages, so that whole bodies can be compared.
pub(crate) fn parent(wire: Wire) -> Vec<u8> {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let tools: Vec<Value> = ["Edit", "Bash", "apply_patch"]
        .iter()
        .map(|name| {
            let definition = throughline_core::ToolDefinition {
                name,
                description: "Does it.",
                parameters: schema.clone(),
            };
            definition.on(wire)
        })
        .collect();
    let tools = serde_json::to_string_pretty(&tools).unwrap();
    let rules = "You are careful.\\u0020Use as few words as you can. ".repeat(100);
    let talk: Vec<String> = (0..200)
        .map(|n| {
            let role = if n % 2 == 0 { "user" } else { "assistant" };
            format!(r#"{{"content" :"caf\u00e9 number {n} \/ and so on",  "role":"{role}"}}"#)
        })
        .chain([r#"{ "role": "user","content":"Do the tests pass?" }"#.to_owned()])
        .collect();
    let talk = talk.join(" ,\n ");
    match wire {
        Wire::Anthropic => format!(
            r#"{{"model": "test-model", "system": [{{"type":"text","text":"{rules}","cache_control":{{"type":"ephemeral"}}}}],
  "tools": {tools}, "messages": [ {talk} ], "max_tokens": 4096, "stream": true}}"#
        ),
        Wire::Responses => format!(
            r#"{{"model": "test-model", "instructions": "{rules}", "tools": {tools}, "input": [ {talk} ], "store": false, "stream": true}}"#
        ),
        Wire::Chat => format!(
            r#"{{"model": "test-model", "tools": {tools}, "messages": [ {{"role":"system","content":"{rules}"}}, {talk} ], "stream": true, "stream_options": {{"include_usage": true}}}}"#
        ),
    }
    .into_bytes()
}

pub(crate) fn prefix(wire: Wire) -> Prefix {
    Prefix::new(wire, parent(wire)).unwrap()
}

/// Takes note of every call, and carries out edits only.
#[derive(Default)]
pub(crate) struct Editor {
    pub(crate) calls: Vec<String>,
}

impl Toolbox for Editor {
    fn call(&mut self, call: &ToolCall) -> Result<String, String> {
        self.calls.push(call.name.clone());
        match call.name.as_str() {
            "Edit" => Ok("The file was changed.".to_owned()),
            other => Err(format!("{other} is not for you.")),
        }
    }
}

/// What a test may want different.
pub(crate) struct Setting<'a> {
    pub(crate) prefix: Prefix,
    pub(crate) since: &'a [Message],
    pub(crate) caps: Caps,
    pub(crate) price: Price,
    pub(crate) tail: Tail,
    pub(crate) cancel: CancelToken,
}

impl Setting<'_> {
    pub(crate) fn of(wire: Wire) -> Self {
        Self {
            prefix: prefix(wire),
            since: &[],
            caps: AMPLE,
            price: Price::unknown(),
            tail: Tail { delivery: Some(Delivery::Streamed), ..Tail::default() },
            cancel: CancelToken::new(),
        }
    }

    pub(crate) async fn run(self, model: &dyn Model, tools: &mut dyn Toolbox) -> Forked {
        let fork = Fork {
            job: "notes",
            model,
            prefix: &self.prefix,
            since: self.since,
            ask: Message::text(Role::User, "Update the notes."),
            caps: &self.caps,
            price: &self.price,
            tail: self.tail,
            cancel: self.cancel,
        };
        fork.run(tools).await
    }
}

pub(crate) fn model(wire: Wire, server: &Server) -> Http {
    quick(&provider(wire, server)).0
}

/// Calls that have no result, and results that have no call.
pub(crate) fn unpaired(messages: &[Message]) -> usize {
    let calls: Vec<_> =
        messages.iter().flat_map(Message::calls).filter(|call| call.kind.needs_result()).collect();
    let results: Vec<_> = messages.iter().flat_map(Message::results).collect();
    let open = calls.iter().filter(|call| !results.iter().any(|result| result.call == call.id)).count();
    let loose = results.iter().filter(|result| !calls.iter().any(|call| result.call == call.id)).count();
    open + loose
}

#[test]
fn a_fork_can_be_spawned() {
    fn is_send<T: Send>(_: &T) {}
    let server = Server::start("Done.").unwrap();
    let model = model(Wire::Chat, &server);
    let mut tools = Editor::default();
    is_send(&Setting::of(Wire::Chat).run(&model, &mut tools));
}
