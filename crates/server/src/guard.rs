//! Who may ask.

use crate::Token;
use crate::peer::Caller;
use crate::token::Derived;
use crate::upstream::is_local;
use http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Request, Uri};
use std::net::SocketAddr;

/// Prefix of our cookies' names.
pub(crate) const COOKIE_PREFIX: &str = "throughline_";

/// The cookie that a browser gets once a person opened the page with the token. Cookies know no ports, so it is named by ours.
pub(crate) fn cookie_name(listening: SocketAddr) -> String {
    format!("{COOKIE_PREFIX}{}", listening.port())
}

/// How somebody showed that they have the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// By sending it: a program.
    Bearer,
    /// By the page's cookie: a browser, which also sends it for others. A form must show that it is ours.
    Cookie,
}

/// Why a request is not heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// A name that merely leads here: a page elsewhere may have made a browser ask.
    #[error("the Host header does not name this server; use the address that `throughline serve` printed")]
    Host,
    /// A page elsewhere asks.
    #[error("requests from pages of other origins are refused")]
    Origin,
    /// Nobody knows who asks.
    #[error(
        "this needs the token; open the address that `throughline serve` printed, or send it as a bearer token"
    )]
    Token,
    /// A secret that is not this user's.
    #[error(
        "the secret in the address or in x-throughline-secret is not that of the user who started this server; it is in the file \
         proxy/secret of Throughline's home folder"
    )]
    Secret,
}

/// The header that shows the user's secret.
const SECRET: &str = "x-throughline-secret";
/// The first segment of a path that shows it: `/t/SECRET/v1/messages`.
const SECRET_PATH: &str = "/t/";

/// Returns who sent a request, by the owner of its connection or by the secret that it shows. The secret is removed from the request.
pub(crate) fn authorise<B>(
    request: &mut Request<B>,
    peer: Caller,
    secret: &Token,
) -> Result<Caller, Refused> {
    let in_header = request.headers_mut().remove(SECRET);
    let in_path = request.uri().path().strip_prefix(SECRET_PATH).map(str::to_owned);
    if in_header.is_none() && in_path.is_none() {
        return Ok(peer);
    }
    let mut is_right = in_header.is_none_or(|shown| shown.to_str().is_ok_and(|shown| secret.is(shown)));
    if let Some(path) = in_path {
        let (shown, rest) = path.split_once('/').unwrap_or((&path, ""));
        is_right &= secret.is(shown);
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        let mut parts = std::mem::take(request.uri_mut()).into_parts();
        parts.path_and_query = Some(format!("/{rest}{query}").parse().map_err(|_| Refused::Secret)?);
        *request.uri_mut() = Uri::from_parts(parts).map_err(|_| Refused::Secret)?;
    }
    if is_right { Ok(Caller::Owner) } else { Err(Refused::Secret) }
}

/// Checks that a request was meant for this server, by a program or by our own page (DNS rebinding, cross-site requests).
pub(crate) fn meant_for_us(headers: &HeaderMap, uri: &Uri, listening: SocketAddr) -> Result<(), Refused> {
    let named = |text: &str| text.parse::<Authority>().ok();
    let host = match headers.get(HOST) {
        Some(host) => host.to_str().ok().and_then(named),
        // HTTP/2 has it in the address.
        None => uri.authority().cloned(),
    };
    let is_ours = |authority: &Authority| {
        let port = authority.port_u16().unwrap_or(80);
        let host = authority.host();
        let is_host = is_local(host) || host.trim_matches(['[', ']']) == listening.ip().to_string();
        is_host && port == listening.port()
    };
    if !host.as_ref().is_some_and(is_ours) {
        return Err(Refused::Host);
    }
    match headers.get(ORIGIN) {
        None => Ok(()),
        Some(origin) => {
            let origin = origin.to_str().ok().and_then(|text| text.strip_prefix("http://")).and_then(named);
            if origin.is_some() && origin == host { Ok(()) } else { Err(Refused::Origin) }
        }
    }
}

/// Checks that whoever asks has the token: as a bearer, or in the page's cookie.
pub(crate) fn has_token(
    headers: &HeaderMap,
    token: &Token,
    listening: SocketAddr,
) -> Result<Holder, Refused> {
    if let Some(bearer) = headers.get(AUTHORIZATION) {
        let bearer = bearer.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
        return if bearer.is_some_and(|given| token.is(given)) {
            Ok(Holder::Bearer)
        } else {
            Err(Refused::Token)
        };
    }
    let ours = cookie_name(listening);
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = cookies.flat_map(|all| all.split(';')).filter_map(|one| one.trim().split_once('='));
    let has = cookies.any(|(name, value)| name == ours && token.derives(Derived::Cookie, value));
    if has { Ok(Holder::Cookie) } else { Err(Refused::Token) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn asked(pairs: &[(&'static str, &'static str)]) -> Result<(), Refused> {
        let headers = pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)))
            .collect();
        meant_for_us(&headers, &Uri::from_static("/"), "127.0.0.1:8787".parse().unwrap())
    }

    #[test]
    fn only_our_own_name_is_answered() {
        assert_eq!(asked(&[("host", "127.0.0.1:8787")]), Ok(()));
        assert_eq!(asked(&[("host", "localhost:8787")]), Ok(()));
        assert_eq!(asked(&[("host", "[::1]:8787")]), Ok(()));
        assert_eq!(asked(&[("host", "127.0.0.1:8788")]), Err(Refused::Host));
        assert_eq!(asked(&[("host", "evil.example:8787")]), Err(Refused::Host));
        assert_eq!(asked(&[("host", "127.0.0.1.evil.example:8787")]), Err(Refused::Host));
        assert_eq!(asked(&[]), Err(Refused::Host));
    }

    #[test]
    fn pages_of_others_are_not_answered() {
        let from = |origin| asked(&[("host", "localhost:8787"), ("origin", origin)]);
        assert_eq!(from("http://localhost:8787"), Ok(()));
        assert_eq!(from("http://localhost:9999"), Err(Refused::Origin));
        assert_eq!(from("https://localhost:8787"), Err(Refused::Origin));
        assert_eq!(from("http://evil.example"), Err(Refused::Origin));
        assert_eq!(from("null"), Err(Refused::Origin));
    }

    #[test]
    fn the_token_comes_as_a_bearer_or_a_cookie_of_our_port() {
        let token = Token::new("s3cret");
        let with = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            has_token(&headers, &token, "127.0.0.1:8787".parse().unwrap())
        };
        let derived = token.derived(Derived::Cookie);
        assert_eq!(with("authorization", "Bearer s3cret"), Ok(Holder::Bearer));
        assert_eq!(with("cookie", &format!("a=b; throughline_8787={derived}")), Ok(Holder::Cookie));
        for (name, value) in [
            ("cookie", "throughline_8787=s3cret".to_owned()),
            ("cookie", format!("throughline_8788={derived}")),
            ("authorization", format!("Bearer {derived}")),
            ("authorization", "s3cret".to_owned()),
            ("authorization", "Bearer s3cre".to_owned()),
        ] {
            assert_eq!(with(name, &value), Err(Refused::Token), "{name}: {value}");
        }
        assert_ne!(derived, token.derived(Derived::Form));
    }
}
