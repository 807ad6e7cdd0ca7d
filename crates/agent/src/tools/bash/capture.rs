//! What a command printed: the beginning and the end in memory, everything in a private file.

use super::clean::Cleaner;
use super::window::Window;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The most bytes that are kept in the file. What comes after is counted.
pub(super) const FILE: u64 = 64 << 20;

/// When the file is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// Once not everything can be shown.
    WhenCut,
    /// At once.
    Always,
}

/// Takes what a command prints. Its memory is bounded whatever comes.
#[derive(Debug)]
pub(super) struct Capture {
    cleaner: Cleaner,
    window: Window,
    folder: PathBuf,
    file: Saved,
    /// Room for cleaned text, kept from piece to piece.
    text: String,
}

#[derive(Debug)]
enum Saved {
    NotYet,
    Open {
        path: PathBuf,
        file: File,
        bytes: u64,
    },
    /// It can't be: why.
    Lost(io::Error),
}

impl Capture {
    /// Shows at most `limit` characters; the file is made in `folder`.
    pub(super) fn new(limit: usize, folder: &Path, keep: Keep) -> Self {
        let (cleaner, window) = (Cleaner::default(), Window::new(limit));
        let mut new =
            Self { cleaner, window, folder: folder.to_owned(), file: Saved::NotYet, text: String::new() };
        match keep {
            Keep::Always => new.open(),
            Keep::WhenCut => {}
        }
        new
    }

    /// Takes bytes as they come.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        self.cleaner.push(bytes, &mut text);
        self.take(&text);
        self.text = text;
    }

    /// Nothing comes any more.
    pub(super) fn finish(&mut self) {
        let mut text = String::new();
        self.cleaner.finish(&mut text);
        self.take(&text);
    }

    pub(super) fn window(&self) -> &Window {
        &self.window
    }

    /// The line that is not finished.
    pub(super) fn unfinished(&self) -> &str {
        self.cleaner.unfinished()
    }

    /// The file, and how many bytes of text are in it.
    pub(super) fn file(&self) -> Option<(&Path, u64)> {
        match &self.file {
            Saved::Open { path, bytes, .. } => Some((path, *bytes)),
            Saved::NotYet | Saved::Lost(_) => None,
        }
    }

    /// Where everything is, in words.
    pub(super) fn place(&self) -> String {
        match &self.file {
            Saved::Open { path, bytes, .. } if *bytes < self.window.bytes() => {
                format!("the first {} MB are in {}", FILE >> 20, path.display())
            }
            Saved::Open { path, .. } => format!("everything is in {}", path.display()),
            Saved::Lost(error) => format!("it could not be saved: {error}"),
            Saved::NotYet => "nothing was saved".to_owned(),
        }
    }

    fn take(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if matches!(self.file, Saved::NotYet) {
            let before = self.window.head().len();
            self.window.push(text);
            if self.window.is_cut() {
                let so_far = self.window.head().get(..before).unwrap_or_default().to_owned();
                self.open();
                self.save(&so_far);
                self.save(text);
            }
        } else {
            self.window.push(text);
            self.save(text);
        }
    }

    fn open(&mut self) {
        self.file = match create(&self.folder) {
            Ok((file, path)) => Saved::Open { path, file, bytes: 0 },
            Err(error) => Saved::Lost(error),
        };
    }

    fn save(&mut self, text: &str) {
        let Saved::Open { file, bytes, .. } = &mut self.file else { return };
        let room = usize::try_from(FILE.saturating_sub(*bytes)).unwrap_or(usize::MAX);
        let text = throughline_core::text::head(text, room);
        match file.write_all(text.as_bytes()) {
            Ok(()) => *bytes += text.len() as u64,
            Err(error) => self.file = Saved::Lost(error),
        }
    }
}

/// A new file that only its owner may read.
fn create(folder: &Path) -> io::Result<(File, PathBuf)> {
    make_private(folder)?;
    let file = tempfile::Builder::new().prefix("bash-").suffix(".txt").tempfile_in(folder)?;
    file.keep().map_err(|error| error.error)
}

/// A folder that only its owner may enter, if it is not there.
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_everything_from_the_first_character_on_once_something_is_cut() {
        let dir = tempfile::tempdir().unwrap();
        let mut capture = Capture::new(20, dir.path(), Keep::WhenCut);
        capture.push(b"0123456789\n");
        assert_eq!(capture.file(), None);
        capture.push(b"and a good deal more\nthan fits");
        capture.finish();
        let (path, bytes) = capture.file().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text, "0123456789\nand a good deal more\nthan fits");
        assert_eq!(bytes, text.len() as u64);
    }

    #[test]
    fn a_file_that_cannot_be_made_is_said() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("taken"), "").unwrap();
        let mut capture = Capture::new(4, &dir.path().join("taken/below"), Keep::WhenCut);
        capture.push(b"too long\n");
        assert!(capture.place().starts_with("it could not be saved: "), "{}", capture.place());
        assert!(capture.window().is_cut());
    }
}
