//! How providers say that a request does not fit, as data.
//!
//! A rule matches a message, in lower case, that holds all its phrases. The first that matches wins, so that the ones
//! with figures stand before the ones without.

use super::report::Report;

/// What a provider says about the size of a request that it finds too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrun {
    /// Tokens of the request.
    pub tokens: Option<u64>,
    /// Tokens that the model takes.
    pub limit: Option<u64>,
    /// Tokens by which the request is too long, where only that is said.
    pub over: Option<u64>,
    /// The prompt alone would fit: it is the answer that was asked for which would not (Anthropic's `max_tokens`).
    pub prompt_fits: bool,
}

/// Reads the report of an HTTP error, or the `error` of a stream or of an answer (without a status): whether a provider finds
/// the request too long, in any provider's words.
///
/// ```
/// let report = br#"{"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}"#;
/// assert_eq!(throughline_model::overrun(Some(400), report).and_then(|overrun| overrun.limit), Some(200_000));
/// assert_eq!(throughline_model::overrun(Some(401), report), None);
/// ```
pub fn overrun(status: Option<u16>, report: &[u8]) -> Option<Overrun> {
    if matches!(status, Some(401..=403)) {
        return None;
    }
    read(&Report::read(status, report))
}

struct Rule {
    all: &'static [&'static str],
    /// Phrases behind which a figure stands; several are added up.
    tokens: &'static [&'static str],
    limit: &'static str,
    over: &'static str,
}

const fn rule(all: &'static [&'static str], tokens: &'static [&'static str], limit: &'static str) -> Rule {
    Rule { all, tokens, limit, over: "" }
}

/// A wording without figures.
const fn words(all: &'static [&'static str]) -> Rule {
    rule(all, &[], "")
}

#[rustfmt::skip]
const RULES: &[Rule] = &[
    // Anthropic, also on Bedrock and Vertex.
    rule(&[WITH_ANSWER], &["context limit: ", " + "], " > "),
    // Fireworks.
    rule(&["prompt is too long", "maximum context length:"], &["too long: "], "maximum context length: "),
    rule(&["prompt is too long"], &["too long: "], "> "),
    // xAI.
    rule(&["maximum prompt length is"], &["request contains "], "maximum prompt length is "),
    // vLLM, in the sentences of its versions.
    rule(&["is too large: ", "maximum context length is", "your request has"], &["is too large: ", "your request has "], "maximum context length is "),
    rule(&["maximum context length is", "for a total of"], &["for a total of"], "maximum context length is "),
    rule(&["maximum context length is", "your request has", " plus "], &["your request has ", " plus "], "maximum context length is "),
    rule(&["maximum context length is", "your request has"], &["your request has "], "maximum context length is "),
    rule(&["longer than the maximum model length"], &["(length "], "maximum model length of "),
    rule(&["input prompt (", "exceeds limit of"], &["input prompt ("], "exceeds limit of "),
    words(&["max_tokens must be at least 1, got -"]),
    // OpenAI; DeepSeek, OpenRouter, Azure, Groq and others say the same.
    rule(&["exceed the configured limit"], &["resulted in "], "configured limit of "),
    rule(&["maximum context length is", "resulted in"], &["resulted in "], "maximum context length is "),
    rule(&["maximum context length is", "requested"], &["requested"], "maximum context length is "),
    rule(&["maximum context length of", "requested a total of"], &["a total of "], "maximum context length of "),
    rule(&["maximum context length is"], &[], "maximum context length is "),
    rule(&["request too large", "tokens per min"], &["requested "], "limit "),
    words(&["exceeds the context window"]),
    words(&["string too long", "maximum length"]),
    words(&["array too long", "maximum length"]),
    // Gemini and Vertex.
    rule(&["input token count", "exceeds the maximum number of tokens"], &["input token count ("], "tokens allowed"),
    rule(&["input token count is", "only supports up to"], &["input token count is "], "supports up to "),
    // Mistral.
    rule(&["too large for model with"], &["prompt contains "], "too large for model with "),
    // llama.cpp and its Python server.
    rule(&["exceeds the available context size"], &["request ("], "context size ("),
    rule(&["requested tokens (", "exceed context window of"], &["requested tokens ("], "context window of "),
    words(&["input is too large to process", "physical batch size"]),
    // Ollama.
    Rule { all: &["exceeded max context length by"], tokens: &[], limit: "", over: "context length by " },
    words(&["input length exceeds"]),
    words(&["prompt too long"]),
    // LM Studio.
    rule(&["keep the first", "context length of only"], &["keep the first "], "context length of only "),
    words(&["tokens to keep from the initial prompt", "context length"]),
    // Text Generation Inference, Together.
    rule(&["max_new_tokens", "must be <="], &["given: ", "tokens and "], "must be <= "),
    rule(&["`inputs` must have less than"], &["given: "], "must have less than "),
    // SGLang.
    rule(&["longer than the model's context length"], &["the input ("], "context length ("),
    // Bedrock.
    words(&["input is too long for requested model"]),
    words(&["number of input tokens exceeds"]),
    words(&["too many input tokens"]),
    // Copilot, Kimi, Cerebras, GitHub Models, Cohere, DashScope, MiniMax, Zhipu, in this order.
    rule(&["prompt token count of", "exceeds the limit of"], &["prompt token count of "], "exceeds the limit of "),
    rule(&["exceeded model token limit"], &["requested: "], "token limit: "),
    rule(&["current length is", "while limit is"], &["current length is "], "while limit is "),
    rule(&["request body too large", "max size:"], &[], "max size: "),
    rule(&["too many tokens", "cannot exceed"], &[], "cannot exceed "),
    rule(&["range of input length should be"], &[], "[1, "),
    words(&["context window exceeds limit"]),
    words(&["prompt exceeds max length"]),
    // What gateways make of the above, and Anthropic's limit on bytes.
    words(&["reduce the length of the messages"]),
    words(&["reduce the length of the prompt"]),
    words(&["context length exceeded"]),
    words(&["context window exceeded"]),
    words(&["contextwindowexceeded"]),
    words(&["context size exceeded"]),
    words(&["exceeds the maximum context"]),
    words(&["exceeds maximum context"]),
    words(&["exceeds model context"]),
    words(&["request exceeds the maximum size"]),
];

