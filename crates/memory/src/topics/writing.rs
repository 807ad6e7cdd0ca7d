//! One change of the folder: held, recorded, and cheap among many memories.

use super::document::Document;
use super::error::TopicError;
use super::folder::{Entry, Folder, Held, MOST_BYTES, Stamp, modified, newest_first};
use super::history::{History, Message};
use super::names::{INDEX, is_topic};
use super::prints::Print;
use super::recorded::ChangeKind;
use super::seen::{Known, Listing, Seen};
use super::store::{SEARCHED_BYTES, TopicStore, topic};
use super::{Topic, index};
use crate::history::Refusal;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Files that a message names.
const NAMED: usize = 5;

/// Holds the folder for one change. Files are written at once; [`commit`](Self::commit) records them in the history.
pub(super) struct Writing<'a> {
    store: &'a TopicStore,
    _held: Held,
    /// The memories when it began, newest first.
    pub(super) entries: Vec<Entry>,
    /// The index when it began.
    pub(super) index: String,
    seen: Option<Seen>,
    history: Option<History>,
    /// Why the history does not have everything.
    unrecorded: Option<Refusal>,
    /// Whether the history has the folder as it was when this began.
    is_recorded: bool,
    /// Whether what was seen of the files is how they were when this began.
    is_noted: bool,
    touched: BTreeSet<String>,
}

impl<'a> Writing<'a> {
    /// Waits for the folder. What others changed since the last time is recorded first, so that it can be had back whatever happens next.
    pub(super) fn begin(store: &'a TopicStore) -> Result<Self, TopicError> {
        let mut writing = Self::hold(store)?;
        match writing.record_found() {
            Ok(()) => writing.is_recorded = true,
            Err(why) => writing.unrecorded = Some(why),
        }
        Ok(writing)
    }

    /// Waits for the folder, and records nothing yet.
    pub(super) fn hold(store: &'a TopicStore) -> Result<Self, TopicError> {
        let folder = &store.folder;
        let held = folder.hold()?;
        // An index that can't be read is found out before anything is written.
        let index = folder.read(INDEX)?.unwrap_or_default();
        let entries = folder.entries()?;
        let history = store.keeps_history.then(|| History::of(&folder.ours()));
        let unrecorded = history.as_ref().and_then(|history| history.settle().err());
        // Without it everything is read: slower, not worse.
        let seen = Seen::open(&folder.ours()).ok();
        let mut writing = Self {
            store,
            _held: held,
            entries,
            index,
            seen,
            history,
            unrecorded,
            is_recorded: false,
            is_noted: false,
            touched: BTreeSet::new(),
        };
        let listing = writing.listing();
        writing.is_noted = writing.seen.as_ref().is_some_and(|seen| seen.is_noted(&listing));
        Ok(writing)
    }

    /// The folder as it is known to be now.
    fn listing(&self) -> Listing {
        let mut bytes = Vec::with_capacity(64 * (self.entries.len() + 1));
        let index = stamp(&self.folder().0.join(INDEX));
        let entries = self.entries.iter().map(|entry| (entry.file.as_str(), entry.stamp));
        for (file, stamp) in entries.chain([(INDEX, index)]) {
            bytes.extend_from_slice(file.as_bytes());
            bytes.push(0);
            for number in stamp.map_or([0; 3], |stamp| [stamp.size, stamp.modified, stamp.number]) {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
        }
        *blake3::hash(&bytes).as_bytes()
    }

    /// Takes in how the files are now that were written.
    fn look_again(&mut self) {
        let folder = self.folder().0.clone();
        self.entries.retain(|entry| !self.touched.contains(&entry.file));
        for file in self.touched.iter().filter(|file| is_topic(file)) {
            let Ok(meta) = folder.join(file).symlink_metadata() else { continue };
            self.entries.push(Entry {
                file: file.clone(),
                modified: modified(&meta),
                stamp: Stamp::of(&meta),
            });
        }
        newest_first(&mut self.entries);
    }

    fn folder(&self) -> &'a Folder {
        &self.store.folder
    }

    /// The files that the history keeps, as they are now.
    fn present(&self) -> BTreeMap<String, Stamp> {
        let small = |stamp: &Stamp| stamp.size.cast_unsigned() <= MOST_BYTES;
        let stamps = self.entries.iter().filter_map(|entry| Some((entry.file.clone(), entry.stamp?)));
        let index = stamp(&self.folder().0.join(INDEX)).map(|stamp| (INDEX.to_owned(), stamp));
        stamps.chain(index).filter(|(_, stamp)| small(stamp)).collect()
    }

