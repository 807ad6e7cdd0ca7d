//! Where the handbook's work is kept.

use crate::context::Context;
use anyhow::Context as _;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use throughline_engine::config::HandbookSettings;
use throughline_memory::store::{self, Store, StoreAddress, StoreClock};
use throughline_model::Secret;

const VARIABLE: &str = "THROUGHLINE_STORE";

/// The flag that names the store.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct StoreFlag {
    /// Where the work is kept: postgres://…, or the absolute path of a file [default: `memory.handbook.store` of the
    /// configuration, else handbooks/store.db in the home folder].
    #[arg(long, env = VARIABLE, value_name = "URL", hide_env_values = true, value_parser = secret)]
    store: Option<Secret>,
}

// The address is checked later: an error of the parser would repeat it.
fn secret(text: &str) -> Result<Secret, Infallible> {
    Ok(Secret::new(text))
}

/// Returns the address of the store in the environment, for sessions; an error if it is none.
pub(crate) fn store_variable() -> anyhow::Result<Option<Secret>> {
    let Some(value) = std::env::var(VARIABLE).ok().filter(|value| !value.is_empty()) else { return Ok(None) };
    value.parse::<StoreAddress>().context(VARIABLE)?;
    Ok(Some(Secret::new(value)))
}

/// A store's place.
#[derive(Clone, Debug)]
pub(crate) struct StorePlace(StoreAddress);

impl StorePlace {
    /// By the flag, the environment, the configuration, or where it is without any of them.
    pub(crate) fn of(
        context: &Context,
        flag: &StoreFlag,
        settings: &HandbookSettings,
    ) -> anyhow::Result<Self> {
        let given = flag.store.as_ref().map(Secret::expose).filter(|store| !store.is_empty());
        Ok(Self(match given {
            Some(given) => given.parse()?,
            None => settings.store_address(&context.home)?,
        }))
    }

    /// Opens it, making it where it is not there. To be called inside the runtime.
    pub(crate) async fn open(&self) -> anyhow::Result<Arc<dyn Store>> {
        Ok(store::open(&self.0, StoreClock::Server).await?)
    }

    /// Returns whether there is anything yet: a file that is not there holds nothing, and need not be made to say so.
    pub(crate) fn is_there(&self) -> bool {
        match &self.0 {
            StoreAddress::Postgres(_) => true,
            StoreAddress::File(path) => path.exists(),
        }
    }
}

impl fmt::Display for StorePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
