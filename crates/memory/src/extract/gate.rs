//! The write gate: the only way from extraction to the folders of memories.
//!
//! **Only the user's own words are ever saved.** A proposal must quote them; the quote must stand in what the user typed; and what is
//! written is made of the sentences that it stands in. What a model adds to them does not pass.
//!
//! **Nothing is altered or forgotten unless the user asks for it**, in words that name the memory. What people wrote by hand is not even
//! altered then: the new words take its place, and the old file stays.

use super::judge::{Draft, Ruling, Scene};
use super::limits::ExtractLimits;
use super::proposal::{Action, Applied, Did, Proposal, Refused, label_of};
use super::refusal::Refusal;
use super::said::Said;
use super::target::Known;
use super::terms::{guards, subjects};
use super::wish::Wish;
use crate::topics::{Added, By, Change, Meta, NewTopic, Source, Topic, TopicError};
use crate::{Memories, MemoriesError, MemoryId, Tier};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::path::Path;
use throughline_core::classify::without_lead;
use throughline_core::{MessageId, SessionId};

/// Memories of a tier that are compared with what is proposed.
const NEAR: usize = 24;
/// The share of subjects at which two rules are about the same.
const SAME: f64 = 0.8;

/// What the gate is set up with.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) memories: &'a Memories,
    pub(super) session: &'a SessionId,
    pub(super) instructions: &'a [String],
    pub(super) recalled: &'a [String],
    /// Messages whose wishes were granted already.
    pub(super) granted: &'a [MessageId],
    pub(super) now: Timestamp,
    pub(super) zone: &'a TimeZone,
    pub(super) root: Option<&'a Path>,
    pub(super) limits: &'a ExtractLimits,
}

/// Judges proposals, and writes what passes, within the limits of one turn.
pub(super) struct Gate<'a> {
    setting: Setting<'a>,
    said: &'a [Said],
    old: usize,
    adds: usize,
    changes: usize,
    bytes: usize,
}

impl<'a> Gate<'a> {
    /// A gate for one turn. The first `old` messages were looked at before.
    pub(super) fn new(setting: Setting<'a>, said: &'a [Said], old: usize) -> Self {
        Self { setting, said, old, adds: 0, changes: 0, bytes: 0 }
    }

    /// Judges a proposal, and writes what passes.
    pub(super) fn pass(&mut self, proposal: &Proposal) -> Result<Applied, Refused> {
        let refused = |why| Refused { what: proposal.label(), why };
        let mut query = proposal.quotes.join("\n");
        query.push_str(&format!("\n{}\n{}", proposal.name, proposal.description));
        let mut known = self.near(&query);
        if let Action::Update { file } | Action::Forget { file } = &proposal.action {
            self.include(file, &mut known);
        }
        let ruling = self.scene(&known).judge(proposal).map_err(refused)?;
        if let (Ruling::Forget { .. }, true) = (&ruling, self.is_granted(proposal)) {
            return Err(refused(Refusal::NotAsked));
        }
        self.write(ruling, &known).map_err(refused)
    }

    /// Does what a wish to forget asks for.
    pub(super) fn forget(&mut self, wish: &Wish) -> Result<Applied, Refused> {
        let refused = |why| Refused { what: label_of(wish.what()), why };
        let known = self.near(wish.what());
        let ruling = self.scene(&known).forget(wish, None).map_err(refused)?;
        self.write(ruling, &known).map_err(refused)
    }

    fn scene<'s>(&'s self, known: &'s [Known]) -> Scene<'s> {
        let Setting { session, instructions, recalled, now, zone, root, .. } = self.setting;
        Scene { said: self.said, old: self.old, known, instructions, recalled, session, now, zone, root }
    }

    fn is_granted(&self, proposal: &Proposal) -> bool {
        let is_in = |said: &&Said| proposal.quotes.iter().any(|quote| said.find(quote).is_some());
        self.said.iter().filter(is_in).any(|said| self.setting.granted.contains(&said.message))
    }

    /// The memories that share words with a text, of every tier.
    fn near(&self, text: &str) -> Vec<Known> {
        let mut known = Vec::new();
        for (tier, store) in self.setting.memories.stores() {
            for found in store.search(text, NEAR).unwrap_or_default() {
                if found.topic.meta.superseded_by.is_none() {
                    known.push(Known {
                        id: MemoryId::new(tier, found.topic.file.clone()),
                        topic: found.topic,
                    });
                }
            }
        }
        known
    }

