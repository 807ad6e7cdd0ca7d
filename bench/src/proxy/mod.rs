//! What does the proxy add to a request, and how many does it carry?
//!
//! A provider in a process of its own streams some twenty events to each request. A load generator in another one asks it directly,
//! by way of Throughline (passing on only, managing short conversations, managing one of 300 KB) and by way of LiteLLM's proxy, at 1,
//! 100 and 1,000 streams at once. Ways take turns, so that a machine that is busier for a while is so for all of them.

mod contender;
mod load;
mod memory;
mod process;
mod provider;
mod server;

pub(crate) use load::generate;
pub(crate) use process::{Child, memory};
pub(crate) use provider::serve as provide;
pub(crate) use server::{raise_limit, serve};

use crate::Setup;
use crate::measure::{verdict, verdict_at_least};
use contender::{Contender, Way};
use load::{Job, Taken};
use std::time::Duration;

/// Streams at once.
const AT_ONCE: [usize; 3] = [1, 100, 1_000];
/// Most milliseconds that may be added to the first byte, in the median, of one stream at a time.
const MOST_ADDED: f64 = 1.0;
/// How many times LiteLLM's requests per second.
const LEAST_RATIO: f64 = 20.0;

/// One way at one level, over all rounds.
struct Row {
    way: Way,
    at_once: usize,
    rounds: Vec<Taken>,
    cpu: Vec<Duration>,
    resident: f64,
}

impl Row {
    fn median(&self, of: impl Fn(&Taken) -> f64) -> f64 {
        let mut values: Vec<f64> = self.rounds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    }

    fn cpu_per_request(&self) -> f64 {
        let requests: u64 = self.rounds.iter().map(|taken| taken.requests).sum();
        self.cpu.iter().sum::<Duration>().as_secs_f64() * 1e6 / requests.max(1) as f64
    }
}

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    println!(
        "proxy: what Throughline adds to a request, and how many it carries, against none and LiteLLM's"
    );
    raise_limit()?;
    let provider = Child::start(&["proxy-provider"])?;
    let mut contenders = Vec::new();
    for way in Way::ALL {
        match Contender::start(way, &provider, setup.litellm.as_deref()) {
            Ok(Some(contender)) => contenders.push(contender),
            Ok(None) => println!("  {}: not measured; give --litellm PATH to its program", way.name()),
            Err(why) => println!("  {}: not measured: {why:#}", way.name()),
        }
    }
    let rounds = if setup.quick { 1 } else { 3 };
    let time = if setup.quick { Duration::from_secs(2) } else { Duration::from_secs(6) };
    let mut rows: Vec<Row> = AT_ONCE
        .iter()
        .flat_map(|at_once| contenders.iter().map(|contender| Row::new(contender.way, *at_once)))
        .collect();
    for contender in &contenders {
        contender.load(&Job { at_once: 1, time: time / 2, ..contender.job(1) })?;
    }
    for _ in 0..rounds {
        for row in &mut rows {
            let Some(contender) = contenders.iter().find(|contender| contender.way == row.way) else {
                continue;
            };
            let before = contender.cpu();
            row.rounds.push(contender.load(&Job { time, ..contender.job(row.at_once) })?);
            row.cpu.push(contender.cpu().saturating_sub(before));
            row.resident = row.resident.max(contender.peak_resident());
        }
    }
    println!(
        "  {:>7}  {:<28}  {:>10}  {:>11}  {:>11}  {:>11}  {:>9}  {:>6}",
        "streams", "way", "requests/s", "first byte", "p99", "CPU/request", "resident", "failed"
    );
    rows.iter().for_each(print_row);
    drop(contenders);
    let failed = judge(&rows);
    Ok(failed + memory::run(setup, &provider)?)
}

impl Row {
    fn new(way: Way, at_once: usize) -> Self {
        Self { way, at_once, rounds: Vec::new(), cpu: Vec::new(), resident: 0.0 }
    }
}

fn print_row(row: &Row) {
    println!(
        "  {:>7}  {:<28}  {:>10.0}  {:>8.2} ms  {:>8.2} ms  {:>8.0} µs  {:>6.0} MB  {:>6}",
        row.at_once,
        row.way.name(),
        row.median(Taken::per_second),
        row.median(|taken| taken.first_median),
        row.median(|taken| taken.first_p99),
        row.cpu_per_request(),
        row.resident,
        row.rounds.iter().map(|taken| taken.failed).sum::<u64>()
    );
}

fn judge(rows: &[Row]) -> usize {
    let find = |way: Way, at_once: usize| rows.iter().find(|row| row.way == way && row.at_once == at_once);
    let mut failed = 0;
    let Some(direct) = find(Way::Direct, 1) else { return 1 };
    for way in [Way::Passive, Way::Managed, Way::ManagedLong] {
        if let Some(row) = find(way, 1) {
            let added = row.median(|taken| taken.first_median) - direct.median(|taken| taken.first_median);
            failed += verdict(
                &format!("{}: added to the first byte of one stream, median", way.name()),
                added,
                MOST_ADDED,
                " ms",
            );
        }
    }
    for at_once in AT_ONCE {
        let Some(theirs) = find(Way::LiteLlm, at_once) else { continue };
        for way in [Way::Passive, Way::Managed] {
            let Some(ours) = find(way, at_once) else { continue };
            let ratio = ours.median(Taken::per_second) / theirs.median(Taken::per_second).max(1e-9);
            let what = format!("{}: requests per second over LiteLLM's, {at_once} at once", way.name());
            // At one stream both wait for the provider and the client most of the time.
            failed += if at_once == 1 {
                println!("      {what}: {ratio:.1}");
                0
            } else {
                verdict_at_least(&what, ratio, LEAST_RATIO)
            };
        }
    }
    failed += rows
        .iter()
        .filter(|row| row.way != Way::LiteLlm)
        .map(|row| row.rounds.iter().map(|taken| taken.failed).sum::<u64>() as usize)
        .filter(|failed| *failed > 0)
        .count();
    failed
}
