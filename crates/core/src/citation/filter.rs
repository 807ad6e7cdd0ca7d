//! Takes blocks out of what people see.

use super::OPEN;
use super::fence::Fence;
use super::parse::{Citation, Verdict, judge};
use std::borrow::Cow;

/// Takes blocks out of an answer that comes in pieces. What comes out does not depend on how the answer was cut, and without a block
/// it is the answer, to the byte.
///
/// ```
/// use throughline_core::citation::CitationFilter;
///
/// let mut filter = CitationFilter::default();
/// assert_eq!(filter.push("Run `make test`.<oai-mem"), "Run `make test`.");
/// assert_eq!(filter.push("-citation><rollout_ids>\n0192-ab\n</rollout_ids></oai-mem-cit"), "");
/// assert_eq!(filter.push("ation> Bye."), " Bye.");
/// let (rest, citation) = filter.finish();
/// assert_eq!(rest, "");
/// assert_eq!(citation.map(|citation| citation.sessions), Some(vec!["0192-ab".into()]));
/// ```
#[derive(Clone, Debug, Default)]
pub struct CitationFilter {
    /// Begins with what may be the beginning of a block.
    held: String,
    fence: Fence,
    citation: Citation,
    is_cited: bool,
}

impl CitationFilter {
    /// The next piece; what may be shown by now.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        self.sift(false)
    }

    /// The answer is over: what is left of it to be shown, and what it cites, if it has a block.
    pub fn finish(mut self) -> (String, Option<Citation>) {
        let rest = self.sift(true);
        (rest, self.is_cited.then_some(self.citation))
    }

    fn sift(&mut self, is_whole: bool) -> String {
        let held = std::mem::take(&mut self.held);
        let mut shown = String::with_capacity(held.len());
        let mut rest = held.as_str();
        while let Some(at) = rest.find('<') {
            self.show(&rest[..at], &mut shown);
            rest = &rest[at..];
            let verdict = if self.fence.is_code() {
                Verdict::Mention
            } else if rest.starts_with(OPEN) {
                judge(rest, is_whole)
            } else if OPEN.starts_with(rest) && !is_whole {
                Verdict::Open
            } else {
                Verdict::Mention
            };
            match verdict {
                Verdict::Open => {
                    self.held = rest.to_owned();
                    return shown;
                }
                Verdict::Mention => {
                    self.show("<", &mut shown);
                    rest = &rest[1..];
                }
                Verdict::Block(length, citation) => {
                    self.is_cited = true;
                    self.citation.add(citation);
                    rest = &rest[length..];
                }
            }
        }
        self.show(rest, &mut shown);
        shown
    }

    fn show(&mut self, text: &str, shown: &mut String) {
        self.fence.read(text);
        shown.push_str(text);
    }
}

/// A text without its blocks, and without the white space that a block at the end leaves. A text that has none is given back as it is.
pub fn strip(text: &str) -> Cow<'_, str> {
    if !text.contains(OPEN) {
        return Cow::Borrowed(text);
    }
    let mut filter = CitationFilter::default();
    let mut shown = filter.push(text);
    let (rest, citation) = filter.finish();
    shown.push_str(&rest);
    if citation.is_none() {
        return Cow::Borrowed(text);
    }
    shown.truncate(shown.trim_end().len());
    Cow::Owned(shown)
}
