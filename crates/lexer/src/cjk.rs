/// Whether a character is written without spaces between words: Han, kana, Hangul.
pub(super) fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4DBF}'     // Han, extension A
        | '\u{4E00}'..='\u{9FFF}'   // Han
        | '\u{F900}'..='\u{FAFF}'   // Han, compatibility
        | '\u{20000}'..='\u{323AF}' // Han, extensions B to H
        | '\u{3040}'..='\u{30FF}'   // kana
        | '\u{31F0}'..='\u{31FF}'   // kana, small
        | '\u{FF66}'..='\u{FF9D}'   // kana, half-width
        | '\u{AC00}'..='\u{D7A3}'   // Hangul
        | '\u{1100}'..='\u{11FF}'   // Hangul letters
        | '\u{3005}' | '\u{3007}')
}
