//! All keys. The types that hold the values are the schema: names, built-in values and checks come from them; what is written
//! down beside is what a key is for and who may set it.

use super::key::{Check, Key, Kind, Scope};
use super::{sections, tables};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};
use toml::Table;

/// What is known of one key beside its type.
#[derive(Clone, Copy)]
pub(super) struct Note {
    key: &'static str,
    doc: &'static str,
    kind: Option<Kind>,
    scope: Option<Scope>,
    is_secret: bool,
    is_unset: bool,
    is_optional: bool,
}

impl Note {
    pub(super) const fn new(key: &'static str, doc: &'static str) -> Self {
        Self { key, doc, kind: None, scope: None, is_secret: false, is_unset: false, is_optional: false }
    }

    /// What it holds, where the built-in value does not say so. A table is then set as a whole.
    pub(super) const fn kind(self, kind: Kind) -> Self {
        Self { kind: Some(kind), ..self }
    }

    pub(super) const fn scope(self, scope: Scope) -> Self {
        Self { scope: Some(scope), ..self }
    }

    pub(super) const fn secret(self) -> Self {
        Self { is_secret: true, ..self }
    }

    /// `false` takes the built-in value away.
    pub(super) const fn optional(self) -> Self {
        Self { is_optional: true, ..self }
    }

    /// The value that the type has by itself is no built-in value.
    pub(super) const fn unset(self) -> Self {
        Self { is_unset: true, ..self }
    }
}

/// The keys of one type.
pub(super) struct Part<'a, T> {
    /// What comes before the key, without the last dot.
    pub(super) prefix: &'a str,
    /// The built-in values.
    pub(super) base: &'a T,
    /// What is known beside; keys in this order, then the others.
    pub(super) notes: &'a [Note],
    /// Who may set keys that do not say so themselves.
    pub(super) scope: Scope,
    /// What the type itself does not check.
    pub(super) check: fn(&T) -> Result<(), String>,
}

impl<T: Serialize + DeserializeOwned + 'static> Part<'_, T> {
    /// The keys: every field, and every note.
    pub(super) fn keys(&self) -> Vec<Key> {
        let mut leaves = BTreeMap::new();
        let json = serde_json::to_value(self.base).unwrap_or_default();
        self.flatten("", &json, &mut leaves);
        let base = Table::try_from(self.base).unwrap_or_default();
        let mut keys = Vec::new();
        for note in self.notes {
            let leaf = leaves.remove(note.key);
            keys.push(self.key(note.key, leaf.as_ref(), Some(note), &base));
        }
        for (path, leaf) in &leaves {
            keys.push(self.key(path, Some(leaf), None, &base));
        }
        keys
    }

    /// The keys that are noted, for a type that shares others with another type.
    pub(super) fn noted(&self) -> Vec<Key> {
        let mut keys = self.keys();
        keys.truncate(self.notes.len());
        keys
    }

    fn flatten(
        &self,
        path: &str,
        json: &serde_json::Value,
        leaves: &mut BTreeMap<String, serde_json::Value>,
    ) {
        let is_whole = self.notes.iter().any(|note| note.key == path && note.kind.is_some());
        if let (serde_json::Value::Object(fields), false) = (json, is_whole) {
            for (name, value) in fields {
                self.flatten(&tables::join(path, name), value, leaves);
            }
        } else {
            leaves.insert(path.to_owned(), json.clone());
        }
    }

    fn key(&self, path: &str, leaf: Option<&serde_json::Value>, note: Option<&Note>, base: &Table) -> Key {
        let is_unset = leaf.is_none_or(serde_json::Value::is_null) || note.is_some_and(|note| note.is_unset);
        let kind = note.and_then(|note| note.kind).or(leaf.map(Kind::of)).unwrap_or(Kind::Text);
        Key {
            path: tables::join(self.prefix, path),
            kind,
            default: if is_unset { None } else { tables::get(base, path).cloned() },
            doc: note.map_or("", |note| note.doc),
            scope: note.and_then(|note| note.scope).unwrap_or(self.scope),
            is_optional: is_unset || note.is_some_and(|note| note.is_optional),
            is_secret: note.is_some_and(|note| note.is_secret),
            check: self.check_of(path, base),
        }
    }

    /// A value fits if the built-in values with it in its place are still a `T`.
    fn check_of(&self, path: &str, base: &Table) -> Check {
        let (path, base, check) = (path.to_owned(), base.clone(), self.check);
        Arc::new(move |value| {
            let mut table = base.clone();
            tables::set(&mut table, &path, value.clone());
            let whole = T::deserialize(table).map_err(|error| error.message().to_owned())?;
            check(&whole)
        })
    }
}

/// All keys, to be looked up.
pub(super) struct Schema {
    pub(super) keys: Vec<Key>,
    index: BTreeMap<String, usize>,
    /// What has keys below it.
    branches: BTreeSet<String>,
}

/// The one schema.
pub(super) static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::new(sections::keys()));

