//! Codex's folder: notes that its consolidation takes up, and what it made of sessions.

use super::claude::{from_there, gone, skip};
use super::error::ExchangeError;
use super::import::Incoming;
use super::plan::{Action, Op, Plan, Step, read as read_file};
use super::sections::{self, Section};
use super::{Outgoing, files_of, hash};
use crate::topics::{TopicStore, TopicType, raw};
use jiff::Timestamp;
use std::path::Path;

/// Where notes for the consolidation are.
const NOTES: &str = "extensions/ad_hoc/notes";
/// Bytes of a note's name that are legible.
const SLUG: usize = 48;

/// Plans the notes. One that is gone was taken up there: it is written again only if it says something new.
pub(super) fn export(
    plan: &mut Plan<'_>,
    folder: &Path,
    ours: &[Outgoing],
    now: Timestamp,
) -> Result<(), ExchangeError> {
    let mut names = files_of(&folder.join(NOTES))?;
    for memory in ours {
        let text = memory.document();
        if let Some(theirs) = from_there(plan, &memory.file) {
            let step = Step {
                action: Action::Same,
                memory: memory.name.clone(),
                ours: Some(memory.file.clone()),
                theirs,
                why: "it came from there".to_owned(),
            };
            plan.push(step, Op::Nothing);
            continue;
        }
        let sent = plan.place.sent.get(&memory.file).cloned();
        let there = match &sent {
            Some(sent) => read_file(&folder.join(&sent.theirs))?,
            None => None,
        };
        let (action, why) = match (&sent, &there) {
            (Some(sent), _) if sent.hash == hash(&text) => (Action::Same, "it was noted there"),
            (Some(sent), Some(there)) if hash(there) == sent.hash => (Action::Update, "it was changed here"),
            (Some(_), Some(_)) => (Action::Conflict, "the note was changed there; theirs stays"),
            (Some(_), None) => (Action::Create, "it was changed here since it was noted"),
            (None, _) => (Action::Create, "it was not noted there yet"),
        };
        let relative = match (&sent, action) {
            (Some(sent), Action::Update | Action::Same | Action::Conflict) => sent.theirs.clone(),
            (Some(_) | None, _) => free_name(&memory.name, now, &mut names),
        };
        let op = if action.is_change() {
            plan.note_sent(&memory.file, &relative, hash(&text));
            Op::Write { relative: relative.clone(), text, expected: there.as_deref().map(hash) }
        } else {
            Op::Nothing
        };
        let step = Step {
            action,
            memory: memory.name.clone(),
            ours: Some(memory.file.clone()),
            theirs: relative,
            why: why.to_owned(),
        };
        plan.push(step, op);
    }
    for file in gone(plan, ours) {
        let Some(sent) = plan.place.sent.remove(&file) else { continue };
        let there = read_file(&folder.join(&sent.theirs)).ok().flatten();
        let (action, why) = match there {
            Some(text) if hash(&text) == sent.hash => (Action::Remove, "it does not hold here any more"),
            Some(_) => (Action::Conflict, "it is over here, but was changed there; theirs stays"),
            None => (Action::Skip, "it is over here, but was taken up there already"),
        };
        let op = if action == Action::Remove {
            Op::Remove { relative: sent.theirs.clone(), expected: sent.hash }
        } else {
            Op::Nothing
        };
        let step =
            Step { action, memory: file.clone(), ours: Some(file), theirs: sent.theirs, why: why.to_owned() };
        plan.push(step, op);
    }
    Ok(())
}

/// `<time>-<slug>.md`, with a number behind if that is taken.
fn free_name(name: &str, now: Timestamp, names: &mut Vec<String>) -> String {
    let mut slug = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() && slug.len() + c.len_utf8() <= SLUG {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_matches('-');
    let slug = if slug.is_empty() { "memory" } else { slug };
    let lead = format!("{}-{slug}", now.strftime("%Y-%m-%dT%H-%M-%S"));
    let free = std::iter::once(format!("{lead}.md")).chain((2..).map(|n| format!("{lead}-{n}.md")));
    let file = free.into_iter().find(|file| !names.contains(file)).unwrap_or_default();
    names.push(file.clone());
    format!("{NOTES}/{file}")
}

/// Notes, as memories; sections of what was consolidated, as proposals.
pub(super) fn read(plan: &mut Plan<'_>, folder: &Path) -> Result<Vec<Incoming>, ExchangeError> {
    let mut items = Vec::new();
    let notes = folder.join(NOTES);
    let store = TopicStore::open(notes.clone());
    for file in files_of(&notes)?.into_iter().filter(|file| raw::is_memory(file)) {
        let key = format!("{NOTES}/{file}");
        match read_file(&notes.join(&file)).and_then(|text| Ok((text, store.read(&file)?))) {
            Ok((Some(text), topic)) => items.push(Incoming {
                hash: hash(&text),
                key,
                kind: topic.kind,
                name: topic.name,
                description: topic.description,
                body: topic.body,
                is_proposal: false,
            }),
            Ok((None, _)) => {}
            Err(error) => skip(plan, &key, &error.to_string()),
        }
    }
    // The summary is what sessions are told there; the handbook of older versions is longer; raw memories are what it was made of.
    let summary = proposals(plan, folder, "memory_summary.md")?;
    let handbook = proposals(plan, folder, "MEMORY.md")?;
    let raw = if handbook.is_empty() && summary.is_empty() {
        proposals(plan, folder, "raw_memories.md")?
    } else {
        Vec::new()
    };
    items.extend(summary.into_iter().chain(handbook).chain(raw));
    Ok(items)
}

fn proposals(plan: &mut Plan<'_>, folder: &Path, file: &str) -> Result<Vec<Incoming>, ExchangeError> {
    let text = match read_file(&folder.join(file)) {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(Vec::new()),
        Err(error) => {
            skip(plan, file, &error.to_string());
            return Ok(Vec::new());
        }
    };
    let sections = sections::sections(&text);
    Ok(sections.into_iter().filter_map(|section| proposal(file, section)).collect())
}

fn proposal(file: &str, section: Section) -> Option<Incoming> {
    let heading = section.heading.to_lowercase();
    let kind = if heading.contains("profile") {
        TopicType::User
    } else if heading.contains("preference") || heading.contains("tips") {
        TopicType::Feedback
    } else if heading.contains("what's in memory") || heading.contains("what’s in memory") {
        // A list of where to look in that folder: of no use outside of it.
        return None;
    } else {
        TopicType::Project
    };
    Some(Incoming {
        key: format!("{file}#{}", section.name),
        hash: hash(&section.text),
        kind: Some(kind),
        name: section.name,
        description: String::new(),
        body: section.text,
        is_proposal: true,
    })
}
