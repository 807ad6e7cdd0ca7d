//! Does import cost little more than parsing?
//!
//! Import into ledgers (no index) against one plain `serde_json` parse of the same lines; then the peak memory of an
//! import as its file grows, which should not grow with it.

use crate::measure::{alternate, mb, ratio, verdict};
use crate::{Setup, child, corpus};
use std::path::{Path, PathBuf};
use throughline_ledger::import::{Outcome, discover_in, import};
use throughline_ledger::{Home, SyncPolicy};

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    println!("import: into ledgers, against one serde_json parse of the same lines");
    let sessions = corpus::transcripts(&setup.data)?;
    let (codex, claude): (Vec<PathBuf>, Vec<PathBuf>) = sessions.into_iter().partition(|path| is_codex(path));
    let dir = tempfile::tempdir()?;
    let mut failed = 0;
    for (client, sources) in [("claude", &claude), ("codex", &codex)] {
        if sources.is_empty() {
            println!("  no {client} sessions in the data");
            continue;
        }
        let file = dir.path().join(format!("{client}.jsonl"));
        let size = if setup.quick { 16 << 20 } else { 128 << 20 };
        corpus::lengthen(sources, &file, size)?;
        let text = std::fs::read(&file)?;
        let mut n = 0;
        let (ours, baseline) = alternate(
            5,
            || {
                n += 1;
                let home = dir.path().join(format!("home-{client}-{n}"));
                import_file(&Home::new(&home), &file)?;
                Ok(std::fs::remove_dir_all(home)?)
            },
            || {
                for line in text.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
                    std::hint::black_box(serde_json::from_slice::<serde_json::Value>(line).ok());
                }
                Ok(())
            },
        )?;
        let speed = mb(text.len() as u64) / ours.as_secs_f64();
        println!(
            "  {client}: {ours:.2?} against {baseline:.2?} for {:.0} MB ({speed:.0} MB/s)",
            mb(text.len() as u64)
        );
        failed += verdict(&format!("{client} time"), ratio(ours, baseline), 2.0, "×");
    }
    for (client, sources) in [("claude", &claude), ("codex", &codex)] {
        failed += memory(setup, client, sources, dir.path())?;
    }
    Ok(failed)
}

/// The peak on a 1 GB file, and how much of it the length of the file is to blame for.
fn memory(setup: &Setup, client: &str, sources: &[PathBuf], dir: &Path) -> anyhow::Result<usize> {
    if sources.is_empty() {
        return Ok(0);
    }
    let sizes: [u64; 3] = if setup.quick { [8, 16, 32] } else { [64, 256, 1024] };
    let mut peaks = Vec::new();
    for size in sizes {
        let file = dir.join("grown.jsonl");
        corpus::lengthen(sources, &file, size << 20)?;
        let home = dir.join(format!("home-{size}"));
        let peak = child::peak_of(&["import", &home.to_string_lossy(), &file.to_string_lossy()])?;
        println!("  {client}: peak memory at {size} MB: {peak:.1} MB");
        std::fs::remove_dir_all(home)?;
        peaks.push(peak);
    }
    let growth = peaks[sizes.len() - 1] / peaks[0].max(1.0);
    let most = peaks.into_iter().fold(0.0, f64::max);
    Ok(verdict(&format!("{client} peak memory"), most, 200.0, " MB")
        + verdict(&format!("{client} peak memory, longest against shortest"), growth, 1.3, "×"))
}

fn is_codex(path: &Path) -> bool {
    let mut head = [0; 256];
    let read =
        std::fs::File::open(path).and_then(|mut file| std::io::Read::read(&mut file, &mut head)).unwrap_or(0);
    String::from_utf8_lossy(&head[..read]).contains("\"session_meta\"")
}

pub(crate) fn import_file(home: &Home, file: &Path) -> anyhow::Result<()> {
    let report = import(home, &discover_in(&[file.to_owned()]), SyncPolicy::Never, &mut |_| {})?;
    for file in &report.files {
        anyhow::ensure!(file.outcome == Outcome::Imported, "{:?}", file.outcome);
    }
    anyhow::ensure!(report.messages > 0, "nothing was imported");
    Ok(())
}
