//! Sentences: how a text is split into them, and what each of them does.

use super::table;

/// What a sentence does. One sentence may do several of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SentenceKind {
    /// It asks something. A request in the form of a question ("can you always …?") does not count.
    Question,
    /// It tells what a page, a tool or somebody else says.
    Reported,
    /// It opens with a prohibition: "never push", "no mocks".
    Prohibition,
    /// It opens with the end of a habit: "stop summarizing", "no more emojis".
    Stop,
    /// It sets one thing against another: "tabs instead of spaces", "I meant tabs". Narrower than
    /// [`DirectiveKind::Correction`](super::DirectiveKind::Correction), for which "again" and "still" are enough.
    Contrast,
    /// It says what the writer prefers, likes or hates.
    Preference,
    /// It says "I", "we" or "you".
    Personal,
}

impl SentenceKind {
    /// Returns true if a sentence does this. Pass what [`plain`] returns: what stands in quotation marks is mentioned, not said.
    ///
    /// ```
    /// use throughline_core::classify::{SentenceKind, plain};
    ///
    /// assert!(SentenceKind::Prohibition.is_in(&plain("No, please, don’t mock the database.")));
    /// assert!(SentenceKind::Reported.is_in("The README tells you to never use npm."));
    /// assert!(SentenceKind::Question.is_in("Can you add a test?"));
    /// assert!(!SentenceKind::Question.is_in("Can you always add a test?"));
    /// ```
    pub fn is_in(self, sentence: &str) -> bool {
        let any = |groups: &[&str]| groups.iter().any(|group| table::is_in(group, sentence));
        match self {
            Self::Question => any(&["question", "question_form"]) && !any(&["polite_request"]),
            Self::Reported => any(&["reported"]) && !any(&["preference", "own_report"]),
            Self::Prohibition => any(&["prohibition_front"]),
            Self::Stop => any(&["stop_front"]),
            Self::Contrast => any(&["contrast"]),
            Self::Preference => any(&["preference"]),
            Self::Personal => any(&["pronoun"]),
        }
    }
}

/// The sentences of a passage, each with the mark that ends it and the white space before it. A western mark ends a sentence only
/// before white space, and not behind an abbreviation or the number of a list item: `a.rs`, `1.5`, `e.g.` and `2.` go on.
///
/// ```
/// use throughline_core::classify::split_sentences;
///
/// assert_eq!(split_sentences("Use a.rs, e.g. v1.5. 不要推送。好"), ["Use a.rs, e.g. v1.5.", " 不要推送。", "好"]);
/// ```
pub fn split_sentences(passage: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut from = 0;
    let mut chars = passage.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let is_end = match c {
            '。' | '！' | '？' | '；' => true,
            '.' | '!' | '?' => {
                let piece = &passage[from..end];
                chars.peek().is_some_and(|(_, next)| next.is_whitespace())
                    && !(c == '.' && table::is_in("abbreviation", piece))
                    && !(c == '.' && is_list_mark(piece))
            }
            _ => false,
        };
        if is_end {
            pieces.push(&passage[from..end]);
            from = end;
        }
    }
    if from < passage.len() {
        pieces.push(&passage[from..]);
    }
    pieces
}

/// Returns true for the number of a list item, without the space behind it.
fn is_list_mark(piece: &str) -> bool {
    let digits = piece.trim_start().trim_end_matches('.');
    (1..=2).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
}

/// A line without the mark of a list item.
pub fn without_bullet(line: &str) -> &str {
    table::match_end("bullet", line).map_or(line, |end| &line[end..])
}

/// A sentence without "No," and "Please," in front of it.
pub fn without_lead(sentence: &str) -> &str {
    let mut rest = sentence.trim();
    while let Some(end) = table::match_end("interjection", rest) {
        if end == 0 || rest[end..].trim().is_empty() {
            break;
        }
        rest = rest[end..].trim_start();
    }
    rest
}

/// A sentence with "…" for what stands between quotation marks.
pub fn without_quotes(sentence: &str) -> String {
    table::replaced("quotation", sentence, "…")
}

/// A sentence as the patterns read it: apostrophes straight, without interjections in front and without quoted text.
pub fn plain(sentence: &str) -> String {
    without_quotes(without_lead(&sentence.replace('’', "'"))).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leads_and_quotes_are_removed() {
        assert_eq!(without_lead("No, please, don't mock the db"), "don't mock the db");
        assert_eq!(without_lead("No mocks"), "No mocks");
        assert_eq!(without_quotes(r#"it says "remember x" there"#), "it says … there");
        assert_eq!(without_quotes("don't use Ann's"), "don't use Ann's");
        assert_eq!(plain("Yes, “always” it’s said"), "… it's said");
    }

    #[test]
    fn list_numbers_do_not_end_sentences() {
        assert_eq!(split_sentences("1. one thing. 2. another"), ["1. one thing.", " 2. another"]);
        assert!(split_sentences("").is_empty());
    }
}
