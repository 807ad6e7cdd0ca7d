//! Documents in a message: what stands between the request in front and the request behind.

use super::lines::Look;
use super::paste::Page;
use super::voice::{self, Voice};
use std::ops::Range;

/// A document has at least so many headings and bytes.
const HEADINGS: usize = 2;
const DOCUMENT: usize = 1_200;
/// The shortest document that begins with a heading and is followed by a request.
const REVIEW: usize = 200;
/// Texts over this length may be documents without headings.
const LONG: usize = 4_000;
/// The longest text without headings behind a request that may be the person's own, in characters.
const OWN: usize = 16_000;
/// The longest request in front of a document.
const LEAD: usize = 1_800;

impl Page<'_> {
    /// A document: from its first heading, or behind the first paragraph of a long text, to the request behind it. Returns true for a
    /// document without a request.
    pub(super) fn mark_document(&mut self) -> bool {
        let titles = self.lines.iter().filter(|line| line.is_titled).count();
        let first_title = self.lines.iter().position(|line| line.is_titled);
        let segments = self.segments_and_request();
        let is_structured = self.text.len() > DOCUMENT && titles >= HEADINGS;
        let Some(title) = first_title.filter(|_| titles >= HEADINGS || self.text.len() > REVIEW) else {
            self.mark_long_text(&segments);
            return false;
        };
        let is_typed = |at: usize| !self.pasted[at] && self.look(at) != Some(Look::Blank);
        let lead_bytes: usize = self.lines[..title].iter().map(|line| line.text.trim().len()).sum();
        let has_lead = lead_bytes > 0 && lead_bytes <= LEAD && (0..title).any(is_typed);
        let lead: Vec<Range<usize>> =
            segments.iter().filter(|segment| segment.end <= title).cloned().collect();
        let behind: Vec<Range<usize>> =
            segments.into_iter().filter(|segment| segment.start >= title).collect();
        let has_body = behind.len() > 1;
        let tail = |least: usize| self.own_tail(&behind, least).map(|at| behind[at].start);
        // What stands before the first heading of a file is no request where one stands behind it.
        let is_preface = lead_bytes > 0 && is_structured && !self.is_lead(&lead);
        if let Some(until) = tail(voice::ASKS).filter(|_| is_preface && has_body) {
            self.pasted[..until].fill(true);
            self.cuts[..until].fill(None);
            return false;
        }
        if has_lead {
            if is_structured {
                let until = tail(voice::SURELY).unwrap_or(self.lines.len());
                self.pasted[title..until].fill(true);
            }
            return false;
        }
        if lead_bytes > 0 {
            return false;
        }
        let last = behind.last().map(|last| self.voice(last)).unwrap_or_default();
        let is_contrast = last.is_casual || last.refers_back;
        let least = if is_structured { voice::ASKS } else { voice::SURELY };
        match tail(least).filter(|_| has_body && (is_contrast || is_structured)) {
            Some(until) => {
                self.pasted[title..until].fill(true);
                self.cuts[title..until].fill(None);
                false
            }
            None if is_structured => {
                self.pasted.fill(false);
                self.cuts.fill(None);
                true
            }
            None => false,
        }
    }

    /// Returns true if the paragraphs before a document may be a request: somebody speaks, or they are short and plain.
    fn is_lead(&self, lead: &[Range<usize>]) -> bool {
        const PLAIN: usize = 240;
        let bytes: usize = lead.iter().map(|segment| self.words(segment).len()).sum();
        let is_marked =
            |segment: &Range<usize>| self.words(segment).trim_start().starts_with(['[', '<', '!', '|', '=']);
        bytes <= LEAD
            && (lead.iter().any(|segment| self.voice(segment).speaks())
                || bytes <= PLAIN && !lead.iter().any(is_marked))
    }

    /// Returns true for a paragraph of sentences that is no longer than requests are.
    fn is_short_prose(&self, segment: &Range<usize>) -> bool {
        let is_prose = self.lines[segment.clone()].iter().all(|line| line.look == Look::Prose);
        is_prose && self.words(segment).len() <= LEAD
    }

    /// A long text without headings between a request in front and one behind: pasted if hardly anybody speaks in it.
    fn mark_long_text(&mut self, segments: &[Range<usize>]) {
        let [first, between @ .., last] = segments else { return };
        if self.text.len() <= LONG || between.is_empty() {
            return;
        }
        let bytes = |silent: bool| -> usize {
            let all = between.iter().map(|segment| self.words(segment));
            all.filter(|words| !silent || !Voice::of(words).speaks()).map(str::len).sum()
        };
        if bytes(true) * 10 < bytes(false) * 7 {
            return;
        }
        // Beside a log or a table, prose is the person's in whatever language.
        let is_log = between.iter().any(|segment| self.look(segment.start) == Some(Look::Material));
        let is_own = |segment: &Range<usize>| is_log && self.is_short_prose(segment);
        let has_lead = is_own(first) || self.voice(first).strength() >= voice::ASKS;
        let has_tail = is_own(last)
            || self.voice(last).strength() >= voice::SURELY
            || (!has_lead && self.voice(last).strength() >= voice::ASKS);
        // Behind a request may stand all that it asks for: only very long texts are surely somebody else's.
        if has_lead && !has_tail && self.text.chars().count() <= OWN {
            return;
        }
        if has_lead || has_tail {
            let from = if has_lead { first.end } else { first.start };
            let until = if has_tail { last.start } else { last.end };
            self.pasted[from..until].fill(true);
            self.cuts[from..until].fill(None);
        }
    }
}
