//! Memories to and from other tools: Claude Code's folder, Codex's folder, and a block in `AGENTS.md`.
//!
//! First a [`Plan`], which changes nothing and says what would be done; then [`Plan::apply`].
//!
//! **Nobody's words are lost.** An export writes what it wrote before or what is not there; what somebody changed since stays, and is
//! reported. Of `AGENTS.md` only what stands between the two markers is ours. An import never changes a memory of ours: what says
//! the same confirms it, what is near is offered, the rest is added with [`By::Import`](crate::topics::By::Import) and where it is from.
//!
//! **Twice is once.** What was sent and taken is remembered by hash in `.throughline/exchange.json` of our folder: a second
//! export or import changes nothing, what came from us does not come back as new, and what was forgotten here is not taken again.
//!
//! Text from elsewhere is data, and [redacted](throughline_redact) on its way in and out.
//!
//! ```
//! use throughline_memory::exchange::{Action, Exchange, Other, Proposals};
//! use throughline_memory::topics::{NewTopic, TopicStore, TopicType};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let now = jiff::Timestamp::UNIX_EPOCH;
//! let store = TopicStore::open(folder.path().join("memory")).without_history();
//! store.add(NewTopic {
//!     kind: TopicType::Feedback,
//!     name: "Tests first".to_owned(),
//!     description: "Run the tests before every commit".to_owned(),
//!     body: "Run the tests before every commit.".to_owned(),
//!     meta: Default::default(),
//! })?;
//! let agents = Other::Agents(folder.path().join("AGENTS.md"));
//! let plan = Exchange::new(&store, &agents, now).export()?;
//! assert_eq!(plan.steps()[0].action, Action::Create);
//! plan.apply(Proposals::Leave)?;
//! assert!(std::fs::read_to_string(folder.path().join("AGENTS.md"))?.contains("### Tests first"));
//! assert!(!Exchange::new(&store, &agents, now).export()?.changes_anything());
//! # Ok(())
//! # }
//! ```

mod agents;
mod block;
mod claude;
mod codex;
mod error;
mod import;
mod plan;
mod record;
mod sections;

pub use error::ExchangeError;
pub use plan::{Action, Plan, Proposals, Report, Step};

use crate::topics::{Aged, Topic, TopicStore, TopicType, raw};
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use throughline_redact::redact;

/// The other side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Other {
    /// A folder of memories as Claude Code keeps it.
    Claude(PathBuf),
    /// Codex's folder of memories.
    Codex(PathBuf),
    /// A file of instructions with a block that is ours.
    Agents(PathBuf),
}

impl Other {
    /// Claude Code's memories of a project: `projects/<folder with dashes>/memory` in its home.
    pub fn claude(home: &Path, project: &Path) -> Self {
        let name = project.to_string_lossy();
        let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        Self::Claude(home.join("projects").join(name).join("memory"))
    }

    /// Codex's memories: `memories_v2` in its home, or `memories` of older versions where only that is there.
    pub fn codex(home: &Path) -> Self {
        let (new, old) = (home.join("memories_v2"), home.join("memories"));
        Self::Codex(if !new.is_dir() && old.is_dir() { old } else { new })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        match self {
            Self::Claude(path) | Self::Codex(path) | Self::Agents(path) => path,
        }
    }

    /// What people call it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Claude(_) => "Claude Code",
            Self::Codex(_) => "Codex",
            Self::Agents(_) => "AGENTS.md",
        }
    }

    /// What it is known by in the record: its path with links resolved, whether it is there yet or not.
    fn key(&self) -> String {
        real(self.path()).to_string_lossy().into_owned()
    }
}

/// Memories on their way between a folder of ours and somebody else's.
#[derive(Clone, Debug)]
pub struct Exchange<'a> {
    store: &'a TopicStore,
    other: &'a Other,
    now: Timestamp,
    kinds: Vec<TopicType>,
}

