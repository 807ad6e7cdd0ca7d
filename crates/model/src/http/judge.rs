//! Answers that are errors by what they say.

use crate::classify::{Report, classify};
use crate::{ModelError, Wire, estimate};
use serde_json::Value;
use throughline_core::Message;
use throughline_wire::{Response, Stop};

/// The answer, unless it is a refusal, a failure, or nothing at all.
pub(super) fn judge(at: &str, response: Response) -> Result<Response, ModelError> {
    match &response.stop {
        Stop::ContextFull => Err(window_full(at, response)),
        // Anthropic's word for it, in servers that speak another format.
        Stop::Other(reason) if reason.ends_with("context_window_exceeded") => Err(window_full(at, response)),
        Stop::Refusal => {
            let text = response.messages.iter().map(Message::to_text).collect::<Vec<_>>().join("\n");
            Err(refused(at, text.trim()))
        }
        Stop::Failed => {
            let error = response.envelope.get("error").cloned().unwrap_or_default();
            Err(classify(at, Report::from_value(error), None))
        }
        Stop::Unsaid if response.messages.is_empty() => {
            let message = "it has neither content nor a reason for its end".to_owned();
            Err(ModelError::Malformed { at: at.to_owned(), wire: response.wire, message })
        }
        Stop::EndTurn | Stop::Unsaid => match refusal(&response) {
            Some(text) => Err(refused(at, &text)),
            None => Ok(response),
        },
        Stop::ToolUse
        | Stop::MaxTokens
        | Stop::StopSequence
        | Stop::Paused
        | Stop::CutOff
        | Stop::Other(_) => Ok(response),
    }
}

fn window_full(at: &str, response: Response) -> ModelError {
    let tokens = estimate::is_credible(&response.usage).then(|| response.usage.context());
    let partial = Some(Box::new(response));
    ModelError::TooLong { at: at.to_owned(), tokens, limit: None, over: None, partial }
}

fn refused(at: &str, text: &str) -> ModelError {
    let text = if text.is_empty() { "without a word" } else { text };
    ModelError::Refused { at: at.to_owned(), text: text.to_owned() }
}

/// OpenAI's models decline in a place of its own, and end as usual.
fn refusal(response: &Response) -> Option<String> {
    let said = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    match response.wire {
        Wire::Anthropic => None,
        Wire::Chat => said(response.encode().pointer("/choices/0/message/refusal")?),
        Wire::Responses => {
            let body = response.encode();
            let items = body.get("output")?.as_array()?;
            let parts = items.iter().filter_map(|item| item.get("content")?.as_array()).flatten();
            let texts: Vec<String> = parts.filter_map(|part| said(part.get("refusal")?)).collect();
            if texts.is_empty() { None } else { Some(texts.join("\n")) }
        }
    }
}
