//! Profiles made from others.

use super::error::ConfigError;
use super::layers::Settings;
use super::origin::Origin;
use super::schema::SCHEMA;
use super::sections::profile::full;
use super::tables;
use serde::Deserialize;
use std::collections::BTreeSet;
use throughline_core::profile::Profile;
use toml::{Table, Value};

/// The profile in force, by its name.
pub(super) fn in_force(settings: &Settings) -> String {
    let name = settings.get("profile").and_then(|setting| setting.value.as_str());
    name.unwrap_or("throughline").to_owned()
}

/// The names of profiles that are set up in part or whole.
pub(super) fn declared(settings: &Settings) -> BTreeSet<&str> {
    settings.keys().filter_map(|key| key.strip_prefix("profiles.")?.split('.').next()).collect()
}

/// Checks that each profile's base is there.
pub(super) fn check_bases(settings: &Settings) -> Result<(), ConfigError> {
    let declared = declared(settings);
    for name in &declared {
        let key = format!("profiles.{name}.base");
        if let Some(base) = base_of(settings, name) {
            let is_itself = base == *name && Profile::named(name).is_none();
            if is_itself || (!declared.contains(base) && Profile::named(base).is_none()) {
                return Err(unknown(settings, &key, base));
            }
        }
    }
    Ok(())
}

fn base_of<'a>(settings: &'a Settings, name: &str) -> Option<&'a str> {
    settings.get(&format!("profiles.{name}.base"))?.value.as_str()
}

/// A profile with everything that was set for it and for those that it is made from.
pub(super) fn resolve(settings: &Settings, name: &str) -> Result<Profile, ConfigError> {
    let declared = declared(settings);
    // From the profile back to a built-in one.
    let mut chain = vec![name.to_owned()];
    let mut seen = BTreeSet::from([name.to_owned()]);
    let mut key = "profile".to_owned();
    let root = loop {
        let last = chain.last().map_or(name, String::as_str);
        let builtin = Profile::named(last);
        if builtin.is_none() && !declared.contains(last) {
            return Err(unknown(settings, &key, last));
        }
        key = format!("profiles.{last}.base");
        match base_of(settings, last) {
            Some(base) if base != last => {
                if !seen.insert(base.to_owned()) {
                    let message = format!("goes round in a circle: {}; break it", chain.join(" → "));
                    return Err(invalid(settings, &key, message));
                }
                chain.push(base.to_owned());
            }
            Some(_) | None => break builtin.unwrap_or_else(Profile::throughline),
        }
    };
    let failed = |message: String| ConfigError::Invalid {
        origin: origin(settings, "profile"),
        key: format!("profiles.{name}"),
        message,
    };
    let all = Table::try_from(full()).map_err(|error| failed(error.to_string()))?;
    let mut table = Table::try_from(root).map_err(|error| failed(error.to_string()))?;
    for name in chain.iter().rev() {
        apply(settings, name, &all, &mut table);
    }
    table.insert("name".to_owned(), Value::String(name.to_owned()));
    Profile::deserialize(table).map_err(|error| failed(error.message().to_owned()))
}

fn apply(settings: &Settings, name: &str, all: &Table, table: &mut Table) {
    let prefix = format!("profiles.{name}.");
    for (path, setting) in settings.range(prefix.clone()..) {
        let Some(below) = path.strip_prefix(&prefix) else { break };
        let Some(key) = SCHEMA.find(path).filter(|_| below != "base") else { continue };
        // A stage that did not run begins with its own limits.
        let stage = below.split('.').next().unwrap_or_default();
        if !table.contains_key(stage)
            && let Some(limits) = all.get(stage)
        {
            table.insert(stage.to_owned(), limits.clone());
        }
        if key.is_off(&setting.value) {
            tables::remove(table, below);
        } else if below != stage {
            tables::set(table, below, setting.value.clone());
        }
    }
}

fn origin(settings: &Settings, key: &str) -> Origin {
    settings.get(key).map_or(Origin::Default, |setting| setting.origin.clone())
}

fn invalid(settings: &Settings, key: &str, message: String) -> ConfigError {
    ConfigError::Invalid { origin: origin(settings, key), key: key.to_owned(), message }
}

fn unknown(settings: &Settings, key: &str, name: &str) -> ConfigError {
    let mut known: Vec<&str> = Profile::NAMES.to_vec();
    known.extend(
        declared(settings).into_iter().filter(|other| *other != name && Profile::named(other).is_none()),
    );
    let alike = |known: &&str| strsim::normalized_damerau_levenshtein(known, name);
    let nearest = known.iter().copied().filter(|known| alike(known) >= 0.6);
    let nearest = nearest.max_by(|a, b| alike(a).total_cmp(&alike(b)));
    let hint = match nearest {
        Some(nearest) => format!("did you mean {nearest:?}?"),
        None => format!("known are {}", known.join(", ")),
    };
    invalid(settings, key, format!("names a profile {name:?} that is not there; {hint}"))
}
