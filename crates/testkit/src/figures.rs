//! Usage, right and wrong.

use serde_json::{Map, Value, json};
use throughline_core::{Usage, Wire};

/// What an answer says it cost.
#[derive(Clone, Debug, PartialEq)]
pub enum Figures {
    /// Counted: [`Seen::tokens`](crate::Seen::tokens) of input, of which [`Seen::cached`](crate::Seen::cached) were
    /// read from the cache; the words of the answer as output. On Anthropic's wire the rest of the input was written
    /// to the cache if the request has a `cache_control`.
    Counted,
    /// These.
    Exactly(Usage),
    /// All zero.
    Zero,
    /// Every figure is the largest there is.
    Absurd,
    /// Every figure is below zero.
    Negative,
    /// Every figure is a string of digits.
    Strings,
    /// Every figure has a fraction.
    Fractions,
    /// `"usage": null`.
    Null,
    /// No usage at all.
    Missing,
    /// This value as the usage.
    Raw(Value),
}

impl Figures {
    /// The value of `usage`. `None`: there is none. `counted` are the right figures.
    pub(crate) fn write(&self, wire: Wire, counted: Usage) -> Option<Value> {
        let each = |figure: Value| Some(map_figures(usage(wire, Usage::default()), &|_| figure.clone()));
        match self {
            Self::Counted => Some(usage(wire, counted)),
            Self::Exactly(given) => Some(usage(wire, *given)),
            Self::Zero => Some(usage(wire, Usage::default())),
            Self::Absurd => each(u64::MAX.into()),
            Self::Negative => each((-7).into()),
            Self::Strings => Some(map_figures(usage(wire, counted), &|figure| figure.to_string().into())),
            Self::Fractions => each(0.5.into()),
            Self::Null => Some(Value::Null),
            Self::Missing => None,
            Self::Raw(value) => Some(value.clone()),
        }
    }
}

/// A usage object as the provider writes it.
fn usage(wire: Wire, usage: Usage) -> Value {
    let Usage { input, cache_read, cache_write, output, reasoning } = usage;
    let prompt = input.saturating_add(cache_read).saturating_add(cache_write);
    match wire {
        Wire::Anthropic => json!({
            "input_tokens": input,
            "cache_creation_input_tokens": cache_write,
            "cache_read_input_tokens": cache_read,
            "cache_creation": { "ephemeral_5m_input_tokens": cache_write, "ephemeral_1h_input_tokens": 0 },
            "output_tokens": output,
            "output_tokens_details": { "thinking_tokens": reasoning },
            "service_tier": "standard",
        }),
        Wire::Responses => json!({
            "input_tokens": prompt,
            "input_tokens_details": { "cached_tokens": cache_read },
            "output_tokens": output,
            "output_tokens_details": { "reasoning_tokens": reasoning },
            "total_tokens": prompt.saturating_add(output),
        }),
        Wire::Chat => json!({
            "prompt_tokens": prompt,
            "completion_tokens": output,
            "total_tokens": prompt.saturating_add(output),
            "prompt_tokens_details": { "cached_tokens": cache_read },
            "completion_tokens_details": { "reasoning_tokens": reasoning },
        }),
    }
}

fn map_figures(value: Value, figure: &impl Fn(&Value) -> Value) -> Value {
    match value {
        Value::Number(_) => figure(&value),
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| (key, map_figures(value, figure)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(list) => list.into_iter().map(|value| map_figures(value, figure)).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => value,
    }
}
