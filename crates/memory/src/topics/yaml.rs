//! Values of a frontmatter, written so that every reader gets them back.

use std::fmt::Write as _;

/// A text as a YAML scalar on one line: plain where that can't be misread, else in double quotes.
pub(super) fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

/// The same for a place within brackets or braces, where a comma ends a value.
pub(super) fn flow(text: &str) -> String {
    if is_plain(text) && !text.contains(',') { text.to_owned() } else { quoted(text) }
}

/// What stands behind `key:` at the beginning of a line.
pub(super) fn after_key<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(key)?.trim_start_matches(' ').strip_prefix(':')?;
    (rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n'])).then_some(rest)
}

/// A value without control characters, in one line.
pub(super) fn one_line(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Words that YAML 1.1 or 1.2 reads as something else than text.
const RESERVED: [&str; 12] =
    ["true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf", "infinity"];

/// Deliberately narrow: whatever could be a number, a date, a key, a comment or markup is quoted.
fn is_plain(text: &str) -> bool {
    let begins_well = text.starts_with(|c: char| c.is_alphabetic());
    let ends_well = text.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | ')' | '!' | '?' | ';'));
    let harmless = |c: char| {
        c.is_ascii_alphanumeric()
            || (c.is_alphabetic() && !c.is_ascii())
            || matches!(
                c,
                ' ' | ',' | '.' | '-' | '_' | '(' | ')' | '/' | ';' | '\'' | '!' | '?' | '+' | '—' | '`'
            )
    };
    begins_well
        && ends_well
        && text.chars().all(harmless)
        && !text.contains("  ")
        && !RESERVED.contains(&text.to_lowercase().as_str())
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if needs_code(c) => {
                let code = u32::from(c);
                // Writing to a string can't fail.
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02X}"),
                    0x100..=0xffff => write!(out, "\\u{code:04X}"),
                    0x1_0000.. => write!(out, "\\U{code:08X}"),
                };
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Characters that YAML does not allow as they are, takes for line ends, or that people can't see.
fn needs_code(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{a0}' | '\u{ad}' | '\u{2028}'..='\u{202f}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff0}'..='\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
        || (u32::from(c) & 0xfffe) == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn back(text: &str) -> Option<String> {
        let document = format!("before: x\nkey: {}\nafter: [y]\n", scalar(text));
        let read: BTreeMap<String, serde_json::Value> = serde_saphyr::from_str(&document).ok()?;
        read.get("key")?.as_str().map(str::to_owned)
    }

    #[test]
    fn nasty_strings_come_back() {
        for text in [
            "",
            " ",
            "-",
            "- a",
            "?",
            ":",
            "a: b",
            "a:",
            ": a",
            "#",
            "a #b",
            "#a",
            "&a",
            "*a",
            "!t",
            "!!str x",
            "|",
            ">",
            "%x",
            "@x",
            "`x`",
            "'",
            "''",
            "\"",
            "\\",
            "a\\n",
            "{a: b}",
            "[a]",
            "~",
            "null",
            "Null",
            "true",
            "False",
            "yes",
            "NO",
            "on",
            "1",
            "1.5",
            "0x1f",
            "1e3",
            "-.inf",
            ".nan",
            "2026-01-01",
            "12:30:45",
            "---",
            "...",
            "<<",
            "=",
            "a\nb",
            "a\r\nb",
            "\ttab",
            "tail ",
            "\u{0}",
            "\u{1b}[0m",
            "\u{7f}",
            "\u{85}",
            "\u{a0}",
            "\u{2028}",
            "\u{feff}",
            "\u{fffe}",
            "\u{10ffff}",
            "💥",
            "日本語: 説明",
            "C'est «ça»",
            "a, b",
            "a  b",
            "x---",
            "key: \"v\" # c",
            "{{ template }}",
            "{{{",
            "nan",
            "INF",
        ] {
            assert_eq!(back(text).as_deref(), Some(text), "{}", scalar(text));
        }
    }

    proptest! {
        #[test]
        fn every_string_comes_back(text in any::<String>(), odd in "[-:#&*!|>'\"%@`{}\\[\\], a1~.?=<\n\t]{0,12}") {
            prop_assert_eq!(back(&text), Some(text));
            prop_assert_eq!(back(&odd), Some(odd));
        }
    }
}
