//! All memories that belong to a folder: its project's, those of the worktree, the team's, and those that hold everywhere.
//!
//! Each tier is a folder of its own ([`TopicStore`]). Whoever writes says into which.

mod id;
mod session_index;
mod told;

pub use id::{MemoryId, Tier};
pub use session_index::SessionIndex;
pub use told::{SaidElsewhere, ToldIndex};

use crate::project::Project;
use crate::topics::{
    Added, Change, Forgotten, Found, Lifetimes, NewTopic, Problem, Saved, Topic, TopicError, TopicHead,
    TopicStore,
};
use crate::usage::{UsageError, UsageLog, Use, Used};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use throughline_ledger::Home;

/// Where the tiers are, as far as the user says so. A repository never does (M1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPlaces {
    /// The folder of the project's memories, instead of `projects/<slug>/memory`. `{project}` in it is the slug; without it all
    /// projects share the folder.
    pub project: Option<PathBuf>,
    /// The folder that the team shares, instead of `team` in the project's. `{project}` in it is the slug.
    pub team: Option<PathBuf>,
    /// The tiers that are there at all.
    pub tiers: BTreeSet<Tier>,
    /// How long memories hold.
    pub lifetimes: Lifetimes,
    /// Whether changes are recorded, so that they can be undone.
    pub keeps_history: bool,
}

impl Default for MemoryPlaces {
    fn default() -> Self {
        Self {
            project: None,
            team: None,
            tiers: Tier::ALL.into(),
            lifetimes: Lifetimes::default(),
            keeps_history: true,
        }
    }
}

impl MemoryPlaces {
    /// None at all: memory is off.
    pub fn off() -> Self {
        Self { tiers: BTreeSet::new(), ..Self::default() }
    }
}

/// Why memories can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum MemoriesError {
    /// The tier is not there: it is switched off, or the folder is no linked worktree.
    #[error("there are no {tier} memories here; `memory` in the configuration says which there are")]
    NoTier {
        /// The tier.
        tier: Tier,
    },
    /// One of its files can't be.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// Its use can't be.
    #[error(transparent)]
    Usage(#[from] UsageError),
}

/// The memories of a folder, by tier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memories {
    stores: Vec<(Tier, TopicStore)>,
}

/// A memory in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Which.
    pub id: MemoryId,
    /// What its first lines say.
    #[serde(flatten)]
    pub head: TopicHead,
}

impl Listed {
    /// `- [type] file.md (time): description` (M4).
    pub fn manifest_line(&self) -> String {
        let Self { id, head } = self;
        let kind = head.kind.map(|kind| format!("[{kind}] ")).unwrap_or_default();
        let lead = format!("- {kind}{id} ({:.0})", head.modified);
        if head.description.is_empty() { lead } else { format!("{lead}: {}", head.description) }
    }
}

/// What was found for a file's name or for words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Nothing.
    Nothing,
    /// This one and no other is meant.
    One(Box<Listed>),
    /// These may be meant, the nearest first.
    Several(Vec<Listed>),
}

/// Memories that words find in one tier.
const FOUND: usize = 8;

impl Memories {
    /// Those of a project. Nothing need be there, and nothing is made.
    pub fn open(home: &Home, project: &Project, places: &MemoryPlaces) -> Self {
        let of_project = project.folder(home);
        let placed = |path: &Path| match path.to_str() {
            Some(text) => PathBuf::from(text.replace("{project}", project.slug.as_str())),
            None => path.to_owned(),
        };
        let main = places.project.as_deref().map_or_else(|| of_project.join("memory"), placed);
        let mut stores: Vec<(Tier, TopicStore)> = Vec::new();
        for tier in Tier::ALL.into_iter().filter(|tier| places.tiers.contains(tier)) {
            let folder = match (tier, &project.worktree) {
                (Tier::Project, _) => main.clone(),
                (Tier::Worktree, Some(worktree)) => {
                    of_project.join("worktrees").join(worktree.slug.as_str()).join("memory")
                }
                (Tier::Worktree, None) => continue,
                (Tier::Team, _) => places.team.as_deref().map_or_else(|| main.join("team"), placed),
                (Tier::Global, _) => home.root().join("memory"),
            };
            // One folder is one tier, whatever was said.
            if stores.iter().all(|(_, store)| store.folder() != folder) {
                let store = TopicStore::open(folder).with_lifetimes(places.lifetimes);
                stores.push((tier, if places.keeps_history { store } else { store.without_history() }));
            }
        }
        Self { stores }
    }

