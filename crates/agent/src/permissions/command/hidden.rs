//! Characters that make a text look like another one.

/// The first character in a command that people would not see, or would see as something else.
pub(in crate::permissions) fn hidden(text: &str) -> Option<char> {
    let mut before = None;
    for c in text.chars() {
        let is_hidden = match c {
            '\n' | '\t' => false,
            // These join and colour emoji; between letters they hide.
            '\u{200d}' | '\u{fe00}'..='\u{fe0f}' => before.is_none_or(|before: char| before.is_ascii()),
            '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}' => true,
            c => c.is_control() || (c.is_whitespace() && c != ' '),
        };
        if is_hidden {
            return Some(c);
        }
        before = Some(c);
    }
    None
}
