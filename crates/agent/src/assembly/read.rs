//! Reading files that anybody may have put there: never a hang, never more than was asked for.

use super::text::{invisible, shown};
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Why a file was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// There is none.
    Missing,
    /// There is something, and this is why it is not taken.
    Refused(String),
}

/// What was read of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileText {
    /// The text, without a byte order mark.
    pub(crate) text: String,
    /// Bytes of the file.
    pub(crate) size: u64,
    /// What people should know about it.
    pub(crate) oddities: Vec<String>,
}

/// The path with all links resolved, if it lies in one of some folders, which are resolved already.
pub(crate) fn confined(path: &Path, folders: &[PathBuf]) -> Result<PathBuf, Unread> {
    let real = path.canonicalize().map_err(|error| unread(&error))?;
    if folders.iter().any(|folder| real.starts_with(folder)) {
        return Ok(real);
    }
    let allowed: Vec<String> = folders.iter().map(|folder| shown(folder)).collect();
    Err(Unread::Refused(format!("it leads to {}, outside {}", shown(&real), allowed.join(" and "))))
}

/// At most the first `most` bytes of a regular file.
pub(crate) fn read_text(path: &Path, most: u64) -> Result<FileText, Unread> {
    // Looked at before it is opened: opening a device can do things.
    refuse_unusual(&fs::metadata(path).map_err(|error| unread(&error))?)?;
    let file = open(path).map_err(|error| unread(&error))?;
    let metadata = file.metadata().map_err(|error| unread(&error))?;
    refuse_unusual(&metadata)?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(|error| unread(&error))?;
    if bytes.contains(&0) {
        return Err(Unread::Refused("it is not text".to_owned()));
    }
    let mut oddities = Vec::new();
    if (bytes.len() as u64) < metadata.len() {
        drop_broken_end(&mut bytes);
    }
    let text = into_text(bytes, &mut oddities);
    let hidden = invisible(&text);
    if hidden > 0 {
        oddities.push(format!("it holds {hidden} characters that can't be seen: look at it with care"));
    }
    Ok(FileText { text, size: metadata.len(), oddities })
}

fn open(path: &Path) -> io::Result<File> {
    // Without waiting: between the look and this, a pipe may have taken the file's place.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

fn refuse_unusual(metadata: &fs::Metadata) -> Result<(), Unread> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(());
    }
    let what = if kind.is_dir() { "it is a folder" } else { "it is no regular file" };
    Err(Unread::Refused(what.to_owned()))
}

fn unread(error: &io::Error) -> Unread {
    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
        Unread::Missing
    } else {
        Unread::Refused(error.to_string())
    }
}

/// Where a file was cut inside a character, that character goes, and the file is not blamed for it.
fn drop_broken_end(bytes: &mut Vec<u8>) {
    let tail = bytes.len().saturating_sub(3);
    let lead = (tail..bytes.len()).rev().find(|&at| bytes[at] >= 0xc0);
    if let Some(at) = lead
        && std::str::from_utf8(&bytes[at..]).is_err_and(|error| error.error_len().is_none())
    {
        bytes.truncate(at);
    }
}

fn into_text(mut bytes: Vec<u8>, oddities: &mut Vec<String>) -> String {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).unwrap_or_else(|error| {
        oddities.push("it is not all UTF-8: what is not was replaced by \u{fffd}".to_owned());
        String::from_utf8_lossy(error.as_bytes()).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_file_is_refused_or_repaired_and_never_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("folder")).unwrap();
        fs::write(at("binary"), b"a\0b").unwrap();
        fs::write(at("latin"), b"caf\xe9 ok").unwrap();
        fs::write(at("bom"), "\u{feff}caf\u{e9}").unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert_eq!(read_text(&at("none"), 9), Err(Unread::Missing));
        for name in ["folder", "binary", "pipe"] {
            assert!(matches!(read_text(&at(name), 9), Err(Unread::Refused(_))), "{name}");
        }
        fs::write(at("ends badly"), b"caf\xe9").unwrap();
        assert_eq!(read_text(&at("ends badly"), 99).unwrap().oddities.len(), 1);
        let latin = read_text(&at("latin"), 99).unwrap();
        assert_eq!((latin.text.as_str(), latin.oddities.len()), ("caf\u{fffd} ok", 1));
        // Cut inside the last character: it is left out, and the file is not blamed.
        let cut = read_text(&at("bom"), 7).unwrap();
        assert_eq!((cut.text.as_str(), cut.size, cut.oddities.len()), ("caf", 8, 0));
    }
}
