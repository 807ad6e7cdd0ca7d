//! Files and commands: what was touched, what was run, how it ended.

use super::Outcome;
use crate::MessageId;
use std::collections::HashMap;

/// What is known about one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFact {
    /// As the model named it last.
    pub path: String,
    /// How often it was read.
    pub reads: u32,
    /// How often it was changed or written.
    pub changes: u32,
    /// What happened to it last.
    pub last: Touch,
    /// When, as a position in the session.
    pub seen: u64,
    /// The message that last read or changed it.
    pub message: MessageId,
    /// Position of its newest read among all reads of the session; zero: never read.
    pub read_order: u64,
    /// The newest message that held its text: a result of a read.
    pub shown_by: Option<MessageId>,
}

/// What can happen to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// It was read.
    Read,
    /// It was changed in place.
    Edited,
    /// It was written as a whole.
    Written,
}

/// One command line and how its last run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFact {
    /// The command line.
    pub command: String,
    /// How often it was run.
    pub runs: u32,
    /// How the last run ended; nothing, while it runs.
    pub outcome: Option<Outcome>,
    /// When it was last run, as a position in the session.
    pub seen: u64,
}

/// Files and commands of a session, each once, bounded: the longest unused is forgotten first.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    pub(super) files: Recent<FileFact>,
    /// Reads so far: calls of one answer have an order, too.
    reads: u64,
    pub(super) commands: Recent<CommandFact>,
}

/// Files and commands remembered, each.
const MOST: usize = 2_000;

/// Values by name, with the longest unused forgotten.
#[derive(Clone, Debug)]
pub(super) struct Recent<T> {
    by_name: HashMap<String, T>,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self { by_name: HashMap::new() }
    }
}

impl<T> Recent<T> {
    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        self.by_name.get_mut(name)
    }

    pub(super) fn insert(&mut self, name: String, value: T, age: impl Fn(&T) -> u64) {
        if self.by_name.len() >= MOST && !self.by_name.contains_key(&name) {
            // Half are dropped at once, so that the cost per insertion stays constant.
            let mut ages: Vec<u64> = self.by_name.values().map(&age).collect();
            ages.sort_unstable();
            let oldest = ages.get(MOST / 2).copied().unwrap_or_default();
            self.by_name.retain(|_, value| age(value) >= oldest);
        }
        self.by_name.insert(name, value);
    }

    /// Newest first.
    pub(super) fn newest(&self, age: impl Fn(&T) -> u64) -> Vec<&T> {
        let mut all: Vec<(&String, &T)> = self.by_name.iter().collect();
        all.sort_by(|(a_name, a), (b_name, b)| age(b).cmp(&age(a)).then_with(|| a_name.cmp(b_name)));
        all.into_iter().map(|(_, value)| value).collect()
    }
}

impl Work {
    pub(super) fn touch(&mut self, path: &str, touch: Touch, seen: u64, message: &MessageId) {
        let (reads, changes) = match touch {
            Touch::Read => (1, 0),
            Touch::Edited | Touch::Written => (0, 1),
        };
        self.reads += u64::from(reads);
        let read_order = if reads > 0 { self.reads } else { 0 };
        if let Some(file) = self.files.get_mut(path) {
            file.reads += reads;
            file.changes += changes;
            file.read_order = file.read_order.max(read_order);
            // A file that was changed stays changed, however often it is read.
            if changes > 0 || file.changes == 0 {
                file.last = touch;
            }
            file.seen = seen;
            file.message = message.clone();
            return;
        }
        let file = FileFact {
            path: path.to_owned(),
            reads,
            changes,
            last: touch,
            seen,
            message: message.clone(),
            read_order,
            shown_by: None,
        };
        self.files.insert(path.to_owned(), file, |file| file.seen);
    }

    pub(super) fn run(&mut self, command: &str, seen: u64) {
        if let Some(known) = self.commands.get_mut(command) {
            known.runs += 1;
            known.outcome = None;
            known.seen = seen;
            return;
        }
        let fact = CommandFact { command: command.to_owned(), runs: 1, outcome: None, seen };
        self.commands.insert(command.to_owned(), fact, |command| command.seen);
    }
}
