//! Our own code made to fail, for tests: what a client notices of it is nothing.

use crate::manage::ManageError;
use http::HeaderMap;
use std::time::Duration;

/// Says, by the headers of a request, what goes wrong at a point.
pub type Inject = fn(Point, &HeaderMap) -> Option<Injected>;

/// Where something goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Before anything is known about the request.
    First,
    /// Within the conversation, with its lock held and the request taken in.
    Thread,
    /// When all is decided and written down.
    Decided,
    /// When something is learnt from the answer.
    Learn,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injected {
    /// It panics.
    Panic,
    /// It fails.
    Error,
    /// It takes so long.
    Slow(Duration),
}

/// Has it go wrong, if it is to.
pub(crate) fn strike(inject: Option<Inject>, point: Point, headers: &HeaderMap) -> Result<(), ManageError> {
    match inject.and_then(|inject| inject(point, headers)) {
        None => Ok(()),
        // As a panic is, without the words that it prints.
        Some(Injected::Panic) => std::panic::resume_unwind(Box::new(point)),
        Some(Injected::Error) => Err(ManageError::Injected(point)),
        Some(Injected::Slow(time)) => {
            std::thread::sleep(time);
            Ok(())
        }
    }
}
