//! What the files of a folder say, kept so that finding among ten thousand costs what finding among a thousand does.
//!
//! `.throughline/catalogue.db` beside the memories: their heads, and which words each has. **It is never the truth.** It can be deleted at
//! any time and is built again from the files; what it says of a memory is checked on the file before anybody sees it; and where it
//! can't be read or written one in memory takes its place.

mod sync;
mod tables;

use super::fit::{Holders, Plan, is_slip, may_be_slip, sought};
use super::query::{Query, Word};
use crate::topics::{Meta, TopicHead, TopicStore};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};
use std::collections::HashMap;
use std::path::PathBuf;

/// Rows that are read for the rare words of a request. Words that more memories have than fit are then looked up in the best of those
/// found so far, and nowhere else.
const MOST_ROWS: u64 = 4_000;
/// Memories in which frequent words are looked up.
const MOST_LOOKED_UP: usize = 200;
/// Words of a request whose spelling is compared with all that begin like them.
const MOST_SLIPS: usize = 6;
/// Words that one is compared with.
const MOST_SPELLINGS: i64 = 4_000;

/// The catalogue of one folder.
pub(crate) struct Catalogue {
    db: Connection,
    /// Where it is; `None` if it is in memory.
    place: Option<PathBuf>,
    /// The memory up to which files were last looked at one by one.
    swept: i64,
}

/// A memory as the catalogue has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Card {
    pub(crate) head: TopicHead,
    /// How well it fits.
    pub(crate) fit: f32,
}

