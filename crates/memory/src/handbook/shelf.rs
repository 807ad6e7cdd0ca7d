//! The handbooks that are on this machine, as their files say.

use super::Scope;
use super::book::{Book, Flaw};
use super::phase2::{EVIDENCE, MEMORY};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use throughline_ledger::Home;

/// Bytes of a file that are read: a longer one is not a handbook's.
const MOST: u64 = 16 << 20;

/// A handbook as its files say.
#[derive(Clone, Debug)]
pub struct Shelved {
    /// Where it is.
    pub folder: PathBuf,
    /// Whose it is.
    pub scope: Scope,
    /// What it says.
    pub book: Book,
    /// What in it does not read as it should.
    pub flaws: Vec<Flaw>,
}

/// All handbooks of a home, the global one first and then by name. A folder is one if its book says whose it is and that is the folder for it:
/// what people copied aside is none. Links are not followed.
pub fn shelf(home: &Home) -> Vec<Shelved> {
    let listing = fs::read_dir(home.root().join("handbooks"));
    let folders = listing.into_iter().flatten().filter_map(|entry| {
        let entry = entry.ok()?;
        entry.file_type().ok()?.is_dir().then(|| entry.path())
    });
    let mut found: Vec<Shelved> = folders
        .filter_map(|folder| read(&folder))
        .filter(|one| one.scope.folder(home) == one.folder)
        .collect();
    found.sort_by_key(|one| (one.scope != Scope::Global, one.scope.to_string(), one.scope.clone()));
    found
}

/// The handbook of a scope; `None` if there is none.
pub fn shelved(home: &Home, scope: &Scope) -> Option<Shelved> {
    read(&scope.folder(home)).filter(|one| one.scope == *scope)
}

fn read(folder: &Path) -> Option<Shelved> {
    let memory = text(&folder.join(MEMORY))?;
    let (book, flaws) = Book::parse(&memory, &text(&folder.join(EVIDENCE)).unwrap_or_default());
    Some(Shelved { folder: folder.to_owned(), scope: book.scope()?.clone(), book, flaws })
}

fn text(path: &Path) -> Option<String> {
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(MOST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
