//! Headers of requests, and what those of answers say.

use crate::classify::wait;
use crate::environment::lookup;
use crate::provider::{KeyHeader, Provider};
use crate::{Environment, ModelError, Secret};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use std::time::{Duration, SystemTime};
use throughline_core::Wire;

const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Everything but the key.
pub(super) fn fixed(provider: &Provider, environment: Environment<'_>) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    if provider.wire == Wire::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
        if !provider.betas.is_empty() {
            let betas = provider.betas.join(",");
            headers.insert("anthropic-beta", value(provider, "anthropic-beta", &Secret::new(betas))?);
        }
    }
    for (name, content) in &provider.headers {
        headers.insert(header(provider, name)?, value(provider, name, content)?);
    }
    for (name, variable) in &provider.header_env {
        let content = lookup(environment, variable).ok_or_else(|| ModelError::Key {
            at: provider.name.clone(),
            message: format!(
                "{variable}, which holds the header {name}, is not set; set it or remove the header"
            ),
        })?;
        headers.insert(header(provider, name)?, value(provider, name, &Secret::new(content))?);
    }
    Ok(headers)
}

fn header(provider: &Provider, name: &str) -> Result<HeaderName, ModelError> {
    HeaderName::try_from(name).map_err(|_| provider.error(format!("{name:?} is no name of a header")))
}

fn value(provider: &Provider, name: &str, content: &Secret) -> Result<HeaderValue, ModelError> {
    let mut value = HeaderValue::try_from(content.expose())
        .map_err(|_| provider.error(format!("the header {name} holds characters that headers can't have")))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The key as a header.
pub(super) fn key(style: KeyHeader, at: &str, key: &Secret) -> Result<(HeaderName, HeaderValue), ModelError> {
    let (name, text) = match style {
        KeyHeader::XApiKey => (HeaderName::from_static("x-api-key"), key.expose().to_owned()),
        KeyHeader::ApiKey => (HeaderName::from_static("api-key"), key.expose().to_owned()),
        KeyHeader::Bearer => (AUTHORIZATION, format!("Bearer {}", key.expose())),
    };
    let mut value = HeaderValue::try_from(text).map_err(|_| ModelError::Key {
        at: at.to_owned(),
        message: "the key holds characters that no key has, such as line breaks; check where it comes from"
            .to_owned(),
    })?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// What the headers of an answer say about the request itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    pub(super) request_id: Option<String>,
    pub(super) retry_after: Option<Duration>,
    pub(super) advice: Option<bool>,
}

impl Told {
    pub(super) fn read(headers: &HeaderMap, now: SystemTime) -> Self {
        let text = |name: &str| headers.get(name)?.to_str().ok();
        let ids = ["request-id", "x-request-id", "x-amzn-requestid"];
        Self {
            request_id: ids.iter().find_map(|name| text(name)).map(str::to_owned),
            retry_after: wait::from_headers(headers, now),
            advice: match text("x-should-retry") {
                Some("true") => Some(true),
                Some("false") => Some(false),
                Some(_) | None => None,
            },
        }
    }
}
