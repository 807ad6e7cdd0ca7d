//! What people wrote into the book by hand and that rests on nothing becomes a note by hand: then it does.

use super::error::Phase2Error;
use super::folder::Files;
use super::open::Open;
use super::paths::{EVIDENCE, MEMORY};
use crate::handbook::book::{Book, BookFile, FlawKind};
use jiff::Timestamp;
use std::collections::BTreeSet;

/// Bullets that are taken over at once.
const MOST: usize = 100;

impl Open<'_> {
    /// Makes notes of bullets that people put into `MEMORY.md` without evidence since the last edition. Returns the book's text without them,
    /// if there is one.
    pub(super) fn adopt(&mut self, now: Timestamp) -> Result<Option<String>, Phase2Error> {
        let Some(memory) = text(&self.files, MEMORY) else { return Ok(None) };
        let known = text(&self.baseline, MEMORY).unwrap_or_default();
        let known: BTreeSet<&str> = known.lines().map(str::trim).collect();
        let evidence = text(&self.baseline, EVIDENCE).unwrap_or_default();
        let (_, flaws) = Book::parse(&memory, &evidence);
        let bare = flaws
            .iter()
            .filter(|flaw| flaw.file == BookFile::Memory && matches!(flaw.what, FlawKind::NoEvidence));
        let lines: Vec<&str> = memory.lines().collect();
        let mut taken: BTreeSet<usize> = BTreeSet::new();
        let notes = self.workspace.notes_in(&self.files);
        for flaw in bare.take(MOST) {
            let Some(first) = flaw.line.checked_sub(1).filter(|at| *at < lines.len()) else { continue };
            if known.contains(lines[first].trim()) {
                continue;
            }
            // Its further lines are indented.
            let is_further = |line: &&&str| line.starts_with([' ', '\t']) && !line.trim().is_empty();
            let further = lines[first + 1..].iter().take_while(is_further).count();
            let said: Vec<&str> = lines[first..=first + further].iter().map(|line| line.trim()).collect();
            let said = said.join(" ");
            let said = said.trim_start_matches(['-', '*']).trim();
            let is_noted = notes.iter().any(|note| note.text == said);
            if is_noted || said.is_empty() || self.workspace.add_note(said, now).is_ok() {
                taken.extend(first..=first + further);
            }
        }
        if taken.is_empty() {
            return Ok(Some(memory));
        }
        self.files = self.workspace.folder.files()?;
        let left = lines.iter().enumerate().filter(|(at, _)| !taken.contains(at)).map(|(_, line)| *line);
        Ok(Some(left.collect::<Vec<_>>().join("\n") + "\n"))
    }
}

fn text(files: &Files, path: &str) -> Option<String> {
    files.get(path).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}