impl<'a> Exchange<'a> {
    /// Between a folder of ours and another place. All types are exported, but for `AGENTS.md`, which others read: who the user is
    /// does not go there unless [asked for](Self::only).
    pub fn new(store: &'a TopicStore, other: &'a Other, now: Timestamp) -> Self {
        let kinds = match other {
            Other::Claude(_) | Other::Codex(_) => TopicType::ALL.to_vec(),
            Other::Agents(_) => vec![TopicType::Feedback, TopicType::Project, TopicType::Reference],
        };
        Self { store, other, now, kinds }
    }

    /// Exports memories of these types only.
    pub fn only(mut self, kinds: &[TopicType]) -> Self {
        self.kinds = kinds.to_vec();
        self
    }

    /// What an export would do. Nothing is written.
    pub fn export(&self) -> Result<Plan<'a>, ExchangeError> {
        let mut plan = Plan::begin(self.store, self.other)?;
        let ours = self.live()?;
        match self.other {
            Other::Claude(folder) => claude::export(&mut plan, folder, &ours)?,
            Other::Codex(folder) => codex::export(&mut plan, folder, &ours, self.now)?,
            Other::Agents(file) => agents::export(&mut plan, file, &ours)?,
        }
        Ok(plan)
    }

    /// What an import would do. Nothing is written.
    pub fn import(&self) -> Result<Plan<'a>, ExchangeError> {
        let mut plan = Plan::begin(self.store, self.other)?;
        let items = match self.other {
            Other::Claude(folder) => claude::read(&mut plan, folder)?,
            Other::Codex(folder) => codex::read(&mut plan, folder)?,
            Other::Agents(file) => agents::read(file)?,
        };
        import::import(&mut plan, items, self.now)?;
        Ok(plan)
    }

    /// Our memories that hold, without secrets, by file.
    fn live(&self) -> Result<Vec<Outgoing>, ExchangeError> {
        let lifetimes = self.store.lifetimes();
        let topics = topics(self.store)?.into_iter();
        let topics = topics.filter(|topic| lifetimes.is_live(Aged::from(topic), self.now));
        let outgoing = topics.map(Outgoing::of);
        Ok(outgoing.filter(|outgoing| self.kinds.contains(&outgoing.kind)).collect())
    }
}

/// A memory of ours as it goes out.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Outgoing {
    file: String,
    kind: TopicType,
    name: String,
    description: String,
    body: String,
    modified: Timestamp,
}

impl Outgoing {
    fn of(topic: Topic) -> Self {
        let clean = |text: &str| redact(text).into_text();
        Self {
            kind: topic.kind.unwrap_or(TopicType::Project),
            name: clean(&topic.name),
            description: clean(&topic.description),
            body: clean(topic.body.trim()).replace("\r\n", "\n"),
            modified: topic.modified,
            file: topic.file,
        }
    }

    /// As a file of its own: where it comes from stays with us.
    fn document(&self) -> String {
        let (name, description) = (raw::scalar(&self.name), raw::scalar(&self.description));
        format!("---\nname: {name}\ndescription: {description}\ntype: {}\n---\n\n{}\n", self.kind, self.body)
    }
}

/// All memories of a folder that can be read, by file.
fn topics(store: &TopicStore) -> Result<Vec<Topic>, ExchangeError> {
    let files = files_of(store.folder())?;
    let topics = files.iter().filter(|file| raw::is_memory(file)).filter_map(|file| store.read(file).ok());
    Ok(topics.collect())
}

/// The names in a folder, in order; none if it is not there.
fn files_of(folder: &Path) -> Result<Vec<String>, ExchangeError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ExchangeError::io("list", folder)(error)),
    };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// A path with the links resolved of as much of it as there is.
fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|part| Some((part.canonicalize().ok()?, part)));
    match there.and_then(|(real, part)| Some((real, path.strip_prefix(part).ok()?))) {
        Some((real, rest)) if rest.as_os_str().is_empty() => real,
        Some((real, rest)) => real.join(rest),
        None => path.to_owned(),
    }
}

/// What tells whether a text was changed.
fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
}
