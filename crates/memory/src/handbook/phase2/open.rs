//! A handbook that is held for one change: what a crash left is finished first, and what people changed is recorded first.

use super::diff::statuses;
use super::error::Phase2Error;
use super::folder::{Files, Held};
use super::past::{Entry, Past, Record, RecordKind};
use super::paths::{DIFF, Part, part, skill_of};
use super::state::{About, State};
use super::workspace::Workspace;
use jiff::Timestamp;
use std::collections::BTreeSet;

/// Files that a line names.
const NAMED: usize = 3;

/// A handbook, held.
///
/// **A change is recorded, then made.** The record holds all files as they are to be; then they are written, and then the state says that they
/// are. Whoever is killed in between leaves a record that is newer than the state: whoever comes next writes what is missing. Files that
/// somebody changed meanwhile are left as they are.
pub(super) struct Open<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) past: Past,
    pub(super) state: State,
    /// The handbook's files as they are.
    pub(super) files: Files,
    /// As the newest edition has them.
    pub(super) baseline: Files,
    /// What people changed by hand since, by path.
    pub(super) edits: Vec<String>,
    _held: Held,
}

impl<'a> Open<'a> {
    pub(super) fn new(workspace: &'a Workspace, now: Timestamp) -> Result<Self, Phase2Error> {
        let folder = &workspace.folder;
        let held = folder.hold()?;
        // A run that was killed left it.
        folder.remove(DIFF)?;
        folder.remove_unfinished()?;
        let past = Past::open(folder, workspace.uses_git)?;
        let (state, files) = (State::read(folder), folder.files()?);
        let mut open =
            Self { workspace, past, state, files, baseline: Files::new(), edits: Vec::new(), _held: held };
        if let Some((record, edition)) = open.past.edition()? {
            open.baseline = edition;
            open.finish(&record)?;
        }
        workspace.seed_instructions()?;
        open.files = folder.files()?;
        open.record_found(now)?;
        Ok(open)
    }

    /// Finishes what a crash left of the newest edition.
    fn finish(&mut self, record: &Record) -> Result<(), Phase2Error> {
        if self.state.installed.as_ref() == Some(&record.id) {
            return Ok(());
        }
        let before = self.past.before(&record.id)?.unwrap_or_default();
        let paths: BTreeSet<&String> = self.baseline.keys().chain(before.keys()).collect();
        let mut wanted = self.files.clone();
        for path in paths.into_iter().filter(|path| part(path).is_some()) {
            let (old, new) = (before.get(path), self.baseline.get(path));
            if old != new && self.files.get(path) == old {
                match new {
                    Some(content) => wanted.insert(path.clone(), content.clone()),
                    None => wanted.remove(path),
                };
            }
        }
        self.workspace.folder.replace(&self.files, &wanted)?;
        self.files = wanted;
        self.state.installed = Some(record.id.clone());
        self.state.write(&self.workspace.folder)
    }

    /// Records what others changed since the last record.
    fn record_found(&mut self, now: Timestamp) -> Result<(), Phase2Error> {
        let hand = |path: &str| part(path) != Some(Part::Hand);
        let edits = statuses(&self.baseline, &self.files);
        self.edits =
            edits.into_iter().filter(|(_, path)| hand(path)).map(|(_, path)| path.to_owned()).collect();
        let newest = self.past.newest()?;
        if newest == self.files {
            return Ok(());
        }
        let changed: Vec<String> =
            statuses(&newest, &self.files).into_iter().map(|(_, path)| path.to_owned()).collect();
        let what = format!("Find {} changed by hand", named(&changed));
        let entry = Entry { kind: RecordKind::Found, what, inputs: None, undoes: None, at: now };
        self.past.commit(&entry, &self.files).map(|_| ())
    }

    /// Whether the files are still as they were when this began, but for notes. Links that came meanwhile are removed, and are an error.
    pub(super) fn is_undisturbed(&mut self) -> Result<bool, Phase2Error> {
        let folder = &self.workspace.folder;
        let links = folder.remove_links()?;
        if !links.is_empty() {
            return Err(Phase2Error::Linked { paths: links });
        }
        let now = folder.files()?;
        let changed = statuses(&self.files, &now);
        let is_ours = changed.iter().all(|(_, path)| part(path) == Some(Part::Hand));
        self.files = now;
        Ok(is_ours)
    }

    /// Records an edition and puts its files in place. What people write is not touched: a note that came meanwhile is new to the next run.
    pub(super) fn put(
        &mut self,
        entry: &Entry,
        after: Files,
        state: State,
    ) -> Result<Vec<String>, Phase2Error> {
        let id = self.past.commit(entry, &after)?;
        let ours = |path: &String| part(path) != Some(Part::Hand);
        let mut wanted = self.hand();
        wanted.extend(
            after.iter().filter(|(path, _)| ours(path)).map(|(path, text)| (path.clone(), text.clone())),
        );
        let changed = self.workspace.folder.replace(&self.files, &wanted)?;
        self.state = State { installed: Some(id), ..state };
        self.state.write(&self.workspace.folder)?;
        (self.baseline, self.files) = (after, wanted);
        Ok(changed)
    }

    /// With another past.
    pub(super) fn with_past(self, past: Past) -> Self {
        Self { past, ..self }
    }

    /// Makes the files be as the edition has them.
    pub(super) fn restore(&mut self, files: Files) -> Result<Vec<String>, Phase2Error> {
        let changed = self.workspace.folder.replace(&self.files, &files)?;
        self.files = files;
        Ok(changed)
    }

    /// Files that people write.
    pub(super) fn hand(&self) -> Files {
        self.of(|path| part(path) == Some(Part::Hand))
    }

    /// Skills that are not ours, or were changed by hand.
    pub(super) fn foreign_skills(&self) -> BTreeSet<String> {
        let is_foreign = |(path, content): (&String, &Vec<u8>)| {
            let name = skill_of(path)?;
            let hash = self.state.about.skills.get(name);
            (hash.map(String::as_str) != Some(hash_of(content).as_str())).then(|| name.to_owned())
        };
        self.files.iter().filter_map(is_foreign).collect()
    }

    pub(super) fn of(&self, wanted: impl Fn(&str) -> bool) -> Files {
        let kept = self.files.iter().filter(|(path, _)| wanted(path));
        kept.map(|(path, content)| (path.clone(), content.clone())).collect()
    }

    /// What the state is to say of an edition with these skills of ours.
    pub(super) fn state_with(&self, edition: u64, about: About) -> State {
        State { installed: None, edition, about }
    }
}

/// Tells whether a file is as we wrote it.
pub(super) fn hash_of(content: &[u8]) -> String {
    blake3::hash(content).to_hex()[..32].to_owned()
}

/// Some of the files by name, and how many more.
pub(super) fn named(files: &[String]) -> String {
    let shown = files.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
