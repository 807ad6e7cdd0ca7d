//! Claude Code's folder: files of the same form, and an index.

use super::error::ExchangeError;
use super::import::Incoming;
use super::plan::{Action, Op, Plan, Step, read as read_file};
use super::{Outgoing, files_of, hash};
use crate::topics::{TopicStore, raw};
use std::collections::BTreeSet;
use std::path::Path;

/// Plans the files that go to a folder, and the lines of its index.
pub(super) fn export(plan: &mut Plan<'_>, folder: &Path, ours: &[Outgoing]) -> Result<(), ExchangeError> {
    let index = read_file(&folder.join(raw::INDEX_FILE))?;
    let mut lines = index.clone().unwrap_or_default();
    for memory in ours {
        let text = memory.document();
        let there = read_file(&folder.join(&memory.file));
        let there = match there {
            Ok(there) => there,
            // What can't be read is somebody else's.
            Err(error) => {
                plan.push(step(memory, Action::Conflict, error.to_string()), Op::Nothing);
                continue;
            }
        };
        if let Some(theirs) = from_there(plan, &memory.file) {
            let step = Step { theirs, ..step(memory, Action::Same, "it came from there".to_owned()) };
            plan.push(step, Op::Nothing);
            continue;
        }
        // What Claude Code notes of a file beside its words is no change of it.
        let (said, noted) = there.as_deref().map(raw::apart).unzip();
        let sent = plan.place.sent.get(&memory.file).cloned();
        let (action, why) = match (&said, sent) {
            (Some(said), _) if *said == text => (Action::Same, "it is there"),
            (Some(said), Some(sent)) if hash(said) == sent.hash => (Action::Update, "it was changed here"),
            (Some(_), Some(_)) => (Action::Conflict, "it was changed there; theirs stays"),
            (Some(_), None) => (Action::Conflict, "there is another file of that name; it stays"),
            (None, Some(sent)) if sent.hash == hash(&text) => {
                (Action::Conflict, "it was removed there, and is not written again")
            }
            (None, Some(_) | None) => (Action::Create, "it is not there"),
        };
        let op = if action.is_change() {
            let text = raw::together(&text, &noted.unwrap_or_default());
            Op::Write { relative: memory.file.clone(), text, expected: there.as_deref().map(hash) }
        } else {
            Op::Nothing
        };
        if action.is_change() || action == Action::Same {
            plan.note_sent(&memory.file, &memory.file, hash(&text));
            lines = raw::with_line(&lines, (&memory.file, &memory.name, &memory.description));
        }
        plan.push(step(memory, action, why.to_owned()), op);
    }
    for file in gone(plan, ours) {
        let Some(sent) = plan.place.sent.remove(&file) else { continue };
        let there = read_file(&folder.join(&file)).ok().flatten();
        let is_ours = there.as_ref().is_some_and(|text| hash(&raw::apart(text).0) == sent.hash);
        let expected = there.as_deref().map(hash).unwrap_or_default();
        let (action, why, op) = match (there, is_ours) {
            (None, _) => continue,
            (Some(_), true) => {
                lines = raw::without_line(&lines, &file);
                let op = Op::Remove { relative: file.clone(), expected };
                (Action::Remove, "it does not hold here any more", op)
            }
            (Some(_), false) => {
                (Action::Conflict, "it is over here, but was changed there; theirs stays", Op::Nothing)
            }
        };
        let step = Step {
            action,
            memory: file.clone(),
            ours: Some(file.clone()),
            theirs: file,
            why: why.to_owned(),
        };
        plan.push(step, op);
    }
    if Some(&lines) != index.as_ref() && !(index.is_none() && lines.is_empty()) {
        let expected = index.as_deref().map(hash);
        plan.push_last(Op::Write { relative: raw::INDEX_FILE.to_owned(), text: lines, expected });
    }
    Ok(())
}

/// Their name of a memory that we took from there.
pub(super) fn from_there(plan: &Plan<'_>, file: &str) -> Option<String> {
    plan.place.taken.iter().find(|(_, taken)| taken.file == file).map(|(key, _)| key.clone())
}

/// What we sent and do not have any more.
pub(super) fn gone(plan: &Plan<'_>, ours: &[Outgoing]) -> Vec<String> {
    let here: BTreeSet<&str> = ours.iter().map(|memory| memory.file.as_str()).collect();
    plan.place.sent.keys().filter(|file| !here.contains(file.as_str())).cloned().collect()
}

fn step(memory: &Outgoing, action: Action, why: String) -> Step {
    Step {
        action,
        memory: memory.name.clone(),
        ours: Some(memory.file.clone()),
        theirs: memory.file.clone(),
        why,
    }
}

/// The memories of a folder.
pub(super) fn read(plan: &mut Plan<'_>, folder: &Path) -> Result<Vec<Incoming>, ExchangeError> {
    let store = TopicStore::open(folder.to_owned());
    let mut items = Vec::new();
    for file in files_of(folder)?.into_iter().filter(|file| raw::is_memory(file)) {
        let read = read_file(&folder.join(&file)).and_then(|text| Ok((text, store.read(&file)?)));
        match read {
            Ok((Some(text), topic)) if topic.meta.superseded_by.is_none() => items.push(Incoming {
                hash: hash(&raw::apart(&text).0),
                key: file.clone(),
                kind: topic.kind,
                name: topic.name,
                description: topic.description,
                body: topic.body,
                is_proposal: false,
            }),
            Ok((Some(_), _)) => skip(plan, &file, "another memory there says it now"),
            Ok((None, _)) => {}
            Err(error) => skip(plan, &file, &error.to_string()),
        }
    }
    Ok(items)
}

pub(super) fn skip(plan: &mut Plan<'_>, file: &str, why: &str) {
    let step = Step {
        action: Action::Skip,
        memory: file.to_owned(),
        ours: None,
        theirs: file.to_owned(),
        why: why.to_owned(),
    };
    plan.push(step, Op::Nothing);
}
