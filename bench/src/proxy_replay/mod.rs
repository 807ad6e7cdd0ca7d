//! Does the proxy make recorded sessions cheaper without losing the provider's cache?
//!
//! Each recorded session becomes the requests that its client would have sent, whole histories each time. They are sent over sockets to
//! a provider that simulates a prompt cache on the bytes that it receives and gives the recorded answers: once by way of a proxy
//! that only passes on, once by way of one that manages, with everything as usual.

mod breaks;
mod client;
mod provider;

use crate::measure::verdict;
use crate::{Setup, corpus};
use anyhow::Context;
use breaks::{Breaks, Ledger, Requests};
use client::{Line, Session};
use provider::{Known, Provider};
use std::path::PathBuf;
use std::sync::Arc;
use throughline_core::cost::{Charge, Totals};
use throughline_core::pipeline;
use throughline_engine::replay::Recording;
use throughline_ledger::Home;
use throughline_server::{Running, Server, Settings, Upstream, Upstreams};

/// Most percent points of cached input that may be lost.
const MOST_LOST: f64 = 2.0;

/// What a session came to, one way.
#[derive(Default)]
struct Came {
    totals: Totals,
    /// What each request was billed.
    charges: Vec<Charge>,
    /// Who changed something before each.
    by: Vec<Vec<&'static str>>,
    /// Requests that arrived as they were sent.
    as_sent: usize,
    /// Requests in which a mark for the cache was lost.
    unmarked: usize,
}

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    let home = Home::new(std::env::temp_dir());
    let mut paths: Vec<PathBuf> = corpus::transcripts(&setup.data)?;
    if setup.quick {
        paths.truncate(4);
    }
    let window = setup.window.map_or("that of each model".to_owned(), |window| window.to_string());
    println!("proxy-replay: {} recorded sessions through a proxy, window: {window}", paths.len());
    println!(
        "  {:<34} {:>8}  {:>11} {:>11}  {:>7} {:>7}  {:>9} {:>9}  {:>6}",
        "session", "requests", "input", "managed", "cached", "managed", "cost", "managed", "edited"
    );
    let runtime = throughline_server::runtime()?;
    let (mut without, mut with) = (Came::default(), Came::default());
    let mut breaks = Breaks::default();
    let mut sessions = 0;
    for path in paths {
        let Ok(recording) = Recording::open(&home, &path) else { continue };
        let session = Arc::new(Session::new(&recording));
        drop(recording);
        let passive = replay(&runtime, &session, setup, false).with_context(|| session.name.clone())?;
        let managed = replay(&runtime, &session, setup, true).with_context(|| session.name.clone())?;
        print_row(&session.name, &passive, &managed);
        breaks.add(&Requests {
            passive: &passive.charges,
            managed: &managed.charges,
            by: &managed.by,
            price: &pipeline::Settings::for_model(&session.model).price,
        });
        without.add(&passive);
        with.add(&managed);
        sessions += 1;
    }
    print_row(&format!("all {sessions}"), &without, &with);
    breaks.print();
    print_fresh(&without.totals, &with.totals);
    let share = |came: &Came| came.totals.cached_share() * 100.0;
    let mut failed =
        verdict("cached share of input lost", share(&without) - share(&with), MOST_LOST, " points");
    let tokens = |came: &Came| (came.totals.read + came.totals.write + came.totals.uncached) as f64;
    failed += verdict(
        "input tokens, managed over passed on",
        tokens(&with) / tokens(&without).max(1.0),
        0.999,
        "×",
    );
    failed += verdict(
        "money, managed over passed on",
        with.totals.dollars.as_f64() / without.totals.dollars.as_f64().max(1e-9),
        1.0,
        "×",
    );
    failed += verdict("requests that lost a mark for the cache", with.unmarked as f64, 0.0, "");
    failed += verdict(
        "requests changed where nothing is managed",
        (without.totals.requests as usize - without.as_sent) as f64,
        0.0,
        "",
    );
    Ok(failed)
}

impl Came {
    fn add(&mut self, other: &Self) {
        self.totals.merge(&other.totals);
        self.as_sent += other.as_sent;
        self.unmarked += other.unmarked;
    }
}

fn print_row(name: &str, without: &Came, with: &Came) {
    let input = |came: &Came| came.totals.read + came.totals.write + came.totals.uncached;
    let name: String = name.chars().take(34).collect();
    println!(
        "  {name:<34} {:>8}  {:>11} {:>11}  {:>6.1}% {:>6.1}%  {:>8.2}$ {:>8.2}$  {:>6}",
        without.totals.requests,
        input(without),
        input(with),
        without.totals.cached_share() * 100.0,
        with.totals.cached_share() * 100.0,
        without.totals.dollars.as_f64(),
        with.totals.dollars.as_f64(),
        with.totals.requests as usize - with.as_sent
    );
}

/// A share of less input falls by itself, since what is new must be written either way: printed is what the share would be if
/// nothing but that were written, and what was written beyond it.
fn print_fresh(without: &Totals, with: &Totals) {
    let fresh = |totals: &Totals| totals.write + totals.uncached;
    let share =
        |fresh: u64| 100.0 * (1.0 - fresh as f64 / ((with.read + with.write + with.uncached).max(1)) as f64);
    println!(
        "  not read from the cache: {} tokens, managed {} ({:.2}×)",
        fresh(without),
        fresh(with),
        fresh(with) as f64 / fresh(without).max(1) as f64,
    );
    println!(
        "  cached share: {:.2}%, managed {:.2}%; of the managed input {:.2}% if no more had been written than without: {:.2} points are lost because there is less to read, {:.2} because more is written",
        without.cached_share() * 100.0,
        share(fresh(with)),
        share(fresh(without)),
        without.cached_share() * 100.0 - share(fresh(without)),
        share(fresh(without)) - share(fresh(with)),
    );
}

/// One session from its first request to its last.
fn replay(
    runtime: &tokio::runtime::Runtime,
    session: &Arc<Session>,
    setup: &Setup,
    manages: bool,
) -> anyhow::Result<Came> {
    let folder = tempfile::tempdir()?;
    let provider = Provider::start(Arc::clone(session))?;
    let base = format!("http://{}", provider.address());
    let upstreams = Upstreams {
        anthropic: Upstream::anthropic(&base)?,
        openai: Upstream::openai(&base)?,
        ..Upstreams::default()
    };
    let home = Home::new(folder.path());
    let mut settings = Settings::new(home.clone(), upstreams);
    // A machine that is busy with other things must not decide what is measured.
    settings.limits.our_time = std::time::Duration::from_secs(60);
    match &mut settings.manage {
        Some(managing) if manages => managing.window = setup.window,
        manage => *manage = None,
    }
    let proxy: Running = runtime.block_on(Server::start(settings))?;
    let mut line = Line::connect(proxy.address())?;
    let mut came = Came::default();
    let mut ledger = Ledger::new(home);
    for number in 0..session.requests() {
        let body = session.body(number);
        let status = line.post(session, number, &body)?;
        anyhow::ensure!(status == 200, "request {number} was answered with {status}");
        let Known { sent, marks, charge } = provider.last().context("the provider was not asked")?;
        came.as_sent += usize::from(sent == body);
        came.charges.push(charge);
        came.by.push(ledger.changed_by()?);
        came.unmarked += usize::from(marks < session.marks());
    }
    came.totals = provider.totals();
    runtime.block_on(proxy.stop());
    Ok(came)
}
