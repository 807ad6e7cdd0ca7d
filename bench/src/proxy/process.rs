//! Processes that listen: started, looked at, stopped.

use anyhow::Context;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A task of this program in a process of its own, which says where it listens. It is stopped when dropped.
pub(crate) struct Child {
    process: std::process::Child,
    address: SocketAddr,
}

impl Child {
    /// Runs `throughline-bench --child ARGUMENTS…`; the first line that it prints is its address.
    pub(crate) fn start(arguments: &[&str]) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--child").args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn().context("cannot start a process")?;
        let output = process.stdout.take().context("no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        match line.trim().parse() {
            Ok(address) => Ok(Self { process, address }),
            Err(_) => {
                let _ = process.kill();
                let _ = process.wait();
                anyhow::bail!("{arguments:?} did not say where it listens: {line:?}")
            }
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A process and all below it.
pub(super) fn family(id: u32) -> Vec<u32> {
    let mut all = vec![id];
    let mut at = 0;
    while let Some(&parent) = all.get(at) {
        at += 1;
        let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
        }
    }
    all
}

/// CPU time of a process so far, user and system.
pub(super) fn cpu(id: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // Its name may hold spaces, and ends with the last bracket.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|ticks| ticks.parse::<u64>().ok()).unwrap_or(0);
    // Linux counts these in hundredths of a second wherever it runs.
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}

/// A line of `/proc/ID/status`, in MB.
pub(crate) fn memory(id: u32, line: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let found = status.lines().find_map(|known| known.strip_prefix(line));
    found
        .and_then(|rest| rest.trim_start_matches(':').split_whitespace().next()?.parse::<f64>().ok())
        .unwrap_or(0.0)
        / 1024.0
}
