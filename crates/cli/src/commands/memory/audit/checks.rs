//! What is looked for among memories.

use super::super::anchors;
use super::super::entry::{Entry, State};
use super::super::here::Here;
use super::super::list::uses;
use super::super::print;
use jiff::SignedDuration;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use throughline_memory::topics::{By, Problem, TopicType};
use throughline_memory::{MemoryId, Tier};
use throughline_redact::redact;

/// What can be wrong with memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Duplicate,
    Contradiction,
    NeverUsed,
    Stale,
    Anchorless,
    Secret,
    RecallLoop,
}

impl Kind {
    pub(super) const ALL: [Self; 7] = [
        Self::Duplicate,
        Self::Contradiction,
        Self::NeverUsed,
        Self::Stale,
        Self::Anchorless,
        Self::Secret,
        Self::RecallLoop,
    ];

    /// The key in JSON.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::Contradiction => "contradiction",
            Self::NeverUsed => "never_used",
            Self::Stale => "stale",
            Self::Anchorless => "anchorless",
            Self::Secret => "secret",
            Self::RecallLoop => "recall_loop",
        }
    }

    /// What it means, in a few words.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::Duplicate => "say much the same as a newer one",
            Self::Contradiction => "say the opposite of another",
            Self::NeverUsed => "a week old and of no use yet",
            Self::Stale => "expired, or about what is gone",
            Self::Anchorless => "tied to no path, symbol or commit",
            Self::Secret => "hold a key, token or password",
            Self::RecallLoop => "an agent's word, which nobody said",
        }
    }

    /// What to do about it, as the words of a command.
    pub(super) fn remedy(self) -> &'static str {
        match self {
            Self::Duplicate => "merge",
            Self::Contradiction | Self::NeverUsed => "forget ID",
            Self::Stale => "why ID",
            Self::Anchorless => "edit ID --anchor path:FILE",
            Self::Secret => "forget ID --purge",
            Self::RecallLoop => "confirm ID",
        }
    }
}

/// Something that was found.
pub(super) struct Finding {
    /// The memories that it is about, the one to look at first.
    pub(super) ids: Vec<MemoryId>,
    pub(super) what: String,
}

/// What one check found.
pub(super) struct Check {
    pub(super) kind: Kind,
    /// How many memories are so.
    pub(super) count: usize,
    /// Of how many that were looked at.
    pub(super) of: usize,
    pub(super) findings: Vec<Finding>,
}

impl Check {
    pub(super) fn rate(&self) -> f64 {
        if self.of == 0 { 0.0 } else { self.count as f64 / self.of as f64 }
    }
}

/// The index of a tier.
pub(super) struct Index {
    pub(super) tier: Tier,
    pub(super) folder: PathBuf,
    pub(super) memories: usize,
    pub(super) bytes: u64,
    pub(super) lines: usize,
    /// Memories without a line.
    pub(super) missing: Vec<String>,
    /// Lines without a memory, or with one that is over.
    pub(super) dangling: Vec<String>,
    /// Memories whose lines have to give way, for the index is full.
    pub(super) evicted: Vec<String>,
}

impl Index {
    pub(super) fn is_in_order(&self) -> bool {
        self.missing.is_empty() && self.dangling.is_empty() && self.evicted.is_empty()
    }
}

/// All that was found.
pub(super) struct Audited {
    pub(super) live: usize,
    pub(super) superseded: usize,
    pub(super) expired: usize,
    pub(super) by_type: BTreeMap<&'static str, usize>,
    pub(super) checks: Vec<Check>,
    pub(super) indexes: Vec<Index>,
    pub(super) problems: Vec<Problem>,
}

