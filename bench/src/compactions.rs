//! Do compactions copy what they keep?
//!
//! Ten compactions that keep the same 40,000 tokens of messages, against the bytes of those messages.

use crate::measure::verdict;
use crate::{Setup, corpus};
use throughline_core::{Entry, Item, Message, Meta, Record, Role, SessionId};
use throughline_ledger::{Home, SyncPolicy, Writer, resume, session};

pub(crate) fn run(_: &Setup) -> anyhow::Result<usize> {
    println!("compactions: ten of them over the same kept messages");
    let dir = tempfile::tempdir()?;
    let home = Home::new(dir.path());
    let mut writer = Writer::create(
        &home,
        Meta::new(SessionId::new("s"), corpus::time(0), "throughline"),
        SyncPolicy::Never,
    )?;
    let records: Vec<Record> = (0..160).map(|n| Record::Message(Box::new(corpus::message(n)))).collect();
    writer.append(&records)?;
    let kept = resume(&home, writer.path())?.view.entries().to_vec();
    let kept_bytes = writer.end();
    let before = writer.end();
    let mut summaries = 0;
    for n in 0..10 {
        let summary = Message::text(Role::User, format!("summary {n} ").repeat(1_000));
        summaries += summary.to_text().len() as u64;
        let mut items = vec![Item::New(Box::new(summary))];
        items.extend(kept.iter().map(Entry::to_item));
        let checkpoint = session::checkpoint(corpus::time(1), "notes", "auto", items);
        writer.append(&[Record::Checkpoint(Box::new(checkpoint))])?;
    }
    let grown = writer.end() - before;
    anyhow::ensure!(
        resume(&home, writer.path())?.view.entries().len() == kept.len() + 1,
        "the view is not whole"
    );
    let beyond = grown.saturating_sub(summaries);
    println!("  grew by {grown} bytes: {summaries} of summaries, {beyond} of references");
    println!("  ten copies of the kept messages would have been {} bytes", kept_bytes * 10);
    let per_message = beyond as f64 / (10 * kept.len()) as f64;
    Ok(verdict("references per kept message and compaction", per_message, 128.0, " bytes"))
}
