//! Which events of its kind a hook is for.

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

/// What only regular expressions have. A pattern without any of these is a glob.
const EXPRESSION: &[char] = &['.', '(', ')', '[', ']', '{', '}', '^', '$', '+', '\\'];
/// The compiled pattern has at most this many bytes.
const SIZE: usize = 1 << 20;

/// A pattern on the name of a tool, a trigger, a source: a glob (`*`, `?`, `|` between alternatives), or a regular
/// expression if it has any of `.()[]{}^$+\`. Either must fit the whole name. Empty and `*` fit everything.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Matcher {
    pattern: String,
    /// `None`: everything fits.
    regex: Option<Regex>,
}

impl Matcher {
    /// Reads a pattern.
    pub fn new(pattern: &str) -> Result<Self, String> {
        let expression = match pattern {
            "" | "*" => return Ok(Self { pattern: pattern.to_owned(), regex: None }),
            _ if pattern.contains(EXPRESSION) => pattern.to_owned(),
            _ => pattern.split('|').map(from_glob).collect::<Vec<_>>().join("|"),
        };
        let regex = RegexBuilder::new(&format!("^(?:{expression})$")).size_limit(SIZE).build();
        let regex = regex.map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim();
            format!("`matcher` is no pattern: {}", reason.strip_prefix("error: ").unwrap_or(reason))
        })?;
        Ok(Self { pattern: pattern.to_owned(), regex: Some(regex) })
    }

    /// Whether everything fits.
    pub fn is_any(&self) -> bool {
        self.regex.is_none()
    }

    /// Whether one of the names fits. Where there is no name, everything fits.
    pub fn fits(&self, names: &[&str]) -> bool {
        match &self.regex {
            Some(regex) => names.is_empty() || names.iter().any(|name| regex.is_match(name)),
            None => true,
        }
    }
}

fn from_glob(glob: &str) -> String {
    let mut out = String::new();
    for part in glob.trim().chars() {
        match part {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            other => out.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    out
}

impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern
    }
}

impl Eq for Matcher {}

impl TryFrom<String> for Matcher {
    type Error = String;

    fn try_from(pattern: String) -> Result<Self, Self::Error> {
        Self::new(&pattern)
    }
}

impl From<Matcher> for String {
    fn from(matcher: Matcher) -> Self {
        matcher.pattern
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_and_expressions_fit_whole_names() {
        let fits = |pattern: &str, name: &str| Matcher::new(pattern).unwrap().fits(&[name]);
        for (pattern, name) in [
            ("", "anything"),
            ("*", "anything"),
            ("Edit|Write", "Write"),
            ("mcp__*", "mcp__memory__read"),
            ("mcp__.*", "mcp__memory__read"),
            ("Re?d", "Read"),
            ("^(Edit|Multi.+)$", "MultiEdit"),
            ("Notebook.*|Read", "Read"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("Edit|Write", "MultiEdit"),
            ("Edit", "edit"),
            ("mcp__*", "amcp__x"),
            ("Notebook.*", "MyNotebookEdit"),
            ("Read|Wri.e", "Reader"),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn one_of_several_names_is_enough_and_none_is_no_obstacle() {
        let matcher = Matcher::new("auto").unwrap();
        assert!(matcher.fits(&["auto", "pre_turn"]));
        assert!(!matcher.fits(&["manual", "manual"]));
        assert!(matcher.fits(&[]));
    }

    #[test]
    fn what_is_no_pattern_is_an_error_that_says_why() {
        let error = Matcher::new("(Edit").unwrap_err();
        assert!(error.contains("unclosed group"), "{error}");
        assert!(Matcher::new("(a{1000}){1000}{1000}").is_err());
    }
}
