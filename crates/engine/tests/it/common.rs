//! Conversations to test with.

use serde_json::{Value, json};
use throughline_core::profile::{CompactLimits, MicrocompactLimits, Profile, Threshold};
use throughline_core::{Wire, invariants};
use throughline_wire::Request;

/// A profile whose limits are so small that short conversations meet them.
pub(crate) fn tiny(profile: &str) -> Profile {
    let mut profile = Profile::named(profile).unwrap();
    if let Some(compact) = &mut profile.compact {
        *compact = CompactLimits {
            threshold: Threshold::Share(0.8),
            early_share: None,
            keep_tokens: 200,
            keep_most: 600,
            result_tokens: compact.result_tokens.map(|_| 1_200),
            notes_tokens: 1_000,
            summary_tokens: 1_000,
            user_tokens: 500,
            ..compact.clone()
        };
    }
    if let Some(micro) = &mut profile.microcompact {
        *micro = MicrocompactLimits { keep: 2, ..micro.clone() };
    }
    profile
}

/// Claude's rules, with file reads like any other result.
pub(crate) fn no_exemptions() -> Profile {
    let mut profile = Profile::claude();
    if let Some(budget) = &mut profile.budget {
        budget.exempt.clear();
    }
    profile
}

/// A conversation of `turns` turns with a tool call each, in a wire's own form.
pub(crate) fn conversation(wire: Wire, turns: usize, result: &str) -> Value {
    let mut messages = Vec::new();
    for turn in 0..turns {
        let ask = format!("Turn {turn}: look at src/part_{turn}.rs. Never touch file_{turn}.lock.");
        let path = format!("src/part_{turn}.rs");
        let text = format!("{result} in {path}, function handle_{turn}");
        let id = format!("call_{turn}");
        match wire {
            Wire::Anthropic => messages.extend([
                json!({"role": "user", "content": ask}),
                json!({"role": "assistant", "content": [
                    {"type": "text", "text": "I read it."},
                    {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": path}}]}),
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}),
                json!({"role": "assistant", "content": [{"type": "text", "text": format!("Part {turn} is fine.")}]}),
            ]),
            Wire::Responses => messages.extend([
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": ask}]}),
                json!({"type": "function_call", "call_id": id, "name": "read_file", "arguments": json!({"path": path}).to_string()}),
                json!({"type": "function_call_output", "call_id": id, "output": text}),
                json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": format!("Part {turn} is fine.")}]}),
            ]),
            Wire::Chat => messages.extend([
                json!({"role": "user", "content": ask}),
                json!({"role": "assistant", "content": null, "tool_calls": [
                    {"id": id, "type": "function", "function": {"name": "read_file", "arguments": json!({"path": path}).to_string()}}]}),
                json!({"role": "tool", "tool_call_id": id, "content": text}),
                json!({"role": "assistant", "content": format!("Part {turn} is fine.")}),
            ]),
        }
    }
    match wire {
        Wire::Anthropic => {
            json!({"model": "claude-sonnet-4-5", "max_tokens": 1000, "system": "Be brief.", "messages": messages})
        }
        Wire::Responses => json!({"model": "gpt-5", "instructions": "Be brief.", "input": messages}),
        Wire::Chat => json!({"model": "gpt-5", "messages": messages}),
    }
}

/// The messages of a body, which must keep every rule.
pub(crate) fn valid(wire: Wire, bytes: &[u8]) -> Vec<throughline_core::Message> {
    let request = Request::decode(wire, bytes).expect("a request");
    let broken = invariants::check(&request.messages);
    assert!(broken.is_empty(), "{broken:?}\n{}", String::from_utf8_lossy(bytes));
    request.messages
}

pub(crate) const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::Responses, Wire::Chat];
