//! `[memory]`: what is remembered beyond sessions.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use throughline_memory::topics::Lifetimes;
use throughline_memory::{MemoryPlaces, Tier};

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
        }
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
        Ok(())
    }
}
