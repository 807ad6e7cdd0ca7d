//! Reports of providers to typed errors. Pure: the time is an argument.

mod report;
mod too_long;
pub(crate) mod wait;

pub(crate) use report::Report;
pub use too_long::{Overrun, overrun};

use crate::ModelError;
use std::time::Duration;

/// How a kind of error shows itself, status aside.
struct Signs {
    codes: &'static [&'static str],
    phrases: &'static [&'static str],
}

const QUOTA: Signs = Signs {
    codes: &[
        "insufficient_quota",
        "billing_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "insufficient_balance",
    ],
    phrases: &[
        "credit balance is too low",
        "insufficient balance",
        "insufficient credits",
        "exceeded your current quota",
        "requires more credits",
    ],
};

const REFUSED: Signs = Signs {
    codes: &[
        "content_filter",
        "content_policy_violation",
        "responsibleaipolicyviolation",
        "invalid_prompt",
        "data_inspection_failed",
        "cyber_policy",
    ],
    phrases: &["blocked by content filtering", "violating our usage policy", "content management policy"],
};

const AUTH: Signs = Signs {
    codes: &[
        "authentication_error",
        "invalid_api_key",
        "permission_error",
        "permission_denied",
        "unauthenticated",
        "unauthorized",
    ],
    phrases: &["invalid api key", "incorrect api key", "api key not valid", "invalid x-api-key"],
};

const OVERLOADED: Signs = Signs {
    codes: &[
        "overloaded_error",
        "overloaded",
        "server_is_overloaded",
        "engine_overloaded_error",
        "slow_down",
        "unavailable",
        "unavailable_error",
        "service_unavailable",
    ],
    phrases: &["overloaded", "loading model", "currently loading", "at capacity"],
};

const RATE_LIMITED: Signs = Signs {
    codes: &[
        "rate_limit_error",
        "rate_limit_exceeded",
        "rate_limited",
        "too_many_requests",
        "throttlingexception",
        "resource_exhausted",
        "usage_limit_reached",
        "tokens",
    ],
    phrases: &["rate limit", "too many requests"],
};

const SERVER: Signs = Signs {
    codes: &[
        "api_error",
        "server_error",
        "internal_server_error",
        "internal_error",
        "timeout_error",
        "internal",
        "deadline_exceeded",
    ],
    phrases: &[],
};

const INVALID: Signs = Signs {
    codes: &[
        "invalid_request_error",
        "not_found_error",
        "model_not_found",
        "invalid_argument",
        "not_found",
        "badrequesterror",
        "invalid_image",
    ],
    phrases: &[],
};

impl Signs {
    fn in_code(&self, report: &Report) -> bool {
        self.codes.iter().any(|code| report.has_code(code))
    }

    fn show(&self, report: &Report, message: &str) -> bool {
        self.in_code(report) || self.phrases.iter().any(|phrase| message.contains(phrase))
    }
}

