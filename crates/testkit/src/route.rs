//! What a path asks for, and what it gets without a script.

use crate::http::find;
use crate::{Http, Seen, fault};
use serde_json::{Value, json};
use throughline_core::Wire;
use throughline_wire::Request;

/// What a path asks for.
pub(crate) enum Asked {
    /// An answer of the model.
    Answer,
    /// The size of a prompt.
    Count,
    /// The list of models.
    Models,
    /// Nothing that is served here.
    Nothing,
}

/// What a request asks for, and in which format.
pub(crate) fn route(seen: &Seen) -> (Asked, Wire) {
    let guess = || {
        let by_headers = find(&seen.headers, "anthropic-version").or(find(&seen.headers, "x-api-key"));
        let by_headers = by_headers.map(|_| Wire::Anthropic);
        Request::detect(seen.json()).or(by_headers).unwrap_or(Wire::Chat)
    };
    let path = seen.path.trim_end_matches('/');
    let post = seen.method == "POST";
    let answer = if post { Asked::Answer } else { Asked::Nothing };
    if path.ends_with("/messages/count_tokens") {
        (if post { Asked::Count } else { Asked::Nothing }, Wire::Anthropic)
    } else if path.ends_with("/messages") {
        (answer, Wire::Anthropic)
    } else if path.ends_with("/responses") {
        (answer, Wire::Responses)
    } else if path.ends_with("/chat/completions") {
        (answer, Wire::Chat)
    } else if path.ends_with("/models") && !post {
        (Asked::Models, guess())
    } else {
        (Asked::Nothing, guess())
    }
}

/// Plausible replies to what is no request for an answer.
pub(crate) fn usual(asked: &Asked, seen: &Seen) -> Http {
    match asked {
        Asked::Count => Http::json(200, &json!({ "input_tokens": seen.tokens })),
        Asked::Models => {
            let one = |id: &str| match seen.wire {
                Wire::Anthropic => json!({
                    "type": "model", "id": id, "display_name": "Test", "created_at": "2026-01-01T00:00:00Z",
                }),
                Wire::Responses | Wire::Chat => {
                    json!({ "id": id, "object": "model", "created": 1_760_000_000, "owned_by": "test" })
                }
            };
            let mut list = json!({ "data": [one("test-model")] });
            match seen.wire {
                Wire::Anthropic => {
                    list["has_more"] = false.into();
                    list["first_id"] = "test-model".into();
                    list["last_id"] = "test-model".into();
                }
                Wire::Responses | Wire::Chat => list["object"] = Value::from("list"),
            }
            Http::json(200, &list)
        }
        Asked::Answer | Asked::Nothing => {
            fault::not_found(seen, &format!("no {} {}", seen.method, seen.path))
        }
    }
}