const CODES: &[&str] = &[
    "context_length_exceeded",
    "context_window_exceeded",
    "exceed_context_size_error",
    "model_context_window_exceeded",
    "model_max_prompt_tokens_exceeded",
    "request_too_large",
    "string_above_max_length",
    "array_above_max_length",
    "tokens_limit_reached",
];

/// Prompt and answer together are too long.
const WITH_ANSWER: &str = "exceed context limit";

/// Fields of a report that hold the figures; llama.cpp has them.
const TOKENS_FIELD: &str = "n_prompt_tokens";
const LIMIT_FIELD: &str = "n_ctx";

/// What a report says about the size, if that is what it is about.
pub(crate) fn read(report: &Report) -> Option<Overrun> {
    let message = report.message.to_lowercase();
    let rule = RULES.iter().find(|rule| rule.all.iter().all(|phrase| message.contains(phrase)));
    let by_code = CODES.iter().any(|code| report.has_code(code)) || report.status == Some(413);
    // Some gateways say no more than "no". To a body that was read and understood, this is the likeliest reason.
    let by_silence = report.status == Some(400) && report.is_silent;
    if rule.is_none() && !by_code && !by_silence {
        return None;
    }
    let mut overrun = rule.map(|rule| rule.figures(&message)).unwrap_or_default();
    overrun.prompt_fits = message.contains(WITH_ANSWER);
    overrun.tokens = overrun.tokens.or_else(|| report.figure(TOKENS_FIELD));
    overrun.limit = overrun.limit.or_else(|| report.figure(LIMIT_FIELD));
    Some(overrun)
}

impl Rule {
    fn figures(&self, message: &str) -> Overrun {
        let sum = |phrases: &[&str]| {
            let figures: Option<Vec<u64>> =
                phrases.iter().map(|phrase| figure_after(message, phrase)).collect();
            figures.filter(|figures| !figures.is_empty())?.into_iter().try_fold(0_u64, u64::checked_add)
        };
        Overrun {
            tokens: sum(self.tokens),
            limit: figure_after(message, self.limit),
            over: figure_after(message, self.over),
            prompt_fits: false,
        }
    }
}

/// The words that may stand between a phrase and its figure: "about", "a total of", "at least".
const BETWEEN: usize = 16;

