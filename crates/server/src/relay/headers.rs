//! Which headers go on.

use crate::routing::Api;
use crate::serve::Shared;
use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, HOST, HeaderName, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue};

/// What only concerns one connection.
const OF_THE_HOP: [HeaderName; 7] =
    [CONNECTION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];
const KEEP_ALIVE: &str = "keep-alive";
/// What a client says to us with.
const OURS: &str = "x-throughline-";

/// Whether the connection is to become a WebSocket.
pub(super) fn wants_websocket(headers: &HeaderMap) -> bool {
    headers.get(UPGRADE).is_some_and(|to| to.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Takes out what only concerns the connection it came by.
pub(super) fn drop_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|names| names.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in OF_THE_HOP.iter().chain(&named) {
        headers.remove(name);
    }
    headers.remove(KEEP_ALIVE);
}

/// Makes the headers of a request those that its provider is sent: without what was said to us, without credentials that are not
/// its own, for the host that it goes to.
pub(super) fn go_up(headers: &mut HeaderMap, host: &Authority, api: Api, shared: &Shared) {
    drop_hop(headers);
    let settings = &shared.settings;
    api.keep_own_credentials(headers, &settings.credential_headers, &|given| {
        settings.token.is(given) || settings.secret.is(given)
    });
    let ours: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with(OURS)).cloned().collect();
    for name in ours {
        headers.remove(name);
    }
    if let Ok(host) = HeaderValue::from_str(host.as_str()) {
        headers.insert(HOST, host);
    }
}

/// The body was written anew: plain, and of another length.
pub(super) fn with_new_body(headers: &mut HeaderMap, length: usize) {
    headers.remove(CONTENT_ENCODING);
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
}

/// The answer is to come as it is: somebody looks at it on the way. Who asks for no coding gets none.
pub(super) fn as_plain(headers: &mut HeaderMap) {
    if headers.contains_key(ACCEPT_ENCODING) {
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
}
