//! What a compaction carries over beside the text: the client's instructions that hold, and what waits for an answer.

use super::window::align;
use crate::classify::Ask;
use crate::facts::Requests;
use crate::guarantee::{InForce, Need, in_force};
use crate::text::{head, tail};
use crate::tokens::Counter;
use crate::{Block, Body, EditId, Entry, Message, MessageId, Overlay, ResultContent, Role, content_id};
use std::collections::{BTreeMap, HashSet};

/// A message with instructions is kept whole if what else stands in it has at most this many tokens.
const BESIDE: u64 = 1_500;

/// Instructions that hold, ready to stand in front of the text.
#[derive(Clone, Debug, Default)]
pub(super) struct Carried {
    /// The messages, and which of them are new.
    pub(super) entries: Vec<(Entry, bool)>,
    /// Tokens of all of them.
    pub(super) tokens: u64,
}

impl Carried {
    /// The messages of the view before `start` that are carried over, whole or in part.
    pub(super) fn ids(&self) -> HashSet<&MessageId> {
        self.entries.iter().filter(|(_, is_new)| !is_new).map(|(entry, _)| &entry.message.id).collect()
    }
}

/// The instructions that hold, of messages that were left out before and of the view, within `most` tokens: what matters least is left
/// out first. What is not current the host tells anew.
pub(super) fn carry(
    (left_out, view): (&[Entry], &[Entry]),
    is_current: &dyn Fn(&Entry) -> bool,
    requests: &Requests,
    most: u64,
    counter: &mut Counter,
) -> Carried {
    let entries: Vec<Entry> = left_out.iter().chain(view).cloned().collect();
    let mut holding: Vec<InForce<'_>> =
        in_force(&entries).into_iter().filter(|fragment| is_current(&entries[fragment.at])).collect();
    let mut carried = Carried::default();
    let cost = |fragment: &InForce<'_>, counter: &mut Counter| counter.text(fragment.text) + 4;
    let is_opaque = |at: &usize| is_opaque(&entries[*at].message) && is_current(&entries[*at]);
    let opaque: Vec<usize> = (left_out.len()..entries.len()).filter(is_opaque).collect();
    let mut total: u64 = holding.iter().map(|fragment| cost(fragment, counter)).sum();
    total += opaque.iter().map(|&at| counter.message(&entries[at].message).total()).sum::<u64>();
    // On some wires the system prompt is a message: it stays, as it does where it stands apart.
    let is_prompt = |fragment: &InForce<'_>| {
        fragment.at == left_out.len() && entries[fragment.at].message.role == Role::System
    };
    for need in [Need::Fragment, Need::ProjectInstructions] {
        // The largest go first: one of them makes room for all the others.
        while total > most {
            let largest = holding
                .iter()
                .enumerate()
                .filter(|(_, fragment)| fragment.need == need && !is_prompt(fragment))
                .max_by_key(|(_, fragment)| fragment.text.len())
                .map(|(at, _)| at);
            let Some(at) = largest else { break };
            total -= cost(&holding[at], counter);
            holding.remove(at);
        }
    }
    let mut by_entry: BTreeMap<usize, Vec<InForce<'_>>> = BTreeMap::new();
    for fragment in holding {
        by_entry.entry(fragment.at).or_default().push(fragment);
    }
    for &at in &opaque {
        by_entry.entry(at).or_default();
    }
    for (at, fragments) in by_entry {
        let entry = &entries[at];
        if opaque.contains(&at) {
            carried.tokens += counter.message(&entry.message).total();
            carried.entries.push((entry.clone(), false));
            continue;
        }
        let carried_tokens: u64 = fragments.iter().map(|fragment| counter.text(fragment.text)).sum();
        let whole = counter.message(&entry.message).total();
        let is_in_force = requests
            .all()
            .iter()
            .rev()
            .find(|request| request.ask.message == entry.message.id)
            .is_none_or(|request| request.is_in_force());
        let has_results = entry.message.results().next().is_some();
        if at >= left_out.len() && whole <= carried_tokens + BESIDE && is_in_force && !has_results {
            carried.tokens += whole;
            carried.entries.push((entry.clone(), false));
        } else {
            let message = only(&entry.message, &fragments);
            carried.tokens += counter.message(&message).total();
            carried.entries.push((message.into(), true));
        }
    }
    carried
}

