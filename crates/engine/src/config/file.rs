//! One file of settings.

use super::error::ConfigError;
use super::key::Kind;
use super::layers::Setting;
use super::origin::{Lines, Origin, Place};
use super::schema::{NAMED, SCHEMA};
use super::tables;
use serde::Deserialize;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;
use toml::Value;
use toml::de::{DeTable, DeValue, ValueDeserializer};

/// The most bytes of a file.
pub const FILE_LIMIT: u64 = 1 << 20;

/// The text of a file; none if there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let failed = |source| ConfigError::Read { path: path.to_owned(), source };
    match fs::metadata(path) {
        // A pipe would be waited for, for ever.
        Ok(metadata) if !metadata.is_file() => {
            return Err(ConfigError::NotText { path: path.to_owned(), what: "no plain file" });
        }
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(FILE_LIMIT + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(ConfigError::TooLarge { path: path.to_owned(), limit: FILE_LIMIT });
    }
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|_| ConfigError::NotText { path: path.to_owned(), what: "not UTF-8" })
}

/// What a text sets, each with its place. Values are not judged yet.
pub(super) fn settings(
    path: &Path,
    text: &str,
    origin: fn(Place) -> Origin,
) -> Result<Vec<Setting>, ConfigError> {
    let lines = Lines::new(path, text);
    let table = DeTable::parse(text).map_err(|error| {
        let place = lines.place(error.span().map_or(0, |span| span.start));
        ConfigError::Syntax { place, fix: fix(error.message()), message: error.message().to_owned() }
    })?;
    let mut walk = Walk { lines, origin, found: Vec::new() };
    walk.table("", table.get_ref())?;
    Ok(walk.found)
}

struct Walk<'a> {
    lines: Lines<'a>,
    origin: fn(Place) -> Origin,
    found: Vec<Setting>,
}

impl Walk<'_> {
    fn table(&mut self, above: &str, table: &DeTable<'_>) -> Result<(), ConfigError> {
        for (name, value) in table {
            let origin = (self.origin)(self.lines.place(name.span().start));
            let path = tables::join(above, name.get_ref());
            check_name(above, name.get_ref(), &origin)?;
            let below = value.get_ref().as_table();
            match SCHEMA.find(&path) {
                Some(key) if !(key.kind == Kind::Switch && below.is_some()) => {
                    let deserializer = ValueDeserializer::from(value.clone());
                    let value = Value::deserialize(deserializer).map_err(|error| ConfigError::Invalid {
                        origin: origin.clone(),
                        key: path.clone(),
                        message: error.message().to_owned(),
                    })?;
                    self.found.push(Setting { key: path, value, origin });
                }
                Some(_) | None if SCHEMA.is_branch(&path) => match below {
                    Some(below) => self.table(&path, below)?,
                    None => {
                        let what = kind_of(value.get_ref());
                        let message =
                            format!("is a section, not {what}; write it as `[{path}]` with its keys below");
                        return Err(ConfigError::Invalid { origin, key: path, message });
                    }
                },
                Some(_) | None => {
                    let nearest = SCHEMA.nearest(&path);
                    return Err(ConfigError::Unknown { origin, key: path, nearest });
                }
            }
        }
        Ok(())
    }
}

/// Names with dots in them would be taken for places.
pub(super) fn check_name(above: &str, name: &str, origin: &Origin) -> Result<(), ConfigError> {
    const LONGEST: usize = 64;
    let is_plain = |part: char| part.is_ascii_alphanumeric() || matches!(part, '-' | '_');
    let is_plain = !name.is_empty() && name.len() <= LONGEST && name.chars().all(is_plain);
    let key = || tables::join(above, &format!("{name:?}"));
    match (is_plain, above) {
        (true, _) => Ok(()),
        (false, section) if NAMED.contains(&section) => Err(ConfigError::Invalid {
            origin: origin.clone(),
            key: key(),
            message: format!(
                "is no name for a {}; use letters, digits, `-` and `_`, {LONGEST} at most",
                if section == "profiles" { "profile" } else { "server" }
            ),
        }),
        (false, _) => Err(ConfigError::Unknown { origin: origin.clone(), key: key(), nearest: None }),
    }
}

fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "`true` or `false`",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a section",
    }
}

/// What to do about a parser's complaint.
fn fix(message: &str) -> &'static str {
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if has(&["recurs"]) {
        "nest it less deeply"
    } else if has(&["duplicate"]) {
        "keep one of the two"
    } else if has(&["quot", "string"]) {
        "put text between double quotes"
    } else if has(&["bracket", "`]`", "array", "unclosed", "table header"]) {
        "close what was opened: `[section]`, `[\"list\"]`"
    } else {
        "a line is `key = value`, `[section]` or `# remark`"
    }
}