    fn record_found(&mut self) -> Result<(), Refusal> {
        let Some(history) = &self.history else { return Ok(()) };
        let head = history.head()?;
        if let (Some(head), Some(seen)) = (&head, &self.seen)
            && seen.is_recorded(head, &self.listing())
        {
            return Ok(());
        }
        let known = match (&head, &self.seen) {
            (Some(head), Some(seen)) => seen.recorded(head).ok().flatten(),
            (Some(_), None) | (None, _) => None,
        };
        let present = self.present();
        let mut gone: BTreeSet<String> = BTreeSet::new();
        let mut changed = present.clone();
        if let Some(known) = &known {
            gone = known.keys().filter(|file| !present.contains_key(*file)).cloned().collect();
            changed.retain(|file, stamp| known.get(file) != Some(stamp));
        }
        let mut notes: BTreeMap<String, Option<Stamp>> = BTreeMap::new();
        if let Some(head) = head.filter(|_| known.is_none() || !changed.is_empty()) {
            // A file that was only touched or copied is the same.
            let (same, besides) = history.compare(&self.folder().0, &changed)?;
            if known.is_none() {
                gone = besides;
            }
            for file in same {
                notes.insert(file.clone(), changed.remove(&file));
            }
            if changed.is_empty() && gone.is_empty() {
                self.note_recorded(&head, &notes, true);
            }
        }
        if changed.is_empty() && gone.is_empty() {
            return Ok(());
        }
        let files: BTreeSet<String> = changed.into_keys().chain(gone).collect();
        let what = format!("Find {} changed by others", named(&files));
        self.record(&Message::of(ChangeKind::Found, what), (files, true), notes)
    }

    /// Records files as they are now on disk.
    fn record(
        &mut self,
        message: &Message,
        (files, is_all): (BTreeSet<String>, bool),
        mut notes: BTreeMap<String, Option<Stamp>>,
    ) -> Result<(), Refusal> {
        let Some(history) = &self.history else { return Ok(()) };
        let mut contents = BTreeMap::new();
        for file in files {
            let path = self.folder().0.join(&file);
            let stamp = stamp(&path).filter(|stamp| stamp.size.cast_unsigned() <= MOST_BYTES);
            let content = match stamp {
                Some(_) => {
                    Some(std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?)
                }
                None => None,
            };
            notes.insert(file.clone(), stamp);
            contents.insert(file, content);
        }
        let head = history.commit(message, &contents)?;
        self.note_recorded(&head, &notes, is_all);
        Ok(())
    }

    /// Remembers what was recorded. Should that fail, the next change compares by content.
    fn note_recorded(&mut self, head: &str, notes: &BTreeMap<String, Option<Stamp>>, is_all: bool) {
        let listing = is_all.then(|| self.listing());
        let noted = self.seen.as_mut().map(|seen| seen.note_recorded(head, notes, listing.as_ref()));
        if noted.is_some_and(|noted| noted.is_err()) {
            self.seen = None;
        }
    }

    /// Records what was written. Returns why the history does not have it, if so.
    pub(super) fn commit(mut self, message: &Message) -> Option<Refusal> {
        let files = std::mem::take(&mut self.touched);
        if files.is_empty() {
            return self.unrecorded;
        }
        self.touched = files.clone();
        self.look_again();
        if self.is_noted {
            self.note_touched();
        }
        let recorded = self.record(message, (files, self.is_recorded), BTreeMap::new());
        recorded.err().or(self.unrecorded)
    }

    /// Writes a file that was not there; whether its name was free.
    pub(super) fn create(&mut self, file: &str, text: &str) -> Result<bool, TopicError> {
        let is_free = self.folder().create(file, text)?;
        if is_free {
            self.touched.insert(file.to_owned());
        }
        Ok(is_free)
    }

    /// Replaces a file as a whole, or makes it.
    pub(super) fn replace(&mut self, file: &str, bytes: &[u8]) -> Result<(), TopicError> {
        let target = self.folder().replace(file, bytes)?;
        if is_topic(&target) || target == INDEX {
            self.touched.insert(target);
        }
        Ok(())
    }

    /// Replaces the index, unless it is the same.
    pub(super) fn replace_index(&mut self, text: &str) -> Result<(), TopicError> {
        if text != self.index {
            self.replace(INDEX, text.as_bytes())?;
            self.index = text.to_owned();
        }
        Ok(())
    }

    /// Moves a file to the forgotten ones.
    pub(super) fn put_away(&mut self, file: &str, now: Timestamp) -> Result<PathBuf, TopicError> {
        let kept = self.folder().put_away(file, now)?;
        self.touched.insert(file.to_owned());
        Ok(kept)
    }

    /// Deletes a file.
    pub(super) fn delete(&mut self, file: &str) -> Result<(), TopicError> {
        super::seen::remove_file(&self.folder().0.join(file))?;
        self.touched.insert(file.to_owned());
        Ok(())
    }

