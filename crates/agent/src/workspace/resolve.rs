//! Where a path really leads.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// What the kernel takes.
const MAX_BYTES: usize = 4095;

/// As many links as the kernel follows in one path.
const MAX_LINKS: usize = 40;

/// A path that leads nowhere, or may not be followed. Its words are for the model that gave it.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// No path at all.
    #[error("the path is empty: give the path of a file or folder")]
    Empty,
    /// No file has such a name.
    #[error("the path holds a NUL character, which no file name has: leave it out")]
    Nul,
    /// Longer than the kernel takes.
    #[error("the path is {bytes} bytes long, and at most {MAX_BYTES} are possible: give a shorter one")]
    TooLong {
        /// How long.
        bytes: usize,
    },
    /// `~` without a home.
    #[error("~ is not known here: give the full path, or ./{path} for a file of that name")]
    NoHome {
        /// What was given.
        path: String,
    },
    /// Links that lead to each other.
    #[error(
        "{path} leads through more than {MAX_LINKS} links, probably in a circle: give the path of the file itself"
    )]
    Loop {
        /// Where it began.
        path: PathBuf,
    },
    /// It is not what was permitted, or lies outside.
    #[error(
        "{path} is not what was permitted for this call, or lies outside of the workspace; nothing was done. If a link has \
         changed in between, call again with the path of the file itself"
    )]
    NotPermitted {
        /// Where it leads.
        path: PathBuf,
    },
    /// The system would not say.
    #[error("can't find out where {path} leads: {source}. Give another path, or ask the user")]
    Io {
        /// Which part.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The path that was meant, absolute, with nothing followed yet.
pub(super) fn absolute(path: &str, cwd: &Path, home: Option<&Path>) -> Result<PathBuf, PathError> {
    if path.is_empty() {
        return Err(PathError::Empty);
    }
    if path.contains('\0') {
        return Err(PathError::Nul);
    }
    if path.len() > MAX_BYTES {
        return Err(PathError::TooLong { bytes: path.len() });
    }
    if path == "~" || path.starts_with("~/") {
        let home = home.ok_or_else(|| PathError::NoHome { path: path.to_owned() })?;
        return Ok(home.join(path.trim_start_matches('~').trim_start_matches('/')));
    }
    Ok(cwd.join(path))
}

/// Follows every link of an absolute path. `..` goes up from where a link led, as in the kernel; behind what does not exist it
/// takes back the name before it.
pub(super) fn follow(path: &Path) -> Result<PathBuf, PathError> {
    let mut left: VecDeque<Step> = steps(path).collect();
    let mut place = PathBuf::from("/");
    let mut links = 0;
    while let Some(step) = left.pop_front() {
        let name = match step {
            Step::Up => {
                place.pop();
                continue;
            }
            Step::Root => {
                place = PathBuf::from("/");
                continue;
            }
            Step::Down(name) => name,
        };
        place.push(name);
        if place.as_os_str().len() > MAX_BYTES {
            return Err(PathError::TooLong { bytes: place.as_os_str().len() });
        }
        let target = match link_target(&place) {
            Ok(None) => continue,
            Ok(Some(target)) => target,
            Err(source) if source.kind() == io::ErrorKind::InvalidFilename => {
                return Err(PathError::TooLong { bytes: place.as_os_str().len() });
            }
            Err(source) => return Err(PathError::Io { path: place, source }),
        };
        links += 1;
        if links > MAX_LINKS {
            return Err(PathError::Loop { path: path.to_owned() });
        }
        place.pop();
        for step in steps(&target).collect::<Vec<_>>().into_iter().rev() {
            left.push_front(step);
        }
    }
    Ok(place)
}

enum Step {
    Root,
    Up,
    Down(OsString),
}

fn steps(path: &Path) -> impl Iterator<Item = Step> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(Step::Down(name.to_owned())),
        Component::ParentDir => Some(Step::Up),
        Component::RootDir | Component::Prefix(_) => Some(Step::Root),
        Component::CurDir => None,
    })
}

/// What a link names; `None` where there is no link, or nothing at all.
fn link_target(path: &Path) -> io::Result<Option<PathBuf>> {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_symlink() => path.read_link().map(Some),
        Ok(_) => Ok(None),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
