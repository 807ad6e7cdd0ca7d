//! The address of a server, and who may be reached how.

use crate::mcp::clean;
use crate::mcp::expand::expand;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{NoProxy, Proxy, Url};
use throughline_engine::config::McpServer;
use throughline_model::{Environment, Secret};

/// Where a server is, and what it is sent with every request.
pub(in crate::mcp) struct Address {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) proxy: Option<Proxy>,
}

/// Headers that the protocol needs for itself.
const RESERVED: [&str; 9] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

pub(super) fn read(server: &McpServer, url: &str, environment: Environment<'_>) -> Result<Address, String> {
    let url = Url::parse(&expand(url, environment)?)
        .map_err(|error| format!("its url is no address: {error}; write it like https://host/mcp"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("its url must begin with http:// or https://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("its url holds a name or password; put it into `headers`".to_owned());
    }
    let is_local = is_local(&url);
    if url.scheme() == "http" && !is_local && !server.insecure_http {
        return Err(
            "plain http to another machine can be read and changed on the way; use https, or set `insecure_http`"
                .to_owned(),
        );
    }
    let mut headers = HeaderMap::new();
    for (name, value) in &server.headers {
        let (name, value) = header(name, value, environment)?;
        headers.insert(name, value);
    }
    let proxy = if is_local { None } else { proxy(&url, environment)? };
    Ok(Address { url, headers, proxy })
}

fn header(
    name: &str,
    value: &Secret,
    environment: Environment<'_>,
) -> Result<(HeaderName, HeaderValue), String> {
    let shown = clean::line(name, 80);
    let header: HeaderName = name.parse().map_err(|_| format!("{shown:?} is no name for a header"))?;
    if RESERVED.contains(&header.as_str()) {
        return Err(format!("the header {shown:?} belongs to the protocol; remove it"));
    }
    let mut value = HeaderValue::from_str(&expand(value.expose(), environment)?)
        .map_err(|_| format!("the value of the header {shown:?} can't be sent"))?;
    value.set_sensitive(true);
    Ok((header, value))
}

/// The proxy of the usual variables.
fn proxy(url: &Url, environment: Environment<'_>) -> Result<Option<Proxy>, String> {
    let set = |name: &str| environment(name).filter(|value| !value.trim().is_empty());
    let either = |upper: &str| set(&upper.to_lowercase()).or_else(|| set(upper));
    let own = if url.scheme() == "https" { "HTTPS_PROXY" } else { "HTTP_PROXY" };
    let Some(address) = either(own).or_else(|| either("ALL_PROXY")) else { return Ok(None) };
    let except = either("NO_PROXY").unwrap_or_default();
    if except.split(',').any(|pattern| pattern.trim() == "*") {
        return Ok(None);
    }
    // Its address may hold a password and is not shown.
    let proxy = Proxy::all(address.trim())
        .map_err(|_| format!("{own} is no address; write it like http://host:8080"))?;
    Ok(Some(proxy.no_proxy(NoProxy::from_string(&except))))
}

/// Whether an address stays on this machine.
fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let name = host.trim_end_matches('.');
    name == "localhost"
        || name.ends_with(".localhost")
        || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn refused(server: McpServer) -> Option<String> {
        let url = server.url.clone().unwrap_or_default();
        read(&server, &url, &|name| (name == "TOKEN").then(|| "t0ken".to_owned())).err()
    }

    fn at(url: &str) -> McpServer {
        McpServer { url: Some(url.to_owned()), ..McpServer::default() }
    }

    #[test]
    fn plain_http_leaves_this_machine_only_if_the_settings_say_so() {
        for url in ["http://127.0.0.1:1/mcp", "http://localhost/mcp", "http://[::1]:8/", "https://x.test/mcp"]
        {
            assert_eq!(refused(at(url)), None, "{url}");
        }
        for url in
            ["http://x.test/mcp", "http://127.0.0.1.x.test/", "http://10.0.0.1/", "http://localhost.x.test/"]
        {
            assert!(refused(at(url)).is_some_and(|why| why.contains("insecure_http")), "{url}");
            assert_eq!(refused(McpServer { insecure_http: true, ..at(url) }), None);
        }
        for url in ["ftp://x", "x", "https://me:pw@x.test/", "file:///etc/passwd", "https://${NOT_SET}/"] {
            assert!(refused(at(url)).is_some(), "{url}");
        }
    }

    #[test]
    fn headers_are_checked_and_their_values_are_in_no_message() {
        let with = |name: &str, value: &str| McpServer {
            headers: BTreeMap::from([(name.to_owned(), Secret::new(value))]),
            ..at("https://x.test/")
        };
        assert_eq!(refused(with("Authorization", "Bearer ${TOKEN}")), None);
        for name in ["Mcp-Session-Id", "host", "Content-Length", "a b", ""] {
            assert!(refused(with(name, "x")).is_some(), "{name}");
        }
        let why = refused(with("x", "s3cret\n")).unwrap_or_default();
        assert!(!why.is_empty() && !why.contains("s3cret"));
    }
}