impl Schema {
    fn new(keys: Vec<Key>) -> Self {
        let index = keys.iter().enumerate().map(|(at, key)| (key.path.clone(), at)).collect();
        let above = |path: &str| -> Vec<String> {
            path.match_indices('.').filter_map(|(at, _)| path.get(..at).map(str::to_owned)).collect()
        };
        let branches = keys.iter().flat_map(|key| above(&key.path)).collect();
        Self { keys, index, branches }
    }

    /// The key at a place.
    pub(super) fn find(&self, path: &str) -> Option<&Key> {
        self.index.get(&starred(path)).and_then(|at| self.keys.get(*at))
    }

    /// Whether there are keys below a place.
    pub(super) fn is_branch(&self, path: &str) -> bool {
        self.branches.contains(&starred(path))
    }

    /// The known place most like an unknown one: a sibling with a similar name, else the same name elsewhere.
    pub(super) fn nearest(&self, path: &str) -> Option<String> {
        const ALIKE: f64 = 0.6;
        let (above, name) = path.rsplit_once('.').unwrap_or(("", path));
        let known = || self.index.keys().chain(&self.branches);
        let star = starred(path);
        let star_above = star.rsplit_once('.').map_or("", |(above, _)| above);
        let siblings = known().filter_map(|known| {
            let (known_above, known_name) = known.rsplit_once('.').unwrap_or(("", known));
            (known_above == star_above && known_name != "*").then_some(known_name)
        });
        let similar = |known: &str| {
            let (known, name) = (known.to_lowercase(), name.to_lowercase());
            strsim::normalized_damerau_levenshtein(&known, &name)
        };
        let best = siblings.map(|known| (similar(known), known)).max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, known)) = best.filter(|(alike, _)| *alike >= ALIKE) {
            return Some(tables::join(above, known));
        }
        let elsewhere = known().find(|known| known.rsplit('.').next() == Some(name));
        elsewhere.map(|known| known.replacen(".*.", ".NAME.", 1))
    }
}

/// What has names below it that people choose.
pub(super) const NAMED: [&str; 2] = ["profiles", "mcp.servers"];

/// The section that a place lies in, and the chosen name of what it belongs to there.
pub(super) fn chosen(path: &str) -> Option<(&'static str, &str)> {
    NAMED.into_iter().find_map(|section| {
        let rest = path.strip_prefix(section)?.strip_prefix('.')?;
        Some((section, rest.split_once('.').map_or(rest, |(name, _)| name)))
    })
}

/// A place with `*` for the name that somebody chose.
fn starred(path: &str) -> String {
    match chosen(path) {
        Some((section, name)) => {
            let below = path.get(section.len() + 1 + name.len()..).unwrap_or_default();
            format!("{section}.*{below}")
        }
        None => path.to_owned(),
    }
}

/// For types that check themselves.
pub(super) fn fits<T>(_: &T) -> Result<(), String> {
    Ok(())
}

/// The variable of a key.
pub(super) fn variable(path: &str) -> String {
    let name =
        path.chars().map(|part| if part.is_ascii_alphanumeric() { part.to_ascii_uppercase() } else { '_' });
    format!("THROUGHLINE_{}", name.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_says_what_it_is_for() {
        let silent: Vec<&str> =
            SCHEMA.keys.iter().filter(|key| key.doc.is_empty()).map(|key| key.path.as_str()).collect();
        assert!(silent.is_empty(), "write a line about these in config/sections/: {silent:?}");
    }

    #[test]
    fn every_built_in_value_fits_its_key() {
        for key in &SCHEMA.keys {
            if let Some(default) = &key.default {
                assert_eq!(key.judge(default), Ok(()), "{}", key.path);
            }
            // Nothing takes a date.
            let date = "value = 1979-05-27".parse::<Table>().unwrap().remove("value").unwrap();
            assert!(key.judge(&date).is_err(), "{}", key.path);
        }
    }

    #[test]
    fn no_two_keys_share_a_place_or_a_variable() {
        let places: BTreeSet<&str> = SCHEMA.keys.iter().map(|key| key.path.as_str()).collect();
        let variables: BTreeSet<String> = SCHEMA.keys.iter().map(|key| variable(&key.path)).collect();
        assert_eq!((places.len(), variables.len()), (SCHEMA.keys.len(), SCHEMA.keys.len()));
    }

    #[test]
    fn the_nearest_key_is_a_sibling_or_of_the_same_name() {
        let nearest = |path: &str| SCHEMA.nearest(path).unwrap_or_default();
        assert_eq!(nearest("profil"), "profile");
        assert_eq!(nearest("profiles.mine.compact.keep_token"), "profiles.mine.compact.keep_tokens");
        assert_eq!(nearest("hooks.precompact"), "hooks.PreCompact");
        assert_eq!(nearest("modle"), "model");
        assert_eq!(nearest("keep_most"), "profiles.NAME.compact.keep_most");
        assert_eq!(SCHEMA.nearest("qqqqqqqq"), None);
    }
}
