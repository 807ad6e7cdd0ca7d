//! Handbooks' files, for those who share them.

use super::{Operation, SqlError, Tx, Value};
use crate::handbook::Scope;
use crate::store::Edition;
use std::collections::BTreeMap;

/// The newest edition's number; 0 if there is none. It stays the newest until the transaction ends.
async fn newest<T: Tx>(tx: &mut T, scope: &str) -> Result<u64, SqlError> {
    let sql = "SELECT number FROM editions WHERE scope = $1 FOR UPDATE";
    let rows = tx.query(sql, &[scope.into()]).await?;
    rows.first().map_or(Ok(0), |row| row.count(0))
}

/// Puts an edition in place of the newest.
async fn replace<T: Tx>(tx: &mut T, edition: &Edition, number: u64) -> Result<(), SqlError> {
    let scope = edition.scope.to_text();
    // Not `ON CONFLICT`: two who make the first one at once must not both succeed.
    tx.execute("DELETE FROM editions WHERE scope = $1", vec![scope.as_str().into()]).await?;
    let sql = "INSERT INTO editions (scope, number, made) VALUES ($1, $2, $3)";
    tx.execute(sql, vec![scope.as_str().into(), Value::count(number), edition.at.into()]).await?;
    let files: Vec<Vec<Value>> = edition
        .files
        .iter()
        .map(|(path, bytes)| vec![scope.as_str().into(), path.as_str().into(), bytes.as_slice().into()])
        .collect();
    tx.each("INSERT INTO edition_files (scope, path, bytes) VALUES ($1, $2, $3)", &files).await.map(drop)
}

/// [`Store::edition`](crate::store::Store::edition).
pub(super) struct Newest(pub(super) Scope);

impl Operation for Newest {
    type Answer = Option<Edition>;
    const WRITES: bool = false;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Option<Edition>, SqlError> {
        let scope = self.0.to_text();
        // One statement: the files and the number are of the same moment.
        let sql = "SELECT e.number, e.made, f.path, f.bytes FROM editions e
                   LEFT JOIN edition_files f ON f.scope = e.scope WHERE e.scope = $1";
        let rows = tx.query(sql, &[scope.into()]).await?;
        let Some(first) = rows.first() else { return Ok(None) };
        let mut files = BTreeMap::new();
        for row in &rows {
            if let Some(path) = row.opt_text(2)? {
                files.insert(path.to_owned(), row.bytes(3)?.to_owned());
            }
        }
        Ok(Some(Edition { scope: self.0.clone(), number: first.count(0)?, at: first.time(1)?, files }))
    }
}

/// [`Store::publish`](crate::store::Store::publish).
pub(super) struct Publish(pub(super) Edition, pub(super) u64);

impl Operation for Publish {
    type Answer = Option<u64>;
    const WRITES: bool = true;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Option<u64>, SqlError> {
        let Self(edition, after) = self;
        if newest(tx, &edition.scope.to_text()).await? != *after {
            return Ok(None);
        }
        let number = after.saturating_add(1);
        replace(tx, edition, number).await?;
        Ok(Some(number))
    }
}
