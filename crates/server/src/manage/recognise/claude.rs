//! Claude Code.

use super::{Client, Native, Purpose, Recognised, UserAgent, by_endpoint, contains, header};
use crate::manage::{Asked, ThreadKey};
use serde_json::Value;
use throughline_core::{Body as Content, ClientSession, Message, Role, Wire};
use throughline_wire::splice::Body;

const SESSION: &str = "x-claude-code-session-id";
const AGENT: &str = "x-claude-code-agent-id";
/// How a text begins that asks for a summary instead of an answer.
const COMPACTION: &str = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.";
/// What that text asks for.
const SUMMARY: &str = "<summary>";
/// No answer of the main loop may be this short; a title or a probe is.
const SHORT_ANSWER: u64 = 4_096;

pub(super) fn recognise(asked: &Asked, wire: Wire, agent: &UserAgent<'_>) -> Option<Recognised> {
    let session = header(&asked.headers, SESSION);
    if wire != Wire::Anthropic || (session.is_none() && agent.name != "claude-cli") {
        return None;
    }
    let session = session.map(str::to_owned).or_else(|| session_of_user(asked));
    let sub_agent = header(&asked.headers, AGENT).map(str::to_owned);
    Some(Recognised {
        wire,
        client: Client::ClaudeCode,
        client_version: agent.version.clone(),
        parent: sub_agent
            .as_ref()
            .and(session.as_ref())
            .map(|session| ThreadKey::named(&Client::ClaudeCode, wire, session, None).session()),
        client_session: session
            .as_deref()
            .map(|session| ClientSession::new(Client::ClaudeCode.name(), session, sub_agent.as_deref())),
        session,
        agent: sub_agent,
        purpose: by_endpoint(asked.endpoint).unwrap_or_else(|| purpose(asked)),
    })
}

/// The session as the metadata of a request name it.
fn session_of_user(asked: &Asked) -> Option<String> {
    let user = asked.parsed()?.get("metadata")?;
    let user: Value = serde_json::from_str(user.get("user_id")?.as_str()?).ok()?;
    Some(user.get("session_id")?.as_str()?.to_owned()).filter(|session| !session.is_empty())
}

fn purpose(asked: &Asked) -> Purpose {
    // Nearly all requests are decided by these two searches.
    let may_compact = contains(&asked.body, COMPACTION);
    let may_be_short = !contains(&asked.body, "\"input_schema\"");
    if !may_compact && !may_be_short {
        return Purpose::Turn;
    }
    let Some(body) = asked.parsed() else { return Purpose::Turn };
    if may_compact && asks_for_summary(body) {
        return Purpose::Compaction(Native::ClaudePrompt);
    }
    let has_tools =
        body.get("tools").as_ref().and_then(Value::as_array).is_some_and(|tools| !tools.is_empty());
    let most = body.get("max_tokens").as_ref().and_then(Value::as_u64);
    if !has_tools && most.is_some_and(|most| most <= SHORT_ANSWER) { Purpose::Title } else { Purpose::Turn }
}

/// Whether the last thing that is said is the request for a summary. What the client itself adds may follow.
fn asks_for_summary(body: &Body) -> bool {
    let last = (0..body.len()).rev().find_map(|at| match body.message(at) {
        Some(message) if message.role == Role::System => None,
        other => Some(other),
    });
    let Some(Some(last)) = last else { return false };
    last.role == Role::User && texts(&last).any(|text| text.starts_with(COMPACTION) && text.contains(SUMMARY))
}

fn texts(message: &Message) -> impl Iterator<Item = &str> {
    message.blocks.iter().filter_map(|block| match &block.body {
        Content::Text(text) => Some(text.as_str()),
        Content::Reasoning { .. }
        | Content::ToolCall(_)
        | Content::ToolResult(_)
        | Content::Image(_)
        | Content::Document(_)
        | Content::Unknown(_) => None,
    })
}

