//! What each provider reports about tokens.

use serde_json::Value;
use throughline_core::{Usage, Wire};

/// Reads a provider's `usage` object. OpenAI counts cached tokens inside the input, Anthropic beside it: in
/// [`Usage`] they are always beside it.
pub(crate) fn read(wire: Wire, usage: &Value) -> Usage {
    let figure = |path: &[&str]| {
        path.iter().try_fold(usage, |value, key| value.get(key)).and_then(Value::as_u64).unwrap_or(0)
    };
    match wire {
        Wire::Anthropic => Usage {
            input: figure(&["input_tokens"]),
            cache_read: figure(&["cache_read_input_tokens"]),
            cache_write: match figure(&["cache_creation_input_tokens"]) {
                0 => nested_cache_writes(usage),
                written => written,
            },
            output: figure(&["output_tokens"]),
            reasoning: figure(&["output_tokens_details", "thinking_tokens"]),
        },
        Wire::Responses => {
            let cached = figure(&["input_tokens_details", "cached_tokens"]);
            Usage {
                input: figure(&["input_tokens"]).saturating_sub(cached),
                cache_read: cached,
                cache_write: 0,
                output: figure(&["output_tokens"]),
                reasoning: figure(&["output_tokens_details", "reasoning_tokens"]),
            }
        }
        Wire::Chat => {
            let cached = figure(&["prompt_tokens_details", "cached_tokens"]);
            Usage {
                input: figure(&["prompt_tokens"]).saturating_sub(cached),
                cache_read: cached,
                cache_write: 0,
                output: figure(&["completion_tokens"]),
                reasoning: figure(&["completion_tokens_details", "reasoning_tokens"]),
            }
        }
    }
}

/// Cache writes by lifetime, which some servers report without their sum.
fn nested_cache_writes(usage: &Value) -> u64 {
    let by_lifetime = usage.get("cache_creation").and_then(Value::as_object);
    by_lifetime
        .into_iter()
        .flat_map(|map| map.values())
        .filter_map(Value::as_u64)
        .fold(0, u64::saturating_add)
}
