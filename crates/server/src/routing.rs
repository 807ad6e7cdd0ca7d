//! Which provider a request is for, and which credentials go there.
//!
//! A request is forwarded only if its path or its headers identify one provider. What that means is data: one [`Vendor`] row for each
//! API. There is no default provider: what no row claims, or two rows claim, is answered with 404 here.

use http::header::{AUTHORIZATION, HeaderName};
use http::{HeaderMap, Uri};

/// The APIs that requests are forwarded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Api {
    Anthropic,
    OpenAi,
    /// OpenAI's API for clients that are logged in with ChatGPT: another host and another path.
    ChatGpt,
}

/// Marks that identify the requests of one provider.
struct Vendor {
    api: Api,
    /// Value of the header [`PROVIDER`].
    name: &'static str,
    /// Paths that only this provider has, without `/v1`. A path below one of them belongs to it too.
    paths: &'static [&'static str],
    /// Headers that only clients of this provider send. They identify it on any path.
    signs: &'static [&'static str],
    /// Credential headers that this provider may be sent. All others are removed.
    credentials: &'static [&'static str],
}

/// Names the provider of a request whose path and headers do not.
const PROVIDER: &str = "x-throughline-provider";

/// The account that only requests with a ChatGPT login name.
const CHATGPT_ACCOUNT: &str = "chatgpt-account-id";

// `api-key` is how Microsoft's gateways take the key of either provider.
const ANTHROPIC: Vendor = Vendor {
    api: Api::Anthropic,
    name: "anthropic",
    paths: &[
        "messages",
        "complete",
        "organizations",
        // Claude Code: reachability, login, account and settings.
        "api/hello",
        "api/oauth",
        "api/organization",
        "api/organizations",
        "api/claude_cli",
        "api/claude_cli_feedback",
        "api/claude_cli_profile",
        "api/claude_code",
        "api/claude_code_grove",
        "api/claude_code_shared_session_transcripts",
        "api/event_logging",
        "oauth",
    ],
    signs: &["anthropic-version", "anthropic-beta", "x-claude-code-session-id"],
    credentials: &[
        "x-api-key",
        "authorization",
        "api-key",
        "x-trusted-device-token",
        "x-claude-code-signature",
    ],
};

const OPENAI: Vendor = Vendor {
    api: Api::OpenAi,
    name: "openai",
    paths: &[
        "responses",
        "chat/completions",
        "completions",
        "embeddings",
        "batches",
        "uploads",
        "audio",
        "images",
        "videos",
        "moderations",
        "fine_tuning",
        "assistants",
        "threads",
        "vector_stores",
        "conversations",
        "containers",
        "evals",
        "realtime",
        "organization",
        // Codex.
        "memories/trace_summarize",
        "alpha/search",
    ],
    signs: &["openai-organization", "openai-project", "openai-beta", CHATGPT_ACCOUNT],
    credentials: &["authorization", "openai-organization", "openai-project", "api-key"],
};

/// The row of clients that are logged in with ChatGPT: found by its sign, on the paths of [`OPENAI`].
const CHATGPT: Vendor = Vendor {
    api: Api::ChatGpt,
    name: "chatgpt",
    paths: &[],
    signs: &[CHATGPT_ACCOUNT],
    credentials: &["authorization", "openai-organization", "openai-project"],
};

const VENDORS: [&Vendor; 2] = [&ANTHROPIC, &OPENAI];

/// Paths that more than one provider has. Anthropic requires a sign of its own on each request, so a request without any sign is
/// OpenAI's.
const SHARED: &[&str] = &["models", "files", "skills"];

/// Headers of providers that nothing is forwarded to. On a path that is not one provider's own, they say that the request is theirs.
const FOREIGN: &[(&str, &str)] = &[
    ("x-goog-api-key", "Google"),
    ("x-goog-api-client", "Google"),
    ("x-goog-user-project", "Google"),
    ("x-amz-date", "Amazon"),
    ("x-amz-security-token", "Amazon"),
];
/// Query parameter in which Google's clients send a key.
const FOREIGN_QUERY: (&str, &str) = ("key", "Google");

/// Words in the name of a header that say that it holds a credential.
const CREDENTIAL_WORDS: &[&str] = &[
    "apikey",
    "auth",
    "authentication",
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "jwt",
    "key",
    "passwd",
    "password",
    "secret",
    "signature",
    "token",
];
/// Headers that have such a word and hold none.
const NOT_CREDENTIALS: &[&str] =
    &["idempotency-key", "x-idempotency-key", "sec-websocket-key", "x-prompt-cache-key"];

/// Why a request is for no provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unrouted {
    #[error(
        "{path} is no known path of a provider, so it was not forwarded; send the request to its provider directly, or name the \
         provider with the header `{PROVIDER}: anthropic` or `{PROVIDER}: openai`"
    )]
    Unknown { path: String },
    #[error(
        "{path} came with credentials for {vendor}, which nothing is forwarded to; point this client at {vendor} directly"
    )]
    Foreign { path: String, vendor: &'static str },
    #[error(
        "the headers of {path} belong to different providers, so it was not forwarded; remove the headers of the other \
         provider, or name the provider with the header `{PROVIDER}: anthropic` or `{PROVIDER}: openai`"
    )]
    Ambiguous { path: String },
    #[error(
        "`{PROVIDER}` of the request to {path} names no provider; use `anthropic`, `openai` or `chatgpt`"
    )]
    NoProvider { path: String },
}

