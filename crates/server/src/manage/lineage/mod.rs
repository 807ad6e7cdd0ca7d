//! Which conversations there are, in this process and in earlier ones, and which one a request goes on with.
//!
//! A client that names its conversations is believed. Of others every request holds the whole history, and each message has
//! an id that covers everything before it: two histories share a beginning if they share the id of its last message.
//! - The **opening** is the first request of a conversation. That somebody begins with the same words means nothing: "hello"
//!   twice is two conversations. Only if the first was never answered, the second is the same one tried again.
//! - The **anchor** is the model's first word behind the opening. Whoever has it in their history goes on with that
//!   conversation, or went back in it. Examples that a program puts before its question are part of the opening, and no
//!   evidence.
//! - Where several conversations have the same anchor, the one counts that has most of the history; of equals, one
//!   that the request goes on with rather than goes back in.

mod index;
#[cfg(test)]
mod tests;

pub(super) use index::mark;

use super::{Client, Recognised, ThreadKey};
use index::{Index, Line, MOST_BYTES, Mark, Opening};
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use throughline_core::{Message, MessageId, Role, Wire, content_id};
use throughline_ledger::{Home, session_of};
use throughline_wire::splice::Body;
use uuid::Uuid;

/// How many conversations are remembered; older ones are begun anew, unless their client has a name for them.
const MOST: usize = 10_000;

/// All conversations that are known.
pub(super) struct Lineage {
    home: Home,
    known: Mutex<Option<Known>>,
}

/// A conversation as far as it is known by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) key: ThreadKey,
    /// When its ledger was begun.
    pub(super) created: Timestamp,
    /// How many messages its first request has; 0 for conversations that their client has a name for.
    pub(super) opening: usize,
}

impl Place {
    /// Its ledger.
    pub(super) fn path(&self, home: &Home) -> PathBuf {
        home.ledger_path(self.created, &self.key.session())
    }
}

struct Known {
    index: Index,
    conversations: HashMap<ThreadKey, Line>,
    by_anchor: HashMap<Mark, Vec<ThreadKey>>,
    by_opening: HashMap<Mark, Vec<ThreadKey>>,
    /// Some were forgotten, in this process or an earlier one: a name that is not known may still have a ledger.
    is_trimmed: bool,
    /// When the ledgers of a proxy were begun, by their names. They are listed once, when first asked for: those that others begin since
    /// are in the index.
    older: Option<HashMap<Uuid, Timestamp>>,
}

/// The history of a request, as far as it was needed.
struct History<'a> {
    body: &'a Body,
    marks: Vec<(Mark, Role)>,
    last: Option<MessageId>,
}

impl History<'_> {
    fn at(&mut self, at: usize) -> Option<(Mark, Role)> {
        while self.marks.len() <= at {
            let message: Message = self.body.message(self.marks.len())?;
            let id = content_id(self.last.as_ref(), &message);
            self.marks.push((Mark::of(&id)?, message.role));
            self.last = Some(id);
        }
        self.marks.get(at).copied()
    }

    /// All of it.
    fn whole(&mut self) -> &[(Mark, Role)] {
        if let Some(last) = self.body.len().checked_sub(1) {
            self.at(last);
        }
        &self.marks
    }

    /// How many messages at its beginning are those of a conversation, and whether the conversation ends there. An answer that
    /// was given last is in its ledger only later: what the model said next counts as known.
    fn in_common(&mut self, home: &Home, place: &Place) -> (usize, bool) {
        let Ok(places) = index::places(home, &place.path(home)) else { return (0, false) };
        let marks: HashSet<Mark> = places.iter().map(|(mark, _)| *mark).collect();
        let whole = self.whole();
        let common = whole.iter().take_while(|(mark, _)| marks.contains(mark)).count();
        let ends_there = common.checked_sub(1).and_then(|at| whole.get(at)) == places.last();
        let said = whole[common..].iter().take_while(|(_, role)| *role == Role::Assistant).count();
        if ends_there { (common + said, true) } else { (common, false) }
    }
}

