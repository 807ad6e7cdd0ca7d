//! What a session costs that nobody talks to.

use super::load::{Job, in_a_process};
use super::process::{self, Child};
use crate::Setup;
use crate::measure::verdict;
use std::time::Duration;

/// Most KB of an idle session.
const MOST_IDLE: f64 = 200.0;
/// How soon sessions rest here.
const REST: Duration = Duration::from_secs(2);

pub(super) fn run(setup: &Setup, provider: &Child) -> anyhow::Result<usize> {
    let sessions = if setup.quick { 200 } else { 1_000 };
    let folder = tempfile::tempdir()?;
    let home = folder.path().display().to_string();
    let rest = REST.as_millis().to_string();
    let child = Child::start(&["proxy-server", &provider.address().to_string(), &home, "managed", &rest])?;
    let resident = || process::memory(child.id(), "VmRSS");
    let settle = || std::thread::sleep(REST * 4);
    // One conversation first: tables of tokens and the like are there for all.
    let job = Job { address: child.address(), at_once: 1, time: Duration::from_millis(300), history: 20_000 };
    in_a_process(&job)?;
    settle();
    let before = resident();
    in_a_process(&Job { at_once: sessions, time: Duration::from_secs(3), ..job })?;
    let busy = resident();
    settle();
    let after = resident();
    let known = std::fs::read_dir(folder.path().join("sessions"))
        .map_or(0, |_| count(&folder.path().join("sessions")));
    println!(
        "  idle sessions: {before:.1} MB with one at rest, {busy:.1} MB with {sessions} streams, {after:.1} MB when {known} rest"
    );
    let each = (after - before) * 1024.0 / (known.max(2) - 1) as f64;
    Ok(verdict("memory of a session at rest", each, MOST_IDLE, " KB"))
}

/// Files below a folder.
fn count(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { count(&entry.path()) } else { 1 }).sum()
}
