//! Files of the folder that are no memories: read and written without following a link.

use super::MemoryFiles;
use jiff::Timestamp;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use throughline_ledger::write_private;

/// What is at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum There {
    Nothing,
    File,
    Folder,
}

/// A place that is not as it should be.
pub(super) fn elsewhere(path: &str) -> String {
    format!("Error: The path {path} leads elsewhere or is no plain file; it is neither read nor written")
}

/// What is at a place of the folder. Nothing on the way may be a link.
pub(super) fn look(root: &Path, names: &[String], path: &str) -> Result<There, String> {
    let mut at = root.to_owned();
    let mut there = if root.is_dir() { There::Folder } else { There::Nothing };
    for name in names {
        if there != There::Folder {
            return Ok(There::Nothing);
        }
        at.push(name);
        there = match at.symlink_metadata() {
            Ok(meta) if meta.is_file() => There::File,
            Ok(meta) if meta.is_dir() => There::Folder,
            Ok(_) => return Err(elsewhere(path)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => There::Nothing,
            Err(error) => return Err(format!("Error: Cannot look at {path}: {error}")),
        };
    }
    Ok(there)
}

/// A file's text. What was opened must be what stands there: a link that was put there meanwhile is found out.
pub(super) fn read(root: &Path, names: &[String], path: &str, most: usize) -> Result<String, String> {
    let place = place(root, names);
    let cannot = |error: std::io::Error| format!("Error: Cannot read {path}: {error}");
    let file = fs::File::open(&place).map_err(cannot)?;
    let opened = file.metadata().map_err(cannot)?;
    if look(root, names, path)? != There::File
        || !is_same(&opened, &place.symlink_metadata().map_err(cannot)?)
    {
        return Err(elsewhere(path));
    }
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() > most {
        return Err(format!("Error: File {path} is larger than the limit of {most} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| format!("Error: File {path} is not UTF-8 text"))
}

#[cfg(unix)]
fn is_same(a: &fs::Metadata, b: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (a.dev(), a.ino()) == (b.dev(), b.ino()) && b.is_file()
}

#[cfg(not(unix))]
fn is_same(a: &fs::Metadata, b: &fs::Metadata) -> bool {
    a.len() == b.len() && b.is_file()
}

/// Writes a file as a whole, or not at all.
pub(super) fn write(root: &Path, names: &[String], path: &str, text: &str) -> Result<(), String> {
    write_private(root, &names.join("/"), text.as_bytes())
        .map_err(|error| format!("Error: Cannot write {path}: {error}"))
}

/// Moves a file or folder within the folder, making the folders on the way.
pub(super) fn rename(root: &Path, (old, new): (&[String], &[String]), path: &str) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("Error: Cannot move {path}: {error}");
    let to = place(root, new);
    if let Some(parent) = to.parent() {
        make(parent).map_err(cannot)?;
    }
    fs::rename(place(root, old), to).map_err(cannot)
}

/// Puts a file or folder away to where forgotten memories are.
pub(super) fn put_away(
    tool: &MemoryFiles,
    names: &[String],
    path: &str,
    now: Timestamp,
) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("Error: Cannot delete {path}: {error}");
    let folder = tool.store.ours().join("forgotten");
    make(&folder).map_err(cannot)?;
    if folder.symlink_metadata().map_err(cannot)?.is_symlink() {
        return Err(elsewhere(path));
    }
    let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let name = names.join("__");
    for n in 1..10_000 {
        let to = if n == 1 {
            folder.join(format!("{time}-{name}"))
        } else {
            folder.join(format!("{time}.{n}-{name}"))
        };
        if to.symlink_metadata().is_err() {
            return fs::rename(place(tool.store.folder(), names), to).map_err(cannot);
        }
    }
    Err(cannot(std::io::Error::from(std::io::ErrorKind::AlreadyExists)))
}

/// Files below a folder that are neither hidden nor links, up to a number.
pub(super) fn count(folder: &Path, most: usize) -> usize {
    let mut folders = vec![folder.to_owned()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if kind.is_dir() {
                folders.push(entry.path());
            } else {
                files += 1;
            }
            if files >= most {
                return files;
            }
        }
    }
    files
}

fn make(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn place(root: &Path, names: &[String]) -> PathBuf {
    names.iter().fold(root.to_owned(), |at, name| at.join(name))
}
