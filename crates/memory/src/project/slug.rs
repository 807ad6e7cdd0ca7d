//! The names of folders that belong to a project or a session.

use super::Remote;
use std::fmt;
use std::path::Path;

/// The folder name of a project: legible, and no two projects share one.
///
/// ```
/// use std::path::Path;
/// use throughline_memory::ProjectSlug;
///
/// let slug = ProjectSlug::of(Path::new("/home/me/my app"));
/// assert!(slug.as_str().starts_with("home-me-my-app-"));
/// assert_ne!(slug, ProjectSlug::of(Path::new("/home/me/my-app")));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProjectSlug(String);

/// Characters of the path that are shown: its end, which tells projects apart for people.
const LEGIBLE: usize = 80;
/// Characters of the path's hash, and of that where a shorter one is another folder's already.
const HASH: usize = 8;
const WHOLE_HASH: usize = 32;

impl ProjectSlug {
    /// The slug of a project by its root folder. The caller resolves links and worktrees: equal paths, equal slugs.
    pub fn of(root: &Path) -> Self {
        Self::named(root, &blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex()[..HASH])
    }

    /// A slug for a root whose own is taken: by another repository that was in the same place before, or by a folder of another name
    /// with the same short hash, which whoever names folders can find.
    pub(super) fn beyond_doubt(root: &Path, remote: Option<&Remote>) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(root.as_os_str().as_encoded_bytes()).update(b"\0");
        hasher.update(remote.map_or("", Remote::as_str).as_bytes());
        Self::named(root, &hasher.finalize().to_hex()[..WHOLE_HASH])
    }

    fn named(root: &Path, hash: &str) -> Self {
        let bytes = root.as_os_str().as_encoded_bytes();
        let mut words = String::new();
        for c in String::from_utf8_lossy(bytes).chars() {
            if c.is_ascii_alphanumeric() {
                words.push(c.to_ascii_lowercase());
            } else if !words.is_empty() && !words.ends_with('-') {
                words.push('-');
            }
        }
        let words = words.trim_matches('-');
        let shown = words.get(words.len().saturating_sub(LEGIBLE)..).unwrap_or(words).trim_start_matches('-');
        let lead = if shown.is_empty() { "project" } else { shown };
        Self(format!("{lead}-{hash}"))
    }

    /// A slug that was written down. `None` for whatever is no single harmless name.
    pub fn parse(name: &str) -> Option<Self> {
        let is_slug = !name.is_empty()
            && name.len() <= LEGIBLE + 1 + WHOLE_HASH
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        is_slug.then(|| Self(name.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProjectSlug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An id as one part of a path. Ids come from other tools: whatever could lead elsewhere is replaced by a hash.
pub(crate) fn component(id: &str) -> String {
    let harmless = !id.is_empty()
        && id.len() <= 120
        && !id.starts_with('.')
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    if harmless { id.to_owned() } else { blake3::hash(id.as_bytes()).to_hex()[..32].to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_and_ids_are_single_harmless_names() {
        for path in ["/", "", "/..", "/a/b", "/日本/x", &"/deep".repeat(200)] {
            let slug = ProjectSlug::of(Path::new(path));
            assert!(
                slug.as_str().len() <= LEGIBLE + 9 && !slug.as_str().contains(['/', '.', '\0']),
                "{slug}"
            );
            assert_eq!(ProjectSlug::parse(slug.as_str()).as_ref(), Some(&slug));
            let long = ProjectSlug::beyond_doubt(Path::new(path), None);
            assert_ne!(long, slug);
            assert_ne!(
                long,
                ProjectSlug::beyond_doubt(Path::new(path), Remote::parse("https://h.org/a").as_ref())
            );
            assert_eq!(ProjectSlug::parse(long.as_str()), Some(long));
        }
        for name in ["", "..", "a/b", "a.b", "A", "a b", "a\0", &"a".repeat(200)] {
            assert_eq!(ProjectSlug::parse(name), None, "{name:?}");
        }
        for id in ["../../etc/passwd", "a/b", "", ".hidden", "x\0y", &"long".repeat(100)] {
            let name = component(id);
            assert!(!name.is_empty() && name.len() <= 120 && !name.contains(['/', '\0']), "{name}");
            assert!(!name.starts_with('.'));
        }
        assert_eq!(component("0192-ab_c.d"), "0192-ab_c.d");
    }
}
