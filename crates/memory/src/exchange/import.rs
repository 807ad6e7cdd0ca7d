//! What comes in: added, confirmed, proposed or offered, never put in the place of ours.

use super::error::ExchangeError;
use super::plan::{Action, Op, Plan, Step};
use super::topics;
use crate::topics::raw::{Likeness, one_line};
use crate::topics::{By, Meta, NewTopic, Source, TopicType};
use jiff::Timestamp;
use throughline_core::text::head;
use throughline_redact::redact;

/// Characters of a body that is taken in, as the folder has it.
const BODY: usize = 50_000;

/// A memory of somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Incoming {
    /// Their file or section.
    pub(super) key: String,
    /// Of all that was read.
    pub(super) hash: String,
    pub(super) kind: Option<TopicType>,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) body: String,
    /// Made by a model of whole sessions: a person decides.
    pub(super) is_proposal: bool,
}

/// A memory that is here, or will be.
struct Known {
    /// `None` for one that is to come.
    file: Option<String>,
    name: String,
    said: String,
    likeness: Likeness,
}

impl Known {
    fn of(file: Option<String>, (name, description, body): (&str, &str, &str)) -> Self {
        Self {
            file,
            name: name.to_owned(),
            said: one_line(body),
            likeness: Likeness::of(name, description, body),
        }
    }
}

pub(super) fn import(plan: &mut Plan<'_>, items: Vec<Incoming>, now: Timestamp) -> Result<(), ExchangeError> {
    let ours = topics(plan.store())?.into_iter().filter(|topic| topic.meta.superseded_by.is_none());
    let mut known: Vec<Known> = ours
        .map(|topic| Known::of(Some(topic.file), (&topic.name, &topic.description, &topic.body)))
        .collect();
    let sent: Vec<(String, String)> =
        plan.place.sent.values().map(|sent| (sent.theirs.clone(), sent.hash.clone())).collect();
    for item in items {
        let clean = |text: &str| redact(text).into_text();
        let (name, body) = (clean(&one_line(&item.name)), clean(item.body.trim()).replace("\r\n", "\n"));
        let description = clean(&one_line(&item.description));
        let step = |action: Action, ours: Option<String>, why: String| Step {
            action,
            memory: name.clone(),
            ours,
            theirs: item.key.clone(),
            why,
        };
        let mut nothing =
            |action, ours, why: &str| plan.push(step(action, ours, why.to_owned()), Op::Nothing);
        if body.is_empty() || name.is_empty() {
            nothing(Action::Skip, None, "it says nothing");
            continue;
        }
        if sent
            .iter()
            .any(|(theirs, hash)| (theirs == &item.key || theirs == &item.name) && hash == &item.hash)
        {
            nothing(Action::Same, None, "it came from here");
            continue;
        }
        if let Some(taken) = plan.place.taken.get(&item.key).cloned() {
            let is_here = known.iter().any(|known| known.file.as_ref() == Some(&taken.file));
            let (action, why) = match (taken.hash == item.hash, is_here) {
                (true, true) => (Action::Same, "it was taken in before".to_owned()),
                (true, false) => {
                    (Action::Skip, "it was taken in before, and forgotten here since".to_owned())
                }
                (false, true) => {
                    (Action::Offer, format!("it was changed there since {} was taken in", taken.file))
                }
                (false, false) => (Action::Offer, "it was changed there, and forgotten here".to_owned()),
            };
            plan.push(step(action, Some(taken.file), why), Op::Nothing);
            continue;
        }
        if body.chars().count() > BODY {
            plan.push(step(Action::Skip, None, format!("it has over {BODY} characters")), Op::Nothing);
            continue;
        }
        let this = Known::of(None, (&name, &description, &body));
        let near = known.iter().find(|known| known.said == this.said && known.name == this.name);
        let near = near.or_else(|| known.iter().find(|known| known.said == this.said));
        let near = near.or_else(|| known.iter().find(|known| known.likeness.is_near(&this.likeness)));
        let source = Source {
            by: By::Import,
            session: None,
            messages: Vec::new(),
            at: now,
            quote: format!("from {}: {}", plan.other.name(), clean(&item.key)),
        };
        match near {
            Some(Known { file: Some(file), said, .. }) if *said == this.said => {
                let op = Op::Confirm {
                    file: file.clone(),
                    source,
                    key: item.key.clone(),
                    hash: item.hash.clone(),
                };
                plan.push(step(Action::Confirm, Some(file.clone()), format!("{file} says the same")), op);
            }
            Some(Known { file, name: other, .. }) => {
                let other = file.clone().unwrap_or_else(|| other.clone());
                plan.push(
                    step(Action::Offer, file.clone(), format!("{other} says much the same")),
                    Op::Nothing,
                );
            }
            None => {
                let new = NewTopic {
                    kind: item.kind.unwrap_or(TopicType::Project),
                    name: head(&name, 120).to_owned(),
                    description: head(&description, 600).to_owned(),
                    body: body.clone(),
                    meta: Meta { created: Some(now), evidence: 1, sources: vec![source], ..Meta::default() },
                };
                let (action, why) = if item.is_proposal {
                    (Action::Propose, "made of sessions there; a person decides")
                } else {
                    (Action::Create, "it is not here")
                };
                let op = Op::Add { new: Box::new(new), key: item.key.clone(), hash: item.hash.clone() };
                plan.push(step(action, None, why.to_owned()), op);
                known.push(this);
            }
        }
    }
    Ok(())
}
