//! A conversation that grows.

use serde_json::{Value, json};
use throughline_core::Wire;

/// A conversation of one client, in the format of one wire: each turn a question, a call, its result and an answer.
#[derive(Clone, Debug)]
pub struct Talk {
    /// The format.
    pub wire: Wire,
    /// Tells it from others.
    pub name: String,
    /// Words of each result.
    pub words: usize,
}

impl Talk {
    /// Where it is sent.
    pub fn path(&self) -> &'static str {
        match self.wire {
            Wire::Anthropic => "/v1/messages?beta=true",
            Wire::Responses => "/v1/responses",
            Wire::Chat => "/v1/chat/completions",
        }
    }

    /// The request after so many turns. It is written as no encoder of ours would write it.
    pub fn body(&self, turns: usize, stream: bool) -> Vec<u8> {
        let mut messages = Vec::new();
        for turn in 0..turns {
            messages.push(self.question(turn));
            messages.extend(self.step(turn));
        }
        messages.push(self.question(turns));
        let messages: Vec<String> = messages.iter().map(Value::to_string).collect();
        let messages = messages.join(" ,\n ");
        let tool = self.tool();
        match self.wire {
            Wire::Anthropic => format!(
                "{{ \"stream\":{stream},\"max_tokens\" : 512,\"system\":\"Be brief.\", \"messages\": [{messages}],\n\"tools\":[{tool}],\"model\":\"claude-sonnet-4-5\" }}"
            ),
            Wire::Responses => format!(
                "{{ \"stream\":{stream},\"store\" : false,\"instructions\":\"Be brief.\", \"input\": [{messages}],\n\"tools\":[{tool}],\"model\":\"gpt-5-codex\" }}"
            ),
            Wire::Chat => format!(
                "{{ \"stream\":{stream},\"n\" : 1, \"messages\": [{messages}],\n\"tools\":[{tool}],\"model\":\"gpt-5\" }}"
            ),
        }
        .into_bytes()
    }

    fn question(&self, turn: usize) -> Value {
        let text = format!("{}, question {turn}: what does module_{turn}.rs do, and why?", self.name);
        match self.wire {
            Wire::Anthropic | Wire::Chat => json!({"content": text, "role": "user"}),
            Wire::Responses => {
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
            }
        }
    }

    fn step(&self, turn: usize) -> Vec<Value> {
        let id = format!("call_{}_{turn}", self.name);
        let path = format!("src/module_{turn}.rs");
        let lines: Vec<String> = (0..self.words / 8)
            .map(|line| format!("{line}: fn part_{turn}_{line}() -> usize {{ {} }}", line * 31 + turn))
            .collect();
        let result = lines.join("\n");
        let said = format!(
            "module_{turn}.rs holds part {turn} of the whole, for the reason given in its first line."
        );
        match self.wire {
            Wire::Anthropic => vec![
                json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": path}}]}),
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": result}]}),
                json!({"role": "assistant", "content": [{"text": said, "type": "text"}]}),
            ],
            Wire::Responses => vec![
                json!({"type": "function_call", "call_id": id, "name": "Read", "arguments": json!({"file_path": path}).to_string()}),
                json!({"type": "function_call_output", "call_id": id, "output": result}),
                json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]}),
            ],
            Wire::Chat => vec![
                json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": {"name": "Read", "arguments": json!({"file_path": path}).to_string()}}]}),
                json!({"role": "tool", "tool_call_id": id, "content": result}),
                json!({"role": "assistant", "content": said}),
            ],
        }
    }

    fn tool(&self) -> Value {
        let schema = json!({"type": "object", "properties": {"file_path": {"type": "string"}}});
        match self.wire {
            Wire::Anthropic => {
                json!({"name": "Read", "description": "Reads a file.", "input_schema": schema})
            }
            Wire::Responses => json!({"type": "function", "name": "Read", "parameters": schema}),
            Wire::Chat => json!({"type": "function", "function": {"name": "Read", "parameters": schema}}),
        }
    }
}
