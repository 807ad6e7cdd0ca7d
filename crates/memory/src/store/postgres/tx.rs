//! A transaction of PostgreSQL.

use crate::store::StoreClock;
use crate::store::sql::{Row, SqlError, Tx, Value, dialect};
use bytes::BytesMut;
use deadpool_postgres::GenericClient;
use futures_util::future::try_join_all;
use std::error::Error;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

/// Statements that are under way at the same time.
const PIPELINED: usize = 256;
/// Our numbers among the locks that are by number: the first of two.
pub(super) const LOCKS: i32 = 0x5468_4c73;

pub(super) struct PgTx<'t, C> {
    pub(super) client: &'t C,
    pub(super) clock: &'t StoreClock,
}

fn refs(params: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    params.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl<C: GenericClient> Tx for PgTx<'_, C> {
    async fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, SqlError> {
        let statement = self.client.prepare_cached(&dialect::postgres(sql)).await?;
        let rows = self.client.query(&statement, &refs(params)).await?;
        let read = |row: &tokio_postgres::Row| {
            (0..row.len()).map(|at| row.try_get(at)).collect::<Result<_, _>>().map(Row)
        };
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    async fn each(&mut self, sql: &str, params: &[Vec<Value>]) -> Result<Vec<u64>, SqlError> {
        if params.is_empty() {
            return Ok(Vec::new());
        }
        let statement = self.client.prepare_cached(&dialect::postgres(sql)).await?;
        let mut changed = Vec::with_capacity(params.len());
        for some in params.chunks(PIPELINED) {
            // All are sent before the first is answered; the server does them in this order.
            let sent = some.iter().map(|params| {
                let params = refs(params);
                let statement = &statement;
                let client = self.client;
                async move { client.execute(statement, &params).await }
            });
            changed.extend(try_join_all(sent).await?);
        }
        Ok(changed)
    }

    async fn now(&mut self) -> Result<i64, SqlError> {
        match self.clock {
            StoreClock::Given(now) => Ok(now().as_microsecond()),
            StoreClock::Server => {
                let sql = "SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000000) AS BIGINT)";
                let rows = self.query(sql, &[]).await?;
                rows.first().map_or_else(|| Err(SqlError::unreadable("it tells no time")), |row| row.int(0))
            }
        }
    }

    async fn alone(&mut self, number: i16) -> Result<(), SqlError> {
        let sql = format!("SELECT pg_advisory_xact_lock({LOCKS}, {})", i32::from(number) + 1);
        self.client.query(&sql, &[]).await?;
        Ok(())
    }
}

impl ToSql for Value {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(value) if *ty == Type::INT2 => i16::try_from(*value)?.to_sql(ty, out),
            Self::Int(value) if *ty == Type::INT4 => i32::try_from(*value)?.to_sql(ty, out),
            Self::Int(value) => value.to_sql_checked(ty, out),
            Self::Real(value) => value.to_sql_checked(ty, out),
            Self::Text(text) => text.to_sql_checked(ty, out),
            Self::Bytes(bytes) => bytes.to_sql_checked(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // Decided value by value.
        true
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(match *ty {
            Type::BOOL => Self::Int(i64::from(bool::from_sql(ty, raw)?)),
            Type::INT2 => Self::Int(i64::from(i16::from_sql(ty, raw)?)),
            Type::INT4 => Self::Int(i64::from(i32::from_sql(ty, raw)?)),
            Type::INT8 => Self::Int(i64::from_sql(ty, raw)?),
            Type::FLOAT8 => Self::Real(f64::from_sql(ty, raw)?),
            Type::BYTEA => Self::Bytes(<Vec<u8>>::from_sql(ty, raw)?),
            Type::TEXT | Type::VARCHAR => Self::Text(String::from_sql(ty, raw)?),
            _ => return Err(format!("a column has the type {ty}").into()),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
