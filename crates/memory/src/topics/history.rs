//! Every change of a folder of memories, as a commit of a bare repository beside them.
//!
//! A commit is written by one run of `git fast-import` that is given what changed and nothing else. In the repository, memories
//! lie in 256 folders by a hash of their names, so that a commit among ten thousand memories writes a short list and not a long one.

use super::folder::Stamp;
use super::names::INDEX;
use super::recorded::{ChangeKind, ID, Recorded};
use super::yaml::one_line;
use crate::history::{BRANCH, Dates, Draft, Refusal, Repository, When, quoted};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The repository's folder among our files.
pub(super) const HISTORY: &str = "history.git";
/// Where another history is prepared, and where the old one is while they change places.
const NEXT: &str = "history.next";
const LAST: &str = "history.last";

/// What a commit says.
pub(super) struct Message {
    pub(super) kind: ChangeKind,
    pub(super) what: String,
    pub(super) undoes: Option<String>,
}

impl Message {
    pub(super) fn of(kind: ChangeKind, what: String) -> Self {
        Self { kind, what, undoes: None }
    }

    fn text(&self, id: &str) -> String {
        let undoes = self.undoes.as_ref().map(|id| format!("\nundoes: {id}")).unwrap_or_default();
        format!("{}\n\nchange: {}\nid: {id}{undoes}\n", one_line(&self.what), self.kind)
    }
}

/// The history of a folder.
#[derive(Debug)]
pub(super) struct History {
    ours: PathBuf,
}

impl History {
    /// In the folder of our own files.
    pub(super) fn of(ours: &Path) -> Self {
        Self { ours: ours.to_owned() }
    }

    /// The repository; begun if there is none.
    fn repository(&self) -> Result<Repository, Refusal> {
        Repository::open(&self.ours.join(HISTORY))
    }

    /// The repository; `None` if none was begun.
    fn begun(&self) -> Result<Option<Repository>, Refusal> {
        Repository::find(&self.ours.join(HISTORY))
    }

    /// Finishes what a crash left of a change of places. Only for who holds the folder.
    pub(super) fn settle(&self) -> Result<(), Refusal> {
        let at = |name: &str| self.ours.join(name);
        let is_there = |name: &str| at(name).symlink_metadata().is_ok();
        if !is_there(HISTORY) && is_there(LAST) && is_there(NEXT) {
            rename(&at(NEXT), &at(HISTORY))?;
        }
        if is_there(HISTORY) {
            for name in [LAST, NEXT] {
                remove(&at(name))?;
            }
        }
        Ok(())
    }

    /// Records files as one change; `None` as content: the file is gone.
    pub(super) fn commit(
        &self,
        message: &Message,
        files: &BTreeMap<String, Option<Vec<u8>>>,
    ) -> Result<String, Refusal> {
        let repository = self.repository()?;
        let text = message.text(&change_id(repository.head()?.as_deref(), message, files));
        let files = files.iter().map(|(file, content)| (shelved(file), content.clone())).collect();
        repository.commit(&Draft { message: &text, when: When::Now, files: &files })
    }

    /// The newest commit; `None` if there is none.
    pub(super) fn head(&self) -> Result<Option<String>, Refusal> {
        self.begun()?.map_or(Ok(None), |repository| repository.head())
    }

    /// The files of `present` that are as the newest commit has them, and the files that it has besides.
    pub(super) fn compare(
        &self,
        folder: &Path,
        present: &BTreeMap<String, Stamp>,
    ) -> Result<(BTreeSet<String>, BTreeSet<String>), Refusal> {
        let repository = self.repository()?;
        if repository.head()?.is_none() {
            return Ok(Default::default());
        }
        let tree = repository.tree(BRANCH)?;
        let recorded: BTreeMap<String, String> =
            tree.into_iter().map(|(path, id)| (file_of(&path).to_owned(), id)).collect();
        let folder = folder.canonicalize().map_err(|error| error.to_string())?;
        let known: Vec<&String> = present.keys().filter(|file| recorded.contains_key(*file)).collect();
        let mut paths = String::new();
        for file in &known {
            let path = folder.join(file);
            let path = path.to_str().ok_or("the path of the folder is not UTF-8")?;
            paths.push_str(&quoted(path));
            paths.push('\n');
        }
        let ids = repository.ask(&["hash-object", "--no-filters", "--stdin-paths"], paths.as_bytes())?;
        let ids = String::from_utf8_lossy(&ids).into_owned();
        let same = known.into_iter().zip(ids.lines()).filter(|(file, id)| recorded[*file] == *id);
        let same = same.map(|(file, _)| file.clone()).collect();
        let besides = recorded.into_keys().filter(|file| !present.contains_key(file)).collect();
        Ok((same, besides))
    }

