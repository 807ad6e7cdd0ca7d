//! A request of a client.

use super::rest::Open;
use super::window::has_beta;
use crate::Endpoint;
use bytes::Bytes;
use http::HeaderMap;
use jiff::Timestamp;
use std::sync::OnceLock;
use throughline_core::stages::microcompact::SERVER_EDITS_BETA;
use throughline_wire::splice::Body;

/// A request of a client.
pub(crate) struct Asked {
    pub(crate) endpoint: Endpoint,
    pub(crate) headers: HeaderMap,
    /// The body, legible.
    pub(crate) body: Bytes,
    pub(crate) at: Timestamp,
    parsed: OnceLock<Option<Body>>,
    /// The conversation that it is asked in, as long as it is.
    open: OnceLock<Open>,
}

impl Asked {
    pub(crate) fn new(endpoint: Endpoint, headers: HeaderMap, body: Bytes, at: Timestamp) -> Self {
        Self { endpoint, headers, body, at, parsed: OnceLock::new(), open: OnceLock::new() }
    }

    /// Where everything stands in the body, found when first asked for; `None` if it holds no conversation, or is no JSON.
    pub(crate) fn parsed(&self) -> Option<&Body> {
        let parse = || Body::share(self.endpoint.wire()?, self.body.clone()).ok();
        self.parsed.get_or_init(parse).as_ref()
    }

    /// Returns whether the provider takes `context_management` in this request (W4): it rejects one without the header.
    pub(super) fn takes_server_edits(&self) -> bool {
        has_beta(&self.headers, |feature| feature == SERVER_EDITS_BETA)
    }

    /// It is asked in a conversation, until it is gone.
    pub(super) fn claim(&self, open: Open) {
        // Whoever was first has it already.
        let _ = self.open.set(open);
    }
}
