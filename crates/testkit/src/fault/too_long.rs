//! "Too long" in everybody's words.

use super::errors::ids;
use crate::{Http, Seen};
use serde_json::{Value, json};

/// A prompt that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Who says it.
    pub wording: Wording,
    /// Tokens of the prompt.
    pub tokens: u64,
    /// What the window holds.
    pub limit: u64,
}

/// How it is said. Each has the status and the body of its own provider, on whichever wire it is asked: gateways pass
/// such errors on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    /// Anthropic: the prompt alone. Both figures.
    Anthropic,
    /// Anthropic: prompt and `max_tokens` together. All figures.
    AnthropicSum,
    /// OpenAI: messages and completion together. Both figures.
    OpenAiRequested,
    /// OpenAI: the messages alone. Both figures.
    OpenAiMessages,
    /// OpenAI: input tokens over a configured limit. Both figures.
    OpenAiLimit,
    /// OpenAI Responses: no figures.
    OpenAiInput,
    /// OpenAI Responses: the stream begins and then fails. No figures. Not streamed: as `OpenAiInput`.
    OpenAiStream,
    /// llama.cpp: figures as fields and in the words.
    LlamaCpp,
    /// vLLM, older: a flat error object. Both figures.
    VllmFlat,
    /// vLLM: `max_tokens` does not fit beside the input. Both figures.
    VllmOutput,
    /// vLLM, newer: input tokens and the model's length. Both figures.
    VllmInput,
    /// Ollama: only the difference.
    Ollama,
    /// Ollama: llama.cpp's error as a string of JSON.
    OllamaNested,
    /// Gemini: a list with an error in it. Both figures.
    Gemini,
    /// Amazon Bedrock: no figures.
    Bedrock,
    /// OpenRouter: an estimate. Both figures.
    OpenRouter,
    /// xAI: the error is a string. Both figures.
    Xai,
    /// Mistral: a flat error object. Both figures.
    Mistral,
    /// Groq: no figures.
    Groq,
    /// Moonshot: both figures.
    Kimi,
    /// GitHub Copilot: both figures.
    Copilot,
    /// LM Studio: the error is a string. Both figures.
    LmStudio,
    /// MiniMax: no figures.
    MiniMax,
    /// Any gateway: 400 with no body.
    Silent,
}

impl Wording {
    /// All of them.
    pub const ALL: [Self; 24] = [
        Self::Anthropic,
        Self::AnthropicSum,
        Self::OpenAiRequested,
        Self::OpenAiMessages,
        Self::OpenAiLimit,
        Self::OpenAiInput,
        Self::OpenAiStream,
        Self::LlamaCpp,
        Self::VllmFlat,
        Self::VllmOutput,
        Self::VllmInput,
        Self::Ollama,
        Self::OllamaNested,
        Self::Gemini,
        Self::Bedrock,
        Self::OpenRouter,
        Self::Xai,
        Self::Mistral,
        Self::Groq,
        Self::Kimi,
        Self::Copilot,
        Self::LmStudio,
        Self::MiniMax,
        Self::Silent,
    ];

    /// Its name in [`Fault::all`](super::Fault::all).
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "too long: Anthropic",
            Self::AnthropicSum => "too long: Anthropic with max_tokens",
            Self::OpenAiRequested => "too long: OpenAI requested",
            Self::OpenAiMessages => "too long: OpenAI messages",
            Self::OpenAiLimit => "too long: OpenAI limit",
            Self::OpenAiInput => "too long: OpenAI input",
            Self::OpenAiStream => "too long: OpenAI stream",
            Self::LlamaCpp => "too long: llama.cpp",
            Self::VllmFlat => "too long: vLLM flat",
            Self::VllmOutput => "too long: vLLM output",
            Self::VllmInput => "too long: vLLM input",
            Self::Ollama => "too long: Ollama",
            Self::OllamaNested => "too long: Ollama nested",
            Self::Gemini => "too long: Gemini",
            Self::Bedrock => "too long: Bedrock",
            Self::OpenRouter => "too long: OpenRouter",
            Self::Xai => "too long: xAI",
            Self::Mistral => "too long: Mistral",
            Self::Groq => "too long: Groq",
            Self::Kimi => "too long: Kimi",
            Self::Copilot => "too long: Copilot",
            Self::LmStudio => "too long: LM Studio",
            Self::MiniMax => "too long: MiniMax",
            Self::Silent => "too long: no body",
        }
    }
}