    /// Adds the memory of a file's name, if it is there: a name alone, never a path.
    fn include(&self, file: &str, known: &mut Vec<Known>) {
        let Ok(id) = file.parse::<MemoryId>() else { return };
        let tiers: Vec<Tier> = if file.contains('/') { vec![id.tier] } else { Tier::ALL.to_vec() };
        for tier in tiers {
            let id = MemoryId::new(tier, id.file.clone());
            if known.iter().all(|known| known.id != id)
                && let Ok(topic) = self.setting.memories.read(&id)
                && topic.meta.superseded_by.is_none()
            {
                known.push(Known { id, topic });
            }
        }
    }

    fn write(&mut self, ruling: Ruling, known: &[Known]) -> Result<Applied, Refusal> {
        match ruling {
            Ruling::Add(draft) => self.add(draft, known),
            Ruling::Replace { target, draft } => {
                let topic = self.setting.memories.read(&target).map_err(folder)?;
                self.replace(&Known { id: target, topic }, draft)
            }
            Ruling::Forget { target, quote } => {
                self.count_change()?;
                let name =
                    known.iter().find(|known| known.id == target).map(|known| known.topic.name.clone());
                self.setting.memories.forget(&target, self.setting.now).map_err(folder)?;
                let name = name.unwrap_or_else(|| target.file.clone());
                Ok(Applied {
                    id: target,
                    name,
                    did: Did::Forgotten,
                    quote: label_of(&quote),
                    redacted: Vec::new(),
                })
            }
        }
    }

    fn add(&mut self, draft: Draft, known: &[Known]) -> Result<Applied, Refusal> {
        if let Some(same) = known.iter().find(|known| is_about_same(&draft.words.body, &known.topic)) {
            return self.meet(same, draft);
        }
        let tier = self.tier(draft.tier)?;
        let bytes = draft.words.body.len() + draft.words.description.len() + draft.words.name.len();
        if self.adds >= self.setting.limits.adds || self.bytes + bytes > self.setting.limits.bytes {
            return Err(Refusal::Cap);
        }
        let quote = draft.source.quote.clone();
        let name = label_of(&draft.words.name);
        match self.setting.memories.add_to(tier, new_topic(&draft)).map_err(folder)? {
            Added::Saved(saved) => {
                self.adds += 1;
                self.bytes += bytes;
                Ok(Applied {
                    id: MemoryId::new(tier, saved.file),
                    name,
                    did: Did::Saved,
                    quote: label_of(&quote),
                    redacted: saved.redacted.iter().map(|kind| (*kind).to_owned()).collect(),
                })
            }
            Added::Similar(head) => {
                let id = MemoryId::new(tier, head.file);
                let topic = self.setting.memories.read(&id).map_err(folder)?;
                self.meet(&Known { id, topic }, draft)
            }
        }
    }

    /// A memory is about the same: the user says it again, or says otherwise.
    fn meet(&mut self, same: &Known, draft: Draft) -> Result<Applied, Refusal> {
        let applied = |did| Applied {
            id: same.id.clone(),
            name: label_of(&same.topic.name),
            did,
            quote: label_of(&draft.source.quote),
            redacted: Vec::new(),
        };
        if is_known(&same.topic, &draft.source) {
            return Ok(applied(Did::Known));
        }
        if limits_of(&draft.words.body) != limits_of(&same.topic.body) {
            return self.replace(same, draft);
        }
        self.count_change()?;
        let store = self
            .setting
            .memories
            .store(same.id.tier)
            .ok_or(Refusal::NoMemory { file: same.id.to_string() })?;
        store.confirm(&same.id.file, draft.source.clone()).map_err(|error| folder(error.into()))?;
        Ok(applied(Did::Confirmed))
    }

