//! P1, tool result budget: a result that is too long is put aside, and a preview stands for it.
//!
//! What is decided about a result never flips: what was sent is not touched again, whether whole or as a preview.

use super::result::{self, Place, Shown};
use super::{Proposal, Scene, freed_by, handle, repeated};
use crate::profile::BudgetLimits;
use crate::text::head;
use crate::tokens::Counter;
use crate::{Block, Body, CallId, Entry, GroupId, MessageId, ResultContent, Role, Stage, ToolResult};
use std::collections::HashMap;
use std::ops::Range;

/// What the budget proposes: an edit, and the texts to save before it is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The edit.
    pub proposal: Proposal,
    /// The texts that the previews stand for.
    pub persist: Vec<Persisted>,
}

/// A text to save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Persisted {
    /// The call whose result it is.
    pub call: CallId,
    /// Where, below the session's folder; see [`file_name`].
    pub file_name: String,
    /// The whole text of the result; pictures are no part of it, they stay in the view.
    pub text: String,
}

/// Puts aside each new result over [`result_chars`](BudgetLimits::result_chars); then, where all results between two
/// answers of the model have more than [`message_chars`](BudgetLimits::message_chars) together, the largest of them
/// until they fit. Nothing is replaced by something that has as many tokens.
///
/// `place` says how the model is told where the file of [`file_name`] is; it is asked with the id that names the file.
pub fn propose(
    scene: &Scene<'_>,
    limits: &BudgetLimits,
    counter: &mut Counter,
    place: &dyn Fn(&CallId) -> String,
) -> Option<Outcome> {
    let mut desk = Desk {
        scene,
        shown: Shown::of(scene.entries),
        limits,
        counter,
        place,
        names: Names::of(scene.entries),
        chosen: Vec::new(),
        persist: Vec::new(),
        freed: 0,
    };
    let repeated = repeated(scene.entries);
    for run in runs(scene.entries).filter(|run| run.end > scene.sent) {
        let mut items: Vec<Item> = Vec::new();
        for at in run {
            let entry = &scene.entries[at];
            let is_fixed = at < scene.sent || entry.pinned.is_some() || repeated.contains(&entry.message.id);
            for (place, result) in desk.shown.results(at) {
                let decided =
                    is_fixed || !result::takes_words(result) || desk.shown.is_replaced(entry, place);
                items.push(Item { place, chars: chars(result), decided });
            }
        }
        desk.fit(items);
    }
    desk.finish()
}

/// The file that a call's result is saved to: `tool-results/<id>.txt`. No two ids name the same file, and none names a
/// file elsewhere: an id that can't be a plain file name is followed by its hash.
///
/// ```
/// use throughline_core::stages::budget::file_name;
///
/// assert_eq!(file_name(&"toolu_01AbC".into()), "tool-results/toolu_01AbC.txt");
/// assert!(file_name(&"../../etc/passwd".into()).starts_with("tool-results/etcpasswd."));
/// ```
pub fn file_name(call: &CallId) -> String {
    const LONGEST: usize = 100;
    let id = call.as_str();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !id.is_empty() && id.len() <= LONGEST && id.chars().all(is_plain) && !is_device(id) {
        return format!("tool-results/{id}.txt");
    }
    // The dot keeps these names apart from all plain ones.
    let legible: String = id.chars().filter(|&c| is_plain(c)).take(40).collect();
    let hash = blake3::hash(id.as_bytes()).to_hex();
    format!("tool-results/{legible}.{}.txt", &hash[..32])
}

/// Names that Windows keeps for devices, whatever their extension.
fn is_device(id: &str) -> bool {
    let id = id.to_ascii_lowercase();
    let numbered = |name: &str| id.strip_prefix(name).is_some_and(|n| matches!(n.as_bytes(), [b'0'..=b'9']));
    matches!(id.as_str(), "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt")
}

/// The parts of the view that are one user message for the provider: everything between two answers of the model.
fn runs(entries: &[Entry]) -> impl Iterator<Item = Range<usize>> {
    let mut ends = Vec::new();
    let mut group: Option<&GroupId> = None;
    for (at, entry) in entries.iter().enumerate() {
        if entry.message.role == Role::Assistant {
            // Results may be recorded between two records of one answer: they are sent behind it, together.
            if group.is_none() || group != entry.message.group.as_ref() {
                ends.push(at);
            }
            group = entry.message.group.as_ref();
        }
    }
    ends.push(entries.len());
    let mut start = 0;
    ends.into_iter().map(move |end| std::mem::replace(&mut start, end)..end)
}

/// Characters of a result's words.
fn chars(result: &ToolResult) -> usize {
    match &result.content {
        ResultContent::Text(text) => text.chars().count(),
        ResultContent::Parts(parts) => parts
            .iter()
            .map(|part| match &part.body {
                Body::Text(text) => text.chars().count(),
                Body::Reasoning { .. }
                | Body::ToolCall(_)
                | Body::ToolResult(_)
                | Body::Image(_)
                | Body::Document(_)
                | Body::Unknown(_) => 0,
            })
            .sum(),
    }
}

#[derive(Clone, Copy)]
struct Item {
    place: Place,
    chars: usize,
    /// It can't be replaced, or was.
    decided: bool,
}

