use super::entry::Entry;
use super::handbook::{self, Desk};
use super::here::{Here, Which};
use super::print;
use crate::outln;
use crate::output::{self, bold, dim};
use serde_json::json;
use std::process::ExitCode;
use throughline_memory::MemoryId;
use throughline_memory::handbook::read::Found;
use throughline_memory::recall::Recall;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory search deploy friday\n  throughline memory search \"数据库\" --limit 3 --json"
)]
pub(crate) struct Search {
    /// The words.
    #[arg(required = true)]
    words: Vec<String>,
    /// At most so many.
    #[arg(short = 'n', long, default_value_t = 10)]
    limit: usize,
    /// Also those that another one took the place of, and those whose time is over.
    #[arg(long)]
    all: bool,
}

impl Search {
    pub(crate) fn run(self, here: &Here<'_>, which: &Which) -> anyhow::Result<ExitCode> {
        let words = self.words.join(" ");
        anyhow::ensure!(
            words.chars().any(char::is_alphanumeric),
            "{} holds no word to search for",
            print::quoted(&words)
        );
        anyhow::ensure!(self.limit > 0, "--limit 0 asks for nothing");
        // The first search among many memories makes their index.
        let busy = print::Busy::new(here.json(), "searching");
        let found = self.found(here, &words);
        drop(busy);
        let learnt = learnt(here, which, &words, self.limit)?;
        let uses = super::list::uses(here);
        if here.json() {
            let row = |(entry, score): &(Entry, f64)| {
                let mut value = entry.json(uses.get(&entry.id));
                value["score"] = json!(score);
                value["body"] = json!(entry.topic.body);
                value
            };
            let memories: Vec<_> = found.iter().map(row).collect();
            let handbook = learnt.as_ref().map(handbook::hits_json).unwrap_or_default();
            output::json(&json!({ "query": words, "memories": memories, "handbook": handbook }))?;
            return Ok(ExitCode::SUCCESS);
        }
        let learnt = learnt.filter(|learnt| !learnt.hits.is_empty());
        if found.is_empty() && learnt.is_none() {
            outln!("Nothing found.");
        }
        for (entry, _) in &found {
            print::row(entry, uses.get(&entry.id), here.now);
            if let Some(line) = telling(&entry.topic.body, &words, &entry.topic.description) {
                outln!("    {}", dim(output::fit(&print::line(line), output::width().saturating_sub(4))));
            }
        }
        if let Some(learnt) = learnt {
            let gap = if found.is_empty() { "" } else { "\n" };
            outln!("{gap}{}", bold("In the handbook"));
            handbook::print_hits(&learnt);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What the handbook says to it, unless memories of a tier are meant that has none.
fn learnt(here: &Here<'_>, which: &Which, words: &str, most: usize) -> anyhow::Result<Option<Found>> {
    if !which.has_handbook() {
        return Ok(None);
    }
    handbook::hits(&Desk::open(here.context, which)?, words, most).map(Some)
}

impl Search {
    /// The best first. What is over is found by its words alone: recall does not know it any more.
    fn found(&self, here: &Here<'_>, words: &str) -> Vec<(Entry, f64)> {
        let found: Vec<(MemoryId, f64)> = if self.all {
            let found = here.memories.search(words, usize::MAX).into_iter();
            let mut found: Vec<_> = found.map(|(id, found)| (id, found.score)).collect();
            found.sort_by(|(_, a), (_, b)| b.total_cmp(a));
            found
        } else {
            let found = Recall::new(here.memories.clone()).search(words, self.limit, here.now);
            found.into_iter().map(|found| (found.id, f64::from(found.score))).collect()
        };
        let entry = |(id, score): (MemoryId, f64)| {
            let store = here.memories.store(id.tier)?;
            let topic = store.read(&id.file).ok()?;
            Some((here.entry(id.tier, store, topic), score))
        };
        found.into_iter().filter_map(entry).take(self.limit).collect()
    }
}

/// The first line of a body that has a word which was searched for and that is not shown already.
fn telling<'a>(body: &'a str, words: &str, shown: &str) -> Option<&'a str> {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    body.lines().map(str::trim).filter(|line| !line.is_empty() && !shown.contains(line)).find(|line| {
        let line = line.to_lowercase();
        words.iter().any(|word| line.contains(word))
    })
}
