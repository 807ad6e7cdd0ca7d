//! Takes in the parts of a memory: checked. A part with a credential in it is refused.

use super::error::TopicError;
use super::yaml::one_line;
use super::{Change, Meta, NewTopic, TopicType};
use throughline_core::text::head;
use throughline_redact::redact;

/// Characters that a memory's parts have at most.
const NAME: usize = 120;
const DESCRIPTION: usize = 600;
pub(super) const BODY: usize = 50_000;

/// Characters of a body that describe a memory which has no description.
const FIRST: usize = 200;

/// A memory that may be written.
pub(super) struct Taken {
    pub(super) topic: NewTopic,
    /// The kinds of secrets that were taken out of its sources.
    pub(super) redacted: Vec<&'static str>,
}

/// A change that may be written.
pub(super) struct TakenChange {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) kind: Option<TopicType>,
    pub(super) body: Option<String>,
    pub(super) meta: Option<Meta>,
    /// The kinds of secrets that were taken out of its sources.
    pub(super) redacted: Vec<&'static str>,
}

/// Takes in a new memory.
pub(super) fn topic(new: NewTopic) -> Result<Taken, TopicError> {
    let mut redacted = Vec::new();
    let body = text(("text", BODY), &new.body)?;
    let name = text(("name", NAME), &one_line(&new.name))?;
    let described = one_line(&new.description);
    let description = if described.is_empty() {
        head(&one_line(first_line(&body)), FIRST).to_owned()
    } else {
        text(("description", DESCRIPTION), &described)?
    };
    let meta = new.meta.taken_in(&mut redacted)?;
    Ok(Taken { topic: NewTopic { kind: new.kind, name, description, body, meta }, redacted })
}

/// Takes in a change.
pub(super) fn change(change: Change) -> Result<TakenChange, TopicError> {
    let mut redacted = Vec::new();
    let Change { kind, name, description, body, meta } = change;
    let name = name.map(|name| text(("name", NAME), &one_line(&name))).transpose()?;
    let description =
        description.map(|described| text(("description", DESCRIPTION), &one_line(&described))).transpose()?;
    let body = body.map(|body| text(("text", BODY), &body)).transpose()?;
    let meta = meta.map(|meta| meta.taken_in(&mut redacted)).transpose()?;
    Ok(TakenChange { name, description, kind, body, meta, redacted })
}

fn text((what, limit): (&'static str, usize), given: &str) -> Result<String, TopicError> {
    let length = given.chars().count();
    if length > limit {
        return Err(TopicError::TooLong { what, length, limit });
    }
    let clean = redact(given.trim());
    if clean.text().is_empty() {
        return Err(TopicError::Empty { what });
    }
    if !clean.is_clean() {
        return Err(TopicError::credential(what, &clean));
    }
    Ok(clean.into_text())
}

/// The first line that says something.
pub(super) fn first_line(body: &str) -> &str {
    body.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}
