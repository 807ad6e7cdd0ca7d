//! By whose clock leases end.

use jiff::Timestamp;
use std::fmt;
use std::sync::Arc;

/// By whose clock leases end and waits are over.
#[derive(Clone, Default)]
pub enum StoreClock {
    /// The store's own: the database server's where many machines share one, else this machine's.
    #[default]
    Server,
    /// One that is given, for tests.
    Given(Arc<dyn Fn() -> Timestamp + Send + Sync>),
}

impl StoreClock {
    /// A clock of one's own.
    pub fn given(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self::Given(Arc::new(now))
    }
}

impl fmt::Debug for StoreClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server => "Server",
            Self::Given(_) => "Given",
        })
    }
}
