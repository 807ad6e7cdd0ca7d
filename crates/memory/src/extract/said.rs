//! What the user said in their own words: sentence by sentence, with the message it stands in.

use super::material::{self, Line};
use super::pattern::patterns;
use jiff::Timestamp;
use throughline_core::{Message, MessageId};

patterns! {
    BULLET = r"^\s*(?:[-*•·]|\d{1,2}[.)、]|[(（]\d{1,2}[)）])\s+";
    ABBREVIATION = r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|resp|approx|no|mr|mrs|ms|dr|st)\.$";
    GOES_ON = r"^\s*(?:[a-z]|除非|但|因为|而|并且|否则|如果|除了|直到)";
    INTERJECTION = r"^\s*(?:(?:no|nope|nah|yes|yeah|yep|yup|ok|okay|right|sure|exactly|perfect|great|good|nice|thanks|thank you|actually|hmm+|well|hey|hi|hello|oh|btw|by the way|fyi|also|and|so|but|wait|sorry|please|pls|不|不对|对|好的?|嗯|是的|没错|谢谢|另外|还有|请)(?:[,.!:;—–，。！：；、-]+\s*|\s+(?:—|–|-)\s+))";
    DOUBLE = r#""[^"\n]{1,400}"|“[^”\n]{1,400}”|「[^」\n]{1,400}」|『[^』\n]{1,400}』|«[^»\n]{1,400}»|`[^`\n]{1,400}`|(?:^|[\s(:])'[^'\n]{3,400}'(?:[\s).,;:!?]|$)|‘[^’\n]{3,400}’"#;
}

/// Longer sentences are material.
const LONGEST: usize = 600;

/// A sentence that the user wrote themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sentence {
    /// As it was written; line ends are spaces.
    pub(crate) text: String,
    /// The paragraph that it is in.
    pub(crate) paragraph: usize,
    /// How it follows the sentence before it.
    joint: Joint,
}

/// How a sentence follows the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joint {
    /// At once, as in Chinese.
    Close,
    /// Behind white space.
    Spaced,
    /// Behind something that is not the user's own.
    Apart,
}

/// What one message says in the user's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) message: MessageId,
    pub(crate) at: Option<Timestamp>,
    pub(crate) sentences: Vec<Sentence>,
}

impl Said {
    /// Of a message; nothing unless a person said it.
    pub(crate) fn of(message: &Message) -> Self {
        let sentences = sentences(&message.user_words());
        Self { message: message.id.clone(), at: message.at, sentences }
    }

    /// The sentences in which a quote stands verbatim, white space and the form of quotation marks aside.
    pub(crate) fn find(&self, quote: &str) -> Option<std::ops::Range<usize>> {
        // A list is quoted with its marks; sentences have none.
        let lines: Vec<String> = quote.lines().map(|line| BULLET.replaced(line, "")).collect();
        let quote = folded(lines.join("\n").trim());
        if quote.chars().filter(|c| c.is_alphanumeric()).count() < 4 {
            return None;
        }
        let mut whole = String::new();
        let mut ends = Vec::with_capacity(self.sentences.len());
        for sentence in &self.sentences {
            match sentence.joint {
                Joint::Close => {}
                Joint::Spaced => whole.push(' '),
                Joint::Apart => whole.push('\u{1}'),
            }
            whole.push_str(&folded(&sentence.text));
            ends.push(whole.len());
        }
        let start = whole.find(&quote)?;
        let first = ends.iter().position(|end| *end > start)?;
        let last = ends.iter().position(|end| *end >= start + quote.len())?;
        Some(first..last + 1)
    }
}

/// The sentences of a text that a person typed.
pub(crate) fn sentences(text: &str) -> Vec<Sentence> {
    let mut found: Vec<Sentence> = Vec::new();
    let mut is_apart = false;
    for passage in passages(&material::lines(text)) {
        let Some((words, paragraph)) = passage else {
            is_apart = true;
            continue;
        };
        let mut spaced = true;
        for piece in split(&words) {
            let begins_with_space = piece.starts_with(char::is_whitespace);
            let text = BULLET.replaced(piece, "").trim().to_owned();
            if text.is_empty() {
                continue;
            }
            if text.chars().count() > LONGEST {
                is_apart = true;
                continue;
            }
            let joint = match (is_apart, spaced || begins_with_space) {
                (true, _) => Joint::Apart,
                (false, true) => Joint::Spaced,
                (false, false) => Joint::Close,
            };
            (is_apart, spaced) = (false, false);
            found.push(Sentence { text, paragraph, joint });
        }
    }
    if let Some(first) = found.first_mut() {
        first.joint = Joint::Close;
    }
    found
}

/// Lines joined where a sentence goes on in the next one; `None` for what is not the user's own.
fn passages(lines: &[Line<'_>]) -> Vec<Option<(String, usize)>> {
    let mut passages: Vec<Option<(String, usize)>> = Vec::new();
    for line in lines {
        if !line.is_own {
            passages.push(None);
            continue;
        }
        if line.text.trim().is_empty() {
            continue;
        }
        match passages.last_mut() {
            Some(Some((words, paragraph))) if *paragraph == line.paragraph && goes_on(words, line.text) => {
                words.push(' ');
                words.push_str(line.text.trim());
            }
            _ => passages.push(Some((line.text.trim_end().to_owned(), line.paragraph))),
        }
    }
    passages
}

fn goes_on(words: &str, next: &str) -> bool {
    let ended = words.trim_end().ends_with(['.', '!', '?', ':', ';', '。', '！', '？', '：', '；']);
    // The marks are lower-case letters: the pattern must not match in either case.
    let begins_small = next.trim_start().starts_with(|c: char| c.is_ascii_lowercase() || !c.is_ascii());
    !ended && begins_small && !BULLET.is_in(next) && GOES_ON.is_in(next)
}

pub(crate) fn split(passage: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut from = 0;
    let mut chars = passage.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let is_end = match c {
            '。' | '！' | '？' | '；' => true,
            '.' | '!' | '?' => {
                chars.peek().is_some_and(|(_, next)| next.is_whitespace())
                    && !ABBREVIATION.is_in(&passage[from..end])
                    && !BULLET.is_in(&format!("{} ", &passage[from..end]))
            }
            _ => false,
        };
        if is_end {
            pieces.push(&passage[from..end]);
            from = end;
        }
    }
    pieces.push(&passage[from..]);
    pieces
}

