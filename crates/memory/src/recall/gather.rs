//! Memories of all tiers that share words with a request, by way of their catalogues.

use super::catalogue::{Card, Catalogue};
use super::fit::{Holders, Plan};
use super::query::{Query, Reach};
use super::weigh::{is_live, weigh};
use crate::memories::{Memories, MemoryId, Tier};
use crate::topics::{TopicHead, TopicStore};
use crate::usage::{Counts, UsageLog};
use jiff::Timestamp;
use std::collections::HashMap;
use std::time::SystemTime;

/// Memories of each tier that are looked at more closely.
pub(super) const MOST_OF_TIER: usize = 40;
/// A request with more words that some memory speaks of is running text: chance matches add up.
const RUNNING_TEXT: usize = 12;

/// A memory that shares words with a request.
#[derive(Clone, Debug)]
pub(super) struct Ranked {
    pub(super) id: MemoryId,
    pub(super) head: TopicHead,
    /// How well it fits, weighed.
    pub(super) score: f32,
}

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sought<'a> {
    pub(super) text: &'a str,
    pub(super) reach: Reach,
    /// Memories of each tier.
    pub(super) most: usize,
}

/// What was found for a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// Best first, live ones only.
    pub(super) ranked: Vec<Ranked>,
    /// How much better than usual a memory must fit this request.
    strictness: f32,
    /// What a memory reaches that is about every word of the request.
    attainable: f32,
}

/// The share of a request that a memory must be about, where the request is too short, or its words too frequent here, for the floor.
const COVERED: f32 = 0.6;

impl Found {
    /// How well a memory must fit this request.
    pub(super) fn floor(&self, usual: f32) -> f32 {
        usual.min(COVERED * self.attainable) * self.strictness
    }
}

/// The catalogues of the tiers, opened as they are needed.
#[derive(Default)]
pub(super) struct Shelves {
    catalogues: HashMap<Tier, Catalogue>,
    served: HashMap<Tier, Served>,
}

/// How memories served, and of which file that was read.
#[derive(Default)]
struct Served {
    stamp: Option<(SystemTime, u64)>,
    counts: HashMap<String, Counts>,
}

/// A catalogue that failed.
struct Failure {
    tier: Tier,
    error: rusqlite::Error,
}

impl Shelves {
    /// Memories that share words with a request, at most so many of each tier.
    pub(super) fn find(&mut self, memories: &Memories, sought: Sought<'_>, now: Timestamp) -> Found {
        let query = Query::of(sought.text, sought.reach);
        if query.words.is_empty() {
            return Found::default();
        }
        let found = self.try_all(memories, |catalogues| {
            let mut holders = Holders::default();
            for (tier, catalogue) in catalogues {
                let add = catalogue.add_holders(&query, &mut holders);
                add.map_err(|error| Failure { tier: *tier, error })?;
            }
            for (tier, catalogue) in catalogues {
                let add = catalogue.add_respelt(&query, &mut holders);
                add.map_err(|error| Failure { tier: *tier, error })?;
            }
            let plan = Plan::of(&query, &holders);
            let mut cards: Vec<(Tier, Card)> = Vec::new();
            for (tier, catalogue) in catalogues {
                let best = catalogue.best(&plan, sought.most);
                let best = best.map_err(|error| Failure { tier: *tier, error })?;
                cards.extend(best.into_iter().map(|card| (*tier, card)));
            }
            Ok(((plan.breadth(), plan.attainable), cards))
        });
        let Some(((breadth, attainable), cards)) = found else { return Found::default() };
        let mut ranked = Vec::new();
        for (tier, Card { head, fit }) in cards {
            let Some(store) = memories.store(tier) else { continue };
            if !is_live(store.lifetimes(), &head, now) {
                continue;
            }
            let served = self.served(tier, store).get(&head.file).copied().unwrap_or_default();
            let score = fit * weigh(&head, (tier, &served), now);
            ranked.push(Ranked { id: MemoryId::new(tier, head.file.clone()), head, score });
        }
        ranked.sort_by(|a, b| {
            b.score
                .total_cmp(&a.score)
                .then_with(|| b.head.modified.cmp(&a.head.modified))
                .then_with(|| a.id.cmp(&b.id))
        });
        Found { ranked, strictness: strictness(&query, breadth), attainable }
    }

