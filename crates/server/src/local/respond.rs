//! Answers of our own, with what browsers are told about them.

use crate::guard;
use crate::relay::{Body, whole};
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, SET_COOKIE,
};
use http::{HeaderMap, Response, StatusCode};
use serde::Serialize;

/// A browser loads nothing but what this server has, runs nothing but our own file, and shows the page in no other.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What every answer of ours says. `same-origin` and not `no-referrer`: under the latter, browsers send forms with an unknown origin.
const SAID: [(&str, &str); 7] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
];

/// Headers for answers of providers: browsers run nothing in them, show them in no other page and guess no other type.
const ISOLATED: [(&str, &str); 3] = [
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'; sandbox"),
    ("x-content-type-options", "nosniff"),
    ("cross-origin-resource-policy", "same-origin"),
];
/// Parts of content types that browsers show as a page, or run.
const ACTIVE: [&str; 6] = ["html", "xml", "svg", "script", "css", "pdf"];

/// Makes an answer of a provider harmless on the origin of our page: what a browser would show or run is text to be saved, and a
/// cookie of ours is not set.
pub(crate) fn isolate(headers: &mut HeaderMap) {
    for (name, value) in ISOLATED {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let cookies: Vec<HeaderValue> = headers.get_all(SET_COOKIE).iter().cloned().collect();
    if cookies.iter().any(is_our_cookie) {
        headers.remove(SET_COOKIE);
        for cookie in cookies.into_iter().filter(|cookie| !is_our_cookie(cookie)) {
            headers.append(SET_COOKIE, cookie);
        }
    }
    let kind =
        headers.get(CONTENT_TYPE).map(|kind| String::from_utf8_lossy(kind.as_bytes()).to_ascii_lowercase());
    if kind.is_some_and(|kind| ACTIVE.iter().any(|active| kind.contains(active))) {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(Kind::Plain.name()));
        headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    }
}

fn is_our_cookie(cookie: &HeaderValue) -> bool {
    cookie.as_bytes().trim_ascii_start().starts_with(guard::COOKIE_PREFIX.as_bytes())
}

/// A request that is not heard.
pub(crate) fn refusal(status: StatusCode, why: &impl std::fmt::Display) -> Response<Body> {
    answer(status, Kind::Plain, format!("{why}\n"))
}

/// A kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Html,
    Css,
    Script,
    Json,
    Plain,
    Metrics,
    Icon,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Css => "text/css; charset=utf-8",
            Self::Script => "text/javascript; charset=utf-8",
            Self::Json => "application/json",
            Self::Plain => "text/plain; charset=utf-8",
            Self::Metrics => "text/plain; version=0.0.4; charset=utf-8",
            Self::Icon => "image/svg+xml",
        }
    }
}

/// An answer.
pub(super) fn answer(status: StatusCode, kind: Kind, text: impl Into<bytes::Bytes>) -> Response<Body> {
    let mut response = Response::new(whole(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind.name()));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in SAID {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

/// A value for programs.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    answer(status, Kind::Json, text)
}

/// Go and look there.
pub(super) fn see(place: &str, cookie: Option<&str>) -> Response<Body> {
    let mut response = answer(StatusCode::SEE_OTHER, Kind::Plain, "");
    let headers = response.headers_mut();
    if let Ok(place) = HeaderValue::from_str(place) {
        headers.insert(LOCATION, place);
    }
    if let Some(cookie) = cookie.and_then(|cookie| HeaderValue::from_str(cookie).ok()) {
        headers.insert(SET_COOKIE, cookie);
    }
    response
}