impl Api {
    /// Returns the provider that a request is for.
    pub(crate) fn find(uri: &Uri, headers: &HeaderMap) -> Result<Self, Unrouted> {
        let path = || uri.path().to_owned();
        if let Some(named) = headers.get(PROVIDER) {
            let named = [&ANTHROPIC, &OPENAI, &CHATGPT].into_iter().find(|vendor| named == vendor.name);
            return named.map(|vendor| vendor.api).ok_or_else(|| Unrouted::NoProvider { path: path() });
        }
        let Some(segments) = segments(uri.path()) else { return Err(Unrouted::Unknown { path: path() }) };
        let by_path = VENDORS.into_iter().find(|vendor| is_below(&segments, vendor.paths));
        let signed: Vec<&Vendor> =
            VENDORS.into_iter().filter(|vendor| has_any(headers, vendor.signs)).collect();
        let vendor = match (by_path, signed.as_slice()) {
            (Some(vendor), _) => vendor,
            (None, [_, _, ..]) => return Err(Unrouted::Ambiguous { path: path() }),
            (None, rest) => {
                if let Some(vendor) = foreign(uri, headers) {
                    return Err(Unrouted::Foreign { path: path(), vendor });
                }
                match rest.first() {
                    Some(vendor) => vendor,
                    None if !is_below(&segments, SHARED) => return Err(Unrouted::Unknown { path: path() }),
                    None if headers.contains_key("x-api-key") => &ANTHROPIC,
                    None => &OPENAI,
                }
            }
        };
        Ok(match vendor.api {
            Self::OpenAi if headers.contains_key(CHATGPT_ACCOUNT) => Self::ChatGpt,
            api @ (Self::Anthropic | Self::OpenAi | Self::ChatGpt) => api,
        })
    }

    fn vendor(self) -> &'static Vendor {
        match self {
            Self::Anthropic => &ANTHROPIC,
            Self::OpenAi => &OPENAI,
            Self::ChatGpt => &CHATGPT,
        }
    }

    /// Removes the credentials that do not belong to this provider. `also` are names that the user allows besides the table's;
    /// `is_ours` recognises our own secrets, which never leave.
    pub(crate) fn keep_own_credentials(
        self,
        headers: &mut HeaderMap,
        also: &[HeaderName],
        is_ours: &dyn Fn(&str) -> bool,
    ) {
        let allowed = self.vendor().credentials;
        let removed: Vec<HeaderName> = headers
            .keys()
            .filter(|name| is_credential(name.as_str()))
            .filter(|name| !allowed.contains(&name.as_str()) && !also.contains(name))
            .cloned()
            .collect();
        for name in removed {
            headers.remove(name);
        }
        let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if bearer.and_then(|value| value.strip_prefix("Bearer ")).is_some_and(is_ours) {
            headers.remove(AUTHORIZATION);
        }
    }
}

/// The segments of a path behind `/v1`; `None` if it is not written plainly.
fn segments(path: &str) -> Option<Vec<&str>> {
    let path = path.strip_suffix('/').unwrap_or(path).strip_prefix('/')?;
    let path = path.strip_prefix("v1/").unwrap_or(path);
    let segments: Vec<&str> = path.split('/').collect();
    let is_plain = |segment: &&str| {
        let decoded = segment.to_ascii_lowercase().replace("%2e", ".");
        !decoded.is_empty() && decoded != "." && decoded != ".." && !decoded.contains("%2f")
    };
    segments.iter().all(is_plain).then_some(segments)
}

fn is_below(segments: &[&str], paths: &[&str]) -> bool {
    paths.iter().any(|path| path.split('/').enumerate().all(|(at, part)| segments.get(at) == Some(&part)))
}

fn has_any(headers: &HeaderMap, names: &[&str]) -> bool {
    names.iter().any(|name| headers.contains_key(*name))
}

fn foreign(uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
    let by_header = FOREIGN.iter().find(|(name, _)| headers.contains_key(*name)).map(|(_, vendor)| *vendor);
    let (name, vendor) = FOREIGN_QUERY;
    let mut pairs = uri.query().unwrap_or_default().split('&');
    let by_query = || pairs.any(|pair| pair.split('=').next() == Some(name)).then_some(vendor);
    by_header.or_else(by_query)
}

