//! Does a client ever get something else through the proxy than directly?
//!
//! Every request is sent to a provider twice, directly and by way of a proxy in a process of its own, with the same fault planned:
//! answers cut, reset, stalled, refused, garbled, slow, huge, compressed; clients that leave; and our own code made to panic, to
//! fail and to be slow. Then whether anything is stuck, or left behind.

use crate::Setup;
use crate::measure::{verdict, verdict_at_least};
use crate::proxy::{Child, memory};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use throughline_testkit::trial::{self, Provider, Report, Trial};

/// Requests, unless told otherwise.
const REQUESTS: usize = 10_000;
/// Memory is looked at so many times.
const SLICES: usize = 10;
/// Conversations.
const SESSIONS: usize = 40;
/// How long what was given up may take to be gone.
const SETTLING: Duration = Duration::from_secs(60);
/// How soon sessions rest here.
const REST: Duration = Duration::from_secs(2);

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    let requests = setup.requests.unwrap_or(if setup.quick { REQUESTS / 10 } else { REQUESTS });
    println!(
        "proxy-faults: {requests} requests, each directly and through a proxy, with the same fault planned"
    );
    let provider = Provider::start()?;
    let folder = tempfile::tempdir()?;
    let home = folder.path().display().to_string();
    let rest = REST.as_millis().to_string();
    let proxy = Child::start(&["proxy-server", &provider.address().to_string(), &home, "faulty", &rest])?;
    let mut total = Report::default();
    let mut at_half: f64 = 0.0;
    let mut files_at_first = 0;
    for slice in 0..SLICES {
        let trial = Trial {
            through: proxy.address(),
            requests: requests / SLICES,
            sessions: SESSIONS,
            at_once: 24,
            turns: 16,
            words: 700,
            seed: slice as u64,
        };
        let report = trial::run(&provider, &trial)?;
        println!(
            "  {:>6} requests: {} edited, {} of {SESSIONS} sessions answer, {} came to something else, {:.1} MB",
            report.requests,
            report.edited,
            report.alive,
            report.wrong,
            memory(proxy.id(), "VmRSS")
        );
        add(&mut total, report);
        if slice == 0 {
            settle(&provider, &proxy);
            files_at_first = files(proxy.id());
        }
        if slice == SLICES / 2 - 1 {
            settle(&provider, &proxy);
            at_half = memory(proxy.id(), "VmRSS");
        }
    }
    println!("  {:?}", total.kinds);
    println!("  injected: {:?}", total.injected);
    total.differences.iter().for_each(|why| println!("  OUT {why}"));
    settle(&provider, &proxy);
    let mut failed = verdict("requests that came to something else", total.wrong as f64, 0.0, "");
    failed += verdict("sessions that are stuck", (SESSIONS * SLICES - total.alive) as f64, 0.0, "");
    failed += verdict("requests still being answered", provider.busy() as f64, 0.0, "");
    failed +=
        verdict_at_least("requests edited, of all", total.edited as f64 / total.requests.max(1) as f64, 0.05);
    let more = files(proxy.id()).saturating_sub(files_at_first).saturating_sub(provider.open());
    failed += verdict("files and connections more than after the first slice", more as f64, 0.0, "");
    let at_end = memory(proxy.id(), "VmRSS");
    println!("  memory with all sessions at rest: {at_half:.1} MB at half, {at_end:.1} MB at the end");
    failed += verdict("memory at the end over that at half", at_end / at_half.max(1.0), 1.25, "×");
    Ok(failed)
}

fn add(total: &mut Report, other: Report) {
    let sum = |into: &mut BTreeMap<&'static str, usize>, from: BTreeMap<&'static str, usize>| {
        from.into_iter().for_each(|(name, count)| *into.entry(name).or_default() += count);
    };
    total.requests += other.requests;
    total.edited += other.edited;
    total.alive += other.alive;
    total.wrong += other.wrong;
    sum(&mut total.kinds, other.kinds);
    sum(&mut total.injected, other.injected);
    total.differences.extend(other.differences);
}

/// Waits until nothing is being answered and sessions rest, or for as long as that may take.
fn settle(provider: &Provider, proxy: &Child) {
    let start = Instant::now();
    let mut before = usize::MAX;
    loop {
        std::thread::sleep(REST * 2);
        let now = files(proxy.id());
        if (provider.busy() == 0 && now >= before) || start.elapsed() > SETTLING {
            return;
        }
        before = now;
    }
}

/// Open files and connections of a process.
fn files(id: u32) -> usize {
    std::fs::read_dir(format!("/proc/{id}/fd")).map_or(0, Iterator::count)
}