impl Lineage {
    pub(super) fn new(home: &Home) -> Self {
        Self { home: home.clone(), known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works with what is known; it is read when first asked for.
    fn with<T>(&self, what: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.known();
        what(known.get_or_insert_with(|| Known::open(&self.home)))
    }

    /// A conversation that its client has a name for, if it was begun.
    pub(super) fn named(&self, key: &ThreadKey) -> Option<Place> {
        self.with(|known| {
            known.place(key).or_else(|| {
                let created = known.older(&self.home, key)?;
                Some(Place { key: key.clone(), created, opening: 0 })
            })
        })
    }

    /// The conversation that a request goes on with, of those that their client has no name for.
    pub(super) fn unnamed(
        &self,
        recognised: &Recognised,
        body: &Body,
        is_asked: &dyn Fn(&ThreadKey) -> bool,
    ) -> Option<Place> {
        let scope = Scope { client: &recognised.client, wire: recognised.wire };
        self.with(Known::refresh);
        let mut history = History { body, marks: Vec::new(), last: None };
        let mut begun: Option<(usize, Vec<Place>)> = None;
        for at in 0..body.len() {
            let Some((mark, _)) = history.at(at) else { break };
            let (anchored, opened) = self.with(|known| {
                (known.among(&known.by_anchor, mark, &scope), known.among(&known.by_opening, mark, &scope))
            });
            match anchored.len() {
                0 => {}
                1 => return anchored.into_iter().next(),
                _ => return self.nearest(anchored, &mut history),
            }
            if !opened.is_empty() {
                begun = Some((at, opened));
            }
        }
        let (at, opened) = begun?;
        // It was asked once and never answered, as far as is known.
        let unanswered = |place: &Place| {
            self.with(|known| known.conversations.get(&place.key).is_some_and(|line| line.anchor.is_none()))
                && !is_asked(&place.key)
        };
        let is_repeated = at + 1 == body.len();
        let by_answer = history.at(at + 1).is_some_and(|(_, role)| role == Role::Assistant);
        let place = match opened.iter().rev().find(|place| unanswered(place)) {
            Some(place) => place,
            // Its answer comes back in other words than it was given: clients tidy up.
            None if by_answer && !is_repeated => {
                opened.iter().rev().find(|place| self.is_uncontinued(place))?
            }
            None => return None,
        };
        let mut place = place.clone();
        if is_repeated {
            return Some(place);
        }
        if by_answer {
            if let Some((mark, _)) = history.at(at + 1) {
                self.anchor(&place.key, mark);
            }
        } else if let Some(&(tip, _)) = history.whole().last() {
            // More was said before anybody answered.
            place.opening = body.len();
            self.reopen(&place, tip);
        }
        Some(place)
    }

    /// The one that has most of the history; of equals, one that ends there; of those, the newest.
    fn nearest(&self, places: Vec<Place>, history: &mut History<'_>) -> Option<Place> {
        places.into_iter().max_by_key(|place| history.in_common(&self.home, place))
    }

    /// Whether nothing but the opening was ever sent, and perhaps its answer.
    fn is_uncontinued(&self, place: &Place) -> bool {
        let places = index::places(&self.home, &place.path(&self.home)).unwrap_or_default();
        places.iter().skip(place.opening).all(|(_, role)| *role == Role::Assistant)
    }

    /// A conversation begins.
    pub(super) fn begin(
        &self,
        recognised: &Recognised,
        place: &Place,
        body: Option<&Body>,
    ) -> std::io::Result<()> {
        let opening = body.filter(|_| place.opening > 0).and_then(|body| {
            let mut history = History { body, marks: Vec::new(), last: None };
            let &(tip, _) = history.whole().last()?;
            Some(Opening { tip, len: place.opening })
        });
        let line = Line {
            key: place.key.as_str().to_owned(),
            created: place.created,
            client: recognised.client.name().to_owned(),
            wire: recognised.wire,
            opening,
            anchor: None,
        };
        self.with(|known| known.learn(line))
    }

    /// The opening of a conversation was answered: whoever has these words goes on with it.
    pub(super) fn answered(&self, key: &ThreadKey, tip: Option<&MessageId>, answer: &[Message]) {
        let opened = |known: &mut Known| {
            let line = known.conversations.get(key)?;
            Some(line.opening.is_some_and(|opening| Some(opening.tip) == tip.and_then(Mark::of)))
        };
        if self.with(opened) != Some(true) {
            return;
        }
        let first = answer.iter().find(|message| message.role == Role::Assistant);
        if let Some(mark) = first.and_then(|message| Mark::of(&message.id)) {
            self.anchor(key, mark);
        }
    }

    fn anchor(&self, key: &ThreadKey, mark: Mark) {
        self.with(|known| {
            let Some(line) = known.conversations.get(key) else { return };
            if line.anchor != Some(mark) {
                let line = Line { anchor: Some(mark), ..line.clone() };
                // What is not in the file is found in the ledgers again.
                let _ = known.learn(line);
            }
        });
    }

    fn reopen(&self, place: &Place, tip: Mark) {
        self.with(|known| {
            if let Some(line) = known.conversations.get(&place.key) {
                let opening = Some(Opening { tip, len: place.opening });
                let _ = known.learn(Line { opening, ..line.clone() });
            }
        });
    }
}

/// Whose conversations may be meant.
struct Scope<'a> {
    client: &'a Client,
    wire: Wire,
}

impl Known {
    fn open(home: &Home) -> Self {
        let (index, lines) = Index::open(home);
        let mut known = Self {
            index,
            conversations: HashMap::new(),
            by_anchor: HashMap::new(),
            by_opening: HashMap::new(),
            is_trimmed: false,
            older: None,
        };
        lines.into_iter().for_each(|line| known.remember(line));
        // As many are left where some were forgotten.
        known.is_trimmed = known.conversations.len() >= MOST;
        known.trim();
        known
    }

