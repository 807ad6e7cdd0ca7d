//! What both databases have in common: the tables, and every operation as the statements it is made of.
//!
//! An operation ([`Operation`]) is written once, against a transaction ([`Tx`]); a backend gives it one, commits, and tries again if
//! others came in between. So both backends mean the same by construction, and differ only in how they connect, wait and lock.
//!
//! Statements are in PostgreSQL's words as far as SQLite knows them too. What it does not know is put in its own words by
//! [`dialect`]: how parameters are written, what locks a row, what makes a token.

mod codes;
pub(super) mod dialect;
mod editions;
mod finish;
mod forget;
mod jobs;
mod lists;
mod outputs;
mod raise;
pub(super) mod schema;
mod store;
mod value;

pub(super) use value::{Row, Value};

use super::StoreError;
use std::future::Future;

/// An open transaction.
pub(super) trait Tx: Send {
    /// Rows that a statement gives.
    fn query(
        &mut self,
        sql: &str,
        params: &[Value],
    ) -> impl Future<Output = Result<Vec<Row>, SqlError>> + Send;

    /// The same statement for each of many parameters, in order: how many rows each changed.
    fn each(
        &mut self,
        sql: &str,
        params: &[Vec<Value>],
    ) -> impl Future<Output = Result<Vec<u64>, SqlError>> + Send;

    /// The time by the store's clock, in microseconds since 1970.
    fn now(&mut self) -> impl Future<Output = Result<i64, SqlError>> + Send;

    /// Waits until nobody else is in a transaction that asked for the same number.
    fn alone(&mut self, number: i16) -> impl Future<Output = Result<(), SqlError>> + Send;

    /// One statement: how many rows it changed.
    fn execute(
        &mut self,
        sql: &str,
        params: Vec<Value>,
    ) -> impl Future<Output = Result<u64, SqlError>> + Send {
        async move { Ok(self.each(sql, &[params]).await?.first().copied().unwrap_or(0)) }
    }
}

/// Something that is done in one transaction. It may be done several times, of which one is committed.
pub(super) trait Operation: Send + Sync + 'static {
    /// What it answers.
    type Answer: Send + 'static;
    /// Whether it changes something.
    const WRITES: bool;

    /// Does it.
    fn run<T: Tx>(&self, tx: &mut T) -> impl Future<Output = Result<Self::Answer, SqlError>> + Send;
}

/// A database that does operations.
pub(super) trait Backend: Send + Sync + 'static {
    /// Does one, in a transaction.
    fn run<O: Operation>(&self, operation: O) -> impl Future<Output = Result<O::Answer, StoreError>> + Send;

    /// Whether other machines see the same.
    fn is_shared(&self) -> bool;
}

/// Why a statement failed.
#[derive(Debug)]
pub(super) enum SqlError {
    /// The connection is gone.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "a file is always there"))]
    Unreachable(String),
    /// Others hold what it needs, or came in between: the transaction is to be done again.
    Busy(String),
    /// It can't be done.
    Broken {
        /// What was attempted.
        what: &'static str,
        /// Why not.
        why: String,
    },
}

impl SqlError {
    /// What is stored makes no sense.
    pub(super) fn unreadable(why: impl Into<String>) -> Self {
        Self::Broken { what: "be read", why: why.into() }
    }

    /// For callers: with the place.
    pub(super) fn at(self, place: &str) -> StoreError {
        match self {
            Self::Unreachable(why) => StoreError::Unreachable(format!("{place}: {why}")),
            Self::Busy(why) => StoreError::Busy(format!("{place}: {why}")),
            Self::Broken { what, why } => StoreError::Broken { place: place.to_owned(), what, why },
        }
    }
}