    /// Forgets what was seen of the files.
    pub(super) fn forget_seen(&mut self) -> Result<(), TopicError> {
        let ours = self.folder().ours();
        self.seen = None;
        super::seen::remove(&ours)?;
        self.seen = Seen::open(&ours).ok();
        (self.is_noted, self.is_recorded) = (false, false);
        Ok(())
    }

    /// Has the index recorded as it is.
    pub(super) fn touch_index(&mut self) {
        self.touched.insert(INDEX.to_owned());
    }

    /// Gives a memory its line in the index, whatever gives way for it; none to one that is over.
    pub(super) fn place(&mut self, file: &str) -> Result<(), TopicError> {
        // The clock of the file that was written just now.
        let now = modified_at(&self.folder().0.join(file));
        let store = self.store;
        let text = match store.placed(file, now).filter(|placed| placed.rank.is_live) {
            Some(placed) => index::with(&self.index, file, &placed.line),
            None => index::without(&self.index, file),
        };
        let text = index::fitted(&text, |file| store.placed(file, now));
        self.replace_index(&text)
    }

    /// A memory that has the same name, or says much the same; the newest of them.
    pub(super) fn near(&mut self, print: &Print, except: &[&str]) -> Option<Topic> {
        let candidates = match self.candidates(print) {
            Some(candidates) => candidates,
            None => self.all_prints(),
        };
        let near: BTreeSet<String> = candidates
            .into_iter()
            .filter(|(file, known)| !except.contains(&file.as_str()) && print.is_near(known))
            .map(|(file, _)| file)
            .collect();
        let entry = self.entries.iter().find(|entry| near.contains(&entry.file))?;
        self.load(entry)
    }

    /// Out of what we saw, brought up to date; `None` if that can't be had.
    fn candidates(&mut self, print: &Print) -> Option<Vec<(String, Print)>> {
        let seen = self.seen.as_ref()?;
        if self.is_noted {
            return seen.candidates(print).ok();
        }
        let known = seen.stamps().ok()?;
        let changed = self.entries.iter().filter(|entry| match entry.stamp {
            Some(stamp) => known.get(&entry.file) != Some(&stamp),
            None => false,
        });
        let mut notes = Vec::new();
        for entry in changed {
            notes.push((entry.file.clone(), self.known(entry)));
        }
        let present: BTreeSet<&str> = self.entries.iter().map(|entry| entry.file.as_str()).collect();
        notes.extend(
            known.keys().filter(|file| !present.contains(file.as_str())).map(|file| (file.clone(), None)),
        );
        let listing = self.listing();
        let seen = self.seen.as_mut()?;
        if seen.note(&notes, &listing).is_err() {
            self.seen = None;
            return None;
        }
        self.is_noted = true;
        seen.candidates(print).ok()
    }

    /// Notes what the files say that were written.
    fn note_touched(&mut self) {
        let of = |file: &String| {
            self.entries.iter().find(|entry| entry.file == *file).and_then(|entry| self.known(entry))
        };
        let notes: Vec<_> =
            self.touched.iter().filter(|file| is_topic(file)).map(|file| (file.clone(), of(file))).collect();
        let listing = self.listing();
        // Should that fail, they are read another time.
        let _ = self.seen.as_mut().map(|seen| seen.note(&notes, &listing));
    }

    /// What a file says, as it is noted; `None` for a link, or what can't be read.
    fn known(&self, entry: &Entry) -> Option<(Stamp, Known)> {
        let (stamp, topic) = (entry.stamp?, self.load(entry)?);
        Some((stamp, Known { print: print_of(&topic), is_over: topic.meta.superseded_by.is_some() }))
    }

    fn all_prints(&self) -> Vec<(String, Print)> {
        let topics = self.entries.iter().filter_map(|entry| self.load(entry));
        let live = topics.filter(|topic| topic.meta.superseded_by.is_none());
        live.map(|topic| (topic.file.clone(), print_of(&topic))).collect()
    }

    fn load(&self, entry: &Entry) -> Option<Topic> {
        let (text, _) = self.folder().read_head(&entry.file, SEARCHED_BYTES).ok()??;
        Some(topic(entry, &Document::parse(&text)))
    }
}

fn print_of(topic: &Topic) -> Print {
    Print::of(&topic.name, &topic.description, &topic.body)
}

fn stamp(path: &Path) -> Option<Stamp> {
    path.symlink_metadata().ok().as_ref().and_then(Stamp::of)
}

/// When a file was last changed; the epoch where that is not known.
pub(super) fn modified_at(path: &Path) -> Timestamp {
    path.metadata().map_or(Timestamp::UNIX_EPOCH, |meta| modified(&meta))
}

/// Some of the files by name, and how many more.
pub(super) fn named(files: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = files.iter().take(NAMED).map(String::as_str).collect();
    let more = files.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
