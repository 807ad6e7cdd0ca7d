//! The block in `AGENTS.md`.

use super::block::{self, Block};
use super::error::ExchangeError;
use super::import::Incoming;
use super::plan::{Action, Op, Plan, Step, read as read_file};
use super::{Outgoing, hash};
use crate::topics::TopicType;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Bytes that a block may have. Agents read all of the file in every session.
const BLOCK: usize = 16 << 10;

const MEMORY: &str = "<!-- throughline:memory ";
const TITLE: &str = "## What is remembered\n\nNotes from earlier sessions: data to take into account, checked against the code before use.\n";

/// What the mark of a memory says of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    #[serde(rename = "type")]
    kind: TopicType,
    name: String,
    description: String,
}

/// A memory as the block has it: its mark, and all of it as text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    mark: Mark,
    body: String,
    text: String,
}

impl Item {
    fn of(memory: &Outgoing) -> Self {
        let mark =
            Mark { kind: memory.kind, name: memory.name.clone(), description: memory.description.clone() };
        // No comment ends inside of one.
        let said =
            serde_json::to_string(&mark).unwrap_or_default().replace('<', "\\u003c").replace('>', "\\u003e");
        let title = block::escaped(&memory.name);
        let body = block::escaped(&memory.body);
        let text = format!("\n{MEMORY}{said} -->\n### {title} ({})\n\n{body}\n", memory.kind);
        Self { mark, body: memory.body.clone(), text }
    }
}

/// Plans the block. What somebody else's memories put there stays.
pub(super) fn export(plan: &mut Plan<'_>, path: &Path, ours: &[Outgoing]) -> Result<(), ExchangeError> {
    let file = read_file(path)?;
    let text = file.clone().unwrap_or_default();
    let found = block::find(path, &text)?;
    let there = found.as_ref().map(|found| items(&text[found.inner.clone()])).unwrap_or_default();
    if let Some(Block { is_ours: false, .. }) = found {
        for memory in ours {
            let why = "the block was changed by hand; it stays until its markers are removed";
            plan.push(step(memory, Action::Conflict, why), Op::Nothing);
        }
        return Ok(());
    }
    let sent: BTreeMap<String, String> =
        plan.place.sent.iter().map(|(file, sent)| (sent.hash.clone(), file.clone())).collect();
    let here: BTreeSet<&str> = ours.iter().map(|memory| memory.file.as_str()).collect();
    // What others put there stays.
    let mine: BTreeSet<String> = ours.iter().map(|memory| Item::of(memory).text).collect();
    let theirs: Vec<&Item> = there
        .iter()
        .filter(|item| !sent.contains_key(&hash(&item.text)) && !mine.contains(&item.text))
        .collect();
    for item in &there {
        if let Some(file) = sent.get(&hash(&item.text)).filter(|file| !here.contains(file.as_str())) {
            let step = Step {
                action: Action::Remove,
                memory: item.mark.name.clone(),
                ours: Some(file.clone()),
                theirs: item.mark.name.clone(),
                why: "it does not hold here any more".to_owned(),
            };
            plan.push(step, Op::Nothing);
        }
    }
    plan.place.sent.retain(|file, _| here.contains(file.as_str()));

    let mut newest: Vec<&Outgoing> = ours.iter().collect();
    newest.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.file.cmp(&b.file)));
    let mut room =
        BLOCK.saturating_sub(TITLE.len() + theirs.iter().map(|item| item.text.len()).sum::<usize>());
    let mut chosen: BTreeMap<&str, Item> = BTreeMap::new();
    for memory in newest {
        let item = Item::of(memory);
        let before = there.iter().find(|old| old.text == item.text);
        if theirs.iter().any(|other| other.mark.name == memory.name) {
            plan.place.sent.remove(&memory.file);
            plan.push(
                step(memory, Action::Conflict, "somebody else's of that name is there; theirs stays"),
                Op::Nothing,
            );
            continue;
        }
        if item.text.len() > room {
            let action = if before.is_some() { Action::Remove } else { Action::Skip };
            plan.place.sent.remove(&memory.file);
            plan.push(step(memory, action, "there is no room for it in the block"), Op::Nothing);
            continue;
        }
        room -= item.text.len();
        let (action, why) = match before {
            Some(_) => (Action::Same, "it is there"),
            None if there.iter().any(|old| old.mark.name == memory.name) => {
                (Action::Update, "it was changed here")
            }
            None => (Action::Create, "it is not there"),
        };
        plan.note_sent(&memory.file, &memory.name, hash(&item.text));
        plan.push(step(memory, action, why), Op::Nothing);
        chosen.insert(&memory.file, item);
    }
    // In the order of files, so that the block changes only where memories do.
    let all =
        theirs.iter().map(|item| item.text.as_str()).chain(chosen.values().map(|item| item.text.as_str()));
    let inner: String = all.collect();
    let inner = if inner.is_empty() { inner } else { format!("{TITLE}{inner}") };
    let after = match (&found, inner.is_empty()) {
        (None, true) => text.clone(),
        (None, false) => appended(&text, &inner),
        (Some(found), _) => {
            let eol = line_end(&text);
            let block = block::compose(&inner, eol);
            format!("{}{block}{}", &text[..found.whole.start], &text[found.whole.end..])
        }
    };
    if after != text {
        let relative = path.file_name().and_then(|name| name.to_str()).unwrap_or("AGENTS.md").to_owned();
        plan.push_last(Op::Write { relative, text: after, expected: file.as_deref().map(hash) });
    }
    Ok(())
}

