//! Do eight processes that write one folder of memories lose nothing?
//!
//! For a minute each adds, changes, confirms, forgets, repairs the index and records use, and says what was acknowledged. Then all of
//! that is looked for: in the files, in the index, in the history, in the counts of use. The baseline is one process alone, in the
//! same run: all take turns at one lock, so eight should do about as much as one.

use crate::Setup;
use crate::measure::{verdict, verdict_at_least};
use anyhow::{Context, anyhow, bail};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use work::{Place, Writer, faults, has_git};

#[path = "../../crates/memory/tests/it/writers_work.rs"]
mod work;

const WRITERS: usize = 8;
/// Eight do at least this share of what one does: they wait for each other, and look at each other's memories.
const SHARE: f64 = 0.4;

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    let (seconds, alone) = if setup.quick { (5, 3) } else { (60, 15) };
    let history = if has_git() { "with history" } else { "without history: there is no git" };
    println!("memory-writers: {WRITERS} processes for {seconds} s, {history}");
    let one = together(1, alone)?;
    let all = together(WRITERS, seconds)?;
    println!(
        "  one process: {:.0} writes/s; {WRITERS}: {:.0} writes/s, {} in all",
        one.rate(),
        all.rate(),
        all.writes
    );
    for fault in one.faults.iter().chain(&all.faults).take(20) {
        println!("  {fault}");
    }
    let found = (one.faults.len() + all.faults.len()) as f64;
    let mut failed = verdict("acknowledged and not there, or out of order", found, 0.0, "");
    failed += verdict("refused since the folder was busy", (one.refused + all.refused) as f64, 0.0, "");
    failed += verdict_at_least("writes/s of eight, of one's", all.rate() / one.rate().max(1e-9), SHARE);
    Ok(failed)
}

struct Together {
    writes: usize,
    refused: usize,
    took: Duration,
    faults: Vec<String>,
}

impl Together {
    fn rate(&self) -> f64 {
        self.writes as f64 / self.took.as_secs_f64()
    }
}

fn together(writers: usize, seconds: u64) -> anyhow::Result<Together> {
    let folder = tempfile::tempdir()?;
    let place = Place::new(folder.path());
    place.prepare().map_err(failed)?;
    let start = Instant::now();
    let children: Vec<Child> =
        (0..writers).map(|number| child(folder.path(), number, seconds)).collect::<anyhow::Result<_>>()?;
    let (mut writes, mut refused) = (0, 0);
    for child in children {
        let output = child.wait_with_output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            bail!("a writer failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        let (done, not) = text.trim().split_once(' ').with_context(|| format!("a writer said {text:?}"))?;
        (writes, refused) = (writes + done.parse::<usize>()?, refused + not.parse::<usize>()?);
    }
    let took = start.elapsed();
    Ok(Together { writes, refused, took, faults: faults(&place, writers).map_err(failed)? })
}

fn child(place: &Path, number: usize, seconds: u64) -> anyhow::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--child", "memory-writer"]).arg(place).args([number.to_string(), seconds.to_string()]);
    Ok(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
}

/// What one writer does.
pub(crate) fn write(place: &Path, number: usize, seconds: u64) -> anyhow::Result<()> {
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut writer = Writer::new(&Place::new(place), number).map_err(failed)?;
    while Instant::now() < end {
        writer.round().map_err(failed)?;
    }
    println!("{} {}", writer.writes, writer.refused);
    Ok(())
}

fn failed(error: Box<dyn std::error::Error>) -> anyhow::Error {
    anyhow!("{error}")
}
