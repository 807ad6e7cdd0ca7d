//! Where the provider's cache was lost from, by whose doing, and whether that paid.

use serde::Deserialize as _;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use throughline_core::Stage;
use throughline_core::cost::{Charge, Price, Ttl};
use throughline_ledger::Home;

/// What was written down since it was last asked for: who changed what the model is sent.
pub(super) struct Ledger {
    home: Home,
    path: Option<PathBuf>,
    read: u64,
}

impl Ledger {
    pub(super) fn new(home: Home) -> Self {
        Self { home, path: None, read: 0 }
    }

    /// Everyone who changed something, in words; empty where nobody did.
    pub(super) fn changed_by(&mut self) -> anyhow::Result<Vec<&'static str>> {
        if self.path.is_none() {
            self.path = self.home.ledgers()?.into_iter().next();
        }
        let Some(path) = &self.path else { return Ok(Vec::new()) };
        let mut file = std::fs::File::open(path)?;
        file.seek(SeekFrom::Start(self.read))?;
        let mut new = Vec::new();
        file.read_to_end(&mut new)?;
        let whole = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.read += whole as u64;
        let mut by = Vec::new();
        for line in new[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            // Long texts lie outside the ledger, so that such a line is no record yet; who made it can be read all the same.
            let line: Value = serde_json::from_slice(line)?;
            match line["kind"].as_str() {
                Some("edit") => by.push(Stage::deserialize(&line["stage"]).map(name)?),
                Some("checkpoint") => by.push(name(Stage::Autocompact)),
                Some("message") if line["flags"]["meta"] == true => by.push("told"),
                Some(_) | None => {}
            }
        }
        by.sort_unstable();
        by.dedup();
        Ok(by)
    }
}

fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::Budget => "budget",
        Stage::Snip => "snip",
        Stage::Microcompact => "microcompact",
        Stage::Collapse => "collapse",
        Stage::Autocompact => "autocompact",
        Stage::User => "rewind",
        Stage::Import => "import",
    }
}

/// What the breaks of one kind came to.
#[derive(Clone, Copy, Default)]
struct Came {
    breaks: usize,
    paid: usize,
    rewritten: u64,
    freed: u64,
    saved: f64,
    lost: f64,
    dollars: f64,
}

/// The breaks of all sessions, by whose doing they were.
#[derive(Default)]
pub(super) struct Breaks(BTreeMap<String, Came>);

/// The requests of one session.
pub(super) struct Requests<'a> {
    pub(super) passive: &'a [Charge],
    pub(super) managed: &'a [Charge],
    /// Who changed something before each.
    pub(super) by: &'a [Vec<&'static str>],
    pub(super) price: &'a Price,
}

impl Breaks {
    /// Counts in one session. A break is judged until the next one: what it freed is no longer read in each request, against what had to
    /// be written beyond what the client's own request would have.
    pub(super) fn add(&mut self, requests: &Requests<'_>) {
        let Requests { passive, managed, by, price } = requests;
        let at: Vec<usize> = (1..managed.len()).filter(|at| is_break(managed, *at, price)).collect();
        for (nth, &number) in at.iter().enumerate() {
            let until = at.get(nth + 1).copied().unwrap_or(managed.len());
            let fresh = |charge: &Charge| charge.write + charge.uncached;
            let rewritten = fresh(&managed[number]).saturating_sub(fresh(&passive[number]));
            let less = |at: usize| passive[at].prompt() as i64 - managed[at].prompt() as i64;
            let freed = (less(number) - less(number - 1)).max(0) as u64;
            let ratios = price.ratios;
            let saved = ratios.read * freed as f64 * (until - number) as f64;
            let lost = (ratios.write(Ttl::Short) - ratios.read) * rewritten as f64;
            let who = match (by[number].is_empty(), is_break(passive, number, price)) {
                (false, _) => by[number].join(" and "),
                (true, true) => "the client itself".to_owned(),
                (true, false) => "nobody".to_owned(),
            };
            let came = self.0.entry(who).or_default();
            came.breaks += 1;
            came.paid += usize::from(saved >= lost);
            came.rewritten += rewritten;
            came.freed += freed;
            came.saved += saved;
            came.lost += lost;
            came.dollars += price.dollars(saved - lost).as_f64();
        }
    }

    pub(super) fn print(&self) {
        println!(
            "  where the beginning of a request was not what the provider had, each until the next such request:"
        );
        for (who, came) in &self.0 {
            println!(
                "    {who:<26} {:>4} times, {:>4} of them paid; written again {:>9}, freed {:>10}; weighted tokens saved {:>11.0}, lost {:>9.0} ({:+.2}$)",
                came.breaks, came.paid, came.rewritten, came.freed, came.saved, came.lost, came.dollars
            );
        }
    }
}

/// Whether a request begins otherwise than the one before.
fn is_break(charges: &[Charge], at: usize, price: &Price) -> bool {
    charges[at].read < price.cache.readable(charges[at - 1].prompt())
}