/// A message with these fragments only.
fn only(message: &Message, fragments: &[InForce<'_>]) -> Message {
    let role = match message.role {
        Role::System | Role::Developer | Role::User | Role::Assistant => message.role,
        Role::Tool => Role::User,
    };
    let blocks = fragments.iter().map(|fragment| Block::text(fragment.text)).collect();
    let mut only = Message::new(role, blocks);
    only.at = message.at;
    only.flags = message.flags;
    only.id = content_id(Some(&message.id), &only);
    only
}

/// Returns true for an item of the client that is neither a message nor a task, such as Codex's list of tools in front: it stays as it is.
fn is_opaque(message: &Message) -> bool {
    let is_unknown = |block: &Block| matches!(block.body, Body::Unknown(_));
    matches!(message.role, Role::System | Role::Developer)
        && message.blocks.iter().any(is_unknown)
        && !is_sealed_task(message)
}

/// Returns true for a task of another agent that only the provider can read: Codex hands its sub-agents theirs in an item of its own, in
/// part encrypted. Nobody can tell it in other words, so it stays as it is.
pub(super) fn is_sealed_task(message: &Message) -> bool {
    message.blocks.iter().any(|block| match &block.body {
        Body::Unknown(item) => item["type"] == "agent_message" && item.to_string().contains("NEW_TASK"),
        Body::Text(_)
        | Body::Reasoning { .. }
        | Body::ToolCall(_)
        | Body::ToolResult(_)
        | Body::Image(_)
        | Body::Document(_) => false,
    })
}

/// What waits for an answer: the messages behind the model's last one, with the calls that their results belong to.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    /// Where they begin.
    pub(super) start: usize,
    /// The entries, shortened where there was no room.
    pub(super) entries: Vec<Entry>,
    /// Tokens of all of them.
    pub(super) tokens: u64,
}

/// Where what waits for an answer begins: behind the model's last answer, or with the calls that results there belong to.
pub(super) fn pending_start(entries: &[Entry]) -> usize {
    let answered =
        entries.iter().rposition(|entry| entry.message.role == Role::Assistant).map_or(0, |at| at + 1);
    if answered >= entries.len() { entries.len() } else { align(entries, answered) }
}

/// What waits for an answer, within `most` tokens: long results and messages are shortened to their beginning and end, with a handle
/// where the model has `Recall`.
pub(super) fn pending(
    entries: &[Entry],
    tokens: &[u64],
    most: u64,
    has_recall: bool,
    counter: &mut Counter,
) -> Pending {
    let start = pending_start(entries);
    let mut kept: Vec<Entry> = entries[start..].to_vec();
    let mut sizes: Vec<u64> = tokens[start..].to_vec();
    // The largest is shortened first, until all fit or nothing more can be gained; many results at once have less each.
    for least in LEAST_SHOWN {
        let mut tried: HashSet<usize> = HashSet::new();
        while sizes.iter().sum::<u64>() > most {
            let may_shrink = |at: &usize| !tried.contains(at) && kept[*at].pinned.is_none();
            let largest = (0..kept.len()).filter(may_shrink).max_by_key(|&at| sizes[at]);
            let Some(at) = largest else { break };
            tried.insert(at);
            let over = sizes.iter().sum::<u64>() - most;
            let least_here = least * long_blocks(&entries[start + at], least).max(1);
            let most_here = sizes[at].saturating_sub(over).max(least_here);
            let share = Share { most: most_here, least: least_here, block: least };
            if let Some((short, size)) = shortened_to(&entries[start + at], share, has_recall, counter)
                && size < sizes[at]
            {
                sizes[at] = size;
                kept[at] = short;
            }
        }
    }
    Pending { start, entries: kept, tokens: sizes.iter().sum() }
}

/// An entry in about `most` tokens, with its size: how many bytes a token has is not known before it is counted.
fn shortened_to(
    entry: &Entry,
    share: Share,
    has_recall: bool,
    counter: &mut Counter,
) -> Option<(Entry, u64)> {
    const TRIES: usize = 4;
    let Share { most, least, block } = share;
    let mut aim = most;
    let mut best = None;
    for _ in 0..TRIES {
        let Some(short) = shortened(entry, aim, block, has_recall) else { break };
        let size = counter.message(&short.shown()).total();
        let fits = size <= most;
        best = Some((short, size));
        if fits || aim <= least {
            break;
        }
        // A little below the share that the first guess was off by.
        aim = (aim * most / size.max(1) * 98 / 100).max(least);
    }
    best
}

