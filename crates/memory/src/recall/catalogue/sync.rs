//! Keeping the catalogue in step with the files, by as few looks as possible.
//!
//! A file that was added, removed or replaced as a whole (as we and most editors write) changes the folder's time; the listing then tells
//! which by name and number, without a look at each. A file that was edited in place changes nothing but itself: some files are
//! looked at each time, in turns. In a folder of up to [`SWEEP`] memories that is all of them.

use super::super::fit::Indexed;
use super::Catalogue;
use crate::topics::{Meta, Source, TopicStore, is_topic};
use rusqlite::{OptionalExtension as _, Transaction, TransactionBehavior, params};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Files that are looked at one by one each time.
pub(crate) const SWEEP: usize = 256;
/// File systems count time in steps: what changed so shortly before it was looked at may change again without a trace.
const STEP: Duration = Duration::from_secs(2);
/// No time at all: whatever has it is looked at again.
const UNSURE: i64 = -1;

/// How a file was when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    stamp: i64,
    size: i64,
    number: i64,
}

impl Look {
    fn at(path: &Path) -> Option<Self> {
        let meta = path.metadata().ok().filter(fs::Metadata::is_file)?;
        // Of a link its own number, as the listing has it.
        let own = path.symlink_metadata().ok()?;
        Some(Self { stamp: stamp(&meta), size: meta.len().cast_signed(), number: number(&own) })
    }
}

impl Catalogue {
    /// Brings the catalogue up to date. Where somebody else writes at the moment, it stays as it is for this time.
    pub(crate) fn sync(&mut self, store: &TopicStore) -> rusqlite::Result<()> {
        let folder = store.folder();
        let time = folder.metadata().map_or(UNSURE, |meta| stamp(&meta));
        let known: i64 = self.db.query_row("SELECT stamp FROM folder", [], |row| row.get(0))?;
        let is_listed = time != UNSURE && time == known;
        let mut changed = if is_listed { Vec::new() } else { self.differing(folder)? };
        changed.extend(self.sweep(folder)?);
        changed.sort_unstable();
        changed.dedup();
        if changed.is_empty() && is_listed {
            return Ok(());
        }
        let time = if is_fresh(time) { UNSURE } else { time };
        if changed.is_empty() && time == known {
            return Ok(());
        }
        match self.take_in(store, &changed, time) {
            Err(error) if super::tables::is_busy(&error) && self.count()? > 0 => Ok(()),
            done => done,
        }
    }

    /// Files that the listing has and the catalogue has not, or under another number, or the other way round.
    fn differing(&self, folder: &Path) -> rusqlite::Result<Vec<String>> {
        let mut listed: HashMap<String, i64> = HashMap::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if let Some(file) = entry.file_name().to_str().filter(|file| is_topic(file)) {
                listed.insert(file.to_owned(), listed_number(&entry));
            }
        }
        let mut statement = self.db.prepare_cached("SELECT file, number FROM memory")?;
        let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
        let mut changed = Vec::new();
        for row in rows {
            let (file, number) = row?;
            if listed.remove(&file) != Some(number) {
                changed.push(file);
            }
        }
        changed.extend(listed.into_keys());
        Ok(changed)
    }

    /// Looks at the next files in turn; those that differ.
    fn sweep(&mut self, folder: &Path) -> rusqlite::Result<Vec<String>> {
        let mut statement = self.db.prepare_cached(
            "SELECT id, file, stamp, size, number FROM memory WHERE id > ?1 ORDER BY id LIMIT ?2",
        )?;
        let mut changed = Vec::new();
        let mut left = SWEEP;
        let from = self.swept;
        for part in 0..2 {
            let rows = statement.query_map(params![self.swept, left as i64], |row| {
                let look = Look { stamp: row.get(2)?, size: row.get(3)?, number: row.get(4)? };
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, look))
            })?;
            let mut last = None;
            for row in rows {
                let (id, file, look) = row?;
                if part == 1 && id > from {
                    // Once around.
                    break;
                }
                if Look::at(&folder.join(&file)) != Some(look) {
                    changed.push(file);
                }
                left = left.saturating_sub(1);
                last = Some(id);
            }
            match last.filter(|_| left == 0) {
                Some(last) => {
                    self.swept = last;
                    break;
                }
                // The end: go on from the beginning.
                None => self.swept = if part == 0 { 0 } else { last.unwrap_or(0) },
            }
        }
        Ok(changed)
    }

    /// Reads files anew.
    fn take_in(&mut self, store: &TopicStore, files: &[String], time: i64) -> rusqlite::Result<()> {
        let change = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for file in files {
            remove(&change, file)?;
            let path = store.folder().join(file);
            let Some(look) = Look::at(&path) else { continue };
            add(&change, store, (file, look))?;
        }
        change.execute("UPDATE folder SET stamp = ?, memories = (SELECT count(*) FROM memory)", [time])?;
        change.commit()
    }
}

