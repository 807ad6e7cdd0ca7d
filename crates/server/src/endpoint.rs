//! What an address means.

use http::Method;
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
}