impl Catalogue {
    /// What is asked while this is held is answered from one state.
    pub(crate) fn hold_still(&self) -> rusqlite::Result<rusqlite::Transaction<'_>> {
        self.db.unchecked_transaction()
    }

    /// The catalogue of a folder: the one on disk, made or made anew as need be; else one in memory. `None` if not even that can be.
    pub(crate) fn open(store: &TopicStore) -> Option<Self> {
        Self::on_disk(store).or_else(Self::in_memory)
    }

    fn on_disk(store: &TopicStore) -> Option<Self> {
        let place = tables::place(store)?;
        let db = tables::connect(&place).or_else(|error| {
            // Somebody who writes is waited for in vain, and is no reason to take the file away.
            if tables::is_busy(&error) {
                return Err(error);
            }
            tables::remove(&place);
            tables::connect(&place)
        });
        Some(Self { db: db.ok()?, place: Some(place), swept: sync::somewhere() })
    }

    /// One that nobody else sees.
    pub(crate) fn in_memory() -> Option<Self> {
        Some(Self { db: tables::connect_in_memory().ok()?, place: None, swept: sync::somewhere() })
    }

    /// Takes the catalogue away after it failed, if it is damaged rather than in use.
    pub(crate) fn discard(self, error: &rusqlite::Error) {
        let Self { db, place, swept: _ } = self;
        drop(db);
        if let Some(place) = place.filter(|_| !tables::is_busy(error)) {
            tables::remove(&place);
        }
    }

    /// Memories that there are.
    pub(crate) fn count(&self) -> rusqlite::Result<u64> {
        let count: i64 =
            self.db.prepare_cached("SELECT memories FROM folder")?.query_row([], |row| row.get(0))?;
        Ok(count.max(0).cast_unsigned())
    }

    /// Adds what is known here of the words of a request.
    pub(crate) fn add_holders(&self, query: &Query, holders: &mut Holders) -> rusqlite::Result<()> {
        holders.memories += self.count()?;
        let mut statement = self.db.prepare_cached("SELECT holders FROM term WHERE text = ?")?;
        let mut count = |term: &str| -> rusqlite::Result<u64> {
            let found: Option<i64> = statement.query_row([term], |row| row.get(0)).optional()?;
            Ok(found.unwrap_or(0).max(0).cast_unsigned())
        };
        for term in sought(query) {
            let more = count(term)?;
            if more > 0 {
                *holders.of.entry(term.to_owned()).or_default() += more;
            }
        }
        Ok(())
    }

    /// Finds words here that those of a request may be slips of, where no memory has them as they are.
    pub(crate) fn add_respelt(&self, query: &Query, holders: &mut Holders) -> rusqlite::Result<()> {
        let is_unknown = |word: &&Word| !holders.of.contains_key(&word.term) && may_be_slip(word);
        let unknown: Vec<&Word> = query.words.iter().filter(is_unknown).take(MOST_SLIPS).collect();
        for word in unknown {
            for (term, more) in self.respelt(&word.typed)? {
                *holders.of.entry(term.clone()).or_default() += more;
                holders.respelt.entry(word.term.clone()).or_default().push(term);
            }
        }
        Ok(())
    }

    fn respelt(&self, typed: &str) -> rusqlite::Result<Vec<(String, u64)>> {
        let Some(first) = typed.as_bytes().first() else { return Ok(Vec::new()) };
        let (from, to) = (char::from(*first).to_string(), char::from(first + 1).to_string());
        let mut statement = self.db.prepare_cached(
            "SELECT word, text, holders FROM spelling JOIN term ON term.id = spelling.term
             WHERE word >= ? AND word < ? AND length(word) BETWEEN ? AND ? AND holders > 0 LIMIT ?",
        )?;
        let length = typed.len() as i64;
        let rows = statement.query_map(params![from, to, length - 1, length + 1, MOST_SPELLINGS], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
        })?;
        let mut found: HashMap<String, u64> = HashMap::new();
        for row in rows {
            let (word, term, holders) = row?;
            if is_slip(&word, typed) {
                found.insert(term, holders.max(0).cast_unsigned());
            }
        }
        let mut found: Vec<(String, u64)> = found.into_iter().collect();
        found.sort_unstable();
        Ok(found)
    }

    /// The memories that fit a plan best, best first, at most so many.
    pub(crate) fn best(&self, plan: &Plan, most: usize) -> rusqlite::Result<Vec<Card>> {
        let mut found: HashMap<i64, Vec<f32>> = HashMap::new();
        let mut rows = 0;
        let mut frequent = Vec::new();
        for (place, (term, holders)) in plan.terms.iter().enumerate() {
            // The rarest word is always read, if not to its end.
            if place > 0 && rows + holders > MOST_ROWS {
                frequent.push((place, term));
                continue;
            }
            rows += self.add_postings(term, place, (plan, &mut found))?;
        }
        let mut ranked: Vec<(i64, f32)> =
            found.iter().map(|(memory, weights)| (*memory, plan.fit(weights))).collect();
        rank(&mut ranked);
        if !frequent.is_empty() {
            ranked.truncate(MOST_LOOKED_UP.max(most));
            let mut statement = self.db.prepare_cached(
                "SELECT weight FROM posting WHERE term = (SELECT id FROM term WHERE text = ?) AND memory = ?",
            )?;
            for (memory, fit) in &mut ranked {
                let Some(weights) = found.get_mut(memory) else { continue };
                for (place, term) in &frequent {
                    let weight: Option<f64> =
                        statement.query_row(params![term, *memory], |row| row.get(0)).optional()?;
                    if let (Some(weight), Some(slot)) = (weight, weights.get_mut(*place)) {
                        *slot = weight as f32;
                    }
                }
                *fit = plan.fit(weights);
            }
            rank(&mut ranked);
        }
        let mut cards = Vec::new();
        for (memory, fit) in ranked.into_iter().filter(|(_, fit)| *fit > 0.0).take(most) {
            cards.extend(self.head(memory)?.map(|head| Card { head, fit }));
        }
        Ok(cards)
    }

    fn add_postings(
        &self,
        term: &str,
        place: usize,
        (plan, found): (&Plan, &mut HashMap<i64, Vec<f32>>),
    ) -> rusqlite::Result<u64> {
        let mut statement = self.db.prepare_cached(
            "SELECT memory, weight FROM posting WHERE term = (SELECT id FROM term WHERE text = ?)
             ORDER BY memory DESC LIMIT ?",
        )?;
        let mut rows = statement.query(params![term, MOST_ROWS.cast_signed()])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            let (memory, weight): (i64, f64) = (row.get(0)?, row.get(1)?);
            let weights = found.entry(memory).or_insert_with(|| vec![0.0; plan.terms.len()]);
            if let Some(slot) = weights.get_mut(place) {
                *slot = weight as f32;
            }
            count += 1;
        }
        Ok(count)
    }

    /// The newest memories, at most so many.
    pub(crate) fn newest(&self, most: usize) -> rusqlite::Result<Vec<TopicHead>> {
        let mut statement = self.db.prepare_cached(
            "SELECT file, name, description, kind, modified, meta FROM memory ORDER BY modified DESC, file LIMIT ?",
        )?;
        let rows = statement.query_map([i64::try_from(most).unwrap_or(i64::MAX)], head)?;
        rows.collect()
    }

    fn head(&self, memory: i64) -> rusqlite::Result<Option<TopicHead>> {
        let mut statement = self.db.prepare_cached(
            "SELECT file, name, description, kind, modified, meta FROM memory WHERE id = ?",
        )?;
        statement.query_row([memory], head).optional()
    }
}

/// Best first; of equals the one that was catalogued last.
fn rank(ranked: &mut [(i64, f32)]) {
    ranked.sort_unstable_by(|(a, x), (b, y)| y.total_cmp(x).then_with(|| b.cmp(a)));
}

fn head(row: &rusqlite::Row<'_>) -> rusqlite::Result<TopicHead> {
    let kind: Option<String> = row.get(3)?;
    let meta: String = row.get(5)?;
    let modified = Timestamp::from_nanosecond(i128::from(row.get::<_, i64>(4)?));
    Ok(TopicHead {
        file: row.get(0)?,
        name: row.get(1)?,
        description: row.get(2)?,
        kind: kind.and_then(|kind| kind.parse().ok()),
        modified: modified.unwrap_or(Timestamp::UNIX_EPOCH),
        meta: serde_json::from_str::<Meta>(&meta).unwrap_or_default(),
    })
}
