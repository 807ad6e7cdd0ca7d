//! Many processes on one store, some of them killed.

use crate::store_kit::{Place, World, extracted, extracts, on_both, wanted};
use jiff::SignedDuration;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use throughline_memory::store::{Claim, Held, JobKey, JobState, StoreClock, StoreError, Tries, Wanted, open};

on_both!(
    each_session_is_done_once_however_many_are_killed,
    those_who_open_it_first_all_succeed,
    no_more_run_at_once_than_allowed_however_many_claim,
);

/// The store that the child works on. Set for the child alone.
const ADDRESS: &str = "THROUGHLINE_TEST_STORE";
/// How long it holds the file, rather than work.
const HOLD: &str = "THROUGHLINE_TEST_STORE_HOLD";

fn child(test: &str, address: &str, variable: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(variable, address)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap());
    (child, said)
}

/// Does all work that is due, under leases so short that others take it over all the time. The tests below start this very binary
/// again to run it in a process of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_works() {
    let Ok(address) = std::env::var(ADDRESS) else { return };
    let store = open(&address.parse().unwrap(), StoreClock::Server).await.unwrap();
    let claim = Claim { most: 3, lease: SignedDuration::from_millis(30), ..often(extracts("child")) };
    loop {
        let leases = store.claim(&claim).await.unwrap();
        println!("claimed {}", leases.len());
        let jobs = store.jobs(None, 10_000).await.unwrap();
        if jobs.iter().all(|job| !matches!(job.job, JobKey::Extract(_)) || job.state == JobState::Done) {
            return;
        }
        for lease in leases {
            let JobKey::Extract(session) = &lease.job else { panic!("{lease:?}") };
            let result = extracted(session.as_str(), "app", lease.watermark.0);
            let held = store.finish_extract(&lease, &result).await.unwrap();
            println!("finished {held:?}");
        }
    }
}

fn often(claim: Claim) -> Claim {
    Claim { tries: Tries { most: 1_000_000, ..Tries::default() }, ..claim }
}

async fn each_session_is_done_once_however_many_are_killed(world: World) {
    const JOBS: usize = 120;
    let many: Vec<Wanted> = (0..JOBS).map(|at| wanted(&format!("s{at}"), "app", at as i64 + 1)).collect();
    world.store.enqueue(&many).await.unwrap();
    let address = world.place.address();
    let working = tokio::task::spawn_blocking(move || {
        std::thread::scope(|scope| {
            for at in 0..3 {
                let address = &address;
                // Each is killed in the midst of its work a few times, and then left to finish.
                scope.spawn(move || {
                    for lines in [3 + at, 8, 13 - at] {
                        let (mut child, said) = child("store_processes::child_works", address, ADDRESS);
                        said.lines()
                            .map_while(Result::ok)
                            .filter(|line| line.contains("ed "))
                            .take(lines)
                            .for_each(drop);
                        child.kill().unwrap();
                        child.wait().unwrap();
                    }
                    let (mut child, said) = child("store_processes::child_works", address, ADDRESS);
                    said.lines().map_while(Result::ok).for_each(drop);
                    assert!(child.wait().unwrap().success());
                });
            }
        });
    });
    working.await.unwrap();
    let runs = world.store.runs(None, 10_000).await.unwrap();
    let mut done: BTreeMap<JobKey, u32> = BTreeMap::new();
    for run in runs {
        *done.entry(run.job).or_default() += 1;
    }
    assert_eq!(done.len(), JOBS);
    assert!(done.values().all(|times| *times == 1), "{done:?}");
    let jobs = world.store.jobs(None, 10_000).await.unwrap();
    let stuck: Vec<_> = jobs.iter().filter(|job| job.state == JobState::Running).collect();
    assert!(stuck.is_empty(), "{stuck:?}");
    assert_eq!(world.sessions(&crate::store_kit::app(), None).await.len(), 100, "as many as were asked for");
}

async fn those_who_open_it_first_all_succeed(world: World) {
    // Another place, of the same kind: this one is open.
    let place = match &world.place {
        Place::File(_) | Place::Lasting(_) => Place::file(),
        #[cfg(feature = "postgres")]
        Place::Database(_) => Place::database().await.unwrap(),
    };
    let opening: Vec<_> = (0..12)
        .map(|at| {
            let (address, clock) = (place.address(), world.hands.clock());
            tokio::spawn(async move {
                let store = open(&address.parse().unwrap(), clock).await?;
                store.enqueue(&[wanted(&format!("s{at}"), "app", 1), wanted("same", "app", at)]).await?;
                Ok::<_, StoreError>(())
            })
        })
        .collect();
    for opened in opening {
        opened.await.unwrap().unwrap();
    }
    let store = open(&place.address().parse().unwrap(), world.hands.clock()).await.unwrap();
    assert_eq!(store.jobs(None, 99).await.unwrap().len(), 13);
}

async fn no_more_run_at_once_than_allowed_however_many_claim(world: World) {
    let many: Vec<Wanted> = (0..40).map(|at| wanted(&format!("s{at}"), "app", 1)).collect();
    world.store.enqueue(&many).await.unwrap();
    let mut claiming = Vec::new();
    for _ in 0..10 {
        let store = world.another().await;
        claiming.push(tokio::spawn(async move {
            let claim = Claim { most: 2, running: Some(5), ..extracts("w") };
            store.claim(&claim).await.unwrap()
        }));
    }
    let mut claimed = Vec::new();
    for leases in claiming {
        claimed.extend(leases.await.unwrap());
    }
    assert_eq!(claimed.len(), 5);
    assert_eq!(world.store.release(&claimed[0]).await.unwrap(), Held::Held);
    world.claim_one(Claim { most: 9, running: Some(5), ..extracts("w") }).await;
}

/// Holds the file in the midst of a change until it is killed.
#[test]
fn child_holds() {
    let Ok(path) = std::env::var(HOLD) else { return };
    let db = rusqlite::Connection::open(path).unwrap();
    db.execute_batch("BEGIN IMMEDIATE; DELETE FROM jobs; DELETE FROM runs;").unwrap();
    println!("holding");
    std::thread::sleep(Duration::from_secs(3_600));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_killed_in_a_transaction_leaves_the_file_as_it_was() {
    let world = World::at(Place::file()).await;
    world.want("a", 7).await;
    let (mut child, mut said) = child("store_processes::child_holds", &world.place.address(), HOLD);
    let mut line = String::new();
    while !line.contains("holding") {
        line.clear();
        assert_ne!(said.read_line(&mut line).unwrap(), 0, "the child ended");
    }
    // Readers do not wait for it; who writes does.
    assert_eq!(world.store.jobs(None, 9).await.unwrap().len(), 1);
    let store = world.another().await;
    let waiting = tokio::spawn(async move { store.claim(&extracts("w")).await });
    assert!(!waiting.is_finished());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().len(), 1, "nothing that it did is there");
}
