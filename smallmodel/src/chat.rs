//! OpenAI's Chat Completions: what is asked, and how it is answered.

use crate::language::{Finish, Made};
use serde::Deserialize;
use serde_json::{Value, json};

/// The name that the server gives its model.
pub(crate) const MODEL: &str = "smollm2-135m-instruct";

/// A request. What this server has no use for is not looked at.
#[derive(Debug, Deserialize)]
pub(crate) struct Asked {
    pub(crate) messages: Vec<Value>,
    #[serde(default)]
    pub(crate) tools: Vec<Value>,
    #[serde(default)]
    pub(crate) stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    max_completion_tokens: Option<usize>,
    #[serde(default)]
    max_tokens: Option<usize>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

impl Asked {
    /// The most tokens that the client wants.
    pub(crate) fn most(&self) -> Option<usize> {
        self.max_completion_tokens.or(self.max_tokens)
    }

    /// Whether the figures are to come at the end of a stream.
    pub(crate) fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().is_some_and(|options| options.include_usage)
    }
}

/// Tokens that an answer may have behind a prompt.
///
/// # Errors
/// In OpenAI's words, if prompt and answer don't fit the context together.
pub(crate) fn room(prompt: usize, most: Option<usize>, context: usize) -> Result<usize, Value> {
    let too_long = |message: String| {
        json!({"error": {"message": message, "type": "invalid_request_error", "param": "messages",
            "code": "context_length_exceeded"}})
    };
    if prompt >= context {
        return Err(too_long(format!(
            "This model's maximum context length is {context} tokens. However, your messages resulted in {prompt} tokens. \
             Please reduce the length of the messages."
        )));
    }
    match most {
        None => Ok(context - prompt),
        Some(most) if prompt + most > context => Err(too_long(format!(
            "This model's maximum context length is {context} tokens. However, you requested {} tokens ({prompt} in the \
             messages, {most} in the completion). Please reduce the length of the messages or completion.",
            prompt + most
        ))),
        Some(most) => Ok(most),
    }
}

/// Any other mistake of the client's.
pub(crate) fn invalid(message: &str) -> Value {
    json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": null}})
}

/// A failure of ours.
pub(crate) fn failed(message: &str) -> Value {
    json!({"error": {"message": message, "type": "server_error", "param": null, "code": null}})
}

/// One answer's identity.
pub(crate) struct Reply {
    pub(crate) id: String,
    pub(crate) created: i64,
}

impl Reply {
    /// The whole answer at once.
    pub(crate) fn whole(&self, text: &str, prompt: usize, made: &Made) -> Value {
        json!({
            "id": self.id, "object": "chat.completion", "created": self.created, "model": MODEL,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text, "refusal": null},
                "logprobs": null, "finish_reason": reason(made.finish)}],
            "usage": usage(prompt, made),
        })
    }

    /// A piece of text.
    pub(crate) fn piece(&self, text: &str) -> Value {
        self.chunk(json!([{"index": 0, "delta": {"content": text}, "finish_reason": null}]))
    }

    /// The first piece: who speaks.
    pub(crate) fn first(&self) -> Value {
        self.chunk(
            json!([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}]),
        )
    }

    /// The last piece: why it is over.
    pub(crate) fn last(&self, made: &Made) -> Value {
        self.chunk(json!([{"index": 0, "delta": {}, "finish_reason": reason(made.finish)}]))
    }

    /// The figures.
    pub(crate) fn figures(&self, prompt: usize, made: &Made) -> Value {
        let mut chunk = self.chunk(json!([]));
        chunk["usage"] = usage(prompt, made);
        chunk
    }

    fn chunk(&self, choices: Value) -> Value {
        json!({"id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": MODEL,
            "choices": choices})
    }
}

fn usage(prompt: usize, made: &Made) -> Value {
    json!({"prompt_tokens": prompt, "completion_tokens": made.output, "total_tokens": prompt + made.output,
        "prompt_tokens_details": {"cached_tokens": made.cached}})
}

fn reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length | Finish::Left => "length",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_gets_the_room_that_is_left_or_what_was_asked() {
        assert_eq!(room(100, None, 1000).unwrap(), 900);
        assert_eq!(room(100, Some(50), 1000).unwrap(), 50);
        assert_eq!(room(100, Some(900), 1000).unwrap(), 900);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_both_figures() {
        for (most, figure) in [(None, "resulted in 1000 tokens"), (Some(5), "resulted in 1000 tokens")] {
            let error = room(1000, most, 1000).unwrap_err();
            assert_eq!(error["error"]["code"], "context_length_exceeded");
            assert!(error["error"]["message"].as_str().is_some_and(|words| words.contains(figure)));
        }
        let error = room(900, Some(101), 1000).unwrap_err();
        let words = error["error"]["message"].as_str().unwrap();
        assert!(words.contains("maximum context length is 1000") && words.contains("requested 1001 tokens"));
    }

    #[test]
    fn both_names_of_the_limit_are_known() {
        let asked = |text: &str| serde_json::from_str::<Asked>(text).unwrap().most();
        assert_eq!(asked(r#"{"messages":[],"max_completion_tokens":7,"max_tokens":9}"#), Some(7));
        assert_eq!(asked(r#"{"messages":[],"max_tokens":9,"unknown":true}"#), Some(9));
        assert_eq!(asked(r#"{"messages":[]}"#), None);
    }
}
