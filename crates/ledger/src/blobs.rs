//! Long payloads and all pictures live once, by content hash, outside the ledger.
//!
//! In a line, such a string is written as `{"$blob":{"hash":…,"bytes":…}}`, wherever in the record it stands; reading
//! puts the string back. A real object that looks like that is escaped with one more `$`.

use crate::LedgerError;
use crate::home::{Home, make_private_dir};
use memchr::memmem::Finder;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Strings longer than this many bytes become blobs.
pub const INLINE_LIMIT: usize = 32 << 10;

/// A data URL longer than this becomes a blob however short it is otherwise: it is a picture.
const DATA_URL_LIMIT: usize = 256;

const KEY: &str = "$blob";

/// Blobs that are remembered to be whole. With more of them, some are read once more.
const MAX_WHOLE: usize = 4096;

/// The blobs of one home.
#[derive(Clone, Debug)]
pub struct Blobs {
    dir: PathBuf,
    /// Hashes whose files were seen to be whole, so that a payload met often is read once.
    whole: Arc<Mutex<HashSet<String>>>,
}

impl Blobs {
    /// The blobs of `home`.
    pub fn of(home: &Home) -> Self {
        Self { dir: home.blobs(), whole: Arc::default() }
    }

    fn path(&self, hash: &str) -> PathBuf {
        self.dir.join(hash.get(..2).unwrap_or("__")).join(hash)
    }

    /// Keeps `text` and returns its hash, and its file where that is new and not yet synced.
    pub fn put(&self, text: &str) -> Result<(String, Option<PathBuf>), LedgerError> {
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        let path = self.path(&hash);
        // A crash or a bad disk may have left a file of the right name with other content.
        if self.is_whole(&hash) {
            return Ok((hash, None));
        }
        let dir = self.dir.join(&hash[..2]);
        make_private_dir(&dir)?;
        let mut file = tempfile::Builder::new()
            .prefix(".new-")
            .tempfile_in(&dir)
            .map_err(LedgerError::io("make a blob in", &dir))?;
        file.write_all(text.as_bytes()).map_err(LedgerError::io("write", &path))?;
        file.persist(&path).map_err(|e| LedgerError::io("write", &path)(e.error))?;
        Ok((hash, Some(path)))
    }

    fn is_whole(&self, hash: &str) -> bool {
        // A poisoned lock only means that a thread died while it held a set of hashes.
        let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        if whole.contains(hash) {
            return true;
        }
        let is_whole = self.get(hash).is_some();
        if is_whole {
            if whole.len() >= MAX_WHOLE {
                whole.clear();
            }
            whole.insert(hash.to_owned());
        }
        is_whole
    }

    /// The text behind a hash; `None` where it is missing or damaged.
    pub fn get(&self, hash: &str) -> Option<String> {
        if hash.len() != 64 || !hash.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let bytes = fs::read(self.path(hash)).ok()?;
        (blake3::hash(&bytes).to_hex().as_str() == hash).then(|| String::from_utf8(bytes).ok())?
    }
}

/// Whether a serialised record may hold something that belongs in a blob, or looks like a reference to one.
pub(crate) fn may_need_blobs(line: &[u8]) -> bool {
    // All that marks a picture contains this; one search for it is cheaper than one for each.
    static PICTURE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"base64"));
    line.len() > INLINE_LIMIT || PICTURE.find(line).is_some() || has_blobs(line)
}

/// Whether a line refers to blobs or holds an escaped look-alike.
pub(crate) fn has_blobs(line: &[u8]) -> bool {
    static REFERENCE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(KEY));
    REFERENCE.find(line).is_some()
}

/// Moves what belongs in blobs out of a record. New blob files are added to `fresh`.
pub(crate) fn move_out(
    blobs: &Blobs,
    value: &mut Value,
    limit: usize,
    fresh: &mut Vec<PathBuf>,
) -> Result<(), LedgerError> {
    Moving { blobs, limit, fresh }.out_of(value, Place::Elsewhere)
}

struct Moving<'a> {
    blobs: &'a Blobs,
    /// Strings longer than this go.
    limit: usize,
    fresh: &'a mut Vec<PathBuf>,
}

/// `Source::Base64` as core writes it: `{"base64":{"media_type":…,"data":…}}`.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// The object behind `base64`.
    Picture,
    /// Its `data`.
    PictureData,
    Elsewhere,
}