fn is_credential(name: &str) -> bool {
    !NOT_CREDENTIALS.contains(&name)
        && (name.split(['-', '_']).any(|word| CREDENTIAL_WORDS.contains(&word))
            || OPENAI.credentials.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn headers(names: &[&'static str]) -> HeaderMap {
        names.iter().map(|name| (HeaderName::from_static(name), HeaderValue::from_static("x"))).collect()
    }

    fn find(path: &str, names: &[&'static str]) -> Result<Api, Unrouted> {
        Api::find(&path.parse().unwrap(), &headers(names))
    }

    #[test]
    fn k1_routes_by_path_or_sign() {
        for (path, names, api) in [
            ("/v1/messages", &[][..], Api::Anthropic),
            ("/messages?beta=true", &[], Api::Anthropic),
            ("/v1/messages/batches/b1/results", &[], Api::Anthropic),
            ("/v1/messages", &["x-goog-api-key"], Api::Anthropic),
            ("/v1/messages", &["openai-organization"], Api::Anthropic),
            ("/responses", &["anthropic-version"], Api::OpenAi),
            ("/api/oauth/profile", &[], Api::Anthropic),
            ("/v1/environments", &["anthropic-version"], Api::Anthropic),
            ("/v1/models", &["anthropic-version"], Api::Anthropic),
            ("/v1/models", &["x-api-key"], Api::Anthropic),
            ("/v1/models", &["authorization"], Api::OpenAi),
            ("/v1/files/f1/content", &["authorization"], Api::OpenAi),
            ("/v1/batches", &[], Api::OpenAi),
            ("/embeddings", &[], Api::OpenAi),
            ("/v1/responses/compact", &[], Api::OpenAi),
            ("/v1/credits", &["openai-project"], Api::OpenAi),
            ("/v1/responses/", &[CHATGPT_ACCOUNT], Api::ChatGpt),
            ("/v1/models?client_version=1", &[CHATGPT_ACCOUNT, "openai-beta"], Api::ChatGpt),
        ] {
            assert_eq!(find(path, names), Ok(api), "{path} {names:?}");
        }
    }

    #[test]
    fn k1_refuses_unknown_foreign_and_ambiguous_requests() {
        let names_path = |result: Result<Api, Unrouted>, path: &str| {
            let error = result.unwrap_err();
            assert!(error.to_string().contains(path), "{error}");
            error
        };
        for path in
            ["/v1beta/models/gemini:generateContent", "/sessions", "/v1/credits", "/v1", "/v1x/messages"]
        {
            assert!(matches!(names_path(find(path, &["authorization"]), path), Unrouted::Unknown { .. }));
        }
        for path in ["/v1/models/../messages", "/v1/messages/%2E%2e/x", "/v1//messages", "/v1/messages/a%2Fb"]
        {
            assert!(matches!(names_path(find(path, &[]), path), Unrouted::Unknown { .. }), "{path}");
        }
        for (path, names) in [
            ("/v1/models", &["x-goog-api-key"][..]),
            ("/v1/models?pageSize=1&key=abc", &[]),
            ("/v1beta/models", &["x-goog-api-key"]),
            ("/model/m/converse", &["x-amz-date", "authorization"]),
        ] {
            assert!(matches!(find(path, names), Err(Unrouted::Foreign { .. })), "{path} {names:?}");
        }
        assert!(!names_path(find("/v1/models?key=abc", &[]), "/v1/models").to_string().contains("abc"));
        for (path, names) in [
            ("/v1/models", &["anthropic-version", "openai-project"][..]),
            ("/v1/agents", &["anthropic-beta", "chatgpt-account-id"]),
        ] {
            assert!(matches!(find(path, names), Err(Unrouted::Ambiguous { .. })), "{path} {names:?}");
        }
    }

    #[test]
    fn the_provider_can_be_named() {
        let named = |name: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(PROVIDER, HeaderValue::from_static(name));
            Api::find(&Uri::from_static("/v1/credits"), &headers)
        };
        assert_eq!(named("openai"), Ok(Api::OpenAi));
        assert_eq!(named("anthropic"), Ok(Api::Anthropic));
        assert!(matches!(named("google"), Err(Unrouted::NoProvider { .. })));
    }

    #[test]
    fn k1_keeps_only_the_credentials_of_the_provider() {
        let all = [
            "api-key",
            "authorization",
            "cookie",
            "helicone-auth",
            "idempotency-key",
            "openai-organization",
            "user-agent",
            "x-amz-security-token",
            "x-api-key",
            "x-goog-api-key",
        ];
        let kept = |api: Api, also: &[HeaderName]| {
            let mut headers = headers(&all);
            api.keep_own_credentials(&mut headers, also, &|_| false);
            let mut names: Vec<String> = headers.keys().map(ToString::to_string).collect();
            names.sort();
            names
        };
        let harmless = ["idempotency-key", "user-agent"];
        assert_eq!(
            kept(Api::Anthropic, &[]),
            ["api-key", "authorization", harmless[0], harmless[1], "x-api-key"]
        );
        assert_eq!(
            kept(Api::OpenAi, &[]),
            ["api-key", "authorization", harmless[0], "openai-organization", harmless[1]]
        );
        let also = [HeaderName::from_static("helicone-auth")];
        assert!(kept(Api::OpenAi, &also).contains(&"helicone-auth".to_owned()));
    }

    #[test]
    fn our_own_token_is_not_a_providers_key() {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer ours"));
        Api::OpenAi.keep_own_credentials(&mut headers, &[], &|given| given == "ours");
        assert!(headers.is_empty());
    }
}
