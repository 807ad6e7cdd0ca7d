//! Whether what a pattern found is a secret, or ordinary text and code.

use super::rules::Test;
use std::ops::Range;

/// Whether a find is a secret. `next`: the character behind it.
pub(super) fn is_secret(test: Test, value: &str, next: Option<char>) -> bool {
    match test {
        Test::Form => true,
        Test::NoStandIn => !is_stand_in(value),
        // A name with a parenthesis behind it is called.
        Test::Run(least) => next != Some('(') && !is_stand_in(value) && has_run(value, least),
        Test::Mixed(least) => {
            is_secret(Test::Run(least), value, next) && next != Some('<') && changes(value) >= 3
        }
        Test::Quoted => !is_stand_in(value) && !is_label(value),
        Test::Tight => {
            let value = without_stop(test, value);
            let is_code = matches!(next, Some('(' | ')' | '<' | ',')) && is_name(value);
            value.chars().count() >= 4 && !is_stand_in(value) && !is_code && !is_place(value)
        }
        Test::Loose => {
            let value = without_stop(test, value);
            value.chars().count() >= 6
                && !matches!(next, Some('(' | '<'))
                && !is_stand_in(value)
                && !is_place(value)
                && !value.contains("::")
                && looks_mixed(value)
        }
    }
}

/// The find without the full stop, bracket or such that ends the sentence it stands in.
pub(super) fn without_stop(test: Test, value: &str) -> &str {
    match test {
        Test::Tight | Test::Loose => {
            value.trim_end_matches(['.', ':', ']', '}', '\\', '。', ',', ';', '、', ')'])
        }
        Test::Form | Test::Run(_) | Test::Mixed(_) | Test::NoStandIn | Test::Quoted => value,
    }
}

/// Where the search goes on behind a find that is no secret. A password may begin inside of what was none; what has a form of its
/// own may not, and can be long.
pub(super) fn resume(test: Test, span: &Range<usize>) -> usize {
    match test {
        Test::Quoted | Test::Tight | Test::Loose => span.start,
        Test::Form | Test::Run(_) | Test::Mixed(_) | Test::NoStandIn => span.end,
    }
}

/// Words that stand where a password would, and say that there is none.
const STAND_INS: [&str; 34] = [
    "string",
    "str",
    "text",
    "varchar",
    "null",
    "none",
    "nil",
    "undefined",
    "true",
    "false",
    "required",
    "hidden",
    "optional",
    "boolean",
    "bool",
    "number",
    "bytes",
    "any",
    "self",
    "input",
    "prompt",
    "value",
    "default",
    "empty",
    "todo",
    "pass",
    "secret",
    "token",
    "user",
    "username",
    "field",
    "option",
    "changeme",
    "ask",
];

/// Parts that only stand-ins have.
const STAND_IN_PARTS: [&str; 9] =
    ["your", "example", "xxxx", "****", "....", "placeholder", "redacted", "getenv", "environ"];

/// Whether a value only says where a secret would be: a variable, a type, a word in its place.
fn is_stand_in(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let begins_as_variable = value.starts_with(['$', '<', '{', '%', '[', '(', '*', '&', '@', '#', '\\']);
    let is_variable = begins_as_variable && (is_name(value) || !value.contains(|c: char| c.is_ascii_digit()))
        || value.starts_with("${")
        || value.starts_with("$(")
        || value.contains("{{")
        || lower.contains("process.env");
    // `new_password`, `userPass`: a name of the thing is not the thing.
    let names_itself = lower.contains("pass") && is_name(value);
    is_variable
        || names_itself
        || STAND_INS.contains(&lower.as_str())
        || STAND_IN_PARTS.iter().any(|part| lower.contains(part))
}

/// Letters, `_`, `-`, `.` and `$` only, as in the names of code.
fn is_name(value: &str) -> bool {
    value.chars().all(|c| c.is_alphabetic() || matches!(c, '_' | '-' | '.' | '$' | '{' | '}' | '%'))
}

/// A label for people: words, and at most what ends a sentence.
fn is_label(value: &str) -> bool {
    let value = value.trim().trim_end_matches(['?', '!', ':', '.', '…', '*', '。', '?', ':']);
    let in_words = value.chars().all(|c| c.is_alphabetic() || matches!(c, ' ' | '-' | '\'' | ',' | '_'));
    in_words && (value.contains(' ') || !value.is_ascii() || value.to_ascii_lowercase().contains("pass"))
}

/// A path, a flag or an address.
fn is_place(value: &str) -> bool {
    value.starts_with(['/', '~', '-', '.']) || value.contains("://")
}

/// Letters, and digits or signs that prose and code do not have inside words.
fn looks_mixed(value: &str) -> bool {
    let has_letter = value.contains(|c: char| c.is_ascii_alphabetic());
    let has_digit = value.contains(|c: char| c.is_ascii_digit());
    let has_sign =
        value.contains(['!', '@', '#', '$', '%', '^', '*', '+', '?']) && !value.contains(['[', '{', '=']);
    // `config.password2` and `auth/v2` are places in code.
    let is_path = value.contains(['.', '/']) && !has_sign;
    has_letter && (has_digit || has_sign) && !is_path
}

/// Letters and digits, and at least so many of them in a row.
fn has_run(value: &str, least: usize) -> bool {
    let longest = value.split(|c: char| !c.is_ascii_alphanumeric()).map(str::len).max().unwrap_or(0);
    longest >= least
        && value.contains(|c: char| c.is_ascii_alphabetic())
        && value.contains(|c: char| c.is_ascii_digit())
}

/// How often a letter follows a digit, or a digit a letter.
fn changes(value: &str) -> usize {
    let is_change = |pair: &&[u8]| match pair {
        [a, b] => {
            (a.is_ascii_alphabetic() && b.is_ascii_digit()) || (a.is_ascii_digit() && b.is_ascii_alphabetic())
        }
        _ => false,
    };
    value.as_bytes().windows(2).filter(is_change).count()
}
