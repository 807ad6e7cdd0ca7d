//! Paste and ask: which part of what stands in a person's message they wrote, and which they copied from elsewhere.
//!
//! The request is found at either end. A message that is a document and nothing else is the request; one that is a log and nothing
//! else is material. In doubt, words count as typed.

use super::lines::{self, Line, Look};
use super::table;
use super::voice::{self, Voice};
use std::ops::Range;

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) range: Range<usize>,
    pub(super) is_pasted: bool,
}

/// A text as pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) pieces: Vec<Piece>,
    /// A document and nothing else: the request, unless a request stands elsewhere in the message.
    pub(super) is_document: bool,
}

/// Lines of a log or of code that make a run.
const RUN: usize = 2;
/// The shortest quotation of one line that is a paste.
const QUOTE: usize = 60;
/// The shortest single line of a log that is a paste.
const LONE_LINE: usize = 80;
/// The shortest log behind a sentence in one line.
const INLINE: usize = 60;
/// A line over this length may hold a log behind its first words.
const LONG_LINE: usize = 500;

/// Splits a text into what was typed and what was pasted.
pub(super) fn split(text: &str) -> Split {
    let mut page = Page::new(text);
    page.mark_runs();
    page.mark_mail();
    page.mark_dialogue();
    page.mark_announced();
    page.mark_answered();
    page.mark_comments();
    page.mark_between();
    page.mark_subject();
    let is_document = page.mark_document();
    page.find_request();
    Split { pieces: page.pieces(), is_document }
}

/// Paragraphs of a long text that speak like a request, as byte ranges, those that do so most surely first: up to the first heading of a
/// paste, since what stands below a heading is the document's. A list below one belongs
/// to it, and so does what stands beside it and speaks, or between two of them. A request may stand between two texts that cannot be
/// told apart.
pub(super) fn asking_paragraphs(text: &str, least: usize) -> Vec<Range<usize>> {
    /// Bytes of a paragraph that may belong to the request beside it.
    const BESIDE: usize = 500;
    let page = Page::new(text);
    let heading = page.lines.iter().position(|line| line.is_titled).filter(|_| least > voice::ASKS);
    let end = heading.unwrap_or(page.lines.len());
    let segments: Vec<Range<usize>> =
        page.segments().into_iter().filter(|segment| segment.end <= end).collect();
    let mut strengths: Vec<usize> = Vec::with_capacity(segments.len());
    for segment in &segments {
        let voice = page.voice(segment);
        let is_list = page.look(segment.start) == Some(Look::ListItem);
        strengths.push(match strengths.last() {
            Some(&before) if before > 0 && is_list => before,
            Some(_) | None if voice.asks(least) => voice.strength(),
            Some(_) | None if page.asks_with_list(segment) => voice::SURELY,
            Some(_) | None => 0,
        });
    }
    let bytes =
        |segment: &Range<usize>| page.lines[segment.start].range.start..page.lines[segment.end - 1].range.end;
    let beside = |at: usize| {
        let before = at.checked_sub(1).map_or(0, |before| strengths[before]);
        let behind = strengths.get(at + 1).copied().unwrap_or(0);
        let speaks = Voice::of(page.words(&segments[at])).speaks();
        match (before.min(behind), before.max(behind)) {
            (least @ 1.., _) => least,
            (_, most) if speaks => most,
            (_, _) => 0,
        }
    };
    let mut found: Vec<(usize, Range<usize>)> = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        let range = bytes(segment);
        let strength = match strengths[at] {
            0 if range.len() <= BESIDE => beside(at),
            strength => strength,
        };
        if strength > 0 {
            found.push((strength, range));
        }
    }
    found.sort_by_key(|(strength, bytes)| (std::cmp::Reverse(*strength), bytes.start));
    found.into_iter().map(|(_, bytes)| bytes).collect()
}

