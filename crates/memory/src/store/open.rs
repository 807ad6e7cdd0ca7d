//! Opening a store by its address.

use super::{SqliteStore, Store, StoreClock, StoreError};
use std::path::PathBuf;
use std::sync::Arc;

/// Opens a store by its address: PostgreSQL for `postgres://…` and `postgresql://…`, else SQLite in the file of that path. It is made, or
/// brought up to date, as need be.
pub async fn open(address: &str, clock: StoreClock) -> Result<Arc<dyn Store>, StoreError> {
    if is_postgres(address) {
        return postgres(address, clock).await;
    }
    let path = PathBuf::from(address);
    let opened = tokio::task::spawn_blocking(move || SqliteStore::open(&path, clock)).await;
    match opened {
        Ok(store) => Ok(Arc::new(store?)),
        Err(error) => {
            Err(StoreError::Broken { place: address.to_owned(), what: "be opened", why: error.to_string() })
        }
    }
}

/// Whether an address means PostgreSQL.
pub fn is_postgres(address: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| address.starts_with(scheme))
}

#[cfg(feature = "postgres")]
async fn postgres(address: &str, clock: StoreClock) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(super::PostgresStore::open(address, clock).await?))
}

#[cfg(not(feature = "postgres"))]
async fn postgres(_address: &str, _clock: StoreClock) -> Result<Arc<dyn Store>, StoreError> {
    Err(StoreError::Broken {
        place: "postgres://…".to_owned(),
        what: "be opened",
        why: "this build has no PostgreSQL; build it with the feature `postgres`, or use a file".to_owned(),
    })
}
