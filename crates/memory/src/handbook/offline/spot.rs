//! Places in the session, and lines that are told.

use crate::extract::pattern::patterns;
use crate::handbook::Evidence;
use jiff::Timestamp;
use std::collections::BTreeSet;
use throughline_core::text::one_line;
use throughline_core::{Message, MessageId, SessionId};

patterns! {
    ANSI = r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07";
    STAMP = r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\s*";
    TEMPORARY = r#"(?:/private)?/(?:tmp|var/folders|var/tmp)/[^\s"'`:,)]*"#;
    HOME = r"(?:/Users|/home)/[A-Za-z0-9_.-]+";
    DURATION = r"\s*\(\d+(?:\.\d+)?m?s\)|\bin \d+(?:\.\d+)?m?s\b";
    WORD = r"[A-Za-z][A-Za-z0-9_.:/-]{2,40}";
}

/// A message that bears something out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) message: MessageId,
    pub(super) at: Option<Timestamp>,
}

impl Spot {
    pub(super) fn of(message: &Message) -> Self {
        Self { message: message.id.clone(), at: message.at }
    }

    pub(super) fn evidence(&self, session: &SessionId) -> Evidence {
        Evidence::Message { session: session.clone(), message: self.message.clone(), at: self.at }
    }
}

/// Where something was run: the call, which holds the command, and the result, which holds what came of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends<'a> {
    pub(super) call: &'a Spot,
    pub(super) result: &'a Spot,
}

impl Ends<'_> {
    /// Notes both, of which the newest are kept.
    pub(super) fn note(&self, spots: &mut Vec<Spot>, most: usize) {
        note(spots, self.call, most);
        note(spots, self.result, most);
    }
}

/// Keeps the newest of a list of places, each once.
pub(super) fn note(spots: &mut Vec<Spot>, spot: &Spot, most: usize) {
    if spots.contains(spot) {
        return;
    }
    if spots.len() >= most {
        spots.remove(0);
    }
    spots.push(spot.clone());
}

/// A line of an output without what differs from run to run: colours, times, folders of the machine.
pub(super) fn clean(line: &str, cwd: Option<&str>, chars: usize) -> String {
    let mut line = ANSI.replaced(line, "");
    if let Some(cwd) = cwd.filter(|cwd| cwd.len() > 1) {
        line = line.replace(&format!("{cwd}/"), "").replace(cwd, ".");
    }
    line = STAMP.replaced(&line, "");
    line = TEMPORARY.replaced(&line, "<tmp>");
    line = HOME.replaced(&line, "~");
    line = DURATION.replaced(&line, "");
    one_line(&line, chars)
}

/// A path as people would write it in the session's folder.
pub(super) fn relative<'a>(path: &'a str, cwd: Option<&str>) -> &'a str {
    cwd.and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/'))
        .filter(|rest| !rest.is_empty())
        .unwrap_or(path)
}

/// The last part of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Words by which something is looked for: of names and of a text, few and each once.
pub(super) fn keywords<'a>(names: impl IntoIterator<Item = &'a str>, text: &str, most: usize) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let mut add = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_worth = (3..=40).contains(&word.len()) && word.contains(char::is_alphabetic);
        if is_worth && found.len() < most && seen.insert(word.to_lowercase()) {
            found.push(word.to_lowercase());
        }
    };
    names.into_iter().for_each(&mut add);
    WORD.places(text)
        .into_iter()
        .filter_map(|place| text.get(place))
        .filter(|word| {
            !throughline_lexer::is_stopword(&word.to_lowercase())
                && !WEAK.contains(&word.to_lowercase().as_str())
        })
        .for_each(&mut add);
    found
}

/// Words that every request holds.
const WEAK: [&str; 66] = [
    "can",
    "could",
    "please",
    "you",
    "let",
    "let's",
    "want",
    "need",
    "like",
    "make",
    "look",
    "now",
    "just",
    "also",
    "one",
    "more",
    "good",
    "still",
    "think",
    "see",
    "get",
    "got",
    "use",
    "using",
    "used",
    "add",
    "fix",
    "change",
    "changes",
    "check",
    "update",
    "run",
    "again",
    "new",
    "way",
    "thing",
    "things",
    "something",
    "question",
    "sure",
    "maybe",
    "yes",
    "okay",
    "the",
    "and",
    "for",
    "this",
    "that",
    "with",
    "what",
    "why",
    "how",
    "when",
    "where",
    "should",
    "would",
    "does",
    "did",
    "here",
    "there",
    "all",
    "any",
    "some",
    "has",
    "have",
    "our",
];
