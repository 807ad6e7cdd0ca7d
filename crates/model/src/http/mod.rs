//! Models over HTTP.

mod client;
mod headers;
mod judge;
mod reading;

use crate::classify::{Report, classify};
use crate::key::{Key, NoKey};
use crate::provider::{endpoint, host_is_local, shown};
use crate::retry::Failed;
use crate::watch::{Interrupt, Watch};
use crate::{
    Answer, BoxFuture, Call, Clock, Environment, ErrorKind, KeyHeader, Model, ModelError, Provider, Retries,
    Retry, Secret, SystemClock, Timeouts, Usage, Wire, estimate, telemetry,
};
use bytes::Bytes;
use headers::Told;
use judge::judge;
use reading::{Listener, Reading};
use reqwest::Url;
use reqwest::header::{HeaderMap, LOCATION};
use std::fmt;
use std::sync::Arc;
use throughline_wire::Response;
use tracing::Instrument;

/// A model behind an HTTP endpoint.
///
/// - The body goes out as it is, on every attempt.
/// - A request is sent again when that can help and nobody has heard a part of the answer: see [`Retries`].
/// - Keys are not sent over plain HTTP to another machine unless the settings allow it, and redirects are followed only
///   within the same host.
pub struct Http {
    name: String,
    wire: Wire,
    model: String,
    url: Url,
    at: String,
    client: reqwest::Client,
    headers: HeaderMap,
    key: Key,
    key_header: KeyHeader,
    timeouts: Timeouts,
    retries: Retries,
    answer_limit: usize,
    clock: Arc<dyn Clock>,
    observer: Option<Observer>,
}

type Observer = Arc<dyn Fn(&Retry) + Send + Sync>;

/// An attempt that came to nothing.
struct Failure {
    error: ModelError,
    told: Told,
    /// The key that was sent.
    key: Option<Secret>,
}

impl Http {
    /// A model from its settings. Reads the variables that they name, and the usual ones for proxies.
    pub fn new(provider: &Provider, environment: Environment<'_>) -> Result<Self, ModelError> {
        let url = endpoint(provider.wire, provider.base_url.as_deref())
            .map_err(|message| provider.error(message))?;
        let key = provider.key(environment)?;
        let headers = headers::fixed(provider, environment)?;
        let has_secrets = !key.is_none() || !provider.header_env.is_empty() || !provider.headers.is_empty();
        let leaves = |url: &Url| url.scheme() == "http" && !host_is_local(url);
        let proxy = provider.proxy.as_ref().and_then(|proxy| Url::parse(proxy.expose()).ok());
        let is_open = leaves(&url) || (url.scheme() == "http" && proxy.as_ref().is_some_and(leaves));
        if has_secrets && is_open && !provider.insecure_http {
            let message = "the key would go over plain HTTP to another machine; use https, or set insecure_http if the network is yours";
            return Err(provider.error(message));
        }
        let client = client::build(provider, &url, environment)?;
        Ok(Self {
            name: provider.name.clone(),
            wire: provider.wire,
            model: provider.model.clone(),
            at: format!("{} ({})", provider.name, shown(url.as_str())),
            url,
            client,
            headers,
            key,
            key_header: provider.key_header.unwrap_or(match provider.wire {
                Wire::Anthropic => KeyHeader::XApiKey,
                Wire::Responses | Wire::Chat => KeyHeader::Bearer,
            }),
            timeouts: provider.timeouts,
            retries: provider.retries,
            answer_limit: provider.answer_limit,
            clock: Arc::new(SystemClock),
            observer: None,
        })
    }

    /// With another clock, for tests.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// With somebody who is told of each repetition before its wait. Repetitions are `tracing` events too.
    #[must_use]
    pub fn with_observer(mut self, observer: impl Fn(&Retry) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    async fn run(&self, call: Call<'_>) -> Result<Answer, ModelError> {
        let Call { body, on_delta, cancel, limits } = call;
        let total =
            limits.deadline.map_or(self.timeouts.total(), |deadline| deadline.min(self.timeouts.total()));
        let watch = Watch::new(cancel, Some(total));
        let retries = Retries {
            attempts: limits
                .attempts
                .map_or(self.retries.attempts, |most| most.min(self.retries.attempts))
                .max(1),
            ..self.retries
        };
        let mut listener = Listener { on_delta, heard: false };
        let mut wasted = Usage::default();
        let mut is_renewed = false;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let failure = match self.attempt(&body, &mut listener, &watch).await {
                Ok((response, told)) => {
                    listener.hear_whole(&response);
                    let (response, estimated) = self.with_usage(response, &body);
                    return Ok(Answer {
                        response,
                        attempts: attempt,
                        request_id: told.request_id,
                        estimated,
                        wasted,
                    });
                }
                Err(failure) => failure,
            };
            waste(&mut wasted, &failure.error);
            // A key that is printed by a command may have run out since.
            if failure.error.kind() == ErrorKind::Auth && !is_renewed && attempt < retries.attempts {
                is_renewed = true;
                match watch.step(None, self.key.forget(failure.key.as_ref())).await {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(interrupt) => return Err(interrupt.into_error(&self.at, None)),
                }
            }
            let failed = Failed {
                kind: failure.error.kind(),
                attempt,
                retry_after: failure.error.retry_after().or(failure.told.retry_after),
                advice: failure.told.advice,
                heard: listener.heard,
            };
            let Some(wait) = retries.wait(failed, self.clock.jitter()) else { return Err(failure.error) };
            // Sleeping into the deadline would only hide the reason.
            if watch.ends_within(wait) {
                return Err(failure.error);
            }
            self.announce(&failure.error, attempt, wait);
            if let Err(interrupt) = watch.step(None, self.clock.sleep(wait)).await {
                return Err(interrupt.into_error(&self.at, None));
            }
        }
    }

