//! Half characters. A client that cuts text between the two halves of a character writes one half as an escape, which is
//! no text and which no parser of JSON takes. The line is worth more than the half.

const REPLACEMENT: &[u8] = br"\ufffd";

/// The line with a replacement character for each half that lacks its other half; `None` where there is none.
pub(super) fn mend(line: &[u8]) -> Option<Vec<u8>> {
    let mut mended = Vec::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(n) = memchr::memchr(b'\\', &line[at..]) {
        at += n;
        match unit(&line[at..]) {
            Some(0xD800..=0xDBFF) if matches!(unit(&line[at + 6..]), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => {
                mended.extend_from_slice(&line[copied..at]);
                mended.extend_from_slice(REPLACEMENT);
                at += 6;
                copied = at;
            }
            Some(_) => at += 6,
            None => at = (at + 2).min(line.len()),
        }
    }
    if copied == 0 {
        return None;
    }
    mended.extend_from_slice(&line[copied..]);
    Some(mended)
}

/// The code unit of an escape `\uXXXX` that the text begins with.
fn unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(br"\u")?.get(..4)?;
    let digits = std::str::from_utf8(digits).ok().filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn gives(line: &str, expected: Option<&str>) {
        assert_eq!(mend(line.as_bytes()).map(|b| String::from_utf8(b).unwrap()).as_deref(), expected);
    }

    #[test]
    fn b10_only_halves_without_their_other_half_are_mended() {
        gives(r#"{"a":"x \ud83d y"}"#, Some(r#"{"a":"x \ufffd y"}"#));
        gives(r#"{"a":"\uDE00\ud83d\ud83d\ude00"}"#, Some(r#"{"a":"\ufffd\ufffd\ud83d\ude00"}"#));
        gives(r#"{"a":"\ud83d\ude00 \u00e9"}"#, None);
        gives(r#"{"a":"\\ud83d"}"#, None);
        gives(r#"{"a":"\ud83"#, None);
        gives(r"\", None);
        gives("", None);
    }
}
