//! The files of the governor: for their owner alone, one writer at a time.

use super::GovernorError;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// A receipt is some hundred bytes; a longer line is none.
const LONGEST_LINE: u64 = 1 << 20;

/// Nobody keeps the lock for more than a moment. Who can't have it by then is told so.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);

pub(super) fn make_dir(dir: &Path) -> Result<(), GovernorError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(GovernorError::io("make", dir))
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Held until it is dropped.
pub(super) struct Lock {
    _file: File,
}

/// Waits for the lock, but not for ever.
pub(super) fn lock(path: &Path) -> Result<Lock, GovernorError> {
    let file = private()
        .create(true)
        .write(true)
        .truncate(false)
        .open(path)
        .map_err(GovernorError::io("open", path))?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                let error = io::Error::new(io::ErrorKind::TimedOut, "another process keeps it locked");
                return Err(GovernorError::io("lock", path)(error));
            }
            Err(TryLockError::Error(error)) => return Err(GovernorError::io("lock", path)(error)),
        }
    }
}

/// Adds a line in one write. A line that was cut off before it, by a crash or a full disk, is ended first, so that it spoils
/// nothing but itself.
pub(super) fn append_line(path: &Path, line: &[u8]) -> Result<(), GovernorError> {
    let append = || -> io::Result<()> {
        let mut file = private().create(true).read(true).append(true).open(path)?;
        let mut bytes = Vec::with_capacity(line.len() + 2);
        if file.metadata()?.len() > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                bytes.push(b'\n');
            }
        }
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
        file.write_all(&bytes)
    };
    append().map_err(GovernorError::io("write", path))
}

/// Replaces a file as a whole, or not at all.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), GovernorError> {
    let beside = path.with_extension("new");
    let write = || -> io::Result<()> {
        let mut file = private().create(true).write(true).truncate(true).open(&beside)?;
        file.write_all(bytes)?;
        drop(file);
        std::fs::rename(&beside, path)
    };
    write().map_err(GovernorError::io("write", path))
}

/// What stands on a line.
pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    /// More than any line of ours.
    TooLong,
    /// The end of the file, without a line end.
    Torn,
}

/// Reads the lines of a file from an offset, and tells the offset behind the last one that is ended. A file that is not there
/// has none.
pub(super) fn read_lines(
    path: &Path,
    from: u64,
    mut each: impl FnMut(u64, Line<'_>),
) -> Result<u64, GovernorError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(GovernorError::io("read", path)(error)),
    };
    let read = || -> io::Result<u64> {
        let mut reader = BufReader::new(file);
        let mut offset = reader.seek(SeekFrom::Start(from))?;
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut count = reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? as u64;
            if count == 0 {
                return Ok(offset);
            }
            let mut is_too_long = false;
            while line.last() != Some(&b'\n') && count >= LONGEST_LINE {
                is_too_long = true;
                line.clear();
                match reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? as u64 {
                    0 => break,
                    more => count += more,
                }
            }
            match line.strip_suffix(b"\n") {
                Some(_) if is_too_long => each(offset, Line::TooLong),
                Some(whole) => each(offset, Line::Whole(whole)),
                None => {
                    each(offset, Line::Torn);
                    return Ok(offset);
                }
            }
            offset += count;
        }
    };
    read().map_err(GovernorError::io("read", path))
}