/// The paragraph of a text that says best what is asked for: its title, or the one that asks most surely, at the end rather than at the
/// beginning rather than in between.
pub(super) fn headline(text: &str) -> &str {
    const AT_END: usize = 3;
    const AT_START: usize = 2;
    let page = Page::new(text);
    let segments = page.segments_and_request();
    let (Some(first), Some(last)) = (segments.first(), segments.last()) else { return text.trim() };
    if page.lines[first.start].is_titled {
        return page.words(&(first.start..first.start + 1)).trim_start_matches(['#', ' ']);
    }
    let score = |segment: &&Range<usize>| {
        let place = [(last, AT_END), (first, AT_START)].into_iter().find(|(place, _)| place == segment);
        page.voice(segment).strength() * 2 + place.map_or(0, |(_, score)| score)
    };
    let asks = |segment: &&Range<usize>| page.voice(segment).asks(voice::ASKS);
    let best = segments.iter().filter(asks).max_by_key(score).unwrap_or(first);
    page.words(best).trim()
}

/// Returns true if the paragraph of a text that holds a sentence is spoken by somebody.
pub(super) fn is_spoken(text: &str, sentence: &str) -> bool {
    let page = Page::new(text);
    let mut around = page.segments().into_iter().map(|segment| page.words(&segment));
    around.find(|words| words.contains(sentence)).is_none_or(|words| Voice::of(words).speaks())
}

/// A text with what of it was pasted.
pub(super) struct Page<'a> {
    pub(super) text: &'a str,
    pub(super) lines: Vec<Line<'a>>,
    pub(super) pasted: Vec<bool>,
    /// Lines of which a part was pasted: where it begins or ends, and whether the beginning is the paste.
    pub(super) cuts: Vec<Option<(usize, bool)>>,
}

impl<'a> Page<'a> {
    fn new(text: &'a str) -> Self {
        let lines = lines::read(text);
        let (pasted, cuts) = (vec![false; lines.len()], vec![None; lines.len()]);
        Self { text, lines, pasted, cuts }
    }

    pub(super) fn look(&self, at: usize) -> Option<Look> {
        self.lines.get(at).map(|line| line.look)
    }

