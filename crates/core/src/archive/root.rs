//! The directory that a session works in, as its paths tell.

use super::item;
use crate::entity::Kind;
use crate::{Body, Fragment, Message, Speaker};
use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};

/// The directory from which paths are also named without it: paths in it read better that way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Root(Option<Box<str>>);

/// Deeper directories than this are not looked at.
const DEEPEST: usize = 12;
/// So many files must be named both ways.
const FEWEST_VOTES: usize = 2;

impl Root {
    /// As a client says it, else by the paths that a session's messages hold.
    pub(super) fn of_messages<M: Borrow<Message>>(messages: &[M]) -> Self {
        if let Some(dir) = messages.iter().find_map(|message| said(message.borrow())) {
            return Self(Some(dir));
        }
        let mut paths: HashSet<String> = HashSet::new();
        for message in messages {
            for (part, _) in item::parts(message.borrow()) {
                item::scan_cut(&part.text, |entity| {
                    if entity.kind == Kind::Path && !paths.contains(entity.text) {
                        paths.insert(entity.text.to_owned());
                    }
                });
            }
        }
        Self::of(paths.iter().map(String::as_str), |path| paths.contains(path))
    }

    /// By distinct paths, and whether a path stands somewhere.
    pub(super) fn of<'a>(paths: impl Iterator<Item = &'a str>, is_known: impl Fn(&str) -> bool) -> Self {
        let mut votes: HashMap<&str, usize> = HashMap::new();
        for path in paths.filter(|path| path.starts_with('/')) {
            for (at, _) in path.match_indices('/').skip(2).take(DEEPEST) {
                let inner = &path[at + 1..];
                // A bare file name lies in many directories.
                if inner.contains('/') && is_known(inner) {
                    *votes.entry(&path[..at]).or_default() += 1;
                }
            }
        }
        let root = votes
            .into_iter()
            .filter(|(_, votes)| *votes >= FEWEST_VOTES)
            .max_by_key(|(dir, votes)| (*votes, std::cmp::Reverse(dir.len()), *dir))
            .map(|(dir, _)| dir.into());
        Self(root)
    }

    /// This directory; none where it is empty or the file system's own root.
    pub(super) fn at(dir: &str) -> Self {
        Self(Some(dir.trim_end_matches('/')).filter(|dir| !dir.is_empty()).map(Into::into))
    }

    /// The directory itself.
    pub(super) fn dir(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// A text whose paths below the directory stand without it.
    pub(super) fn strip_all(&self, text: Box<str>) -> Box<str> {
        match self.dir() {
            Some(dir) if text.contains(dir) => text.replace(&format!("{dir}/"), "").into(),
            Some(_) | None => text,
        }
    }

    /// A path without the directory.
    pub(super) fn strip<'a>(&self, path: &'a str) -> &'a str {
        let inner = self.0.as_deref().and_then(|root| path.strip_prefix(root)?.strip_prefix('/'));
        inner.filter(|inner| !inner.is_empty()).unwrap_or(path)
    }
}

/// The directory in a client's description of the environment.
fn said(message: &Message) -> Option<Box<str>> {
    message.blocks.iter().find_map(|block| {
        let text = match &block.body {
            Body::Text(text) if Fragment::recognise(Speaker::User, text) == Some(Fragment::Environment) => {
                text
            }
            Body::Text(_)
            | Body::Reasoning { .. }
            | Body::ToolCall(_)
            | Body::ToolResult(_)
            | Body::Image(_)
            | Body::Document(_)
            | Body::Unknown(_) => return None,
        };
        let (_, rest) = text.split_once("<cwd>")?;
        let (dir, _) = rest.split_once("</cwd>")?;
        let dir = dir.trim().trim_end_matches('/');
        dir.starts_with('/').then(|| dir.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(paths: &[&str]) -> Root {
        Root::of(paths.iter().copied(), |path| paths.contains(&path))
    }

    #[test]
    fn the_root_is_where_paths_are_named_both_ways() {
        let root = root(&[
            "/w/app/src/a.rs",
            "src/a.rs",
            "/w/app/src/b.rs",
            "src/b.rs",
            "/w/app/x.rs",
            "/etc/ssl/c",
        ]);
        assert_eq!(root.dir(), Some("/w/app"));
        assert_eq!(root.strip("/w/app/src/a.rs"), "src/a.rs");
        assert_eq!(root.strip("/w/apple"), "/w/apple");
    }

    #[test]
    fn what_the_client_says_counts_first() {
        let text = Fragment::Environment.render("<cwd>/w/app</cwd>");
        let root = Root::of_messages(&[Message::text(crate::Role::User, text)]);
        assert_eq!(root.strip("/w/app/src/a.rs"), "src/a.rs");
    }

    #[test]
    fn without_such_paths_all_stay_as_they_are() {
        let root = root(&["/w/app/src/a.rs", "/w/app/src/b.rs", "a.rs"]);
        assert_eq!(root.dir(), None);
        assert_eq!(root.strip("/w/app/src/a.rs"), "/w/app/src/a.rs");
    }
}
