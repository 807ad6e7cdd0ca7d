//! Does resume follow the suffix and not the file?
//!
//! A 1 GB ledger whose newest checkpoint lies in its last 1 MB, against a ledger that is that last 1 MB alone.

use crate::measure::{alternate, mb, ratio, verdict};
use crate::{Setup, child, corpus};
use std::path::PathBuf;
use throughline_core::{Entry, Item, Message, Record, Role, SessionId};
use throughline_ledger::{Home, SyncPolicy, Writer, resume, session};

const LAST: u64 = 1 << 20;

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    println!("resume: a long ledger against its last 1 MB alone");
    let dir = tempfile::tempdir()?;
    let home = Home::new(dir.path());
    let long: u64 = if setup.quick { 64 << 20 } else { 1 << 30 };
    let big = build(&home, "big", long - LAST)?;
    let small = build(&home, "small", 0)?;
    let size = |path: &PathBuf| std::fs::metadata(path).map(|m| m.len());
    println!("  {:.0} MB against {:.2} MB", mb(size(&big)?), mb(size(&small)?));
    let resume_it = |path: &PathBuf| -> anyhow::Result<()> {
        let resumed = resume(&home, path)?;
        anyhow::ensure!(resumed.problems.is_empty(), "{:?}", resumed.problems);
        Ok(())
    };
    let (ours, baseline) = alternate(31, || resume_it(&big), || resume_it(&small))?;
    println!("  {ours:.2?} against {baseline:.2?}");
    let peak = child::peak_of(&["resume", &dir.path().to_string_lossy(), &big.to_string_lossy()])?;
    Ok(verdict("time", ratio(ours, baseline), 1.5, "×") + verdict("peak memory", peak, 64.0, " MB"))
}

/// `before` bytes of history, then 1 MB with a checkpoint in its middle that keeps messages of its first half.
fn build(home: &Home, id: &str, before: u64) -> anyhow::Result<PathBuf> {
    let meta = throughline_core::Meta::new(SessionId::new(id), corpus::time(0), "throughline");
    let mut writer = Writer::create(home, meta, SyncPolicy::Never)?;
    let mut n = 0;
    let mut fill = |writer: &mut Writer, until: u64| -> anyhow::Result<Vec<Entry>> {
        let mut last = Vec::new();
        while writer.end() < until {
            let messages: Vec<Message> = (n..n + 64).map(corpus::message).collect();
            n += 64;
            let records: Vec<Record> =
                messages.iter().map(|m| Record::Message(Box::new(m.clone()))).collect();
            let origins = writer.append(&records)?;
            last = messages.into_iter().zip(origins).map(|(m, at)| Entry::new(m, at)).collect();
        }
        Ok(last)
    };
    fill(&mut writer, before)?;
    let kept = fill(&mut writer, before + LAST / 2)?;
    let mut summary = Message::text(Role::User, "what happened so far ".repeat(200));
    summary.flags.summary = true;
    let mut items = vec![Item::New(Box::new(summary))];
    items.extend(kept.iter().map(Entry::to_item));
    let checkpoint = session::checkpoint(corpus::time(1), "notes", "auto", items);
    writer.append(&[Record::Checkpoint(Box::new(checkpoint))])?;
    fill(&mut writer, before + LAST)?;
    Ok(writer.path().to_owned())
}
