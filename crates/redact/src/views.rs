//! Text as it reads without escapes and invisible characters, with the way back to where it stands.
//!
//! Decoded are `%XX`, `\uXXXX`, `\xXX`, `&#NN;`, letters and digits in full width; left out are characters that nobody sees.

use memchr::memchr3_iter;
use std::ops::Range;

/// A line without escapes.
pub(crate) struct View {
    /// The text.
    pub(crate) bytes: Vec<u8>,
    /// Where text and source part: offset in the text, offset in the source, ascending.
    steps: Vec<(usize, usize)>,
}

impl View {
    /// Returns the place in the source of a place in the view, escapes at its ends included.
    pub(crate) fn source(&self, span: &Range<usize>) -> Range<usize> {
        // Invisible characters in front of a place do not belong to it.
        let start = self.at(span.start);
        let end = span.end.checked_sub(1).map_or(start, |last| self.end_of(last));
        start..end.max(start)
    }

    /// Returns whether a place holds anything that was decoded or left out.
    pub(crate) fn is_changed(&self, span: &Range<usize>) -> bool {
        self.source(span).len() != span.len()
    }

    fn at(&self, offset: usize) -> usize {
        let step = self.steps.partition_point(|(view, _)| *view <= offset);
        let (view, source) = step.checked_sub(1).and_then(|at| self.steps.get(at)).copied().unwrap_or((0, 0));
        source + (offset - view)
    }

    /// Returns where the source of one byte ends.
    fn end_of(&self, offset: usize) -> usize {
        let start = self.at(offset);
        // A step directly behind tells how long the source of this byte is, or that something invisible follows.
        let at = self.steps.partition_point(|(view, _)| *view <= offset);
        let next = self.steps.get(at).filter(|(view, _)| *view == offset + 1);
        match next {
            Some((_, source)) => *source,
            None => start + 1,
        }
    }
}

/// Finds escapes and invisible characters.
pub(crate) struct Escapes<'a> {
    text: &'a [u8],
    /// The next escape by a sign, once it is known: looked for once, however often others come before it.
    sign: Option<usize>,
}

impl<'a> Escapes<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, sign: None }
    }

    /// Returns where the first one at or behind `from` stands.
    pub(crate) fn next_from(&mut self, from: usize) -> Option<usize> {
        let rest = self.text.get(from..)?;
        let is_escape = |at: &usize| escape(&rest[*at..]).is_some();
        let sign = match self.sign {
            Some(sign) if sign >= from => sign,
            _ => {
                memchr3_iter(b'%', b'\\', b'&', rest).find(is_escape).map_or(self.text.len(), |at| from + at)
            }
        };
        self.sign = Some(sign);
        let wide = memchr3_iter(0xe2, 0xef, 0xc2, &rest[..sign - from]).find(is_escape);
        wide.map(|at| from + at).or((sign < self.text.len()).then_some(sign))
    }
}

/// Reads a line without its escapes.
pub(crate) fn view(line: &[u8]) -> View {
    let mut view = View { bytes: Vec::with_capacity(line.len()), steps: Vec::new() };
    let mut escapes = Escapes::new(line);
    let mut at = 0;
    while let Some(next) = escapes.next_from(at) {
        view.bytes.extend_from_slice(&line[at..next]);
        let Some((length, decoded)) = escape(&line[next..]) else { break };
        if let Some(decoded) = decoded {
            view.steps.push((view.bytes.len(), next));
            view.bytes.extend_from_slice(decoded.encode_utf8(&mut [0; 4]).as_bytes());
        }
        at = next + length;
        view.steps.push((view.bytes.len(), at));
    }
    view.bytes.extend_from_slice(&line[at..]);
    view
}

/// Reads an escape at the beginning of a text: its length, and its character if it has one.
fn escape(text: &[u8]) -> Option<(usize, Option<char>)> {
    match text {
        [b'%', high, low, ..] => {
            let byte = (digit(*high)? << 4 | digit(*low)?) as u8;
            byte.is_ascii().then_some((3, Some(char::from(byte))))
        }
        [b'\\', b'u', rest @ ..] => {
            let code = number(rest.get(..4)?, 16)?;
            let decoded = char::from_u32(code)?;
            Some((6, Some(decoded).filter(|c| !is_invisible(*c))))
        }
        [b'\\', b'x', high, low, ..] => {
            let byte = (digit(*high)? << 4 | digit(*low)?) as u8;
            byte.is_ascii().then_some((4, Some(char::from(byte))))
        }
        [b'&', b'#', rest @ ..] => {
            let end = rest.iter().take(9).position(|byte| *byte == b';')?;
            let code = match rest.get(..end)? {
                [b'x' | b'X', digits @ ..] => number(digits, 16)?,
                digits => number(digits, 10)?,
            };
            Some((end + 3, Some(char::from_u32(code)?)))
        }
        [0xe2 | 0xef | 0xc2, ..] => {
            let length = if text[0] == 0xc2 { 2 } else { 3 };
            let c = std::str::from_utf8(text.get(..length)?).ok()?.chars().next()?;
            if is_invisible(c) {
                return Some((length, None));
            }
            let is_wide = matches!(c, '０'..='９' | 'Ａ'..='Ｚ' | 'ａ'..='ｚ' | '＿' | '－' | '＝');
            let plain = char::from_u32((c as u32).checked_sub(0xfee0)?)?;
            is_wide.then_some((length, Some(plain)))
        }
        _ => None,
    }
}

/// Returns whether a character is not seen: zero-width, direction marks, soft hyphen, variation selectors.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

fn digit(byte: u8) -> Option<u32> {
    (byte as char).to_digit(16)
}

fn number(digits: &[u8], base: u32) -> Option<u32> {
    let text = std::str::from_utf8(digits).ok()?;
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_digit(base));
    is_plain.then(|| u32::from_str_radix(text, base).ok()).flatten()
}
