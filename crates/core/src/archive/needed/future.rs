//! What of a session's past its future needs.

use super::super::item::{self, Voice};
use super::super::root::Root;
use crate::Message;
use crate::classify::directives;
use crate::entity::Kind;
use crate::text::{head, tail};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Blocks that count as the future of a point.
const HORIZON: usize = 400;
/// Fewer blocks before a point, fewer of the model's after it, or fewer needed strings: too little to judge by.
const FEWEST_BEFORE: usize = 30;
const FEWEST_AFTER: usize = 20;
const FEWEST_NEEDED: usize = 10;
/// A string in at most so many blocks of the past is rare.
const RARE: u32 = 3;
/// Bytes within which two strings stand together.
const TOGETHER: usize = 400;
/// Of the strings that a block uses first, those that are paired; and pairs at most.
const PAIRED: usize = 8;
const MOST_PAIRS: usize = 150;
/// Missing strings that are searched for at most, spread over all of them: the share found is taken for the rest's too.
const MOST_SEARCHED: usize = 20;
/// Shorter sentences that bind say "yes" or "use it": they are held by chance.
const SHORTEST_BINDING: usize = 12;

/// A recorded session, read once: every point of it can then be judged.
#[derive(Debug)]
pub struct Future {
    messages: Vec<Arc<Message>>,
    blocks: Vec<Block>,
    /// For each message, the number of blocks before it.
    starts: Vec<usize>,
    names: Vec<Box<str>>,
    /// For each string, the blocks that hold it.
    held: Vec<Vec<u32>>,
}

#[derive(Debug)]
struct Block {
    message: usize,
    voice: Voice,
    /// Strings and where they stand, in order.
    marks: Vec<(u32, u32)>,
    /// The same strings, each once, the telling kinds first.
    distinct: Vec<u32>,
}

/// What is needed after a point.
#[derive(Debug)]
pub struct Needed {
    uses: Vec<Use>,
    pairs: Vec<(usize, usize)>,
    binding: Vec<String>,
}

/// The first use of a needed string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The string; of a path in the session's directory, what follows the directory.
    pub text: Box<str>,
    /// Whether the past holds it in few places only.
    pub rare: bool,
    /// What could be searched for at that moment without knowing the string.
    pub query: String,
}

/// What a context keeps, in shares between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// How many strings are needed.
    pub needed: usize,
    /// The share of them that the context holds.
    pub kept: f64,
    /// The same for rare ones; none where there are none.
    pub rare: Option<f64>,
    /// The share of pairs, used together and once said together, that still stand within 400 bytes of each other.
    pub pair: Option<f64>,
    /// The share of the user's binding sentences that the context holds to the letter.
    pub constraints: Option<f64>,
}

impl Future {
    /// Reads a session.
    pub fn new(messages: &[Arc<Message>]) -> Self {
        let mut ids: HashMap<String, u32> = HashMap::new();
        let mut this = Self {
            messages: messages.to_vec(),
            blocks: Vec::new(),
            starts: Vec::new(),
            names: Vec::new(),
            held: Vec::new(),
        };
        let root = Root::of_messages(messages);
        for (at, message) in messages.iter().enumerate() {
            this.starts.push(this.blocks.len());
            if message.flags.summary && at > 0 {
                continue;
            }
            for (part, _) in item::parts(message) {
                let block = this.blocks.len() as u32;
                let mut marks = Vec::new();
                let mut kinds: BTreeMap<(u8, usize), u32> = BTreeMap::new();
                item::scan_cut(&part.text, |entity| {
                    let text = match entity.kind {
                        Kind::Path => root.strip(entity.text),
                        Kind::Symbol | Kind::Error | Kind::Id | Kind::Number | Kind::Flag | Kind::Quoted => {
                            entity.text
                        }
                    };
                    let id = match ids.get(text) {
                        Some(&id) => id,
                        None => {
                            let id = this.names.len() as u32;
                            ids.insert(text.to_owned(), id);
                            this.names.push(text.into());
                            this.held.push(Vec::new());
                            id
                        }
                    };
                    if this.held[id as usize].last() != Some(&block) {
                        this.held[id as usize].push(block);
                        kinds.insert((order(entity.kind), entity.at), id);
                    }
                    marks.push((id, entity.at as u32));
                });
                this.blocks.push(Block {
                    message: at,
                    voice: part.voice,
                    marks,
                    distinct: kinds.into_values().collect(),
                });
            }
        }
        this
    }

