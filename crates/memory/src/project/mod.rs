//! Which project a folder belongs to, and so which memories are its own (M1).
//!
//! **One repository, one project.** All worktrees of a repository share its memories; a linked worktree has an overlay besides. A
//! submodule is a repository by itself. Without git the folder is the project.
//!
//! **A repository is known again.** One that was moved, or cloned once more, is found by the place it comes from
//! ([`Remote`]), if its folder has no memories of its own. That is written down and told, and can be taken back
//! ([`Project::keep_apart`]).
//!
//! **Nothing of one project shows in another.** A folder that says it is part of a repository is believed only if that repository
//! says so as well. Different remotes are different projects, also where one folder held first the one and then the other.
//!
//! **What a hostile folder can do.** A clone can't: what is checked out never holds a `.git`, and what `.git/config` says is made by
//! the user's own git. An archive can: with a forged `.git` in it, it may claim any remote. Whoever works in it is told so in
//! the first session, and until they say otherwise that session reads and writes memories of the project that was named. Permissions are never shared that way:
//! approvals belong to folders. A `.git` that belongs to another user is not believed. (Any git command in such a folder would
//! run programs that its `config` names; this is the lesser harm.)

mod checkout;
mod git_config;
mod record;
mod remote;
mod slug;

pub use checkout::{Checkout, Head};
pub use remote::Remote;
pub use slug::ProjectSlug;
pub(crate) use slug::component;

use record::Record;
use std::path::{Path, PathBuf};
use throughline_ledger::Home;

/// A project: what memories, notes and settings belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The folder that stands for it, links resolved: see [`Checkout::root`].
    pub root: PathBuf,
    /// Its folder below `projects/`.
    pub slug: ProjectSlug,
    /// The linked worktree, if it is one.
    pub worktree: Option<Worktree>,
    /// Where it comes from.
    pub remote: Option<Remote>,
    /// What the user should be told: what is not in order, and what was decided for the first time.
    pub notices: Vec<String>,
    /// The remote under which it shares knowledge with other clones of the same place.
    shared: Option<Remote>,
    /// Whether the user keeps it apart from other clones.
    apart: bool,
    /// The slug of the root itself, which differs from `slug` if another project's memories are used.
    own: ProjectSlug,
}

/// A linked worktree of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktree {
    /// Where it is.
    pub folder: PathBuf,
    /// Its folder below the project's `worktrees/`.
    pub slug: ProjectSlug,
}

/// Why a project could not be kept apart.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep the memories of {} apart: {why}", root.display())]
pub struct ProjectError {
    /// Its folder.
    pub root: PathBuf,
    /// Why.
    pub why: String,
}

impl Project {
    /// The project of a folder. What was found is written down in `projects/<slug>/project.toml`. It never fails: what can't be read
    /// or written is among the notices, and the folder is then a project by itself.
    pub fn find(home: &Home, cwd: &Path) -> Self {
        let (mut project, record) = Self::seen(home, cwd);
        if let Some(record) = record {
            project.notices.extend(record.write(home, &project.own).err());
        }
        project.notices.extend(passed_over(home, cwd, &project));
        project
    }

    /// The project of a folder that somebody worked in once. Nothing is written. A folder that is gone is what was written down of it;
    /// failing that, part of whatever project it lay in.
    pub fn look(home: &Home, cwd: &Path) -> Self {
        Self::gone(home, cwd).unwrap_or_else(|| Self::seen(home, cwd).0)
    }

    /// The remote under which it may share knowledge with other clones of the same place: none if the user keeps it apart, or if
    /// its `.git` belongs to another user.
    pub fn shared_remote(&self) -> Option<&Remote> {
        self.shared.as_ref()
    }

    /// Whether the user keeps it apart from other clones of the same place ([`Self::keep_apart`]).
    pub fn is_apart(&self) -> bool {
        self.apart
    }