impl Audited {
    pub(super) fn of(here: &Here<'_>) -> anyhow::Result<Self> {
        let (entries, problems) = here.all();
        let live: Vec<&Entry> = entries.iter().filter(|entry| entry.state.is_live()).collect();
        let mut by_type = BTreeMap::new();
        for entry in &live {
            *by_type.entry(entry.topic.kind.map_or("none", TopicType::name)).or_default() += 1;
        }
        let is_superseded = |entry: &&Entry| matches!(entry.state, State::Superseded { .. });
        let superseded = entries.iter().filter(is_superseded).count();
        let (duplicate, contradiction) = alike(here, live.len())?;
        let secret = secret(here, &entries)?;
        let checks = vec![
            duplicate,
            contradiction,
            never_used(here, &live),
            stale(here, &entries),
            anchorless(&live),
            secret,
            recall_loop(&live),
        ];
        Ok(Self {
            live: live.len(),
            superseded,
            expired: entries.len() - live.len() - superseded,
            by_type,
            checks,
            indexes: indexes(here, &entries)?,
            problems,
        })
    }

    pub(super) fn total(&self) -> usize {
        self.live + self.superseded + self.expired
    }

    /// As scripts get it; documented in docs/memory.md.
    pub(super) fn json(&self, fixed: &[Tier]) -> Value {
        let check = |check: &Check| {
            let findings: Vec<Value> =
                check.findings.iter().map(|one| json!({ "ids": one.ids, "what": one.what })).collect();
            let value = json!({
                "count": check.count, "of": check.of, "rate": check.rate(), "findings": findings,
            });
            (check.kind.name().to_owned(), value)
        };
        let index = |index: &Index| {
            json!({
                "tier": index.tier, "folder": index.folder, "memories": index.memories, "bytes": index.bytes,
                "lines": index.lines, "missing": index.missing, "dangling": index.dangling, "evicted": index.evicted,
                "fixed": fixed.contains(&index.tier),
            })
        };
        json!({
            "memories": {
                "total": self.total(), "live": self.live, "superseded": self.superseded, "expired": self.expired,
                "by_type": self.by_type,
            },
            "checks": self.checks.iter().map(check).collect::<serde_json::Map<_, _>>(),
            "indexes": self.indexes.iter().map(index).collect::<Vec<_>>(),
            "problems": self.problems,
        })
    }
}

/// One finding for each memory.
fn each(kind: Kind, of: usize, found: Vec<(MemoryId, String)>) -> Check {
    let findings = found.into_iter().map(|(id, what)| Finding { ids: vec![id], what }).collect::<Vec<_>>();
    Check { kind, count: findings.len(), of, findings }
}

fn alike(here: &Here<'_>, of: usize) -> anyhow::Result<(Check, Check)> {
    let mut duplicates = Vec::new();
    let mut contradictions = Vec::new();
    for (tier, store) in here.memories.stores() {
        let clusters = store.clusters(here.now)?;
        let id = |file: &String| MemoryId::new(tier, file.clone());
        duplicates.extend(clusters.proposals.iter().map(|proposal| Finding {
            ids: proposal.files.iter().map(id).collect(),
            what: format!("{:.0} % of their words are the same", proposal.similarity * 100.0),
        }));
        contradictions.extend(
            clusters
                .contradictions
                .iter()
                .map(|one| Finding { ids: vec![id(&one.newer), id(&one.older)], what: one.why.clone() }),
        );
    }
    let redundant = duplicates.iter().map(|finding| finding.ids.len() - 1).sum();
    let opposed: BTreeSet<&MemoryId> = contradictions.iter().flat_map(|finding| &finding.ids).collect();
    let opposed = opposed.len();
    Ok((
        Check { kind: Kind::Duplicate, count: redundant, of, findings: duplicates },
        Check { kind: Kind::Contradiction, count: opposed, of, findings: contradictions },
    ))
}

/// Memories that are younger had no chance yet.
const CHANCE: SignedDuration = SignedDuration::from_hours(7 * 24);

/// No answer used them, and nobody opened them.
fn never_used(here: &Here<'_>, live: &[&Entry]) -> Check {
    let uses = uses(here);
    let since =
        |entry: &Entry| here.now.duration_since(entry.topic.meta.created.unwrap_or(entry.topic.modified));
    let live: Vec<&&Entry> = live.iter().filter(|entry| since(entry) >= CHANCE).collect();
    let unused = live.iter().filter_map(|entry| {
        let uses = uses.get(&entry.id).copied().unwrap_or_default();
        let what = match uses.shown {
            0 => "never shown".to_owned(),
            shown => format!("shown {}, never used", print::times_said(shown)),
        };
        (uses.used == 0 && uses.opened == 0).then(|| (entry.id.clone(), what))
    });
    each(Kind::NeverUsed, live.len(), unused.collect())
}

