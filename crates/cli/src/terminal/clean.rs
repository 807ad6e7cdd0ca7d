//! Text that can't control a terminal.
//!
//! Models, tools and files may say anything, escape sequences included. What would act on the terminal, or hide or reorder what
//! is shown, is turned into something visible instead: nothing is dropped silently.

use std::borrow::Cow;

/// Columns between tab stops.
const TAB: usize = 4;

/// `text` with line ends as `\n`, tabs as spaces, and everything that acts on a terminal made visible.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c == '\t' || acts(c)) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(rewrite(text, Tabs::Expand, acts))
}

/// As [`clean`], but tabs stay: for text whose columns are not counted.
pub(crate) fn clean_keeping_tabs(text: &str) -> Cow<'_, str> {
    let acts = |c| c != '\t' && acts(c);
    if text.chars().any(acts) { Cow::Owned(rewrite(text, Tabs::Keep, acts)) } else { Cow::Borrowed(text) }
}

/// `json` with everything that acts on a terminal as `\u….`: the same value in harmless characters. Outside of strings JSON has none
/// of them.
pub(crate) fn escape_json(json: &str) -> Cow<'_, str> {
    let escapes = |c: char| !c.is_ascii_whitespace() && acts(c);
    if !json.chars().any(escapes) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if escapes(c) {
            let mut units = [0; 2];
            out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// As [`clean`], and what can't be seen is made visible too: for text that a person approves.
pub(crate) fn strict(text: &str) -> String {
    rewrite(text, Tabs::Expand, |c| acts(c) || is_invisible(c))
}

/// As [`clean`], on one line: line ends become `⏎`.
pub(crate) fn on_one_line(text: &str) -> String {
    clean(text).replace('\n', "⏎")
}

/// Handling of tabs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tabs {
    /// Spaces up to the next stop.
    Expand,
    /// They stay.
    Keep,
}

fn rewrite(text: &str, tabs: Tabs, shows: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut column = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => column = 0,
            '\r' if chars.peek() == Some(&'\n') => continue,
            '\t' if tabs == Tabs::Expand => {
                let spaces = TAB - column % TAB;
                out.extend(std::iter::repeat_n(' ', spaces));
                column += spaces;
                continue;
            }
            _ => column += 1,
        }
        if shows(c) {
            show(c, &mut out);
        } else {
            out.push(c);
        }
    }
    out
}

/// How a character that may not reach the terminal is shown.
fn show(c: char, out: &mut String) {
    match u32::from(c) {
        // The pictures of control characters: ␀ … ␟, ␡.
        code @ 0..=0x1F => out.extend(char::from_u32(0x2400 + code)),
        0x7F => out.push('␡'),
        code => out.push_str(&format!("<U+{code:04X}>")),
    }
}

/// Whether a character controls a terminal, or the order in which others are shown.
fn acts(c: char) -> bool {
    match c {
        '\n' => false,
        '\u{2028}' | '\u{2029}' => true,
        '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => true,
        // Interlinear annotations and tags: text that is there and is not shown.
        '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}' => true,
        _ => c.is_control(),
    }
}

/// Whether a character takes no room of its own and shows nothing, however harmless in prose.
fn is_invisible(c: char) -> bool {
    match c {
        '\u{AD}'
        | '\u{34F}'
        | '\u{115F}'
        | '\u{1160}'
        | '\u{17B4}'
        | '\u{17B5}'
        | '\u{180B}'..='\u{180F}' => true,
        '\u{200B}'..='\u{200F}'
        | '\u{2060}'..='\u{206F}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{FE00}'..='\u{FE0F}' => true,
        '\u{FEFF}' | '\u{FFA0}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}' => true,
        // Spaces that are not the space: a shell sees one word where a person sees two.
        '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_shown_instead() {
        assert_eq!(clean("a\u{1b}[31mred\u{7}"), "a␛[31mred␇");
        assert_eq!(clean("\u{9b}2J \u{7f} \u{0}"), "<U+009B>2J ␡ ␀");
        assert_eq!(clean("user\u{202e}txt.exe"), "user<U+202E>txt.exe");
        assert_eq!(clean("one\r\ntwo\rthree"), "one\ntwo␍three");
    }

    #[test]
    fn json_stays_the_same_value() {
        let text = "a\u{1b}]0;x\u{7} \u{9b}2J \u{7f} \u{202e} \u{e0041}\t\n";
        for json in [serde_json::to_string(text).unwrap(), serde_json::to_string_pretty(&[text]).unwrap()] {
            let escaped = escape_json(&json);
            assert!(!escaped.chars().any(|c| c != '\n' && acts(c)), "{escaped}");
            let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
            assert_eq!(parse(&escaped), parse(&json));
        }
        assert!(matches!(escape_json("{\n\t\"a\": 1}\r\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn tabs_stay_where_columns_are_not_counted() {
        assert_eq!(clean_keeping_tabs("a\tb\r\n\u{1b}c"), "a\tb\n␛c");
        assert!(matches!(clean_keeping_tabs("a\tb"), Cow::Borrowed(_)));
    }

    #[test]
    fn tabs_go_to_their_stops() {
        assert_eq!(clean("\tx\na\tb"), "    x\na   b");
    }

    #[test]
    fn ordinary_text_of_any_script_stays() {
        for text in ["plain", "日本語 👩‍👩‍👧 ❤️", "نص عربی\u{200c}ها", "naïve"] {
            assert_eq!(clean(text), text);
        }
    }

    #[test]
    fn what_is_approved_hides_nothing() {
        assert_eq!(strict("rm\u{a0}-rf \u{200b}x\u{200d}"), "rm<U+00A0>-rf <U+200B>x<U+200D>");
    }
}