/// The error that a report is about. `asked` is what the headers say about coming back.
pub(crate) fn classify(at: &str, report: Report, asked: Option<Duration>) -> ModelError {
    let at = at.to_owned();
    let status = report.status;
    let retry_after = asked.or_else(|| wait::from_report(&report));
    let lower = report.message.to_lowercase();
    let overrun = if matches!(status, Some(401..=403)) { None } else { too_long::read(&report) };
    if let Some(overrun) = overrun {
        let Overrun { tokens, limit, over, prompt_fits: _ } = overrun;
        return ModelError::TooLong { at, tokens, limit, over, partial: None };
    }
    let message = report.message.clone();
    // Gemini says of each limit by the minute that the "current quota" is exceeded, and when to come back.
    if status == Some(402) || QUOTA.in_code(&report) || (QUOTA.show(&report, &lower) && retry_after.is_none())
    {
        return ModelError::Quota { at, message };
    }
    if REFUSED.show(&report, &lower) {
        return ModelError::Refused { at, text: message };
    }
    if matches!(status, Some(401 | 403)) || AUTH.show(&report, &lower) {
        return ModelError::Auth { at, message };
    }
    if matches!(status, Some(503 | 529)) || OVERLOADED.in_code(&report) {
        return ModelError::Overloaded { at, retry_after, message };
    }
    if status == Some(429) || RATE_LIMITED.in_code(&report) {
        return ModelError::RateLimited { at, retry_after, message };
    }
    let is_passing = matches!(status, Some(408 | 409 | 425 | 500..=599)) || status.is_none();
    if is_passing && OVERLOADED.show(&report, &lower) {
        return ModelError::Overloaded { at, retry_after, message };
    }
    if is_passing && RATE_LIMITED.show(&report, &lower) {
        return ModelError::RateLimited { at, retry_after, message };
    }
    let is_invalid = status.is_none() && INVALID.in_code(&report);
    if is_passing && !is_invalid || SERVER.in_code(&report) {
        return ModelError::Server { at, status, message };
    }
    ModelError::Invalid { at, status, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use proptest::prelude::*;
    use serde_json::json;

    fn kind(status: u16, body: &serde_json::Value) -> ErrorKind {
        classify("here", Report::read(Some(status), body.to_string().as_bytes()), None).kind()
    }

    #[test]
    fn reports_of_each_provider_get_their_kind() {
        #[rustfmt::skip]
        let reports = [
            (401, json!({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}), ErrorKind::Auth),
            (400, json!([{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT"}}]), ErrorKind::Auth),
            (403, json!({"error": {"type": "permission_error", "message": "not yours"}}), ErrorKind::Auth),
            (429, json!({"error": {"type": "rate_limit_error", "message": "slow"}}), ErrorKind::RateLimited),
            (429, json!({"error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "You exceeded your current quota"}}), ErrorKind::Quota),
            (429, json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota", "details": [{"retryDelay": "34s"}]}}), ErrorKind::RateLimited),
            (402, json!({"error": {"message": "Insufficient Balance"}}), ErrorKind::Quota),
            (400, json!({"error": {"type": "invalid_request_error", "message": "Your credit balance is too low to access the API."}}), ErrorKind::Quota),
            (529, json!({"error": {"type": "overloaded_error", "message": "Overloaded"}}), ErrorKind::Overloaded),
            (503, json!({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}), ErrorKind::Overloaded),
            (500, json!({"error": {"message": "The model is overloaded"}}), ErrorKind::Overloaded),
            (500, json!({"error": {"type": "api_error", "message": "Internal server error"}}), ErrorKind::Server),
            (409, json!({}), ErrorKind::Server),
            (408, json!("timeout"), ErrorKind::Server),
            (413, json!({"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}), ErrorKind::TooLong),
            (413, json!(null), ErrorKind::TooLong),
            (400, json!({"error": {"code": "context_length_exceeded", "message": "x"}}), ErrorKind::TooLong),
            (400, json!({"error": {"code": "content_filter", "message": "filtered"}}), ErrorKind::Refused),
            (400, json!({"error": {"code": "invalid_prompt", "message": "flagged"}}), ErrorKind::Refused),
            (404, json!({"error": {"type": "not_found_error", "message": "model: nope"}}), ErrorKind::Invalid),
            (422, json!({"detail": [{"msg": "field required"}]}), ErrorKind::Invalid),
            (302, json!({}), ErrorKind::Invalid),
            // OpenRouter reports inside an answer that is otherwise well.
            (200, json!({"error": {"code": 429, "message": "slow"}}), ErrorKind::RateLimited),
            (200, json!({"error": {"code": "server_is_overloaded", "message": "busy"}}), ErrorKind::Overloaded),
            (200, json!({"error": {"type": "invalid_request_error", "message": "odd"}}), ErrorKind::Invalid),
            (200, json!({"error": {"message": "something"}}), ErrorKind::Server),
        ];
        for (status, body, expected) in &reports {
            assert_eq!(kind(*status, body), *expected, "{status} {body}");
        }
    }

    #[test]
    fn a_page_of_a_proxy_is_named_by_its_title() {
        let report = Report::read(Some(502), b"<html><head><title>502 Bad Gateway</title></head>...");
        assert_eq!(report.message, "a web page: 502 Bad Gateway");
    }

    proptest! {
        #[test]
        fn any_body_gets_some_error(status in prop::option::of(100u16..1000), body in prop::collection::vec(any::<u8>(), 0..300)) {
            let error = classify("here", Report::read(status, &body), None);
            prop_assert!(!error.to_string().is_empty());
        }

        #[test]
        fn any_text_gets_some_error(
            status in prop::option::of(300u16..600),
            message in "(prompt is too long: |maximum context length is |try again in |requested|[0-9]{1,30}|, | tokens|\\PC{0,8}){0,9}",
            code in "\\PC{0,12}",
        ) {
            let body = json!({"error": {"message": message, "code": code, "type": message}}).to_string();
            let error = classify("here", Report::read(status, body.as_bytes()), None);
            prop_assert!(!error.to_string().is_empty());
            let _ = (error.gap(), error.retry_after(), error.is_retryable());
        }
    }
}
