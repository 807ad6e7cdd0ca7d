//! Writing files whole, or not at all.

use super::open::{OpenError, Place, permissions, regular};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::path::Path;

/// Permissions of a new file, before the user's mask.
const NEW_FILE: u32 = 0o644;

/// Permissions of a file until it gets those that it shall have.
const PRIVATE: u32 = 0o600;

/// Names that are tried for a file beside.
const TRIES: usize = 16;

/// Writes a file at a [resolved](super::Workspace::resolve) path. No link is followed; folders that are missing are made.
///
/// Readers see the old content or the new, never half of it: it is written beside and moved over. Only where that can't be done
/// without changing whose file it is, or the folder may not be written, it is written in place. A file that is there keeps its
/// owner and permissions, unless `mode` gives others; a hard link to it keeps the old content. A read-only file is refused.
pub fn replace_file(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<(), OpenError> {
    let place = Place::find_or_make(path)?;
    let Some(old) = place.stat()? else {
        let temp = match mode {
            Some(mode) => place.beside(bytes, PRIVATE, |file| set_mode(file, mode))?,
            None => place.beside(bytes, NEW_FILE, |_| Ok(()))?,
        };
        return temp.moved();
    };
    regular(&old, path)?;
    let in_place = match place.open(OFlags::WRONLY) {
        // A program that runs can be replaced, but not written.
        Err(OpenError::Io { source, .. }) if source.kind() == std::io::ErrorKind::ExecutableFileBusy => None,
        outcome => Some(outcome?),
    };
    let permissions = mode.unwrap_or_else(|| permissions(&old));
    let beside = place.beside(bytes, PRIVATE, |file| {
        keep_owner(file, &old)?;
        set_mode(file, permissions)
    });
    match (beside, in_place) {
        (Ok(temp), _) => temp.moved(),
        (Err(OpenError::Io { source, .. }), Some(mut file)) if may_be_in_place(&source) => {
            let stat = rustix::fs::fstat(&file).map_err(|errno| OpenError::of("look at", path, errno))?;
            regular(&stat, path)?;
            file.set_len(0).map_err(OpenError::io("write", path))?;
            file.write_all(bytes).map_err(OpenError::io("write", path))
        }
        (Err(error), _) => Err(error),
    }
}

/// Removes a regular file. Whether there was one.
pub fn remove_file(path: &Path) -> Result<bool, OpenError> {
    let place = match Place::find(path) {
        Err(OpenError::Missing { .. }) => return Ok(false),
        outcome => outcome?,
    };
    let Some(stat) = place.stat()? else { return Ok(false) };
    regular(&stat, path)?;
    match rustix::fs::unlinkat(&place.dir, &place.name, AtFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(OpenError::of("remove", path, errno)),
    }
}

/// Removes a folder, if there is one and it is empty. Whether it did. No link is followed.
pub fn remove_empty_folder(path: &Path) -> bool {
    Place::find(path)
        .is_ok_and(|place| rustix::fs::unlinkat(&place.dir, &place.name, AtFlags::REMOVEDIR).is_ok())
}

fn may_be_in_place(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem)
}

fn set_mode(file: &File, mode: u32) -> Result<(), Errno> {
    rustix::fs::fchmod(file, Mode::from_raw_mode(mode & 0o777))
}

fn keep_owner(file: &File, old: &Stat) -> Result<(), Errno> {
    let new = rustix::fs::fstat(file)?;
    if (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid) {
        return Ok(());
    }
    rustix::fs::fchown(file, Some(Uid::from_raw(old.st_uid)), Some(Gid::from_raw(old.st_gid)))
}

impl Place {
    /// Writes a file of another name in the same folder.
    fn beside(
        &self,
        bytes: &[u8],
        mode: u32,
        dress: impl FnOnce(&File) -> Result<(), Errno>,
    ) -> Result<Beside<'_>, OpenError> {
        let error = |errno| OpenError::of("write", &self.path, errno);
        let (name, mut file) = self.new_name(mode).map_err(error)?;
        let beside = Beside { place: self, name, is_done: false };
        file.write_all(bytes).map_err(OpenError::io("write", &self.path))?;
        dress(&file).map_err(error)?;
        Ok(beside)
    }

    fn new_name(&self, mode: u32) -> Result<(String, File), Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut outcome = Err(Errno::EXIST);
        for _ in 0..TRIES {
            let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
            let name = format!(".throughline-{random:016x}.tmp");
            outcome = rustix::fs::openat(&self.dir, &name, flags, Mode::from_raw_mode(mode))
                .map(|fd| (name, File::from(fd)));
            if !matches!(outcome, Err(Errno::EXIST)) {
                break;
            }
        }
        outcome
    }
}

/// A file that is not yet where it belongs. Dropped before, it is removed.
struct Beside<'a> {
    place: &'a Place,
    name: String,
    is_done: bool,
}

impl Beside<'_> {
    fn moved(mut self) -> Result<(), OpenError> {
        let Place { dir, name, path } = self.place;
        rustix::fs::renameat(dir, &self.name, dir, name)
            .map_err(|errno| OpenError::of("write", path, errno))?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            // Nothing more can be done about it, and the error that led here is told.
            let _ = rustix::fs::unlinkat(&self.place.dir, &self.name, AtFlags::empty());
        }
    }
}
