//! A store that is opened when somebody needs it.

use super::{Store, StoreError};
use std::fmt;
use std::sync::Arc;
use throughline_model::BoxFuture;
use tokio::sync::OnceCell;

/// Opens a store.
pub type OpenStore = Arc<dyn Fn() -> BoxFuture<'static, Result<Arc<dyn Store>, StoreError>> + Send + Sync>;

/// A store that is opened when somebody first needs it, once for all who share this. What can't be opened is tried again by the next who
/// asks.
#[derive(Clone)]
pub struct LazyStore {
    open: OpenStore,
    store: Arc<OnceCell<Arc<dyn Store>>>,
}

impl LazyStore {
    /// A store that nobody needs yet.
    pub fn new(open: OpenStore) -> Self {
        Self { open, store: Arc::default() }
    }

    /// One that is open.
    pub fn ready(store: Arc<dyn Store>) -> Self {
        Self::new(Arc::new(move || {
            let store = store.clone();
            Box::pin(async { Ok(store) })
        }))
    }

    /// The store.
    pub async fn get(&self) -> Result<Arc<dyn Store>, StoreError> {
        self.store.get_or_try_init(|| (self.open)()).await.cloned()
    }
}

impl fmt::Debug for LazyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyStore").field("is_open", &self.store.initialized()).finish_non_exhaustive()
    }
}
