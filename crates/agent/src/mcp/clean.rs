//! Words of servers, made safe to show to people and models.

/// The text without what nobody can see, cut to `bytes`. What is left are letters, marks, blanks and line ends.
pub(super) fn clean(text: &str, bytes: usize) -> String {
    let mut out = String::new();
    for part in text.chars().filter(|part| !is_hidden(*part)) {
        if out.len() + part.len_utf8() > bytes {
            // Room for the mark.
            while out.len() + '…'.len_utf8() > bytes && out.pop().is_some() {}
            out.push('…');
            return out;
        }
        out.push(part);
    }
    out
}

/// Characters that have no width, turn the writing round, or steer a terminal: text could hide behind them.
fn is_hidden(part: char) -> bool {
    (part.is_control() && !matches!(part, '\n' | '\t'))
        || matches!(part,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// One line of cleaned text.
pub(super) fn line(text: &str, chars: usize) -> String {
    // Nobody needs more than that to get `chars` of it.
    throughline_core::text::one_line(
        &clean(throughline_core::text::head(text, chars * 16), usize::MAX),
        chars,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hidden_characters_go_and_words_stay() {
        assert_eq!(clean("a\u{1b}[31mb\u{200b}c\u{202e}d\u{e0041}\r\ne\tf", 100), "a[31mbcd\ne\tf");
        assert_eq!(clean("Größe: 日本 🦀", 100), "Größe: 日本 🦀");
    }

    #[test]
    fn long_text_is_cut_and_says_so() {
        assert_eq!(clean("abcdef", 5), "ab…");
        assert_eq!(clean("abcdef", 6), "abcdef");
    }

    proptest! {
        #[test]
        fn what_is_cleaned_is_clean_and_short(text in any::<String>(), bytes in 3usize..50) {
            let cleaned = clean(&text, bytes);
            prop_assert!(cleaned.len() <= bytes);
            prop_assert!(!cleaned.chars().any(is_hidden));
            prop_assert_eq!(clean(&cleaned, bytes), cleaned);
        }
    }
}