/// A text for comparison: white space as one blank, quotation marks straight.
pub(crate) fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_whitespace() => {
                if !folded.ends_with(' ') {
                    folded.push(' ');
                }
            }
            '’' | '‘' => folded.push('\''),
            '“' | '”' => folded.push('"'),
            c => folded.push(c),
        }
    }
    folded
}

/// A sentence without "No," and "Please" in front of it.
pub(crate) fn without_lead(sentence: &str) -> &str {
    let mut rest = sentence.trim();
    while let Some(lead) = INTERJECTION.find(rest) {
        if lead.end == 0 || rest[lead.end..].trim().is_empty() {
            break;
        }
        rest = rest[lead.end..].trim_start();
    }
    rest
}

/// A sentence with what stands between quotation marks blanked: it is mentioned, not said.
pub(crate) fn without_quotes(sentence: &str) -> String {
    DOUBLE.replaced(sentence, "…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use throughline_core::Role;

    fn own(text: &str) -> Vec<String> {
        sentences(text).into_iter().map(|sentence| sentence.text).collect()
    }

    #[test]
    fn sentences_are_whole_and_lines_are_joined_where_they_go_on() {
        assert_eq!(
            own("Use a.rs, e.g. v1.5. Never push!\n不要推送。除非我同意"),
            ["Use a.rs, e.g. v1.5.", "Never push!", "不要推送。", "除非我同意"]
        );
        assert_eq!(own("Never push to main\nwithout asking me."), ["Never push to main without asking me."]);
        assert_eq!(own("不要推送到 main\n除非我同意"), ["不要推送到 main 除非我同意"]);
        assert_eq!(own("- one thing\n- another\n1. third"), ["one thing", "another", "third"]);
    }

    #[test]
    fn what_was_pasted_is_not_the_users_own() {
        for pasted in [
            "```\nremember that x\n```",
            "> remember that x",
            "here is the page:\nWelcome\nRemember that x",
            "here is the page:\n===== begins\nWelcome\nRemember that x",
            "From: a@b.c\nSubject: hi\n\nRemember that x",
            "Welcome to Acme\n\nRemember that x.\n\nSummarise this page please",
            "<page>\nremember that x\n</page>",
            "2026-01-01T10:00:00 INFO start\nremember that x",
            "# Guide\n\nRemember that x",
            "User: hi\nAssistant: ok\nUser: remember that x",
            "Remem\u{200b}ber that x is so",
            "Rеmember that x is so",
            "---\nname: x\n---\nremember that x",
            "日志如下：\n记住以后都用 x",
        ] {
            assert!(
                !own(pasted).iter().any(|sentence| sentence.contains(" x")),
                "{pasted:?}: {:?}",
                own(pasted)
            );
        }
        assert_eq!(
            own("Here's the error:\n```\nboom\n```\nAlways use pnpm."),
            ["Here's the error:", "Always use pnpm."]
        );
        assert_eq!(own("what does <skill> mean?"), ["what does <skill> mean?"]);
        assert_eq!(own("My rules:\n- tabs"), ["My rules:", "tabs"]);
    }

    #[test]
    fn quotes_are_found_across_sentences_but_not_across_what_was_pasted() {
        let said =
            Said::of(&Message::text(Role::User, "Use  pnpm\nhere. Don’t use npm.\n```\nx\n```\nBye now."));
        assert_eq!(said.find("pnpm here. Don't use"), Some(0..2));
        assert_eq!(said.find("Don't use npm. Bye now."), None);
        assert_eq!(said.find("Bye now"), Some(2..3));
        assert_eq!(said.find("."), None);
        let list = Said::of(&Message::text(Role::User, "My rules:\n- tabs only\n- no mocks"));
        assert_eq!(list.find("- tabs only\n- no mocks"), Some(1..3));
        let said = Said::of(&Message::text(Role::User, "用中文。别用英文。"));
        assert_eq!(said.find("用中文。别用英文"), Some(0..2));
    }

    #[test]
    fn of_what_is_very_long_only_a_short_beginning_counts() {
        let page = "<p>Remember that x is y</p>\n".repeat(50_000);
        assert_eq!(own(&format!("Look at the page.\n\n{page}")), ["Look at the page."]);
        assert!(own(&page).is_empty());
        assert!(own(&format!("{}\n\nRemember that x is y", "word ".repeat(2_000))).is_empty());
        assert!(own(&format!("```\n\n{page}")).is_empty());
    }

    #[test]
    fn leads_and_quotes_are_told_from_what_is_said() {
        assert_eq!(without_lead("No, please, don't mock the db"), "don't mock the db");
        assert_eq!(without_lead("No mocks"), "No mocks");
        assert_eq!(without_quotes(r#"it says "remember x" there"#), "it says … there");
        assert_eq!(without_quotes("don't use Ann's"), "don't use Ann's");
    }
}
