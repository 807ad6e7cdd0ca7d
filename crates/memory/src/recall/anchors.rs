//! Whether what a memory is about is still there.

use crate::topics::Anchor;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Component, Path, PathBuf};

/// Anchors of one memory that are looked at.
const MOST_ANCHORS: usize = 8;
/// Bytes of a file in which a name is looked for.
const MOST_BYTES: u64 = 1 << 20;
/// Packs of a repository that are looked into. One with more is not cheap to ask.
const MOST_PACKS: usize = 20;
/// Entries of a folder of loose objects that are looked at.
const MOST_LOOSE: usize = 4_096;

/// What is known of an anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    Holds,
    Gone,
    /// It could not be found out, or not cheaply.
    Unknown,
}

/// For each anchor that no longer holds, what is gone, in words. What could not be found out is passed over.
pub fn gone(root: &Path, anchors: &[Anchor]) -> Vec<String> {
    let looked_at = anchors.iter().take(MOST_ANCHORS);
    looked_at.filter(|anchor| check(root, anchor) == Check::Gone).map(in_words).collect()
}

/// Whether what an anchor names is surely there.
pub(crate) fn holds(root: &Path, anchor: &Anchor) -> bool {
    check(root, anchor) == Check::Holds
}

fn in_words(anchor: &Anchor) -> String {
    match anchor {
        Anchor::Path(path) => format!("{path} is not in the project any more"),
        Anchor::Commit(id) => format!("commit {id} is not in the repository's history"),
        Anchor::Symbol { path, name } => format!("{name} is not in {path} any more"),
    }
}

fn check(root: &Path, anchor: &Anchor) -> Check {
    match anchor {
        Anchor::Path(path) => within(root, path).map_or_else(|check| check, |_| Check::Holds),
        Anchor::Symbol { path, name } => match within(root, path) {
            Ok(file) => names(&file, name),
            Err(check) => check,
        },
        Anchor::Commit(id) => commit(root, id),
    }
}

/// A path of the project, links resolved, if it is there. Memories are data: one that points out of the project is not followed.
fn within(root: &Path, path: &str) -> Result<PathBuf, Check> {
    let path = Path::new(path);
    if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(Check::Unknown);
    }
    let root = root.canonicalize().map_err(|_| Check::Unknown)?;
    match root.join(path).canonicalize() {
        Ok(real) if real.starts_with(&root) => Ok(real),
        Ok(_) => Err(Check::Unknown),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Check::Gone),
        Err(_) => Err(Check::Unknown),
    }
}

/// Whether a file has a name in it, as a whole word.
fn names(file: &Path, name: &str) -> Check {
    // `Type::method` and `module.function` stand in the file by their last part.
    let name = name.rsplit(['.', ':', '#']).next().unwrap_or(name).trim_end_matches("()");
    let Ok(meta) = file.metadata() else { return Check::Unknown };
    if name.is_empty() || !meta.is_file() || meta.len() > MOST_BYTES {
        return Check::Unknown;
    }
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
    if read.is_err() {
        return Check::Unknown;
    }
    let text = String::from_utf8_lossy(&bytes);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let stands = text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    });
    if stands { Check::Holds } else { Check::Gone }
}

/// Whether the repository has a commit, by its whole id or the beginning of it. The files are read; the git program is not asked, for
/// a repository's own settings can make it run others.
fn commit(root: &Path, id: &str) -> Check {
    let id = id.to_ascii_lowercase();
    let is_hex = id.len() >= 4 && id.len() <= 64 && id.bytes().all(|b| b.is_ascii_hexdigit());
    let Some(git) = common_dir(root).filter(|_| is_hex) else { return Check::Unknown };
    let objects = git.join("objects");
    let (folder, rest) = id.split_at(2);
    let loose = fs::read_dir(objects.join(folder)).into_iter().flatten().flatten().take(MOST_LOOSE);
    if loose.into_iter().any(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(rest))) {
        return Check::Holds;
    }
    // Objects of another repository, or a history that is cut: who has not all of it can't say that something is not there.
    if git.join("shallow").exists() || objects.join("info/alternates").exists() {
        return Check::Unknown;
    }
    let Ok(listing) = fs::read_dir(objects.join("pack")) else { return Check::Unknown };
    let packs: Vec<PathBuf> = listing
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "idx"))
        .take(MOST_PACKS + 1)
        .collect();
    if packs.len() > MOST_PACKS {
        return Check::Unknown;
    }
    for pack in packs {
        match in_pack(&pack, &id) {
            Some(false) => {}
            Some(true) => return Check::Holds,
            None => return Check::Unknown,
        }
    }
    Check::Gone
}

