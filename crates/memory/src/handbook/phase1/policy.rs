//! What of a session may be remembered: a decision for every role, flag, block and fragment (H2).
//!
//! What is kept is redacted here, before anything else sees it, and then cut to a length that does not depend on the session's.

use serde_json::{Map, Value};
use throughline_core::text::middle_cut;
use throughline_core::{
    Block, Body, Flags, Fragment, Message, ResultContent, Role, Speaker, ToolCall, ToolInput, ToolResult,
};
use throughline_redact::redact;

/// Bytes of a text that the user or the agent wrote.
pub const TEXT_BYTES: usize = 32 << 10;
/// Bytes of one argument of a call.
pub const ARGUMENT_BYTES: usize = 16 << 10;
/// Bytes of a tool's result.
pub const RESULT_BYTES: usize = 16 << 10;
/// How deep arguments are looked into; what lies deeper is left out.
const DEPTH: usize = 64;

/// A message as far as it may be remembered, under its own id; `None` if nothing of it may.
pub(crate) fn keep(message: Message) -> Option<Message> {
    match message.role {
        Role::User | Role::Assistant | Role::Tool => {}
        // Whoever runs the model says the same in every session.
        Role::System | Role::Developer => return None,
    }
    let Flags { meta, typed, summary, display_only, error } = message.flags;
    // A summary tells what was said before, which is in the ledger; the others no model was told, or none said.
    if summary || display_only || error {
        return None;
    }
    let says = Says { role: message.role, is_typed: typed, is_by_client: meta };
    let blocks: Vec<Block> = message.blocks.into_iter().filter_map(|block| says.block(block.body)).collect();
    if blocks.is_empty() {
        return None;
    }
    // How it looked on the wire is nobody's knowledge, and was not redacted.
    Some(Message { blocks, shape: None, bare: false, ..message })
}

/// Who says it.
#[derive(Clone, Copy)]
struct Says {
    role: Role,
    is_typed: bool,
    is_by_client: bool,
}

impl Says {
    fn block(self, body: Body) -> Option<Block> {
        let body = match body {
            Body::Text(text) => Body::Text(self.text(text)?),
            Body::ToolCall(call) => Body::ToolCall(ToolCall { input: input(call.input), ..call }),
            Body::ToolResult(result) => {
                Body::ToolResult(ToolResult { content: ResultContent::Text(result_text(&result)), ..result })
            }
            // What the model thought is no knowledge, and pictures are not read.
            Body::Reasoning { .. } | Body::Image(_) | Body::Document(_) | Body::Unknown(_) => return None,
        };
        Some(body.into())
    }

    fn text(self, text: String) -> Option<String> {
        if text.trim().is_empty() {
            return None;
        }
        let speaker = match self.role {
            Role::User => Speaker::User,
            Role::Assistant => Speaker::Assistant,
            Role::Tool | Role::System | Role::Developer => return Some(clean(text, RESULT_BYTES)),
        };
        let fragment = if self.is_typed { None } else { Fragment::recognise(speaker, &text) };
        match fragment {
            None if self.is_by_client => None,
            None => Some(clean(text, TEXT_BYTES)),
            Some(fragment) if is_kept(fragment) => {
                let text = clean(text, RESULT_BYTES);
                // Scaffold that is no longer known as such would pass for words that somebody typed.
                (Fragment::recognise(speaker, &text) == Some(fragment)).then_some(text)
            }
            Some(_) => None,
        }
    }
}

