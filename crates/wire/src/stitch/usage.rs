//! What several answers came to, as one.

use serde_json::{Map, Value};
use throughline_core::Wire;

/// Makes the figures of the last answer those of all: what was read is the last answer's, what was written is everybody's.
pub(super) fn total(wire: Wire, earlier: &[Map<String, Value>], last: &mut Map<String, Value>) {
    let of_before: Vec<&Map<String, Value>> =
        earlier.iter().filter_map(|body| body.get("usage")?.as_object()).collect();
    let (output, details, input) = match wire {
        Wire::Anthropic => ("output_tokens", "output_tokens_details", None),
        Wire::Responses => ("output_tokens", "output_tokens_details", Some("input_tokens")),
        Wire::Chat => ("completion_tokens", "completion_tokens_details", Some("prompt_tokens")),
    };
    for before in of_before {
        add(last, before, output);
        if let (Some(Value::Object(last)), Some(Value::Object(before))) =
            (last.get_mut(details), before.get(details))
        {
            for key in before.keys() {
                add(last, before, key);
            }
        }
    }
    // OpenAI's total is the sum of both.
    if let Some(input) = input
        && last.contains_key("total_tokens")
        && let (Some(input), Some(output)) = (figure(last, input), figure(last, output))
    {
        last.insert("total_tokens".to_owned(), input.saturating_add(output).into());
    }
}

fn figure(usage: &Map<String, Value>, key: &str) -> Option<u64> {
    usage.get(key)?.as_u64()
}

fn add(to: &mut Map<String, Value>, from: &Map<String, Value>, key: &str) {
    if let (Some(more), Some(Value::Number(_)) | None) = (figure(from, key), to.get(key)) {
        let sum = figure(to, key).unwrap_or(0).saturating_add(more);
        to.insert(key.to_owned(), sum.into());
    }
}
