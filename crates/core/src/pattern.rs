//! Patterns over what people write, as data: one named pattern per row, with examples that are tested.

use regex::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::{Deref, Range};
use std::sync::{LazyLock, OnceLock};

/// A pattern, compiled when it is first used. Letters match in either case.
///
/// `\b`, `\w` and `\d` go by the letters of Latin scripts and their digits: where all of Unicode counts, a text that is not plain
/// ASCII is searched by the slowest of engines, and each pattern takes milliseconds to compile.
#[derive(Debug)]
pub struct Pattern {
    source: Cow<'static, str>,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// A pattern from its source.
    pub const fn new(source: &'static str) -> Self {
        Self::of(Cow::Borrowed(source))
    }

    const fn of(source: Cow<'static, str>) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    /// `None` only if the source is invalid, which the tests of each table rule out.
    fn regex(&self) -> Option<&Regex> {
        let compile = || RegexBuilder::new(&latin(&self.source)).case_insensitive(true).build().ok();
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
/// `\n` in an example is a line end. `{{name}}` in a pattern stands for the rows of a group that the table has above it.
#[derive(Debug)]
pub struct Row {
    /// Rows of one group are alternatives.
    pub group: &'static str,
    /// The name, unique within its group.
    pub name: &'static str,
    /// The pattern.
    pub pattern: Pattern,
    source: &'static str,
    matches: &'static str,
    rejects: &'static str,
}

/// The longest pattern of a row, as it stands in the table. One with named groups may be longer: it can't be split.
const LONGEST: usize = 320;

/// The rows of a table, in order. Lines that begin with `#` and empty lines are comments.
pub fn parse_table(table: &'static str) -> Vec<Row> {
    let mut rows = Vec::new();
    for line in table.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let mut columns = line.split('\t');
        let mut next = || columns.next().unwrap_or_default();
        let (group, name, source) = (next(), next(), next());
        let pattern = Pattern::of(expanded(source, &rows));
        rows.push(Row { group, name, pattern, source, matches: next(), rejects: next() });
    }
    rows
}

/// A source in which the rows of groups stand for their names. The name of an unknown group stays: such a source is not valid.
fn expanded(source: &'static str, rows: &[Row]) -> Cow<'static, str> {
    let mut pieces = source.split("{{");
    let first = pieces.next().unwrap_or_default();
    if first.len() == source.len() {
        return Cow::Borrowed(source);
    }
    let mut written = first.to_owned();
    for piece in pieces {
        let (name, behind) = piece.split_once("}}").unwrap_or((piece, ""));
        written.push_str(&format!("(?:{}){behind}", joined(rows, name)));
    }
    Cow::Owned(written)
}

/// The sources of a group's rows as alternatives. Not a valid source if there is no such group.
fn joined(rows: &[Row], group: &str) -> String {
    let rows = rows.iter().filter(|row| row.group == group);
    let sources: Vec<String> = rows.map(|row| format!("(?:{})", row.pattern.source)).collect();
    if sources.is_empty() { format!("{{{{{group}}}}}") } else { sources.join("|") }
}

/// All rows of a group as one pattern: a text is searched once for all of them. Not sound if there is no such group.
pub fn whole(rows: &[Row], group: &str) -> Pattern {
    Pattern::of(Cow::Owned(joined(rows, group)))
}

/// A group of a table as one pattern, made when it is first used.
#[derive(Debug)]
pub struct Group {
    rows: &'static LazyLock<Vec<Row>>,
    name: &'static str,
    whole: OnceLock<Pattern>,
}

impl Group {
    /// A group by its name, in which case does not matter.
    pub const fn new(rows: &'static LazyLock<Vec<Row>>, name: &'static str) -> Self {
        Self { rows, name, whole: OnceLock::new() }
    }
}

impl Deref for Group {
    type Target = Pattern;

    fn deref(&self) -> &Pattern {
        self.whole.get_or_init(|| whole(self.rows, &self.name.to_ascii_lowercase()))
    }
}

/// The faults of a table: rows that are not sound, are too long, share a name, have no examples, or contradict them. Empty for a good
/// table; for tests.
pub fn check_table(rows: &[Row]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut names = HashSet::new();
    for row in rows {
        let mut report = |what: &str| wrong.push(format!("{}/{}: {what}", row.group, row.name));
        if !row.pattern.is_sound() {
            report("invalid pattern");
            continue;
        }
        if !names.insert((row.group, row.name)) {
            report("name used twice");
        }
        if row.source.chars().count() > LONGEST && !row.source.contains("(?P<") {
            report("too long");
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

/// Declares groups of a table as patterns, the group `question` as `QUESTION`, its rows as `ROWS`, and a test of the table.
#[macro_export]
macro_rules! pattern_groups {
    ($table:expr; $($name:ident)*) => {
        static ROWS: ::std::sync::LazyLock<::std::vec::Vec<$crate::pattern::Row>> =
            ::std::sync::LazyLock::new(|| $crate::pattern::parse_table($table));
        $(static $name: $crate::pattern::Group = $crate::pattern::Group::new(&ROWS, stringify!($name));)*

        #[cfg(test)]
        mod pattern_tests {
            #[test]
            fn every_row_keeps_to_its_examples() {
                let wrong = $crate::pattern::check_table(&super::ROWS);
                assert!(wrong.is_empty(), "{}", wrong.join("\n"));
            }

            #[test]
            fn every_group_is_in_the_table() {
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
        let long: &str = format!("a\tone\tx{{1}}\tx\ty\na\tone\tx{}\tx\ty\n", "|x".repeat(LONGEST)).leak();
        let wrong = check_table(&parse_table(long));
        assert_eq!(wrong, ["a/one: name used twice", "a/one: too long"]);
    }

    #[test]
    fn a_group_is_its_rows_and_may_refer_to_rows_above() {
        static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
            parse_table(
                "verb\ta\trun|test\trun\tgo\nverb\tb\tpush\tpush\tpull\norder\tplain\t^{{verb}} (\\w+)$\trun it\tit ran\n\
                 order\tpolite\tplease\tplease\tpleas\nlost\tno such group\t{{noun}}\tx\ty\n",
            )
        });
        static ORDER: Group = Group::new(&ROWS, "ORDER");
        assert_eq!(ORDER.groups("push it").unwrap(), ["push it", "it"]);
        assert!(ORDER.is_in("please") && !ORDER.is_in("pull it"));
        assert!(!Group::new(&ROWS, "NOUN").is_sound());
        assert_eq!(check_table(&ROWS), ["lost/no such group: invalid pattern"]);
    }
}
