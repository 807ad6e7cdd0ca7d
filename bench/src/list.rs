//! Does a list read tails only?
//!
//! Listing 10,000 sessions against reading the last 16 KB of the same files.

use crate::measure::{alternate, ratio, verdict};
use crate::{Setup, corpus};
use std::fs::File;
use std::os::unix::fs::FileExt;
use throughline_core::{Meta, Record, SessionId};
use throughline_ledger::{Home, SyncPolicy, TAIL, Writer, list};

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    let sessions = if setup.quick { 1_000 } else { 10_000 };
    println!("list: {sessions} sessions against reading their last 16 KB");
    let dir = tempfile::tempdir()?;
    let home = Home::new(dir.path());
    for n in 0..sessions {
        let meta = Meta::new(SessionId::new(format!("s{n:05}")), corpus::time(n * 3600), "claude");
        let mut writer = Writer::create(&home, meta, SyncPolicy::Never)?;
        let records: Vec<Record> = (0..32).map(|m| Record::Message(Box::new(corpus::message(m)))).collect();
        writer.append(&records)?;
    }
    let mut listed = 0;
    let mut read = 0;
    let (ours, baseline) = alternate(
        11,
        || {
            listed = list(&home)?.len();
            Ok(())
        },
        || {
            read = 0;
            let mut buffer = vec![0; TAIL as usize];
            for path in home.ledgers()? {
                let file = File::open(&path)?;
                let end = file.metadata()?.len();
                let start = end.saturating_sub(TAIL);
                file.read_exact_at(&mut buffer[..(end - start) as usize], start)?;
                read += 1;
            }
            Ok(())
        },
    )?;
    anyhow::ensure!(listed == read, "{listed} listed, {read} read");
    println!("  {ours:.2?} against {baseline:.2?}");
    Ok(verdict("time", ratio(ours, baseline), 2.0, "×"))
}
