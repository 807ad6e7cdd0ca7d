//! Opening what was resolved, without following a link.

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A file that could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is nothing, or a folder on the way is missing.
    #[error("{path} does not exist")]
    Missing {
        /// What.
        path: PathBuf,
    },
    /// A folder, where a file is wanted.
    #[error("{path} is a folder, not a file")]
    Folder {
        /// What.
        path: PathBuf,
    },
    /// A pipe, a device or a socket.
    #[error("{path} is a {what}: only regular files can be read or written")]
    Special {
        /// What.
        path: PathBuf,
        /// Its kind.
        what: &'static str,
    },
    /// The path was resolved, and now a link is in it.
    #[error(
        "a link has come into the way to {path} just now; it was not followed. Try again with the path of the file itself"
    )]
    Link {
        /// What.
        path: PathBuf,
    },
    /// More than is taken.
    #[error("{path} is {bytes} bytes, over the limit of {limit}")]
    TooLarge {
        /// What.
        path: PathBuf,
        /// How large.
        bytes: u64,
        /// How large it may be.
        limit: u64,
    },
    /// The system refuses.
    #[error("can't {action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl OpenError {
    pub(super) fn of(action: &'static str, path: &Path, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOENT => Self::Missing { path },
            Errno::LOOP => Self::Link { path },
            Errno::ISDIR => Self::Folder { path },
            errno => Self::Io { action, path, source: errno.into() },
        }
    }

    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }
}

/// A regular file, open for reading.
#[derive(Debug)]
pub struct Opened {
    /// The file.
    pub file: File,
    /// Its length when it was opened.
    pub len: u64,
    /// Its permissions, such as `0o644`.
    pub mode: u32,
    /// When it was last changed.
    pub modified: SystemTime,
}

/// Opens a [resolved](super::Workspace::resolve) path for reading. No link is followed, not in a folder on the way either, and only
/// a regular file is opened, so that reading does not wait for anybody.
pub fn open_read(path: &Path) -> Result<Opened, OpenError> {
    let place = Place::find(path)?;
    // A device can act on being opened. What comes in between is caught by the second look.
    let Some(stat) = place.stat()? else {
        return Err(OpenError::Missing { path: path.to_owned() });
    };
    regular(&stat, path)?;
    let file = place.open(OFlags::RDONLY)?;
    let stat = rustix::fs::fstat(&file).map_err(|errno| OpenError::of("look at", path, errno))?;
    regular(&stat, path)?;
    Ok(Opened {
        file,
        len: u64::try_from(stat.st_size).unwrap_or(0),
        mode: permissions(&stat),
        modified: modified_at(&stat),
    })
}

/// The bytes of a file and its permissions, if it has at most `limit` bytes. Opened as by [`open_read`].
pub fn read_whole(path: &Path, limit: u64) -> Result<(Vec<u8>, u32), OpenError> {
    let opened = open_read(path)?;
    let too_large = |bytes| OpenError::TooLarge { path: path.to_owned(), bytes, limit };
    if opened.len > limit {
        return Err(too_large(opened.len));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(opened.len).unwrap_or(0));
    // One more than the limit: a file that grows meanwhile is noticed.
    opened.file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(OpenError::io("read", path))?;
    if bytes.len() as u64 > limit {
        return Err(too_large(bytes.len() as u64));
    }
    Ok((bytes, opened.mode))
}

/// When a regular file was last changed; `None` where there is none, or a link leads to it.
pub fn modified(path: &Path) -> Option<SystemTime> {
    let stat = Place::find(path).ok()?.stat().ok()??;
    regular(&stat, path).ok()?;
    Some(modified_at(&stat))
}

/// A name in a folder that is held open: whatever happens to the folders above, it stays this folder.
pub(super) struct Place {
    pub(super) dir: OwnedFd,
    pub(super) name: OsString,
    pub(super) path: PathBuf,
}

impl Place {
    /// The place of a resolved path, whose folder must exist.
    pub(super) fn find(path: &Path) -> Result<Self, OpenError> {
        Self::with(path, open_folder)
    }

    /// The same, making the folders that are missing.
    pub(super) fn find_or_make(path: &Path) -> Result<Self, OpenError> {
        Self::with(path, |folder| match open_folder(folder) {
            Err(Errno::NOENT) => step_by_step(folder, Missing::Make),
            outcome => outcome,
        })
    }

