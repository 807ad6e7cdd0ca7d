//! What the user permitted before, for a project or for a session.
//!
//! A project's approvals are a file that people can read and edit: `projects/<project>/approvals.toml` below the agent's own
//! folder, where the agent itself may not write ([`Policy`](super::Policy)).

use super::Rule;
use serde::Deserialize;
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use throughline_ledger::write_private;
use throughline_memory::ProjectSlug;

const HEADER: &str = "\
# What an agent may do in this project without asking: what you answered with \"always\".
# Remove an entry to be asked again. The rules are explained in docs/permissions.md.
";
/// The most bytes of a file.
const LARGEST: u64 = 1 << 20;
/// How often a lock is tried before it is given up, and how long is waited in between.
const TRIES: usize = 1500;
const PAUSE: Duration = Duration::from_millis(20);

/// What the user permitted before. Shared: whoever adds a rule adds it for all who hold the same.
#[derive(Debug, Default)]
pub struct Approvals {
    file: Option<Place>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct Place {
    root: PathBuf,
    relative: String,
}

#[derive(Debug, Default)]
struct State {
    project: Vec<Rule>,
    session: Vec<Rule>,
    problems: Vec<String>,
}

/// An approval could not be remembered, or forgotten.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalsError {
    /// The file can't be reached.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file can't be written.
    #[error("cannot remember an approval: {0}")]
    Write(#[from] throughline_ledger::LedgerError),
    /// Another process holds the file.
    #[error("{} is in use by another process; try again", path.display())]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// The file is there and can't be understood, so that nothing can be taken out of it.
    #[error("{}: {problem}; correct it, or move it away", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// These approvals belong to no project.
    #[error("there is no project to remember approvals for")]
    NoProject,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    allow: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    rule: String,
}

/// What a file holds.
enum Found {
    Rules { text: String, rules: Vec<Rule>, problems: Vec<String> },
    Broken { problem: String },
}

impl Approvals {
    /// Approvals of a session that belongs to no project.
    pub fn for_session() -> Self {
        Self::default()
    }

    /// The approvals of a project. A file that can't be read or understood permits nothing, and is one of the
    /// [problems](Self::problems); a file that is not there is none.
    pub fn load(root: &Path, project: &ProjectSlug) -> Self {
        let place = Place { root: root.to_owned(), relative: format!("projects/{project}/approvals.toml") };
        let mut state = State::default();
        match place.read() {
            Found::Rules { rules, problems, .. } => {
                state.project = rules;
                state.problems = problems;
            }
            Found::Broken { problem } => {
                state.problems =
                    vec![format!("{}: {problem}; nothing in it is in force", place.path().display())];
            }
        }
        Self { file: Some(place), state: Mutex::new(state) }
    }

    /// What is wrong with the file, for people.
    pub fn problems(&self) -> Vec<String> {
        self.state().problems.clone()
    }

    /// All rules in force: the project's, then the session's.
    pub fn rules(&self) -> Vec<Rule> {
        let state = self.state();
        state.project.iter().chain(&state.session).cloned().collect()
    }

    /// The rules that are remembered for the project.
    pub fn list(&self) -> Vec<Rule> {
        self.state().project.clone()
    }

    /// Permits something for as long as the session lasts.
    pub fn add_for_session(&self, rule: Rule) {
        let mut state = self.state();
        if !state.session.contains(&rule) {
            state.session.push(rule);
        }
    }

    /// Permits something for the project, from now on. What other processes added in between stays, and is in force here too.
    /// A file that can't be understood is put aside, not lost.
    pub fn add(&self, rule: Rule) -> Result<(), ApprovalsError> {
        let place = self.file.as_ref().ok_or(ApprovalsError::NoProject)?;
        let _lock = place.lock()?;
        let (mut text, mut rules) = match place.read() {
            Found::Rules { text, rules, .. } => (text, rules),
            Found::Broken { .. } => {
                place.put_aside()?;
                (String::new(), Vec::new())
            }
        };
        if !rules.contains(&rule) {
            if text.is_empty() {
                HEADER.clone_into(&mut text);
            }
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&entry(&rule));
            write_private(&place.root, &place.relative, text.as_bytes())?;
            rules.push(rule);
        }
        self.state().project = rules;
        Ok(())
    }