fn figure_after(message: &str, phrase: &str) -> Option<u64> {
    if phrase.is_empty() {
        return None;
    }
    let (_, rest) = message.split_once(phrase)?;
    let at = rest.find(|c: char| c.is_ascii_digit()).filter(|at| *at <= BETWEEN)?;
    let digits: String = rest
        .get(at..)?
        .chars()
        .take_while(|c| c.is_ascii_digit() || matches!(c, ',' | '_'))
        .filter(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(message: &str) -> Option<(Option<u64>, Option<u64>)> {
        let report = Report::read(Some(400), json!({"error": {"message": message}}).to_string().as_bytes());
        read(&report).map(|overrun| (overrun.tokens, overrun.limit))
    }

    #[test]
    fn each_wording_is_known_with_its_figures() {
        #[rustfmt::skip]
        let wordings: &[(&str, Option<u64>, Option<u64>)] = &[
            ("prompt is too long: 213462 tokens > 200000 maximum", Some(213_462), Some(200_000)),
            ("prompt is too long", None, None),
            ("input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again", Some(242_959), Some(200_000)),
            ("This model's maximum context length is 4097 tokens. However, your messages resulted in 7575 tokens. Please reduce the length of the messages.", Some(7_575), Some(4_097)),
            ("This model's maximum context length is 4097 tokens. However, you requested 4203 tokens (3703 in the messages, 500 in the completion).", Some(4_203), Some(4_097)),
            ("This model's maximum context length is 8191 tokens, however you requested 10346 tokens (10346 in your prompt; 5 for the completion).", Some(10_346), Some(8_191)),
            ("This endpoint's maximum context length is 131072 tokens. However, you requested about 138956 tokens (7884 of text input, 131072 in the output).", Some(138_956), Some(131_072)),
            ("Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300123 tokens.", Some(300_123), Some(272_000)),
            ("Your input exceeds the context window of this model. Please adjust your input and try again.", None, None),
            ("Request too large for gpt-x in organization o on tokens per min (TPM): Limit 30000, Requested 41000.", Some(41_000), Some(30_000)),
            ("This model's maximum context length is 2048 tokens. However, your request has 3000 input tokens. Please reduce the length of the input messages.", Some(3_000), Some(2_048)),
            ("This model's maximum context length is 2048 tokens. However, your request has 8 input tokens plus 2045 'max_tokens'.", Some(2_053), Some(2_048)),
            ("'max_tokens' or 'max_completion_tokens' is too large: 30000. This model's maximum context length is 32768 tokens and your request has 5000 input tokens (30000 > 32768 - 5000).", Some(35_000), Some(32_768)),
            ("This model's maximum context length is 262144 tokens. However, you requested 128000 output tokens and your prompt contains at least 134145 input tokens, for a total of at least 262145 tokens.", Some(262_145), Some(262_144)),
            ("The decoder prompt (length 3000) is longer than the maximum model length of 2048.", Some(3_000), Some(2_048)),
            ("request (14429 tokens) exceeds the available context size (8192 tokens), try increasing it", Some(14_429), Some(8_192)),
            ("Requested tokens (2285) exceed context window of 2048", Some(2_285), Some(2_048)),
            ("The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).", Some(1_200_293), Some(1_048_576)),
            ("Unable to submit request because the input token count is 40000 but model only supports up to 32768.", Some(40_000), Some(32_768)),
            ("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", Some(40_000), Some(32_768)),
            ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.", Some(537_812), Some(131_072)),
            ("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`", Some(5_020), Some(4_096)),
            ("The input (5000 tokens) is longer than the model's context length (4096 tokens).", Some(5_000), Some(4_096)),
            ("Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 6000 tokens", Some(6_000), Some(4_096)),
            ("prompt token count of 140,000 exceeds the limit of 128,000", Some(140_000), Some(128_000)),
            ("Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)", Some(140_000), Some(131_072)),
            ("Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192", Some(9_000), Some(8_192)),
            ("Input is too long for requested model.", None, None),
            ("the input length exceeds the context length", None, None),
            ("Range of input length should be [1, 129024]", None, Some(129_024)),
            ("The prompt is too long: 150000, model maximum context length: 131071", Some(150_000), Some(131_071)),
        ];
        for (message, tokens, limit) in wordings {
            assert_eq!(said(message), Some((*tokens, *limit)), "{message}");
        }
    }

    #[test]
    fn a_gap_may_be_all_that_is_said() {
        let report = Report::read(
            Some(400),
            br#"{"error": "prompt too long; exceeded max context length by 123 tokens"}"#,
        );
        assert_eq!(read(&report), Some(Overrun { over: Some(123), ..Overrun::default() }));
    }

    #[test]
    fn figures_may_stand_in_fields() {
        let body = json!({"error": {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 1407, "n_ctx": 256,
            "message": "the request exceeds the available context size. try increasing the context size"}});
        let report = Report::read(Some(400), body.to_string().as_bytes());
        assert_eq!(
            read(&report),
            Some(Overrun { tokens: Some(1407), limit: Some(256), ..Overrun::default() })
        );
    }

    #[test]
    fn a_gateway_may_wrap_it() {
        let inner = json!({"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}).to_string();
        let body =
            json!({"error": {"code": 400, "message": "Provider returned error", "metadata": {"raw": inner}}});
        let report = Report::read(Some(400), body.to_string().as_bytes());
        assert_eq!(read(&report).and_then(|overrun| overrun.tokens), Some(9));
    }

    #[test]
    fn other_complaints_about_figures_are_not_this() {
        for message in [
            "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for this model",
            "Rate limit reached for gpt-x on tokens per min (TPM): Limit 10000, Used 9000, Requested 2000. Please try again in 5s.",
            "messages: at least one message is required",
            "image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
        ] {
            assert_eq!(said(message), None, "{message}");
        }
    }
}
