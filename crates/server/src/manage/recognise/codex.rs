//! Codex.

use super::{Client, Native, Purpose, Recognised, UserAgent, by_endpoint, contains, header};
use crate::manage::{Asked, ThreadKey};
use serde::Deserialize;
use throughline_core::{Body as Content, ClientSession, Fragment, Role, Speaker, Wire};
use throughline_wire::splice::Body;

const METADATA: &str = "x-codex-turn-metadata";
const TRIGGER: &str = "compaction_trigger";

/// What Codex says about a request.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    thread_id: Option<String>,
    session_id: Option<String>,
    request_kind: Option<String>,
    thread_source: Option<String>,
    compaction: Option<Compaction>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Compaction {
    implementation: Option<String>,
}

pub(super) fn recognise(asked: &Asked, wire: Wire, agent: &UserAgent<'_>) -> Option<Recognised> {
    let said = asked.headers.get(METADATA).and_then(|value| value.to_str().ok());
    let is_codex = said.is_some()
        || agent.name.starts_with("codex")
        || header(&asked.headers, "originator").is_some_and(|name| name.starts_with("codex"));
    if wire != Wire::Responses || !is_codex {
        return None;
    }
    // What can't be read says nothing; the headers beside it are enough to go on.
    let said: Metadata = said.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let named = |name: &str| header(&asked.headers, name).map(str::to_owned);
    let thread = named("thread-id").or(said.thread_id.clone());
    let session = named("session-id").or(said.session_id.clone());
    let parent = named("x-codex-parent-thread-id")
        // A sub-agent has a thread of its own in the session of its parent.
        .or_else(|| {
            session.clone().filter(|session| thread.as_ref().is_some_and(|thread| thread != session))
        });
    let named = thread.or(session);
    Some(Recognised {
        wire,
        client: Client::Codex,
        client_version: agent.version.clone(),
        parent: parent.map(|parent| ThreadKey::named(&Client::Codex, wire, &parent, None).session()),
        // A rollout is that of a thread.
        client_session: named.as_deref().map(|thread| ClientSession::new(Client::Codex.name(), thread, None)),
        session: named,
        agent: None,
        purpose: by_endpoint(asked.endpoint).unwrap_or_else(|| purpose(asked, &said)),
    })
}

fn purpose(asked: &Asked, said: &Metadata) -> Purpose {
    match said.thread_source.as_deref() {
        Some("thread_title") => return Purpose::Title,
        Some("memory_consolidation") => return Purpose::Memory,
        Some(_) | None => {}
    }
    let implementation = said.compaction.as_ref().and_then(|compaction| compaction.implementation.as_deref());
    match said.request_kind.as_deref() {
        Some("memory") => Purpose::Memory,
        Some("compaction") if implementation == Some("responses") => Purpose::Compaction(Native::CodexPrompt),
        Some("compaction") if ends_with_trigger(asked) => Purpose::Compaction(Native::Trigger),
        Some("compaction") => Purpose::Compaction(Native::CodexPrompt),
        Some("turn") => Purpose::Turn,
        Some(_) | None if ends_with_trigger(asked) => Purpose::Compaction(Native::Trigger),
        Some(_) | None => Purpose::Turn,
    }
}

/// Whether the last item asks for a compaction.
fn ends_with_trigger(asked: &Asked) -> bool {
    if !contains(&asked.body, TRIGGER) {
        return false;
    }
    let Some(body) = asked.parsed() else { return false };
    let last = body.len().checked_sub(1).and_then(|last| body.value(last));
    last.is_some_and(|item| item.get("type").is_some_and(|kind| kind == TRIGGER))
}

/// How many items are looked at: the environment is told at the start.
const HEAD: usize = 8;