/// The folder that holds the objects: of a linked worktree, the repository's.
fn common_dir(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let pointer = read_small(&git)?;
    let own = root.join(pointer.strip_prefix("gitdir:")?.trim());
    match read_small(&own.join("commondir")) {
        Some(common) => Some(own.join(common.trim())),
        None => Some(own),
    }
}

fn read_small(path: &Path) -> Option<String> {
    let mut text = String::new();
    path.is_file().then_some(())?;
    File::open(path).ok()?.take(4_096).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Whether an index of a pack (version 2) has an object whose id begins so; `None` if it can't be read.
fn in_pack(index: &Path, id: &str) -> Option<bool> {
    const HEADER: u64 = 8;
    const FANOUT: u64 = 256 * 4;
    const ID: u64 = 20;
    let mut file = File::open(index).ok()?;
    let mut header = [0; HEADER as usize];
    file.read_exact(&mut header).ok()?;
    if header != [0xff, b't', b'O', b'c', 0, 0, 0, 2] {
        return None;
    }
    let mut count_up_to = |byte: Option<u8>| -> Option<u64> {
        let Some(byte) = byte else { return Some(0) };
        let mut count = [0; 4];
        file.seek(SeekFrom::Start(HEADER + 4 * u64::from(byte))).ok()?;
        file.read_exact(&mut count).ok()?;
        Some(u64::from(u32::from_be_bytes(count)))
    };
    let first = u8::from_str_radix(id.get(..2)?, 16).ok()?;
    let (mut from, mut to) = (count_up_to(first.checked_sub(1))?, count_up_to(Some(first))?);
    let end = to;
    let mut at = |place: u64| -> Option<String> {
        let mut bytes = [0; ID as usize];
        file.seek(SeekFrom::Start(HEADER + FANOUT + place * ID)).ok()?;
        file.read_exact(&mut bytes).ok()?;
        Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    };
    // The first that is not smaller begins with the id, or none does.
    while from < to {
        let middle = from + (to - from) / 2;
        if at(middle)?.as_str() < id {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    Some(from < end && at(from)?.starts_with(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m7_paths_and_names_are_looked_for_in_the_project_and_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("app");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join("src/a.rs"), "pub fn run_all() {}\nstruct Runner;").unwrap();
        fs::write(dir.path().join("secret"), "x").unwrap();
        let anchor = |text: &str| text.parse::<Anchor>().unwrap();
        let gone_of = |text: &str| gone(&root, &[anchor(text)]);
        assert_eq!(gone_of("path:src/a.rs"), [""; 0]);
        assert_eq!(gone_of("path:src/b.rs"), ["src/b.rs is not in the project any more"]);
        assert_eq!(gone_of("symbol:src/a.rs#Runner"), [""; 0]);
        assert_eq!(gone_of("symbol:src/a.rs#app::run_all"), [""; 0]);
        assert_eq!(gone_of("symbol:src/a.rs#run"), ["run is not in src/a.rs any more"]);
        assert_eq!(gone_of("symbol:src/b.rs#run"), ["run is not in src/b.rs any more"]);
        // Out of the project nothing is looked at, so nothing is said.
        for text in ["path:../secret", "path:../nothing", "path:/etc/nothing", "symbol:../secret#y"] {
            assert_eq!(gone_of(text), [""; 0], "{text}");
        }
        // Without a repository nobody can say which commits there are.
        assert_eq!(gone_of("commit:4f2a9c1"), [""; 0]);
    }
}