/// Tokens asked for as output, where a request does not say.
const OUTPUT: u64 = 4096;

impl TooLong {
    /// The error as an HTTP response.
    pub(super) fn http(&self, seen: &Seen) -> Http {
        if self.wording == Wording::Silent {
            return Http { status: 400, headers: ids(seen), body: Vec::new() };
        }
        let mut http = Http::json(400, &self.body(seen));
        if self.wording == Wording::Bedrock {
            http.headers.push(("x-amzn-errortype".to_owned(), "ValidationException".to_owned()));
        } else {
            http.headers.extend(ids(seen));
        }
        http
    }

    /// The sentence of OpenAI that has no figures.
    pub(super) const OPENAI_WORDS: &'static str =
        "Your input exceeds the context window of this model. Please adjust your input and try again.";

    /// The sentence of Anthropic.
    pub(super) fn anthropic_words(&self) -> String {
        format!("prompt is too long: {} tokens > {} maximum", self.tokens, self.limit)
    }

    fn body(&self, seen: &Seen) -> Value {
        let Self { wording, tokens, limit } = *self;
        let asked = seen.request().ok().and_then(|request| request.max_output()).unwrap_or(OUTPUT);
        let sum = tokens.saturating_add(asked);
        let over = tokens.saturating_sub(limit);
        match wording {
            Wording::Anthropic => anthropic(self.anthropic_words(), seen),
            Wording::AnthropicSum => {
                // The prompt alone fits.
                let input = tokens.min(limit.saturating_sub(1));
                let output = asked.max(limit - input + 1);
                let words = format!(
                    "input length and `max_tokens` exceed context limit: {input} + {output} > {limit}, decrease input \
                     length or `max_tokens` and try again"
                );
                anthropic(words, seen)
            }
            Wording::OpenAiRequested => {
                let words = format!(
                    "This model's maximum context length is {limit} tokens. However, you requested {sum} tokens \
                     ({tokens} in the messages, {asked} in the completion). Please reduce the length of the messages or \
                     completion."
                );
                json!({ "error": openai(&words, "messages") })
            }
            Wording::OpenAiMessages => {
                let words = format!(
                    "This model's maximum context length is {limit} tokens. However, your messages resulted in {tokens} \
                     tokens. Please reduce the length of the messages."
                );
                json!({ "error": openai(&words, "messages") })
            }
            Wording::OpenAiLimit => {
                let words = format!(
                    "Input tokens exceed the configured limit of {limit} tokens. Your messages resulted in {tokens} \
                     tokens. Please reduce the length of the messages."
                );
                json!({ "error": openai(&words, "messages") })
            }
            Wording::OpenAiInput | Wording::OpenAiStream => {
                json!({ "error": openai(Self::OPENAI_WORDS, "input") })
            }
            Wording::LlamaCpp => json!({ "error": llama_cpp(tokens, limit) }),
            Wording::VllmFlat => json!({
                "object": "error",
                "message": format!(
                    "This model's maximum context length is {limit} tokens. However, you requested {sum} tokens ({tokens} \
                     in the messages, {asked} in the completion). Please reduce the length of the messages or completion."
                ),
                "type": "BadRequestError", "param": null, "code": 400,
            }),
            Wording::VllmOutput => vllm(
                format!(
                    "'max_tokens' or 'max_completion_tokens' is too large: {asked}. This model's maximum context length is \
                     {limit} tokens and your request has {tokens} input tokens ({asked} > {limit} - {tokens})."
                ),
                "max_tokens",
            ),
            Wording::VllmInput => vllm(
                format!(
                    "This model's maximum context length is {limit} tokens. However, your request has {tokens} input \
                     tokens. Please reduce the length of the input messages. (parameter=input_tokens, value={tokens})"
                ),
                "input_tokens",
            ),
            Wording::Ollama => json!({ "error": {
                "message": format!("prompt too long; exceeded max context length by {over} tokens"),
                "type": "invalid_request_error", "param": null, "code": null,
            } }),
            Wording::OllamaNested => {
                json!({ "error": json!({ "error": llama_cpp(tokens, limit) }).to_string() })
            }
            Wording::Gemini => json!([{ "error": {
                "code": 400,
                "message": format!(
                    "The input token count ({tokens}) exceeds the maximum number of tokens allowed ({limit})."
                ),
                "status": "INVALID_ARGUMENT",
            } }]),
            Wording::Bedrock => json!({ "message": "Input is too long for requested model." }),
            Wording::OpenRouter => json!({ "error": {
                "message": format!(
                    "This endpoint's maximum context length is {limit} tokens. However, you requested about {sum} tokens \
                     ({tokens} of text input, {asked} in the output). Please reduce the length of either one, or use the \
                     \"middle-out\" transform to compress your prompt automatically."
                ),
                "code": 400,
            } }),
            Wording::Xai => json!({
                "code": "Client specified an invalid argument",
                "error": format!(
                    "This model's maximum prompt length is {limit} but the request contains {tokens} tokens."
                ),
            }),
            Wording::Mistral => json!({
                "object": "error",
                "message": format!(
                    "Prompt contains {tokens} tokens, too large for model with {limit} maximum context length"
                ),
                "type": "invalid_request_error", "param": null, "code": "3051",
            }),
            Wording::Groq => {
                let words = "Please reduce the length of the messages or completion.";
                json!({ "error": openai(words, "messages") })
            }
            Wording::Kimi => json!({ "error": {
                "message": format!("Your request exceeded model token limit: {limit} (requested: {tokens})"),
                "type": "invalid_request_error",
            } }),
            Wording::Copilot => json!({ "error": {
                "message": format!("prompt token count of {tokens} exceeds the limit of {limit}"),
                "code": "model_max_prompt_tokens_exceeded",
            } }),
            Wording::LmStudio => json!({ "error": format!(
                "Trying to keep the first {tokens} tokens when context the overflows. However, the model is loaded with \
                 context length of only {limit} tokens, which is not enough. Try to load the model with a larger context \
                 length, or provide a shorter input"
            ) }),
            Wording::MiniMax => json!({
                "type": "error",
                "error": { "type": "invalid_request_error", "message": "invalid params, context window exceeds limit (2013)" },
            }),
            Wording::Silent => Value::Null,
        }
    }
}

fn anthropic(message: String, seen: &Seen) -> Value {
    let id = ids(seen).pop().map(|(_, id)| id);
    json!({ "type": "error", "error": { "type": "invalid_request_error", "message": message }, "request_id": id })
}

fn openai(message: &str, param: &str) -> Value {
    json!({
        "message": message, "type": "invalid_request_error", "param": param, "code": "context_length_exceeded",
    })
}

fn llama_cpp(tokens: u64, limit: u64) -> Value {
    json!({
        "code": 400,
        "message": format!("request ({tokens} tokens) exceeds the available context size ({limit} tokens), try increasing it"),
        "type": "exceed_context_size_error", "n_prompt_tokens": tokens, "n_ctx": limit,
    })
}

fn vllm(message: String, param: &str) -> Value {
    json!({ "error": { "message": message, "type": "BadRequestError", "param": param, "code": 400 } })
}
