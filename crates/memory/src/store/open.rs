//! Opening a store by its address.

use super::{SqliteStore, Store, StoreAddress, StoreClock, StoreError};
use std::sync::Arc;

/// Opens a store by its address. It is created, or migrated, if necessary.
pub async fn open(address: &StoreAddress, clock: StoreClock) -> Result<Arc<dyn Store>, StoreError> {
    let path = match address {
        StoreAddress::Postgres(url) => return postgres(url.expose(), clock).await,
        StoreAddress::File(path) => path.clone(),
    };
    let opened = tokio::task::spawn_blocking(move || SqliteStore::open(&path, clock)).await;
    match opened {
        Ok(store) => Ok(Arc::new(store?)),
        Err(error) => {
            Err(StoreError::Broken { place: address.to_string(), what: "be opened", why: error.to_string() })
        }
    }
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