/// The environment stands in the system prompt, in a system message behind the first words, or, with models that take none, in
/// a reminder before them.
pub(super) fn cwd(body: &Body) -> Option<String> {
    let system = body.get("system");
    let prompts = system.iter().flat_map(|system| match system.as_array() {
        Some(blocks) => blocks.iter().filter_map(|block| block.get("text")).collect(),
        None => vec![system],
    });
    if let Some(cwd) = prompts.filter_map(Value::as_str).find_map(of_prompt) {
        return Some(cwd);
    }
    body.messages(0..HEAD).find_map(|message| match message.role {
        // A sub-agent is told of its tools first.
        Role::System => texts(&message).find_map(of_prompt),
        Role::User => texts(&message)
            .filter_map(|text| text.trim_start().strip_prefix("<system-reminder>"))
            .find_map(of_environment),
        Role::Assistant | Role::Developer | Role::Tool => None,
    })
}

/// How many messages are looked at: the environment is told at the start.
const HEAD: usize = 4;
const HEADING: &str = "# Environment";

/// From a text that is about the environment.
fn of_environment(text: &str) -> Option<String> {
    text.trim_start().strip_prefix(HEADING).and_then(folder)
}

/// From a system prompt that has a part about the environment.
fn of_prompt(text: &str) -> Option<String> {
    let mut parts = [HEADING, "<env>"].into_iter().filter_map(|heading| {
        let at = text.find(&format!("\n{heading}\n"))?;
        text.get(at + heading.len() + 1..)
    });
    of_environment(text).or_else(|| parts.find_map(folder))
}

