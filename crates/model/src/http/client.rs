//! The HTTP client of a provider: certificates, proxy, redirects.

use crate::environment::lookup;
use crate::provider::{Provider, host_is_local};
use crate::{Environment, ModelError};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Certificate, Client, ClientBuilder, NoProxy, Proxy, Url};

/// Redirects that are followed at most.
const HOPS: usize = 3;

pub(super) fn build(
    provider: &Provider,
    url: &Url,
    environment: Environment<'_>,
) -> Result<Client, ModelError> {
    // The process may have chosen its own already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("throughline/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(provider.timeouts.connect())
        .redirect(Policy::custom(follow))
        // What is sent again is decided in one place.
        .retry(reqwest::retry::never())
        // The environment is read by us, once, through the caller's eyes.
        .no_proxy();
    let proxy = proxy(provider, url, environment)?;
    // Plain HTTP needs no certificates, and a machine without any can still talk to a local model.
    let is_plain = url.scheme() == "http" && proxy.is_none();
    let builder = certificates(builder, provider, is_plain)?;
    let builder = match proxy {
        Some(proxy) => builder.proxy(proxy),
        None => builder,
    };
    builder
        .build()
        .map_err(|error| provider.error(format!("no HTTP client: {}", causes(&error.without_url()))))
}

fn certificates(
    builder: ClientBuilder,
    provider: &Provider,
    is_plain: bool,
) -> Result<ClientBuilder, ModelError> {
    let Some(file) = &provider.ca_file else {
        return Ok(if is_plain { builder.tls_certs_only([]) } else { builder });
    };
    let name = file.display();
    let pem = std::fs::read(file)
        .map_err(|error| provider.error(format!("the ca_file {name} can't be read: {error}")))?;
    let certificates = Certificate::from_pem_bundle(&pem)
        .map_err(|error| provider.error(format!("the ca_file {name} is not PEM: {}", causes(&error))))?;
    if certificates.is_empty() {
        return Err(provider.error(format!("the ca_file {name} holds no certificate; it must be PEM")));
    }
    Ok(builder.tls_certs_merge(certificates))
}

/// The proxy of the settings, or of the usual variables. Those do not apply to this machine's own servers.
fn proxy(provider: &Provider, url: &Url, environment: Environment<'_>) -> Result<Option<Proxy>, ModelError> {
    let read = |address: &str| {
        // Its address may hold a password and is not shown.
        Proxy::all(address)
            .map_err(|_| provider.error("the proxy is no address; write it like http://host:8080"))
    };
    if let Some(address) = &provider.proxy {
        return read(address.expose()).map(Some);
    }
    if host_is_local(url) {
        return Ok(None);
    }
    let either =
        |upper: &str| lookup(environment, &upper.to_lowercase()).or_else(|| lookup(environment, upper));
    let own = if url.scheme() == "https" { "HTTPS_PROXY" } else { "HTTP_PROXY" };
    let Some(address) = either(own).or_else(|| either("ALL_PROXY")) else { return Ok(None) };
    let except = either("NO_PROXY").unwrap_or_default();
    // The library knows the star for names only.
    if except.split(',').any(|pattern| pattern.trim() == "*") {
        return Ok(None);
    }
    let except = NoProxy::from_string(&except);
    read(&address).map(|proxy| Some(proxy.no_proxy(except)))
}

/// Follows a redirect only if it keeps method and body and stays with the same host: keys and conversations are not
/// handed to others.
fn follow(attempt: Attempt<'_>) -> Action {
    let keeps_body = matches!(attempt.status().as_u16(), 307 | 308);
    let same_place = attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
    if keeps_body && same_place && attempt.previous().len() <= HOPS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

/// An error with its causes, in one line.
pub(super) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    text
}
