//! A process from its start to its end: time, CPU, memory.

use anyhow::{Context, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Nothing here takes so long.
const PATIENCE: Duration = Duration::from_secs(300);
/// How often memory is looked at; wall time is exact to this.
const LOOK: Duration = Duration::from_millis(1);

/// What a run took.
pub(super) struct Run {
    /// From the spawn to the exit.
    pub(super) wall: Duration,
    /// User and system time of the process and of those it waited for.
    pub(super) cpu: Duration,
    /// The largest process's peak, in MB.
    pub(super) peak: f64,
}

/// Runs a command to its end. What it complains about goes to a file, and is told if it fails.
pub(super) fn watch(mut command: Command, complaints: &Path) -> anyhow::Result<Run> {
    let file = std::fs::File::create(complaints)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
    let before = cpu_of_children()?;
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let mut peak: f64 = 0.0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        peak = peak.max(peak_of(child.id()));
        if start.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            bail!("it did not end within {PATIENCE:?}: {}", read(complaints));
        }
        std::thread::sleep(LOOK);
    };
    let wall = start.elapsed();
    let cpu = cpu_of_children()?.saturating_sub(before);
    if !status.success() {
        bail!("it ended with {status}: {}", read(complaints));
    }
    Ok(Run { wall, cpu, peak })
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// CPU time of all processes that ended and were waited for.
fn cpu_of_children() -> anyhow::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("cannot tell CPU time")?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(u64::try_from(micros).unwrap_or(0)))
}

/// The peak of a process so far, or of a child of its main thread if that is larger: a script that starts the real program has it there.
fn peak_of(id: u32) -> f64 {
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    let ids = children.split_whitespace().filter_map(|id| id.parse::<u32>().ok());
    ids.chain([id]).map(|id| high_water(id).unwrap_or(0.0)).fold(0.0, f64::max)
}

fn high_water(id: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}
