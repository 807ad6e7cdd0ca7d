use super::*;
use crate::terminal::style::paint;
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

const PLAIN: Look = Look { colour: false, unicode: true, moves: false, width: 80 };
const COLOUR: Look = Look { colour: true, unicode: true, moves: true, width: 80 };

const SAMPLE: &str = "\
# What changed

The parser in `src/parse.rs` kept **one** buffer per _request_; see [the docs](https://example.org/guide) or \
<https://example.org>. ~~Not~~ now.

1. Read the file
   - nested point with more words than fit in a narrow terminal
   - second

   ```sh
   cargo test --workspace
   ```
2. Done

- [x] tests
- [ ] docs

> A quoted remark
> over two lines.

| name | 数 | remark |
|:-----|---:|--------|
| alpha | 1 | short |
| 日本語 | 1234 | a longer remark that has to be wrapped somewhere when there is little room |

```rust
fn main() {
\tprintln!(\"hello\");
}
```

---
Last line.
";

fn shown(text: &str, look: Look) -> String {
    paint(&render(text, look), look).join("\n")
}

/// Escapes as something that a snapshot can hold.
fn visible(text: &str) -> String {
    text.replace('\u{1b}', "␛")
}

#[test]
fn in_80_columns_without_colour() {
    insta::assert_snapshot!(shown(SAMPLE, PLAIN));
}

#[test]
fn in_40_columns_without_colour() {
    insta::assert_snapshot!(shown(SAMPLE, PLAIN.with_width(40)));
}

#[test]
fn in_80_columns_with_colour() {
    insta::assert_snapshot!(visible(&shown(SAMPLE, COLOUR)));
}

#[test]
fn in_40_columns_with_colour() {
    insta::assert_snapshot!(visible(&shown(SAMPLE, COLOUR.with_width(40))));
}

#[test]
fn in_ascii() {
    let shown = shown(SAMPLE, Look { unicode: false, ..PLAIN });
    assert!(shown.is_ascii(), "{shown}");
    insta::assert_snapshot!(shown);
}

#[test]
fn an_entity_is_no_way_to_an_escape() {
    assert_eq!(shown("&#27;[2Jgone &#x9b;1m", PLAIN), "␛[2Jgone <U+009B>1m");
    assert_eq!(shown("`\u{1b}]0;title\u{7}`", PLAIN), "`␛]0;title␇`");
    assert_eq!(shown("```\u{1b}[1m\nx\u{202e}y\n```", PLAIN), "╭─ ␛[1m\n│ x<U+202E>y\n╰─");
}

#[test]
fn definitions_of_links_are_not_lost() {
    assert_eq!(shown("see [a]\n\n[a]: https://example.org", PLAIN), "see [a]\n\n[a]: https://example.org");
}

#[test]
fn html_is_shown_as_it_is() {
    assert_eq!(shown("<details>\n<b>x</b>\n</details>", PLAIN), "<details>\n<b>x</b>\n</details>");
    assert_eq!(shown("a <b>x</b>", PLAIN), "a <b>x</b>");
}

#[test]
fn loose_lists_have_room_and_tight_ones_do_not() {
    assert_eq!(shown("- a\n- b\n  - c\n- d", PLAIN), "• a\n• b\n  ◦ c\n• d");
    assert_eq!(shown("- a\n\n- b", PLAIN), "• a\n\n• b");
    assert_eq!(shown("9. a\n10. b\n-\n- x", PLAIN), "9. a\n10. b\n\n•\n• x");
}

#[test]
fn the_tail_is_what_is_not_whole_yet() {
    let mut markdown = Markdown::new(PLAIN);
    assert_eq!(paint(&markdown.push("one\n\ntwo\nthr"), PLAIN), ["one"]);
    assert_eq!(paint(&markdown.tail(5), PLAIN), ["", "two", "thr"]);
    assert_eq!(paint(&markdown.tail(1), PLAIN), ["", "thr"]);
    assert_eq!(paint(&markdown.finish(), PLAIN), ["", "two thr"]);
    assert!(markdown.tail(5).is_empty());
}

#[test]
fn deep_nesting_leaves_room_for_text() {
    let text = format!("{}end", "> ".repeat(2_000));
    assert!(shown(&text, PLAIN.with_width(40)).contains("end"));
    let text: String = (0..200).map(|depth| format!("{}- item\n", "  ".repeat(depth))).collect();
    let lines = render(&text, PLAIN.with_width(40));
    assert!(lines.iter().all(|line| line.width() <= 40));
}

/// Text that Markdown and terminals make something of.
fn markdown_like() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z]{1,12}",
        Just(" ".to_owned()),
        Just("\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("\t".to_owned()),
        Just("    ".to_owned()),
        Just("\u{1b}[31m".to_owned()),
        Just("\u{1b}]8;;x\u{7}".to_owned()),
        Just("\u{9b}".to_owned()),
        Just("\u{202e}".to_owned()),
        Just("&#27;".to_owned()),
        Just("日本".to_owned()),
        Just("👩‍👩‍👧".to_owned()),
        Just("e\u{301}".to_owned()),
        Just("1\u{fe0f}\u{20e3}".to_owned()),
        Just("\u{fe0f}".to_owned()),
        Just("\u{20e3}".to_owned()),
        Just("[a](b)".to_owned()),
        Just("![a](b)".to_owned()),
        Just("[a]: b\n".to_owned()),
        Just("|a|b|\n|-|-|\n|c|d|\n".to_owned()),
        "(-|\\*|_|`|~|#|>|\\||=|<|\\+|1\\.|\\[|\\]|\\(|\\)|\\\\){1,4}",
        Just("\n```\n".to_owned()),
        Just("\n- ".to_owned()),
        Just("\n> ".to_owned()),
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn without_ours(line: &str) -> String {
    let mut rest = line;
    let mut out = String::new();
    while let Some(at) = rest.find("\u{1b}[") {
        out.push_str(&rest[..at]);
        let after = &rest[at + 2..];
        let end = after.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(after.len());
        assert!(after[end..].starts_with('m'), "an escape that is not ours: {line:?}");
        rest = &after[end + 1..];
    }
    out + rest
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn nothing_controls_the_terminal_and_nothing_is_too_wide(
        text in markdown_like(),
        width in 20usize..100,
        colour: bool,
        unicode: bool,
    ) {
        let look = Look { colour, unicode, moves: true, width };
        for line in paint(&render(&text, look), look) {
            let bare = without_ours(&line);
            prop_assert!(!bare.chars().any(char::is_control), "{bare:?}");
            prop_assert!(!bare.contains(['\u{202e}', '\u{200e}', '\u{2028}']), "{bare:?}");
            prop_assert!(bare.width() <= width, "{} > {width}: {bare:?}", bare.width());
            prop_assert!(unicode || bare.is_ascii());
        }
    }

    #[test]
    fn the_pieces_in_which_a_text_comes_do_not_matter(
        text in markdown_like(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut cuts: Vec<usize> =
            cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
        cuts.sort_unstable();
        let mut markdown = Markdown::new(PLAIN);
        let mut lines = Vec::new();
        let mut from = 0;
        for cut in cuts {
            lines.extend(markdown.push(&text[from..cut]));
            markdown.tail(5);
            from = cut;
        }
        lines.extend(markdown.push(&text[from..]));
        lines.extend(markdown.finish());
        prop_assert_eq!(lines, render(&text, PLAIN));
    }

    #[test]
    fn words_are_never_lost(words in proptest::collection::vec("[a-z]{3,9}", 1..40), breaks in proptest::collection::vec(0u8..6, 40)) {
        let text: String = words.iter().zip(breaks).map(|(word, how)| {
            let before = match how { 0 => "\n\n", 1 => "\n- ", 2 => "\n> ", 3 => "\n## ", 4 => "\n```\n", _ => " " };
            format!("{before}{word}")
        }).collect();
        let shown = shown(&text, PLAIN);
        for word in words {
            prop_assert!(shown.contains(&word), "{word} of {text:?} is not in {shown:?}");
        }
    }
}