    /// Takes an approval back, the session's too; whether there was one. Remarks in the file are lost with it.
    pub fn remove(&self, rule: &Rule) -> Result<bool, ApprovalsError> {
        let mut was_there = false;
        self.state().session.retain(|known| {
            was_there |= known == rule;
            known != rule
        });
        let Some(place) = &self.file else { return Ok(was_there) };
        let _lock = place.lock()?;
        let mut rules = match place.read() {
            Found::Rules { rules, problems, .. } if problems.is_empty() => rules,
            Found::Rules { problems, .. } => {
                let problem = problems.join("; ");
                return Err(ApprovalsError::Broken { path: place.path(), problem });
            }
            Found::Broken { problem } => return Err(ApprovalsError::Broken { path: place.path(), problem }),
        };
        let before = rules.len();
        rules.retain(|known| known != rule);
        if rules.len() < before {
            let text: String = std::iter::once(HEADER.to_owned()).chain(rules.iter().map(entry)).collect();
            write_private(&place.root, &place.relative, text.as_bytes())?;
        }
        was_there |= rules.len() < before;
        self.state().project = rules;
        Ok(was_there)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn entry(rule: &Rule) -> String {
    format!("\n[[allow]]\nrule = {}\n", toml::Value::String(rule.to_string()))
}

impl Place {
    fn path(&self) -> PathBuf {
        self.root.join(&self.relative)
    }

    fn read(&self) -> Found {
        let path = self.path();
        let mut bytes = Vec::new();
        let read = match fs::metadata(&path) {
            // A pipe would be waited for, for ever.
            Ok(metadata) if !metadata.is_file() => {
                return Found::Broken { problem: "it is no plain file".to_owned() };
            }
            Ok(_) => File::open(&path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)),
            Err(error) => Err(error),
        };
        match read {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Found::Rules { text: String::new(), rules: Vec::new(), problems: Vec::new() };
            }
            Err(error) => return Found::Broken { problem: format!("it can't be read: {error}") },
        }
        if bytes.len() as u64 > LARGEST {
            return Found::Broken { problem: format!("it is larger than {LARGEST} bytes") };
        }
        let Ok(text) = String::from_utf8(bytes) else {
            return Found::Broken { problem: "it is not UTF-8".to_owned() };
        };
        let written: Written = match toml::from_str(&text) {
            Ok(written) => written,
            Err(error) => return Found::Broken { problem: error.message().to_owned() },
        };
        let (mut rules, mut problems) = (Vec::new(), Vec::new());
        for entry in written.allow {
            match entry.rule.parse::<Rule>() {
                Ok(rule) => rules.push(rule),
                Err(error) => problems.push(format!("{}: {error}", path.display())),
            }
        }
        Found::Rules { text, rules, problems }
    }

    /// Keeps a file that can't be understood under another name.
    fn put_aside(&self) -> Result<(), ApprovalsError> {
        let path = self.path();
        let failed = |what, source| ApprovalsError::File { what, path: path.clone(), source };
        for number in 1..1000 {
            let aside = path.with_extension(format!("broken-{number}.toml"));
            if fs::symlink_metadata(&aside).is_err() {
                return fs::rename(&path, aside).map_err(|source| failed("put aside", source));
            }
        }
        Err(failed("put aside", ErrorKind::AlreadyExists.into()))
    }

    /// Keeps other processes from writing until it is dropped.
    fn lock(&self) -> Result<File, ApprovalsError> {
        let path = self.path().with_extension("lock");
        let failed = |what| {
            let path = path.clone();
            move |source| ApprovalsError::File { what, path, source }
        };
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        let mut options = File::options();
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        {
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        if let Some(folder) = path.parent() {
            builder.create(folder).map_err(failed("make the folder of"))?;
        }
        let file = options.open(&path).map_err(failed("open"))?;
        for _ in 0..TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                Err(TryLockError::Error(source)) => return Err(failed("lock")(source)),
            }
        }
        Err(ApprovalsError::Busy { path })
    }
}
