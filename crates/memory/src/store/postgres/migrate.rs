//! The schema: made, or brought up to date, by one at a time.

use super::tx::LOCKS;
use crate::store::sql::{SqlError, dialect, schema};
use deadpool_postgres::{Client, GenericClient};

/// Brings a schema up to date; the version that was found, or made. Of a version that is not known nothing is changed.
pub(super) async fn migrate(client: &mut Client, name: &str) -> Result<u32, SqlError> {
    let found = version(client, name).await?;
    if found >= schema::KNOWN {
        return Ok(found);
    }
    let tx = client.transaction().await?;
    // Others may be about to do the same: they wait here, and find it done.
    tx.batch_execute(&format!("SELECT pg_advisory_xact_lock({LOCKS}, 0)")).await?;
    let found = version(&tx, name).await?;
    if found >= schema::KNOWN {
        return Ok(found);
    }
    // A role that may not make schemas can use one that was made for it.
    let known = tx.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", &[&name]).await?;
    if known.is_empty() {
        tx.batch_execute(&format!("CREATE SCHEMA \"{name}\"")).await?;
    }
    for migration in schema::MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(usize::MAX)) {
        tx.batch_execute(&dialect::postgres_tables(migration)).await?;
    }
    let note = format!(
        "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL);
         DELETE FROM schema_version;
         INSERT INTO schema_version VALUES ({});",
        schema::KNOWN
    );
    tx.batch_execute(&note).await?;
    tx.commit().await?;
    Ok(schema::KNOWN)
}

/// The version of a schema; 0 if there is none yet.
async fn version(client: &impl GenericClient, name: &str) -> Result<u32, SqlError> {
    let sql = "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = $1 AND c.relname = 'schema_version'";
    if client.query(sql, &[&name]).await?.is_empty() {
        return Ok(0);
    }
    let rows = client.query(&format!("SELECT version FROM \"{name}\".schema_version"), &[]).await?;
    let Some(row) = rows.first() else { return Ok(0) };
    let version: i32 = row.try_get(0)?;
    u32::try_from(version).map_err(|_| SqlError::unreadable(format!("its version is {version}")))
}
