//! What a client asks for when it has its conversation condensed: the conversation without the asking, and what the text shall
//! pay attention to.

use super::super::recognise::Native;
use serde_json::Value;
use throughline_wire::splice::{Body, Changes, Fragment, SpliceError};

/// How Claude Code's request for a summary begins.
const CLAUDE_ASK: &str = "CRITICAL: Respond with TEXT ONLY";
/// Behind this it repeats what its user typed behind `/compact`.
const CLAUDE_INSTRUCTIONS: &str = "Additional Instructions:\n";
/// What may follow that.
const CLAUDE_REMINDER: &str = "\n\nREMINDER:";
/// How Codex's own request begins; its user may have another.
const CODEX_ASK: &str = "You are performing a CONTEXT CHECKPOINT COMPACTION";
/// The item that asks for an opaque one.
const TRIGGER: &str = "compaction_trigger";

/// What is to be condensed.
#[derive(Debug, PartialEq)]
pub(in crate::manage) struct Wanted {
    /// The request without what asks for the summary: the conversation as it stands.
    pub(in crate::manage) conversation: Vec<u8>,
    /// What the user wants the text to pay attention to.
    pub(super) instructions: Option<String>,
    pub(super) model: String,
    /// Whether the answer is to be streamed.
    pub(super) streams: bool,
}

impl Wanted {
    /// Reads a request; `None` if it does not ask for what it seemed to.
    pub(in crate::manage) fn read(native: Native, body: &Body) -> Result<Option<Self>, SpliceError> {
        let mut changes = Changes::default();
        let instructions = match native {
            Native::ClaudePrompt => match claude(body, &mut changes) {
                Some(ask) => claude_instructions(&ask),
                None => return Ok(None),
            },
            Native::CodexPrompt => match last_of_user(body) {
                Some((at, item)) => {
                    changes.replace(at..at + 1, Vec::new());
                    Some(text_of(&item)).filter(|text| !text.trim_start().starts_with(CODEX_ASK))
                }
                None => return Ok(None),
            },
            Native::Trigger => {
                let is_trigger = |at: &usize| body.value(*at).is_some_and(|item| item["type"] == TRIGGER);
                let triggers: Vec<usize> = (0..body.len()).filter(is_trigger).collect();
                if triggers.is_empty() {
                    return Ok(None);
                }
                triggers.into_iter().for_each(|at| changes.replace(at..at + 1, Vec::new()));
                None
            }
            // Who goes on from an answer that the provider keeps sends nothing to condense.
            Native::Endpoint if body.is_empty() => return Ok(None),
            Native::Endpoint => None,
        };
        let of = |key: &str| body.get(key);
        Ok(Some(Self {
            conversation: body.rebuild(&changes)?.into_owned(),
            instructions: instructions.filter(|text| !text.trim().is_empty()),
            model: of("model").as_ref().and_then(Value::as_str).unwrap_or_default().to_owned(),
            streams: of("stream").as_ref().and_then(Value::as_bool).unwrap_or(false),
        }))
    }
}

/// The last element that the user says: what the client adds of its own may follow.
fn last_of_user(body: &Body) -> Option<(usize, Value)> {
    (0..body.len())
        .rev()
        .map(|at| (at, body.value(at).unwrap_or_default()))
        .find(|(_, element)| element["role"] == "user")
}

/// Takes Claude Code's asking out of the last message of the user. What it says.
fn claude(body: &Body, changes: &mut Changes) -> Option<String> {
    let (at, mut message) = last_of_user(body)?;
    let asks = |text: &str| text.trim_start().starts_with(CLAUDE_ASK);
    if let Some(text) = message["content"].as_str().filter(|text| asks(text)) {
        changes.replace(at..at + 1, Vec::new());
        return Some(text.to_owned());
    }
    let blocks = message["content"].as_array_mut()?;
    let place = blocks.iter().rposition(|block| block["text"].as_str().is_some_and(asks))?;
    let ask = blocks.remove(place)["text"].as_str().unwrap_or_default().to_owned();
    let rest = if blocks.is_empty() { Vec::new() } else { vec![Fragment::from(&message)] };
    changes.replace(at..at + 1, rest);
    Some(ask)
}

