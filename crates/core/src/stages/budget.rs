//! P1, tool result budget: a result that is too long is put aside, and a placeholder stands for it.
//!
//! Two rules, by the profile. [`propose`] goes by size, as the source system does: results over a number of characters are
//! put aside, whatever room there is. [`fit`] goes by the window: only when a request would not fit otherwise, as few
//! results as needed, and each keeps as much of its beginning and its end as there is room for.
//!
//! What is decided about a result never flips: what was sent is not touched again, whether whole or as a placeholder. What
//! the model reads back is never put aside.

mod placeholder;

pub use placeholder::{Placeholder, ROW_CHARS, recognise, rows};

use super::pairing::pairs;
use super::result::{self, Place, Shown};
use super::{Proposal, Scene, freed_by, repeated, snip};
use crate::facts::Action;
use crate::profile::BudgetLimits;
use crate::tokens::Counter;
use crate::{
    Block, Body, CallId, Entry, GroupId, MessageId, ResultContent, Role, Stage, ToolCall, ToolResult, recall,
};
use placeholder::Source;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// What the budget proposes: an edit, and the texts to save before it is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The edit.
    pub proposal: Proposal,
    /// The texts that the placeholders stand for.
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

/// The folder of saved results, below the session's folder.
pub const FOLDER: &str = "tool-results";

/// How saved results can be read.
#[derive(Clone, Copy)]
pub struct SavedFiles<'a> {
    /// The path of a file below the session's folder; `None`: nothing is saved.
    pub path: &'a dyn Fn(&str) -> Option<String>,
    /// Whether the model has a tool that may read them.
    pub are_readable: bool,
}

/// Puts aside each new result over [`result_chars`](BudgetLimits::result_chars); then, where all results between two
/// answers of the model have more than [`message_chars`](BudgetLimits::message_chars) together, the largest of them
/// until they fit. Results of [exempt](BudgetLimits::exempt) tools stay. Nothing is replaced by something that has as many
/// tokens, and nothing at all where the model could not read it back.
pub fn propose(
    scene: &Scene<'_>,
    limits: &BudgetLimits,
    saved: SavedFiles<'_>,
    counter: &mut Counter,
) -> Option<Outcome> {
    if !scene.tools.recall && !saved.are_readable {
        return None;
    }
    let mut stage = Budget::new(scene, limits, saved, counter);
    for run in runs(scene.entries).filter(|run| run.end > scene.sent) {
        let items = stage.items(run);
        stage.fit_sizes(items);
    }
    stage.finish("too long to send whole")
}

/// Frees `excess` tokens, or as many as possible, of results that the model has not seen: the largest first, as few as
/// needed. Results of [exempt](BudgetLimits::exempt) tools go last.
pub fn fit(
    scene: &Scene<'_>,
    limits: &BudgetLimits,
    saved: SavedFiles<'_>,
    excess: u64,
    counter: &mut Counter,
) -> Option<Outcome> {
    let mut stage = Budget::new(scene, limits, saved, counter);
    let last = runs(scene.entries).last()?;
    let mut items = stage.items(last);
    items.retain(|item| item.state == State::Open || item.state == State::Exempt);
    for item in &mut items {
        item.tokens = stage.tokens(item.place);
    }
    items.sort_by_key(|item| (item.state, Reverse(item.tokens), item.place));
    let mut left = excess;
    for mut item in items {
        if left == 0 {
            break;
        }
        let most = item.tokens.saturating_sub(left);
        left = left.saturating_sub(stage.put_aside(&mut item, Show::Within(most)));
    }
    stage.finish("cut to fit into the window")
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
        return format!("{FOLDER}/{id}.txt");
    }
    // The dot keeps these names apart from all plain ones.
    let legible: String = id.chars().filter(|&c| is_plain(c)).take(40).collect();
    let hash = blake3::hash(id.as_bytes()).to_hex();
    format!("{FOLDER}/{legible}.{}.txt", &hash[..32])
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

/// A result that may be put aside.
#[derive(Clone, Copy)]
struct Item {
    place: Place,
    chars: usize,
    /// Counted only where the window decides.
    tokens: u64,
    state: State,
}

/// Whether a result may be put aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// It may.
    Open,
    /// The tool is exempt: only if the request could not be sent otherwise.
    Exempt,
    /// It may not, or was: it was sent, is pinned, or is something that the model read back.
    Decided,
}

/// What is shown of a result that is put aside.
#[derive(Clone, Copy)]
enum Show {
    /// The beginning, as the limits say.
    Preview,
    /// Beginning and end, in so many tokens if that is possible.
    Within(u64),
}

/// Collects what is replaced.
struct Budget<'a> {
    scene: &'a Scene<'a>,
    shown: Shown<'a>,
    limits: &'a BudgetLimits,
    saved: SavedFiles<'a>,
    counter: &'a mut Counter,
    calls: HashMap<Place, &'a ToolCall>,
    repeated: HashSet<&'a MessageId>,
    names: Names,
    chosen: Vec<(Place, Block)>,
    persist: Vec<Persisted>,
    freed: i64,
}

