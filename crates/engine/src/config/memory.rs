//! `[memory]`: what is remembered beyond sessions.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use throughline_ledger::Home;
use throughline_memory::handbook::HandbookLimits;
use throughline_memory::store::{self, LazyStore, StoreAddress, StoreAddressError, StoreClock};
use throughline_memory::topics::Lifetimes;
use throughline_memory::{MemoryPlaces, Tier};
use throughline_model::Secret;

/// The store in the home folder.
const STORE: &str = "handbooks/store.db";

/// `[memory]`: what is remembered beyond sessions, where, for how long, and when it comes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemorySettings {
    /// Whether anything is remembered, and told.
    pub enabled: bool,
    /// The folder of the project's memories. Unset: `projects/<slug>/memory` in the home folder.
    pub dir: Option<PathBuf>,
    /// The folder that a team shares. Unset: `team` in the project's.
    pub team_dir: Option<PathBuf>,
    /// Whether there are memories of the team.
    pub team: bool,
    /// Whether there are memories that hold in every project.
    pub global: bool,
    /// Whether every change can be undone.
    pub history: bool,
    /// What is learnt from sessions.
    pub extract: ExtractSettings,
    /// What comes back.
    pub recall: RecallSettings,
    /// How long memories hold.
    pub lifetime_days: LifetimeDays,
    /// What old sessions taught.
    pub handbook: HandbookSettings,
}

/// `[memory.handbook]`: what is made of old sessions (H), and told in new ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HandbookSettings {
    /// Whether there are handbooks.
    pub enabled: bool,
    /// Whether old sessions are read in the background.
    pub generate: bool,
    /// Whether new sessions are told.
    #[serde(rename = "use")]
    pub is_used: bool,
    /// Whether a session that took in something from outside is left out (H7).
    pub disable_on_external_context: bool,
    /// The model that reads sessions. Unset: whoever writes summaries and notes.
    pub extract_model: Option<String>,
    /// The model that writes handbooks. Unset: the same.
    pub consolidation_model: Option<String>,
    /// Where the work is kept: see [`StoreAddress`]. Unset: a file in the home folder.
    pub store: Option<Secret>,
    /// The figures.
    pub limits: HandbookLimits,
}

/// `[memory.extract]`: what is learnt from sessions (M3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExtractSettings {
    /// After how many turns; 0: never by itself.
    pub every_turns: usize,
    /// Who looks.
    pub by: ExtractBy,
}

/// Who looks for what is worth keeping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtractBy {
    /// Whoever writes summaries and notes (`scribe.use`).
    #[default]
    Scribe,
    /// No model in any case.
    Offline,
}

/// `[memory.recall]`: what comes back by itself (M7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecallSettings {
    /// Whether any does.
    pub enabled: bool,
    /// How many at once.
    pub most: usize,
    /// How many tokens they have together.
    pub tokens: u64,
    /// Who chooses.
    pub select: RecallBy,
}

/// Who chooses the memories that come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecallBy {
    /// The ranking alone.
    #[default]
    Rank,
    /// A model, of those that rank highest.
    Model,
}

/// `[memory.lifetime_days]`: days that memories hold after they were last said or changed; 0: until somebody says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LifetimeDays {
    /// Who the user is.
    pub user: u32,
    /// How to work.
    pub feedback: u32,
    /// What is so in the project.
    pub project: u32,
    /// Where things are outside of it.
    pub reference: u32,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self {
            enabled: true,
            dir: None,
            team_dir: None,
            team: true,
            global: true,
            history: true,
            extract: ExtractSettings::default(),
            recall: RecallSettings::default(),
            lifetime_days: LifetimeDays::default(),
            handbook: HandbookSettings::default(),
        }
    }
}

impl Default for HandbookSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            generate: true,
            is_used: true,
            disable_on_external_context: false,
            extract_model: None,
            consolidation_model: None,
            store: None,
            limits: HandbookLimits::default(),
        }
    }
}

impl HandbookSettings {
    /// The address of the store. The configuration is checked when it is loaded; what takes its place later is checked here.
    pub fn store_address(&self, home: &Home) -> Result<StoreAddress, StoreAddressError> {
        match &self.store {
            Some(store) => store.expose().parse(),
            None => StoreAddress::in_folder(home.root(), STORE),
        }
    }

    /// The store, to be opened when it is needed.
    pub fn lazy_store(&self, home: &Home) -> LazyStore {
        let address = self.store_address(home);
        LazyStore::new(Arc::new(move || {
            let address = address.clone();
            Box::pin(async move { store::open(&address?, StoreClock::Server).await })
        }))
    }

    fn check(&self) -> Result<(), String> {
        if let Some(store) = self.store.as_ref().map(Secret::expose) {
            store.parse::<StoreAddress>().map_err(|error| format!("`store`: {error}"))?;
        }
        let limits = &self.limits;
        let least = [
            ("concurrency", limits.concurrency as u64),
            ("lease_seconds", u64::from(limits.lease_seconds)),
            ("heartbeat_seconds", u64::from(limits.heartbeat_seconds)),
            ("attempts", u64::from(limits.attempts)),
            ("window_percent", u64::from(limits.window_percent)),
            ("part_tokens", limits.part_tokens),
            ("parts", limits.parts as u64),
            ("outputs", limits.outputs as u64),
        ];
        if let Some((name, _)) = least.iter().find(|(_, figure)| *figure == 0) {
            return Err(format!("`{name}` is at least 1"));
        }
        if limits.window_percent > 100 || limits.rate_left_percent > 100 {
            return Err("percent are at most 100".to_owned());
        }
        Ok(())
    }
}

impl Default for ExtractSettings {
    fn default() -> Self {
        Self { every_turns: 1, by: ExtractBy::default() }
    }
}

impl Default for RecallSettings {
    fn default() -> Self {
        Self { enabled: true, most: 5, tokens: 4_000, select: RecallBy::default() }
    }
}

impl Default for LifetimeDays {
    fn default() -> Self {
        Self { user: 0, feedback: 0, project: 180, reference: 365 }
    }
}

impl From<LifetimeDays> for Lifetimes {
    fn from(days: LifetimeDays) -> Self {
        let lifetime = |days: u32| (days > 0).then(|| SignedDuration::from_hours(i64::from(days) * 24));
        Self {
            user: lifetime(days.user),
            feedback: lifetime(days.feedback),
            project: lifetime(days.project),
            reference: lifetime(days.reference),
        }
    }
}

impl MemorySettings {
    /// Where memories are, if anywhere.
    pub fn places(&self) -> MemoryPlaces {
        if !self.enabled {
            return MemoryPlaces::off();
        }
        let is_on = |tier: &Tier| match tier {
            Tier::Project | Tier::Worktree => true,
            Tier::Team => self.team,
            Tier::Global => self.global,
        };
        MemoryPlaces {
            project: self.dir.clone(),
            team: self.team_dir.clone(),
            tiers: Tier::ALL.into_iter().filter(is_on).collect(),
            lifetimes: self.lifetime_days.into(),
            keeps_history: self.history,
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if let Some(path) = [&self.dir, &self.team_dir].into_iter().flatten().find(|path| !path.is_absolute())
        {
            return Err(format!("{} must be absolute", path.display()));
        }
        if self.recall.most == 0 {
            return Err("at least one comes back; `memory.recall.enabled = false` brings none".to_owned());
        }
        self.handbook.check()
    }
}