    /// Those that hold everywhere, where nobody says which project it is.
    pub fn of_no_project(home: &Home, places: &MemoryPlaces) -> Self {
        let global = places.tiers.contains(&Tier::Global).then(|| {
            let store = TopicStore::open(home.root().join("memory")).with_lifetimes(places.lifetimes);
            (Tier::Global, if places.keeps_history { store } else { store.without_history() })
        });
        Self { stores: global.into_iter().collect() }
    }

    /// These, in this order.
    pub fn of(stores: Vec<(Tier, TopicStore)>) -> Self {
        Self { stores }
    }

    /// Whether there are no tiers: memory is off.
    pub fn is_off(&self) -> bool {
        self.stores.is_empty()
    }

    /// The tiers, the nearest first.
    pub fn stores(&self) -> impl Iterator<Item = (Tier, &TopicStore)> {
        self.stores.iter().map(|(tier, store)| (*tier, store))
    }

    /// One tier.
    pub fn store(&self, tier: Tier) -> Option<&TopicStore> {
        self.stores().find(|(known, _)| *known == tier).map(|(_, store)| store)
    }

    fn of_tier(&self, tier: Tier) -> Result<&TopicStore, MemoriesError> {
        self.store(tier).ok_or(MemoriesError::NoTier { tier })
    }

    /// When memories of a tier were shown and used.
    pub fn usage(&self, tier: Tier) -> Option<UsageLog> {
        self.store(tier).map(|store| UsageLog::of(store.folder()))
    }

    /// Writes down what became of memories in a session.
    pub fn record_use(
        &self,
        ids: &[MemoryId],
        what: Used,
        (session, at): (Option<&str>, Timestamp),
    ) -> Result<(), MemoriesError> {
        for (tier, store) in self.stores() {
            let of_tier = ids.iter().filter(|id| id.tier == tier);
            let uses: Vec<Use> = of_tier
                .map(|id| Use { at, session: session.map(str::to_owned), file: id.file.clone(), what })
                .collect();
            UsageLog::of(store.folder()).record(&uses)?;
        }
        Ok(())
    }

    /// One memory.
    pub fn read(&self, id: &MemoryId) -> Result<Topic, MemoriesError> {
        Ok(self.of_tier(id.tier)?.read(&id.file)?)
    }

    /// Saves a memory in a tier, unless that has one that says much the same.
    pub fn add_to(&self, tier: Tier, new: NewTopic) -> Result<Added, MemoriesError> {
        Ok(self.of_tier(tier)?.add(new)?)
    }

    /// Changes a memory.
    pub fn update(&self, id: &MemoryId, change: Change) -> Result<Saved, MemoriesError> {
        Ok(self.of_tier(id.tier)?.update(&id.file, change)?)
    }

    /// Forgets a memory.
    pub fn forget(&self, id: &MemoryId, now: Timestamp) -> Result<Forgotten, MemoriesError> {
        Ok(self.of_tier(id.tier)?.forget(&id.file, now)?)
    }

