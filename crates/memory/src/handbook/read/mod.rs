//! How sessions use handbooks (H4, B6): what a new one is told, and what it finds by looking.
//!
//! A session may read two books: its project's, and the global one. No function here takes the name of another project.
//!
//! **Chosen, not cut.** What a session is told is picked from both books for the first thing that is asked of it: fresh notes by hand, what the user
//! wants, what touches the request, and an index of the rest, within a number of tokens. The same books and the same request give the same text.
//!
//! **As data.** The whole stands in a frame that says so; the user's words are marked as quotes with their day.
//!
//! **What can't be read is left out.** A damaged book, a link in its folder, a header that names another scope: a session begins without, and search says why.

mod choose;
mod lines;
mod open;
mod search;
mod shelf;

pub use choose::{Briefed, Reader};
pub use open::{OpenError, Opened};
pub use search::{Found, Hit};

use super::phase2::Workspace;
use super::{HandbookLimits, ProjectKey, Scope};
use shelf::Shelf;
use throughline_core::SessionId;
use throughline_core::tokens::Counter;
use throughline_ledger::Home;

/// Searches that a session is told to make at most.
pub const MOST_SEARCHES: usize = 6;
/// Characters of an id by which a session is named at least.
const SHORTEST_ID: usize = 8;

/// The two handbooks that a session may read.
#[derive(Clone, Debug)]
pub struct Reading {
    project: Workspace,
    global: Workspace,
    limits: HandbookLimits,
}

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Volume {
    /// The project's.
    Project,
    /// That of all projects.
    Global,
}

impl Volume {
    /// Both, the nearer one first.
    pub const ALL: [Self; 2] = [Self::Project, Self::Global];

    /// What its paths begin with, for models.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Project => "handbook/project/",
            Self::Global => "handbook/global/",
        }
    }
}

impl Reading {
    /// The handbooks for a project.
    pub fn new(home: &Home, project: &ProjectKey, limits: &HandbookLimits) -> Self {
        Self {
            project: Workspace::new(home, &Scope::Project(project.clone()), limits),
            global: Workspace::new(home, &Scope::Global, limits),
            limits: limits.clone(),
        }
    }

    /// What a session is told for a request: at most [`summary_tokens`](HandbookLimits::summary_tokens), everything included. `None` if the
    /// books have nothing to say.
    pub fn choose(&self, request: &str, counter: &mut Counter) -> Option<Briefed> {
        self.choose_for(request, Reader::Searches, counter)
    }

    /// The same for who may not be able to look further.
    pub fn choose_for(&self, request: &str, reader: Reader, counter: &mut Counter) -> Option<Briefed> {
        if self.limits.summary_tokens == 0 {
            return None;
        }
        choose::choose(&Shelf::statements(self), (request, reader), (self.limits.summary_tokens, counter))
    }

    /// Looks for words in statements, notes, summaries of sessions and skills; the best first, at most `most`.
    pub fn search(&self, query: &str, most: usize) -> Found {
        search::search(&Shelf::whole(self), query, most)
    }

    /// Lines of a file, by its path as searches give it; or a skill, by its name.
    pub fn open(&self, path: &str, lines: Option<(usize, usize)>) -> Result<Opened, OpenError> {
        open::open(self, path, lines)
    }

    /// Whether a path is one that [`open`](Self::open) takes.
    pub fn is_path(path: &str) -> bool {
        open::is_path(path)
    }

    /// The sessions that are meant by ids or the beginnings of ids, each once, in order. What the books do not rest on is left out, and so is
    /// a beginning that could mean several.
    pub fn sessions(&self, ids: &[SessionId]) -> Vec<SessionId> {
        let known = Shelf::statements(self).sessions();
        let mut meant = Vec::new();
        for id in ids.iter().map(SessionId::as_str).filter(|id| id.len() >= SHORTEST_ID) {
            let whole = known.iter().find(|known| known.as_str() == id);
            let mut by_start = known.iter().filter(|known| known.as_str().starts_with(id));
            let only = by_start.next().filter(|_| by_start.next().is_none());
            if let Some(session) = whole.or(only).filter(|session| !meant.contains(*session)) {
                meant.push(session.clone());
            }
        }
        meant
    }

    fn workspace(&self, volume: Volume) -> &Workspace {
        match volume {
            Volume::Project => &self.project,
            Volume::Global => &self.global,
        }
    }
}