    /// What is needed after the first `upto` messages, or nothing where too little was said before or after to tell.
    pub fn at(&self, upto: usize) -> Option<Needed> {
        let now = self.starts.get(upto).copied()?;
        let end = self.blocks.len().min(now + HORIZON);
        let after = &self.blocks[now..end];
        let own = after.iter().filter(|b| matches!(b.voice, Voice::Prose | Voice::Call)).count();
        if now < FEWEST_BEFORE || own < FEWEST_AFTER {
            return None;
        }
        let mut met: HashSet<u32> = HashSet::new();
        let mut first: Vec<(u32, usize)> = Vec::new();
        for (at, block) in after.iter().enumerate() {
            let own = matches!(block.voice, Voice::Prose | Voice::Call);
            for &name in &block.distinct {
                if met.insert(name)
                    && own
                    && self.held[name as usize].first().is_some_and(|&b| (b as usize) < now)
                {
                    first.push((name, now + at));
                }
            }
        }
        if first.len() < FEWEST_NEEDED {
            return None;
        }
        let pairs = self.pairs(&first, now);
        let uses = first.iter().map(|&(name, block)| self.first_use(name, block, now)).collect();
        let binding = self.binding(upto);
        Some(Needed { uses, pairs, binding })
    }

    fn pairs(&self, first: &[(u32, usize)], now: usize) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        let mut from = 0;
        for group in first.chunk_by(|a, b| a.1 == b.1) {
            let size = group.len().min(PAIRED);
            for i in from..from + size {
                for j in i + 1..from + size {
                    let (a, b) = (first[i].0, first[j].0);
                    let (x, y) = (&*self.names[a as usize], &*self.names[b as usize]);
                    if !x.contains(y) && !y.contains(x) && self.stood_together(a, b, now) {
                        pairs.push((i, j));
                    }
                }
            }
            from += group.len();
            if pairs.len() > MOST_PAIRS {
                break;
            }
        }
        pairs
    }

    fn stood_together(&self, a: u32, b: u32, now: usize) -> bool {
        let others: HashSet<u32> = self.held[b as usize].iter().copied().collect();
        self.held[a as usize]
            .iter()
            .take_while(|&&block| (block as usize) < now)
            .filter(|block| others.contains(block))
            .any(|&block| {
                let places = |name: u32| {
                    self.blocks[block as usize]
                        .marks
                        .iter()
                        .filter(move |m| m.0 == name)
                        .map(|m| m.1 as usize)
                };
                let reach = TOGETHER + self.names[a as usize].len().max(self.names[b as usize].len());
                places(a).any(|x| places(b).any(|y| x.abs_diff(y) <= reach))
            })
    }

    /// The query is what stands around the use, with the string itself left out, and what was said just before.
    fn first_use(&self, name: u32, block: usize, now: usize) -> Use {
        let text = &*self.names[name as usize];
        let said = self.text(block);
        let at = said.find(text).unwrap_or(0);
        let before = tail(&said[..at], 300);
        let behind = said.get(at + text.len()..).map_or("", |rest| head(rest, 100));
        let earlier: Vec<String> = (now..block)
            .rev()
            .filter(|&b| matches!(self.blocks[b].voice, Voice::Prose | Voice::Call))
            .take(2)
            .map(|b| tail(&self.text(b), 200).to_owned())
            .collect();
        let asked = self.blocks[now..block].iter().rposition(|b| b.voice == Voice::User);
        let asked = asked.map(|b| self.text(now + b)).unwrap_or_default();
        let earlier: Vec<&str> = earlier.iter().rev().map(String::as_str).collect();
        let query = format!("{} {} {before} {behind}", head(&asked, 300), tail(&earlier.join(" "), 300));
        let seen = self.held[name as usize].iter().take_while(|&&b| (b as usize) < now).count() as u32;
        Use { text: text.into(), rare: seen <= RARE, query: query.replace(text, " ") }
    }

    fn text(&self, block: usize) -> String {
        let message = self.blocks[block].message;
        let nth = block - self.starts[message];
        item::parts(&self.messages[message])
            .nth(nth)
            .map(|(part, _)| part.text.into_owned())
            .unwrap_or_default()
    }

    fn binding(&self, upto: usize) -> Vec<String> {
        let mut met = HashSet::new();
        let mut all = Vec::new();
        for message in &self.messages[..upto] {
            for directive in directives(message) {
                if directive.sentence.len() >= SHORTEST_BINDING && met.insert(directive.sentence.clone()) {
                    all.push(directive.sentence);
                }
            }
        }
        all
    }
}