    /// What was written down of a folder that is no longer there.
    fn gone(home: &Home, cwd: &Path) -> Option<Self> {
        if cwd.symlink_metadata().is_ok() {
            return None;
        }
        let own = ProjectSlug::of(cwd);
        let record = Record::read(home, &own).ok()??;
        if record.root != cwd.to_string_lossy() {
            return None;
        }
        let remote = record.remote();
        Some(Self {
            root: cwd.to_owned(),
            slug: record.same_as().filter(|_| !record.apart).unwrap_or_else(|| own.clone()),
            worktree: None,
            shared: remote.clone().filter(|_| !record.apart),
            apart: record.apart,
            remote,
            notices: Vec::new(),
            own,
        })
    }

    /// The project of a folder, and what is to be written down of it.
    fn seen(home: &Home, cwd: &Path) -> (Self, Option<Record>) {
        let checkout = Checkout::of(cwd);
        let mut notices = checkout.warnings.clone();
        let now = Record {
            root: checkout.root.to_string_lossy().into_owned(),
            remote: checkout.remote.as_ref().map(ToString::to_string),
            made: checkout.git.as_deref().and_then(record::made),
            ..Record::default()
        };
        let (own, before) = own_folder(home, &checkout, &now, &mut notices);
        let mut project = Self {
            slug: own.clone(),
            own,
            worktree: checkout.worktree.as_deref().map(Worktree::at),
            apart: before.as_ref().is_some_and(|before| before.apart),
            shared: checkout.remote.clone().filter(|_| !is_foreign(home, &checkout)),
            remote: checkout.remote.clone(),
            root: checkout.root.clone(),
            notices,
        };
        let Some(before) = before else { return (project, None) };
        if project.apart {
            project.shared = None;
        }
        let same_as = project.choose(home, &checkout, &before);
        if let Some(other) = &same_as {
            project.slug.clone_from(other);
        }
        let after = Record {
            same_as: same_as.map(|slug| slug.to_string()),
            apart: before.apart,
            more: before.more.clone(),
            ..now
        };
        let is_known = project.own_folder(home).is_dir();
        let is_news = after != before && (is_known || after.remote.is_some());
        (project, is_news.then_some(after))
    }

    /// Where everything of the project is: `projects/<slug>` below the home.
    pub fn folder(&self, home: &Home) -> PathBuf {
        home.root().join("projects").join(self.slug.as_str())
    }

    /// Whether the memories are those of another folder, by the remote of both.
    pub fn is_shared(&self) -> bool {
        self.slug != self.own
    }

    /// From now on the folder has memories of its own, whatever remote it has. Nothing is deleted or copied.
    pub fn keep_apart(self, home: &Home) -> Result<Self, ProjectError> {
        let failed = |why| ProjectError { root: self.root.clone(), why };
        let before = Record::read(home, &self.own).map_err(failed)?.unwrap_or_default();
        let root = self.root.to_string_lossy().into_owned();
        let apart = Record { root, same_as: None, apart: true, ..before };
        apart.write(home, &self.own).map_err(failed)?;
        Ok(Self { slug: self.own.clone(), shared: None, apart: true, ..self })
    }

    fn own_folder(&self, home: &Home) -> PathBuf {
        home.root().join("projects").join(self.own.as_str())
    }

