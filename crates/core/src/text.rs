//! Cutting text at character boundaries.

/// At most `bytes` of the beginning.
pub fn head(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    &text[..text.floor_char_boundary(bytes)]
}

/// At most `bytes` of the end.
pub fn tail(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    &text[text.ceil_char_boundary(text.len() - bytes)..]
}

/// One line, at most `chars` characters, with an ellipsis where it was cut.
pub fn one_line(text: &str, chars: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
            count += 1;
        }
        for c in word.chars() {
            if count == chars {
                line.push('…');
                return line;
            }
            line.push(c);
            count += 1;
        }
    }
    line
}

/// Beginning and end of a long text, with a note on what is missing in between.
pub fn middle_cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let start = head(text, bytes * 3 / 4);
    let end = tail(text, bytes / 4);
    let missing = text.len() - start.len() - end.len();
    format!("{start}\n[… {missing} bytes …]\n{end}")
}