    /// The changes, newest first: of one memory, or of all.
    pub(super) fn log(&self, file: Option<&str>, limit: usize) -> Result<Vec<Recorded>, Refusal> {
        let Some(repository) = self.begun()? else { return Ok(Vec::new()) };
        let commits = repository.log(file.map(shelved).as_deref(), limit)?;
        let mut changes: Vec<Recorded> = commits.into_iter().map(Recorded::from).collect();
        let mut undone: BTreeSet<String> = BTreeSet::new();
        for change in &mut changes {
            change.undone = undone.contains(&change.id);
            if !change.undone {
                undone.extend(change.undoes.clone());
            }
        }
        Ok(changes)
    }

    /// What objects of the repository hold.
    pub(super) fn contents(&self, ids: &[String]) -> Result<Vec<Vec<u8>>, Refusal> {
        self.repository()?.contents(ids)
    }

    /// Removes every trace of a file, and all states of the index: the history is written anew without them and takes the place of the old
    /// one.
    pub(super) fn purge(&self, file: &str) -> Result<(), Refusal> {
        let Some(old) = self.begun()? else { return Ok(()) };
        let next = self.ours.join(NEXT);
        if old.head()?.is_some() {
            let without = [
                format!(":(exclude,top,literal){}", shelved(file)),
                format!(":(exclude,top,literal){INDEX}"),
            ];
            let args = ["fast-export", BRANCH, "--", ".", &without[0], &without[1]];
            let stream = old.ask(&args, &[])?;
            let mut stream = without_mentions(&stream, file);
            stream.extend_from_slice(b"done\n");
            let new = Repository::open(&next)?;
            new.import(&stream, Dates::Given)?;
        } else {
            Repository::open(&next)?;
        }
        let last = self.ours.join(LAST);
        rename(&self.ours.join(HISTORY), &last)?;
        rename(&next, &self.ours.join(HISTORY))?;
        remove(&last)
    }
}

/// An id of our own for a change: a commit's is another one after a purge.
fn change_id(parent: Option<&str>, message: &Message, files: &BTreeMap<String, Option<Vec<u8>>>) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(parent.unwrap_or_default().as_bytes()).update(message.what.as_bytes());
    for (file, content) in files {
        hasher.update(file.as_bytes()).update(content.as_deref().unwrap_or_default());
    }
    hasher.finalize().to_hex()[..ID].to_owned()
}

/// Where a file lies in the repository.
fn shelved(file: &str) -> String {
    if file == INDEX {
        return file.to_owned();
    }
    format!("{}/{file}", &blake3::hash(file.as_bytes()).to_hex()[..2])
}

pub(super) fn file_of(path: &str) -> &str {
    path.split_once('/').map_or(path, |(_, file)| file)
}

/// The stream of an export whose messages don't name a file.
fn without_mentions(stream: &[u8], file: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(stream.len());
    let mut rest = stream;
    let mut is_message = false;
    while !rest.is_empty() {
        let end = rest.iter().position(|b| *b == b'\n').map_or(rest.len(), |at| at + 1);
        let (line, behind) = rest.split_at(end);
        rest = behind;
        let size = line
            .strip_prefix(b"data ")
            .and_then(|size| std::str::from_utf8(size).ok()?.trim().parse::<usize>().ok());
        let Some(size) = size else {
            if line.starts_with(b"commit ") {
                is_message = true;
            }
            out.extend_from_slice(line);
            continue;
        };
        let (data, behind) = rest.split_at(size.min(rest.len()));
        rest = behind;
        if std::mem::take(&mut is_message) {
            // Names stand behind a space in our messages.
            let said = String::from_utf8_lossy(data).replace(&format!(" {file}"), " (purged)");
            out.extend_from_slice(format!("data {}\n{said}", said.len()).as_bytes());
        } else {
            out.extend_from_slice(line);
            out.extend_from_slice(data);
        }
    }
    out
}

fn rename(from: &Path, to: &Path) -> Result<(), Refusal> {
    std::fs::rename(from, to).map_err(|error| format!("{} could not be moved: {error}", from.display()))
}

fn remove(path: &Path) -> Result<(), Refusal> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{} could not be removed: {error}", path.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