    /// The project whose memories to use instead of its own.
    fn choose(&mut self, home: &Home, checkout: &Checkout, before: &Record) -> Option<ProjectSlug> {
        if before.apart || record::memories_changed(home, &self.own).is_some() {
            return None;
        }
        let shown = self.root.display();
        let chosen = before.same_as();
        let remote = self.remote.as_ref();
        if let (Some(slug), Some(remote)) = (&chosen, remote)
            && before.remote.as_deref() == Some(remote.as_str())
            && let Ok(Some(other)) = Record::read(home, slug)
            && other.same_as.is_none()
            && is_still_from(&other, remote)
        {
            return chosen;
        }
        let found = remote.and_then(|remote| {
            let known = record::with_remote(home, remote).into_iter();
            known.filter(|(slug, _)| *slug != self.own).find(|(_, record)| is_still_from(record, remote))
        });
        let Some((slug, record)) = found else {
            if let Some(other) = chosen {
                self.notices.push(format!(
                    "{shown} used the memories of the project {other}, which no longer has the same remote; it has its own now"
                ));
            }
            return None;
        };
        let remote = remote.map(ToString::to_string).unwrap_or_default();
        if is_foreign(home, checkout) {
            self.notices.push(format!(
                "{shown} says that it comes from {remote}, but belongs to another user: memories of {} are not used here",
                record.root
            ));
            return None;
        }
        if chosen.as_ref() != Some(&slug) {
            self.notices.push(format!(
                "{shown} comes from {remote} by its .git/config, as {} does: its memories are used here too. If that is not right, set \
                 `apart = true` in {}",
                record.root,
                self.own_folder(home).join("project.toml").display(),
            ));
        }
        Some(slug)
    }
}

impl Worktree {
    fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), slug: ProjectSlug::of(folder) }
    }
}

/// The folder that belongs to this very root and repository, and what is recorded there; no record if that can't be read.
fn own_folder(
    home: &Home,
    checkout: &Checkout,
    now: &Record,
    notices: &mut Vec<String>,
) -> (ProjectSlug, Option<Record>) {
    let root = &checkout.root;
    let slug = ProjectSlug::of(root);
    let mut read = |slug: &ProjectSlug| match Record::read(home, slug) {
        Ok(record) => Some(record.unwrap_or_default()),
        Err(why) => {
            notices.push(why);
            None
        }
    };
    let Some(before) = read(&slug) else { return (slug, None) };
    let is_same_root = before.root.is_empty() || before.root == now.root;
    // Another remote is another repository, unless it is the very same `.git` with its remote changed.
    let is_same_repository = before.remote.is_none()
        || before.remote == now.remote
        || (before.made.is_some() && before.made == now.made);
    if is_same_root && is_same_repository {
        return (slug, Some(before));
    }
    let slug = ProjectSlug::beyond_doubt(root, checkout.remote.as_ref());
    let record = read(&slug);
    if record.as_ref().is_some_and(|record| record.root.is_empty()) {
        let was = before.remote.as_deref().unwrap_or("no remote");
        notices.push(format!(
            "{} was another repository before ({was}, in {}); its memories are not used here",
            root.display(),
            before.root
        ));
    }
    (slug, record)
}

/// Whether a checkout belongs to another user than the home.
fn is_foreign(home: &Home, checkout: &Checkout) -> bool {
    let owners = (checkout.git.as_deref().and_then(record::owner), record::owner(home.root()));
    matches!(owners, (Some(git), Some(home)) if git != home)
}

/// Whether a project that was recorded with a remote has it still, as far as can be told: its folder may be gone.
fn is_still_from(record: &Record, remote: &Remote) -> bool {
    let root = Path::new(&record.root);
    let is_there = !record.root.is_empty() && root.join(".git").symlink_metadata().is_ok();
    let now = if is_there { Checkout::of(root).remote } else { record.remote() };
    now.as_ref() == Some(remote)
}

/// Memories that were kept for the folder itself, before it was known to be part of a project.
fn passed_over(home: &Home, cwd: &Path, project: &Project) -> Option<String> {
    let cwd = cwd.canonicalize().ok()?;
    let slug = ProjectSlug::of(&cwd);
    let is_other = cwd != project.root && slug != project.slug;
    let folder = home.root().join("projects").join(slug.as_str()).join("memory");
    let is_there = is_other && record::memories_changed(home, &slug).is_some();
    is_there.then(|| {
        format!(
            "memories in {} were kept for this folder alone; the project's are used now: {}",
            folder.display(),
            project.slug
        )
    })
}
