//! What a client sends, as a whole.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body as _, Incoming};
use std::error::Error;

/// What is set aside for a body before any of it came, whatever its length is said to be.
const AT_FIRST: u64 = 1 << 20;

/// Reads a body, in memory of its own that is no larger than it: sessions hold it, and the connection's buffers may be several times
/// its size.
pub(super) async fn whole(body: Incoming, most: usize) -> Result<Bytes, Box<dyn Error + Send + Sync>> {
    let said = body.size_hint().lower().min(AT_FIRST);
    let mut read = Vec::with_capacity(usize::try_from(said).unwrap_or_default());
    let mut body = Limited::new(body, most);
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            read.extend_from_slice(&data);
        }
    }
    read.shrink_to_fit();
    Ok(Bytes::from(read))
}