/// Tokens that an entry may have.
#[derive(Clone, Copy)]
struct Share {
    most: u64,
    /// It is not shortened further.
    least: u64,
    /// Tokens that each of its long blocks keeps at least.
    block: u64,
}

/// Tokens that a shortened block keeps at least, and where there are too many of them.
const LEAST_SHOWN: [u64; 4] = [400, 220, 110, 60];
/// What begins and ends the placeholder of a result that was put aside.
const PERSISTED_OPEN: &str = "<persisted-output>";
const PERSISTED_CLOSE: &str = "</persisted-output>";
/// Bytes of a token, for the first guess.
const BYTES: u64 = 3;

/// An entry whose long texts and results are shown by their beginning and end; `None` if that would gain nothing.
fn shortened(entry: &Entry, most: u64, least: u64, has_recall: bool) -> Option<Entry> {
    let message = &entry.message;
    let shown = entry.shown();
    let longs = long_blocks(entry, least).max(1);
    let bytes = (most * BYTES / longs) as usize;
    let mut short = entry.clone();
    let edit = EditId::fresh();
    for (at, block) in shown.blocks.iter().enumerate().filter(|(_, block)| is_long(block, least)) {
        let with = match &block.body {
            Body::ToolResult(result) => {
                let text = result.content.to_text();
                let Some(short) = ends(&text, bytes, &message.id, has_recall) else { continue };
                let content = ResultContent::Text(short);
                crate::stages::with_result_content(block, result, content)
            }
            Body::Text(_) => {
                let ask = Ask::read(message)?;
                let passages = ask.passages().join("\n");
                let id = handle_line(&message.id, has_recall);
                Block::text(format!(
                    "{passages}\n[the rest of this message, {} bytes, is left out{id}]",
                    message.to_text().len()
                ))
            }
            Body::Reasoning { .. }
            | Body::ToolCall(_)
            | Body::Image(_)
            | Body::Document(_)
            | Body::Unknown(_) => continue,
        };
        short.overlays.push(Overlay { edit: edit.clone(), block: at, with: Box::new(with), in_part: true });
    }
    (short.overlays.len() > entry.overlays.len()).then_some(short)
}

/// The number of blocks of an entry that are worth shortening.
fn long_blocks(entry: &Entry, least: u64) -> u64 {
    entry.shown().blocks.iter().filter(|block| is_long(block, least)).count() as u64
}

/// Returns true for a block that is worth shortening where each keeps at least so many tokens.
fn is_long(block: &Block, least: u64) -> bool {
    const LONG: usize = 1_200;
    let long = (least * BYTES + least * BYTES / 4) as usize;
    match &block.body {
        Body::ToolResult(result) => result.content.to_text().len() > long.min(LONG),
        Body::Text(text) => text.len() > LONG,
        Body::Reasoning { .. }
        | Body::ToolCall(_)
        | Body::Image(_)
        | Body::Document(_)
        | Body::Unknown(_) => false,
    }
}

/// Beginning and end of a text, and how to read the rest.
fn ends(text: &str, bytes: usize, id: &MessageId, has_recall: bool) -> Option<String> {
    if text.len() <= bytes {
        return None;
    }
    // A placeholder keeps the way back that it names; of its preview the beginning stays.
    if let Some((way_back, preview)) = text.split_once("\n\n").filter(|_| text.starts_with(PERSISTED_OPEN)) {
        let room = bytes.saturating_sub(way_back.len() + PERSISTED_CLOSE.len());
        let preview = head(preview.trim_end().trim_end_matches(PERSISTED_CLOSE), room);
        return Some(format!("{way_back}\n\n{preview}\n…\n{PERSISTED_CLOSE}"))
            .filter(|short| short.len() < text.len());
    }
    let (first, last) = (head(text, bytes * 2 / 3), tail(text, bytes / 3));
    let left_out = text.len() - first.len() - last.len();
    Some(format!(
        "{first}\n[… {left_out} bytes left out: the window is too small for all of it{} …]\n{last}",
        handle_line(id, has_recall)
    ))
}

fn handle_line(id: &MessageId, has_recall: bool) -> String {
    match has_recall {
        true => format!("; read it with Recall: {}", crate::stages::recall_handle(id)),
        false => "; run the call again for a part of it".to_owned(),
    }
}