    /// What there is, the nearest tier first and in each the newest first; and what is not in order.
    pub fn list(&self) -> (Vec<Listed>, Vec<Problem>) {
        let mut all = Vec::new();
        let mut problems = Vec::new();
        for (tier, store) in self.stores() {
            let id = |file: &str| MemoryId::new(tier, file);
            match store.list() {
                Ok((heads, flaws)) => {
                    all.extend(heads.into_iter().map(|head| Listed { id: id(&head.file), head }));
                    problems.extend(
                        flaws
                            .into_iter()
                            .map(|flaw| Problem { file: id(&flaw.file).to_string(), what: flaw.what }),
                    );
                }
                Err(error) => problems.push(Problem { file: tier.to_string(), what: error.to_string() }),
            }
        }
        (all, problems)
    }

    /// The memories that share words with a query, the nearest tier first and in each the best first; also those that are over. A
    /// tier that can't be searched does not keep the others from being.
    pub fn search(&self, query: &str, limit: usize) -> Vec<(MemoryId, Found)> {
        self.stores().flat_map(|(tier, store)| search_in(tier, store, query)).take(limit).collect()
    }

    /// Which memory is meant by a file's name, a memory's name, or words of it.
    pub fn find(&self, text: &str) -> Lookup {
        let text = text.trim();
        if text.is_empty() {
            return Lookup::Nothing;
        }
        let named = self.named(text);
        if !named.is_empty() {
            return Lookup::of(named, true);
        }
        if text.ends_with(".md") && !text.contains(char::is_whitespace) {
            // A file that is not there is not another one with similar words.
            return Lookup::Nothing;
        }
        let lower = text.to_lowercase();
        let found: Vec<(MemoryId, Found)> =
            self.stores().flat_map(|(tier, store)| search_in(tier, store, text).take(FOUND)).collect();
        let is_called = |(_, found): &&(MemoryId, Found)| found.topic.name.to_lowercase() == lower;
        let has_all = |(_, found): &&(MemoryId, Found)| {
            let topic = &found.topic;
            let words = format!("{}\n{}\n{}", topic.name, topic.description, topic.body).to_lowercase();
            lower.split_whitespace().all(|word| words.contains(word))
        };
        let listed = |found: Vec<&(MemoryId, Found)>| -> Vec<Listed> {
            found
                .into_iter()
                .map(|(id, found)| Listed { id: id.clone(), head: found.topic.clone().into() })
                .collect()
        };
        let called: Vec<_> = found.iter().filter(is_called).collect();
        let whole: Vec<_> = found.iter().filter(has_all).collect();
        if !called.is_empty() {
            Lookup::of(listed(called), true)
        } else if !whole.is_empty() {
            Lookup::of(listed(whole), true)
        } else {
            // Some of the words alone are no proof, even of a single one.
            Lookup::of(listed(found.iter().collect()), false)
        }
    }

    /// Memories of this file name, with or without its tier and ending.
    fn named(&self, text: &str) -> Vec<Listed> {
        let Ok(id) = text.parse::<MemoryId>() else { return Vec::new() };
        let says_tier = text.contains('/') && !text.starts_with("./");
        let tiers = self.stores().filter(|(tier, _)| !says_tier || *tier == id.tier);
        let in_tier = |(tier, store): (Tier, &TopicStore)| {
            let topic = store.read(&id.file).or_else(|_| store.read(&format!("{}.md", id.file))).ok()?;
            Some(Listed { id: MemoryId::new(tier, topic.file.clone()), head: topic.into() })
        };
        tiers.filter_map(in_tier).collect()
    }
}

impl Lookup {
    fn of(mut found: Vec<Listed>, is_sure: bool) -> Self {
        match found.len() {
            0 => Self::Nothing,
            1 if is_sure => found.pop().map_or(Self::Nothing, |one| Self::One(Box::new(one))),
            _ => Self::Several(found),
        }
    }
}

fn search_in(tier: Tier, store: &TopicStore, query: &str) -> impl Iterator<Item = (MemoryId, Found)> {
    let found = store.search(query, usize::MAX).unwrap_or_default();
    found.into_iter().map(move |found| (MemoryId::new(tier, found.topic.file.clone()), found))
}