impl Moving<'_> {
    fn out_of(&mut self, value: &mut Value, place: Place) -> Result<(), LedgerError> {
        match value {
            Value::String(text) => {
                let picture = place == Place::PictureData && !text.is_empty();
                let data_url = text.len() > DATA_URL_LIMIT && text.starts_with("data:");
                if text.len() > self.limit || picture || data_url {
                    let (hash, file) = self.blobs.put(text)?;
                    self.fresh.extend(file);
                    *value = json!({ KEY: { "hash": hash, "bytes": text.len() } });
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.out_of(item, Place::Elsewhere)?;
                }
            }
            Value::Object(map) => {
                for (key, item) in map.iter_mut() {
                    let inner = match (place, key.as_str()) {
                        (Place::Picture, "data") => Place::PictureData,
                        (_, "base64") => Place::Picture,
                        (_, _) => Place::Elsewhere,
                    };
                    self.out_of(item, inner)?;
                }
                if let Some(key) = lone_key(map)
                    && let Some(inner) = map.shift_remove(&key)
                {
                    map.insert(format!("${key}"), inner);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        Ok(())
    }
}

/// Puts blobs back into a record. The hashes of missing ones are returned; a note stands in their place.
pub(crate) fn bring_back(blobs: &Blobs, value: &mut Value, missing: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| bring_back(blobs, item, missing)),
        Value::Object(map) => {
            if let Some(key) = lone_key(map) {
                let Some(mut inner) = map.shift_remove(&key) else { return };
                if key == KEY {
                    let hash = inner.get("hash").and_then(Value::as_str).unwrap_or("?").to_owned();
                    let text = blobs.get(&hash).unwrap_or_else(|| {
                        missing.push(hash.clone());
                        format!("[blob {hash} is missing]")
                    });
                    *value = Value::String(text);
                } else {
                    bring_back(blobs, &mut inner, missing);
                    map.insert(key[1..].to_owned(), inner);
                }
            } else {
                map.values_mut().for_each(|item| bring_back(blobs, item, missing));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The hashes that a line refers to, without reading any blob.
pub(crate) fn referenced(value: &Value, found: &mut HashSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| referenced(item, found)),
        Value::Object(map) => {
            match map.get(KEY).and_then(|inner| inner.get("hash")).and_then(Value::as_str) {
                Some(hash) if map.len() == 1 => drop(found.insert(hash.to_owned())),
                Some(_) | None => map.values().for_each(|item| referenced(item, found)),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The only key of an object, if it is `$blob` or an escaped form of it.
fn lone_key(map: &Map<String, Value>) -> Option<String> {
    if map.len() != 1 {
        return None;
    }
    let key = map.keys().next()?;
    (key.ends_with(KEY) && key[..key.len() - KEY.len()].bytes().all(|b| b == b'$')).then(|| key.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            "[a-z]{0,5}".prop_map(Value::from),
            Just(Value::from("x".repeat(INLINE_LIMIT + 1))),
            Just(Value::from(format!("data:image/png;base64,{}", "A".repeat(300)))),
        ];
        leaf.prop_recursive(4, 24, 3, |inner| {
            let key = prop_oneof![Just("$blob"), Just("$$blob"), Just("base64"), Just("data"), Just("a")];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::vec((key, inner), 0..3).prop_map(|pairs| {
                    Value::Object(pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_moves_out_comes_back_and_look_alikes_stay_themselves(original in value()) {
            let dir = tempfile::tempdir().unwrap();
            let blobs = Blobs::of(&Home::new(dir.path()));
            let mut value = original.clone();
            move_out(&blobs, &mut value, INLINE_LIMIT, &mut Vec::new()).unwrap();
            prop_assert!(value.to_string().len() < INLINE_LIMIT, "nothing long stays");
            let mut missing = Vec::new();
            bring_back(&blobs, &mut value, &mut missing);
            prop_assert_eq!(value.to_string(), original.to_string());
            prop_assert!(missing.is_empty());
        }
    }

    #[test]
    fn a_damaged_blob_is_told_and_written_anew() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::of(&Home::new(dir.path()));
        let (hash, file) = blobs.put("text").unwrap();
        for damage in ["te", "tex\0"] {
            fs::write(file.as_ref().unwrap(), damage).unwrap();
            let blobs = Blobs::of(&Home::new(dir.path()));
            assert_eq!(blobs.get(&hash), None);
            blobs.put("text").unwrap();
            assert_eq!(blobs.get(&hash).as_deref(), Some("text"));
        }
        assert_eq!(blobs.get("../../etc/passwd"), None);
    }

    #[test]
    fn the_same_payload_is_kept_once() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::of(&Home::new(dir.path()));
        assert!(blobs.put("text").unwrap().1.is_some());
        assert!(blobs.put("text").unwrap().1.is_none());
    }
}
