//! What failed, in a store's words.

use crate::store::sql::SqlError;
use deadpool_postgres::{HookError, PoolError, TimeoutType};
use std::error::Error as _;
use std::io::ErrorKind;
use tokio_postgres::error::SqlState;

impl From<tokio_postgres::Error> for SqlError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            // The message only: details can hold what was to be stored.
            Some(refusal) => of_state(refusal.code(), refusal.message()),
            None => of_connection(&error),
        }
    }
}

fn of_state(code: &SqlState, message: &str) -> SqlError {
    let why = format!("{message} ({})", code.code());
    let class = code.code().get(..2).unwrap_or_default();
    let is_gone = [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
    let is_passing = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::QUERY_CANCELED,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        // Somebody else made, or took away, the same row at the same time.
        SqlState::UNIQUE_VIOLATION,
        SqlState::FOREIGN_KEY_VIOLATION,
    ];
    if class == "08" || is_gone.contains(code) {
        return SqlError::Unreachable(why);
    }
    if is_passing.contains(code) {
        return SqlError::Busy(why);
    }
    let what = match class {
        "28" => "let us in",
        "3D" | "3F" => "be opened",
        "53" | "58" => "be written",
        "42" if *code == SqlState::INSUFFICIENT_PRIVILEGE => "let us do that",
        _ => "do its work",
    };
    SqlError::Broken { what, why }
}

fn of_connection(error: &tokio_postgres::Error) -> SqlError {
    let mut why = error.to_string();
    let is_tls = why.contains("TLS");
    let is_late = ["connecting", "timeout"].iter().any(|word| why.contains(word));
    let mut is_cut = error.is_closed();
    let mut cause = error.source();
    while let Some(inner) = cause {
        why = format!("{why}: {inner}");
        if let Some(error) = inner.downcast_ref::<std::io::Error>() {
            // In a handshake all is told as an input or output that failed, a certificate that is wrong too.
            is_cut |= !is_tls || is_broken_off(error.kind());
        }
        cause = inner.source();
    }
    if is_cut || (is_late && !is_tls) {
        return SqlError::Unreachable(why);
    }
    let what = if is_tls { "be reached safely" } else { "do its work" };
    SqlError::Broken { what, why }
}

fn is_broken_off(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof
            | ErrorKind::TimedOut
    )
}

impl From<PoolError> for SqlError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Timeout(TimeoutType::Wait) => {
                Self::Busy("all connections are in use for too long".to_owned())
            }
            PoolError::Timeout(TimeoutType::Create | TimeoutType::Recycle) => {
                Self::Unreachable("it does not answer in time".to_owned())
            }
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => error.into(),
            PoolError::PostCreateHook(HookError::Message(why)) => {
                Self::Broken { what: "be opened", why: why.into_owned() }
            }
            PoolError::Closed | PoolError::NoRuntimeSpecified => {
                Self::Broken { what: "be opened", why: error.to_string() }
            }
        }
    }
}