fn stale(here: &Here<'_>, entries: &[Entry]) -> Check {
    let mut found = Vec::new();
    let mut of = 0;
    for entry in entries {
        match &entry.state {
            State::Superseded { .. } => continue,
            State::Expired { at } => {
                found.push((entry.id.clone(), format!("expired {}", crate::times::age(*at, here.now))));
            }
            State::Live => {
                let gone: Vec<String> = anchors::checked(here, &entry.topic.meta.anchors)
                    .into_iter()
                    .filter_map(|(_, gone)| gone)
                    .collect();
                if !gone.is_empty() {
                    found.push((entry.id.clone(), gone.join("; ")));
                }
            }
        }
        of += 1;
    }
    each(Kind::Stale, of, found)
}

/// People and places outside have nothing in the project to be tied to; what holds everywhere has no project.
fn anchorless(live: &[&Entry]) -> Check {
    let tied = live.iter().filter(|entry| match (entry.topic.kind, entry.id.tier) {
        (Some(TopicType::Feedback | TopicType::Project), Tier::Project | Tier::Worktree | Tier::Team) => true,
        (Some(TopicType::User | TopicType::Reference) | None, _) | (_, Tier::Global) => false,
    });
    let tied: Vec<&&Entry> = tied.collect();
    let without = tied.iter().filter(|entry| entry.topic.meta.anchors.is_empty());
    each(
        Kind::Anchorless,
        tied.len(),
        without.map(|entry| (entry.id.clone(), "no anchor".to_owned())).collect(),
    )
}

/// What we write is redacted; what people and other tools write is not.
fn secret(here: &Here<'_>, entries: &[Entry]) -> anyhow::Result<Check> {
    let mut found = Vec::new();
    for entry in entries {
        // One that is gone meanwhile holds none.
        let text = here.store(entry.id.tier)?.source(&entry.id.file).unwrap_or_default();
        let clean = redact(&text);
        let kinds: BTreeSet<&str> = clean.kinds().iter().copied().collect();
        if !kinds.is_empty() {
            found.push((entry.id.clone(), kinds.into_iter().collect::<Vec<_>>().join(", ")));
        }
    }
    Ok(each(Kind::Secret, entries.len(), found))
}

fn recall_loop(live: &[&Entry]) -> Check {
    let is_loop = |entry: &&&Entry| {
        let sources = &entry.topic.meta.sources;
        !sources.is_empty()
            && sources.iter().all(|source| match source.by {
                By::Agent => true,
                By::User | By::Person | By::Import => false,
            })
    };
    let found =
        live.iter().filter(is_loop).map(|entry| (entry.id.clone(), "only an agent says so".to_owned()));
    each(Kind::RecallLoop, live.len(), found.collect())
}

fn indexes(here: &Here<'_>, entries: &[Entry]) -> anyhow::Result<Vec<Index>> {
    let mut indexes = Vec::new();
    for (tier, store) in here.memories.stores() {
        let own: Vec<&Entry> = entries.iter().filter(|entry| entry.id.tier == tier).collect();
        let repair = store.check_index(here.now)?;
        let index = store.folder().join("MEMORY.md");
        let lines = std::fs::read_to_string(&index).unwrap_or_default().lines().count();
        if own.is_empty() && lines == 0 {
            continue;
        }
        let size = |entry: &&Entry| entry.path.metadata().map_or(0, |meta| meta.len());
        indexes.push(Index {
            tier,
            folder: store.folder().to_owned(),
            memories: own.len(),
            bytes: own.iter().map(size).sum(),
            lines,
            missing: repair.added,
            dangling: repair.dropped,
            evicted: repair.evicted,
        });
    }
    Ok(indexes)
}
