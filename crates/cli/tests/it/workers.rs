//! `worker`: many processes on one PostgreSQL. At full size: `throughline-bench workers`.

use crate::workers_kit::Chaos;
use std::path::Path;
use std::time::Duration;
use throughline_testkit::postgres::cluster;

#[test]
fn four_workers_that_are_killed_and_cut_off_lose_nothing_and_do_nothing_twice() {
    // Says so where there is none.
    let Some(cluster) = cluster() else { return };
    let database = cluster.database();
    let folder = tempfile::tempdir().unwrap();
    let chaos = Chaos {
        binary: Path::new(assert_cmd::cargo::cargo_bin!("throughline")),
        folder: folder.path(),
        database: &database,
        workers: 4,
        sessions: 60,
        projects: 3,
        kills: 10,
        cuts: 4,
        lease_seconds: 4,
        patience: Duration::from_secs(600),
    };
    let seen = chaos.run().unwrap();
    assert_eq!((seen.kills, seen.cuts, seen.grown), (10, 4, 3), "{seen:?}");
    assert_eq!(seen.faults, [] as [String; 0], "{seen:?}");
    assert!(seen.outputs == 60 && seen.evidence >= 60, "{seen:?}");
}