    /// The user says something else now. What people wrote stays as a file, and the new words take its place.
    fn replace(&mut self, target: &Known, draft: Draft) -> Result<Applied, Refusal> {
        let applied = |id: MemoryId, name: &str, did, redacted: &[&str]| Applied {
            id,
            name: label_of(name),
            did,
            quote: label_of(&draft.source.quote),
            redacted: redacted.iter().map(|kind| (*kind).to_owned()).collect(),
        };
        if is_known(&target.topic, &draft.source) {
            return Ok(applied(target.id.clone(), &target.topic.name, Did::Known, &[]));
        }
        self.count_change()?;
        let (file, tier) = (&target.id.file, target.id.tier);
        if is_ours(&target.topic.meta) {
            let mut meta = target.topic.meta.clone();
            meta.evidence = 1;
            meta.sources.push(draft.source.clone());
            meta.anchors.clone_from(&draft.anchors);
            let change = Change {
                kind: Some(draft.kind),
                name: Some(draft.words.name.clone()),
                description: Some(draft.words.description.clone()),
                body: Some(draft.words.body.clone()),
                meta: Some(meta),
            };
            let saved = self.setting.memories.update(&target.id, change).map_err(folder)?;
            return Ok(applied(target.id.clone(), &draft.words.name, Did::Changed, &saved.redacted));
        }
        let store =
            self.setting.memories.store(tier).ok_or(Refusal::NoMemory { file: target.id.to_string() })?;
        match store.supersede(file, new_topic(&draft)).map_err(|error| folder(error.into()))? {
            Added::Saved(saved) => {
                let did = Did::Superseded { old: file.clone() };
                Ok(applied(MemoryId::new(tier, saved.file), &draft.words.name, did, &saved.redacted))
            }
            Added::Similar(head) => {
                let id = MemoryId::new(tier, head.file);
                Ok(applied(id, &head.name, Did::Known, &[]))
            }
        }
    }

    fn count_change(&mut self) -> Result<(), Refusal> {
        if self.changes >= self.setting.limits.changes {
            return Err(Refusal::Cap);
        }
        self.changes += 1;
        Ok(())
    }

    /// The tier, or the project's where it is not there.
    fn tier(&self, wanted: Tier) -> Result<Tier, Refusal> {
        let has = |tier: &Tier| self.setting.memories.store(*tier).is_some();
        [wanted, Tier::Project]
            .into_iter()
            .find(has)
            .ok_or_else(|| Refusal::Folder("memory is switched off".to_owned()))
    }
}

fn new_topic(draft: &Draft) -> NewTopic {
    NewTopic {
        kind: draft.kind,
        name: draft.words.name.clone(),
        description: draft.words.description.clone(),
        body: draft.words.body.clone(),
        meta: Meta {
            created: Some(draft.source.at),
            evidence: 1,
            sources: vec![draft.source.clone()],
            anchors: draft.anchors.clone(),
            ..Meta::default()
        },
    }
}

/// Whether a memory was made from what was said in sessions. What people wrote, imported, or whoever else did, is not ours to alter.
fn is_ours(meta: &Meta) -> bool {
    let is_ours = |source: &Source| match source.by {
        By::User | By::Agent => true,
        By::Person | By::Import => false,
    };
    !meta.sources.is_empty() && meta.sources.iter().all(is_ours)
}

/// Whether a memory rests on this very message already.
fn is_known(topic: &Topic, source: &Source) -> bool {
    let is_same = |known: &Source| {
        known.session == source.session
            && source.messages.iter().any(|message| known.messages.contains(message))
    };
    topic.meta.sources.iter().any(is_same)
}

/// The rule of a body: what stands before its reasons.
fn rule_of(body: &str) -> &str {
    body.split("\n\n").next().unwrap_or(body)
}

/// What limits a rule, in any order.
fn limits_of(body: &str) -> Vec<String> {
    let mut limits = guards(without_lead(rule_of(body)));
    limits.sort();
    limits
}

fn is_about_same(body: &str, topic: &Topic) -> bool {
    let (new, old) = (subjects(rule_of(body)), subjects(rule_of(&topic.body)));
    let (shared, all) = (new.intersection(&old).count(), new.union(&old).count());
    shared >= 2 && shared as f64 >= SAME * all as f64
}

fn folder(error: MemoriesError) -> Refusal {
    match error {
        MemoriesError::Topic(TopicError::NoTopic { file }) => Refusal::NoMemory { file },
        refused @ MemoriesError::Topic(TopicError::Credential { .. }) => {
            Refusal::Credential(refused.to_string())
        }
        other @ (MemoriesError::NoTier { .. } | MemoriesError::Topic(_) | MemoriesError::Usage(_)) => {
            Refusal::Folder(other.to_string())
        }
    }
}
