//! What would be done, and doing it.

use super::error::ExchangeError;
use super::record::{Place, Record, Sent, Taken};
use super::{Other, hash, real};
use crate::topics::{Added, NewTopic, Source, TopicStore};
use serde::Serialize;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use throughline_ledger::write_private;

/// The largest file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Writes what is not there.
    Create,
    /// Replaces what we wrote before.
    Update,
    /// Removes what we wrote before.
    Remove,
    /// Notes on a memory of ours that somebody else says the same.
    Confirm,
    /// Would add it if a person says so: see [`Proposals`].
    Propose,
    /// Nothing: a person should look, for something near is there.
    Offer,
    /// Nothing: somebody changed or removed it since, and theirs stays.
    Conflict,
    /// Nothing: both sides have it.
    Same,
    /// Nothing, for the reason given.
    Skip,
}

impl Action {
    /// Whether it writes.
    pub fn is_change(self) -> bool {
        match self {
            Self::Create | Self::Update | Self::Remove | Self::Confirm => true,
            Self::Propose | Self::Offer | Self::Conflict | Self::Same | Self::Skip => false,
        }
    }
}

/// What is done with a memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What is done.
    pub action: Action,
    /// What the memory is called.
    pub memory: String,
    /// Our file, if there is one.
    pub ours: Option<String>,
    /// Their file or section.
    pub theirs: String,
    /// Why, or what about it.
    pub why: String,
}

/// What to do with what was only [proposed](Action::Propose).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proposals {
    /// Leave it.
    Leave,
    /// Add it.
    Take,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Every step, as it was done. What turned out otherwise meanwhile says so.
    pub steps: Vec<Step>,
    /// The kinds of secrets that were taken out of what came in, one for each place.
    pub redacted: Vec<&'static str>,
}

/// How a step is done.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// Not at all.
    Nothing,
    /// A file below the other folder; `expected`: the hash of what is there, `None` for nothing.
    Write { relative: String, text: String, expected: Option<String> },
    /// A file below the other folder, if it still is what we wrote.
    Remove { relative: String, expected: String },
    /// A memory of ours is added.
    Add { new: Box<NewTopic>, key: String, hash: String },
    /// A memory of ours is confirmed.
    Confirm { file: String, source: Source, key: String, hash: String },
}

/// What would be done, step by step.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    store: &'a TopicStore,
    pub(super) other: &'a Other,
    key: String,
    before: Place,
    /// What the record becomes by what is planned, but for what an import adds.
    pub(super) place: Place,
    steps: Vec<(Step, Op)>,
    /// Written when all steps are done: an index, or the file with our block.
    last: Vec<Op>,
}

impl<'a> Plan<'a> {
    pub(super) fn begin(store: &'a TopicStore, other: &'a Other) -> Result<Self, ExchangeError> {
        if real(other.path()) == real(store.folder()) {
            return Err(ExchangeError::Same { path: store.folder().to_owned() });
        }
        let key = other.key();
        let before = Record::of(store).place(&key);
        Ok(Self { store, other, key, place: before.clone(), before, steps: Vec::new(), last: Vec::new() })
    }

    /// The steps.
    pub fn steps(&self) -> Vec<&Step> {
        self.steps.iter().map(|(step, _)| step).collect()
    }

    /// Whether anything would be written, apart from proposals.
    pub fn changes_anything(&self) -> bool {
        !self.last.is_empty() || self.steps.iter().any(|(step, _)| step.action.is_change())
    }