fn remove(change: &Transaction<'_>, file: &str) -> rusqlite::Result<()> {
    let id: Option<i64> = change
        .prepare_cached("SELECT id FROM memory WHERE file = ?")?
        .query_row([file], |row| row.get(0))
        .optional()?;
    let Some(id) = id else { return Ok(()) };
    change
        .prepare_cached(
            "UPDATE term SET holders = holders - 1 WHERE id IN (SELECT term FROM posting WHERE memory = ?)",
        )?
        .execute([id])?;
    // Words that nobody says any more are nobody's business.
    let unsaid =
        "SELECT id FROM term WHERE id IN (SELECT term FROM posting WHERE memory = ?) AND holders <= 0";
    change.prepare_cached(&format!("DELETE FROM spelling WHERE term IN ({unsaid})"))?.execute([id])?;
    change.prepare_cached(&format!("DELETE FROM term WHERE id IN ({unsaid})"))?.execute([id])?;
    change.prepare_cached("DELETE FROM posting WHERE memory = ?")?.execute([id])?;
    change.prepare_cached("DELETE FROM memory WHERE id = ?")?.execute([id])?;
    Ok(())
}

fn add(change: &Transaction<'_>, store: &TopicStore, (file, look): (&str, Look)) -> rusqlite::Result<()> {
    // What can't be read has no words; it is looked at again when it changes.
    let topic = store.searched(file);
    let indexed = topic.as_ref().map(Indexed::of).unwrap_or_default();
    let head = topic.map(crate::topics::TopicHead::from);
    let Look { stamp, size, number } = look;
    let stamp_kept = if is_fresh(stamp) { UNSURE } else { stamp };
    let (name, description, kind, meta) = match &head {
        Some(head) => (head.name.as_str(), head.description.as_str(), head.kind, brief(&head.meta)),
        None => (file.trim_end_matches(".md"), "", None, brief(&Meta::default())),
    };
    change
        .prepare_cached(
            "INSERT INTO memory (file, stamp, size, number, name, description, kind, modified, meta)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            file,
            stamp_kept,
            size,
            number,
            name,
            description,
            kind.map(|kind| kind.name()),
            stamp,
            meta
        ])?;
    let memory = change.last_insert_rowid();
    let mut ids: HashMap<&str, i64> = HashMap::new();
    for (term, weight) in &indexed.terms {
        let id: i64 = change
            .prepare_cached(
                "INSERT INTO term (text, holders) VALUES (?, 1)
                 ON CONFLICT (text) DO UPDATE SET holders = holders + 1 RETURNING id",
            )?
            .query_row([term], |row| row.get(0))?;
        ids.insert(term, id);
        change
            .prepare_cached("INSERT INTO posting (term, memory, weight) VALUES (?, ?, ?)")?
            .execute(params![id, memory, f64::from(*weight)])?;
    }
    for (word, term) in &indexed.spellings {
        if let Some(id) = ids.get(term.as_str()) {
            change
                .prepare_cached("INSERT OR REPLACE INTO spelling (word, term) VALUES (?, ?)")?
                .execute(params![word, id])?;
        }
    }
    Ok(())
}

/// What decides whether a memory holds and how it ranks, without the words that it was made of.
fn brief(meta: &Meta) -> String {
    let source = |source: &Source| Source { quote: String::new(), messages: Vec::new(), ..source.clone() };
    let brief =
        Meta { sources: meta.sources.iter().map(source).collect(), anchors: Vec::new(), ..meta.clone() };
    serde_json::to_string(&brief).unwrap_or_else(|_| "{}".to_owned())
}

/// Whether something changed so shortly ago that it may change again without a trace. This asks the clock of the machine, for it is
/// the one that files are stamped by.
fn is_fresh(stamp: i64) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let then = Duration::from_nanos(stamp.max(0).cast_unsigned());
    then + STEP > now
}

fn stamp(meta: &fs::Metadata) -> i64 {
    let since = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// Where to begin to look at files in turn: elsewhere in each process, so that short ones do not all look at the same.
pub(super) fn somewhere() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::from(now.subsec_micros() % 65_536)
}

#[cfg(unix)]
fn number(meta: &fs::Metadata) -> i64 {
    std::os::unix::fs::MetadataExt::ino(meta).cast_signed()
}

#[cfg(unix)]
fn listed_number(entry: &fs::DirEntry) -> i64 {
    std::os::unix::fs::DirEntryExt::ino(entry).cast_signed()
}

/// Without numbers, times tell files apart.
#[cfg(not(unix))]
fn number(meta: &fs::Metadata) -> i64 {
    stamp(meta)
}

#[cfg(not(unix))]
fn listed_number(entry: &fs::DirEntry) -> i64 {
    entry.metadata().map_or(0, |meta| stamp(&meta))
}