    /// The newest live memories of all tiers, at most so many.
    pub(super) fn newest(&mut self, memories: &Memories, most: usize, now: Timestamp) -> Vec<Ranked> {
        let found = self.try_all(memories, |catalogues| {
            let mut heads: Vec<(Tier, TopicHead)> = Vec::new();
            for (tier, catalogue) in catalogues {
                let newest = catalogue.newest(most);
                let newest = newest.map_err(|error| Failure { tier: *tier, error })?;
                heads.extend(newest.into_iter().map(|head| (*tier, head)));
            }
            Ok(heads)
        });
        let is_live = |(tier, head): &(Tier, TopicHead)| {
            memories.store(*tier).is_some_and(|store| is_live(store.lifetimes(), head, now))
        };
        let mut live: Vec<(Tier, TopicHead)> =
            found.unwrap_or_default().into_iter().filter(is_live).collect();
        live.sort_by(|(s, a), (t, b)| {
            b.modified.cmp(&a.modified).then_with(|| s.cmp(t)).then_with(|| a.file.cmp(&b.file))
        });
        live.truncate(most);
        let ranked = |(tier, head): (Tier, TopicHead)| Ranked {
            id: MemoryId::new(tier, head.file.clone()),
            head,
            score: 0.0,
        };
        live.into_iter().map(ranked).collect()
    }

    /// Brings all catalogues up to date and asks them. One that fails is made anew, then done without: nothing here is the truth, so
    /// nothing here is worth failing for.
    fn try_all<T>(
        &mut self,
        memories: &Memories,
        mut ask: impl FnMut(&[(Tier, &Catalogue)]) -> Result<T, Failure>,
    ) -> Option<T> {
        let mut failures: HashMap<Tier, u32> = HashMap::new();
        for _ in 0..3 * memories.stores().count().max(1) {
            let asked = self.refresh(memories, &failures).and_then(|()| {
                let catalogues: Vec<(Tier, &Catalogue)> = memories
                    .stores()
                    .filter_map(|(tier, _)| Some((tier, self.catalogues.get(&tier)?)))
                    .collect();
                // One state of each from the first look to the last: somebody else may take a memory in anew meanwhile.
                let mut held = Vec::with_capacity(catalogues.len());
                for (tier, catalogue) in &catalogues {
                    held.push(catalogue.hold_still().map_err(|error| Failure { tier: *tier, error })?);
                }
                ask(&catalogues)
            });
            match asked {
                Ok(found) => return Some(found),
                Err(Failure { tier, error }) => {
                    *failures.entry(tier).or_default() += 1;
                    if let Some(catalogue) = self.catalogues.remove(&tier) {
                        catalogue.discard(&error);
                    }
                }
            }
        }
        None
    }

    fn refresh(&mut self, memories: &Memories, failures: &HashMap<Tier, u32>) -> Result<(), Failure> {
        for (tier, store) in memories.stores() {
            if !store.folder().is_dir() {
                self.catalogues.remove(&tier);
                continue;
            }
            let catalogue = match self.catalogues.remove(&tier) {
                Some(open) => Some(open),
                None if failures.get(&tier).is_some_and(|failures| *failures > 1) => Catalogue::in_memory(),
                None => Catalogue::open(store),
            };
            let Some(mut catalogue) = catalogue else { continue };
            let synced = catalogue.sync(store);
            self.catalogues.insert(tier, catalogue);
            synced.map_err(|error| Failure { tier, error })?;
        }
        Ok(())
    }

    /// How the memories of a tier served; read again only when somebody wrote it.
    fn served(&mut self, tier: Tier, store: &TopicStore) -> &HashMap<String, Counts> {
        let path = store.folder().join(".throughline").join("usage.jsonl");
        let meta = path.metadata().ok();
        let stamp = meta.and_then(|meta| Some((meta.modified().ok()?, meta.len())));
        let served = self.served.entry(tier).or_default();
        if stamp.is_none() || stamp != served.stamp {
            let counts =
                if stamp.is_some() { UsageLog::of(store.folder()).counts() } else { Ok(HashMap::new()) };
            *served = Served { stamp, counts: counts.unwrap_or_default() };
        }
        &served.counts
    }
}

/// How much better than usual a memory must fit: to help with a question about the world, and to be more than a chance match in
/// running text.
fn strictness(query: &Query, breadth: usize) -> f32 {
    const GENERAL: f32 = 1.6;
    let general = if query.is_general { GENERAL } else { 1.0 };
    general * (breadth as f32 / RUNNING_TEXT as f32).max(1.0).sqrt()
}