impl Needed {
    /// The needed strings, in the order of their first use.
    pub fn uses(&self) -> &[Use] {
        &self.uses
    }

    /// Pairs of needed strings, by their place in [`uses`](Self::uses).
    pub fn pairs(&self) -> &[(usize, usize)] {
        &self.pairs
    }

    /// The user's binding sentences so far.
    pub fn binding(&self) -> &[String] {
        &self.binding
    }

    /// What a context keeps.
    pub fn score(&self, context: &str) -> Score {
        let held: Vec<bool> = self.uses.iter().map(|one| holds(context, &one.text)).collect();
        let rare: Vec<bool> =
            self.uses.iter().zip(&held).filter(|(one, _)| one.rare).map(|(_, held)| *held).collect();
        let pairs: Vec<bool> = self
            .pairs
            .iter()
            .map(|&(a, b)| {
                held[a] && held[b] && stand_together(context, &self.uses[a].text, &self.uses[b].text)
            })
            .collect();
        let binding: Vec<bool> = self.binding.iter().map(|sentence| holds(context, sentence)).collect();
        Score {
            needed: held.len(),
            kept: share(&held).unwrap_or(0.0),
            rare: share(&rare),
            pair: share(&pairs),
            constraints: share(&binding),
        }
    }

    /// The share of needed strings that the context holds or that one blind search brings back. `search` answers a
    /// query with the text that the model would be shown.
    pub fn found(&self, context: &str, mut search: impl FnMut(&str) -> String) -> Option<f64> {
        let missing: Vec<&Use> = self.uses.iter().filter(|one| !holds(context, &one.text)).collect();
        let (all, most) = (missing.len(), missing.len().min(MOST_SEARCHED));
        let found: Vec<bool> = (0..most)
            .map(|k| missing[k * all / most])
            .map(|one| holds(&search(&one.query), &one.text))
            .collect();
        let lost = all as f64 * (1.0 - share(&found).unwrap_or(1.0));
        (!self.uses.is_empty()).then(|| 1.0 - lost / self.uses.len() as f64)
    }
}

/// The order in which the strings of a block are paired: the most telling kinds first.
fn order(kind: Kind) -> u8 {
    match kind {
        Kind::Path => 0,
        Kind::Error => 1,
        Kind::Id => 2,
        Kind::Flag => 3,
        Kind::Symbol => 4,
        Kind::Number => 5,
        Kind::Quoted => 6,
    }
}

fn share(all: &[bool]) -> Option<f64> {
    (!all.is_empty()).then(|| all.iter().filter(|one| **one).count() as f64 / all.len() as f64)
}

fn holds(context: &str, text: &str) -> bool {
    memchr::memmem::find(context.as_bytes(), text.as_bytes()).is_some()
}

fn stand_together(context: &str, a: &str, b: &str) -> bool {
    let bytes = context.as_bytes();
    let other = memchr::memmem::Finder::new(b.as_bytes());
    memchr::memmem::find_iter(bytes, a.as_bytes()).any(|at| {
        let around = at.saturating_sub(TOGETHER)..bytes.len().min(at + a.len() + TOGETHER);
        other.find(&bytes[around]).is_some()
    })
}
