//! Why an answer ended.

use serde_json::{Map, Value};
use throughline_core::Wire;

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The model had said what it wanted to say.
    EndTurn,
    /// The model waits for tool results.
    ToolUse,
    /// The answer reached its token limit.
    MaxTokens,
    /// The context window is full.
    ContextFull,
    /// A stop sequence came up.
    StopSequence,
    /// The model or a filter refused.
    Refusal,
    /// The provider paused a long turn; sending the conversation again continues it.
    Paused,
    /// The provider reported an error.
    Failed,
    /// The stream ended before the answer did.
    CutOff,
    /// A reason we do not know, in the provider's word.
    Other(String),
    /// No reason was given.
    Unsaid,
}

/// Reads the reason from a response body.
pub(crate) fn read(wire: Wire, envelope: &Map<String, Value>, calls_tools: bool) -> Stop {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("").to_owned();
    match wire {
        Wire::Anthropic => match text(envelope.get("stop_reason")).as_str() {
            "" => Stop::Unsaid,
            "end_turn" => Stop::EndTurn,
            "tool_use" => Stop::ToolUse,
            "max_tokens" => Stop::MaxTokens,
            "model_context_window_exceeded" => Stop::ContextFull,
            "stop_sequence" => Stop::StopSequence,
            "refusal" => Stop::Refusal,
            "pause_turn" => Stop::Paused,
            other => Stop::Other(other.to_owned()),
        },
        Wire::Responses => match text(envelope.get("status")).as_str() {
            "" => Stop::Unsaid,
            "completed" if calls_tools => Stop::ToolUse,
            "completed" => Stop::EndTurn,
            "failed" => Stop::Failed,
            "incomplete" => {
                match text(envelope.get("incomplete_details").and_then(|why| why.get("reason"))).as_str() {
                    "max_output_tokens" => Stop::MaxTokens,
                    "content_filter" => Stop::Refusal,
                    other => Stop::Other(other.to_owned()),
                }
            }
            other => Stop::Other(other.to_owned()),
        },
        Wire::Chat => {
            let choice = envelope.get("choices").and_then(|choices| choices.get(0));
            match text(choice.and_then(|choice| choice.get("finish_reason"))).as_str() {
                "" => Stop::Unsaid,
                "stop" => Stop::EndTurn,
                "tool_calls" | "function_call" => Stop::ToolUse,
                "length" => Stop::MaxTokens,
                "content_filter" => Stop::Refusal,
                other => Stop::Other(other.to_owned()),
            }
        }
    }
}
