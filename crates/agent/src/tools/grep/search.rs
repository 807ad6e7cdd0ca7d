//! Searching files, several at once, with the results in order.

use super::Output;
use super::answer::ROOM;
use crate::workspace::{OpenError, open_read};
use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use throughline_model::CancelToken;

/// Files that are searched before their results are taken together.
const BATCH: usize = 256;
const THREADS: usize = 8;
/// What a line, or in multiline mode a file, may take.
const HEAP: usize = 64 * 1024 * 1024;
/// A NUL in the beginning makes a file a binary one.
const START: u64 = 8192;
const LINE_CHARS: usize = 500;
/// What is shown before a match in a line that is cut.
const LEAD_CHARS: usize = 150;

/// What is searched for.
pub(super) struct Search {
    pub(super) matcher: RegexMatcher,
    pub(super) multiline: bool,
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) numbers: bool,
    pub(super) output: Output,
}

/// What was found in a file.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    /// How many lines match; in [`Output::Files`] the first one ends the search.
    pub(super) matches: u64,
    /// For [`Output::Content`], what fits.
    pub(super) lines: Vec<Line>,
    pub(super) is_unread: bool,
}

/// A line of the answer.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) is_match: bool,
}

/// Files to be searched.
pub(super) struct Batch<'a> {
    search: &'a Search,
    cancel: &'a CancelToken,
    paths: Vec<PathBuf>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(search: &'a Search, cancel: &'a CancelToken) -> Self {
        Self { search, cancel, paths: Vec::new() }
    }

    /// Adds a file; whether it is time to search.
    pub(super) fn add(&mut self, path: PathBuf) -> bool {
        self.paths.push(path);
        self.paths.len() >= BATCH
    }

    /// Searches all of them, and gives what was found in the order in which they were added.
    pub(super) fn search(&mut self, mut take: impl FnMut(Found)) -> Result<(), String> {
        let paths = std::mem::take(&mut self.paths);
        let slots: Vec<Mutex<Option<Found>>> = paths.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut searcher = self.search.searcher();
            while let Some((path, slot)) = {
                let at = next.fetch_add(1, Ordering::Relaxed);
                paths.get(at).zip(slots.get(at))
            } {
                if self.cancel.is_cancelled() {
                    return;
                }
                let found = self.search.file(&mut searcher, path, self.cancel);
                if let Ok(mut slot) = slot.lock() {
                    *slot = Some(found);
                }
            }
        };
        let threads =
            std::thread::available_parallelism().map_or(1, usize::from).min(THREADS).min(paths.len() / 8);
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        if self.cancel.is_cancelled() {
            return Err("stopped".to_owned());
        }
        for slot in slots {
            if let Ok(Some(found)) = slot.into_inner() {
                take(found);
            }
        }
        Ok(())
    }
}

impl Search {
    fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .binary_detection(BinaryDetection::quit(0))
            .multi_line(self.multiline)
            .before_context(self.before)
            .after_context(self.after)
            .line_number(true)
            .heap_limit(Some(HEAP))
            .build()
    }

    fn file(&self, searcher: &mut Searcher, path: &Path, cancel: &CancelToken) -> Found {
        let found = Found { path: path.to_owned(), ..Found::default() };
        let mut collect = Collect { search: self, cancel, found, room: ROOM };
        let outcome = (|| -> io::Result<()> {
            let mut file = match open_read(path) {
                Ok(opened) => opened.file,
                // Gone meanwhile, or no longer a file: nothing to find.
                Err(OpenError::Missing { .. } | OpenError::Link { .. } | OpenError::Folder { .. }) => {
                    return Ok(());
                }
                Err(error) => return Err(io::Error::other(error)),
            };
            let mut start = Vec::new();
            (&mut file).take(START).read_to_end(&mut start)?;
            let is_utf16 = start.starts_with(b"\xFF\xFE") || start.starts_with(b"\xFE\xFF");
            if start.contains(&0) && !is_utf16 {
                return Ok(());
            }
            let reader = Stoppable { inner: start.as_slice().chain(file), cancel };
            searcher.search_reader(&self.matcher, reader, &mut collect)
        })();
        collect.found.is_unread = outcome.is_err();
        collect.found
    }
}

/// A reader that ends when the call is cancelled.
struct Stoppable<'a, R> {
    inner: R,
    cancel: &'a CancelToken,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("stopped"));
        }
        self.inner.read(buffer)
    }
}

/// Collects what is found in one file.
struct Collect<'a> {
    search: &'a Search,
    cancel: &'a CancelToken,
    found: Found,
    /// Bytes that the file's lines may still take: more than the whole answer can hold is not kept.
    room: usize,
}

impl Collect<'_> {
    fn line(&mut self, number: Option<u64>, line: &[u8], is_match: bool) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let start = if is_match && line.len() > LINE_CHARS {
            self.search.matcher.find(line).ok().flatten().map_or(0, |found| found.start())
        } else {
            0
        };
        let text = cut(line, start);
        let mark = if is_match { ':' } else { '-' };
        let text = match number.filter(|_| self.search.numbers) {
            Some(number) => format!("{number}{mark}{text}"),
            None => text,
        };
        self.push(Line { text, is_match });
    }

    fn push(&mut self, line: Line) {
        if self.room > 0 {
            self.room = self.room.saturating_sub(line.text.len() + 1);
            self.found.lines.push(line);
        }
    }
}

impl Sink for Collect<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let numbers = found.line_number();
        for (at, line) in found.lines().enumerate() {
            self.found.matches += 1;
            if self.search.output == Output::Content {
                self.line(numbers.map(|first| first + at as u64), line, true);
            }
        }
        Ok(self.search.output != Output::Files && !self.cancel.is_cancelled())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        self.line(context.line_number(), context.bytes(), false);
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.push(Line { text: "--".to_owned(), is_match: false });
        Ok(true)
    }
}

/// At most so many characters of a line, from a little before the match on.
fn cut(line: &[u8], start: usize) -> String {
    // A character has at most four bytes: what lies further off is not looked at.
    let from = start.saturating_sub(LEAD_CHARS * 4);
    let window = &line[from..line.len().min(start.saturating_add(LINE_CHARS * 4))];
    let before = String::from_utf8_lossy(&line[from..start]);
    let lead = before.chars().count().saturating_sub(LEAD_CHARS);
    let text = String::from_utf8_lossy(window);
    if line.len() == window.len() && text.chars().count() <= LINE_CHARS {
        return text.into_owned();
    }
    let shown: String = text.chars().skip(lead).take(LINE_CHARS).collect();
    let is_from_start = from == 0 && lead == 0;
    let is_to_end = from + window.len() == line.len() && text.chars().count() <= lead + LINE_CHARS;
    format!("{}{shown}{}", if is_from_start { "" } else { "…" }, if is_to_end { "" } else { "…" })
}
