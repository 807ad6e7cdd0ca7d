use super::ask::{Answer, ask, can_ask, wrong_usage};
use super::here::{Here, note, tell_redacted};
use super::print;
use crate::outln;
use crate::output::{self, bold, cyan, dim, green, red};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use std::process::ExitCode;
use throughline_memory::topics::{Contradiction, Proposal, Topic, TopicStore};
use throughline_memory::{MemoryId, Tier};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory merge                                   (what says much the same; asks for each)\n  throughline memory merge feedback_a.md feedback_b.md --yes\n  throughline memory merge --json                            (proposals only: nothing is changed without --yes)"
)]
pub(crate) struct Merge {
    /// The memories to make one [default: those that say much the same].
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Do it without a question.
    #[arg(short = 'y', long)]
    yes: bool,
}

/// Memories of a tier that could be one.
struct Offer<'h> {
    tier: Tier,
    store: &'h TopicStore,
    proposal: Proposal,
}

impl Offer<'_> {
    fn ids(&self) -> Vec<MemoryId> {
        self.proposal.files.iter().map(|file| MemoryId::new(self.tier, file.clone())).collect()
    }

    fn json(&self, merged: Option<&MemoryId>) -> Value {
        let into = &self.proposal.into;
        json!({
            "tier": self.tier, "ids": self.ids(), "similarity": self.proposal.similarity, "why": self.proposal.why,
            "into": { "type": into.kind, "name": into.name, "description": into.description, "body": into.body },
            "merged": merged,
        })
    }
}

impl Merge {
    pub(crate) fn run(self, here: &Here<'_>) -> anyhow::Result<ExitCode> {
        let busy = print::Busy::new(here.json(), "comparing");
        let (offers, contradictions) = self.offers(here)?;
        drop(busy);
        if !self.yes && !here.json() && !offers.is_empty() && !can_ask(here) {
            wrong_usage(
                "merging changes memories, and nobody can be asked here: give --yes to do it, or --json to see the proposals",
            );
        }
        let mut rows = Vec::new();
        let mut merged = 0;
        for (at, offer) in offers.iter().enumerate() {
            if here.json() {
                let done = if self.yes { Some(self.merge(here, offer)?) } else { None };
                rows.push(offer.json(done.as_ref()));
                continue;
            }
            outln!("{}", bold(format!("{} of {}", at + 1, offers.len())));
            show(offer)?;
            let answer = if self.yes { Answer::Yes } else { ask("Make them one? [y/N/q]")? };
            match answer {
                Answer::Yes => {
                    let id = self.merge(here, offer)?;
                    outln!("{} They are {} now.\n", green("✓"), cyan(print::line(&id.to_string())));
                    merged += 1;
                }
                Answer::No => outln!(),
                Answer::Stop => break,
            }
        }
        if here.json() {
            output::json(&json!({ "proposals": rows, "contradictions": contradictions }))?;
            return Ok(ExitCode::SUCCESS);
        }
        if offers.is_empty() {
            outln!("No memories say much the same.");
        }
        for contradiction in &contradictions {
            note(&format!(
                "these are not made one, for they disagree: {}",
                print::line(contradiction["why"].as_str().unwrap_or_default())
            ));
        }
        if merged > 0 {
            outln!("The old files stay, superseded. `{}` takes the last one back.", here.command("undo"));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn offers<'h>(&self, here: &'h Here<'_>) -> anyhow::Result<(Vec<Offer<'h>>, Vec<Value>)> {
        let mut contradictions = Vec::new();
        if self.ids.is_empty() {
            let mut offers = Vec::new();
            for (tier, store) in here.memories.stores() {
                let clusters = store.clusters(here.now)?;
                offers.extend(clusters.proposals.into_iter().map(|proposal| Offer { tier, store, proposal }));
                contradictions.extend(clusters.contradictions.iter().map(|one| contradiction(tier, one)));
            }
            return Ok((offers, contradictions));
        }
        let mut entries = Vec::new();
        for id in &self.ids {
            entries.push(here.one(id)?);
        }
        let tier = entries[0].id.tier;
        if let Some(other) = entries.iter().find(|entry| entry.id.tier != tier) {
            anyhow::bail!(
                "{} and {} are of different tiers; only memories of one can be made one",
                print::line(&entries[0].id.to_string()),
                print::line(&other.id.to_string())
            );
        }
        let store = here.store(tier)?;
        let files: Vec<&str> = entries.iter().map(|entry| entry.id.file.as_str()).collect();
        Ok((vec![Offer { tier, store, proposal: store.propose(&files)? }], contradictions))
    }

    fn merge(&self, here: &Here<'_>, offer: &Offer<'_>) -> anyhow::Result<MemoryId> {
        let saved = offer.store.merge(&offer.proposal)?;
        tell_redacted(&saved.redacted);
        if !here.json() {
            here.tell_unrecorded(saved.unrecorded.as_deref());
        }
        Ok(MemoryId::new(offer.tier, saved.file))
    }
}

pub(super) fn contradiction(tier: Tier, one: &Contradiction) -> Value {
    json!({
        "newer": MemoryId::new(tier, one.newer.clone()), "older": MemoryId::new(tier, one.older.clone()),
        "similarity": one.similarity, "why": one.why,
    })
}

/// The memories before, and the one after.
fn show(offer: &Offer<'_>) -> anyhow::Result<()> {
    let width = output::width();
    outln!("{}", dim(output::fit(&print::line(&offer.proposal.why), width)));
    let mut newest: Option<Topic> = None;
    for file in &offer.proposal.files {
        let topic = offer.store.read(file)?;
        let id = MemoryId::new(offer.tier, file.clone());
        outln!("  {}  {}", cyan(print::line(&id.to_string())), print::line(&topic.name));
        for row in print::paragraphs(&topic.body, "    ", width) {
            outln!("{row}");
        }
        newest.get_or_insert(topic);
    }
    let into = &offer.proposal.into;
    outln!("  {} {}", bold("together:"), print::line(&into.name));
    let before = newest.map(|topic| topic.body).unwrap_or_default();
    // What the newest does not say already is set off.
    let (before, after) = (format!("{before}\n"), format!("{}\n", into.body));
    for change in TextDiff::from_lines(&before, &after).iter_all_changes() {
        let text = change.value().trim_end_matches('\n');
        let (sign, paint): (&str, fn(String) -> String) = match change.tag() {
            ChangeTag::Equal => (" ", |text| text),
            ChangeTag::Insert => ("+", |text| green(text)),
            ChangeTag::Delete => ("-", |text| red(text)),
        };
        for row in print::paragraphs(text, &format!("  {sign} "), width) {
            outln!("{}", paint(row));
        }
        if text.is_empty() {
            outln!("  {sign}");
        }
    }
    Ok(())
}
