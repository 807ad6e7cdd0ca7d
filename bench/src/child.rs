//! One task in a process of its own, so that its peak memory is its own.

use crate::agent::alone::Task;
use crate::measure::peak_mb;
use anyhow::{Context, bail};
use std::path::Path;
use std::process::Command;
use throughline_ledger::{Home, resume};

/// Runs `throughline-bench --child ARGUMENTS…` and returns the peak memory it reports, in MB.
pub(crate) fn peak_of(arguments: &[&str]) -> anyhow::Result<f64> {
    let output = Command::new(std::env::current_exe()?).arg("--child").args(arguments).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!("the child failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    text.trim().parse().with_context(|| format!("the child said {text:?}"))
}

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["resume", home, ledger] => {
            let resumed = resume(&Home::new(*home), Path::new(ledger))?;
            anyhow::ensure!(!resumed.view.entries().is_empty(), "the view is empty");
        }
        ["import", home, file] => crate::import::import_file(&Home::new(*home), Path::new(file))?,
        ["agent", ours, codex, verdict, size] => {
            let (ours, codex) = (ours.into(), Some(codex.into()));
            return crate::agent::alone::run(&Task { ours, codex, quick: *size == "quick" }, verdict);
        }
        ["memory-writer", place, number, seconds] => {
            return crate::memory_writers::write(Path::new(place), number.parse()?, seconds.parse()?);
        }
        ["proxy-provider"] => return crate::proxy::provide(),
        ["proxy-server", upstream, home, how, rest] => return crate::proxy::serve(upstream, home, how, rest),
        ["proxy-load", address, at_once, millis, history] => {
            return crate::proxy::generate(address, at_once, millis, history);
        }
        ["phase1", home, ledgers @ ..] => return crate::phase1::extract(Path::new(home), ledgers),
        ["phase1-baseline", home, ledgers @ ..] => return crate::phase1::baseline(Path::new(home), ledgers),
        other => bail!("unknown task {other:?}"),
    }
    println!("{}", peak_mb());
    Ok(())
}
