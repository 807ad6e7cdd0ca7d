//! The network's own proxy, by which a provider is reached where there is no other way out.
//!
//! The variables are those that everybody reads: `HTTPS_PROXY`, else `ALL_PROXY`, but for the hosts in `NO_PROXY`; in small letters
//! first. `HTTP_PROXY` is for what is not encrypted, which only goes to this machine, and to this machine leads no proxy.

use super::{Upstream, Upstreams};
use http::header::HeaderValue;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Uri, uri};
use hyper_util::client::proxy::matcher::Matcher;
use std::fmt;

/// A proxy of the network's. The name and password that it wants are shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Via {
    kind: Kind,
    address: Uri,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// By `CONNECT`, and what goes with it.
    Tunnel { authorization: Option<HeaderValue> },
    /// SOCKS 5, with a name and password; names may be looked up here or there.
    Socks { user: Option<(String, String)>, looks_up_here: bool },
}

/// A variable names a proxy that can't be used. Its value may hold a password and is not shown.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{variable} names no proxy that can be used; write it like http://proxy.example:3128 (http, https, socks5 or socks5h)"
)]
pub struct ViaError {
    /// Which.
    pub variable: String,
}

/// The port of SOCKS, where none is said.
const SOCKS: u16 = 1080;

impl Via {
    /// By its address, as people write it into a variable.
    fn parse(address: &str) -> Option<Self> {
        let somewhere = Uri::from_static("https://provider.example/");
        let found = Matcher::builder().all(address.to_owned()).build().intercept(&somewhere)?;
        let kind = match found.uri().scheme_str()? {
            "http" | "https" => Kind::Tunnel { authorization: found.basic_auth().cloned() },
            scheme @ ("socks5" | "socks5h") => Kind::Socks {
                user: found.raw_auth().map(|(name, password)| (name.to_owned(), password.to_owned())),
                looks_up_here: scheme == "socks5",
            },
            _ => return None,
        };
        let authority = found.uri().authority()?.clone();
        let (scheme, authority) = match &kind {
            Kind::Tunnel { .. } => (found.uri().scheme()?.clone(), authority),
            Kind::Socks { .. } if authority.port().is_some() => (Scheme::HTTP, authority),
            Kind::Socks { .. } => (Scheme::HTTP, format!("{authority}:{SOCKS}").parse::<Authority>().ok()?),
        };
        let mut parts = uri::Parts::default();
        parts.scheme = Some(scheme);
        parts.authority = Some(authority);
        parts.path_and_query = Some(PathAndQuery::from_static("/"));
        Some(Self { kind, address: Uri::from_parts(parts).ok()? })
    }

    pub(super) fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Where it listens, without a name and password.
    pub(super) fn address(&self) -> &Uri {
        &self.address
    }

    /// The one that variables name for a provider; none for a provider on this machine.
    fn of(upstream: &Upstream, variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, ViaError> {
        if super::is_local(upstream.host()) {
            return Ok(None);
        }
        let either = |upper: &str| {
            [upper.to_ascii_lowercase(), upper.to_owned()].into_iter().find_map(|name| {
                let value = variable(&name)?.trim().to_owned();
                (!value.is_empty()).then_some((name, value))
            })
        };
        let Some((name, address)) = either("HTTPS_PROXY").or_else(|| either("ALL_PROXY")) else {
            return Ok(None);
        };
        let (_, except) = either("NO_PROXY").unwrap_or_default();
        // The library knows the star for names only.
        let is_all = except.split(',').any(|pattern| pattern.trim() == "*");
        let any = Matcher::builder().all("http://proxy.example").no(except).build();
        if is_all || any.intercept(&upstream.root()).is_none() {
            return Ok(None);
        }
        Self::parse(&address).map(Some).ok_or(ViaError { variable: name })
    }
}

impl Upstreams {
    /// Has providers be reached by the proxy that variables name for them.
    pub fn heed_proxies(&mut self, variable: &dyn Fn(&str) -> Option<String>) -> Result<(), ViaError> {
        for upstream in [&mut self.anthropic, &mut self.openai].into_iter().chain(&mut self.chatgpt) {
            upstream.via = Via::of(upstream, variable)?;
        }
        Ok(())
    }

    /// The proxy of the network's that some provider is reached by.
    pub fn via(&self) -> Option<&Via> {
        [&self.anthropic, &self.openai].into_iter().chain(&self.chatgpt).find_map(|one| one.via.as_ref())
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.address.authority().map_or("", Authority::as_str))
    }
}

impl fmt::Debug for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn via(base: &str, variables: &[(&str, &str)]) -> Result<Option<String>, ViaError> {
        let mut upstreams =
            Upstreams { anthropic: Upstream::anthropic(base).unwrap(), ..Upstreams::default() };
        let variable = |name: &str| {
            variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        };
        upstreams.heed_proxies(&variable)?;
        Ok(upstreams.anthropic.via.map(|via| format!("{via:?}")))
    }

    #[test]
    fn the_usual_variables_say_which_proxy() {
        let by = |variables: &[(&str, &str)]| via("https://api.example", variables).unwrap();
        let proxy = |name| Some(format!("{name}.example:3128"));
        assert_eq!(by(&[]), None);
        assert_eq!(by(&[("HTTP_PROXY", "http://a.example:3128")]), None, "that one is for plain HTTP");
        assert_eq!(by(&[("HTTPS_PROXY", " "), ("ALL_PROXY", "http://b.example:3128")]), proxy("b"));
        let both = [("HTTPS_PROXY", "http://a.example:3128"), ("https_proxy", "c.example:3128")];
        assert_eq!(by(&both), proxy("c"), "small letters first, and HTTP where nothing is said");
        assert_eq!(by(&[("ALL_PROXY", "socks5h://me:secret@d.example")]), Some("d.example:1080".to_owned()));
    }

    #[test]
    fn what_is_excepted_and_what_is_here_is_reached_directly() {
        let except = |base: &str, hosts: &str| {
            via(base, &[("HTTPS_PROXY", "http://proxy.example:3128"), ("NO_PROXY", hosts)]).unwrap()
        };
        for (base, hosts) in [
            ("https://api.example", "other.example, api.example"),
            ("https://eu.api.example", ".api.example"),
            ("https://api.example", "*"),
            ("https://10.1.2.3", "*"),
            ("https://10.1.2.3", "10.0.0.0/8"),
            ("https://localhost:8443", ""),
            ("http://127.0.0.1:8080", ""),
            ("https://[::1]:8443", ""),
        ] {
            assert_eq!(except(base, hosts), None, "{base} with {hosts:?}");
        }
        for (base, hosts) in
            [("https://myapi.example", "api.example"), ("https://10.1.2.3", "192.168.0.0/16")]
        {
            assert_eq!(except(base, hosts), Some("proxy.example:3128".to_owned()), "{base} with {hosts:?}");
        }
    }

    #[test]
    fn a_name_and_password_are_never_shown() {
        let shown = via("https://api.example", &[("HTTPS_PROXY", "http://me:s3cret@proxy.example:3128")]);
        assert_eq!(shown, Ok(Some("proxy.example:3128".to_owned())));
        for address in ["gopher://me:s3cret@proxy.example", "http://", "http://me:s3cret@"] {
            let failed = via("https://api.example", &[("https_proxy", address)]).unwrap_err();
            assert!(failed.to_string().starts_with("https_proxy names no proxy"), "{failed}");
            assert!(!format!("{failed} {failed:?}").contains("s3cret"));
        }
    }
}
