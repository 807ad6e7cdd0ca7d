//! Errors as HTTP responses, in each provider's own form.

use super::RetryAfter;
use super::date::http_date_in;
use crate::{Http, Seen};
use serde_json::{Value, json};
use throughline_core::Wire;

/// The header by which a provider names the request.
pub(crate) fn ids(seen: &Seen) -> Vec<(String, String)> {
    let name = match seen.wire {
        Wire::Anthropic => "request-id",
        Wire::Responses | Wire::Chat => "x-request-id",
    };
    vec![(name.to_owned(), request_id(seen))]
}

fn request_id(seen: &Seen) -> String {
    format!("req_test_{:06}", seen.number)
}

/// An error's words: Anthropic's `type`, OpenAI's `type` and `code`, and a message for each.
pub(super) struct Words<'a> {
    pub(super) anthropic: (&'a str, &'a str),
    pub(super) openai: (&'a str, Option<&'a str>, &'a str),
}

impl Words<'_> {
    /// The error object, without what is around it.
    pub(super) fn object(&self, wire: Wire) -> Value {
        match wire {
            Wire::Anthropic => json!({ "type": self.anthropic.0, "message": self.anthropic.1 }),
            Wire::Responses | Wire::Chat => {
                let (kind, code, message) = self.openai;
                json!({ "message": message, "type": kind, "param": null, "code": code })
            }
        }
    }

    pub(super) fn http(&self, seen: &Seen, status: u16) -> Http {
        let error = self.object(seen.wire);
        let body = match seen.wire {
            Wire::Anthropic => json!({ "type": "error", "error": error, "request_id": request_id(seen) }),
            Wire::Responses | Wire::Chat => json!({ "error": error }),
        };
        let mut http = Http::json(status, &body);
        http.headers.extend(ids(seen));
        http
    }
}

/// What the server itself says about a script that has no reply.
pub(crate) fn script_over(seen: &Seen, why: &str) -> Http {
    let message = format!("testkit: {why}; request number {} to {} has no reply", seen.number, seen.path);
    Words { anthropic: ("api_error", &message), openai: ("server_error", Some("script_over"), &message) }
        .http(seen, 500)
}

/// Not even HTTP.
pub(crate) fn bad_request(why: &str) -> Http {
    Http::text(400, "text/plain", why).header("connection", "close")
}

pub(crate) fn invalid(seen: &Seen, message: &str) -> Http {
    let kind = "invalid_request_error";
    Words { anthropic: (kind, message), openai: (kind, None, message) }.http(seen, 400)
}

pub(crate) fn not_found(seen: &Seen, message: &str) -> Http {
    Words {
        anthropic: ("not_found_error", message),
        openai: ("invalid_request_error", Some("unknown_url"), message),
    }
    .http(seen, 404)
}

pub(super) fn unknown_model(seen: &Seen) -> Http {
    let model = seen.model();
    Words {
        anthropic: ("not_found_error", &format!("model: {model}")),
        openai: (
            "invalid_request_error",
            Some("model_not_found"),
            &format!("The model `{model}` does not exist or you do not have access to it."),
        ),
    }
    .http(seen, 404)
}

pub(super) const RATE: Words<'_> = Words {
    anthropic: (
        "rate_limit_error",
        "This request would exceed your organization's rate limit of 50,000 input tokens per minute.",
    ),
    openai: (
        "tokens",
        Some("rate_limit_exceeded"),
        "Rate limit reached for this model on tokens per min (TPM): Limit 30000, Used 29500, Requested 1500.",
    ),
};

pub(super) const OVERLOADED: Words<'_> = Words {
    anthropic: ("overloaded_error", "Overloaded"),
    openai: (
        "service_unavailable_error",
        Some("server_is_overloaded"),
        "Our servers are currently overloaded. Please try again later.",
    ),
};

pub(super) const SERVER: Words<'_> = Words {
    anthropic: ("api_error", "Internal server error"),
    openai: (
        "server_error",
        Some("server_error"),
        "The server had an error while processing your request. Sorry about that!",
    ),
};

pub(super) const KEY: Words<'_> = Words {
    anthropic: ("authentication_error", "invalid x-api-key"),
    openai: ("invalid_request_error", Some("invalid_api_key"), "Incorrect API key provided."),
};

pub(super) const FORBIDDEN: Words<'_> = Words {
    anthropic: ("permission_error", "Your API key does not have permission to use the specified resource."),
    openai: (
        "request_forbidden",
        Some("unsupported_country_region_territory"),
        "Country, region, or territory not supported",
    ),
};

pub(super) const TOO_LARGE: Words<'_> = Words {
    anthropic: ("request_too_large", "Request exceeds the maximum size"),
    openai: ("server_error", None, "Maximum content size limit (26214400) exceeded (26428490 bytes read)"),
};

pub(super) const REJECTED: Words<'_> = Words {
    anthropic: ("invalid_request_error", "Output blocked by content filtering policy"),
    openai: (
        "invalid_request_error",
        Some("content_filter"),
        "The response was filtered due to the prompt triggering the content management policy.",
    ),
};

/// 429 on OpenAI's wires, 400 on Anthropic's.
pub(super) fn no_credit(seen: &Seen) -> Http {
    let words = Words {
        anthropic: (
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or \
             purchase credits.",
        ),
        openai: (
            "insufficient_quota",
            Some("insufficient_quota"),
            "You exceeded your current quota, please check your plan and billing details.",
        ),
    };
    let status = match seen.wire {
        Wire::Anthropic => 400,
        Wire::Responses | Wire::Chat => 429,
    };
    words.http(seen, status)
}

pub(super) fn rate_limited(seen: &Seen, again: RetryAfter) -> Http {
    let seconds = |seconds: u32| ("retry-after", seconds.to_string());
    let mut words = RATE;
    let said;
    let headers = match again {
        RetryAfter::Seconds(after) => vec![seconds(after)],
        RetryAfter::Date(after) => vec![("retry-after", http_date_in(after))],
        RetryAfter::Millis(after) => {
            vec![("retry-after-ms", after.to_string()), seconds(after.div_ceil(1000))]
        }
        RetryAfter::Nonsense => vec![("retry-after", "a while".to_owned())],
        RetryAfter::InWords(after) => {
            let time =
                if after < 1000 { format!("{after}ms") } else { format!("{}s", f64::from(after) / 1000.0) };
            said = [
                format!("{} Please try again in {time}.", words.anthropic.1),
                format!("{} Please try again in {time}.", words.openai.2),
            ];
            words.anthropic.1 = &said[0];
            words.openai.2 = &said[1];
            Vec::new()
        }
        RetryAfter::Unsaid => Vec::new(),
    };
    let mut http = words.http(seen, 429);
    let remaining = match seen.wire {
        Wire::Anthropic => "anthropic-ratelimit-tokens-remaining",
        Wire::Responses | Wire::Chat => "x-ratelimit-remaining-tokens",
    };
    http.headers.push((remaining.to_owned(), "0".to_owned()));
    http.headers.extend(headers.into_iter().map(|(name, value)| (name.to_owned(), value)));
    http
}