fn claude_instructions(ask: &str) -> Option<String> {
    let (_, wanted) = ask.rsplit_once(CLAUDE_INSTRUCTIONS)?;
    let wanted = wanted.split_once(CLAUDE_REMINDER).map_or(wanted, |(wanted, _)| wanted);
    Some(wanted.trim().to_owned())
}

fn text_of(item: &Value) -> String {
    let content = &item["content"];
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let parts = content.as_array().map(Vec::as_slice).unwrap_or_default();
    parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use throughline_core::Wire;

    fn wire(native: Native) -> Wire {
        match native {
            Native::ClaudePrompt => Wire::Anthropic,
            Native::CodexPrompt | Native::Trigger | Native::Endpoint => Wire::Responses,
        }
    }

    fn read(native: Native, body: &Value) -> Option<Wanted> {
        Wanted::read(native, &Body::parse(wire(native), body.to_string()).unwrap()).unwrap()
    }

    #[test]
    fn the_asking_is_taken_out_and_nothing_else() {
        let result = json!({"type": "tool_result", "tool_use_id": "a", "content": "x"});
        let ask =
            format!("{CLAUDE_ASK}. Do it.\n\n{CLAUDE_INSTRUCTIONS}mind the tests{CLAUDE_REMINDER} no tools.");
        let hook = json!({"role": "system", "content": "said by a hook"});
        let body = json!({"model": "m", "stream": true, "messages": [
            {"role": "user", "content": "hello"},
            {"role": "user", "content": [result, {"type": "text", "text": ask}]}, hook]});
        let wanted = read(Native::ClaudePrompt, &body).unwrap();
        assert_eq!(wanted.instructions.as_deref(), Some("mind the tests"));
        assert!(wanted.streams);
        let rest: Value = serde_json::from_slice(&wanted.conversation).unwrap();
        assert_eq!(
            rest["messages"],
            json!([{"role": "user", "content": "hello"}, {"role": "user", "content": [result]}, hook])
        );
        let alone = json!({"model": "m", "messages": [{"role": "user", "content": "hello"},
            {"role": "user", "content": format!("{CLAUDE_ASK}.")}]});
        let wanted = read(Native::ClaudePrompt, &alone).unwrap();
        assert_eq!(wanted.instructions, None);
        let rest: Value = serde_json::from_slice(&wanted.conversation).unwrap();
        assert_eq!(rest["messages"].as_array().unwrap().len(), 1);
        assert_eq!(
            read(Native::ClaudePrompt, &json!({"messages": [{"role": "user", "content": "hello"}]})),
            None
        );
    }

    #[test]
    fn codex_asks_by_a_message_or_by_an_item() {
        let user = |text: &str| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
        let own = json!({"model": "m", "input": [user("hello"), user(&format!("{CODEX_ASK}. Be brief."))]});
        let wanted = read(Native::CodexPrompt, &own).unwrap();
        assert_eq!(wanted.instructions, None);
        assert_eq!(
            serde_json::from_slice::<Value>(&wanted.conversation).unwrap()["input"],
            json!([user("hello")])
        );
        let other = json!({"model": "m", "input": [user("hello"), user("Write a haiku about it.")]});
        let wanted = read(Native::CodexPrompt, &other).unwrap();
        assert_eq!(wanted.instructions.as_deref(), Some("Write a haiku about it."));
        let trigger = json!({"model": "m", "input": [user("hello"), {"type": TRIGGER}]});
        let wanted = read(Native::Trigger, &trigger).unwrap();
        assert_eq!(
            serde_json::from_slice::<Value>(&wanted.conversation).unwrap()["input"],
            json!([user("hello")])
        );
        assert_eq!(read(Native::Trigger, &json!({"input": [user("hello")]})), None);
    }
}
