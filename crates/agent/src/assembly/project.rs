//! Project instructions (A3): AGENTS.md and CLAUDE.md from the project's root down to where the agent works.

use super::imports::{Importer, Importing};
use super::markdown;
use super::read::{FileText, Unread, confined, read_text};
use super::sources::Sources;
use super::text::{bounded, fair_shares, inert, shown};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file of project instructions, made fit to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    /// The folder that it is about; `None`: every folder.
    pub(crate) folder: Option<PathBuf>,
    /// The file.
    pub(crate) path: PathBuf,
    /// What it says, inert and within the limits.
    pub(crate) body: String,
    /// What was cut.
    pub(crate) cut: Option<String>,
}

/// What project files say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Project {
    /// The global file, then from the root down.
    pub(crate) documents: Vec<Document>,
    /// What they say about summaries.
    pub(crate) compact: Option<String>,
    /// What people should know.
    pub(crate) warnings: Vec<String>,
}

/// A folder's own file is this one if it is there,
const OVERRIDE: &str = "AGENTS.override.md";
/// else these.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// A file of which more than this is not even read.
const READ_BYTES: u64 = 1 << 20;

/// The folder that holds `.git`, nearest above; else the folder itself. Links in the path must be resolved.
///
/// A `.git` that another user put above one's folder does not make a project: whoever can write to a shared folder could otherwise
/// instruct everybody who works below it.
pub(crate) fn root(cwd: &Path, warnings: &mut Vec<String>) -> PathBuf {
    let marked = cwd.ancestors().find_map(|folder| {
        let marker = fs::symlink_metadata(folder.join(".git")).ok()?;
        (marker.is_dir() || marker.is_file()).then_some((folder, marker))
    });
    let Some((folder, marker)) = marked else { return cwd.to_owned() };
    let owner = fs::metadata(cwd).map(|metadata| metadata.uid()).ok();
    if folder != cwd && !is_trusted(marker.uid(), owner) {
        warnings.push(format!(
            "{} belongs to another user: it is not taken for the project's root",
            shown(&folder.join(".git"))
        ));
        return cwd.to_owned();
    }
    folder.to_owned()
}

fn is_trusted(marker: u32, cwd: Option<u32>) -> bool {
    marker == 0 || Some(marker) == cwd
}

/// The folders from the root down to the working folder.
pub(crate) fn folders(root: &Path, cwd: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        cwd.ancestors().take_while(|folder| folder.starts_with(root)).map(Path::to_owned).collect();
    folders.reverse();
    folders
}

/// A file as it was read.
struct Raw {
    folder: Option<PathBuf>,
    path: PathBuf,
    real: PathBuf,
    file: FileText,
    /// Where its imports may be.
    within: Vec<PathBuf>,
}

/// Reads what project files say now. Nothing is remembered from before.
pub(crate) fn read(sources: &Sources, cwd: &Path) -> Project {
    let mut warnings = Vec::new();
    let root = root(cwd, &mut warnings);
    let mut raws: Vec<Raw> = global(sources, &mut warnings).into_iter().collect();
    add_folders(&mut raws, &root, &folders(&root, cwd), &mut warnings);
    let most = sources.limits.project_files;
    if raws.len() > most {
        // The nearest say the most about where the work is.
        let over = raws.len() - most;
        warnings.push(format!(
            "{over} outer files of project instructions are left out: {most} are read at most"
        ));
        raws.drain(..over);
    }
    told(sources, raws, warnings)
}

/// Reads what files say about a folder that lies in the project, beyond what they say about the working folder.
pub(crate) fn read_scoped(sources: &Sources, folder: &Path) -> Project {
    let mut warnings = Vec::new();
    let cwd = sources.cwd.canonicalize().unwrap_or_else(|_| sources.cwd.clone());
    let root = root(&cwd, &mut warnings);
    let mut scopes = folders(&root, folder);
    scopes.retain(|scope| !cwd.starts_with(scope));
    let mut raws = Vec::new();
    add_folders(&mut raws, &root, &scopes, &mut warnings);
    told(sources, raws, warnings)
}

/// Adds the files of some folders, each file once.
fn add_folders(raws: &mut Vec<Raw>, root: &PathBuf, folders: &[PathBuf], warnings: &mut Vec<String>) {
    for folder in folders {
        for found in in_folder(folder, std::slice::from_ref(root), warnings) {
            let repeats = |known: &Raw| {
                known.real == found.real
                    || known.folder == found.folder && known.file.text.trim() == found.file.text.trim()
            };
            if !raws.iter().any(repeats) {
                raws.push(found);
            }
        }
    }
}

