//! PostgreSQL: one database for all workers of a team.
//!
//! **Claims do not wait for each other**: who claims takes rows that nobody else is about to take (`FOR UPDATE SKIP LOCKED`), in one statement.
//! **The server's clock decides**, so that machines need not agree on the time. **A connection that broke** is told as
//! [`StoreError::Unreachable`]; the next call gets another one. Transactions that others came in between are done again.

mod address;
mod errors;
mod migrate;
mod tls;
mod tx;

use super::sql::{Backend, Operation, SqlError, schema};
use super::{StoreClock, StoreError};
use address::{Address, Protection};
use deadpool_postgres::{
    Client, Hook, HookError, Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime, Transaction,
};
use std::fmt;
use std::time::Duration;
use tokio_postgres::NoTls;
use tx::PgTx;

/// Connections of one process: few, since each is needed for milliseconds only, and a server has a hundred for all.
const CONNECTIONS: usize = 4;
/// How long a call waits for a connection.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a transaction is done again that others came in between.
const ATTEMPTS: u32 = 12;

/// The store in a PostgreSQL database.
pub struct PostgresStore {
    pool: Pool,
    clock: StoreClock,
    shown: String,
}

impl PostgresStore {
    /// Connects to `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, and makes the tables, or brings them up to date, in the schema `throughline`
    /// (`schema=NAME` for another). A newer schema is refused, and not touched.
    ///
    /// TLS with a certificate that is valid and the host's, unless nothing leaves the machine (a Unix socket, or loopback): with
    /// `sslrootcert=FILE` by these roots, else by the system's. `sslmode=disable` towards another machine needs
    /// `plaintext=allowed` beside it.
    pub async fn open(address: &str, clock: StoreClock) -> Result<Self, StoreError> {
        let address = Address::parse(address).map_err(|error| StoreError::Broken {
            place: "postgres://…".to_owned(),
            what: "be opened",
            why: error.to_string(),
        })?;
        let shown = address.shown.clone();
        let pool = pool(&address).map_err(|error| error.at(&shown))?;
        let store = Self { pool, clock, shown };
        let found = store.migrate(&address.schema).await.map_err(|error| error.at(&store.shown))?;
        if found > schema::KNOWN {
            return Err(StoreError::Newer { place: store.shown, found, known: schema::KNOWN });
        }
        Ok(store)
    }

    async fn migrate(&self, schema: &str) -> Result<u32, SqlError> {
        let mut attempt = 0;
        loop {
            let migrated = async { migrate::migrate(&mut self.pool.get().await?, schema).await };
            match migrated.await {
                Err(SqlError::Busy(_)) if attempt < ATTEMPTS => pause(&mut attempt).await,
                other => return other,
            }
        }
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresStore").field(&self.shown).finish()
    }
}

fn pool(address: &Address) -> Result<Pool, SqlError> {
    let config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = match &address.protection {
        Protection::None => Manager::from_config(address.config.clone(), NoTls, config),
        Protection::Verified(roots) => {
            Manager::from_config(address.config.clone(), tls::connector(roots)?, config)
        }
    };
    // By statements rather than in the address: poolers between us and the server refuse options that they do not know.
    let prepare = format!(
        "SET search_path TO \"{}\";
         SET default_transaction_isolation TO 'read committed';
         SET statement_timeout TO '30s';
         SET lock_timeout TO '20s';
         SET idle_in_transaction_session_timeout TO '60s';",
        address.schema
    );
    let prepare = Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
        let prepare = prepare.clone();
        Box::pin(async move { client.batch_execute(&prepare).await.map_err(HookError::Backend) })
    });
    Pool::builder(manager)
        .max_size(CONNECTIONS)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(PATIENCE))
        .create_timeout(Some(PATIENCE))
        .recycle_timeout(Some(PATIENCE))
        .post_create(prepare)
        .build()
        .map_err(|error| SqlError::Broken { what: "be opened", why: error.to_string() })
}

/// How far an attempt came.
enum Attempt<A> {
    /// To its end.
    Done(A),
    /// It failed, and changed nothing.
    Undone(SqlError),
    /// The connection broke while it was being committed: it may have been, or not.
    Unknown(SqlError),
}

impl Backend for PostgresStore {
    async fn run<O: Operation>(&self, operation: O) -> Result<O::Answer, StoreError> {
        let (mut attempt, mut is_second_connection) = (0, false);
        loop {
            let mut client = match self.pool.get().await {
                Ok(client) => client,
                // That was patience enough.
                Err(error @ PoolError::Timeout(_)) => return Err(SqlError::from(error).at(&self.shown)),
                Err(error) => match SqlError::from(error) {
                    SqlError::Busy(_) if attempt < ATTEMPTS => {
                        pause(&mut attempt).await;
                        continue;
                    }
                    error @ (SqlError::Unreachable(_) | SqlError::Busy(_) | SqlError::Broken { .. }) => {
                        return Err(error.at(&self.shown));
                    }
                },
            };
            let error = match self.attempt(&mut client, &operation).await {
                Attempt::Done(answer) => return Ok(answer),
                Attempt::Unknown(error) => return Err(error.at(&self.shown)),
                Attempt::Undone(error) => error,
            };
            match error {
                SqlError::Busy(_) if attempt < ATTEMPTS => {
                    // Not while others wait for the connection.
                    drop(client);
                    pause(&mut attempt).await;
                }
                // It may have been gone since long before we asked; a server that is away refuses the next one.
                SqlError::Unreachable(_) if !is_second_connection => {
                    is_second_connection = true;
                    drop(Client::take(client));
                }
                SqlError::Unreachable(_) | SqlError::Busy(_) | SqlError::Broken { .. } => {
                    return Err(error.at(&self.shown));
                }
            }
        }
    }

    fn is_shared(&self) -> bool {
        true
    }
}

impl PostgresStore {
    async fn attempt<O: Operation>(&self, client: &mut Client, operation: &O) -> Attempt<O::Answer> {
        if !O::WRITES {
            // One statement: it is its own transaction.
            let mut tx = PgTx { client: &*client, clock: &self.clock };
            return match operation.run(&mut tx).await {
                Ok(answer) => Attempt::Done(answer),
                Err(error) => Attempt::Undone(error),
            };
        }
        let transaction: Transaction<'_> = match client.transaction().await {
            Ok(transaction) => transaction,
            Err(error) => return Attempt::Undone(error.into()),
        };
        let answer = {
            let mut tx = PgTx { client: &transaction, clock: &self.clock };
            match operation.run(&mut tx).await {
                Ok(answer) => answer,
                // Dropping it rolls it back.
                Err(error) => return Attempt::Undone(error),
            }
        };
        match transaction.commit().await {
            Ok(()) => Attempt::Done(answer),
            Err(error) => match SqlError::from(error) {
                gone @ SqlError::Unreachable(_) => Attempt::Unknown(gone),
                refused @ (SqlError::Busy(_) | SqlError::Broken { .. }) => Attempt::Undone(refused),
            },
        }
    }
}

/// Others are let through first, longer each time.
async fn pause(attempt: &mut u32) {
    *attempt += 1;
    let spread = u64::from(uuid::Uuid::new_v4().as_bytes()[0]) % 10;
    tokio::time::sleep(Duration::from_millis(u64::from(*attempt) * 5 + spread)).await;
}
