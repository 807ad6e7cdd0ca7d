//! Patterns over what people write.

use regex::{Regex, RegexBuilder};
use std::ops::Range;
use std::sync::OnceLock;

/// A pattern, compiled when it is first used. Letters match in either case.
///
/// `\b`, `\w` and `\d` go by the letters of Latin scripts and their digits: where all of Unicode counts, a text that is not plain ASCII
/// is searched by the slowest of engines, and each pattern takes milliseconds to compile.
pub(crate) struct Pattern {
    source: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    pub(crate) const fn new(source: &'static str) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    /// `None` only if the pattern is wrong, which a test rules out.
    fn regex(&self) -> Option<&Regex> {
        let compile = || RegexBuilder::new(&latin(self.source)).case_insensitive(true).build().ok();
        self.compiled.get_or_init(compile).as_ref()
    }

    #[cfg(test)]
    pub(crate) fn is_sound(&self) -> bool {
        self.regex().is_some()
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text))
    }

    /// Where it stands first.
    pub(crate) fn find(&self, text: &str) -> Option<Range<usize>> {
        self.regex()?.find(text).map(|found| found.range())
    }

    /// All places that do not overlap.
    pub(crate) fn places(&self, text: &str) -> Vec<Range<usize>> {
        self.regex()
            .map(|regex| regex.find_iter(text).map(|found| found.range()).collect())
            .unwrap_or_default()
    }

    /// The first match with its groups; those that took no part are empty.
    pub(crate) fn groups<'t>(&self, text: &'t str) -> Option<Vec<&'t str>> {
        let captures = self.regex()?.captures(text)?;
        Some(captures.iter().map(|group| group.map_or("", |group| group.as_str())).collect())
    }

    /// The text with every match replaced.
    pub(crate) fn replaced(&self, text: &str, by: &str) -> String {
        match self.regex() {
            Some(regex) => regex.replace_all(text, by).into_owned(),
            None => text.to_owned(),
        }
    }
}

/// A pattern whose words are those of Latin scripts.
fn latin(source: &str) -> String {
    let mut written = String::with_capacity(source.len() * 2);
    let mut in_class = false;
    let mut characters = source.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => match (characters.next(), in_class) {
                (Some('b'), false) => written.push_str(r"(?-u:\b)"),
                (Some('w'), false) => written.push_str(r"[0-9A-Za-z_\x{c0}-\x{24f}]"),
                (Some('w'), true) => written.push_str(r"0-9A-Za-z_\x{c0}-\x{24f}"),
                (Some('d'), false) => written.push_str("[0-9]"),
                (Some('d'), true) => written.push_str("0-9"),
                (Some(other), _) => written.extend(['\\', other]),
                (None, _) => written.push('\\'),
            },
            _ => {
                in_class = match c {
                    '[' => true,
                    ']' => false,
                    _ => in_class,
                };
                written.push(c);
            }
        }
    }
    written
}

/// Declares patterns, and a test that each is sound.
macro_rules! patterns {
    ($($(#[$doc:meta])* $name:ident = $source:expr;)*) => {
        $($(#[$doc])* static $name: $crate::extract::pattern::Pattern = $crate::extract::pattern::Pattern::new($source);)*

        #[cfg(test)]
        mod pattern_tests {
            #[test]
            fn every_pattern_is_sound() {
                $(assert!(super::$name.is_sound(), stringify!($name));)*
            }
        }
    };
}

pub(crate) use patterns;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_latin_scripts() {
        assert_eq!(latin(r"\bv\d+[\w./-]\s\\b"), r"(?-u:\b)v[0-9]+[0-9A-Za-z_\x{c0}-\x{24f}./-]\s\\b");
        let named = Pattern::new(r"\bcall me (\w+)");
        assert_eq!(named.groups("请call me Zoë.").unwrap()[1], "Zoë");
        assert!(!named.is_in("recall me later"));
    }
}
