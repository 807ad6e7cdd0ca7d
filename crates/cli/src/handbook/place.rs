//! Where the handbook's work is kept.

use crate::context::Context;
use anyhow::{Context as _, bail};
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use throughline_engine::config::HandbookSettings;
use throughline_memory::store::{self, Store, StoreClock, is_postgres};
use throughline_model::Secret;

const VARIABLE: &str = "THROUGHLINE_STORE";

/// The flag that names the store.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct StoreFlag {
    /// Where the work is kept: postgres://…, or a file [default: `memory.handbook.store` of the configuration, else
    /// handbooks/store.db in the home folder].
    #[arg(long, env = VARIABLE, value_name = "URL", hide_env_values = true, value_parser = secret)]
    store: Option<Secret>,
}

fn secret(text: &str) -> Result<Secret, Infallible> {
    Ok(Secret::new(text))
}

/// What the variable says of where the store is, for sessions.
pub(crate) fn store_variable() -> Option<Secret> {
    std::env::var(VARIABLE).ok().filter(|value| !value.is_empty()).map(Secret::new)
}

/// A store's place.
#[derive(Clone, Debug)]
pub(crate) struct StorePlace(Secret);

impl StorePlace {
    /// By the flag, the environment, the configuration, or where it is without any of them.
    pub(crate) fn of(
        context: &Context,
        flag: &StoreFlag,
        settings: &HandbookSettings,
    ) -> anyhow::Result<Self> {
        let given = flag.store.clone().filter(|store| !store.expose().is_empty());
        let given = given.unwrap_or_else(|| settings.store_address(&context.home));
        let text = given.expose();
        if is_postgres(text) {
            return Ok(Self(given));
        }
        if let Some((scheme, _)) = text.split_once("://") {
            bail!("no store is at {scheme}://…: give postgres://user@host/database, or the path of a file");
        }
        let file = std::path::absolute(text).context("cannot tell the current folder")?;
        Ok(Self(Secret::new(file.to_string_lossy())))
    }

    /// Opens it, making it where it is not there. To be called inside the runtime.
    pub(crate) async fn open(&self) -> anyhow::Result<Arc<dyn Store>> {
        Ok(store::open(self.0.expose(), StoreClock::Server).await?)
    }

    /// Whether there is anything yet: a file that is not there holds nothing, and need not be made to say so.
    pub(crate) fn is_there(&self) -> bool {
        is_postgres(self.0.expose()) || std::path::Path::new(self.0.expose()).exists()
    }
}

impl fmt::Display for StorePlace {
    /// Without who, and by which word.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.expose();
        let Some((scheme, rest)) = text.split_once("://").filter(|_| is_postgres(text)) else {
            return f.write_str(text);
        };
        let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
        write!(f, "{scheme}://{}", place.split('?').next().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_shown_without_its_password() {
        let shown = |text: &str| StorePlace(Secret::new(text)).to_string();
        assert_eq!(shown("postgres://me:secret@host:5432/db?password=x"), "postgres://host:5432/db");
        assert_eq!(shown("postgresql://host/db"), "postgresql://host/db");
        assert_eq!(shown("/home/me/store.db"), "/home/me/store.db");
    }
}
