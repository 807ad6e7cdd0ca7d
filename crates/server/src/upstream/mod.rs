//! The providers that requests may go to.

mod client;
mod connect;
mod pool;
mod traffic;
mod via;

pub(crate) use client::{Client, Connections, RequestBody, SendError};
pub use via::{Via, ViaError};

use crate::routing::Api;
use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Where requests of each API go. There are no others: the proxy is not open.
#[derive(Clone, Debug)]
pub struct Upstreams {
    /// Anthropic's, or one that speaks like it.
    pub anthropic: Upstream,
    /// OpenAI's, or one that speaks like it.
    pub openai: Upstream,
    /// Where those of a ChatGPT login go; `None`: where OpenAI's do.
    pub chatgpt: Option<Upstream>,
}

impl Default for Upstreams {
    fn default() -> Self {
        let known = |scheme, host, path: &str| Upstream {
            scheme,
            authority: Authority::from_static(host),
            path: path.to_owned(),
            ca_file: None,
            via: None,
        };
        Self {
            anthropic: known(Scheme::HTTPS, "api.anthropic.com", ""),
            openai: known(Scheme::HTTPS, "api.openai.com", "/v1"),
            chatgpt: Some(known(Scheme::HTTPS, "chatgpt.com", "/backend-api/codex")),
        }
    }
}

impl Upstreams {
    /// Trusts the certificates in a PEM file too.
    pub fn trust(&mut self, file: &Path) {
        for upstream in [&mut self.anthropic, &mut self.openai].into_iter().chain(&mut self.chatgpt) {
            upstream.ca_file = Some(file.to_owned());
        }
    }

    pub(crate) fn of(&self, api: Api) -> &Upstream {
        match api {
            Api::Anthropic => &self.anthropic,
            Api::OpenAi => &self.openai,
            Api::ChatGpt => self.chatgpt.as_ref().unwrap_or(&self.openai),
        }
    }
}

/// A provider's address.
#[derive(Clone, PartialEq, Eq)]
pub struct Upstream {
    scheme: Scheme,
    authority: Authority,
    /// Without a slash at its end.
    path: String,
    /// Certificates to trust besides the system's, as PEM.
    pub ca_file: Option<PathBuf>,
    /// The network's proxy that it is reached by.
    via: Option<Via>,
}

/// Why an address can't be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    /// It is none.
    #[error("{0:?} is no address; write it like https://api.example.com")]
    NoAddress(String),
    /// It would send keys in the clear.
    #[error("{0} is not encrypted; use https://, or an address of this machine")]
    NotEncrypted(String),
    /// It holds a password.
    #[error("the address of {0} holds a name or password; let the client send it as a header")]
    HoldsPassword(String),
}

impl Upstream {
    /// Anthropic's base is meant without `/v1`; people write either.
    pub fn anthropic(base: &str) -> Result<Self, UpstreamError> {
        let mut upstream = Self::parse(base)?;
        if let Some(before) = upstream.path.strip_suffix("/v1") {
            upstream.path = before.to_owned();
        }
        Ok(upstream)
    }

    /// OpenAI's base is meant with `/v1`, or with whatever path a compatible server has.
    pub fn openai(base: &str) -> Result<Self, UpstreamError> {
        let mut upstream = Self::parse(base)?;
        if upstream.path.is_empty() {
            upstream.path = "/v1".to_owned();
        }
        Ok(upstream)
    }

    fn parse(base: &str) -> Result<Self, UpstreamError> {
        let no_address = || UpstreamError::NoAddress(base.to_owned());
        let uri: Uri = base.trim().parse().map_err(|_| no_address())?;
        let parts = uri.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(no_address());
        };
        let shown = format!("{scheme}://{}", authority.host());
        if authority.as_str().contains('@') {
            return Err(UpstreamError::HoldsPassword(shown));
        }
        if scheme != Scheme::HTTPS && (scheme != Scheme::HTTP || !is_local(authority.host())) {
            return Err(UpstreamError::NotEncrypted(shown));
        }
        let path = parts.path_and_query.map(|path| path.path().trim_end_matches('/').to_owned());
        Ok(Self { scheme, authority, path: path.unwrap_or_default(), ca_file: None, via: None })
    }

    /// Its host, without a port.
    pub fn host(&self) -> &str {
        self.authority.host()
    }

    /// Whether what is sent there arrives at a server on this machine.
    pub fn leads_to(&self, server: SocketAddr) -> bool {
        let port = self.authority.port_u16().unwrap_or(if self.is_encrypted() { 443 } else { 80 });
        is_local(self.host()) && port == server.port()
    }

    /// Whether what is sent there is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// Host and port, as the `host` header names them.
    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Where connections go.
    fn root(&self) -> Uri {
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(PathAndQuery::from_static("/"));
        Uri::from_parts(parts).unwrap_or_default()
    }

    /// The address there of what was asked for here.
    pub(crate) fn address(&self, api: Api, asked: &Uri) -> Result<Uri, http::Error> {
        let wanted = asked.path_and_query().map_or("/", PathAndQuery::as_str);
        let rest = match api {
            Api::Anthropic => wanted,
            // Its own path takes the place of ours.
            Api::OpenAi | Api::ChatGpt => {
                wanted.strip_prefix("/v1").filter(|rest| is_rest(rest)).unwrap_or(wanted)
            }
        };
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(format!("{}{rest}", self.path))
            .build()
    }
}

/// Behind a whole segment: nothing, another one or a query.
fn is_rest(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['/', '?'])
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.path)
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Whether a host is this machine.
pub(crate) fn is_local(host: &str) -> bool {
    let name = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost")
        || name.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_base_takes_the_place_of_ours() {
        let address = |upstream: &Upstream, api, path: &str| {
            upstream.address(api, &path.parse().unwrap()).unwrap().to_string()
        };
        let there = Upstream::anthropic("https://gateway.example/claude/v1/").unwrap();
        assert_eq!(
            address(&there, Api::Anthropic, "/v1/messages?beta=true"),
            "https://gateway.example/claude/v1/messages?beta=true"
        );
        let there = Upstream::openai("https://api.example").unwrap();
        assert_eq!(address(&there, Api::OpenAi, "/v1/responses"), "https://api.example/v1/responses");
        let there = Upstream::openai("http://127.0.0.1:9/backend/codex").unwrap();
        assert_eq!(
            address(&there, Api::OpenAi, "/v1/responses?x"),
            "http://127.0.0.1:9/backend/codex/responses?x"
        );
        assert_eq!(address(&there, Api::OpenAi, "/v1x/y"), "http://127.0.0.1:9/backend/codex/v1x/y");
    }

    #[test]
    fn keys_are_not_sent_in_the_clear() {
        let not = |base: &str| UpstreamError::NotEncrypted(base.to_owned());
        assert_eq!(Upstream::openai("http://example.com/v1"), Err(not("http://example.com")));
        assert_eq!(Upstream::openai("ftp://127.0.0.1/v1"), Err(not("ftp://127.0.0.1")));
        assert!(Upstream::openai("http://[::1]:8080/v1").is_ok());
        assert!(Upstream::openai("http://localhost.evil.example/v1").is_err());
        assert_eq!(
            Upstream::anthropic("https://me:secret@example.com"),
            Err(UpstreamError::HoldsPassword("https://example.com".to_owned()))
        );
        assert!(matches!(Upstream::anthropic("/v1"), Err(UpstreamError::NoAddress(_))));
    }
}