    pub(super) fn words(&self, lines: &Range<usize>) -> &'a str {
        match (self.lines.get(lines.start), lines.end.checked_sub(1).and_then(|last| self.lines.get(last))) {
            (Some(first), Some(last)) if first.range.start <= last.range.end => {
                self.text[first.range.start..last.range.end].trim_end()
            }
            (_, _) => "",
        }
    }

    /// How the person speaks in these lines; silent where they hold more than sentences.
    pub(super) fn voice(&self, lines: &Range<usize>) -> Voice {
        let is_prose = self.lines[lines.clone()].iter().all(|line| match line.look {
            Look::Prose => true,
            Look::ListItem | Look::Indented | Look::Blank | Look::Material | Look::Heading => false,
        });
        if is_prose { Voice::of(self.words(lines)) } else { Voice::default() }
    }

    /// Lines between blank ones, all typed or all pasted, as ranges.
    pub(super) fn segments(&self) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            if line.look == Look::Blank && !line.is_fenced {
                continue;
            }
            match found.last_mut() {
                Some(last) if last.end == at && self.pasted[last.start] == self.pasted[at] => {
                    last.end = at + 1
                }
                Some(_) | None => found.push(at..at + 1),
            }
        }
        found
    }

    /// Runs of logs, code, quotations and tables, and everything between fences.
    fn mark_runs(&mut self) {
        let solid = self.lines.iter().filter(|line| line.look != Look::Blank).count();
        let mut at = 0;
        while at < self.lines.len() {
            if self.lines[at].look != Look::Material {
                at += 1;
                continue;
            }
            let (run, hard) = self.run(at);
            let before = run.start.checked_sub(1).and_then(|before| self.inline(before));
            let line = &self.lines[at];
            let is_quote = line.text.trim_start().starts_with('>');
            let is_alone = run.len() == solid && line.text.len() > LONE_LINE;
            let is_run = if is_quote && hard == 1 && run.len() == 1 {
                line.text.len() >= QUOTE && !self.look(run.end).is_some_and(|next| next == Look::Prose)
            } else {
                hard >= RUN || run.len() > hard || line.is_fenced || is_alone || before.is_some()
            };
            if is_run {
                self.pasted[run.clone()].fill(true);
                if let Some(cut) = before {
                    self.cuts[run.start - 1] = Some((cut, false));
                }
            }
            at = run.end;
        }
        for at in 0..self.lines.len() {
            let rest = |cut: &usize| self.lines[at].text.len() - cut >= INLINE;
            if let Some(cut) = self.inline(at).filter(rest).filter(|_| !self.pasted[at]) {
                self.cuts[at] = Some((cut, false));
            }
        }
    }

    /// The run that a line of material begins, with the number of lines that are material for certain.
    fn run(&self, first: usize) -> (Range<usize>, usize) {
        let mut start = first;
        let is_indented = |line: &Line<'_>| line.look != Look::Blank && line.text.starts_with([' ', '\t']);
        while start > 0 && is_indented(&self.lines[start - 1]) && !self.pasted[start - 1] {
            start -= 1;
        }
        let begins =
            start == 0 || self.lines[start - 1].look == Look::Blank || self.inline(start - 1).is_some();
        let start = if begins { start } else { first };
        let mut last = first;
        let mut hard = 1;
        let mut at = first + 1;
        // One line that is blank or says nothing to anybody may stand between two lines of a log.
        while at < self.lines.len() && at - last <= 2 {
            // A fence begins or ends a run for certain: a line beside it that looks like output may be somebody's words.
            if self.lines[at].is_fenced != self.lines[first].is_fenced {
                break;
            }
            match self.lines[at].look {
                Look::Material => {
                    hard += 1;
                    last = at;
                }
                Look::Indented => last = at,
                Look::Blank => {}
                Look::Prose | Look::ListItem | Look::Heading => {
                    // A line of a log may address its reader; one that ends the log asks for more.
                    let goes_on = self.look(at + 1) == Some(Look::Material);
                    let voice = Voice::of(self.lines[at].text);
                    let speaks = if goes_on { voice.asks(voice::SURELY) } else { voice.speaks() };
                    if self.lines[at - 1].look == Look::Blank || speaks {
                        break;
                    }
                }
            }
            at += 1;
        }
        (start..last + 1, hard)
    }

    /// Where a log begins within a line.
    fn inline(&self, at: usize) -> Option<usize> {
        let line = &self.lines[at];
        match line.look {
            Look::Prose | Look::ListItem => {}
            Look::Blank | Look::Material | Look::Indented | Look::Heading => return None,
        }
        let head = crate::text::head(line.text, LONG_LINE);
        let breaks = table::group("sentence_break").flat_map(|row| row.pattern.places(head));
        let follows = match self.look(at + 1) {
            Some(Look::Material | Look::Indented) => true,
            Some(Look::Blank | Look::Heading | Look::ListItem | Look::Prose) | None => false,
        };
        let mut breaks = breaks.map(|found| (found.end, line.text[found.clone()].ends_with("   ")));
        let found = breaks.find(|&(end, is_wide)| {
            let rest = crate::text::head(&line.text[end..], LONG_LINE);
            !rest.is_empty() && (table::is_in("material_line", rest) || (is_wide && follows))
        });
        found.map(|(end, _)| end).or_else(|| {
            let is_long = line.text.len() > LONG_LINE;
            let places = table::group("inline_material").filter_map(|row| row.pattern.find(line.text));
            places.map(|found| found.start).min().filter(|at| is_long && *at > 0 && *at < LONG_LINE)
        })
    }

    /// A written-down talk: at least [`TURNS`] lines that begin with the name of whoever speaks, of two speakers or more, with what
    /// stands between them.
    fn mark_dialogue(&mut self) {
        const TURNS: usize = 3;
        let speaker = |line: &Line<'_>| {
            let row = table::group("dialogue").find(|row| row.pattern.is_in(line.text))?;
            Some((*row.pattern.groups(line.text)?.get(1)?).to_owned())
        };
        let spoken: Vec<(usize, String)> =
            self.lines.iter().enumerate().filter_map(|(at, line)| Some((at, speaker(line)?))).collect();
        let (Some((first, one)), Some((last, _))) = (spoken.first(), spoken.last()) else { return };
        let is_often = |name: &String| spoken.iter().filter(|(_, other)| other == name).count() >= 2;
        let is_talk = spoken.len() >= TURNS
            && is_often(one)
            && spoken.iter().any(|(_, name)| name != one)
            && (last - first) <= spoken.len() * 6;
        if is_talk {
            // What the last speaker says ends with their paragraph.
            let ends = |at: &usize| self.lines[*at].look == Look::Blank;
            let end = (*last..self.lines.len()).find(ends).unwrap_or(self.lines.len());
            self.pasted[*first..end].fill(true);
        }
    }

    /// E-mails: from the head, or a greeting, to the signature and what is quoted behind it.
    fn mark_mail(&mut self) {
        let is_head = |line: &Line<'_>| line.look != Look::Blank && table::is_in("mail_head", line.text);
        let segments = self.segments();
        let mut at = 0;
        while at + 1 < self.lines.len() {
            let behind = segments.partition_point(|segment| segment.start <= at);
            if is_head(&self.lines[at]) && is_head(&self.lines[at + 1]) {
                let end = self.mail_end(&segments[behind..]).max(at + 2);
                self.pasted[at..end].fill(true);
                at = end;
            } else if let Some(end) = self.letter_end(at, &segments) {
                self.pasted[at..end].fill(true);
                at = end;
            } else {
                at += 1;
            }
        }
    }

    /// Where a letter without a head ends that begins at this line: from a greeting in a paragraph of its own to a sign-off. Beside
    /// it somebody asks: a message that is nothing but a letter is written to the model.
    fn letter_end(&self, at: usize, segments: &[Range<usize>]) -> Option<usize> {
        let greets = segments.iter().position(|segment| segment.start == at)?;
        if segments[greets].len() != 1 || !table::is_in("mail_greeting", self.lines[at].text) {
            return None;
        }
        let is_close = |line: &Line<'_>| table::is_in("mail_close", line.text);
        let closes = segments[greets + 1..]
            .iter()
            .position(|segment| self.lines[segment.clone()].iter().any(is_close))?;
        let closes = greets + 1 + closes;
        let mut beside = segments[..greets].iter().chain(&segments[closes + 1..]);
        beside.any(|segment| self.voice(segment).asks(voice::ASKS)).then(|| segments[closes].end)
    }

    /// Where a mail ends, of what stands behind its head: behind its signature, before a paragraph that speaks about it, or with the
    /// text.
    fn mail_end(&self, segments: &[Range<usize>]) -> usize {
        let is_close = |line: &Line<'_>| table::is_in("mail_close", line.text);
        let closing = segments.iter().position(|segment| self.lines[segment.clone()].iter().any(is_close));
        let Some(closing) = closing else {
            let own = self.own_tail(segments, voice::ASKS);
            return own.map_or(self.lines.len(), |own| segments[own].start);
        };
        let mut end = segments[closing].end;
        for segment in &segments[closing + 1..] {
            let line = &self.lines[segment.start];
            let is_short = segment.len() == 1 && line.text.split_whitespace().count() <= 3;
            let is_name = is_short && !self.voice(segment).speaks();
            let is_quoted = line.text.trim_start().starts_with('>') || table::is_in("mail_quoted", line.text);
            if !(is_quoted || is_name) {
                break;
            }
            end = segment.end;
        }
        end
    }

    /// The first of the last segments in which the person speaks again.
    pub(super) fn own_tail(&self, segments: &[Range<usize>], least: usize) -> Option<usize> {
        let mut first = None;
        for (at, segment) in segments.iter().enumerate().rev().take(3) {
            let is_last = at + 1 == segments.len();
            if at == 0 || !(self.voice(segment).asks(least) || (is_last && self.asks_with_list(segment))) {
                break;
            }
            // A paragraph below a heading is the document's, however it speaks.
            if !is_last && self.look(segments[at - 1].end - 1) == Some(Look::Heading) {
                break;
            }
            first = Some(at);
        }
        first
    }

    /// Returns true for a sentence that surely asks, with a list behind it.
    fn asks_with_list(&self, lines: &Range<usize>) -> bool {
        let is_listed = self.lines[lines.start + 1..lines.end].iter().all(|line| match line.look {
            Look::ListItem | Look::Indented | Look::Prose => true,
            Look::Blank | Look::Material | Look::Heading => false,
        });
        is_listed && self.voice(&(lines.start..lines.start + 1)).asks(voice::SURELY)
    }

    /// The segments, with the last line for itself where it asks and the lines before it are another matter: people put their
    /// request right behind what they pasted.
    pub(super) fn segments_and_request(&self) -> Vec<Range<usize>> {
        let mut segments = self.segments();
        if let Some(last) = segments.last_mut().filter(|last| last.len() > 1) {
            let (before, line) = (last.end - 2, last.end - 1);
            let ends =
                self.lines[before].text.trim_end().ends_with(['.', '!', '?', ':', '。', '`', ')', '>', '|']);
            let is_apart = self.look(before) != Some(Look::Prose) || ends;
            let voice = self.voice(&(line..line + 1));
            if is_apart && voice.asks(voice::ASKS) && (voice.is_casual || voice.asks(voice::SURELY)) {
                let request = line..last.end;
                last.end = line;
                segments.push(request);
            }
        }
        segments
    }

    /// What follows a line that announces it, up to a paragraph in which the person speaks again.
    fn mark_announced(&mut self) {
        let segments = self.segments();
        for (at, segment) in segments.iter().enumerate() {
            let rest = &segments[at + 1..];
            let Some(next) = rest.first().filter(|_| !self.pasted[segment.start]) else { continue };
            // Documents announce much; people do so before the document.
            if self.lines[..segment.start].iter().any(|line| line.is_titled) {
                break;
            }
            if !self.is_announced(segment, next) {
                continue;
            }
            // A log ends where anybody asks; in a text of somebody else it takes more.
            let is_log = self.look(next.start) == Some(Look::Material);
            let speaks_again = (1..rest.len()).find(|&next| {
                let voice = self.voice(&rest[next]);
                voice.replies
                    || (voice.is_casual && voice.asks(voice::SURELY))
                    || (is_log && voice.asks(voice::ASKS))
            });
            let until = speaks_again.or_else(|| self.own_tail(rest, voice::SURELY));
            let until = until.map_or(self.lines.len(), |next| rest[next].start);
            self.pasted[next.start..until].fill(true);
            return;
        }
    }

    /// Returns true if a segment says that the next one comes from elsewhere.
    fn is_announced(&self, segment: &Range<usize>, next: &Range<usize>) -> bool {
        let (line, first) = (&self.lines[segment.end - 1], &self.lines[next.start]);
        match line.look {
            Look::Heading if line.is_titled => return false,
            Look::Prose | Look::ListItem | Look::Heading => {}
            Look::Blank | Look::Material | Look::Indented => return false,
        }
        let said = line.text.trim_end();
        let is_apart = next.start > segment.end;
        let by_name = table::is_in("announce", said);
        match first.look {
            Look::Material => by_name && is_apart,
            Look::Heading => is_apart && (by_name || table::is_in("announce_heading", self.words(segment))),
            Look::Indented => is_apart && (by_name || table::is_in("announce_weak", self.words(segment))),
            Look::Prose => is_apart && by_name && !self.voice(next).is_casual,
            Look::ListItem | Look::Blank => false,
        }
    }

    /// What stands before an answer that begins with an arrow.
    fn mark_answered(&mut self) {
        let segments = self.segments();
        let answer = segments.iter().position(|segment| self.voice(segment).replies);
        let Some(answer) = answer.filter(|answer| *answer > 0) else { return };
        if !segments[..answer].iter().any(|segment| self.voice(segment).is_casual) {
            self.pasted[..segments[answer].start].fill(true);
        }
    }

    /// Paragraphs about code in which nobody speaks, as reviews have them, also with a question before or behind them in the line.
    fn mark_comments(&mut self) {
        let segments = self.segments();
        for (at, segment) in segments.iter().enumerate() {
            let is_prose = self.lines[segment.clone()].iter().all(|line| line.look == Look::Prose);
            if !is_prose
                || self.pasted[segment.start]
                || segment.len() > 1 && self.cuts[segment.start].is_some()
            {
                continue;
            }
            let words = self.words(segment);
            if voice::is_comment(words) {
                self.pasted[segment.clone()].fill(true);
                for beside in [at.checked_sub(1), Some(at + 1)].into_iter().flatten() {
                    let beside = segments.get(beside).filter(|beside| beside.len() == 1);
                    if let Some(place) = beside.filter(|beside| voice::is_place(self.words(beside))) {
                        self.pasted[place.clone()].fill(true);
                    }
                }
            } else if segment.len() == 1 && self.cuts[segment.start].is_none() {
                self.cuts[segment.start] = voice::comment_in(words);
            }
        }
    }

    /// A long text in which nobody speaks, beside a short request that points at it.
    fn mark_subject(&mut self) {
        const LONGEST_REQUEST: usize = 300;
        const SHORTEST_TEXT: usize = 400;
        let segments = self.segments_and_request();
        let (Some(first), Some(last)) = (segments.first(), segments.last()) else { return };
        if segments.len() < 2 || self.pasted.iter().any(|pasted| *pasted) {
            return;
        }
        let points = |segment: &Range<usize>| {
            let words = self.words(segment);
            let voice = self.voice(segment);
            words.len() <= LONGEST_REQUEST
                && voice.asks(voice::ASKS)
                && (voice.refers_back || table::is_in("points_at_text", words))
        };
        let text = match (points(first), points(last)) {
            (true, false) => &segments[1..],
            (false, true) => &segments[..segments.len() - 1],
            (true, true) | (false, false) => return,
        };
        let is_silent = |segment: &Range<usize>| {
            let words = self.words(segment);
            words.split("\n\n").all(|words| !Voice::of(words).speaks()) && !table::is_in("person", words)
        };
        let bytes: usize = text.iter().map(|segment| self.words(segment).len()).sum();
        if bytes >= SHORTEST_TEXT && text.iter().all(is_silent) {
            let lines = text[0].start..text[text.len() - 1].end;
            self.pasted[lines].fill(true);
        }
    }

    /// What stands between two pasted runs and does not speak to anybody belongs to them.
    fn mark_between(&mut self) {
        let (Some(first), Some(last)) =
            (self.pasted.iter().position(|pasted| *pasted), self.pasted.iter().rposition(|pasted| *pasted))
        else {
            return;
        };
        for segment in self.segments() {
            let is_between = segment.start > first && segment.end <= last && !self.pasted[segment.start];
            let is_list = self.look(segment.start) == Some(Look::ListItem);
            let has_cut = segment.clone().any(|at| self.cuts[at].is_some());
            let bytes = self.words(&segment).len();
            if is_between
                && !is_list
                && !has_cut
                && bytes < LONE_LINE * 3
                && !Voice::of(self.words(&segment)).speaks()
            {
                self.pasted[segment].fill(true);
            }
        }
    }

    /// Where all of a long text was taken for pasted, the person speaks at its end or at its beginning, if anybody asks there.
    fn find_request(&mut self) {
        let is_typed =
            |at: usize| self.cuts[at].is_some() || (!self.pasted[at] && self.look(at) != Some(Look::Blank));
        if (0..self.lines.len()).any(is_typed) {
            return;
        }
        let segments = self.segments_and_request();
        let asks = |segment: &&Range<usize>| self.voice(segment).asks(voice::ASKS);
        let request = segments.last().filter(asks).or_else(|| segments.first().filter(asks));
        if let Some(request) = request.filter(|_| segments.len() > 1).cloned() {
            self.pasted[request].fill(false);
        }
    }

    /// Lines of one sort as pieces. A blank line joins what is before it.
    fn pieces(&self) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut push = |range: Range<usize>, is_pasted: bool| match pieces.last_mut() {
            Some(last) if last.is_pasted == is_pasted => last.range.end = range.end,
            Some(_) | None if range.is_empty() => {}
            Some(_) | None => pieces.push(Piece { range, is_pasted }),
        };
        let mut before = None;
        for ((line, &pasted), cut) in self.lines.iter().zip(&self.pasted).zip(&self.cuts) {
            let Range { start, end } = line.range.clone();
            let is_pasted = match (line.look, *cut) {
                (Look::Blank, _) if !line.is_fenced => before.unwrap_or(pasted),
                (_, Some((at, is_first))) if !pasted => {
                    push(start..start + at, is_first);
                    push(start + at..end, !is_first);
                    before = Some(!is_first);
                    continue;
                }
                (_, _) => pasted,
            };
            push(start..end, is_pasted);
            before = Some(is_pasted);
        }
        pieces
    }
}
