//! Lines of a file, from either end, with bounded memory.

use crate::LedgerError;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The longest line that is read. Long payloads live in blobs, so no record comes near it.
pub const MAX_LINE: usize = 64 << 20;

const CHUNK: usize = 64 << 10;

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Where it begins.
    pub offset: u64,
    /// What it says.
    pub bytes: Content<'a>,
    /// Whether its line end is there.
    pub complete: bool,
}

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// More than [`MAX_LINE`]: only its length is told.
    TooLong(u64),
}

/// The one limit, from whichever end a line is read and however much of it a buffer happens to hold.
fn content(line: &[u8]) -> Content<'_> {
    if line.len() > MAX_LINE { Content::TooLong(line.len() as u64) } else { Content::Whole(line) }
}

/// Reads lines from the front of anything that reads.
pub struct ForwardLines<R> {
    source: R,
    path: PathBuf,
    buffer: Vec<u8>,
    start: usize,
    /// How far the buffer was searched for a line end.
    searched: usize,
    /// Offset of `buffer[start]`.
    offset: u64,
    ended: bool,
}

impl<R: Read> ForwardLines<R> {
    /// Lines of `source`, which stands at `offset`. `path` is for error messages.
    pub fn new(source: R, path: &Path, offset: u64) -> Self {
        Self {
            source,
            path: path.to_owned(),
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            offset,
            ended: false,
        }
    }

    /// The next line. Blank lines are lines too.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>, LedgerError> {
        loop {
            if let Some(n) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
                let end = self.searched + n;
                let (start, offset) = (self.start, self.offset);
                self.offset += (end + 1 - start) as u64;
                self.start = end + 1;
                self.searched = self.start;
                return Ok(Some(Line {
                    offset,
                    bytes: Content::Whole(&self.buffer[start..end]),
                    complete: true,
                }));
            }
            self.searched = self.buffer.len();
            if self.ended {
                if self.start == self.buffer.len() {
                    return Ok(None);
                }
                let (start, offset) = (self.start, self.offset);
                self.offset += (self.buffer.len() - start) as u64;
                self.start = self.buffer.len();
                return Ok(Some(Line {
                    offset,
                    bytes: Content::Whole(&self.buffer[start..]),
                    complete: false,
                }));
            }
            if self.buffer.len() - self.start > MAX_LINE {
                return self.skip_long_line().map(Some);
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> Result<(), LedgerError> {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        let old = self.buffer.len();
        // Twice as much each time, so that a long line costs what it is long, and never far beyond the longest.
        self.buffer.resize(old + CHUNK.max(old.min(MAX_LINE + CHUNK - old.min(MAX_LINE))), 0);
        let n = loop {
            match self.source.read(&mut self.buffer[old..]) {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                other => break other.map_err(LedgerError::io("read", &self.path)),
            }
        };
        self.buffer.truncate(old + *n.as_ref().unwrap_or(&0));
        self.ended = n? == 0;
        Ok(())
    }

    /// Reads on to the end of a line without holding it.
    fn skip_long_line(&mut self) -> Result<Line<'_>, LedgerError> {
        let offset = self.offset;
        let mut length = (self.buffer.len() - self.start) as u64;
        self.start = self.buffer.len();
        self.searched = self.start;
        let complete = loop {
            self.fill()?;
            if self.ended {
                break false;
            }
            match memchr::memchr(b'\n', &self.buffer) {
                Some(n) => {
                    length += n as u64;
                    self.start = n + 1;
                    self.searched = self.start;
                    break true;
                }
                None => {
                    length += self.buffer.len() as u64;
                    self.start = self.buffer.len();
                    self.searched = self.start;
                }
            }
        };
        self.offset = offset + length + u64::from(complete);
        self.buffer.shrink_to(CHUNK);
        Ok(Line { offset, bytes: Content::TooLong(length), complete })
    }
}

/// Reads lines from the back of a file.
pub struct BackwardLines<'a> {
    file: &'a File,
    path: PathBuf,
    /// `buffer[..end]` is what was read and not yet given out; `buffer[0]` lies at `offset`.
    buffer: Vec<u8>,
    end: usize,
    offset: u64,
    /// Whether the line before `end` has its line end.
    complete: bool,
    begun: bool,
}

impl<'a> BackwardLines<'a> {
    /// Lines of `file` that begin before `end`, last first.
    pub fn new(file: &'a File, path: &Path, end: u64) -> Self {
        Self {
            file,
            path: path.to_owned(),
            buffer: Vec::new(),
            end: 0,
            offset: end,
            complete: true,
            begun: false,
        }
    }

    /// The line before the last one given.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>, LedgerError> {
        if !self.begun {
            self.begun = true;
            self.fill()?;
            match self.buffer[..self.end].last() {
                None => return Ok(None),
                Some(b'\n') => self.end -= 1,
                Some(_) => self.complete = false,
            }
        } else if self.end == 0 && self.offset == 0 {
            return Ok(None);
        } else {
            // The line end that stands before the line given last.
            self.end -= 1;
            self.complete = true;
        }
        let mut searched = self.end;
        loop {
            if let Some(n) = memchr::memrchr(b'\n', &self.buffer[..searched]) {
                let line = &self.buffer[n + 1..self.end];
                let offset = self.offset + n as u64 + 1;
                self.end = n + 1;
                return Ok(Some(Line { offset, bytes: content(line), complete: self.complete }));
            }
            if self.offset == 0 {
                let line = &self.buffer[..self.end];
                self.end = 0;
                return Ok(Some(Line { offset: 0, bytes: content(line), complete: self.complete }));
            }
            if self.end > MAX_LINE {
                return self.skip_long_line().map(Some);
            }
            searched = self.fill()?;
        }
    }

    /// Puts more of the file before what is held; returns how much.
    fn fill(&mut self) -> Result<usize, LedgerError> {
        // Twice as much each time, so that a long line costs what it is long.
        let want = (CHUNK.max(self.end) as u64).min(self.offset) as usize;
        let mut chunk = vec![0; want + self.end];
        chunk[want..].copy_from_slice(&self.buffer[..self.end]);
        let at = self.offset - want as u64;
        read_exact_at(self.file, &mut chunk[..want], at).map_err(LedgerError::io("read", &self.path))?;
        self.buffer = chunk;
        self.end += want;
        self.offset = at;
        Ok(want)
    }

    fn skip_long_line(&mut self) -> Result<Line<'_>, LedgerError> {
        let mut length = self.end as u64;
        let complete = self.complete;
        loop {
            self.end = 0;
            self.fill()?;
            match memchr::memrchr(b'\n', &self.buffer[..self.end]) {
                Some(n) => {
                    length += (self.end - n - 1) as u64;
                    self.end = n + 1;
                    let offset = self.offset + self.end as u64;
                    return Ok(Line { offset, bytes: Content::TooLong(length), complete });
                }
                None => {
                    length += self.end as u64;
                    if self.offset == 0 {
                        self.end = 0;
                        return Ok(Line { offset: 0, bytes: Content::TooLong(length), complete });
                    }
                }
            }
        }
    }
}

/// Reads at a place without moving anyone's cursor where the system can.
pub(crate) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
    }
    #[cfg(not(unix))]
    {
        let mut file = file;
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(buffer)
    }
}

/// A file that stands at `offset`.
pub(crate) fn open_at(path: &Path, offset: u64) -> Result<File, LedgerError> {
    let mut file = File::open(path).map_err(LedgerError::io("open", path))?;
    file.seek(SeekFrom::Start(offset)).map_err(LedgerError::io("seek in", path))?;
    Ok(file)
}
