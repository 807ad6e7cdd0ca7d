//! Walking through a folder by ripgrep's rules.

use crate::tools::file_call::counted;
use ignore::WalkBuilder;
use ignore::types::Types;
use std::path::{Path, PathBuf};
use throughline_model::CancelToken;

/// A walk through the files of a folder, in order of their names. What `.gitignore` and its like leave out is left out; links
/// are not followed, and not given.
pub(in crate::tools) struct Walk<'a> {
    /// The folder, resolved.
    pub(in crate::tools) root: &'a Path,
    /// Also names that begin with a dot.
    pub(in crate::tools) hidden: bool,
    /// Also what is in `.git`.
    pub(in crate::tools) git: bool,
    /// Only files of these types.
    pub(in crate::tools) types: Option<Types>,
}

/// Folders and files that could not be looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tools) struct Unread(pub(in crate::tools) u64);

impl Unread {
    pub(in crate::tools) fn note(self) -> String {
        match self.0 {
            0 => String::new(),
            count => {
                format!("\n[{} could not be read.]", counted(count, "file or folder", "files or folders"))
            }
        }
    }
}

impl Walk<'_> {
    /// Gives every regular file to `visit`, which can stop the walk.
    pub(in crate::tools) fn files(
        self,
        cancel: &CancelToken,
        mut visit: impl FnMut(PathBuf) -> Result<(), String>,
    ) -> Result<Unread, String> {
        let mut builder = WalkBuilder::new(self.root);
        // Rules in the user's home are left alone: what is found does not depend on whose machine it is.
        builder.follow_links(false).git_global(false).hidden(!self.hidden).sort_by_file_name(Ord::cmp);
        let with_git = self.git;
        builder.filter_entry(move |entry| with_git || entry.depth() == 0 || entry.file_name() != ".git");
        if let Some(types) = self.types {
            builder.types(types);
        }
        let mut unread = Unread::default();
        for entry in builder.build() {
            if cancel.is_cancelled() {
                return Err("stopped".to_owned());
            }
            match entry {
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                    visit(entry.into_path())?
                }
                Ok(_) => {}
                Err(_) => unread.0 += 1,
            }
        }
        Ok(unread)
    }
}
