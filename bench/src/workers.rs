//! Do many workers on one PostgreSQL, killed and cut off at random, read each session exactly once and lose nothing?
//!
//! Sixteen processes of `throughline worker`, two thousand sessions, leases of a few seconds; workers are killed outright and started
//! again, connections are cut, sessions go on meanwhile. Then everything that must hold is looked for, by SQL and in the files.

use crate::Setup;
use crate::agent::ours;
use crate::measure::verdict;
use anyhow::anyhow;
use kit::Chaos;
use std::time::Duration;
use throughline_testkit::postgres::cluster;

#[path = "../../crates/cli/tests/it/workers_kit.rs"]
mod kit;

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    let (workers, sessions, kills, cuts) = if setup.quick { (4, 200, 15, 6) } else { (16, 2_000, 120, 40) };
    let Some(binary) = ours() else {
        println!(
            "workers: skipped, for there is no `throughline` beside this program: build it, or set THROUGHLINE_BIN"
        );
        return Ok(0);
    };
    let Some(cluster) = cluster() else { return Ok(0) };
    let database = cluster.database();
    let folder = tempfile::tempdir()?;
    println!(
        "workers: {workers} processes on one PostgreSQL, {sessions} sessions, {kills} kills, {cuts} cuts of all connections"
    );
    let chaos = Chaos {
        binary: &binary,
        folder: folder.path(),
        database: &database,
        workers,
        sessions,
        projects: 20,
        kills,
        cuts,
        lease_seconds: 6,
        patience: Duration::from_secs(3_600),
    };
    let seen = chaos.run().map_err(|error| anyhow!("{error}"))?;
    println!(
        "  {} kills, {} cuts, {} sessions went on meanwhile, {} were taken over from who died; {:.0} s",
        seen.kills,
        seen.cuts,
        seen.grown,
        seen.taken_over,
        seen.took.as_secs_f64()
    );
    println!("  {} outputs, {} pieces of evidence looked up", seen.outputs, seen.evidence);
    for fault in seen.faults.iter().take(20) {
        println!("  {fault}");
    }
    Ok(verdict("lost, twice, stuck or without evidence", seen.faults.len() as f64, 0.0, ""))
}