    fn announce(&self, error: &ModelError, attempt: u32, wait: std::time::Duration) {
        let retry =
            Retry { at: self.at.clone(), attempt, kind: error.kind(), error: error.to_string(), wait };
        telemetry::retry(&retry);
        if let Some(observer) = &self.observer {
            observer(&retry);
        }
    }

    async fn attempt(
        &self,
        body: &Bytes,
        listener: &mut Listener<'_>,
        watch: &Watch,
    ) -> Result<(Response, Told), Failure> {
        let fail = |error| Failure { error, told: Told::default(), key: None };
        let interrupted = |interrupt: Interrupt| fail(interrupt.into_error(&self.at, None));
        let key = self.key.get(&self.at, watch).await.map_err(|why| match why {
            NoKey::Interrupt(interrupt) => interrupted(interrupt),
            NoKey::Error(error) => fail(error),
        })?;
        let mut request = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body.clone());
        if let Some(key) = &key {
            let (name, value) = headers::key(self.key_header, &self.at, key).map_err(fail)?;
            request = request.header(name, value);
        }
        let idle = self.timeouts.idle();
        let incoming =
            watch.step(Some(idle), request.send()).await.map_err(interrupted)?.map_err(|error| {
                let message = client::causes(&error.without_url());
                fail(ModelError::Connection { at: self.at.clone(), message })
            })?;

        let told = Told::read(incoming.headers(), self.clock.now());
        let reading = Reading { at: &self.at, wire: self.wire, watch, idle, limit: self.answer_limit };
        let status = incoming.status();
        let outcome = if status.is_success() {
            reading.answer(incoming, listener).await.and_then(|response| judge(&self.at, response))
        } else {
            let target = incoming.headers().get(LOCATION).and_then(|target| target.to_str().ok()).map(shown);
            let report = match reading.report(incoming).await {
                Ok(report) => Report::read(Some(status.as_u16()), &report),
                Err(interrupt) => return Err(interrupted(interrupt)),
            };
            let report = match target.filter(|_| status.is_redirection()) {
                Some(target) => {
                    report.with("", &format!("it points to {target}; set that as base_url if you trust it"))
                }
                None => report,
            };
            Err(classify(&self.at, report, told.retry_after))
        };
        match outcome {
            Ok(response) => Ok((response, told)),
            Err(mut error) => {
                let headers = self.headers.values().filter(|value| value.is_sensitive());
                let headers = headers.filter_map(|value| value.to_str().ok());
                for secret in headers.chain(key.as_ref().map(Secret::expose)) {
                    error.redact(secret);
                }
                Err(Failure { error, told, key })
            }
        }
    }

    fn with_usage(&self, mut response: Response, body: &[u8]) -> (Response, bool) {
        if estimate::is_credible(&response.usage) {
            return (response, false);
        }
        response.usage = estimate::usage(self.wire, &self.model, body, &response);
        (response, true)
    }
}

/// Adds what a failed attempt cost, as far as it was reported.
fn waste(wasted: &mut Usage, error: &ModelError) {
    if let Some(usage) = error.partial().map(|partial| partial.usage).filter(estimate::is_credible) {
        estimate::add(wasted, &usage);
    }
}

impl Model for Http {
    fn wire(&self) -> Wire {
        self.wire
    }

    fn id(&self) -> &str {
        &self.model
    }

    fn has_beta(&self, feature: &str) -> bool {
        let named = self.headers.get_all("anthropic-beta").iter().filter_map(|value| value.to_str().ok());
        named.flat_map(|value| value.split(',')).any(|name| name.trim() == feature)
    }

    fn send<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Answer, ModelError>> {
        let span = telemetry::span(&self.name, &self.model, Some(&self.url));
        Box::pin(async move {
            let result = self.run(call).instrument(span.clone()).await;
            telemetry::record(&span, &result);
            result
        })
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("at", &self.at)
            .field("wire", &self.wire)
            .field("model", &self.model)
            .field("key", &self.key)
            .field("retries", &self.retries)
            .finish_non_exhaustive()
    }
}
