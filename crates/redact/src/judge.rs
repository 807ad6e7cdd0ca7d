//! Whether what a pattern found is a secret, or ordinary text and code.

use super::MARK;
use super::rules::Test;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use std::ops::Range;

/// Whether a find is a secret. `next`: the character behind it.
pub(super) fn is_secret(test: Test, value: &str, next: Option<char>) -> bool {
    match test {
        Test::Form => true,
        Test::NoStandIn => !is_stand_in(value),
        // A name with a parenthesis behind it is called.
        Test::Run(least) => next != Some('(') && !is_stand_in(value) && has_run(value, least),
        Test::Mixed(least) => {
            is_secret(Test::Run(least), value, next)
                && next != Some('<')
                && (changes(value) >= 3 || is_shuffled(value))
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
        Test::Alone => {
            is_secret(Test::Loose, value, next)
                || (value.len() >= 6
                    && value.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
                    && !is_stand_in(value)
                    && !is_place(value))
        }
        Test::Basic => is_name_and_password(value),
        // Asked part by part: see `cookies` and `stated.rs`.
        Test::Cookies | Test::Stated(_) => false,
    }
}

/// The find without the full stop, bracket or such that ends the sentence it stands in.
pub(super) fn without_stop(test: Test, value: &str) -> &str {
    match test {
        Test::Tight | Test::Loose => {
            value.trim_end_matches(['.', ':', ']', '}', '\\', '。', ',', ';', '、', ')'])
        }
        Test::Run(_) | Test::Mixed(_) | Test::NoStandIn => value.trim_end_matches('.'),
        Test::Form | Test::Quoted | Test::Alone | Test::Basic | Test::Cookies | Test::Stated(_) => value,
    }
}

/// Where the search goes on behind a find that is no secret. A password may begin inside of what was none; what has a form of its
/// own may not, and can be long.
pub(super) fn resume(test: Test, span: &Range<usize>) -> usize {
    match test {
        Test::Quoted | Test::Tight | Test::Loose | Test::Alone => span.start,
        Test::Form
        | Test::Run(_)
        | Test::Mixed(_)
        | Test::NoStandIn
        | Test::Basic
        | Test::Cookies
        | Test::Stated(_) => span.end,
    }
}

/// The values of a header of cookies that identify somebody: long, and no words.
pub(super) fn cookies(header: &[u8]) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut at = 0;
    for pair in header.split(|byte| *byte == b';') {
        if let Some(sign) = pair.iter().position(|byte| *byte == b'=') {
            let name = String::from_utf8_lossy(&pair[..sign]).trim().to_ascii_lowercase();
            let value = &pair[sign + 1..];
            let value = &value[..value.iter().position(u8::is_ascii_whitespace).unwrap_or(value.len())];
            let is_attribute =
                matches!(name.as_str(), "expires" | "max-age" | "path" | "domain" | "samesite");
            let text = String::from_utf8_lossy(value);
            let identifies = has_run(&text, 8) && (changes(&text) >= 2 || is_shuffled(&text))
                || has_run(&text, 4)
                    && ["sess", "sid", "auth", "token", "jwt"].iter().any(|part| name.contains(part));
            if !is_attribute
                && value.len() >= 8
                && identifies
                && !is_stand_in(&text)
                && !text.contains(MARK)
                && text.len() == value.len()
            {
                parts.push(at + sign + 1..at + sign + 1 + value.len());
            }
        }
        at += pair.len() + 1;
    }
    parts
}

/// Words that stand where a password would, and say that there is none.
const STAND_INS: &[&str] = &[
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
    "object",
    "unknown",
    "never",
    "void",
    "encrypted",
    "hashed",
    "disabled",
    "enabled",
    "plaintext",
    "plain",
    "stored",
    "missing",
    "invalid",
    "incorrect",
    "wrong",
    "correct",
    "expired",
    "unset",
    "not-set",
    "omitted",
    "masked",
    "provided",
    "needed",
    "varies",
    "manual",
    "interactive",
    "random",
    "generated",
    "managed",
    "sensitive",
    "private",
    "protected",
    "type",
    "integer",
    "float",
    "array",
    "list",
    "function",
    "return",
    "const",
    "static",
    "public",
    "await",
    "async",
    "import",
    "export",
    "module",
    "class",
    "struct",
    "config",
    "settings",
    "options",
    "params",
    "request",
    "response",
    "result",
    "error",
    "abc123",
];

