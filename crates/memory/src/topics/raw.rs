//! Files of the folder as text, for tools that show and change them as such: held, recorded, and the index kept in step.

use super::document::{Document, Values};
use super::error::TopicError;
use super::history::Message;
use super::index::{self, Placed, repaired, without};
use super::meta::Meta;
use super::names::{INDEX, is_topic};
use super::prints::Print;
use super::recorded::ChangeKind;
use super::store::TopicStore;
use super::writing::Writing;
use super::yaml;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

/// The name of the index.
pub(crate) const INDEX_FILE: &str = INDEX;

/// Whether a file of the folder is a memory by its name.
pub(crate) fn is_memory(file: &str) -> bool {
    is_topic(file)
}

/// Where the lines of a frontmatter are, and where the text behind it begins; `None` if there is none.
pub(crate) fn front_of(text: &str) -> Option<(Range<usize>, usize)> {
    Document::parse(text).places()
}

/// What a file says of itself beyond its words.
pub(crate) fn meta_of(text: &str) -> Meta {
    Document::parse(text).head.meta
}

/// A file with other metadata; all else stays to the byte.
pub(crate) fn with_meta(text: &str, meta: Meta) -> Result<String, String> {
    let meta = meta.taken_in(&mut Vec::new()).map_err(|error| error.to_string())?;
    Document::parse(text).with(Values { meta: Some(&meta), ..Values::default() }, None)
}

/// A frontmatter in two: the lines that others may see and write, and the block of metadata.
pub(crate) fn parted(front: &str) -> (String, String) {
    let (mut plain, mut metadata) = (String::new(), String::new());
    let mut inside = false;
    for line in front.split_inclusive('\n') {
        inside = if inside {
            line.starts_with([' ', '\t']) || line.trim().is_empty()
        } else {
            line.strip_prefix("metadata").is_some_and(|rest| rest.trim_start_matches(' ').starts_with(':'))
        };
        if inside { &mut metadata } else { &mut plain }.push_str(line);
    }
    (plain, metadata)
}

/// A file without its block of metadata, and that block.
pub(crate) fn apart(text: &str) -> (String, String) {
    let Some((front, _)) = front_of(text) else { return (text.to_owned(), String::new()) };
    let (plain, metadata) = parted(&text[front.clone()]);
    (format!("{}{plain}{}", &text[..front.start], &text[front.end..]), metadata)
}

/// A file with a block of metadata.
pub(crate) fn together(text: &str, metadata: &str) -> String {
    match front_of(text) {
        Some((front, _)) => format!("{}{metadata}{}", &text[..front.end], &text[front.end..]),
        None => text.to_owned(),
    }
}

/// A value of a frontmatter.
pub(crate) fn scalar(text: &str) -> String {
    yaml::scalar(text)
}

/// A text in one line.
pub(crate) fn one_line(text: &str) -> String {
    yaml::one_line(text)
}

/// What a memory says, to be compared with another.
pub(crate) struct Likeness(Print);

impl Likeness {
    pub(crate) fn of(name: &str, description: &str, body: &str) -> Self {
        Self(Print::of(name, description, body))
    }

    /// Whether both say much the same, or have the same name.
    pub(crate) fn is_near(&self, other: &Self) -> bool {
        self.0.is_near(&other.0)
    }
}

/// An index with a line for a file, if it has none.
pub(crate) fn with_line(index: &str, (file, name, hook): (&str, &str, &str)) -> String {
    if index::pointers(index).contains(file) {
        return index.to_owned();
    }
    index::with(index, file, &index::line(name, file, hook))
}

/// An index without the lines of a file.
pub(crate) fn without_line(index: &str, file: &str) -> String {
    without(index, file)
}

/// Holds the folder while files are changed as text.
pub(crate) struct Files<'a> {
    store: &'a TopicStore,
    writing: Writing<'a>,
}

impl TopicStore {
    /// Waits for the folder.
    pub(crate) fn files(&self) -> Result<Files<'_>, TopicError> {
        Ok(Files { store: self, writing: Writing::begin(self)? })
    }

    /// Where our own files are.
    pub(crate) fn ours(&self) -> PathBuf {
        self.folder.ours()
    }
}

impl Files<'_> {
    /// Writes a memory that was not there, and its line; whether its name was free.
    pub(crate) fn create(&mut self, file: &str, text: &str) -> Result<bool, TopicError> {
        // Names that differ by case alone are one on some systems.
        let is_taken = self.writing.entries.iter().any(|entry| entry.file.eq_ignore_ascii_case(file));
        if is_taken || !self.writing.create(file, text)? {
            return Ok(false);
        }
        self.writing.place(file)?;
        Ok(true)
    }

    /// Replaces a memory's text, and brings its line up to date.
    pub(crate) fn replace(&mut self, file: &str, text: &str) -> Result<(), TopicError> {
        self.writing.replace(file, text.as_bytes())?;
        self.writing.place(file)
    }

    /// Deletes a memory that stands under another name now.
    pub(crate) fn drop_moved(&mut self, file: &str) -> Result<(), TopicError> {
        self.writing.delete(file)?;
        let index = without(&self.writing.index, file);
        self.writing.replace_index(&index)
    }

    /// Replaces the index, and puts what is amiss in it in order.
    pub(crate) fn set_index(&mut self, text: &str, now: Timestamp) -> Result<(), TopicError> {
        let placed = |file: &String| Some((file.clone(), self.store.placed(file, now)?));
        let files = self.writing.entries.iter().map(|entry| &entry.file);
        let memories: BTreeMap<String, Placed> = files.filter_map(placed).collect();
        let is_gone = |file: &str| matches!(self.store.folder.resolve(file), Ok(None));
        let (text, _) = repaired(text, &memories, is_gone);
        self.writing.replace_index(&text)
    }

    /// Records what was done. What the history does not have, it takes in with the next change.
    pub(crate) fn commit(self, kind: ChangeKind, what: String) {
        self.writing.commit(&Message::of(kind, what));
    }
}
