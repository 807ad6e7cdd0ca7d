//! A process where there is no network but the loopback, so that no client reaches anybody.

use anyhow::{Context, bail};
use std::path::PathBuf;
use std::process::Command;

/// What is measured.
pub(crate) struct Task {
    pub(crate) ours: PathBuf,
    pub(crate) codex: Option<PathBuf>,
    pub(crate) quick: bool,
}

/// Measures both clients in a network namespace of its own; how many figures are out of bounds. Where there can be none, only ours is
/// measured.
pub(super) fn again(task: &Task) -> anyhow::Result<usize> {
    if is_alone() {
        return super::compare(task);
    }
    // Root needs no user namespace, others do.
    let Some(flags) = [&["--net"][..], &["--map-root-user", "--net"]].into_iter().find(|flags| works(flags))
    else {
        println!(
            "  no network namespace can be made here (unshare, ip): codex could reach the network, only ours is measured"
        );
        return super::compare(&Task { ours: task.ours.clone(), codex: None, quick: task.quick });
    };
    let Some(codex) = &task.codex else { return super::compare(task) };
    let folder = tempfile::tempdir()?;
    let verdict = folder.path().join("verdict");
    let mut command = Command::new("unshare");
    command.args(flags).args(["--", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"]);
    command.arg(std::env::current_exe()?).args(["--child", "agent"]);
    command.args([&task.ours, codex, &verdict]).arg(if task.quick { "quick" } else { "whole" });
    let status = command.status().context("cannot start unshare")?;
    let said = std::fs::read_to_string(&verdict).unwrap_or_default();
    if !status.success() {
        bail!("the measurement failed: {status}");
    }
    said.trim().parse().with_context(|| format!("the measurement said {said:?}"))
}

/// The part of [`again`] that runs in the namespace.
pub(crate) fn run(task: &Task, verdict: &str) -> anyhow::Result<()> {
    if !is_alone() {
        bail!("there is a network here");
    }
    let failed = super::compare(task)?;
    Ok(std::fs::write(verdict, failed.to_string())?)
}

fn works(flags: &[&str]) -> bool {
    let mut command = Command::new("unshare");
    command.args(flags).args(["--", "ip", "link", "set", "lo", "up"]);
    command.output().is_ok_and(|output| output.status.success())
}

/// Whether this process sees no interface but the loopback.
fn is_alone() -> bool {
    let devices = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let mut names = devices.lines().filter_map(|line| Some(line.split_once(':')?.0.trim()));
    names.all(|name| name == "lo") && !devices.is_empty()
}
