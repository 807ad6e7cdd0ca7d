//! Secrets in base64 and hex.
//!
//! A run of letters that decodes to readable text is masked as a whole if a rule finds a secret in that text. A hash, an image or
//! an id decodes to no text, and is left alone.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::ops::Range;

/// The shortest run that is decoded.
const SHORTEST: usize = 20;
/// The fewest bytes of hex in pairs, such as `67:68:70`, that are decoded.
const FEWEST_PAIRS: usize = 12;
/// The longest run that is decoded as a whole. Of a longer one this much is.
const LONGEST: usize = 64 << 10;

/// A run of letters that decodes to text.
pub(crate) struct Encoded {
    /// Where it stands.
    pub(crate) span: Range<usize>,
    /// Its text.
    pub(crate) text: String,
}

/// Calls `found` for each run that decodes to text.
pub(crate) fn runs(text: &[u8], mut found: impl FnMut(Encoded)) {
    // Everything before `at` is done, and no run goes over it.
    let mut at = 0;
    while let Some(&byte) = text.get(at + SHORTEST - 1) {
        // A run that is long enough has a letter at every probe: most text is skipped.
        let probe = at + SHORTEST - 1;
        if let Some(run) = pairs(text, at, probe) {
            at = run.span.end;
            found(run);
        } else if !is_letter(byte) {
            at = probe + 1;
        } else {
            let before = text[at..probe].iter().rposition(|byte| !is_letter(*byte));
            let start = before.map_or(at, |before| at + before + 1);
            let length = text[probe..].iter().position(|byte| !is_letter(*byte));
            let end = length.map_or(text.len(), |length| probe + length);
            if end - start >= SHORTEST
                && let Some(decoded) = decode(&text[start..end])
            {
                let padding = text[end..].iter().take(2).take_while(|byte| **byte == b'=').count();
                found(Encoded { span: start..end + padding, text: decoded });
            }
            at = end;
        }
    }
}

/// Hex in pairs with one sign between them, around a place.
fn pairs(text: &[u8], from: usize, around: usize) -> Option<Encoded> {
    let pair = |at: usize| Some(hex(*text.get(at)?)? << 4 | hex(*text.get(at + 1)?)?);
    let is_sign =
        |at: usize| matches!(text.get(at), Some(b' ' | b':' | b'-')) && text.get(at) == text.get(at + 3);
    let mut start = (around..around + 3).find(|at| is_sign(*at) && pair(at + 1).is_some())?;
    let sign = *text.get(start)?;
    while start >= from + 3 && text[start - 3] == sign && pair(start - 2).is_some() {
        start -= 3;
    }
    start = start.checked_sub(2).filter(|start| *start >= from)?;
    let mut bytes = vec![pair(start)?];
    let mut end = start + 2;
    while text.get(end) == Some(&sign) {
        let Some(byte) = pair(end + 1) else { break };
        bytes.push(byte);
        end += 3;
    }
    if bytes.len() < FEWEST_PAIRS {
        return None;
    }
    Some(Encoded { span: start..end, text: readable(bytes)? })
}

/// Decodes a run of hex or base64 to text.
fn decode(run: &[u8]) -> Option<String> {
    let run = &run[..run.len().min(LONGEST)];
    if run.len().is_multiple_of(2) && run.iter().all(u8::is_ascii_hexdigit) {
        let bytes = run.chunks_exact(2).filter_map(|pair| Some(hex(pair[0])? << 4 | hex(pair[1])?));
        return readable(bytes.collect());
    }
    // Twelve letters are enough to see that most runs are no text.
    let is_text = |group: &[u8]| {
        let bits = group.iter().fold(0, |bits, letter| bits << 6 | u32::from(VALUES[usize::from(*letter)]));
        [bits >> 16, bits >> 8, bits].into_iter().all(|byte| is_readable(byte as u8))
    };
    if !run.chunks_exact(4).take(3).all(is_text) {
        return None;
    }
    let whole = if run.len() % 4 == 1 { &run[..run.len() - 1] } else { run };
    readable(BASE64.decode(standard(whole)).ok()?)
}

/// Base64 without its letters for addresses.
fn standard(run: &[u8]) -> Vec<u8> {
    let letter = |byte: &u8| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => *other,
    };
    run.iter().map(letter).collect()
}

fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    text.bytes().all(is_readable).then_some(text)
}

fn is_readable(byte: u8) -> bool {
    byte >= b' ' && byte != 0x7f || matches!(byte, b'\n' | b'\r' | b'\t')
}

fn hex(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).map(|digit| digit as u8)
}

/// Takes text with and without padding, and with bits left over.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Returns whether base64 and hex are written with a letter.
fn is_letter(byte: u8) -> bool {
    VALUES[usize::from(byte)] != NONE
}

/// No letter of base64.
const NONE: u8 = 0xff;

/// The six bits of each letter of base64, in both alphabets.
static VALUES: [u8; 256] = {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [NONE; 256];
    let mut at = 0;
    while at < letters.len() {
        values[letters[at] as usize] = at as u8;
        at += 1;
    }
    values[b'-' as usize] = 62;
    values[b'_' as usize] = 63;
    values
};