/// The user's instructions for every project: ours, else the one that agents share, else Claude Code's.
fn global(sources: &Sources, warnings: &mut Vec<String>) -> Option<Raw> {
    let ours = [OVERRIDE, "AGENTS.md"].map(|name| sources.config_home.join(name));
    let theirs =
        sources.home.iter().flat_map(|home| [home.join(".agents/AGENTS.md"), home.join(".claude/CLAUDE.md")]);
    ours.into_iter().chain(theirs).find_map(|path| {
        // The user's own file may be a link to anywhere, as those who keep such files together have them.
        let real = path.canonicalize().ok()?;
        let within = [path.parent(), real.parent()];
        let within = within.into_iter().flatten().filter_map(|folder| folder.canonicalize().ok()).collect();
        let file = taken(&path, read_text(&real, READ_BYTES), warnings)?;
        Some(Raw { folder: None, path, real, file, within })
    })
}

fn in_folder(folder: &Path, within: &[PathBuf], warnings: &mut Vec<String>) -> Vec<Raw> {
    let mut raw = |name: &str| {
        let path = folder.join(name);
        // The look at the name itself tells a broken link from nothing.
        fs::symlink_metadata(&path).ok()?;
        let read = confined(&path, within).and_then(|real| Ok((real.clone(), read_text(&real, READ_BYTES)?)));
        let (real, read) = match read {
            Ok((real, file)) => (real, Ok(file)),
            Err(Unread::Missing) => {
                (path.clone(), Err(Unread::Refused("it is a link to nowhere".to_owned())))
            }
            Err(refused) => (path.clone(), Err(refused)),
        };
        let file = taken(&path, read, warnings)?;
        Some(Raw { folder: Some(folder.to_owned()), path, real, file, within: within.to_vec() })
    };
    match raw(OVERRIDE) {
        Some(found) => vec![found],
        None => NAMES.into_iter().filter_map(raw).collect(),
    }
}

/// The file if it says anything.
fn taken(path: &Path, read: Result<FileText, Unread>, warnings: &mut Vec<String>) -> Option<FileText> {
    match read {
        Ok(file) => {
            warnings.extend(file.oddities.iter().map(|oddity| format!("{}: {oddity}", shown(path))));
            (!file.text.trim().is_empty()).then_some(file)
        }
        Err(Unread::Missing) => None,
        Err(Unread::Refused(why)) => {
            warnings.push(format!("{} is not read: {why}", shown(path)));
            None
        }
    }
}

/// With their imports, inert, and within the limits.
fn told(sources: &Sources, raws: Vec<Raw>, warnings: Vec<String>) -> Project {
    let limits = &sources.limits;
    let seen: BTreeSet<PathBuf> = raws.iter().map(|raw| raw.real.clone()).collect();
    let home = sources.home.as_deref();
    let mut importer = Importer { limits, home, seen, count: 0, warnings };
    let mut whole = Vec::new();
    let mut compact = Vec::new();
    for raw in raws {
        let text = importer.expand(Importing { path: &raw.path, text: &raw.file.text, folders: &raw.within });
        if text.trim().is_empty() {
            continue;
        }
        compact.extend(markdown::compact_sections(&text));
        let body = inert(text.trim()).into_owned();
        whole.push((raw, body));
    }
    let sizes: Vec<usize> = whole.iter().map(|(_, body)| body.len().min(limits.project_file_bytes)).collect();
    let shares = fair_shares(&sizes, limits.project_bytes);
    let mut warnings = importer.warnings;
    let documents = whole
        .into_iter()
        .zip(shares)
        .map(|((raw, body), share)| {
            let how = format!("read {} for the rest", shown(&raw.path));
            let bounded = bounded(&body, share, &how);
            if let Some(cut) = &bounded.cut {
                warnings.push(format!("{} is too long for the context: {cut}", shown(&raw.path)));
            }
            let Raw { folder, path, .. } = raw;
            Document { folder, path, body: bounded.text, cut: bounded.cut }
        })
        .collect();
    let compact = bounded(&inert(&compact.join("\n\n")), limits.compact_bytes, "the rest is left out").text;
    Project { documents, compact: Some(compact).filter(|text| !text.is_empty()), warnings }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a3_a_marker_of_another_user_is_not_trusted() {
        assert!(is_trusted(1_000, Some(1_000)));
        assert!(is_trusted(0, Some(1_000)));
        assert!(!is_trusted(1_001, Some(1_000)));
        assert!(!is_trusted(1_000, Some(0)));
        assert!(!is_trusted(1_000, None));
    }
}
