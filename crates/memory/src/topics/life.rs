//! How long a memory holds.

use super::meta::Meta;
use super::{Topic, TopicHead, TopicType};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// How long memories hold after they were last said or changed, by what they are about; `None`: until somebody says otherwise.
///
/// A memory whose file names no type holds for ever: a person wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lifetimes {
    /// Who the user is.
    pub user: Option<SignedDuration>,
    /// How to work.
    pub feedback: Option<SignedDuration>,
    /// What is so in the project.
    pub project: Option<SignedDuration>,
    /// Where things are outside of it.
    pub reference: Option<SignedDuration>,
}

impl Default for Lifetimes {
    /// People and corrections stay; facts of a project hold for half a year, places outside for a year.
    fn default() -> Self {
        Self {
            user: None,
            feedback: None,
            project: Some(SignedDuration::from_hours(180 * 24)),
            reference: Some(SignedDuration::from_hours(365 * 24)),
        }
    }
}

/// What decides how long a memory holds.
#[derive(Clone, Copy, Debug)]
pub struct Aged<'a> {
    /// What is known of it.
    pub meta: &'a Meta,
    /// What it is about.
    pub kind: Option<TopicType>,
    /// When its file was last changed.
    pub modified: Timestamp,
}

impl<'a> From<&'a TopicHead> for Aged<'a> {
    fn from(head: &'a TopicHead) -> Self {
        Self { meta: &head.meta, kind: head.kind, modified: head.modified }
    }
}

impl<'a> From<&'a Topic> for Aged<'a> {
    fn from(topic: &'a Topic) -> Self {
        Self { meta: &topic.meta, kind: topic.kind, modified: topic.modified }
    }
}

impl Lifetimes {
    /// None of them ends.
    pub const ENDLESS: Self = Self { user: None, feedback: None, project: None, reference: None };

    /// Whether a memory still holds: no other took its place, and its time is not over.
    ///
    /// What it is superseded by is not looked at: a chain, a circle or a file that is gone makes no memory come back.
    pub fn is_live<'a>(&self, memory: impl Into<Aged<'a>>, now: Timestamp) -> bool {
        let memory = memory.into();
        memory.meta.superseded_by.is_none() && self.ends(memory).is_none_or(|end| now < end)
    }

    /// When a memory's time is over: by its own word, or by its type, whichever comes first. `None`: never.
    pub fn ends<'a>(&self, memory: impl Into<Aged<'a>>) -> Option<Timestamp> {
        let Aged { meta, kind, modified } = memory.into();
        let lifetime = match kind {
            Some(TopicType::User) => self.user,
            Some(TopicType::Feedback) => self.feedback,
            Some(TopicType::Project) => self.project,
            Some(TopicType::Reference) => self.reference,
            None => None,
        };
        let last = meta.confirmed().map_or(modified, |said| said.max(modified));
        // A time that no calendar has is never.
        let by_type = lifetime.and_then(|lifetime| last.checked_add(lifetime).ok());
        [meta.expires, by_type].into_iter().flatten().min()
    }
}
