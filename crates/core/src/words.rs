//! Text and numbers for people: on pages, at a terminal.

/// A text that can stand in an element of HTML or between the quotes of an attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            // Control characters have no meaning in HTML, and some are not allowed in it.
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A whole number with commas between its thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of tokens, short: 950, 12.3K, 168K, 1.2M.
pub fn short(number: f64) -> String {
    let (value, unit) = match number.abs() {
        n if n >= 999_500.0 => (number / 1e6, "M"),
        n if n >= 1_000.0 => (number / 1e3, "K"),
        _ => (number, ""),
    };
    let text =
        if value.abs() < 100.0 && !unit.is_empty() { format!("{value:.1}") } else { format!("{value:.0}") };
    format!("{}{unit}", text.strip_suffix(".0").unwrap_or(&text))
}

/// `1 session`, `2 sessions`.
pub fn plural(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_meaning_in_html_is_escaped() {
        assert_eq!(escape("a<b>&\"'\u{7}"), "a&lt;b&gt;&amp;&quot;&#39;\u{fffd}");
        assert_eq!(escape("two\nlines\tand a tab"), "two\nlines\tand a tab");
    }

    #[test]
    fn numbers_are_grouped_and_shortened() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([950.0, 12_300.0, 168_000.0, 1_200_000.0].map(short), ["950", "12.3K", "168K", "1.2M"]);
        assert_eq!(
            (plural(1, "session"), plural(2_000, "session")),
            ("1 session".into(), "2,000 sessions".into())
        );
    }
}