/// The folder that a list names. A move says in brackets where it was before.
fn folder(list: &str) -> Option<String> {
    const NAMES: [&str; 2] = ["Primary working directory: ", "Working directory: "];
    list.lines().find_map(|line| {
        let line = line.trim().trim_start_matches("- ");
        let path = NAMES.iter().find_map(|name| line.strip_prefix(name))?;
        Some(path.split(" (was ").next().unwrap_or(path).trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::super::{asked, recognise};
    use super::*;
    use crate::Endpoint;
    use serde_json::json;

    const ANSWER: Endpoint = Endpoint::Answer(Wire::Anthropic);
    const HEADERS: [(&str, &str); 2] =
        [("x-claude-code-session-id", "s-1"), ("user-agent", "claude-cli/2.1.325 (external, sdk-cli)")];

    fn ask(messages: Value) -> Value {
        json!({"model": "claude-opus-5-5", "max_tokens": 32000, "messages": messages,
            "tools": [{"name": "Bash", "input_schema": {"type": "object"}}]})
    }

    fn purpose_of(body: &Value) -> Purpose {
        recognise(&asked(ANSWER, &HEADERS, body)).unwrap().purpose
    }

    fn prompt() -> String {
        format!("{COMPACTION}\n\nWrite a <summary> block.")
    }

    #[test]
    fn the_session_the_sub_agent_and_the_version_are_in_the_headers() {
        let body = ask(json!([{"role": "user", "content": "hello"}]));
        let main = recognise(&asked(ANSWER, &HEADERS, &body)).unwrap();
        assert_eq!(main.client, Client::ClaudeCode);
        assert_eq!(main.session.as_deref(), Some("s-1"));
        assert_eq!(main.client_version.as_deref(), Some("2.1.325"));
        assert_eq!((main.purpose, main.parent.clone()), (Purpose::Turn, None));
        let mut headers = HEADERS.to_vec();
        headers.push(("x-claude-code-agent-id", "a0b1"));
        let sub = recognise(&asked(ANSWER, &headers, &body)).unwrap();
        assert_eq!((sub.session, sub.agent.as_deref()), (main.session.clone(), Some("a0b1")));
        assert_eq!(
            sub.parent,
            Some(ThreadKey::named(&Client::ClaudeCode, Wire::Anthropic, "s-1", None).session())
        );
        headers.push(("x-throughline-session", "mine"));
        let labelled = recognise(&asked(ANSWER, &headers, &body)).unwrap();
        assert_eq!(labelled.session.as_deref(), Some("mine"));
        assert_eq!(labelled.client_session, Some(ClientSession::new("claude", "s-1", Some("a0b1"))));
    }

    #[test]
    fn without_the_header_the_session_is_in_the_metadata() {
        let mut body = ask(json!([{"role": "user", "content": "hello"}]));
        body["metadata"] = json!({"user_id": r#"{"device_id":"d","session_id":"s-2"}"#});
        let found = recognise(&asked(ANSWER, &HEADERS[1..], &body)).unwrap();
        assert_eq!((found.client, found.session.as_deref()), (Client::ClaudeCode, Some("s-2")));
    }

    #[test]
    fn a_compaction_is_asked_for_by_the_last_words_only() {
        let with = |last: Value| {
            let first = json!({"role": "user", "content": "hello"});
            purpose_of(&ask(json!([first, {"role": "assistant", "content": "Hi."}, last])))
        };
        let result = json!({"type": "tool_result", "tool_use_id": "t", "content": prompt()});
        let text = json!({"type": "text", "text": prompt()});
        let compaction = Purpose::Compaction(Native::ClaudePrompt);
        assert_eq!(with(json!({"role": "user", "content": [result, text]})), compaction);
        assert_eq!(with(json!({"role": "user", "content": prompt()})), compaction);
        // In what a tool said, or as a mention, it is nothing.
        assert_eq!(with(json!({"role": "user", "content": [result]})), Purpose::Turn);
        assert_eq!(
            with(json!({"role": "user", "content": format!("what is \"{}\"?", prompt())})),
            Purpose::Turn
        );
        assert_eq!(with(json!({"role": "user", "content": COMPACTION})), Purpose::Turn);
    }

    #[test]
    fn a_compaction_may_be_followed_by_what_the_client_adds_but_not_by_the_user() {
        let ask_with = |last: Value| purpose_of(&ask(json!([{"role": "user", "content": prompt()}, last])));
        let system = ask_with(json!({"role": "system", "content": "PostToolUse hook additional context: x"}));
        assert_eq!(system, Purpose::Compaction(Native::ClaudePrompt));
        assert_eq!(ask_with(json!({"role": "user", "content": "go on"})), Purpose::Turn);
    }

    #[test]
    fn what_has_no_tools_and_wants_few_words_is_no_turn() {
        let title =
            json!({"model": "m", "max_tokens": 64, "messages": [{"role": "user", "content": "quota"}]});
        assert_eq!(purpose_of(&title), Purpose::Title);
        let long =
            json!({"model": "m", "max_tokens": 32000, "messages": [{"role": "user", "content": "hello"}]});
        assert_eq!(purpose_of(&long), Purpose::Turn);
        let mut tools = ask(json!([{"role": "user", "content": "hello"}]));
        tools["max_tokens"] = 64.into();
        assert_eq!(purpose_of(&tools), Purpose::Turn);
    }

    #[test]
    fn where_it_runs_is_what_the_client_itself_says_about_the_environment() {
        let of = |body: Value| {
            let asked = asked(ANSWER, &HEADERS, &body);
            recognise(&asked).unwrap().cwd(&asked)
        };
        let list =
            "# Environment\nYou are here: \n - Primary working directory: /home/me/shop\n - Shell: bash";
        let user = json!({"role": "user", "content": "hello"});
        assert_eq!(
            of(ask(json!([user, {"role": "system", "content": list}]))).as_deref(),
            Some("/home/me/shop")
        );
        let reminder = json!([{"type": "text", "text": format!("<system-reminder>\n{list}\n</system-reminder>")},
            {"type": "text", "text": "hello"}]);
        assert_eq!(of(ask(json!([{"role": "user", "content": reminder}]))).as_deref(), Some("/home/me/shop"));
        let mut system = ask(json!([user]));
        system["system"] =
            json!([{"type": "text", "text": "You help.\n<env>\nWorking directory: /old\n</env>"}]);
        assert_eq!(of(system).as_deref(), Some("/old"));
        // What is typed, or what a tool says, is no word of the client's.
        assert_eq!(of(ask(json!([{"role": "user", "content": list}]))), None);
        let result = json!([{"type": "tool_result", "tool_use_id": "t", "content": list}]);
        assert_eq!(of(ask(json!([{"role": "user", "content": result}]))), None);
        let moved = list.replace("/home/me/shop", "/b (was /a)");
        assert_eq!(of(ask(json!([user, {"role": "system", "content": moved}]))).as_deref(), Some("/b"));
        let odd = list.replace("/home/me/shop", "somewhere");
        assert_eq!(of(ask(json!([user, {"role": "system", "content": odd}]))), None);
    }
}