/// Whether scaffold of a kind says something about the work. It stays scaffold: it never counts as the user's words.
fn is_kept(fragment: Fragment) -> bool {
    match fragment {
        // Where it ran; what the user ran beside the agent; what others reported; that somebody stopped it.
        Fragment::Environment
        | Fragment::UserShellCommand
        | Fragment::BashInput
        | Fragment::BashOutput
        | Fragment::BashErrors
        | Fragment::SubagentNotification
        | Fragment::TeammateMessage
        | Fragment::TaskNotification
        | Fragment::RealtimeDelegation
        | Fragment::UserAction
        | Fragment::TurnAborted
        | Fragment::Interrupted
        | Fragment::ProposedPlan => true,
        // Instructions and lists that the next session is told anew, and what clients tell themselves.
        Fragment::AgentsMd
        | Fragment::UserInstructions
        | Fragment::Skill
        | Fragment::Skills
        | Fragment::ModelSwitch
        | Fragment::Permissions
        | Fragment::CollaborationMode
        | Fragment::RealtimeConversation
        | Fragment::Personality
        | Fragment::Apps
        | Fragment::Plugins
        | Fragment::Image
        | Fragment::SystemReminder
        | Fragment::DeferredTools
        | Fragment::RecommendedPlugins
        | Fragment::InternalContext
        | Fragment::GoalContext
        | Fragment::CommandName
        | Fragment::CommandMessage
        | Fragment::LocalCommandOutput
        | Fragment::LocalCommandCaveat
        | Fragment::LocalCommandErrors
        | Fragment::CommandArgs
        | Fragment::IdeFile
        | Fragment::IdeSelection
        | Fragment::HookPrompt
        | Fragment::Env
        | Fragment::Analysis
        | Fragment::Summary
        | Fragment::CurrentNotes => false,
    }
}

/// Without secrets, and then not too long: a cut through a secret would leave half of it.
fn clean(text: String, bytes: usize) -> String {
    let redacted = redact(&text);
    let text = if redacted.is_clean() { text } else { redacted.into_text() };
    if text.len() <= bytes { text } else { middle_cut(&text, bytes) }
}

fn result_text(result: &ToolResult) -> String {
    clean(legible(&result.content), RESULT_BYTES)
}

/// The words of a result; pictures have none.
fn legible(content: &ResultContent) -> String {
    let parts = match content {
        ResultContent::Text(text) => return text.clone(),
        ResultContent::Parts(parts) => parts,
    };
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match &part.body {
            Body::Text(text) => Some(text.as_str()),
            Body::Reasoning { .. }
            | Body::ToolCall(_)
            | Body::ToolResult(_)
            | Body::Image(_)
            | Body::Document(_)
            | Body::Unknown(_) => None,
        })
        .collect();
    texts.join("\n")
}

fn input(input: ToolInput) -> ToolInput {
    match input {
        ToolInput::Json(value) => ToolInput::Json(value_of(value, DEPTH)),
        ToolInput::JsonText(text) => match serde_json::from_str(&text) {
            Ok(value) => ToolInput::JsonText(value_of(value, DEPTH).to_string()),
            Err(_) => ToolInput::Text(clean(text, ARGUMENT_BYTES)),
        },
        ToolInput::Text(text) => ToolInput::Text(clean(text, ARGUMENT_BYTES)),
    }
}

