//! Whose memories a command is about, and which of them is meant.

use super::entry::{Entry, State};
use super::print;
use crate::context::Context;
use crate::output::yellow;
use anyhow::{Context as _, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use throughline_engine::config::{LifetimeDays, MemorySettings};
use throughline_memory::topics::{By, Lifetimes, Problem, Source, TopicStore, TopicType};
use throughline_memory::{Memories, MemoryId, Project, ProjectSlug, Tier};

/// Whose memories.
#[derive(clap::Args)]
pub(crate) struct Which {
    /// Those of another project: its folder, or its name below `projects` in the home folder.
    #[arg(long, global = true, value_name = "P")]
    project: Option<String>,
    /// Only those that hold in every project; `add` saves there.
    #[arg(long, global = true, conflicts_with = "tier")]
    global: bool,
    /// Only those of a tier; `add` saves there.
    #[arg(long, global = true, value_name = "TIER", value_parser = tiers())]
    tier: Option<Tier>,
}

impl Which {
    /// The project that was named.
    pub(super) fn project(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// Whether what holds everywhere is meant.
    pub(super) fn is_global(&self) -> bool {
        self.global || self.tier == Some(Tier::Global)
    }

    /// Whether it is about a tier that has a handbook: the project's or the global one.
    pub(super) fn has_handbook(&self) -> bool {
        match self.tier {
            None | Some(Tier::Project | Tier::Global) => true,
            Some(Tier::Worktree | Tier::Team) => false,
        }
    }
}

fn tiers() -> impl clap::builder::TypedValueParser<Value = Tier> {
    PossibleValuesParser::new(Tier::ALL.map(Tier::name)).try_map(|word| word.parse::<Tier>())
}

/// A memory's type on the command line.
pub(super) fn types() -> impl clap::builder::TypedValueParser<Value = TopicType> {
    PossibleValuesParser::new(TopicType::ALL.map(TopicType::name)).try_map(|word| word.parse::<TopicType>())
}

/// The memories that a command is about.
pub(crate) struct Here<'a> {
    pub(super) context: &'a Context,
    /// Those of the tiers that were asked for.
    pub(super) memories: Memories,
    /// The tier that was named.
    pub(super) tier: Option<Tier>,
    /// The project's folder on this machine: of the worktree that this is, against which anchors are checked.
    pub(super) root: Option<PathBuf>,
    /// The folder that stands for the project, whatever the worktree.
    pub(super) project: Option<PathBuf>,
    pub(super) lifetimes: Lifetimes,
    pub(super) now: Timestamp,
    /// What has to stand in a command that we propose.
    flags: String,
}

impl<'a> Here<'a> {
    pub(super) fn open(context: &'a Context, which: &Which) -> anyhow::Result<Self> {
        let settings = context.config()?.config.memory;
        if !settings.enabled {
            note("memory is switched off (`memory.enabled`): sessions neither read nor write these");
        }
        // What is there can be seen and mended all the same.
        let settings = MemorySettings { enabled: true, ..settings };
        let lifetimes = lifetimes(settings.lifetime_days);
        let Opened { memories, root, project } = open(context, which.project.as_deref(), &settings)?;
        let tier = if which.global { Some(Tier::Global) } else { which.tier };
        let chosen = memories.stores().filter(|(known, _)| tier.is_none_or(|tier| tier == *known));
        let chosen = chosen.map(|(tier, store)| {
            let store = store.clone().with_lifetimes(lifetimes);
            (tier, if settings.history { store } else { store.without_history() })
        });
        let chosen: Vec<(Tier, TopicStore)> = chosen.collect();
        if let (Some(tier), true) = (tier, chosen.is_empty()) {
            bail!("there are no {tier} memories here{}", why_not(tier));
        }
        let flags = which.project.as_deref().map(|project| format!(" --project {}", print::quoted(project)));
        Ok(Self {
            context,
            memories: Memories::of(chosen),
            tier,
            root,
            project,
            lifetimes,
            now: context.now(),
            flags: flags.unwrap_or_default(),
        })
    }

    pub(super) fn json(&self) -> bool {
        self.context.json
    }

    /// A command of ours for these memories, as it would be typed.
    pub(super) fn command(&self, words: &str) -> String {
        format!("throughline memory {words}{}", self.flags)
    }

    /// The tier that is written to unless a memory is named: the one that was asked for, else the project's.
    pub(super) fn target(&self) -> Tier {
        self.tier.unwrap_or(Tier::Project)
    }

    pub(super) fn store(&self, tier: Tier) -> anyhow::Result<&TopicStore> {
        self.memories
            .store(tier)
            .with_context(|| format!("there are no {tier} memories here{}", why_not(tier)))
    }

    /// All memories, the nearest tier first and in each the newest first; and what is not in order.
    pub(super) fn all(&self) -> (Vec<Entry>, Vec<Problem>) {
        let mut entries = Vec::new();
        let mut problems = Vec::new();
        for (tier, store) in self.memories.stores() {
            match store.all() {
                Ok((topics, flaws)) => {
                    entries.extend(topics.into_iter().map(|topic| self.entry(tier, store, topic)));
                    problems.extend(flaws.into_iter().map(|flaw| Problem {
                        file: MemoryId::new(tier, flaw.file).to_string(),
                        what: flaw.what,
                    }));
                }
                Err(error) => problems.push(Problem { file: tier.to_string(), what: error.to_string() }),
            }
        }
        (entries, problems)
    }

    pub(super) fn entry(
        &self,
        tier: Tier,
        store: &TopicStore,
        topic: throughline_memory::topics::Topic,
    ) -> Entry {
        let ends = self.lifetimes.ends(&topic);
        let state = match (&topic.meta.superseded_by, ends) {
            (Some(by), _) => State::Superseded { by: MemoryId::new(tier, by.clone()) },
            (None, Some(end)) if end <= self.now => State::Expired { at: end },
            (None, _) => State::Live,
        };
        let id = MemoryId::new(tier, topic.file.clone());
        Entry { path: store.folder().join(&topic.file), id, topic, state, ends }
    }

    /// The memory that a file, a unique beginning of one, or a name means.
    pub(super) fn one(&self, text: &str) -> anyhow::Result<Entry> {
        let (entries, _) = self.all();
        let mut found = named(&entries, text, Beginnings::OfAll);
        match found.len() {
            0 => bail!("{}", self.missing(text, &entries)),
            1 => Ok(found.swap_remove(0).clone()),
            _ => bail!("{}", several(text, &found)),
        }
    }

    fn missing(&self, text: &str, entries: &[Entry]) -> String {
        let shown = print::quoted(text);
        let live: Vec<&Entry> = entries.iter().filter(|entry| entry.state.is_live()).collect();
        let near = live.iter().filter(|entry| {
            let names = [entry.id.to_string(), entry.topic.name.clone()];
            names.iter().any(|name| strsim::jaro_winkler(&name.to_lowercase(), &text.to_lowercase()) > 0.88)
        });
        let mut near: Vec<String> = near.take(NEAR).map(|entry| entry.id.to_string()).collect();
        if near.is_empty() {
            let found = self.memories.search(text, NEAR).into_iter().map(|(id, _)| id);
            let is_live = |id: &MemoryId| live.iter().any(|entry| entry.id == *id);
            near.extend(found.filter(is_live).map(|id| id.to_string()));
        }
        let hint = match near.as_slice() {
            [] => format!("`{}` shows what there is", self.command("list")),
            near => format!("did you mean {}?", near.join(", ")),
        };
        format!("there is no memory {shown}; {hint}")
    }

    /// Where a memory comes from that a person writes now.
    pub(super) fn by_person(&self, words: &str) -> Source {
        Source { by: By::Person, session: None, messages: Vec::new(), at: self.now, quote: words.to_owned() }
    }

    /// Tells that a change can't be undone, if so.
    pub(super) fn tell_unrecorded(&self, unrecorded: Option<&str>) {
        if let Some(why) = unrecorded {
            note(&format!("it can't be undone by a command, for there is no history: {why}"));
        }
    }
}

/// Tells secrets that were taken out.
pub(super) fn tell_redacted(redacted: &[&str]) {
    if !redacted.is_empty() {
        let kinds: BTreeSet<&str> = redacted.iter().copied().collect();
        let kinds: Vec<&str> = kinds.into_iter().collect();
        note(&format!("secrets are not kept: {} taken out", kinds.join(", ")));
    }
}

/// Tells something beside the result.
pub(super) fn note(text: &str) {
    crate::errln!("{} {text}", yellow("note:"));
}

/// Of what the beginning is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginnings {
    /// Of a file's name, and not of its type alone: where a word that a memory happens to begin with is no proof.
    OfFiles,
    /// Of its name without the type, and of the memory's name as well.
    OfAll,
}

