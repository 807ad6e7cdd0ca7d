//! What the server answers itself: pages for people, control calls for programs, metrics.
//!
//! Everything but the health check and the stylesheet needs the token. Nothing here waits for a request on its way: sessions are
//! read from their ledgers.

mod assets;
mod control;
mod data;
mod metrics;
mod pages;
mod people;
mod query;
pub(crate) mod respond;
mod story;

pub(crate) use data::State;

use crate::guard::{self, Holder, Refused};
use crate::relay::Body;
use crate::serve::Shared;
use crate::token::Derived;
use http::header::ACCEPT;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use query::Pairs;
use respond::Kind;
use std::sync::Arc;

/// Bytes of a control call or a form.
const LONGEST: usize = 64 << 10;

/// Whether a path is ours rather than a provider's.
pub(crate) fn is_ours(path: &str) -> bool {
    path == "/" || path == "/metrics" || path == "/health" || path.starts_with("/throughline/")
}

/// What was asked of us.
struct Call {
    method: Method,
    /// The path below `/throughline/`, or the whole of it, cut at slashes.
    path: Vec<String>,
    query: Pairs,
    holder: Holder,
    body: Vec<u8>,
}

/// Answers it.
pub(crate) async fn answer(shared: &Arc<Shared>, request: Request<Incoming>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    if path == "/health" {
        return respond::answer(StatusCode::OK, Kind::Plain, "ok\n");
    }
    if let Some(name) = path.strip_prefix(assets::PLACE) {
        return assets::find(name).unwrap_or_else(nothing_here);
    }
    if let Some(entered) = enter(shared, &head.method, &head.uri) {
        return entered;
    }
    let holder = match guard::has_token(&head.headers, &shared.settings.token, shared.address) {
        Ok(holder) => holder,
        Err(why) => return refused(shared, &head.headers, path, why),
    };
    let Ok(body) = Limited::new(body, LONGEST).collect().await else {
        return respond::answer(StatusCode::PAYLOAD_TOO_LARGE, Kind::Plain, "that is too long\n");
    };
    let call = Call {
        method: head.method,
        path: path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect(),
        query: Pairs::parse(head.uri.query().unwrap_or_default()),
        holder,
        body: body.to_bytes().to_vec(),
    };
    // Ledgers are read, and perhaps written.
    let shared = shared.clone();
    let answered = tokio::task::spawn_blocking(move || route(&shared, &call)).await;
    answered.unwrap_or_else(|_| {
        respond::answer(
            StatusCode::INTERNAL_SERVER_ERROR,
            Kind::Plain,
            "our code panicked; please report it\n",
        )
    })
}

fn route(shared: &Shared, call: &Call) -> Response<Body> {
    let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
    match (&call.method, path.as_slice()) {
        (_, ["throughline", "api", rest @ ..]) => control::answer(shared, call, rest),
        (&Method::GET, []) => people::home(shared, call),
        (&Method::GET, ["metrics"]) => metrics::answer(shared),
        (&Method::GET, ["throughline", "sessions", id]) => people::session(shared, call, id),
        (&Method::GET, ["throughline", "sessions", id, "edits", edit]) => people::edit(shared, id, edit),
        (&Method::POST, ["throughline", "sessions", id, what @ ("undo" | "pause" | "forget")]) => {
            people::act(shared, call, id, what)
        }
        (_, [] | ["throughline", "sessions", ..]) if call.method != Method::GET => {
            respond::answer(StatusCode::METHOD_NOT_ALLOWED, Kind::Plain, "this can't be done here\n")
        }
        (_, _) => nothing_here(),
    }
}

/// Lets a browser in that was given the whole address: the token leaves the address at once.
fn enter(shared: &Shared, method: &Method, uri: &Uri) -> Option<Response<Body>> {
    if method != Method::GET || uri.path() != "/" {
        return None;
    }
    let query = Pairs::parse(uri.query()?);
    let token = &shared.settings.token;
    if !token.is(query.get("token")?) {
        return None;
    }
    let cookie = format!(
        "{}={}; Path=/; HttpOnly; SameSite=Strict",
        guard::cookie_name(shared.address),
        token.derived(Derived::Cookie)
    );
    Some(respond::see("/", Some(&cookie)))
}

fn refused(shared: &Shared, headers: &HeaderMap, path: &str, why: Refused) -> Response<Body> {
    let wants_page = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let wants_page = wants_page.is_some_and(|accept| accept.contains("text/html"));
    let mut response = if path.starts_with("/throughline/api/") {
        control::error(StatusCode::UNAUTHORIZED, "token", &why.to_string())
    } else if wants_page {
        let page = pages::refused(shared.address, &why.to_string());
        respond::answer(StatusCode::UNAUTHORIZED, Kind::Html, page)
    } else {
        respond::answer(StatusCode::UNAUTHORIZED, Kind::Plain, format!("{why}\n"))
    };
    let challenge = http::HeaderValue::from_static("Bearer realm=\"throughline\"");
    response.headers_mut().insert(http::header::WWW_AUTHENTICATE, challenge);
    response
}

fn nothing_here() -> Response<Body> {
    respond::answer(StatusCode::NOT_FOUND, Kind::Plain, "there is nothing here\n")
}
