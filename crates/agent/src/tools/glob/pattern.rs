//! Patterns of file names.

use globset::{GlobBuilder, GlobMatcher};
use std::path::Path;

/// A pattern of paths below some folder.
#[derive(Clone, Debug)]
pub(in crate::tools) struct Pattern {
    matcher: GlobMatcher,
    text: String,
}

impl Pattern {
    /// A pattern as ripgrep takes it: one without a slash is of names, at any depth; one with a slash is of paths from the
    /// folder on.
    pub(in crate::tools) fn new(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix("./").unwrap_or(text);
        let is_name = !text.contains('/');
        let text = text.trim_start_matches('/');
        if is_name { Self::below(&format!("**/{text}")) } else { Self::below(text) }
    }

    /// The folder that a pattern begins with, and what is to be matched below it.
    pub(in crate::tools) fn split(text: &str) -> Result<(String, Self), String> {
        if text.is_empty() {
            return Err("`pattern` is empty: give one such as `**/*.rs`".to_owned());
        }
        let text = text.strip_prefix("./").unwrap_or(text);
        let Some(last) = text.rfind('/') else { return Ok((String::new(), Self::new(text)?)) };
        let first_special = text.find(['*', '?', '[', ']', '{', '}', '\\']).unwrap_or(text.len());
        let Some(end) = text[..first_special].rfind('/').map(|at| at.min(last)) else {
            return Ok((String::new(), Self::new(text)?));
        };
        let (base, rest) = (&text[..end], &text[end + 1..]);
        let base = if end == 0 { "/" } else { base };
        let rest = if rest.is_empty() { "**" } else { rest };
        Ok((base.to_owned(), Self::below(rest)?))
    }

    fn below(text: &str) -> Result<Self, String> {
        if text.split('/').any(|part| part == "..") {
            return Err(format!("{text:?}: `..` can stand only where a pattern begins"));
        }
        let folder = format!("{text}**");
        let text = if text.ends_with('/') { folder.as_str() } else { text };
        let glob = GlobBuilder::new(text).literal_separator(true).build();
        let matcher = glob.map_err(|error| format!("the pattern is not valid: {error}"))?.compile_matcher();
        Ok(Self { matcher, text: text.to_owned() })
    }

    /// Whether a path below the folder is meant.
    pub(in crate::tools) fn matches(&self, relative: &Path) -> bool {
        self.matcher.is_match(relative)
    }

    /// Whether it asks for names that begin with a dot.
    pub(in crate::tools) fn names_hidden(&self) -> bool {
        self.text.split('/').any(|part| part.starts_with('.') || part.contains("{.") || part.contains(",."))
    }

    /// Whether it asks for what is in `.git`.
    pub(in crate::tools) fn names_git(&self) -> bool {
        self.text.split('/').any(|part| part == ".git")
    }
}
