//! An index of everything that a session said: which strings, by whom, how often, how long ago and next to what.
//!
//! - [`Archive`] grows by one message at a time; nothing that happens to the view changes it.
//! - [`Archive::digest`] writes the strings that are most likely to be needed again, within a budget, as lines in the
//!   order of the work: strings that stood together stay together.
//! - [`needed`] judges a context by the session's own future.
//!
//! Memory is bounded: at most [`MOST_MARKS`] places where a string stood are kept (20 bytes each, and at most 36 bytes
//! of what stood before it), and only strings that stand at one of them; beyond that the older half is forgotten. Apart
//! from that a block costs some 100 bytes, and a message 8, so that none counts twice.

mod active;
mod digest;
mod gap;
mod hash;
mod item;
mod names;
pub mod needed;
mod place;
mod pool;
mod render;
mod root;
mod said;
mod weigh;

use crate::entity::{Entity, Kind};
use crate::{CallId, Message, MessageId};
use gap::{Gap, Gaps};
use hash::BuildMix;
use item::{Item, Voice};
use names::{Names, Sighting};
use root::Root;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// How many places are remembered: a session of some million tokens has fewer.
pub const MOST_MARKS: usize = 1 << 18;
/// Bytes within which the same string again is not remembered.
const CLOSE_BY: usize = 300;
/// Calls whose result is awaited at most: more are forgotten, and their results stand alone.
const MOST_OPEN_CALLS: usize = 256;

/// Everything that was said, by its telling strings.
#[derive(Debug)]
pub struct Archive {
    most_marks: usize,
    root: Root,
    names: Names,
    items: Vec<Item>,
    marks: Vec<Mark>,
    gaps: Gaps,
    open: HashMap<CallId, usize>,
    /// Fingerprints, hashed already.
    seen: HashSet<u64, BuildMix>,
}

/// A string in its place.
#[derive(Clone, Copy, Debug)]
struct Mark {
    name: u32,
    /// The byte at which it stands in its item.
    at: u32,
    /// What stands between it and the string before it, where that is short.
    gap: Gap,
}

impl Default for Archive {
    fn default() -> Self {
        Self::bounded(MOST_MARKS)
    }
}

impl Archive {
    /// An archive that remembers at most so many places where a string stood.
    pub fn bounded(most_marks: usize) -> Self {
        Self {
            most_marks,
            root: Root::default(),
            names: Names::default(),
            items: Vec::new(),
            marks: Vec::new(),
            gaps: Gaps::default(),
            open: HashMap::new(),
            seen: HashSet::default(),
        }
    }

    /// Says where the session runs: from then on, paths below it are told without it, and it is not told itself.
    pub fn set_cwd(&mut self, cwd: &str) {
        self.root = Root::at(cwd);
    }

    /// Takes in one more message. A message with the id of an earlier one counts no second time, nor do system prompts,
    /// reasoning, and summaries of what was taken in already.
    pub fn push(&mut self, message: &Message) {
        if !self.seen.insert(fingerprint(&message.id)) || (message.flags.summary && !self.items.is_empty()) {
            return;
        }
        for (part, call) in item::parts(message) {
            let at = self.items.len();
            let after = match (part.voice, &call) {
                (Voice::Call, Some(id)) => {
                    if self.open.len() >= MOST_OPEN_CALLS {
                        self.open.clear();
                    }
                    self.open.insert((*id).clone(), at);
                    None
                }
                (_, Some(id)) => self.open.remove(id),
                (_, None) => None,
            };
            self.take_in(part, after);
        }
        if self.marks.len() > self.most_marks {
            self.forget_older_half();
        }
    }

    /// How many blocks were taken in and are remembered.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing was said yet.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    fn take_in(&mut self, part: item::Part<'_>, after: Option<usize>) {
        let first = self.marks.len();
        let item = self.items.len() as u32;
        let Self { names, marks, gaps, root, .. } = self;
        let most = part.voice.longest_gap();
        let mut met = Vec::new();
        let mut end = 0;
        item::scan_cut(&part.text, |entity| {
            let Some(entity) = below(root, entity) else { return };
            let (name, last) = names.intern(entity, item);
            if last.is_none() {
                met.push(name);
            }
            // The same string again close by says nothing new.
            if last.is_none_or(|last| entity.at.saturating_sub(last as usize) > CLOSE_BY) {
                names.set_last(name, entity.at as u32);
                let gap = part
                    .text
                    .get(end..entity.at)
                    .map_or_else(Gap::default, |between| gaps.keep(between, most));
                marks.push(Mark { name, at: entity.at as u32, gap });
                end = end.max(entity.at + entity.text.len());
            }
        });
        let beside = met.len() as u32;
        for name in met {
            names.see(name, Sighting { item, voice: part.voice, beside });
        }
        self.items.push(Item {
            voice: part.voice,
            head: root.strip_all(part.head),
            target: part.target.map(|target| root.strip(&target).into()),
            after,
            marks: first..self.marks.len(),
        });
    }

    /// Forgets where strings stood in the older half of what is remembered, and the strings that stood only there.
    fn forget_older_half(&mut self) {
        let from = self.marks.len() / 2;
        let mut kept = Vec::with_capacity(self.marks.len() - from);
        let mut ids = HashMap::new();
        let mut names = Names::default();
        let mut gaps = Gaps::default();
        for item in &mut self.items {
            let old = std::mem::take(&mut item.marks);
            let start = kept.len();
            for mark in &self.marks[old.start.max(from).min(old.end)..old.end] {
                let name = *ids.entry(mark.name).or_insert_with(|| names.adopt(&self.names, mark.name));
                kept.push(Mark { name, at: mark.at, gap: gaps.adopt(&self.gaps, mark.gap) });
            }
            if kept.len() == start {
                item.head = Box::default();
                item.target = None;
            }
            item.marks = start..kept.len();
        }
        self.marks = kept;
        self.names = names;
        self.gaps = gaps;
    }
}

/// A path below the directory without it, anything else as it is; nothing for the directory itself.
fn below<'a>(root: &Root, entity: Entity<'a>) -> Option<Entity<'a>> {
    match entity.kind {
        _ if root.dir() == Some(entity.text) => None,
        Kind::Path => {
            let text = root.strip(entity.text);
            Some(Entity { text, at: entity.at + entity.text.len() - text.len(), ..entity })
        }
        Kind::Symbol | Kind::Error | Kind::Id | Kind::Number | Kind::Flag | Kind::Quoted => Some(entity),
    }
}

fn fingerprint(id: &MessageId) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
