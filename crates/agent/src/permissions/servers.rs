//! Servers that a project proposes and the user approved.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use throughline_ledger::{LedgerError, write_private};
use throughline_memory::ProjectSlug;

/// The definitions of servers that the user approved for a project, by their fingerprints. A definition that changes is another one.
#[derive(Clone, Debug)]
pub struct ServerApprovals {
    root: PathBuf,
    relative: String,
    held: BTreeSet<String>,
}

impl ServerApprovals {
    /// What was approved for a project. A file that can't be read approves nothing.
    pub fn load(root: &Path, project: &ProjectSlug) -> Self {
        let relative = format!("projects/{project}/servers.json");
        let text = std::fs::read_to_string(root.join(&relative)).unwrap_or_default();
        let held = serde_json::from_str(&text).unwrap_or_default();
        Self { root: root.to_owned(), relative, held }
    }

    /// Whether a definition was approved.
    pub fn holds(&self, fingerprint: &str) -> bool {
        self.held.contains(fingerprint)
    }

    /// Approves a definition from now on.
    pub fn add(&mut self, fingerprint: &str) -> Result<(), LedgerError> {
        self.held.insert(fingerprint.to_owned());
        let text = serde_json::to_string_pretty(&self.held).unwrap_or_default();
        write_private(&self.root, &self.relative, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_approved_is_known_again_and_a_broken_file_approves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let project = ProjectSlug::of(folder.path());
        let mut approvals = ServerApprovals::load(folder.path(), &project);
        assert!(!approvals.holds("a"));
        approvals.add("a").unwrap();
        let again = ServerApprovals::load(folder.path(), &project);
        assert!(again.holds("a") && !again.holds("b"));
        let file = folder.path().join(&again.relative);
        std::fs::write(&file, "[\"a\", ").unwrap();
        assert!(!ServerApprovals::load(folder.path(), &project).holds("a"));
    }
}