/// The memories that a text names: by the whole id first, then the whole name, then a beginning of either. Where those that hold and
/// others are named alike, the former are meant.
pub(super) fn named<'e>(entries: &'e [Entry], text: &str, beginnings: Beginnings) -> Vec<&'e Entry> {
    let text = text.trim();
    let wanted = text.strip_prefix("./").unwrap_or(text).to_lowercase();
    if wanted.is_empty() {
        return Vec::new();
    }
    let is_id = |entry: &Entry| {
        let id = entry.id.to_string().to_lowercase();
        id == wanted || id.strip_suffix(".md") == Some(wanted.as_str())
    };
    let is_file = |entry: &Entry| {
        let file = entry.id.file.to_lowercase();
        file == wanted || file.strip_suffix(".md") == Some(wanted.as_str())
    };
    let is_name = |entry: &Entry| entry.topic.name.to_lowercase() == wanted;
    let begins = |entry: &Entry| {
        let file = entry.id.file.to_lowercase();
        let id = entry.id.to_string().to_lowercase();
        let begins = id.starts_with(&wanted) || file.starts_with(&wanted);
        let behind_type = file.split_once('_').map_or("", |(_, rest)| rest);
        match beginnings {
            Beginnings::OfFiles => begins && wanted.contains(['_', '-', '/']),
            Beginnings::OfAll => {
                begins
                    || behind_type.starts_with(&wanted)
                    || entry.topic.name.to_lowercase().starts_with(&wanted)
            }
        }
    };
    let rules: [&dyn Fn(&Entry) -> bool; 4] = [&is_id, &is_file, &is_name, &begins];
    for rule in rules {
        let found: Vec<&Entry> = entries.iter().filter(|entry| rule(entry)).collect();
        let live: Vec<&Entry> = found.iter().copied().filter(|entry| entry.state.is_live()).collect();
        if !found.is_empty() {
            return if live.is_empty() { found } else { live };
        }
    }
    Vec::new()
}

