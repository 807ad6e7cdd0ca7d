//! `$'…'`: quotes with escapes.

/// The text between the quotes, and how many characters it took, the closing quote included. `None`: it is not closed, or
/// holds an escape that is not understood.
pub(super) fn ansi_c(text: &[char]) -> Option<(String, usize)> {
    let mut out = String::new();
    let mut at = 0;
    loop {
        match *text.get(at)? {
            '\'' => return Some((out, at + 1)),
            '\\' => {
                let (c, took) = escape(text.get(at + 1..)?)?;
                out.push(c);
                at += 1 + took;
            }
            c => {
                out.push(c);
                at += 1;
            }
        }
    }
}

fn escape(text: &[char]) -> Option<(char, usize)> {
    let digits = |from: usize, most: usize, radix: u32| -> Option<(char, usize)> {
        let run: String = text.iter().skip(from).take(most).take_while(|c| c.is_digit(radix)).collect();
        // Bytes beyond ASCII may be half a character; zero ends the text.
        let value = u32::from_str_radix(&run, radix).ok().filter(|value| *value != 0)?;
        let is_byte = most < 4;
        let c = char::from_u32(value).filter(|c| !is_byte || c.is_ascii())?;
        Some((c, from + run.len()))
    };
    match *text.first()? {
        'n' => Some(('\n', 1)),
        't' => Some(('\t', 1)),
        'r' => Some(('\r', 1)),
        'a' => Some(('\u{7}', 1)),
        'b' => Some(('\u{8}', 1)),
        'e' | 'E' => Some(('\u{1b}', 1)),
        'f' => Some(('\u{c}', 1)),
        'v' => Some(('\u{b}', 1)),
        c @ ('\\' | '\'' | '"' | '?') => Some((c, 1)),
        'x' => digits(1, 2, 16),
        'u' => digits(1, 4, 16),
        'U' => digits(1, 8, 16),
        '0'..='7' => digits(0, 3, 8),
        _ => None,
    }
}