    pub(super) fn store(&self) -> &'a TopicStore {
        self.store
    }

    pub(super) fn push(&mut self, step: Step, op: Op) {
        self.steps.push((step, op));
    }

    pub(super) fn push_last(&mut self, op: Op) {
        self.last.push(op);
    }

    /// Notes that a memory of ours is there.
    pub(super) fn note_sent(&mut self, file: &str, theirs: &str, hash: String) {
        self.place.sent.insert(file.to_owned(), Sent { theirs: theirs.to_owned(), hash });
    }

    /// Does it. Files that were changed since the plan was made are left alone, and the step says so.
    pub fn apply(mut self, proposals: Proposals) -> Result<Report, ExchangeError> {
        let mut report = Report::default();
        let mut failed = None;
        for (mut step, op) in std::mem::take(&mut self.steps) {
            let is_on =
                step.action.is_change() || step.action == Action::Propose && proposals == Proposals::Take;
            if is_on && failed.is_none() {
                match self.run(op, &mut report.redacted) {
                    Ok(Done::AsPlanned(file)) => {
                        step.ours = file.or(step.ours);
                        if step.action == Action::Propose {
                            step.action = Action::Create;
                        }
                    }
                    Ok(Done::Near(file)) => {
                        step.action = Action::Offer;
                        step.why = format!("{file} says much the same");
                        step.ours = Some(file);
                    }
                    Err(ExchangeError::Changed { path }) => {
                        step.action = Action::Conflict;
                        step.why = format!("{} was changed meanwhile", path.display());
                        if let Some(file) = &step.ours {
                            restore(&mut self.place.sent, &self.before.sent, file);
                        }
                    }
                    Err(error) => failed = Some(error),
                }
            }
            report.steps.push(step);
        }
        for op in std::mem::take(&mut self.last) {
            if failed.is_none() {
                failed = self.run(op, &mut report.redacted).err();
            }
        }
        if failed.is_none() {
            Record::keep(self.store, &self.key, (&self.before, &self.place))?;
        }
        failed.map_or(Ok(report), Err)
    }

    fn run(&mut self, op: Op, redacted: &mut Vec<&'static str>) -> Result<Done, ExchangeError> {
        let root = match self.other {
            Other::Claude(folder) | Other::Codex(folder) => folder.clone(),
            Other::Agents(file) => file.parent().unwrap_or(Path::new("")).to_owned(),
        };
        match op {
            Op::Nothing => {}
            Op::Write { relative, text, expected } => {
                let path = root.join(&relative);
                if read(&path)?.map(|text| hash(&text)) != expected {
                    return Err(ExchangeError::Changed { path });
                }
                match self.other {
                    Other::Claude(_) | Other::Codex(_) => write_private(&root, &relative, text.as_bytes())?,
                    // A file of the project: it keeps its permissions.
                    Other::Agents(_) => replace(&path, &text)?,
                }
            }
            Op::Remove { relative, expected } => {
                let path = root.join(&relative);
                match read(&path)? {
                    Some(text) if hash(&text) == expected => {
                        std::fs::remove_file(&path).map_err(ExchangeError::io("remove", &path))?;
                    }
                    Some(_) => return Err(ExchangeError::Changed { path }),
                    None => {}
                }
            }
            Op::Add { new, key, hash } => match self.store.add(*new)? {
                Added::Saved(saved) => {
                    redacted.extend(saved.redacted);
                    self.place.taken.insert(key, Taken { hash, file: saved.file.clone() });
                    return Ok(Done::AsPlanned(Some(saved.file)));
                }
                Added::Similar(known) => return Ok(Done::Near(known.file)),
            },
            Op::Confirm { file, source, key, hash } => {
                self.store.confirm(&file, source)?;
                self.place.taken.insert(key, Taken { hash, file });
            }
        }
        Ok(Done::AsPlanned(None))
    }
}

/// What came of an operation.
enum Done {
    /// It was done; the file of ours that it made.
    AsPlanned(Option<String>),
    /// Not, for this file of ours is near.
    Near(String),
}

fn restore(
    now: &mut std::collections::BTreeMap<String, Sent>,
    before: &std::collections::BTreeMap<String, Sent>,
    file: &str,
) {
    match before.get(file) {
        Some(sent) => now.insert(file.to_owned(), sent.clone()),
        None => now.remove(file),
    };
}

/// A text file of somebody else; `None` if it is not there. A link is not followed.
pub(super) fn read(path: &Path) -> Result<Option<String>, ExchangeError> {
    let odd = || ExchangeError::NotText { path: path.to_owned() };
    match path.symlink_metadata() {
        Ok(meta) if meta.is_file() => {}
        Ok(_) => return Err(odd()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ExchangeError::io("look at", path)(error)),
    }
    let file = std::fs::File::open(path).map_err(ExchangeError::io("read", path))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(ExchangeError::io("read", path))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(ExchangeError::TooLarge { path: path.to_owned(), limit: MOST_BYTES });
    }
    String::from_utf8(bytes).map(Some).map_err(|_| odd())
}

/// Replaces a file as a whole, with the permissions that it has; a new one gets the usual.
fn replace(path: &Path, text: &str) -> Result<(), ExchangeError> {
    let folder: PathBuf = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        Some(_) | None => PathBuf::from("."),
    };
    if !path.exists() {
        return std::fs::write(path, text).map_err(ExchangeError::io("write", path));
    }
    let mut file =
        tempfile::NamedTempFile::new_in(&folder).map_err(ExchangeError::io("create a file in", &folder))?;
    std::io::Write::write_all(&mut file, text.as_bytes()).map_err(ExchangeError::io("write", path))?;
    let permissions = path.metadata().map_err(ExchangeError::io("look at", path))?.permissions();
    std::fs::set_permissions(file.path(), permissions).map_err(ExchangeError::io("write", path))?;
    file.persist(path).map_err(|error| ExchangeError::io("write", path)(error.error))?;
    Ok(())
}
