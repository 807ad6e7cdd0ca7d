//! `projects/<slug>/project.toml`: whose memories are in a project's folder.

use super::checkout::read;
use super::{ProjectSlug, Remote};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use throughline_ledger::{Home, write_private};

/// The most bytes of a record, and the most projects that are asked for theirs.
const RECORD_BYTES: u64 = 64 << 10;
const MOST_PROJECTS: usize = 10_000;

const ABOUT: &str = "\
# Written by Throughline: the folder whose memories these are, and where it comes from.
# `same_as` names the project whose memories it uses, since both come from `remote`.
# `apart = true` keeps it from using those of any other.
";

/// What is known of one project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Record {
    /// The folder, as text.
    pub(super) root: String,
    /// Where it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remote: Option<String>,
    /// When its `.git` was made: tells a repository whose remote was changed from another one in the same place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) made: Option<String>,
    /// The project whose memories it uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) same_as: Option<String>,
    /// Whether it never uses another's.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) apart: bool,
    /// What others wrote.
    #[serde(flatten)]
    pub(super) more: toml::Table,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands references")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Record {
    /// The record of a project; `None` if there is none.
    pub(super) fn read(home: &Home, slug: &ProjectSlug) -> Result<Option<Self>, String> {
        let path = home.root().join(relative(slug));
        let failed = |why: String| format!("{} {why}; mend it or move it away", path.display());
        let Some(bytes) = read(&path, RECORD_BYTES).map_err(failed)? else { return Ok(None) };
        let text = String::from_utf8(bytes).map_err(|_| failed("is not text".to_owned()))?;
        toml::from_str(&text)
            .map(Some)
            .map_err(|error| failed(format!("is not in order: {}", error.message())))
    }

    /// Replaces the record of a project.
    pub(super) fn write(&self, home: &Home, slug: &ProjectSlug) -> Result<(), String> {
        let text =
            toml::to_string(self).map_err(|error| format!("cannot write of {}: {error}", self.root))?;
        let text = format!("{ABOUT}{text}");
        write_private(home.root(), &relative(slug), text.as_bytes()).map_err(|error| error.to_string())
    }

    /// The remote, if it is one.
    pub(super) fn remote(&self) -> Option<Remote> {
        self.remote.as_deref().and_then(Remote::read)
    }

    /// The project whose memories are used, if it is one.
    pub(super) fn same_as(&self) -> Option<ProjectSlug> {
        self.same_as.as_deref().and_then(ProjectSlug::parse)
    }
}

/// Projects that have memories of their own and come from a place, those that changed last first.
pub(super) fn with_remote(home: &Home, remote: &Remote) -> Vec<(ProjectSlug, Record)> {
    let Ok(listing) = fs::read_dir(home.root().join("projects")) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in listing.flatten().take(MOST_PROJECTS) {
        let name = entry.file_name();
        let Some(slug) = name.to_str().and_then(ProjectSlug::parse) else { continue };
        // One that can't be read is told to whoever works there.
        let Ok(Some(record)) = Record::read(home, &slug) else { continue };
        if record.remote().as_ref() == Some(remote)
            && record.same_as.is_none()
            && !record.apart
            && let Some(changed) = memories_changed(home, &slug)
        {
            found.push((changed, slug, record));
        }
    }
    found.sort_by(|(at, slug, _), (other, than, _)| other.cmp(at).then_with(|| slug.cmp(than)));
    found.into_iter().map(|(_, slug, record)| (slug, record)).collect()
}

/// When the folder of a project's memories changed last; `None` if there is none.
pub(super) fn memories_changed(home: &Home, slug: &ProjectSlug) -> Option<std::time::SystemTime> {
    let folder = home.root().join("projects").join(slug.as_str()).join("memory");
    fs::metadata(folder).ok().filter(fs::Metadata::is_dir).and_then(|meta| meta.modified().ok())
}

fn relative(slug: &ProjectSlug) -> String {
    format!("projects/{slug}/project.toml")
}

/// When a folder was made, where the system says so.
pub(super) fn made(folder: &Path) -> Option<String> {
    let created = fs::metadata(folder).ok()?.created().ok()?;
    Some(jiff::Timestamp::try_from(created).ok()?.to_string())
}

/// Who owns a folder, where there are owners.
#[cfg(unix)]
pub(super) fn owner(folder: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(folder).ok().map(|meta| meta.uid())
}

#[cfg(not(unix))]
pub(super) fn owner(_: &Path) -> Option<u32> {
    None
}
