//! "Too long" in everybody's words.

use crate::client::{Got, WIRES, ask};
use serde_json::Value;
use throughline_core::Wire;
use throughline_testkit::{Fault, Server, TooLong, Wording};
use throughline_wire::Stop;
use throughline_wire::stream::StreamError;

const TOKENS: u64 = 215_321;
const LIMIT: u64 = 200_007;

fn got(wire: Wire, wording: Wording, stream: bool) -> Got {
    let fault = Fault::TooLong(TooLong { wording, tokens: TOKENS, limit: LIMIT });
    ask(&Server::start(fault).unwrap(), wire, "hello", stream)
}

/// What each of them says, apart from its figures.
fn words(wording: Wording) -> &'static str {
    match wording {
        Wording::Anthropic => "prompt is too long: 215321 tokens > 200007 maximum",
        Wording::AnthropicSum => "input length and `max_tokens` exceed context limit: 200006 + 1000 > 200007",
        Wording::OpenAiRequested => {
            "maximum context length is 200007 tokens. However, you requested 216321 tokens (215321 in the messages, 1000 in the completion)"
        }
        Wording::OpenAiMessages => {
            "maximum context length is 200007 tokens. However, your messages resulted in 215321 tokens"
        }
        Wording::OpenAiLimit => "Input tokens exceed the configured limit of 200007 tokens",
        Wording::OpenAiInput | Wording::OpenAiStream => "Your input exceeds the context window of this model",
        Wording::LlamaCpp => "request (215321 tokens) exceeds the available context size (200007 tokens)",
        Wording::VllmFlat => {
            "However, you requested 216321 tokens (215321 in the messages, 1000 in the completion)"
        }
        Wording::VllmOutput => "'max_tokens' or 'max_completion_tokens' is too large: 1000.",
        Wording::VllmInput => "your request has 215321 input tokens",
        Wording::Ollama => "prompt too long; exceeded max context length by 15314 tokens",
        Wording::OllamaNested => "exceed_context_size_error",
        Wording::Gemini => {
            "The input token count (215321) exceeds the maximum number of tokens allowed (200007)"
        }
        Wording::Bedrock => "Input is too long for requested model.",
        Wording::OpenRouter => {
            "This endpoint's maximum context length is 200007 tokens. However, you requested about 216321 tokens"
        }
        Wording::Xai => "maximum prompt length is 200007 but the request contains 215321 tokens",
        Wording::Mistral => {
            "Prompt contains 215321 tokens, too large for model with 200007 maximum context length"
        }
        Wording::Groq => "Please reduce the length of the messages or completion.",
        Wording::Kimi => "Your request exceeded model token limit: 200007 (requested: 215321)",
        Wording::Copilot => "prompt token count of 215321 exceeds the limit of 200007",
        Wording::LmStudio => "the model is loaded with context length of only 200007 tokens",
        Wording::MiniMax => "context window exceeds limit",
        Wording::Silent => "",
    }
}

#[test]
fn every_wording_is_a_400_on_every_wire() {
    for wording in Wording::ALL {
        for wire in WIRES {
            let got = got(wire, wording, false);
            assert_eq!((got.status, got.broken), (400, None));
            // The wires differ in where they say how much output they want.
            if wire == Wire::Anthropic {
                assert!(got.text().contains(words(wording)), "{wording:?}: {}", got.text());
            }
            assert_eq!(got.body.is_empty(), wording == Wording::Silent);
        }
    }
}

#[test]
fn the_shapes_are_those_of_their_providers() {
    let json = |wording| got(Wire::Chat, wording, true).json();
    let openai = json(Wording::OpenAiMessages);
    assert_eq!(openai["error"]["code"], "context_length_exceeded");
    assert_eq!(openai["error"]["type"], "invalid_request_error");
    let llama = json(Wording::LlamaCpp);
    assert_eq!(
        (&llama["error"]["n_prompt_tokens"], &llama["error"]["n_ctx"]),
        (&TOKENS.into(), &LIMIT.into())
    );
    assert_eq!(llama["error"]["type"], "exceed_context_size_error");
    assert_eq!(json(Wording::VllmFlat)["object"], "error");
    assert_eq!(json(Wording::Gemini)[0]["error"]["status"], "INVALID_ARGUMENT");
    assert!(json(Wording::Xai)["error"].is_string());
    assert!(json(Wording::LmStudio)["error"].is_string());
    let nested = json(Wording::OllamaNested);
    let inner: Value = serde_json::from_str(nested["error"].as_str().unwrap()).unwrap();
    assert_eq!(inner["error"]["n_ctx"], LIMIT);
    let bedrock = got(Wire::Anthropic, Wording::Bedrock, false);
    assert_eq!(bedrock.header("x-amzn-errortype"), Some("ValidationException"));
    let anthropic = got(Wire::Anthropic, Wording::Anthropic, true).json();
    assert_eq!(
        (&anthropic["type"], &anthropic["error"]["type"]),
        (&"error".into(), &"invalid_request_error".into())
    );
}

#[test]
fn the_stream_may_begin_and_then_fail() {
    for wire in WIRES {
        let got = got(wire, Wording::OpenAiStream, true);
        assert_eq!((got.status, got.broken), (200, None));
        let (response, errors) = got.streamed(wire);
        assert_eq!(response.stop, Stop::Failed);
        let [StreamError::Provider { kind, message, .. }] = &errors[..] else { panic!("{errors:?}") };
        match wire {
            Wire::Anthropic => assert_eq!(message, words(Wording::Anthropic)),
            Wire::Responses | Wire::Chat => {
                assert_eq!(kind, "context_length_exceeded");
                assert!(message.starts_with(words(Wording::OpenAiStream)));
            }
        }
    }
}

#[test]
fn names_tell_the_wordings_apart() {
    let names: std::collections::HashSet<_> = Wording::ALL.iter().map(|wording| wording.name()).collect();
    assert_eq!(names.len(), Wording::ALL.len());
}