/// Parts that only stand-ins have.
const STAND_IN_PARTS: &[&str] = &[
    "your",
    "example",
    "****",
    "....",
    "placeholder",
    "redacted",
    "getenv",
    "environ",
    "<your",
    "insert",
    "replace",
    "changeme",
    "change_me",
    "change-me",
    "dummy",
    "sample",
    "fake",
    "notreal",
    "not-a-real",
    "goes-here",
    "goes_here",
    "my-secret",
    "my_secret",
    "mysecret",
    "foobar",
    "00000000",
];

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
    let is_port = value.len() <= 5 && value.bytes().all(|byte| byte.is_ascii_digit());
    is_variable
        || value.trim().is_empty()
        || value.contains("xxxx")
        || value.contains("XXXX")
        || names_itself
        || is_port
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
pub(super) fn is_place(value: &str) -> bool {
    value.starts_with(['/', '~', '-', '.']) || value.contains("://")
}

/// Letters, and digits or signs that prose and code do not have inside words.
fn looks_mixed(value: &str) -> bool {
    let has_letter = value.contains(|c: char| c.is_ascii_alphabetic());
    let has_digit = value.contains(|c: char| c.is_ascii_digit());
    let has_sign =
        value.contains(['!', '@', '#', '$', '%', '^', '*', '+', '?']) && !value.contains(['[', '{', '=']);
    // `config.password2` and `auth/v2` are places in code.
    let is_path = value.contains(['.', '/']) && !has_sign && !(has_run(value, 16) && changes(value) >= 6);
    has_letter && (has_digit || has_sign) && !is_path
}

/// At least so many letters and digits in a row, or letters as nobody writes them.
fn has_run(value: &str, least: usize) -> bool {
    let is_mixed = |run: &str| {
        run.contains(|c: char| c.is_ascii_alphabetic()) && run.contains(|c: char| c.is_ascii_digit())
    };
    let mut runs =
        value.split(|c: char| !c.is_ascii_alphanumeric()).filter(|run| run.len() >= least).peekable();
    runs.peek().is_some() && (is_shuffled(value) || runs.any(is_mixed))
}

/// Whether small letters, capitals and digits change places as often as by chance. In names they change with each word at most.
pub(super) fn is_shuffled(value: &str) -> bool {
    let class = |byte: u8| (byte.is_ascii_lowercase(), byte.is_ascii_uppercase(), byte.is_ascii_digit());
    let pairs = value.as_bytes().windows(2).filter(|pair| match pair {
        [a, b] => class(*a) != class(*b),
        _ => false,
    });
    value.len() >= 16 && pairs.count() * 100 >= value.len() * 42
}

/// How often a letter follows a digit, or a digit a letter.
pub(super) fn changes(value: &str) -> usize {
    let is_change = |pair: &&[u8]| match pair {
        [a, b] => {
            (a.is_ascii_alphabetic() && b.is_ascii_digit()) || (a.is_ascii_digit() && b.is_ascii_alphabetic())
        }
        _ => false,
    };
    value.as_bytes().windows(2).filter(is_change).count()
}

/// Base64 of `name:password`, as in a file of a registry's credentials.
fn is_name_and_password(value: &str) -> bool {
    let Ok(bytes) = STANDARD_NO_PAD.decode(value.trim_end_matches('=')) else { return false };
    let Ok(text) = String::from_utf8(bytes) else { return false };
    let is_text = text.chars().all(|c| !c.is_control());
    is_text && text.split_once(':').is_some_and(|(name, word)| !name.is_empty() && word.len() >= 4)
}
