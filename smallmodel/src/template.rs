//! From a request's messages to the turns that the model was trained on: a system's, users' and assistants', in ChatML.

use serde_json::Value;

/// One turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) role: &'static str,
    pub(crate) text: String,
}

/// What the model's own template says where nobody else does.
const DEFAULT_SYSTEM: &str = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";

/// The turns of a request. The model knows no tools: they are told to it in words, as are calls and results.
///
/// # Errors
/// In words for the client, if a message can't be read.
pub(crate) fn turns(messages: &[Value], tools: &[Value]) -> Result<Vec<Turn>, String> {
    let mut turns = Vec::with_capacity(messages.len() + 1);
    for (at, message) in messages.iter().enumerate() {
        let text = words(&message["content"]).map_err(|why| format!("messages[{at}].content: {why}"))?;
        let turn = match message["role"].as_str() {
            Some("system" | "developer") => Turn { role: "system", text },
            Some("user") => Turn { role: "user", text },
            Some("assistant") => Turn { role: "assistant", text: with_calls(text, &message["tool_calls"]) },
            Some("tool" | "function") => {
                Turn { role: "user", text: format!("<tool_response>\n{text}\n</tool_response>") }
            }
            Some(other) => return Err(format!("messages[{at}].role: '{other}' is not one of the roles")),
            None => return Err(format!("messages[{at}].role is missing")),
        };
        turns.push(turn);
    }
    if turns.first().is_none_or(|turn| turn.role != "system") {
        turns.insert(0, Turn { role: "system", text: DEFAULT_SYSTEM.to_owned() });
    }
    if let (false, Some(system)) = (tools.is_empty(), turns.first_mut()) {
        system.text.push_str("\n\nTools:");
        for tool in tools {
            system.text.push_str(&format!("\n{tool}"));
        }
    }
    Ok(turns)
}

/// The words of a content: a string, nothing, or parts.
fn words(content: &Value) -> Result<String, String> {
    match content {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => {
            let texts: Result<Vec<&str>, String> = parts
                .iter()
                .map(|part| match (part["type"].as_str(), part["text"].as_str()) {
                    (Some("text") | None, Some(text)) => Ok(text),
                    (Some("refusal"), _) => Ok(part["refusal"].as_str().unwrap_or_default()),
                    (kind, _) => Err(format!("this model takes no parts of type {kind:?}")),
                })
                .collect();
            Ok(texts?.join("\n"))
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => Err("neither a string nor a list".to_owned()),
    }
}

fn with_calls(mut text: String, calls: &Value) -> String {
    for call in calls.as_array().map(Vec::as_slice).unwrap_or_default() {
        let (name, arguments) = (&call["function"]["name"], &call["function"]["arguments"]);
        let arguments = arguments.as_str().unwrap_or("{}");
        let name = name.as_str().unwrap_or("?");
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("<tool_call>\n{name}({arguments})\n</tool_call>"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_conversation_with_a_tool_becomes_turns_of_three_roles() {
        let messages = [
            json!({"role": "developer", "content": "Be brief."}),
            json!({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function",
                "function": {"name": "Read", "arguments": "{\"path\":\"x\"}"}}]}),
            json!({"role": "tool", "tool_call_id": "1", "content": "text of x"}),
        ];
        let turns = turns(&messages, &[json!({"name": "Read"})]).unwrap();
        let shown: Vec<(&str, &str)> = turns.iter().map(|turn| (turn.role, turn.text.as_str())).collect();
        assert_eq!(
            shown,
            [
                ("system", "Be brief.\n\nTools:\n{\"name\":\"Read\"}"),
                ("user", "a\nb"),
                ("assistant", "<tool_call>\nRead({\"path\":\"x\"})\n</tool_call>"),
                ("user", "<tool_response>\ntext of x\n</tool_response>"),
            ]
        );
    }

    #[test]
    fn without_a_system_message_the_model_s_own_stands_there() {
        let turns = turns(&[json!({"role": "user", "content": "hello"})], &[]).unwrap();
        assert_eq!(turns[0], Turn { role: "system", text: DEFAULT_SYSTEM.to_owned() });
        assert_eq!(turns.len(), 2);
    }

    #[test]
    fn what_can_t_be_read_is_told_with_its_place() {
        for (message, place) in [
            (json!({"content": "x"}), "messages[0].role"),
            (json!({"role": "robot", "content": "x"}), "messages[0].role"),
            (json!({"role": "user", "content": 7}), "messages[0].content"),
            (json!({"role": "user", "content": [{"type": "image_url"}]}), "messages[0].content"),
        ] {
            assert!(turns(&[message], &[]).is_err_and(|why| why.starts_with(place)));
        }
    }
}
