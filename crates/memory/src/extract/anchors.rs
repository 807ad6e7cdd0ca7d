//! What of a project the user's words name, and is there: paths, symbols, commits.

use crate::topics::Anchor;
use std::path::{Component, Path};
use std::process::{Command, Stdio};
use throughline_core::entity::{Kind, scan};

/// Anchors of one memory at most.
const MOST: usize = 5;
/// Larger files are not searched for a symbol.
const SEARCHED_BYTES: u64 = 1 << 20;

/// The anchors that a text names and that are under `root`.
pub fn anchors(text: &str, root: Option<&Path>) -> Vec<Anchor> {
    let Some(root) = root.and_then(|root| root.canonicalize().ok()) else { return Vec::new() };
    let (mut paths, mut names, mut commits) = (Vec::new(), Vec::new(), Vec::new());
    scan(text, |entity| match entity.kind {
        Kind::Path => paths.push(entity.text),
        Kind::Symbol => names.push(entity.text),
        Kind::Quoted => {
            let inner = entity.text.trim();
            if inner.contains('/') { paths.push(inner) } else { names.push(inner) }
        }
        Kind::Id => commits.push(entity.text),
        Kind::Error | Kind::Number | Kind::Flag => {}
    });
    let mut found: Vec<Anchor> = Vec::new();
    let mut add = |anchor: Anchor| {
        if found.len() < MOST && !found.contains(&anchor) {
            found.push(anchor);
        }
    };
    let paths: Vec<String> = paths.into_iter().filter_map(|path| inside(&root, path)).collect();
    for path in &paths {
        let own: Vec<&str> =
            names.iter().copied().filter_map(|name| defined(&root.join(path), name)).collect();
        if own.is_empty() {
            add(Anchor::Path(path.clone()));
        }
        for name in own {
            add(Anchor::Symbol { path: path.clone(), name: name.to_owned() });
        }
    }
    for id in commits {
        if is_commit(&root, id) {
            add(Anchor::Commit(id.to_owned()));
        }
    }
    found
}

/// A path from the root on, if it is there and leads nowhere else.
fn inside(root: &Path, path: &str) -> Option<String> {
    let path = path.trim_end_matches(['.', ',', ':', ';', '/']);
    let relative = Path::new(path).strip_prefix(root).unwrap_or(Path::new(path));
    let mut plain = Vec::new();
    for part in relative.components() {
        match part {
            Component::Normal(name) => plain.push(name.to_str()?),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    let relative = plain.join("/");
    let real = root.join(&relative).canonicalize().ok()?;
    (!relative.is_empty() && real.starts_with(root)).then_some(relative)
}

/// The last part of a name, if the file has it as a word.
fn defined<'a>(file: &Path, name: &'a str) -> Option<&'a str> {
    let name = name.rsplit(['.', ':']).next()?.trim_end_matches("()");
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if name.len() < 3 || !name.chars().all(is_word) {
        return None;
    }
    let size = file.metadata().ok().filter(|meta| meta.is_file())?.len();
    let text = (size <= SEARCHED_BYTES).then(|| std::fs::read_to_string(file).ok()).flatten()?;
    text.split(|c| !is_word(c)).any(|word| word == name).then_some(name)
}

/// Whether the project's history has this commit. Without git nothing is known of it.
fn is_commit(root: &Path, id: &str) -> bool {
    let is_hash = (7..=40).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash
        && Command::new("git")
            .arg("-C")
            .arg(root)
            .args(["cat-file", "-e", &format!("{id}^{{commit}}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_there_is_an_anchor() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        std::fs::create_dir_all(root.join("src/gen")).unwrap();
        std::fs::write(root.join("src/json.rs"), "pub fn parse_json() {}\n").unwrap();
        std::fs::write(folder.path().join("secret.rs"), "x").unwrap();
        let found =
            |text: &str| anchors(text, Some(&root)).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(found("never edit src/gen/ by hand, nor src/none.rs"), ["path:src/gen"]);
        assert_eq!(found("parse_json in src/json.rs must not fail"), ["symbol:src/json.rs#parse_json"]);
        assert_eq!(found("不要改 src/json.rs 里的 other_name"), ["path:src/json.rs"]);
        assert!(found("see ../secret.rs and /etc/hosts").is_empty());
        assert!(found("see commit 4f2a9c1d").is_empty());
        assert!(anchors("src/json.rs", None).is_empty());
    }
}
