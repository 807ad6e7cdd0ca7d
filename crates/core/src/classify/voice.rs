//! Voice: how a paragraph speaks. People ask, say "I" and point at what they pasted; reviews and documents do not.

use super::sentence::split_sentences;
use super::table;

/// The least strength of words that may be a request where none stands elsewhere.
pub(super) const ASKS: usize = 1;
/// The least strength of words that are a request beside another one.
pub(super) const SURELY: usize = 2;
/// The longest paragraph that may be the request beside a document.
const LONGEST: usize = 900;
/// The longest request in Chinese that is one without a word for a person.
const SHORT: usize = 240;

/// How a paragraph speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Voice {
    /// It asks: a question, a wish, an order.
    asks: bool,
    asks_question: bool,
    /// It says "I" or "you".
    is_personal: bool,
    /// It points at something said before.
    pub(super) refers_back: bool,
    /// It begins in lower case, as nobody's document does.
    pub(super) is_casual: bool,
    /// It begins with an arrow, as answers to a quotation do.
    pub(super) replies: bool,
}

impl Voice {
    /// The voice of a paragraph; none for a long one.
    pub(super) fn of(text: &str) -> Self {
        let text = text.trim();
        if text.len() > LONGEST || table::is_in("agent_closing", text) {
            return Self::default();
        }
        let asks_question = text.lines().any(|line| table::is_in("question", line));
        let orders = || sentences(text).any(|sentence| table::is_in("imperative", sentence));
        // Chinese has no need for "I" and "you" in a request.
        let asks_in_chinese = text.len() < SHORT && table::is_in("request_cjk", text);
        Self {
            asks: asks_question || asks_in_chinese || table::is_in("request", text) || orders(),
            asks_question,
            is_personal: asks_in_chinese || table::is_in("person", text),
            refers_back: table::is_in("refers_back", text),
            is_casual: is_casual(text),
            replies: ["->", "=>", "→"].iter().any(|arrow| text.starts_with(arrow)),
        }
    }

    /// How sure it is that the person speaks; 0 where nobody asks, says "I" or begins in lower case.
    pub(super) fn strength(self) -> usize {
        let signs =
            [self.asks, self.asks_question, self.is_personal, self.refers_back, self.is_casual, self.replies];
        if self.speaks() || self.replies || self.is_casual {
            signs.into_iter().filter(|sign| *sign).count()
        } else {
            0
        }
    }

    /// Returns true if it asks at least so surely.
    pub(super) fn asks(self, least: usize) -> bool {
        (self.asks || self.is_casual || self.replies) && self.strength() >= least
    }

    /// Returns true if somebody speaks at all.
    pub(super) fn speaks(self) -> bool {
        self.asks || self.is_personal
    }
}

/// Returns true for words that begin in lower case, but not with a name of code.
fn is_casual(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    let is_plain = word.chars().all(|c| c.is_lowercase() || "'’,.:;!?-…".contains(c));
    text.starts_with('^') || (text.starts_with(char::is_lowercase) && is_plain)
}

/// The least bytes and names of code of a review's comment.
const COMMENT: usize = 180;
const NAMES: usize = 2;
/// The longest question in front of a comment in its line.
const QUESTION: usize = 80;

/// A comment of a review: sentences about code in which nobody speaks.
pub(super) fn is_comment(text: &str) -> bool {
    let text = text.trim();
    let is_sentence = text.ends_with('.') && text.starts_with(|c: char| c.is_uppercase());
    let speaks =
        || table::is_in("person", text) || table::is_in("request", text) || table::is_in("imperative", text);
    is_sentence && text.len() >= COMMENT && !speaks() && code_names(text) >= NAMES
}

/// A comment with a question before or behind it in one line: where one ends and the other begins, and whether the comment is first.
pub(super) fn comment_in(line: &str) -> Option<(usize, bool)> {
    let capital = |at: usize| line[at..].starts_with(|c: char| c.is_uppercase());
    let is_gap = |at: &usize| line.as_bytes().get(at - 1) == Some(&b' ') && capital(*at);
    let head = crate::text::head(line, QUESTION).len();
    let before = (1..head).filter(|at| line.is_char_boundary(*at)).filter(is_gap);
    if line.starts_with(char::is_lowercase) {
        let mut before = before.filter(|at| Voice::of(&line[..*at]).asks);
        return before.next().filter(|at| is_comment(&line[*at..])).map(|at| (at, false));
    }
    if let Some(at) = announced_in(line) {
        return Some((at, false));
    }
    // The question behind: the first sentence that speaks.
    let ends = line.match_indices(". ").map(|(at, _)| at + 2);
    let mut ends =
        ends.filter(|at| sentences(&line[*at..]).next().is_some_and(|next| Voice::of(next).speaks()));
    ends.next().filter(|at| is_comment(&line[..*at])).map(|at| (at, true))
}

/// Where a report begins that the first words of its line announce.
fn announced_in(line: &str) -> Option<usize> {
    const LEAST: usize = 300;
    let colon = crate::text::head(line, QUESTION).find(": ")?;
    let (said, report) = (&line[..=colon], &line[colon + 2..]);
    let is_report = report.len() >= LEAST
        && report.starts_with(|c: char| c.is_uppercase())
        && code_names(report) >= NAMES;
    let asks = || table::is_in("request", report) || table::is_in("question", report);
    (is_report && table::is_in("announce", said) && !asks()).then_some(colon + 2)
}

fn code_names(text: &str) -> usize {
    table::group("code_name").map(|row| row.pattern.places(text).len()).sum()
}

/// The sentences of a text.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(split_sentences).map(str::trim)
}

/// A line that is only a place in a file.
pub(super) fn is_place(line: &str) -> bool {
    let line = line.trim();
    let name = line.rsplit('/').next().unwrap_or(line);
    !line.contains(char::is_whitespace) && line.len() < 200 && line.contains(['/', ':']) && name.contains('.')
}

/// A text that another agent wrote, by how it speaks.
pub(super) fn is_delegated(text: &str) -> bool {
    const HEAD: usize = 6_000;
    const TRAITS: usize = 2;
    const LONG_BRIEF: usize = 900;
    let head = crate::text::head(text.trim_start(), HEAD);
    let has_head = head.starts_with('#')
        || table::group("delegation").any(|row| row.name == "task head" && row.pattern.is_in(head));
    let traits = table::group("delegation").filter(|row| row.pattern.is_in(head)).count();
    let sections = table::group("brief_section").filter(|row| row.pattern.is_in(head)).count();
    let is_given = table::group("delegation")
        .any(|row| ["task head", "role given"].contains(&row.name) && row.pattern.is_in(head));
    traits >= TRAITS
        || (is_given && text.len() > LONG_BRIEF)
        || (has_head && traits + sections >= TRAITS && sections > 0)
}
