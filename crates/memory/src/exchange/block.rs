//! Our block in a file of instructions: between two markers, with a hash that tells whether somebody changed it.

use super::error::ExchangeError;
use super::hash;
use std::ops::Range;
use std::path::Path;

/// What both markers, and the mark of a memory, begin with.
const MARK: &str = "<!-- throughline:";
const BEGIN: &str = "<!-- throughline:memories:begin";
const END: &str = "<!-- throughline:memories:end -->";

/// Where a block is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// With its markers, without the line end behind.
    pub(super) whole: Range<usize>,
    /// Between them.
    pub(super) inner: Range<usize>,
    /// Whether it is as it was written.
    pub(super) is_ours: bool,
}

/// The number of a marker's line, and its place.
type Marker = (usize, Range<usize>);

/// Finds the block of a file; `None` if there is none. Markers that are not one pair in order are an error.
pub(super) fn find(path: &Path, text: &str) -> Result<Option<Block>, ExchangeError> {
    let error = |line: usize, why| Err(ExchangeError::Markers { path: path.to_owned(), line, why });
    let mut begin: Option<Marker> = None;
    let mut end: Option<Marker> = None;
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let place = at..at + line.trim_end_matches(['\n', '\r']).len();
        let line_at = at + (line.len() - line.trim_start().len());
        at += line.len();
        let line = line.trim();
        if line.starts_with(BEGIN) {
            if begin.is_some() {
                return error(number + 1, "a second block of memories begins here");
            }
            if !line.ends_with("-->") {
                return error(number + 1, "the marker of the block's beginning is broken");
            }
            begin = Some((number + 1, line_at..place.end));
        } else if line.starts_with("<!-- throughline:memories:end") {
            if line != END {
                return error(number + 1, "the marker of the block's end is broken");
            }
            if begin.is_none() {
                return error(number + 1, "a block of memories ends here that did not begin");
            }
            if end.is_some() {
                return error(number + 1, "the block of memories ends here a second time");
            }
            end = Some((number + 1, line_at..place.end));
        }
    }
    match (begin, end) {
        (None, None) => Ok(None),
        (Some((_, begin)), Some((_, end))) => {
            let behind = text[begin.end..].find('\n').map_or(begin.end, |at| begin.end + at + 1);
            let inner = behind.min(end.start)..end.start;
            let marked =
                text[begin.clone()].split("hash=").nth(1).and_then(|rest| rest.split_whitespace().next());
            let is_ours = marked == Some(hash(&plain(&text[inner.clone()])).as_str());
            Ok(Some(Block { whole: begin.start..end.end, inner, is_ours }))
        }
        (Some((line, _)), None) => error(line, "the block of memories that begins here does not end"),
        (None, Some((line, _))) => error(line, "a block of memories ends here that did not begin"),
    }
}

/// The block for what stands in it, in the line ends of its file.
pub(super) fn compose(inner: &str, eol: &str) -> String {
    let text = format!(
        "{BEGIN} hash={} (kept by throughline: change the memories, not this block) -->\n{inner}{END}",
        hash(inner)
    );
    if eol == "\n" { text } else { text.replace('\n', eol) }
}

/// With line ends of one character.
pub(super) fn plain(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// What a memory says, so that nothing in it looks like a marker.
pub(super) fn escaped(text: &str) -> String {
    shifted(text, true)
}

/// Takes that back.
pub(super) fn unescaped(text: &str) -> String {
    shifted(text, false)
}

/// Adds or takes a backslash before the colon of whatever looks like a marker, however many are there.
fn shifted(text: &str, add: bool) -> String {
    let lead = MARK.trim_end_matches(':');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(lead) {
        let behind = at + lead.len();
        let slashes = rest[behind..].bytes().take_while(|byte| *byte == b'\\').count();
        let is_mark = rest[behind + slashes..].starts_with(':');
        let kept = if is_mark && !add { slashes.saturating_sub(1) } else { slashes };
        out.push_str(&rest[..behind + kept]);
        if is_mark && add {
            out.push('\\');
        }
        rest = &rest[behind + slashes..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_looks_like_a_marker_and_everything_comes_back(parts in proptest::collection::vec(prop_oneof![
            Just("<!-- throughline".to_owned()), Just(":".to_owned()), Just("\\".to_owned()), Just("memories:end -->".to_owned()), "[a:\\\\\n]{0,3}",
        ], 0..12)) {
            let text = parts.concat();
            let safe = escaped(&text);
            prop_assert!(!safe.contains(MARK));
            prop_assert_eq!(unescaped(&safe), text);
        }
    }
}
