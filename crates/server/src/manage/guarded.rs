//! Our own work, with a time limit: a panic or a timeout is an error like any other.

use super::{ManageError, Report};
use std::future::Future;
use std::time::Duration;
use tokio::task::JoinError;

/// Waits for a task at most so long.
pub(super) async fn within<T>(
    limit: Duration,
    task: impl Future<Output = Result<Result<T, ManageError>, JoinError>>,
) -> Result<T, ManageError> {
    match tokio::time::timeout(limit, task).await {
        Ok(done) => done.unwrap_or(Err(ManageError::Panicked)),
        Err(_) => Err(ManageError::TooSlow(limit)),
    }
}

impl From<ManageError> for Report {
    fn from(error: ManageError) -> Self {
        match error {
            ManageError::Panicked => Self::Panicked,
            ManageError::TooSlow(limit) => Self::TooSlow(limit),
            ManageError::Prepare(_)
            | ManageError::Wire(_)
            | ManageError::Ledger(_)
            | ManageError::Injected(_)
            | ManageError::Write(_) => Self::Failed(error.to_string()),
        }
    }
}
