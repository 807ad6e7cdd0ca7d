//! Times as medians of alternating runs, and verdicts.

use std::time::{Duration, Instant};

/// Runs both by turns and returns the median time of each: what disturbs one disturbs the other.
pub(crate) fn alternate(
    runs: usize,
    mut ours: impl FnMut() -> anyhow::Result<()>,
    mut baseline: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<(Duration, Duration)> {
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..runs {
        times.0.push(time(&mut ours)?);
        times.1.push(time(&mut baseline)?);
    }
    Ok((median(times.0), median(times.1)))
}

pub(crate) fn time(run: &mut impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    let start = Instant::now();
    run()?;
    Ok(start.elapsed())
}

pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

pub(crate) fn ratio(ours: Duration, baseline: Duration) -> f64 {
    ours.as_secs_f64() / baseline.as_secs_f64().max(1e-9)
}

/// Prints one figure with its bound; 1 if it is out of bounds.
pub(crate) fn verdict(what: &str, value: f64, bound: f64, unit: &str) -> usize {
    let within = value <= bound;
    let mark = if within { "ok " } else { "OUT" };
    println!("  {mark} {what}: {value:.2}{unit} (at most {bound}{unit})");
    usize::from(!within)
}

/// Prints one figure that has a lower bound; 1 if it is out of bounds.
pub(crate) fn verdict_at_least(what: &str, value: f64, bound: f64) -> usize {
    let within = value >= bound;
    let mark = if within { "ok " } else { "OUT" };
    println!("  {mark} {what}: {value:.3} (at least {bound})");
    usize::from(!within)
}

pub(crate) fn mb(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Peak memory of this process so far, in MB; 0 where the system does not tell.
pub(crate) fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}