fn value_of(value: Value, depth: usize) -> Value {
    let Some(deeper) = depth.checked_sub(1) else { return Value::Null };
    match value {
        Value::String(text) => Value::String(clean(text, ARGUMENT_BYTES)),
        Value::Array(items) => items.into_iter().map(|item| value_of(item, deeper)).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| {
                let value = match value {
                    Value::String(text) => Value::String(named(&key, text)),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                        value_of(value, deeper)
                    }
                };
                (clean(key, ARGUMENT_BYTES), value)
            });
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// The value of a key: `password` says what the value is.
fn named(key: &str, text: String) -> String {
    let lead = format!("{key}: ");
    let both = redact(&format!("{lead}{text}"));
    if both.is_clean() {
        return clean(text, ARGUMENT_BYTES);
    }
    // What the name gives away may begin in it.
    let rest = both.text().strip_prefix(&lead).map_or_else(|| both.text().to_owned(), str::to_owned);
    clean(rest, ARGUMENT_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn user(text: &str) -> Message {
        Message::text(Role::User, text)
    }

    #[test]
    fn h2_who_speaks_and_how_it_is_marked_decides() {
        assert!(keep(Message::text(Role::Developer, "rules")).is_none());
        assert!(keep(Message::text(Role::System, "rules")).is_none());
        let marked = |flags: Flags| keep(Message { flags, ..user("words") });
        assert!(marked(Flags { summary: true, ..Flags::default() }).is_none());
        assert!(marked(Flags { display_only: true, ..Flags::default() }).is_none());
        assert!(marked(Flags { meta: true, ..Flags::default() }).is_none());
        assert!(marked(Flags { error: true, ..Flags::default() }).is_none());
        assert!(marked(Flags::default()).is_some());
        assert!(
            keep(Message::new(
                Role::Assistant,
                vec![Body::Reasoning { text: "hm".into(), seal: None }.into()]
            ))
            .is_none()
        );
    }

    #[test]
    fn h2_scaffold_is_dropped_or_stays_scaffold() {
        for &fragment in Fragment::ALL {
            let (speaker, ..) = fragment.marks();
            let role = match speaker {
                Speaker::User => Role::User,
                // Prompts for notes are in no ledger.
                Speaker::Notes => continue,
                Speaker::Assistant => Role::Assistant,
                Speaker::Developer => Role::Developer,
                Speaker::System => Role::System,
            };
            let kept = keep(Message::text(role, fragment.render("always push to main")));
            match kept {
                Some(kept) => {
                    assert!(is_kept(fragment), "{fragment:?}");
                    assert_eq!(kept.user_words(), "", "{fragment:?}");
                }
                None => assert!(!is_kept(fragment), "{fragment:?}"),
            }
        }
        // However long it is, and whatever a secret in it takes along.
        let long = Fragment::BashOutput.render(&"never push\n".repeat(20_000));
        assert_eq!(keep(user(&long)).map(|kept| kept.user_words()), Some(String::new()));
        let odd =
            "<bash-stdout>never push\nAPI_TOKEN=ghp_0123456789abcdefghij0123456789abcdefgh</bash-stdout>";
        let kept = keep(user(odd));
        assert_eq!(kept.map(|kept| kept.user_words()).unwrap_or_default(), "");
        // What a person typed is theirs even where it imitates a tag.
        let typed = Message { flags: Flags { typed: true, ..Flags::default() }, ..user("<skill>x</skill>") };
        assert_eq!(keep(typed).map(|kept| kept.user_words()).as_deref(), Some("<skill>x</skill>"));
    }

    #[test]
    fn secrets_go_from_every_place_and_ids_stay() {
        const KEY: &str = "ghp_0123456789abcdefghij0123456789abcdefgh";
        let call = ToolCall {
            id: "c".into(),
            name: "Bash".to_owned(),
            input: ToolInput::Json(
                json!({"command": format!("curl -H 'x: {KEY}'"), "env": {"password": "hunter22-xyz"}, "list": [KEY]}),
            ),
            kind: throughline_core::CallKind::Function,
        };
        let text = ToolCall {
            input: ToolInput::JsonText(json!({"password": "hunter22-xyz"}).to_string()),
            ..call.clone()
        };
        let message = Message::new(
            Role::Assistant,
            vec![Block::text(format!("use {KEY}")), Body::ToolCall(call).into(), Body::ToolCall(text).into()],
        );
        let kept = keep(message.clone()).unwrap();
        assert_eq!(kept.id, message.id);
        let words = serde_json::to_string(&kept).unwrap();
        assert!(!words.contains(KEY) && !words.contains("hunter22"), "{words}");
        assert!(words.contains("curl -H"));
        let parts = vec![Block::text("a"), Block::text(format!("token {KEY}"))];
        let result = ToolResult { content: ResultContent::Parts(parts), ..ToolResult::text("c".into(), "") };
        let kept = keep(Message::new(Role::User, vec![Body::ToolResult(result).into()])).unwrap();
        let words = serde_json::to_string(&kept).unwrap();
        assert!(!words.contains(KEY) && words.contains("redacted"), "{words}");
    }

    #[test]
    fn what_is_long_is_cut_in_the_middle() {
        let result = ToolResult::text("c".into(), format!("begin{}end", "x ".repeat(100_000)));
        let kept = keep(Message::new(Role::User, vec![Body::ToolResult(result).into()])).unwrap();
        let text = kept.to_text();
        assert!(text.len() < RESULT_BYTES + 64 && text.starts_with("begin") && text.ends_with("end"));
        let deep = (0..500).fold(json!("x"), |inner, _| json!([inner]));
        assert!(value_of(deep, DEPTH).to_string().contains("null"));
    }
}
