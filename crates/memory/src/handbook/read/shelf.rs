//! Both books as they are now.

use super::{Reading, Volume};
use crate::handbook::book::Book;
use crate::handbook::phase2::{EVIDENCE, MEMORY, SKILLS, SUMMARIES, Workspace};
use crate::handbook::{Evidence, HandNote};
use throughline_core::SessionId;

/// Both books, the project's first.
pub(super) struct Shelf {
    pub(super) books: Vec<Shelved>,
    /// Why something is not there, in words.
    pub(super) problems: Vec<String>,
}

/// One of them.
pub(super) struct Shelved {
    pub(super) volume: Volume,
    pub(super) book: Book,
    /// `MEMORY.md`, for places in it.
    pub(super) memory: String,
    /// All notes by hand, oldest first.
    pub(super) notes: Vec<HandNote>,
    /// Names of skills.
    pub(super) skills: Vec<String>,
    /// Summaries and skills with their texts, by path; only if all was asked for.
    pub(super) files: Vec<(String, String)>,
}

impl Shelf {
    /// The statements and notes.
    pub(super) fn statements(reading: &Reading) -> Self {
        Self::read(reading, false)
    }

    /// All that can be found.
    pub(super) fn whole(reading: &Reading) -> Self {
        Self::read(reading, true)
    }

    fn read(reading: &Reading, is_whole: bool) -> Self {
        let mut shelf = Self { books: Vec::new(), problems: Vec::new() };
        for volume in Volume::ALL {
            match Shelved::read(reading.workspace(volume), volume, is_whole) {
                Ok(Some(book)) => shelf.books.push(book),
                Ok(None) => {}
                Err(why) => shelf.problems.push(why),
            }
        }
        shelf
    }

    /// The sessions that the books rest on.
    pub(super) fn sessions(&self) -> Vec<SessionId> {
        let all = self.books.iter().flat_map(|one| one.book.grounds().sessions().map(|(id, _)| id.clone()));
        let mut all: Vec<SessionId> = all.collect();
        all.sort();
        all.dedup();
        all
    }
}

impl Shelved {
    fn read(workspace: &Workspace, volume: Volume, is_whole: bool) -> Result<Option<Self>, String> {
        let said = |error: crate::handbook::phase2::Phase2Error| error.to_string();
        let text = |path: &str| -> Result<String, String> {
            let bytes = workspace.read(path).map_err(said)?.unwrap_or_default();
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let memory = text(MEMORY)?;
        let (book, _) = Book::parse(&memory, &text(EVIDENCE)?);
        if book.scope().is_some_and(|scope| scope != workspace.scope()) {
            return Err(format!(
                "{} says that it is another project's handbook; it is not used",
                workspace.folder().join(MEMORY).display()
            ));
        }
        // A statement that names no evidence that is there is nobody's.
        let book = book.founded();
        let notes = workspace.notes().map_err(said)?;
        let files = workspace.files().map_err(said)?;
        let is_skill = |path: &&String| path.starts_with(SKILLS) && path.ends_with("/SKILL.md");
        let name = |path: &String| path.split('/').nth(1).unwrap_or_default().to_owned();
        let skills = files.keys().filter(is_skill).map(name).collect();
        let is_found = |path: &str| is_whole && (path.starts_with(SUMMARIES) || is_skill(&&path.to_owned()));
        let files: Vec<(String, String)> = files
            .iter()
            .filter(|(path, _)| is_found(path))
            .map(|(path, bytes)| (path.clone(), String::from_utf8_lossy(bytes).into_owned()))
            .collect();
        let shelved = Self { volume, book, memory, notes, skills, files };
        let is_empty = shelved.book.is_empty() && shelved.notes.is_empty() && shelved.files.is_empty();
        Ok((!is_empty).then_some(shelved))
    }

    /// Notes by hand that no consolidation took in yet, the newest first.
    pub(super) fn fresh_notes(&self) -> impl Iterator<Item = &HandNote> {
        let is_known = |note: &HandNote| {
            let key = Evidence::Note { file: note.file.clone() }.key();
            self.book.grounds().get(&key).is_some()
        };
        self.notes.iter().rev().filter(move |note| !is_known(note))
    }
}
