//! Characters that nobody types: invisible ones, and letters that only look like Latin ones.

/// Returns true if a text holds characters that are not seen.
pub fn has_hidden(text: &str) -> bool {
    let is_right_to_left =
        |c: char| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}');
    let joins = text.contains(|c: char| {
        is_right_to_left(c)
            || matches!(c, '\u{900}'..='\u{dff}' | '\u{1f000}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}')
    });
    text.chars().any(|c| match c {
        '\u{200c}' | '\u{200d}' => !joins,
        '\u{200e}' | '\u{200f}' | '\u{61c}' => !text.contains(is_right_to_left),
        '\u{ad}'
        | '\u{200b}'
        | '\u{2060}'..='\u{2064}'
        | '\u{206a}'..='\u{206f}'
        | '\u{180e}'
        | '\u{115f}'
        | '\u{3164}'
        | '\u{ffa0}' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        '\u{e0000}'..='\u{e0fff}' | '\u{fff9}'..='\u{fffb}' | '\u{fe00}'..='\u{fe0e}' => true,
        '\u{feff}' => true,
        '\t' | '\n' | '\r' => false,
        c => c.is_control(),
    })
}

/// Returns true if a word mixes letters of scripts that look alike, or is written in letters that only look like Latin ones.
pub fn has_mixed_word(text: &str) -> bool {
    let is_latin = |c: char| c.is_ascii_alphabetic();
    let is_alike = |c: char| matches!(c, '\u{370}'..='\u{52f}' | '\u{13a0}'..='\u{13ff}' | '\u{1d400}'..='\u{1d7ff}' | '\u{ff21}'..='\u{ff5a}');
    text.split(|c: char| !c.is_alphanumeric()).any(|word| word.contains(is_latin) && word.contains(is_alike))
        || text.contains(|c: char| matches!(c, '\u{1d400}'..='\u{1d7ff}' | '\u{ff21}'..='\u{ff5a}'))
}
