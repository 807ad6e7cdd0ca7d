//! Each key, and what it is now.

use super::error::ConfigError;
use super::key::{Key, Kind, Scope};
use super::origin::Origin;
use super::schema::{SCHEMA, variable};
use super::{Config, profiles, tables};
use serde::Serialize;
use std::collections::BTreeSet;
use throughline_core::profile::Profile;
use toml::{Table, Value};

/// One key, for people. Values are as a file would hold them; what may be secret is hidden.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyInfo {
    /// Its place, with dots. `NAME` stands for the name of any profile or server.
    pub key: String,
    /// What it holds, in words.
    pub kind: String,
    /// The built-in value; none: unset, or off.
    pub default: Option<String>,
    /// The value in force.
    pub value: Option<String>,
    /// Who set it.
    pub origin: Origin,
    /// The variable that sets it, where one can.
    pub variable: Option<String>,
    /// Whether a project may set it.
    pub in_project: bool,
    /// What it is for.
    pub doc: &'static str,
}

impl Config {
    /// Every key, as built in.
    pub fn keys() -> Vec<KeyInfo> {
        SCHEMA
            .keys
            .iter()
            .map(|key| {
                let path = key.path.replacen(".*.", ".NAME.", 1);
                let default = key.default.as_ref().map(|value| key.shown(value));
                info(key, path, Now { value: default.clone(), default, origin: Origin::Default })
            })
            .collect()
    }

    /// Every key with its value in force and who set it. Of profiles: the one in force and those that were set up; of
    /// servers: those that are there.
    pub fn explain(&self) -> Result<Vec<KeyInfo>, ConfigError> {
        let (figures, others): (Vec<&Key>, Vec<&Key>) =
            SCHEMA.keys.iter().partition(|key| key.path.starts_with("profiles.*."));
        let (servers, plain): (Vec<&Key>, Vec<&Key>) =
            others.into_iter().partition(|key| key.path.starts_with("mcp.servers.*."));
        let mut all: Vec<KeyInfo> = plain.into_iter().map(|key| self.plain(key, key.path.clone())).collect();
        for name in self.mcp.servers.keys() {
            all.extend(servers.iter().map(|key| self.plain(key, key.path.replacen('*', name, 1))));
        }
        let mut names: BTreeSet<&str> = profiles::declared(&self.settings);
        names.insert(&self.profile.name);
        for name in names {
            let table = |profile: Profile| Table::try_from(profile).unwrap_or_default();
            let now = table(self.profile_named(name)?);
            let builtin = Profile::named(name).map(table);
            for key in &figures {
                let below = key.path.strip_prefix("profiles.*.").unwrap_or_default();
                let path = format!("profiles.{name}.{below}");
                let setting = self.settings.get(&path);
                let show = |table: &Table| tables::get(table, below).map(|value| shown(key, value));
                let value = match below {
                    "base" => setting.map(|setting| key.shown(&setting.value)),
                    _ => show(&now),
                };
                all.push(info(
                    key,
                    path,
                    Now {
                        value,
                        default: builtin.as_ref().and_then(show),
                        origin: setting.map_or(Origin::Default, |setting| setting.origin.clone()),
                    },
                ));
            }
        }
        Ok(all)
    }

    fn plain(&self, key: &Key, path: String) -> KeyInfo {
        let default = key.default.as_ref().map(|value| key.shown(value));
        let now = match self.settings.get(&path) {
            Some(setting) => {
                let value = (!key.is_off(&setting.value)).then(|| key.shown(&setting.value));
                Now { value, default, origin: setting.origin.clone() }
            }
            None => Now { value: default.clone(), default, origin: Origin::Default },
        };
        info(key, path, now)
    }
}

/// A value of a key, and where it comes from.
struct Now {
    value: Option<String>,
    default: Option<String>,
    origin: Origin,
}

fn info(key: &Key, path: String, now: Now) -> KeyInfo {
    KeyInfo {
        variable: key.kind.is_scalar().then(|| variable(&path)),
        key: path,
        kind: key.kind.describe(),
        default: now.default,
        value: now.value,
        origin: now.origin,
        in_project: key.scope == Scope::Anyone,
        doc: key.doc,
    }
}

/// A stage that runs is on; its limits have keys of their own.
pub(super) fn shown(key: &Key, value: &Value) -> String {
    match key.kind {
        Kind::Switch => "true".to_owned(),
        Kind::Bool
        | Kind::Integer
        | Kind::Number
        | Kind::Text
        | Kind::Choice(_)
        | Kind::Path
        | Kind::Address
        | Kind::Command
        | Kind::List
        | Kind::Map
        | Kind::Threshold
        | Kind::Hooks => key.shown(value),
    }
}
