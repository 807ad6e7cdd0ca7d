//! What a client sends, as a whole.

use crate::Limits;
use crate::budget::Hold;
use crate::timed::{Stalled, Timed};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use std::time::Duration;

/// What is set aside for a body before any of it came, whatever its length is said to be.
const AT_FIRST: u64 = 1 << 20;
/// Limit for a whole body, in multiples of the longest pause.
const PAUSES: u32 = 20;

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unread {
    #[error("the request is larger than {0} bytes, the most that this proxy takes (proxy.request_bytes)")]
    TooLarge(usize),
    #[error("the rest of the request did not come within {} s (proxy.stall_seconds)", .0.as_secs_f32())]
    TooSlow(Duration),
    #[error("the proxy holds as many bytes of other requests as it may (proxy.buffered_bytes); try again")]
    NoRoom,
    #[error("the connection broke")]
    Broken,
}

/// Reads a body, in memory of its own that is no larger than it: sessions hold it, and the connection's buffers may be several times
/// its size.
pub(super) async fn whole(body: Incoming, limits: &Limits, hold: &mut Hold) -> Result<Bytes, Unread> {
    let mut body = Timed::new(body, limits.stall);
    let reading = async {
        match collect(&mut body, limits.request_bytes, hold).await {
            Err(refused @ (Unread::TooLarge(_) | Unread::NoRoom)) => {
                hold.release();
                // A client reads its answer only when it has sent everything.
                drain(&mut body, limits.request_bytes).await;
                Err(refused)
            }
            read => read,
        }
    };
    let longest = limits.stall.saturating_mul(PAUSES);
    tokio::time::timeout(longest, reading).await.unwrap_or(Err(Unread::TooSlow(longest)))
}

async fn collect(body: &mut Timed, most: usize, hold: &mut Hold) -> Result<Bytes, Unread> {
    let said = body.size_hint().lower();
    if usize::try_from(said).is_ok_and(|said| said > most) {
        return Err(Unread::TooLarge(most));
    }
    let mut read = Vec::with_capacity(usize::try_from(said.min(AT_FIRST)).unwrap_or_default());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| match error.downcast_ref::<Stalled>() {
            Some(Stalled(limit)) => Unread::TooSlow(*limit),
            None => Unread::Broken,
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if read.len().saturating_add(data.len()) > most {
            return Err(Unread::TooLarge(most));
        }
        if !hold.grow(data.len()) {
            return Err(Unread::NoRoom);
        }
        if read.len() + data.len() > read.capacity() {
            // Once, where its length is known: memory that nothing is written to costs nothing.
            let said = usize::try_from(said).unwrap_or_default();
            read.reserve_exact(said.saturating_sub(read.len()));
        }
        read.extend_from_slice(&data);
    }
    read.shrink_to_fit();
    Ok(Bytes::from(read))
}

/// Reads on without keeping anything, so far as that is worth it.
async fn drain(body: &mut Timed, most: usize) {
    let mut read = 0;
    while read <= most
        && let Some(Ok(frame)) = body.frame().await
    {
        read += frame.data_ref().map_or(0, Bytes::len);
    }
}
