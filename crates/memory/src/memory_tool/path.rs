//! Paths below `/memories`, by name alone.

use crate::topics::raw::{INDEX_FILE, is_memory};

/// What a model calls the folder.
pub(super) const ROOT: &str = "/memories";

/// Folders within folders.
const DEPTH: usize = 4;
/// Bytes of a name.
const NAME: usize = 120;

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The folder itself.
    Root,
    /// The index.
    Index,
    /// A memory.
    Memory(String),
    /// Anything else, by the names on the way.
    Loose(Vec<String>),
}

impl Place {
    /// Takes a path apart. What could lead elsewhere, or deceive whoever reads it, is an error.
    pub(super) fn parse(path: &str) -> Result<Self, String> {
        let wrong = |why: &str| Err(format!("Error: Invalid path {path:?}: {why}"));
        let Some(rest) = path.strip_prefix(ROOT).filter(|rest| rest.is_empty() || rest.starts_with('/'))
        else {
            return wrong("it must begin with /memories");
        };
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.is_empty() {
            return Ok(Self::Root);
        }
        let names: Vec<String> = rest.split('/').map(str::to_owned).collect();
        if names.len() > DEPTH {
            return wrong("there are too many folders in it");
        }
        for name in &names {
            if name == ".." || name == "." || name.is_empty() {
                return wrong("it must not have empty parts, . or ..");
            }
            if name.starts_with('.') {
                return wrong("hidden files are not part of the memory");
            }
            if name.len() > NAME {
                return wrong("a name in it is too long");
            }
            if name.contains(is_odd) || name.ends_with(['.', ' ']) || name.starts_with(' ') {
                return wrong("names have letters, digits, spaces, dashes, underscores and dots");
            }
        }
        Ok(match names.as_slice() {
            [name] if name == INDEX_FILE => Self::Index,
            [name] if name.eq_ignore_ascii_case(INDEX_FILE) => {
                return wrong("the index is /memories/MEMORY.md");
            }
            [name] if is_memory(name) => Self::Memory(name.clone()),
            _ => Self::Loose(names),
        })
    }
}

/// Characters that mean something to a file system or a browser, that look like a dot or a slash, or that can't be seen.
fn is_odd(c: char) -> bool {
    c.is_control()
        || matches!(c, '\\' | ':' | '%' | '*' | '?' | '"' | '<' | '>' | '|' | '~' | '$' | '`')
        || matches!(c, '\u{2024}'..='\u{2026}' | '\u{fe52}' | '\u{ff0e}' | '\u{ff61}' | '\u{3002}')
        || matches!(
            c,
            '\u{2044}' | '\u{2215}' | '\u{29f5}' | '\u{29f8}' | '\u{fe68}' | '\u{ff0f}' | '\u{ff3c}'
        )
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{a0}' | '\u{3000}' | '\u{feff}' | '\u{fff0}'..='\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_apart_by_name() {
        assert_eq!(Place::parse("/memories"), Ok(Place::Root));
        assert_eq!(Place::parse("/memories/"), Ok(Place::Root));
        assert_eq!(Place::parse("/memories/MEMORY.md"), Ok(Place::Index));
        assert_eq!(Place::parse("/memories/user_a.md"), Ok(Place::Memory("user_a.md".to_owned())));
        assert_eq!(Place::parse("/memories/发布.md"), Ok(Place::Memory("发布.md".to_owned())));
        let loose = |names: &[&str]| Ok(Place::Loose(names.iter().map(|name| (*name).to_owned()).collect()));
        assert_eq!(Place::parse("/memories/a b.txt"), loose(&["a b.txt"]));
        assert_eq!(Place::parse("/memories/sub/a.md"), loose(&["sub", "a.md"]));
    }
}