/// The environment is a part of its own in a user message before the first words.
pub(super) fn cwd(body: &Body) -> Option<String> {
    body.messages(0..HEAD).filter(|message| message.role == Role::User).find_map(|message| {
        message.blocks.iter().find_map(|block| match &block.body {
            Content::Text(text)
                if Fragment::recognise(Speaker::User, text) == Some(Fragment::Environment) =>
            {
                let (_, from) = text.split_once("<cwd>")?;
                Some(from.split_once("</cwd>")?.0.trim().to_owned())
            }
            Content::Text(_)
            | Content::Reasoning { .. }
            | Content::ToolCall(_)
            | Content::ToolResult(_)
            | Content::Image(_)
            | Content::Document(_)
            | Content::Unknown(_) => None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::{asked, recognise};
    use super::*;
    use crate::Endpoint;
    use serde_json::{Value, json};

    const ANSWER: Endpoint = Endpoint::Answer(Wire::Responses);

    fn found(metadata: &Value, input: Value) -> (Asked, Recognised) {
        let text = metadata.to_string();
        let headers = [
            ("thread-id", "t-1"),
            ("session-id", "t-1"),
            ("user-agent", "codex_exec/0.166.0 (Debian 12.0.0; x86_64) xterm"),
            ("x-codex-turn-metadata", text.as_str()),
        ];
        let asked = asked(ANSWER, &headers, &json!({"model": "gpt-5.5", "input": input, "store": false}));
        let recognised = recognise(&asked).unwrap();
        (asked, recognised)
    }

    fn hello() -> Value {
        json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}])
    }

    #[test]
    fn the_thread_and_what_it_is_for_are_in_the_headers() {
        let (_, turn) = found(&json!({"request_kind": "turn", "thread_source": "user"}), hello());
        assert_eq!((turn.client, turn.session.as_deref()), (Client::Codex, Some("t-1")));
        assert_eq!((turn.client_version.as_deref(), turn.purpose), (Some("0.166.0"), Purpose::Turn));
        let purpose = |metadata: Value| found(&metadata, hello()).1.purpose;
        assert_eq!(purpose(json!({"request_kind": "memory"})), Purpose::Memory);
        assert_eq!(
            purpose(json!({"request_kind": "turn", "thread_source": "memory_consolidation"})),
            Purpose::Memory
        );
        assert_eq!(purpose(json!({"request_kind": "turn", "thread_source": "thread_title"})), Purpose::Title);
        assert_eq!(
            purpose(json!({"request_kind": "compaction", "compaction": {"implementation": "responses"}})),
            Purpose::Compaction(Native::CodexPrompt)
        );
        assert_eq!(purpose(json!("not what it was")), Purpose::Turn);
    }

    #[test]
    fn a_trigger_asks_for_a_compaction_where_it_is_the_last_item() {
        let mut input = hello();
        input.as_array_mut().unwrap().push(json!({"type": "compaction_trigger"}));
        let said = json!({"request_kind": "compaction", "compaction": {"implementation": "responses_compaction_v2"}});
        assert_eq!(found(&said, input.clone()).1.purpose, Purpose::Compaction(Native::Trigger));
        assert_eq!(found(&json!({}), input.clone()).1.purpose, Purpose::Compaction(Native::Trigger));
        input.as_array_mut().unwrap().extend(hello().as_array().unwrap().clone());
        assert_eq!(found(&json!({}), input).1.purpose, Purpose::Turn);
    }

    #[test]
    fn a_sub_agent_has_a_thread_of_its_own_in_the_session_of_its_parent() {
        let headers = [("thread-id", "t-2"), ("session-id", "t-1"), ("originator", "codex_exec")];
        let sub = recognise(&asked(ANSWER, &headers, &json!({"input": hello()}))).unwrap();
        assert_eq!(sub.session.as_deref(), Some("t-2"));
        assert_eq!(
            sub.parent,
            Some(ThreadKey::named(&Client::Codex, Wire::Responses, "t-1", None).session())
        );
    }

    #[test]
    fn where_it_runs_is_a_part_of_its_own() {
        let context = "<environment_context>\n  <cwd>/home/me/shop</cwd>\n  <shell>bash</shell>\n</environment_context>";
        let part = |text: &str| json!({"type": "input_text", "text": text});
        let said = |parts: Value| {
            let (asked, found) =
                found(&json!({}), json!([{"type": "message", "role": "user", "content": parts}]));
            found.cwd(&asked)
        };
        assert_eq!(
            said(json!([part("# AGENTS.md instructions"), part(context)])).as_deref(),
            Some("/home/me/shop")
        );
        assert_eq!(said(json!([part(&format!("what is {context}?"))])), None);
        let output = json!([{"type": "function_call_output", "call_id": "c", "output": context}]);
        let (asked, found) = found(&json!({}), output);
        assert_eq!(found.cwd(&asked), None);
    }
}
