//! Commands.

use serde::{Deserialize, Deserializer, Serialize};

/// A command and its arguments, run without a shell. In settings it is a list, or a string that is split at blanks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Argv(Vec<String>);

impl Argv {
    /// A command from its words; none if there are none.
    pub fn new<S: Into<String>>(words: impl IntoIterator<Item = S>) -> Option<Self> {
        let words: Vec<String> = words.into_iter().map(Into::into).collect();
        if words.first().is_some_and(|program| !program.is_empty()) { Some(Self(words)) } else { None }
    }

    /// The program.
    pub fn program(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    /// Its arguments.
    pub fn arguments(&self) -> &[String] {
        self.0.get(1..).unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Argv {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Line(String),
            Words(Vec<String>),
        }
        let words = match Form::deserialize(deserializer)? {
            Form::Line(line) => line.split_whitespace().map(str::to_owned).collect(),
            Form::Words(words) => words,
        };
        Self::new(words).ok_or_else(|| serde::de::Error::custom("a command needs a program"))
    }
}