    fn with(path: &Path, open: impl FnOnce(&Path) -> Result<OwnedFd, Errno>) -> Result<Self, OpenError> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(OpenError::Folder { path: path.to_owned() });
        };
        let dir = open(folder).map_err(|errno| match errno {
            // Somebody's file, or a link: the kernel does not say which.
            Errno::NOTDIR if is_link_on_the_way(folder) => OpenError::Link { path: path.to_owned() },
            errno => OpenError::of("open the folder of", path, errno),
        })?;
        Ok(Self { dir, name: name.to_owned(), path: path.to_owned() })
    }

    /// What is there, a link not followed.
    pub(super) fn stat(&self) -> Result<Option<Stat>, OpenError> {
        match rustix::fs::statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(OpenError::of("look at", &self.path, errno)),
        }
    }

    /// Opens what is there; it never waits, and never follows.
    pub(super) fn open(&self, how: OFlags) -> Result<File, OpenError> {
        let flags = how | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.dir, &self.name, flags, Mode::empty()) {
            Ok(fd) => Ok(fd.into()),
            Err(errno) => Err(OpenError::of("open", &self.path, errno)),
        }
    }
}

/// An error unless it is a regular file.
pub(super) fn regular(stat: &Stat, path: &Path) -> Result<(), OpenError> {
    let special = |what| Err(OpenError::Special { path: path.to_owned(), what });
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(OpenError::Folder { path: path.to_owned() }),
        FileType::Symlink => Err(OpenError::Link { path: path.to_owned() }),
        FileType::Fifo => special("named pipe"),
        FileType::Socket => special("socket"),
        FileType::CharacterDevice | FileType::BlockDevice => special("device"),
        FileType::Unknown => special("file of an unknown kind"),
    }
}

/// The bits that `chmod` sets, without those that lend the owner's rights.
pub(super) fn permissions(stat: &Stat) -> u32 {
    stat.st_mode & 0o777
}

fn modified_at(stat: &Stat) -> SystemTime {
    let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
    let nanos = u32::try_from(stat.st_mtime_nsec).unwrap_or(0);
    SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanos)).unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const AS_FOLDER: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const AS_FOLDER: OFlags = OFlags::RDONLY;

fn folder_flags() -> OFlags {
    AS_FOLDER | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Opens a folder by its absolute path, which must hold no link.
fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::fs::ResolveFlags;
        let links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(CWD, path, folder_flags(), Mode::empty(), links) {
            // An old kernel, or a filter that does not know the call.
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {}
            outcome => return outcome,
        }
    }
    step_by_step(path, Missing::Refuse)
}

#[derive(Clone, Copy)]
enum Missing {
    Refuse,
    Make,
}

/// The same, folder by folder, each one opened in the one before.
fn step_by_step(path: &Path, missing: Missing) -> Result<OwnedFd, Errno> {
    let mut dir = rustix::fs::openat(CWD, "/", folder_flags(), Mode::empty())?;
    for part in path.components() {
        let name = match part {
            Component::RootDir | Component::CurDir => continue,
            Component::Normal(name) => name,
            Component::ParentDir | Component::Prefix(_) => return Err(Errno::INVAL),
        };
        dir = match (rustix::fs::openat(&dir, name, folder_flags(), Mode::empty()), missing) {
            (Err(Errno::NOENT), Missing::Make) => {
                match rustix::fs::mkdirat(&dir, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno),
                }
                rustix::fs::openat(&dir, name, folder_flags(), Mode::empty())?
            }
            (outcome, _) => outcome?,
        };
    }
    Ok(dir)
}

/// Only to say why: nothing is decided by it.
fn is_link_on_the_way(folder: &Path) -> bool {
    folder.ancestors().any(|part| part.symlink_metadata().is_ok_and(|meta| meta.is_symlink()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_way_folder_by_folder_follows_no_link_either() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::os::unix::fs::symlink(root.join("a"), root.join("link")).unwrap();
        assert!(step_by_step(&root.join("a/b"), Missing::Refuse).is_ok());
        assert!(step_by_step(&root.join("link/b"), Missing::Refuse).is_err());
        assert!(step_by_step(&root.join("link"), Missing::Make).is_err());
        assert!(step_by_step(&root.join("a/../a"), Missing::Refuse).is_err());
        assert_eq!(step_by_step(&root.join("a/none"), Missing::Refuse).unwrap_err(), Errno::NOENT);
        assert!(step_by_step(&root.join("a/new/er"), Missing::Make).is_ok());
        assert!(root.join("a/new/er").is_dir());
    }
}
