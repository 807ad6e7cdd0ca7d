//! What a session costs that nobody talks to, and what those cost that are talked to.

use super::load::{Job, in_a_process};
use super::process::{self, Child};
use super::server::TOKEN;
use crate::Setup;
use crate::measure::verdict;
use anyhow::Context as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;
use tempfile::TempDir;

/// Most KB of an idle session.
const MOST_IDLE: f64 = 200.0;
/// Most times the bytes of its newest request that a session takes while it is awake.
const MOST_AWAKE: f64 = 4.0;
/// Most MB of all sessions that are awake, however many and long they are.
const MOST_TOGETHER: f64 = 512.0;
/// How soon sessions rest here that are to rest.
const REST: Duration = Duration::from_secs(2);
/// A history that is long.
const LONG: usize = 300 << 10;

pub(super) fn run(setup: &Setup, provider: &Child) -> anyhow::Result<usize> {
    let sessions = if setup.quick { 200 } else { 1_000 };
    Ok(idle(sessions, provider)? + awake(sessions, provider)?)
}

/// A server of ours that had one conversation: tables of tokens and the like are there for all.
struct Measured {
    child: Child,
    folder: TempDir,
    before: f64,
}

impl Measured {
    fn start(provider: &Child, rest: Duration) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let home = folder.path().display().to_string();
        let rest = rest.as_millis().to_string();
        let child =
            Child::start(&["proxy-server", &provider.address().to_string(), &home, "managed", &rest])?;
        let mut started = Self { child, folder, before: 0.0 };
        started.load(1, Duration::from_millis(300), 20_000)?;
        std::thread::sleep(REST * 4);
        started.before = started.resident();
        Ok(started)
    }

    fn load(&self, at_once: usize, time: Duration, history: usize) -> anyhow::Result<()> {
        in_a_process(&Job { address: self.child.address(), at_once, time, history }).map(drop)
    }

    fn resident(&self) -> f64 {
        process::memory(self.child.id(), "VmRSS")
    }

    /// A figure that the server gives.
    fn metric(&self, name: &str) -> anyhow::Result<f64> {
        let mut stream = TcpStream::connect(self.child.address())?;
        write!(
            stream,
            "GET /metrics HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n\r\n",
            self.child.address()
        )?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let figure = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        figure.with_context(|| format!("the server says nothing of {name}"))
    }
}

fn idle(sessions: usize, provider: &Child) -> anyhow::Result<usize> {
    let server = Measured::start(provider, REST)?;
    server.load(sessions, Duration::from_secs(3), 20_000)?;
    let busy = server.resident();
    std::thread::sleep(REST * 4);
    let (before, after) = (server.before, server.resident());
    let known = count(&server.folder.path().join("sessions"));
    println!(
        "  idle sessions: {before:.1} MB with one at rest, {busy:.1} MB with {sessions} streams, {after:.1} MB when {known} rest"
    );
    let each = (after - before) * 1024.0 / (known.max(2) - 1) as f64;
    Ok(verdict("memory of a session at rest", each, MOST_IDLE, " KB"))
}

fn awake(sessions: usize, provider: &Child) -> anyhow::Result<usize> {
    let server = Measured::start(provider, Duration::from_secs(600))?;
    server.load(20, Duration::from_secs(1), LONG)?;
    std::thread::sleep(REST);
    let awake = server.metric("throughline_sessions{state=\"awake\"}")?;
    let more = server.resident() - server.before;
    println!("  awake sessions: {more:.1} MB for {awake} with histories of 300 KB");
    let times = more * 1024.0 * 1024.0 / awake.max(1.0) / LONG as f64;
    let failed = verdict("memory of a session awake, over its request", times, MOST_AWAKE, "");
    server.load(sessions, Duration::from_secs(6), LONG)?;
    let peak = process::memory(server.child.id(), "VmHWM");
    std::thread::sleep(REST * 2);
    let awake = server.metric("throughline_sessions{state=\"awake\"}")?;
    let held = server.metric("throughline_awake_bytes")? / 1e6;
    let more = server.resident() - server.before;
    println!(
        "  behind {sessions} streams of them: peak {peak:.0} MB with all requests on their way; then {awake} awake, which hold \
         {held:.0} MB by our count"
    );
    Ok(failed + verdict("memory of all that are awake", more, MOST_TOGETHER, " MB"))
}

/// Files below a folder.
fn count(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { count(&entry.path()) } else { 1 }).sum()
}
