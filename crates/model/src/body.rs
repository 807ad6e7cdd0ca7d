//! Bodies as providers want them.

use bytes::Bytes;
use serde_json::{Map, Value};
use throughline_core::Wire;
use throughline_wire::Request;

/// How an answer is to be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// As it comes. The only way for long answers: providers and proxies cut silent connections.
    Streamed,
    /// In one piece.
    Whole,
}

/// The bytes of a request for this delivery.
///
/// Sets `stream`; on Chat Completions asks for the usage, which is otherwise left out of streams; on Responses says
/// `store: false` unless the request says something about it. Nothing else changes, and the same request gives the
/// same bytes.
pub fn body(request: &Request, delivery: Delivery) -> Bytes {
    let mut envelope = request.envelope.clone();
    match delivery {
        Delivery::Streamed => {
            envelope.insert("stream".to_owned(), true.into());
            if request.wire == Wire::Chat {
                let options = envelope.entry("stream_options").or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(options) = options {
                    options.insert("include_usage".to_owned(), true.into());
                }
            }
        }
        Delivery::Whole => {
            envelope.shift_remove("stream_options");
            if envelope.contains_key("stream") {
                envelope.insert("stream".to_owned(), false.into());
            }
        }
    }
    if request.wire == Wire::Responses && !envelope.contains_key("store") {
        envelope.insert("store".to_owned(), false.into());
    }
    let request = Request { envelope, ..request.clone() };
    Bytes::from(request.to_bytes())
}
