//! Patterns over what people write, as data: one named pattern per row, with examples that are tested.

use regex::{Regex, RegexBuilder};
use std::ops::Range;
use std::sync::OnceLock;

/// A pattern, compiled when it is first used. Letters match in either case.
///
/// `\b`, `\w` and `\d` go by the letters of Latin scripts and their digits: where all of Unicode counts, a text that is not plain
/// ASCII is searched by the slowest of engines, and each pattern takes milliseconds to compile.
#[derive(Debug)]
pub struct Pattern {
    source: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// A pattern from its source.
    pub const fn new(source: &'static str) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    /// `None` only if the source is invalid, which the tests of each table rule out.
    fn regex(&self) -> Option<&Regex> {
        let compile = || RegexBuilder::new(&latin(self.source)).case_insensitive(true).build().ok();
        self.compiled.get_or_init(compile).as_ref()
    }

    /// Returns false if the source is not a valid expression.
    pub fn is_sound(&self) -> bool {
        self.regex().is_some()
    }

    /// Returns true if the text holds a match.
    pub fn is_in(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text))
    }

    /// The first match.
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        self.regex()?.find(text).map(|found| found.range())
    }

    /// All matches that do not overlap.
    pub fn places(&self, text: &str) -> Vec<Range<usize>> {
        self.regex()
            .map(|regex| regex.find_iter(text).map(|found| found.range()).collect())
            .unwrap_or_default()
    }

    /// The groups of the first match; those that took no part are empty.
    pub fn groups<'t>(&self, text: &'t str) -> Option<Vec<&'t str>> {
        let captures = self.regex()?.captures(text)?;
        Some(captures.iter().map(|group| group.map_or("", |group| group.as_str())).collect())
    }

    /// The text with every match replaced.
    pub fn replaced(&self, text: &str, by: &str) -> String {
        match self.regex() {
            Some(regex) => regex.replace_all(text, by).into_owned(),
            None => text.to_owned(),
        }
    }
}

/// A row of a pattern table: `group <tab> name <tab> pattern <tab> matches <tab> does not match`. Examples are separated by ` ¦ `;
/// `\n` in an example is a line end.
#[derive(Debug)]
pub struct Row {
    /// Rows of one group are alternatives.
    pub group: &'static str,
    /// The name, unique within its group.
    pub name: &'static str,
    /// The pattern.
    pub pattern: Pattern,
    matches: &'static str,
    rejects: &'static str,
}

/// The rows of a table, in order. Lines that begin with `#` and empty lines are comments.
pub fn parse_table(table: &'static str) -> Vec<Row> {
    let rows = table.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    rows.map(|line| {
        let mut columns = line.split('\t');
        let mut next = || columns.next().unwrap_or_default();
        let (group, name, source) = (next(), next(), next());
        Row { group, name, pattern: Pattern::new(source), matches: next(), rejects: next() }
    })
    .collect()
}

/// What is wrong with a table: rows that are not sound, have no examples, or contradict them. Empty in a good table; for tests.
pub fn check_table(rows: &[Row]) -> Vec<String> {
    let mut wrong = Vec::new();
    for row in rows {
        let mut report = |what: &str| wrong.push(format!("{}/{}: {what}", row.group, row.name));
        if !row.pattern.is_sound() {
            report("invalid pattern");
            continue;
        }
        let examples = |column: &str| {
            column.split(" ¦ ").map(|example| example.replace("\\n", "\n")).collect::<Vec<_>>()
        };
        if row.matches.trim().is_empty() || row.rejects.trim().is_empty() {
            report("needs examples that match and examples that do not");
        }
        for example in examples(row.matches).iter().filter(|example| !row.pattern.is_in(example)) {
            report(&format!("does not match {example:?}"));
        }
        for example in examples(row.rejects).iter().filter(|example| row.pattern.is_in(example)) {
            report(&format!("matches {example:?}"));
        }
    }
    wrong
}

/// A source whose words are those of Latin scripts.
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
#[macro_export]
macro_rules! patterns {
    ($($(#[$doc:meta])* $name:ident = $source:expr;)*) => {
        $($(#[$doc])* static $name: $crate::pattern::Pattern = $crate::pattern::Pattern::new($source);)*

        #[cfg(test)]
        mod pattern_tests {
            #[test]
            fn every_pattern_is_sound() {
                $(assert!(super::$name.is_sound(), stringify!($name));)*
            }
        }
    };
}

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

    #[test]
    fn a_bad_table_is_reported() {
        let rows = parse_table("# comment\na\tone\tx+\tx ¦ xx\ty\na\ttwo\t(\tx\ty\na\tthree\tx\ty\tx\n");
        let wrong = check_table(&rows);
        assert_eq!(wrong.len(), 3, "{wrong:?}");
    }
}
