//! PostgreSQL as a server: cut off, gone, back; roles; schemas.

use crate::store_kit::{Hands, Place, World, extracted, extracts, wanted};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use throughline_memory::store::{
    Claim, JobKey, JobState, Store, StoreClock, StoreError, Tries, Wanted, open,
};
use throughline_testkit::postgres::{Cluster, Database};

async fn world() -> Option<World> {
    Some(World::at(Place::database().await?).await)
}

fn database(world: &World) -> &Database<'static> {
    match &world.place {
        Place::Database(database) => database,
        Place::File(_) | Place::Lasting(_) => panic!("it is a database"),
    }
}

async fn opened(address: &str) -> Result<Arc<dyn Store>, StoreError> {
    open(&address.parse().unwrap(), Hands::new().clock()).await
}

async fn refused(address: &str) -> StoreError {
    match opened(address).await {
        Ok(_) => panic!("{address} is refused"),
        Err(error) => error,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_was_cut_is_replaced() {
    let Some(world) = world().await else { return };
    world.want("a", 7).await;
    for watermark in 8..12 {
        assert!(database(&world).cut() > 0);
        world.want("a", watermark).await;
    }
    let lease = world.claim_one(extracts("w")).await;
    assert!(database(&world).cut() > 0);
    let _ = world.store.finish_extract(&lease, &extracted("a", "app", 11)).await.unwrap();
    assert_eq!(world.store.runs(None, 9).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_done_twice_while_connections_are_cut() {
    const JOBS: usize = 150;
    let Some(world) = world().await else { return };
    let many: Vec<Wanted> = (0..JOBS).map(|at| wanted(&format!("s{at}"), "app", at as i64 + 1)).collect();
    world.store.enqueue(&many).await.unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let mut workers = Vec::new();
    for at in 0..6 {
        let (store, hands, is_over) = (world.another().await, world.hands.clone(), Arc::clone(&is_over));
        workers.push(tokio::spawn(async move {
            let claim = Claim {
                most: 2,
                tries: Tries { most: 100_000, ..Tries::default() },
                ..extracts(&format!("w{at}"))
            };
            let mut cut_off = 0;
            while !is_over.load(Ordering::SeqCst) {
                match store.claim(&claim).await {
                    // What others lost is theirs until its time is over.
                    Ok(leases) if leases.is_empty() => hands.pass(60),
                    Ok(leases) => {
                        for lease in leases {
                            let JobKey::Extract(session) = &lease.job else { panic!("{lease:?}") };
                            let result = extracted(session.as_str(), "app", lease.watermark.0);
                            if let Err(error) = store.finish_extract(&lease, &result).await {
                                assert!(matches!(error, StoreError::Unreachable(_)), "{error:?}");
                                cut_off += 1;
                            }
                        }
                    }
                    Err(error) => {
                        assert!(
                            matches!(error, StoreError::Unreachable(_)) && error.is_passing(),
                            "{error:?}"
                        );
                        cut_off += 1;
                    }
                }
            }
            cut_off
        }));
    }
    let watcher = world.another().await;
    loop {
        tokio::task::block_in_place(|| database(&world).cut());
        match watcher.jobs(None, 10_000).await {
            Ok(jobs) => {
                let is_done = |job: &throughline_memory::store::Job| {
                    !matches!(job.job, JobKey::Extract(_)) || job.state == JobState::Done
                };
                if jobs.iter().all(is_done) {
                    break;
                }
            }
            Err(error) => assert!(error.is_passing(), "{error:?}"),
        }
    }
    is_over.store(true, Ordering::SeqCst);
    for worker in workers {
        worker.await.unwrap();
    }
    let mut done: BTreeMap<JobKey, u32> = BTreeMap::new();
    for run in world.store.runs(None, 10_000).await.unwrap() {
        *done.entry(run.job).or_default() += 1;
    }
    assert_eq!((done.len(), done.values().max()), (JOBS, Some(&1)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_away_is_told_and_one_that_is_back_is_used() {
    let started = tokio::task::spawn_blocking(|| Cluster::start(&[])).await.unwrap();
    let Some(cluster) = started else { return };
    let database = cluster.database();
    let address = database.address();
    let store = opened(&address).await.unwrap();
    store.enqueue(&[wanted("a", "app", 1)]).await.unwrap();
    for _ in 0..2 {
        tokio::task::block_in_place(|| cluster.halt());
        for _ in 0..3 {
            let error = store.claim(&extracts("w")).await.unwrap_err();
            assert!(matches!(error, StoreError::Unreachable(_)) && error.is_passing(), "{error:?}");
        }
        assert!(refused(&address).await.is_passing());
        tokio::task::block_in_place(|| cluster.resume());
        assert_eq!(store.jobs(None, 9).await.unwrap().len(), 1, "the next call works");
    }
}

#[tokio::test]
async fn what_is_wrong_with_an_address_is_said_without_the_password() {
    let Some(world) = world().await else { return };
    let address = world.place.address();
    let server = address.rsplit_once('/').unwrap().0;
    let secret = server.replace("postgres@", "postgres:s3cr3t@");
    let unknown = refused(&format!("{secret}/no_such_database")).await;
    assert!(matches!(unknown, StoreError::Broken { .. }), "{unknown:?}");
    assert!(unknown.to_string().contains("no_such_database"), "{unknown}");
    let nobody = refused(&format!("{}/postgres", secret.replace("postgres:s3", "nobody_we_know:s3"))).await;
    assert!(nobody.to_string().contains("cannot let us in"), "{nobody}");
    let odd = refused(&format!("{secret}/postgres?s3cr3t=1")).await;
    for error in [unknown, nobody, odd] {
        assert!(!format!("{error} {error:?}").contains("s3cr3t"), "{error:?}");
        assert!(!error.is_passing());
    }
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_not_touched() {
    let Some(world) = world().await else { return };
    world.want("a", 7).await;
    let database = database(&world);
    database.psql("UPDATE throughline.schema_version SET version = 99").unwrap();
    let error = refused(&database.address()).await;
    assert!(matches!(error, StoreError::Newer { found: 99, known: 1, .. }), "{error:?}");
    assert_eq!(database.psql("SELECT version FROM throughline.schema_version").unwrap(), "99");
    assert_eq!(database.psql("SELECT count(*) FROM throughline.jobs").unwrap(), "1");
}

#[tokio::test]
async fn schemas_are_stores_of_their_own() {
    let Some(world) = world().await else { return };
    world.want("a", 7).await;
    let address = format!("{}?schema=another_team", world.place.address());
    let other = opened(&address).await.unwrap();
    assert!(other.is_shared());
    assert_eq!(other.jobs(None, 9).await.unwrap(), []);
    other.enqueue(&[wanted("b", "app", 1), wanted("c", "app", 1)]).await.unwrap();
    assert_eq!(world.store.jobs(None, 9).await.unwrap().len(), 1);
    assert_eq!(opened(&address).await.unwrap().jobs(None, 9).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_role_that_may_only_use_its_schema_is_enough() {
    let Some(world) = world().await else { return };
    let database = database(&world);
    let role = format!("worker_{}", database.name);
    let address = database.address().replace("postgres@", &format!("{role}@"));
    database.psql(&format!("CREATE ROLE {role} LOGIN")).unwrap();
    // It may not make a schema, and must not get the one of somebody else.
    let error = refused(&format!("{address}?schema=mine")).await;
    assert!(matches!(error, StoreError::Broken { what: "let us do that", .. }), "{error:?}");
    let error = refused(&address).await;
    assert!(matches!(error, StoreError::Broken { .. }), "{error:?}");
    database.psql(&format!("CREATE SCHEMA mine AUTHORIZATION {role}")).unwrap();
    let store = opened(&format!("{address}?schema=mine")).await.unwrap();
    store.enqueue(&[wanted("b", "app", 1)]).await.unwrap();
    assert_eq!(store.claim(&extracts("w")).await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_tables_mean_the_same_in_every_language_and_refuse_unknown_states() {
    let Some(world) = world().await else { return };
    world.want("a", 7).await;
    let database = database(&world);
    let odd = "SELECT table_name, column_name FROM information_schema.columns
               WHERE table_schema = 'throughline' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'";
    assert_eq!(database.psql(odd).unwrap(), "");
    for state in [-1, 1, 5] {
        let refused = database.psql(&format!("UPDATE throughline.jobs SET state = {state}")).unwrap_err();
        assert!(refused.contains("check constraint"), "{refused}");
    }
}

#[tokio::test]
async fn the_servers_clock_decides() {
    let Some(world) = world().await else { return };
    world.want("a", 7).await;
    let store = open(&world.place.address().parse().unwrap(), StoreClock::Server).await.unwrap();
    let leases = store.claim(&extracts("w")).await.unwrap();
    let ends = database(&world).psql(
        "SELECT to_timestamp(ends / 1000000.0) BETWEEN now() + interval '8 minutes' AND now() + interval '11 minutes'
         FROM throughline.jobs",
    );
    assert_eq!(ends.unwrap(), "t");
    assert_eq!(leases.len(), 1);
}
