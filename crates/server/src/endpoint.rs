//! What an address means.

use http::{HeaderMap, Method};
use throughline_core::Wire;

/// What a request is for, by its method and path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// The next answer of a conversation.
    Answer(Wire),
    /// How many tokens a request has: Anthropic's `count_tokens`.
    CountTokens,
    /// A conversation is to be condensed: OpenAI's `/responses/compact`.
    Compact,
    /// Anything else of a provider's.
    Other,
}

impl Endpoint {
    /// By method and path, without the query.
    pub fn of(method: &Method, path: &str) -> Self {
        if method != Method::POST {
            return Self::Other;
        }
        match path.strip_prefix("/v1").unwrap_or(path).trim_end_matches('/') {
            "/messages" => Self::Answer(Wire::Anthropic),
            "/messages/count_tokens" => Self::CountTokens,
            "/responses" => Self::Answer(Wire::Responses),
            "/responses/compact" => Self::Compact,
            "/chat/completions" => Self::Answer(Wire::Chat),
            _ => Self::Other,
        }
    }

    /// Whether it holds a conversation, and in which format.
    pub fn wire(self) -> Option<Wire> {
        match self {
            Self::Answer(wire) => Some(wire),
            Self::CountTokens => Some(Wire::Anthropic),
            Self::Compact => Some(Wire::Responses),
            Self::Other => None,
        }
    }
}

/// Which of the two APIs a request is meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Api {
    Anthropic,
    OpenAi,
    /// OpenAI's, as those speak it who are logged in with ChatGPT: another place, another path.
    ChatGpt,
}

/// The account that only requests with a ChatGPT login name.
const CHATGPT_ACCOUNT: &str = "chatgpt-account-id";

impl Api {
    /// By the endpoint; of paths that both have, by the headers that only one of them asks for.
    pub(crate) fn of(endpoint: Endpoint, path: &str, headers: &HeaderMap) -> Self {
        let open_ai = if headers.contains_key(CHATGPT_ACCOUNT) { Self::ChatGpt } else { Self::OpenAi };
        match endpoint.wire() {
            Some(Wire::Anthropic) => Self::Anthropic,
            Some(Wire::Responses | Wire::Chat) => open_ai,
            None if path.starts_with("/v1/messages") => Self::Anthropic,
            None if headers.contains_key("anthropic-version") || headers.contains_key("x-api-key") => {
                Self::Anthropic
            }
            None => open_ai,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_mean_what_the_providers_mean_by_them() {
        let post = |path| Endpoint::of(&Method::POST, path);
        assert_eq!(post("/v1/messages"), Endpoint::Answer(Wire::Anthropic));
        assert_eq!(post("/v1/messages/count_tokens"), Endpoint::CountTokens);
        assert_eq!(post("/v1/messages/batches"), Endpoint::Other);
        assert_eq!(post("/v1/responses"), Endpoint::Answer(Wire::Responses));
        assert_eq!(post("/responses"), Endpoint::Answer(Wire::Responses));
        assert_eq!(post("/v1/responses/compact"), Endpoint::Compact);
        assert_eq!(post("/v1/chat/completions"), Endpoint::Answer(Wire::Chat));
        assert_eq!(Endpoint::of(&Method::GET, "/v1/responses"), Endpoint::Other);
    }

    #[test]
    fn a_list_of_models_is_asked_of_whoever_the_headers_name() {
        let mut headers = HeaderMap::new();
        assert_eq!(Api::of(Endpoint::Other, "/v1/models", &headers), Api::OpenAi);
        headers.insert("anthropic-version", http::HeaderValue::from_static("2023-06-01"));
        assert_eq!(Api::of(Endpoint::Other, "/v1/models", &headers), Api::Anthropic);
        let mut headers = HeaderMap::new();
        headers.insert(CHATGPT_ACCOUNT, http::HeaderValue::from_static("acc"));
        assert_eq!(Api::of(Endpoint::Answer(Wire::Responses), "/v1/responses", &headers), Api::ChatGpt);
        assert_eq!(Api::of(Endpoint::Other, "/v1/models", &headers), Api::ChatGpt);
    }
}