impl<'a> Budget<'a> {
    fn new(
        scene: &'a Scene<'a>,
        limits: &'a BudgetLimits,
        saved: SavedFiles<'a>,
        counter: &'a mut Counter,
    ) -> Self {
        let shown = Shown::of(scene.entries);
        let calls = pairs(scene.entries, &shown).into_iter().map(|pair| (pair.result, pair.made)).collect();
        Self {
            scene,
            shown,
            limits,
            saved,
            counter,
            calls,
            repeated: repeated(scene.entries),
            names: Names::of(scene.entries),
            chosen: Vec::new(),
            persist: Vec::new(),
            freed: 0,
        }
    }

    /// The results of one API message.
    fn items(&self, run: Range<usize>) -> Vec<Item> {
        let mut items = Vec::new();
        for at in run {
            let entry = &self.scene.entries[at];
            let is_fixed =
                at < self.scene.sent || entry.pinned.is_some() || self.repeated.contains(&entry.message.id);
            for (place, result) in self.shown.results(at) {
                let is_decided =
                    is_fixed || !result::takes_words(result) || self.shown.is_replaced(entry, place);
                let state = if is_decided { State::Decided } else { self.state_of(place) };
                items.push(Item { place, chars: chars(result), tokens: 0, state });
            }
        }
        items
    }

    fn state_of(&self, place: Place) -> State {
        let Some(call) = self.calls.get(&place) else { return State::Open };
        if call.name == recall::NAME && self.scene.tools.recall {
            return State::Decided;
        }
        let read = match Action::of(call) {
            Action::Read { path } => Some(path),
            Action::Edit { .. }
            | Action::Write { .. }
            | Action::Shell { .. }
            | Action::Script(_)
            | Action::Continue { .. }
            | Action::Search { .. }
            | Action::Todos(_)
            | Action::AddTodo(_)
            | Action::ChangeTodo { .. }
            | Action::Plan(_)
            | Action::Delegate { .. }
            | Action::Web { .. }
            | Action::Ask
            | Action::Other => None,
        };
        let folder = (self.saved.path)(FOLDER);
        if let (Some(path), Some(folder)) = (&read, folder)
            && std::path::Path::new(path).starts_with(folder)
        {
            return State::Decided;
        }
        let is_exempt = |name: &String| *name == call.name || (name == BudgetLimits::READS && read.is_some());
        if self.limits.exempt.iter().any(is_exempt) { State::Exempt } else { State::Open }
    }

    fn tokens(&mut self, place: Place) -> u64 {
        self.shown.result(place).map_or(0, |(block, _)| self.counter.block(block).total())
    }

    /// Makes the results of one API message fit their limits in characters. Exempt ones do not count.
    fn fit_sizes(&mut self, mut items: Vec<Item>) {
        items.retain(|item| item.state != State::Exempt);
        let is_over = |item: &&mut Item| item.state == State::Open && item.chars > self.limits.result_chars;
        for item in items.iter_mut().filter(is_over) {
            self.put_aside(item, Show::Preview);
        }
        let mut together: usize = items.iter().map(|item| item.chars).sum();
        items.retain(|item| item.state == State::Open);
        items.sort_by_key(|item| (Reverse(item.chars), item.place));
        for item in &mut items {
            if together <= self.limits.message_chars {
                break;
            }
            let before = item.chars;
            self.put_aside(item, Show::Preview);
            together = together - before + item.chars;
        }
    }

    /// Replaces one result, if that makes it smaller. Tokens that it frees.
    fn put_aside(&mut self, item: &mut Item, show: Show) -> u64 {
        item.state = State::Decided;
        let Some((block, result)) = self.shown.result(item.place) else { return 0 };
        let text = words(&result.content);
        let name = self.names.name(&result.call, &text);
        let source = self.source(item.place, &name);
        let replaced = |note: String| result::with_content(block, result, with_note(&result.content, note));
        let note = match show {
            Show::Preview => source.preview(item.chars, &text, self.limits.preview_bytes),
            Show::Within(most) => {
                // Texts differ in bytes for a token: less is shown until it fits, but never less than a preview.
                let mut bytes = (text.len() as u64 * most / item.tokens.max(1)) as usize;
                loop {
                    bytes = bytes.max(self.limits.preview_bytes);
                    let note = source.head_and_tail(item.chars, &text, bytes);
                    let tokens = self.counter.block(&replaced(note.clone())).total();
                    if tokens <= most || bytes == self.limits.preview_bytes {
                        break note;
                    }
                    bytes = (bytes as u64 * most / tokens) as usize * 31 / 32;
                }
            }
        };
        let chars = note.chars().count();
        let with = replaced(note);
        let freed = freed_by(self.counter, block, &with);
        if freed <= 0 {
            return 0;
        }
        item.chars = chars;
        self.freed += freed;
        self.chosen.push((item.place, with));
        self.persist.push(Persisted { call: result.call.clone(), file_name: file_name(&name), text });
        freed as u64
    }

    /// Where a result can be read back. A path that the model can't open is named only where nothing else can be.
    fn source(&self, (at, b): Place, name: &CallId) -> Source {
        let message = &self.scene.entries[at].message;
        let handle = self.scene.tools.recall.then(|| match message.blocks.len() {
            0 | 1 => snip::tag(&message.id),
            _ => format!("{}.{}", snip::tag(&message.id), b + 1),
        });
        let is_readable = self.saved.are_readable;
        let path = (self.saved.path)(&file_name(name)).filter(|_| is_readable || handle.is_none());
        Source { path, is_readable, handle }
    }

    fn finish(mut self, why: &str) -> Option<Outcome> {
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
        let reason = format!("{results} {why}");
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
