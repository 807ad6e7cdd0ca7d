//! Spans and events with the attribute names of OpenTelemetry's GenAI conventions. Nothing that was said is in them.

use crate::{Answer, ModelError, Retry};
use reqwest::Url;
use tracing::field::Empty;
use tracing::{Span, info_span, warn};

/// The span of one call.
pub(crate) fn span(provider: &str, model: &str, url: Option<&Url>) -> Span {
    info_span!(
        "chat",
        "otel.name" = format_args!("chat {model}"),
        "otel.kind" = "client",
        "gen_ai.operation.name" = "chat",
        "gen_ai.provider.name" = provider,
        "gen_ai.request.model" = model,
        "server.address" = url.and_then(Url::host_str),
        "server.port" = url.and_then(Url::port_or_known_default).map(i64::from),
        "gen_ai.response.id" = Empty,
        "gen_ai.response.model" = Empty,
        "gen_ai.usage.input_tokens" = Empty,
        "gen_ai.usage.output_tokens" = Empty,
        "gen_ai.usage.cache_read.input_tokens" = Empty,
        "gen_ai.usage.cache_creation.input_tokens" = Empty,
        "throughline.attempts" = Empty,
        "error.type" = Empty,
        "otel.status_code" = Empty,
    )
}

/// The span of a fork, around those of its calls.
pub(crate) fn fork(job: &str, model: &str) -> Span {
    info_span!(
        "invoke_agent",
        "otel.name" = format_args!("invoke_agent {job}"),
        "gen_ai.operation.name" = "invoke_agent",
        "gen_ai.agent.name" = job,
        "gen_ai.request.model" = model,
    )
}

/// Writes the outcome into the span of its call.
pub(crate) fn record(span: &Span, result: &Result<Answer, ModelError>) {
    match result {
        Ok(answer) => {
            let usage = answer.response.usage;
            let word = |key: &str| answer.response.envelope.get(key)?.as_str();
            span.record("gen_ai.response.id", word("id"));
            span.record("gen_ai.response.model", word("model"));
            span.record("gen_ai.usage.input_tokens", count(usage.prompt()));
            span.record("gen_ai.usage.output_tokens", count(usage.output));
            span.record("gen_ai.usage.cache_read.input_tokens", count(usage.cache_read));
            span.record("gen_ai.usage.cache_creation.input_tokens", count(usage.cache_write));
            span.record("throughline.attempts", i64::from(answer.attempts));
        }
        Err(error) => {
            span.record("error.type", error.kind().name());
            span.record("otel.status_code", "ERROR");
        }
    }
}

/// Exporters know signed numbers only, and would write others as text.
fn count(figure: u64) -> i64 {
    i64::try_from(figure).unwrap_or(i64::MAX)
}

/// A repetition is about to happen.
pub(crate) fn retry(retry: &Retry) {
    warn!(
        attempt = retry.attempt,
        "error.type" = retry.kind.name(),
        wait_ms = u64::try_from(retry.wait.as_millis()).unwrap_or(u64::MAX),
        "the request to {} is sent again",
        retry.at,
    );
}
