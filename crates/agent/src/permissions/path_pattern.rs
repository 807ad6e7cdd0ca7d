//! Patterns of paths in rules.
//!
//! `src/**` is relative to a folder of the workspace, `~/notes/**` to the home folder, `//etc/**` absolute. A pattern without a slash
//! matches at any depth (`./name` only at the top). What names a folder covers what is in it. `*` does not cross a slash, `**` does.

use globset::{GlobBuilder, GlobMatcher};
use std::path::{Component, Path};

/// Where a pattern begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Workspace,
    Home,
    Root,
}

/// A pattern of paths.
#[derive(Clone, Debug)]
pub(super) struct PathPattern {
    base: Base,
    exact: Vec<GlobMatcher>,
    /// Without regard to case: there are file systems that have none.
    folded: Vec<GlobMatcher>,
    is_all: bool,
}

/// The folders that patterns begin in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bases<'a> {
    pub(super) workspace: &'a [&'a Path],
    pub(super) home: Option<&'a Path>,
}

impl PathPattern {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let (base, rest) = if let Some(rest) = text.strip_prefix("//") {
            (Base::Root, rest)
        } else if let Some(rest) = text.strip_prefix("~/") {
            (Base::Home, rest)
        } else if let Some(rest) = text.strip_prefix('/') {
            return Err(format!(
                "write `//{rest}` for an absolute path, or `{rest}` for one in the workspace"
            ));
        } else if text.starts_with('~') {
            return Err("only `~/` stands for a home folder".to_owned());
        } else {
            (Base::Workspace, text.strip_prefix("./").unwrap_or(text))
        };
        if rest.split('/').any(|part| part == "..") {
            return Err("`..` leads out of where it begins; write an absolute path: `//…`".to_owned());
        }
        let rest = rest.trim_end_matches('/');
        if rest.is_empty() {
            return Err("name a file or a folder: `**` means all of them".to_owned());
        }
        let is_anywhere = base == Base::Workspace && !text.trim_end_matches('/').contains('/');
        let begins: &[&str] = if is_anywhere { &["", "**/"] } else { &[""] };
        let globs = begins.iter().flat_map(|begin| [format!("{begin}{rest}"), format!("{begin}{rest}/**")]);
        let globs: Vec<String> = globs.collect();
        Ok(Self {
            base,
            exact: build(&globs, false)?,
            folded: build(&globs, true)?,
            is_all: rest == "**" || rest == "*",
        })
    }

    /// Whether a path is meant, to the letter.
    pub(super) fn matches(&self, path: &Path, bases: Bases<'_>) -> bool {
        self.any(path, bases, &self.exact)
    }

    /// Whether a path might be meant: in another case, or below whatever folder where the home is not known.
    pub(super) fn may_match(&self, path: &Path, bases: Bases<'_>) -> bool {
        let is_lost = self.base == Base::Home && bases.home.is_none();
        let tails = || path.ancestors().filter_map(|above| path.strip_prefix(above).ok());
        self.any(path, bases, &self.folded)
            || (is_lost && tails().any(|tail| self.folded.iter().any(|glob| glob.is_match(tail))))
    }

    fn any(&self, path: &Path, bases: Bases<'_>, globs: &[GlobMatcher]) -> bool {
        // Where `..` leads can't be told from the text.
        if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
            return false;
        }
        let below = |base: &Path| {
            path.strip_prefix(base).is_ok_and(|rest| {
                if rest.as_os_str().is_empty() {
                    self.is_all
                } else {
                    globs.iter().any(|glob| glob.is_match(rest))
                }
            })
        };
        match self.base {
            Base::Workspace => bases.workspace.iter().any(|base| below(base)),
            Base::Home => bases.home.is_some_and(below),
            Base::Root => below(Path::new("/")),
        }
    }
}

fn build(globs: &[String], folds_case: bool) -> Result<Vec<GlobMatcher>, String> {
    let build = |glob: &String| {
        let glob = GlobBuilder::new(glob).literal_separator(true).case_insensitive(folds_case).build();
        glob.map(|glob| glob.compile_matcher())
            .map_err(|error| format!("its pattern is not understood: {}", error.kind()))
    };
    globs.iter().map(build).collect()
}
