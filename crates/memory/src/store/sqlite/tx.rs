//! A transaction of SQLite.

use crate::store::StoreClock;
use crate::store::sql::{Row, SqlError, Tx, Value, dialect};
use jiff::Timestamp;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, params_from_iter};

/// What is not committed is rolled back when it is dropped.
///
/// By hand, since `rusqlite::Transaction` shares the connection, and so could not be in a future that moves between threads.
pub(super) struct SqliteTx<'c> {
    db: &'c mut Connection,
    clock: &'c StoreClock,
}

impl<'c> SqliteTx<'c> {
    /// Begins one; one that writes waits for the others here, and nowhere else.
    pub(super) fn begin(
        db: &'c mut Connection,
        clock: &'c StoreClock,
        writes: bool,
    ) -> Result<Self, SqlError> {
        db.execute_batch(if writes { "BEGIN IMMEDIATE" } else { "BEGIN" })?;
        Ok(Self { db, clock })
    }

    pub(super) fn commit(self) -> Result<(), SqlError> {
        Ok(self.db.execute_batch("COMMIT")?)
    }

    fn rows(&self, sql: &str, params: &[Value]) -> Result<Vec<Row>, SqlError> {
        let mut statement = self.db.prepare_cached(&dialect::sqlite(sql))?;
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(params))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let values = (0..columns).map(|at| Ok(value(row.get_ref(at)?)));
            found.push(Row(values.collect::<Result<_, SqlError>>()?));
        }
        Ok(found)
    }

    fn changes(&self, sql: &str, params: &[Vec<Value>]) -> Result<Vec<u64>, SqlError> {
        let mut statement = self.db.prepare_cached(&dialect::sqlite(sql))?;
        params.iter().map(|params| Ok(statement.execute(params_from_iter(params))? as u64)).collect()
    }
}

impl Drop for SqliteTx<'_> {
    fn drop(&mut self) {
        if !self.db.is_autocommit() {
            // If even this fails the connection goes on to refuse, and says why.
            let _ = self.db.execute_batch("ROLLBACK");
        }
    }
}

impl Tx for SqliteTx<'_> {
    async fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, SqlError> {
        self.rows(sql, params)
    }

    async fn each(&mut self, sql: &str, params: &[Vec<Value>]) -> Result<Vec<u64>, SqlError> {
        self.changes(sql, params)
    }

    async fn now(&mut self) -> Result<i64, SqlError> {
        Ok(match self.clock {
            StoreClock::Server => Timestamp::now(),
            StoreClock::Given(now) => now(),
        }
        .as_microsecond())
    }

    async fn alone(&mut self, _number: i16) -> Result<(), SqlError> {
        // Who writes is alone anyway.
        Ok(())
    }
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(bytes) => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_owned()),
    }
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Integer(*value),
            Self::Real(value) => ValueRef::Real(*value),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl From<rusqlite::Error> for SqlError {
    fn from(error: rusqlite::Error) -> Self {
        let why = error.to_string();
        let code = error.sqlite_error_code();
        if matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)) {
            return Self::Busy(why);
        }
        let what = match code {
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => "be opened",
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => "be read",
            Some(ErrorCode::ReadOnly | ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => "be written",
            _ => "do its work",
        };
        Self::Broken { what, why }
    }
}