    fn place(&mut self, key: &ThreadKey) -> Option<Place> {
        if !self.conversations.contains_key(key) {
            self.refresh();
        }
        self.conversations.get(key).map(|line| place_of(key, line))
    }

    /// When the ledger of a conversation was begun that is not in the index any more.
    fn older(&mut self, home: &Home, key: &ThreadKey) -> Option<Timestamp> {
        if !self.is_trimmed {
            return None;
        }
        let older = self.older.get_or_insert_with(|| begun(home));
        older.get(&name(key)?).copied()
    }

    /// Another server may have begun some, or learnt about them.
    fn refresh(&mut self) {
        self.index.news().into_iter().for_each(|line| self.remember(line));
    }

    fn among(&self, by: &HashMap<Mark, Vec<ThreadKey>>, mark: Mark, scope: &Scope<'_>) -> Vec<Place> {
        let keys = by.get(&mark).map(Vec::as_slice).unwrap_or_default();
        let of_scope = |key: &ThreadKey| {
            let line = self.conversations.get(key)?;
            let fits = line.client == scope.client.name() && line.wire == scope.wire;
            fits.then(|| place_of(key, line))
        };
        keys.iter().filter_map(of_scope).collect()
    }

    fn learn(&mut self, line: Line) -> std::io::Result<()> {
        self.remember(line.clone());
        let written = self.index.append(&line);
        if self.conversations.len() > 2 * MOST || self.index.bytes() > MOST_BYTES {
            self.trim();
        }
        written
    }

    fn remember(&mut self, line: Line) {
        let key = ThreadKey::known(&line.key);
        let add = |by: &mut HashMap<Mark, Vec<ThreadKey>>, mark: Option<Mark>| {
            let Some(keys) = mark.map(|mark| by.entry(mark).or_default()) else { return };
            if !keys.contains(&key) {
                keys.push(key.clone());
            }
        };
        // Every anchor that a conversation ever had still leads to it.
        add(&mut self.by_anchor, line.anchor);
        add(&mut self.by_opening, line.opening.map(|opening| opening.tip));
        self.conversations.insert(key, line);
    }

    /// Forgets the oldest, where there are too many, and writes the file anew.
    fn trim(&mut self) {
        if self.conversations.len() <= MOST && self.index.bytes() <= MOST_BYTES {
            return;
        }
        let mut lines: Vec<Line> = self.conversations.drain().map(|(_, line)| line).collect();
        lines.sort_by_key(|line| line.created);
        let gone = lines.len().saturating_sub(MOST);
        self.is_trimmed |= gone > 0;
        self.by_anchor.clear();
        self.by_opening.clear();
        self.index.replace(lines[gone..].iter());
        if let Some(older) = &mut self.older {
            let forgotten = lines[..gone].iter();
            older.extend(
                forgotten.filter_map(|line| Some((name(&ThreadKey::known(&line.key))?, line.created))),
            );
        }
        lines.drain(gone..).for_each(|line| self.remember(line));
    }
}

fn place_of(key: &ThreadKey, line: &Line) -> Place {
    Place { key: key.clone(), created: line.created, opening: line.opening.map_or(0, |opening| opening.len) }
}

/// The name of a conversation's ledger.
fn name(key: &ThreadKey) -> Option<Uuid> {
    Uuid::parse_str(key.session().as_str()).ok()
}

/// When ledgers were begun that may be a proxy's, by their names.
fn begun(home: &Home) -> HashMap<Uuid, Timestamp> {
    let of = |path: PathBuf| {
        let name = Uuid::parse_str(session_of(&path)?).ok()?;
        // Names of others are not made from what a client calls its session.
        (name.get_version() == Some(uuid::Version::Sha1)).then_some((name, created(&path)?))
    };
    home.ledgers().unwrap_or_default().into_iter().filter_map(of).collect()
}

/// When a ledger was begun, by its file's name.
fn created(path: &std::path::Path) -> Option<Timestamp> {
    let name = path.file_name()?.to_str()?.get(..19)?;
    let (day, time) = name.split_once('T')?;
    format!("{day}T{}Z", time.replace('-', ":")).parse().ok()
}
