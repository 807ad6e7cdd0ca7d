//! What is known of a memory beyond its words: where it came from, how often it was said, how long it holds.

use super::error::TopicError;
use super::names::is_topic;
use super::yaml::one_line;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use throughline_redact::redact;

/// Sources that a memory keeps: the newest.
pub const MOST_SOURCES: usize = 5;
/// Characters of a quote that are kept.
const QUOTE: usize = 300;
/// Characters of a session's or a message's id.
const ID: usize = 120;
/// Messages that a source names.
const MESSAGES: usize = 10;
/// Characters that all anchors of a memory have together.
const ANCHORS: usize = 2_000;

/// What is known of a memory beyond its words; stands under `metadata:` in the frontmatter. Keys of others in there stay.
///
/// In a file, times are in whole seconds and sources have [`MOST_SOURCES`] at most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// When it was first said.
    pub created: Option<Timestamp>,
    /// When it ends to hold, whatever its type.
    pub expires: Option<Timestamp>,
    /// The file of the memory that says it now.
    pub superseded_by: Option<String>,
    /// How often it was said or confirmed.
    pub evidence: u32,
    /// Where it comes from, newest last.
    pub sources: Vec<Source>,
    /// What of the project it is about.
    pub anchors: Vec<Anchor>,
}

/// Where a memory comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Who said it.
    pub by: By,
    /// In which session.
    #[serde(default)]
    pub session: Option<String>,
    /// In which messages of it.
    #[serde(default)]
    pub messages: Vec<String>,
    /// When.
    pub at: Timestamp,
    /// The words themselves.
    #[serde(default)]
    pub quote: String,
}

/// Who said what a memory says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The user, in a session.
    User,
    /// A person, by hand or by command.
    Person,
    /// The agent noted it; nobody said it.
    Agent,
    /// It was taken over from another folder or tool.
    Import,
}

impl By {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::User, Self::Person, Self::Agent, Self::Import];

    /// The word in the frontmatter.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Person => "person",
            Self::Agent => "agent",
            Self::Import => "import",
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for By {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|by| by.name().eq_ignore_ascii_case(word.trim()))
            .ok_or_else(|| format!("{word:?} is not who says a memory: user, person, agent or import"))
    }
}

/// What of a project a memory is about. As text: `path:src/a.rs`, `commit:4f2a9c1`, `symbol:src/a.rs#run`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Anchor {
    /// A file or folder, from the project's root.
    Path(String),
    /// A commit of its history.
    Commit(String),
    /// A name that a file defines.
    Symbol {
        /// The file, from the project's root.
        path: String,
        /// The name.
        name: String,
    },
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "path:{path}"),
            Self::Commit(id) => write!(f, "commit:{id}"),
            Self::Symbol { path, name } => write!(f, "symbol:{path}#{name}"),
        }
    }
}

impl FromStr for Anchor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is no anchor; write path:src/a.rs, commit:4f2a9c1 or symbol:src/a.rs#run");
        let (what, rest) = text.split_once(':').ok_or_else(wrong)?;
        let is_line = !rest.is_empty() && one_line(rest) == rest;
        let anchor = match what {
            "path" => Self::Path(rest.to_owned()),
            "commit" => Self::Commit(rest.to_owned()),
            "symbol" => {
                let (path, name) = rest.rsplit_once('#').ok_or_else(wrong)?;
                Self::Symbol { path: path.to_owned(), name: name.to_owned() }
            }
            _ => return Err(wrong()),
        };
        let is_whole = match &anchor {
            Self::Path(_) => true,
            Self::Commit(id) => (4..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_hexdigit()),
            Self::Symbol { path, name } => !path.is_empty() && !name.is_empty(),
        };
        if is_line && is_whole { Ok(anchor) } else { Err(wrong()) }
    }
}

impl From<Anchor> for String {
    fn from(anchor: Anchor) -> Self {
        anchor.to_string()
    }
}

impl TryFrom<String> for Anchor {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl Meta {
    /// The last time that somebody said it, as far as its sources tell.
    pub fn confirmed(&self) -> Option<Timestamp> {
        self.sources.iter().map(|source| source.at).max()
    }

    /// As it is written: checked, without secrets, in whole seconds, sources in order and not too many.
    /// The kinds of secrets that were taken out are added to `redacted`.
    pub(super) fn taken_in(mut self, redacted: &mut Vec<&'static str>) -> Result<Self, TopicError> {
        self.created = self.created.map(seconds);
        self.expires = self.expires.map(seconds);
        if let Some(file) = self.superseded_by.as_ref().filter(|file| !is_topic(file)) {
            return Err(TopicError::BadName { file: file.clone() });
        }
        for anchor in &self.anchors {
            let text = anchor.to_string();
            if text.parse::<Anchor>().as_ref() != Ok(anchor) {
                return Err(TopicError::BadAnchor { anchor: text });
            }
        }
        let length: usize = self.anchors.iter().map(|anchor| anchor.to_string().chars().count()).sum();
        if length > ANCHORS {
            return Err(TopicError::TooLong { what: "list of anchors", length, limit: ANCHORS });
        }
        self.sources.sort_by_key(|source| source.at);
        self.sources.drain(..self.sources.len().saturating_sub(MOST_SOURCES));
        for source in &mut self.sources {
            source.at = seconds(source.at);
            let clean = redact(&one_line(&source.quote));
            redacted.extend_from_slice(clean.kinds());
            source.quote = cut(clean.text(), QUOTE);
            source.session =
                source.session.take().map(|id| cut(&one_line(&id), ID)).filter(|id| !id.is_empty());
            source.messages.truncate(MESSAGES);
            for id in &mut source.messages {
                *id = cut(&one_line(id), ID);
            }
            source.messages.retain(|id| !id.is_empty());
        }
        Ok(self)
    }
}

/// Without the part of a second.
fn seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

fn cut(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let kept: String = text.chars().take(chars - 1).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_text_and_back() {
        for text in ["path:src/a.rs", "commit:4f2a9c1", "symbol:src/a.rs#run", "path:a#b c", "symbol:a#b#c"] {
            assert_eq!(text.parse::<Anchor>().map(|anchor| anchor.to_string()), Ok(text.to_owned()));
        }
        for text in [
            "",
            "path:",
            "src/a.rs",
            "commit:xyz",
            "commit:4f",
            "symbol:a",
            "symbol:#a",
            "symbol:a#",
            "path:a\nb",
        ] {
            assert!(text.parse::<Anchor>().is_err(), "{text:?}");
        }
    }
}
