//! What the server answers itself.

use crate::guard;
use crate::relay::{Body, text};
use crate::serve::Shared;
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;

/// Whether a path is ours rather than a provider's.
pub(crate) fn is_ours(path: &str) -> bool {
    path == "/" || path == "/metrics" || path == "/health" || path.starts_with("/throughline/")
}

/// Answers it.
pub(crate) async fn answer(shared: &Shared, request: Request<Incoming>) -> Response<Body> {
    let (method, path) = (request.method(), request.uri().path());
    if path == "/health" && method == Method::GET {
        return text(StatusCode::OK, "ok\n");
    }
    if let Err(refused) = guard::has_token(request.headers(), &shared.settings.token) {
        return text(StatusCode::UNAUTHORIZED, &format!("{refused}\n"));
    }
    text(StatusCode::NOT_FOUND, "there is nothing here\n")
}