/// Memories that are named where none is meant.
const NEAR: usize = 3;
/// Memories that are told at most where several are meant.
const TOLD: usize = 8;

/// What to say where several memories are meant.
pub(super) fn several(text: &str, found: &[&Entry]) -> String {
    let mut out =
        format!("{} means {}; give the file of the one:", print::quoted(text), print::memories(found.len()));
    for entry in found.iter().take(TOLD) {
        out.push_str(&format!("\n  {}  {}", print::line(&entry.id.to_string()), print::gist(entry, 60)));
    }
    if found.len() > TOLD {
        out.push_str(&format!("\n  … and {} more", found.len() - TOLD));
    }
    out
}

fn why_not(tier: Tier) -> &'static str {
    match tier {
        Tier::Worktree => ": the folder is no linked worktree of a git repository",
        Tier::Team => "; `memory.team` in the configuration switches them on",
        Tier::Global => "; `memory.global` in the configuration switches them on",
        Tier::Project => "",
    }
}

fn lifetimes(days: LifetimeDays) -> Lifetimes {
    let of = |days: u32| (days > 0).then(|| SignedDuration::from_hours(24 * i64::from(days)));
    Lifetimes {
        user: of(days.user),
        feedback: of(days.feedback),
        project: of(days.project),
        reference: of(days.reference),
    }
}

/// The memories of a project, and its folders.
struct Opened {
    memories: Memories,
    root: Option<PathBuf>,
    project: Option<PathBuf>,
}

fn open(context: &Context, project: Option<&str>, settings: &MemorySettings) -> anyhow::Result<Opened> {
    let folder = match project {
        None => std::env::current_dir().context("cannot tell the current folder")?,
        Some("") => bail!("--project needs a folder, or a project's name"),
        Some(project) => {
            let path = std::path::absolute(project)?;
            if !path.is_dir() {
                let named = ProjectSlug::parse(project).into_iter();
                let slug = named.chain([ProjectSlug::of(&path)]).find(|slug| known(context, slug.as_str()));
                let slug = slug.with_context(|| unknown(context, project))?;
                let memories = by_slug(context, &slug, settings);
                return Ok(Opened { memories, root: None, project: None });
            }
            path
        }
    };
    let project = Project::find(&context.home, &folder);
    for notice in &project.notices {
        note(&print::line(notice));
    }
    let memories = Memories::open(&context.home, &project, &settings.places());
    let root = project.worktree.map_or_else(|| project.root.clone(), |worktree| worktree.folder);
    Ok(Opened { memories, root: Some(root), project: Some(project.root) })
}

fn known(context: &Context, slug: &str) -> bool {
    context.home.root().join("projects").join(slug).is_dir()
}

fn unknown(context: &Context, project: &str) -> String {
    let listing = std::fs::read_dir(context.home.root().join("projects"));
    let mut names: Vec<String> = listing
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| context.home.root().join("projects").join(name).join("memory").is_dir())
        .collect();
    names.sort();
    let there = if names.is_empty() { "none has memories yet".to_owned() } else { names.join(", ") };
    format!("{} is no folder, and no project of that name is known; known: {there}", print::quoted(project))
}

/// The memories of a project whose folder may be gone.
fn by_slug(context: &Context, slug: &ProjectSlug, settings: &MemorySettings) -> Memories {
    let home = context.home.root();
    let placed = |path: &Path| PathBuf::from(path.to_string_lossy().replace("{project}", slug.as_str()));
    let own = home.join("projects").join(slug.as_str()).join("memory");
    let main = settings.dir.as_deref().map_or(own, placed);
    let team = settings.team_dir.as_deref().map_or_else(|| main.join("team"), placed);
    let mut stores = vec![(Tier::Project, TopicStore::open(main))];
    if settings.team {
        stores.push((Tier::Team, TopicStore::open(team)));
    }
    if settings.global {
        stores.push((Tier::Global, TopicStore::open(home.join("memory"))));
    }
    Memories::of(stores)
}