/// Collects what is replaced.
struct Desk<'a> {
    scene: &'a Scene<'a>,
    shown: Shown<'a>,
    limits: &'a BudgetLimits,
    counter: &'a mut Counter,
    place: &'a dyn Fn(&CallId) -> String,
    names: Names,
    chosen: Vec<(Place, Block)>,
    persist: Vec<Persisted>,
    freed: i64,
}

impl Desk<'_> {
    /// Makes the results of one API message fit.
    fn fit(&mut self, mut items: Vec<Item>) {
        for item in items.iter_mut().filter(|item| !item.decided && item.chars > self.limits.result_chars) {
            self.put_aside(item);
        }
        let mut together: usize = items.iter().map(|item| item.chars).sum();
        if together <= self.limits.message_chars {
            return;
        }
        items.retain(|item| !item.decided);
        items.sort_by_key(|item| (std::cmp::Reverse(item.chars), item.place));
        for item in &mut items {
            if together <= self.limits.message_chars {
                break;
            }
            let before = item.chars;
            self.put_aside(item);
            together = together - before + item.chars;
        }
    }

    /// Replaces one result, if that makes it smaller.
    fn put_aside(&mut self, item: &mut Item) {
        item.decided = true;
        let entry = &self.scene.entries[item.place.0];
        let Some((block, result)) = self.shown.result(item.place) else { return };
        let text = words(&result.content);
        let name = self.names.name(&result.call, &text);
        let note = self.preview(&entry.message.id, &name, item.chars, &text);
        let chars = note.chars().count();
        let with = result::with_content(block, result, with_note(&result.content, note));
        let freed = freed_by(self.counter, block, &with);
        if freed <= 0 {
            return;
        }
        item.chars = chars;
        self.freed += freed;
        self.chosen.push((item.place, with));
        self.persist.push(Persisted { call: result.call.clone(), file_name: file_name(&name), text });
    }

    fn preview(&self, message: &MessageId, name: &CallId, chars: usize, text: &str) -> String {
        let at = (self.place)(name);
        let recall = match self.scene.tools.recall {
            true => format!("{}\n", handle(message)),
            false => String::new(),
        };
        let shown = head(text, self.limits.preview_bytes);
        let size = size(self.limits.preview_bytes);
        format!(
            "<persisted-output>\nOutput too large ({chars} chars). Full output saved to: {at}\n{recall}\nPreview (first {size}):\n{shown}\n</persisted-output>"
        )
    }

    fn finish(mut self) -> Option<Outcome> {
        if self.chosen.is_empty() {
            return None;
        }
        let count = self.chosen.len();
        self.chosen.sort_by_key(|(place, _)| *place);
        let entries = self.scene.entries;
        let ops = self
            .chosen
            .into_iter()
            .map(|((at, b), with)| result::replace(&entries[at].message.id, b, with))
            .collect();
        let results = if count == 1 { "1 tool result was" } else { &format!("{count} tool results were") };
        let reason = format!("{results} too long to send whole");
        let proposal = Proposal { stage: Stage::Budget, reason, ops, freed: self.freed };
        Some(Outcome { proposal, persist: self.persist })
    }
}

/// All words of a result, parts joined by newlines.
fn words(content: &ResultContent) -> String {
    match content {
        ResultContent::Text(text) => text.clone(),
        ResultContent::Parts(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(as_text).collect();
            texts.join("\n")
        }
    }
}

fn as_text(part: &Block) -> Option<&str> {
    match &part.body {
        Body::Text(text) => Some(text),
        Body::Reasoning { .. }
        | Body::ToolCall(_)
        | Body::ToolResult(_)
        | Body::Image(_)
        | Body::Document(_)
        | Body::Unknown(_) => None,
    }
}

/// The content with `note` in place of its words; what is not words stays where it is.
fn with_note(content: &ResultContent, note: String) -> ResultContent {
    let parts = match content {
        ResultContent::Text(_) => return ResultContent::Text(note),
        ResultContent::Parts(parts) => parts,
    };
    let mut note = Some(note);
    let keep = |part: &Block| match as_text(part) {
        None => Some(part.clone()),
        Some(_) => note.take().map(|note| {
            let mut shape = part.shape.clone();
            if let Some(shape) = &mut shape {
                shape.release("text");
            }
            Block { body: Body::Text(note), shape }
        }),
    };
    ResultContent::Parts(parts.iter().filter_map(keep).collect())
}

fn size(bytes: usize) -> String {
    if bytes >= 1_024 && bytes.is_multiple_of(1_024) {
        format!("{} KB", bytes / 1_024)
    } else {
        format!("{bytes} bytes")
    }
}

/// How many results of the view answer each call. Where several answer one, each is saved under a name of its own.
struct Names(HashMap<CallId, usize>);

impl Names {
    fn of(entries: &[Entry]) -> Self {
        let mut counts: HashMap<CallId, usize> = HashMap::new();
        for result in entries.iter().flat_map(|entry| entry.message.results()) {
            *counts.entry(result.call.clone()).or_default() += 1;
        }
        counts.retain(|_, count| *count > 1);
        Self(counts)
    }

    fn name(&self, call: &CallId, text: &str) -> CallId {
        if !self.0.contains_key(call) {
            return call.clone();
        }
        let hash = blake3::hash(text.as_bytes()).to_hex();
        CallId::new(format!("{call}.{}", &hash[..16]))
    }
}