fn appended(text: &str, inner: &str) -> String {
    let eol = line_end(text);
    let gap = match text {
        "" => String::new(),
        text if text.ends_with("\n\n") || text.ends_with("\r\n\r\n") => String::new(),
        text if text.ends_with('\n') => eol.to_owned(),
        _ => format!("{eol}{eol}"),
    };
    format!("{text}{gap}{}{eol}", block::compose(inner, eol))
}

fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        Some(_) | None => "\n",
    }
}

fn step(memory: &Outgoing, action: Action, why: &str) -> Step {
    Step {
        action,
        memory: memory.name.clone(),
        ours: Some(memory.file.clone()),
        theirs: memory.name.clone(),
        why: why.to_owned(),
    }
}

/// The memories of a block.
fn items(inner: &str) -> Vec<Item> {
    let inner = block::plain(inner);
    let mut items = Vec::new();
    let Some(start) = inner.find(&format!("\n{MEMORY}")) else { return items };
    let mut rest = &inner[start..];
    while !rest.is_empty() {
        let next = rest[1..].find(&format!("\n{MEMORY}")).map_or(rest.len(), |at| at + 1);
        let text = &rest[..next];
        rest = &rest[next..];
        let Some((said, below)) = text[1..].strip_prefix(MEMORY).and_then(|text| text.split_once(" -->\n"))
        else {
            continue;
        };
        let Ok(mark) = serde_json::from_str::<Mark>(said) else { continue };
        let body = below.split_once('\n').map_or("", |(_, body)| body);
        items.push(Item { mark, body: block::unescaped(body.trim()), text: text.to_owned() });
    }
    items
}

/// The memories of a file's block, for an import.
pub(super) fn read(path: &Path) -> Result<Vec<Incoming>, ExchangeError> {
    let Some(text) = read_file(path)? else { return Ok(Vec::new()) };
    let Some(found) = block::find(path, &text)? else { return Ok(Vec::new()) };
    let items = items(&text[found.inner]).into_iter();
    Ok(items
        .map(|item| Incoming {
            key: item.mark.name.clone(),
            hash: hash(&item.text),
            kind: Some(item.mark.kind),
            name: item.mark.name,
            description: item.mark.description,
            body: item.body,
            is_proposal: false,
        })
        .collect())
}
