//! Cutting text into units: the pieces that are scored, chosen and shown.

use std::ops::Range;

/// About one long line, or a few short ones. Small enough that an answer shows many places, large enough to make
/// sense by itself.
pub(super) const UNIT: usize = 120;

/// Cuts a text into units, each of whole lines where lines are short. The units are the text, in order; units that
/// hold only white space are left out.
pub(super) fn units(text: &str, mut found: impl FnMut(Range<usize>)) {
    let mut give = |range: Range<usize>| {
        if !text[range.clone()].trim_ascii().is_empty() {
            found(range);
        }
    };
    let mut start = 0;
    let mut line_start = 0;
    for end in memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1).chain([text.len()]) {
        if end - start > UNIT && line_start > start {
            give(start..line_start);
            start = line_start;
        }
        while end - start > UNIT * 3 / 2 {
            let cut = cut(text, start);
            give(start..cut);
            start = cut;
        }
        line_start = end;
    }
    if start < text.len() {
        give(start..text.len());
    }
}

/// Where to cut a long line that begins at `start`: at the last blank before the unit is full, else at a comma or
/// bracket, else where it is full.
fn cut(text: &str, start: usize) -> usize {
    let full = text.floor_char_boundary(start + UNIT);
    let window = &text.as_bytes()[start + UNIT / 2..full];
    let after = |at: usize| start + UNIT / 2 + at + 1;
    let blank = window.iter().rposition(|b| b.is_ascii_whitespace());
    let mark = || window.iter().rposition(|b| matches!(b, b',' | b';' | b')' | b'}' | b'>' | b'"'));
    blank.or_else(mark).map_or(full, after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &str) -> Vec<Range<usize>> {
        let mut all = Vec::new();
        units(text, |range| all.push(range));
        all
    }

    #[test]
    fn short_lines_go_together_and_long_ones_are_cut_at_blanks() {
        let short = "let a = 1;\n".repeat(20);
        assert!(all(&short).iter().all(|r| short[r.clone()].ends_with(";\n") && r.len() <= UNIT));
        let long = "word ".repeat(100);
        assert!(
            all(&long).iter().all(|r| long[r.clone()].starts_with("word") && long[r.clone()].ends_with(' '))
        );
    }

    proptest! {
        #[test]
        fn units_are_bounded_in_order_and_miss_only_white_space(text in "[a-zé数 ,\\n]{0,900}") {
            let mut end = 0;
            for range in all(&text) {
                prop_assert!(range.start >= end && range.len() <= UNIT * 3 / 2);
                prop_assert!(text[end..range.start].trim_ascii().is_empty());
                end = range.end;
            }
            prop_assert!(text[end..].trim_ascii().is_empty());
        }
    }
}
