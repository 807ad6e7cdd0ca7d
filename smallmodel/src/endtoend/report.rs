//! What is told on the way, and what must hold.

use anyhow::Result;
use serde_json::Value;
use std::path::Path;
use throughline_core::{Checkpoint, Event, Record};
use throughline_ledger::{Home, LedgerError, session};
use throughline_memory::notes::{FAILED, UPDATED};

/// What must hold, and whether it did.
#[derive(Default)]
pub(super) struct Report {
    held: usize,
    broken: Vec<String>,
}

impl Report {
    /// Something that must hold.
    pub(super) fn must(&mut self, what: &str, holds: bool) {
        println!("  {} {what}", if holds { "ok  " } else { "FAIL" });
        if holds {
            self.held += 1;
        } else {
            self.broken.push(what.to_owned());
        }
    }

    /// The last line. Whether everything held.
    pub(super) fn conclude(&self, seconds: f64) -> bool {
        if self.broken.is_empty() {
            println!("\nPASS: {} checks held, {seconds:.0} s", self.held);
            return true;
        }
        println!("\nFAIL: {} of {} checks", self.broken.len(), self.held + self.broken.len());
        for what in &self.broken {
            println!("  {what}");
        }
        false
    }
}

/// A heading.
pub(super) fn heading(text: &str) {
    println!("\n== {text}");
}

/// A text that somebody wrote, set off.
pub(super) fn quote(title: &str, text: &str) {
    println!("  {title}:");
    for line in text.lines() {
        println!("  | {line}");
    }
}

/// A text in one line, cut where it gets long.
pub(super) fn brief(text: &str) -> String {
    const MOST: usize = 240;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{} …", &line[..at]),
        None => line,
    }
}

/// Who did what in the background, as the ledger has it.
#[derive(Default)]
pub(super) struct Told {
    seen: usize,
    /// Updates of the notes: by the model, by the offline scribe, refused.
    pub(super) notes: [usize; 3],
    /// Summaries that were asked of the model and came to an end of any kind.
    pub(super) summaries: usize,
}

impl Told {
    /// Passes over what a ledger has so far.
    pub(super) fn skip(&mut self, home: &Home, ledger: &Path) -> Result<()> {
        self.seen = events(home, ledger)?.len();
        Ok(())
    }

    /// Tells what is new in a ledger: receipts, updates of notes.
    pub(super) fn news(&mut self, home: &Home, ledger: &Path) -> Result<()> {
        let events = events(home, ledger)?;
        for event in &events[self.seen.min(events.len())..] {
            let data = &event.data;
            match event.name.as_str() {
                "receipt" => {
                    let usage = &data["usage"];
                    self.summaries += usize::from(data["job"] == "summary");
                    println!(
                        "  job {}: {}, {} request(s), {:.1} s, {} new + {} cached in, {} out; {} of {} bytes are the parent's",
                        words(&data["job"]),
                        words(&data["outcome"]),
                        data["requests"],
                        data["seconds"].as_f64().unwrap_or_default(),
                        usage["input"],
                        usage["cache_read"],
                        usage["output"],
                        data["shared_bytes"],
                        data["sent_bytes"],
                    );
                }
                UPDATED => {
                    let by_model = data["by"] == "model";
                    self.notes[usize::from(!by_model)] += 1;
                    println!("  notes written by the {}: {} tokens", words(&data["by"]), data["tokens"]);
                }
                FAILED => {
                    self.notes[2] += 1;
                    println!("  notes not written: {}", words(&data["why"]));
                }
                _ => {}
            }
        }
        self.seen = events.len();
        Ok(())
    }
}

fn events(home: &Home, ledger: &Path) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    each(home, ledger, |record| {
        if let Record::Event(event) = record {
            events.push(*event);
        }
    })?;
    Ok(events)
}

/// The newest checkpoint of a ledger.
pub(super) fn checkpoint(home: &Home, ledger: &Path) -> Result<Option<Checkpoint>> {
    let mut newest = None;
    each(home, ledger, |record| {
        if let Record::Checkpoint(checkpoint) = record {
            newest = Some(*checkpoint);
        }
    })?;
    Ok(newest)
}

fn each(home: &Home, ledger: &Path, mut take: impl FnMut(Record)) -> Result<()> {
    session::each_record(home, ledger, &mut |_, record| {
        take(record);
        Ok::<_, LedgerError>(())
    })?;
    Ok(())
}

fn words(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}
