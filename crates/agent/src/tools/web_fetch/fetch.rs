//! The request itself.

use super::WebFetchSettings;
use super::address::{Allowed, check, is_public, literal, private, same_host};
use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, LOCATION};
use reqwest::{Client, Response, StatusCode, Url};
use std::io;
use std::net::SocketAddr;
use throughline_model::BoxFuture;

/// Redirects that are followed at most.
const HOPS: usize = 5;

/// Resolves names.
pub trait Dns: Send + Sync {
    /// The addresses of a host.
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>>;
}

/// Asks the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemDns;

impl Dns for SystemDns {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }
}

/// What came of a request.
pub(super) enum Fetched {
    /// An answer.
    Answer(Answer),
    /// The host points to another one.
    Elsewhere { from: Url, to: Url },
}

/// An answer, as it came.
pub(super) struct Answer {
    pub(super) url: Url,
    pub(super) status: StatusCode,
    pub(super) content_type: Option<String>,
    pub(super) body: Vec<u8>,
}

/// Asks for an address that was checked, and follows redirects on its host.
pub(super) async fn fetch(
    settings: &WebFetchSettings,
    allowed: &Allowed,
    url: Url,
) -> Result<Fetched, String> {
    let mut url = url;
    for _ in 0..=HOPS {
        let response = ask(settings, allowed, &url).await?;
        let Some(target) = redirect(&response) else {
            return read(settings, url, response).await.map(Fetched::Answer);
        };
        let to =
            url.join(&target).map_err(|error| format!("{url} redirects to what is no address ({error})"))?;
        let to =
            check(to, allowed).map_err(|why| format!("{url} redirects to what is not fetched: {why}"))?;
        if !same_host(&url, &to) {
            return Ok(Fetched::Elsewhere { from: url, to });
        }
        url = to;
    }
    Err(format!("more than {HOPS} redirects; the last one led to {url}"))
}

fn redirect(response: &Response) -> Option<String> {
    let follows = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    header(response.headers(), LOCATION).filter(|_| follows)
}

async fn ask(settings: &WebFetchSettings, allowed: &Allowed, url: &Url) -> Result<Response, String> {
    let client = client(settings, allowed, url).await?;
    let accept = "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.8, */*;q=0.1";
    let response = client.get(url.clone()).header(ACCEPT, accept).send().await;
    let response =
        response.map_err(|error| format!("{url} can't be fetched: {}", causes(&error.without_url())))?;
    // Whatever was resolved, this is who answered.
    let is_private = response.remote_addr().is_some_and(|peer| !is_public(peer.ip()));
    if is_private && !allowed.has(url) {
        return Err(private(url.host_str().unwrap_or_default()));
    }
    Ok(response)
}

/// A client for one request: it connects to the addresses that were checked, and to no others, whatever the name resolves to later.
async fn client(settings: &WebFetchSettings, allowed: &Allowed, url: &Url) -> Result<Client, String> {
    // The process may have chosen its own already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("throughline/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        // A proxy would resolve names itself.
        .no_proxy();
    if url.scheme() == "http" {
        builder = builder.tls_certs_only([]);
    }
    let host = url.host_str().unwrap_or_default();
    if literal(host).is_none() {
        let port = url.port_or_known_default().unwrap_or(443);
        let found = settings.dns.resolve(host, port).await;
        let found = found.map_err(|error| format!("the host {host} is not found: {error}"))?;
        if found.is_empty() {
            return Err(format!("the host {host} has no address"));
        }
        // One private address is enough: the next request could get that one.
        if !allowed.has(url) && found.iter().any(|address| !is_public(address.ip())) {
            return Err(private(host));
        }
        builder = builder.resolve_to_addrs(host, &found);
    }
    builder.build().map_err(|error| format!("no HTTP client: {}", causes(&error)))
}

async fn read(settings: &WebFetchSettings, url: Url, mut response: Response) -> Result<Answer, String> {
    let limit = settings.max_bytes;
    let too_large =
        || format!("{url} has more than {limit} bytes, which is the limit. Look for a smaller page");
    if response.content_length().is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    let encoding = header(response.headers(), CONTENT_ENCODING);
    if let Some(encoding) = encoding.filter(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
        return Err(format!(
            "{url} comes compressed ({encoding}) although that was not asked for; it can't be read"
        ));
    }
    let status = response.status();
    let content_type = header(response.headers(), CONTENT_TYPE);
    super::content::accepts(content_type.as_deref())
        .map_err(|what| format!("{url} is {what}; only text is read"))?;
    let mut body = Vec::new();
    loop {
        let chunk = response.chunk().await;
        match chunk.map_err(|error| format!("{url} broke off: {}", causes(&error.without_url())))? {
            Some(chunk) if body.len() + chunk.len() > limit => return Err(too_large()),
            Some(chunk) => body.extend_from_slice(&chunk),
            None => return Ok(Answer { url, status, content_type, body }),
        }
    }
}

fn header(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    // Addresses and types are ASCII; some servers send more.
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_owned())
}

/// An error with its causes, in one line.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
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
