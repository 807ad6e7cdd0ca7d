//! The collector: where it is, and how it is spoken to.

use super::PATIENCE;
use crate::config::Telemetry;
use crate::telemetry::TelemetryError;
use percent_encoding::percent_decode_str;
use reqwest::blocking::Client;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Url, retry};
use std::collections::HashMap;
use std::thread::{self, JoinHandle};
use throughline_model::Environment;

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

/// What is sent, by the paths that the protocol has for it.
#[derive(Clone, Copy)]
pub(super) enum Signal {
    Spans,
    Metrics,
}

impl Signal {
    fn path(self) -> [&'static str; 2] {
        match self {
            Self::Spans => ["v1", "traces"],
            Self::Metrics => ["v1", "metrics"],
        }
    }
}

/// Where the collector is, and how it is spoken to.
pub(super) struct Collector {
    base: Url,
    pub(super) headers: HashMap<String, String>,
    pub(super) client: Client,
}

impl Collector {
    pub(super) fn new(settings: &Telemetry, environment: Environment<'_>) -> Result<Self, TelemetryError> {
        let variable = |name: &str| environment(name).filter(|word| !word.trim().is_empty());
        let (from, address) = match variable(ENDPOINT) {
            Some(address) => (ENDPOINT, address),
            None => ("telemetry.endpoint", settings.endpoint.clone()),
        };
        let base = Url::parse(address.trim())
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or(TelemetryError::Endpoint { from })?;
        let headers = headers(&variable(HEADERS).unwrap_or_default())?;
        let client = client(&base)?;
        Ok(Self { base, headers, client })
    }

    pub(super) fn url(&self, signal: Signal) -> String {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(signal.path());
        }
        url.into()
    }
}

/// `name=value,name2=value2`, values percent-encoded.
fn headers(variable: &str) -> Result<HashMap<String, String>, TelemetryError> {
    let pairs = variable.split(',').enumerate().filter(|(_, pair)| !pair.trim().is_empty());
    pairs
        .map(|(at, pair)| {
            let read = || {
                let (name, value) = pair.split_once('=')?;
                let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
                HeaderValue::from_str(&value).ok()?;
                Some((HeaderName::from_bytes(name.trim().as_bytes()).ok()?.to_string(), value.into_owned()))
            };
            read().ok_or(TelemetryError::Headers { at: at + 1 })
        })
        .collect()
}

fn client(base: &Url) -> Result<Client, TelemetryError> {
    // The process may have chosen its own already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("throughline/", env!("CARGO_PKG_VERSION")))
        .timeout(PATIENCE)
        // The headers hold keys.
        .redirect(Policy::none())
        .retry(retry::never());
    if base.scheme() == "http" {
        // Plain HTTP needs no certificates, and a machine without any can still talk to a local collector.
        builder = builder.tls_certs_only([]);
    }
    if is_local(base) {
        builder = builder.no_proxy();
    }
    // A blocking client can't be made on a thread that drives a runtime.
    let thread = thread::Builder::new().spawn(move || builder.build());
    match thread.map(JoinHandle::join) {
        Ok(Ok(Ok(client))) => Ok(client),
        Ok(Ok(Err(error))) => Err(TelemetryError::Client(error.without_url().to_string())),
        Ok(Err(_)) => Err(TelemetryError::Client("its HTTP client can't be made".to_owned())),
        Err(error) => Err(TelemetryError::Client(error.to_string())),
    }
}

fn is_local(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collector(endpoint: &str, variables: &[(&str, &str)]) -> Result<Collector, TelemetryError> {
        let settings = Telemetry { endpoint: endpoint.to_owned(), ..Telemetry::default() };
        let look = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Collector::new(&settings, &look)
    }

    #[test]
    fn paths_come_behind_the_address() {
        for (endpoint, url) in [
            ("http://localhost:4318", "http://localhost:4318/v1/traces"),
            ("http://[::1]:4318/", "http://[::1]:4318/v1/traces"),
            (" http://10.0.0.1/otel/ ", "http://10.0.0.1/otel/v1/traces"),
        ] {
            assert_eq!(collector(endpoint, &[]).unwrap().url(Signal::Spans), url);
        }
    }

    #[test]
    fn the_variable_wins_over_the_settings() {
        let found = collector("http://localhost:1", &[(ENDPOINT, "http://localhost:2/")]).unwrap();
        assert_eq!(found.url(Signal::Metrics), "http://localhost:2/v1/metrics");
        let unset = collector("http://localhost:1", &[(ENDPOINT, " ")]).unwrap();
        assert_eq!(unset.url(Signal::Metrics), "http://localhost:1/v1/metrics");
    }

    #[test]
    fn a_bad_address_is_an_error_that_does_not_show_it() {
        for bad in ["", "localhost:4318", "ftp://host", "http://", "user:s3cret"] {
            let error = collector(bad, &[]).err().unwrap();
            assert!(
                matches!(error, TelemetryError::Endpoint { from: "telemetry.endpoint" }),
                "{bad}: {error}"
            );
            assert!(!format!("{error} {error:?}").contains("s3cret"));
        }
    }

    #[test]
    fn headers_are_decoded_and_bad_ones_are_counted() {
        let found = collector("http://localhost", &[(HEADERS, "api-key=s3cret%20word, x-two=2,")]).unwrap();
        assert_eq!(found.headers.get("api-key").map(String::as_str), Some("s3cret word"));
        assert_eq!(found.headers.get("x-two").map(String::as_str), Some("2"));
        for bad in ["ok=1,s3cret", "ok=1,s3 cret=2", "ok=1,name=s3cret%0Aword"] {
            let error = collector("http://localhost", &[(HEADERS, bad)]).err().unwrap();
            assert!(matches!(error, TelemetryError::Headers { at: 2 }), "{error:?}");
            assert!(!format!("{error} {error:?}").contains("cret"));
        }
    }
}
