//! Where settings come from, and which of them win: flags, then the environment, the project's file, the user's file, and
//! what is built in.

use super::error::{ConfigError, Warning};
use super::file;
use super::key::{Key, Scope};
use super::origin::Origin;
use super::schema::{SCHEMA, chosen, variable};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use throughline_core::profile::Profile;
use throughline_model::Environment;
use toml::Value;

/// Where a project keeps its settings.
pub const PROJECT_FILE: &str = ".throughline/config.toml";

/// Where settings come from. A file that is not there is fine.
#[derive(Clone)]
pub struct Sources<'a> {
    /// The user's file.
    pub user: Option<PathBuf>,
    /// The project's file.
    pub project: Option<PathBuf>,
    /// Variables: `THROUGHLINE_<SECTION>_<KEY>` for keys that hold one value.
    pub environment: Environment<'a>,
    /// Keys and values from the command line, such as `("profile", "claude")`. Text needs no quotes; lists and tables are
    /// written as in a file.
    pub flags: Vec<(String, String)>,
}

impl std::fmt::Debug for Sources<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let flags: Vec<&str> = self.flags.iter().map(|(key, _)| key.as_str()).collect();
        f.debug_struct("Sources")
            .field("user", &self.user)
            .field("project", &self.project)
            .field("flags", &flags)
            .finish_non_exhaustive()
    }
}

impl<'a> Sources<'a> {
    /// The usual files: `config.toml` in the home folder, and [`PROJECT_FILE`] in the nearest folder from `cwd` up to the
    /// project's root, which is where `.git` is. Without a root only `cwd` itself is looked at: what lies above is
    /// somebody else's.
    pub fn new(home: &Path, cwd: &Path, environment: Environment<'a>) -> Self {
        let user = home.join("config.toml");
        let root = cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(cwd);
        let within = cwd.ancestors().take_while(|folder| folder.starts_with(root));
        let same = |path: &Path| match (path.canonicalize(), user.canonicalize()) {
            (Ok(path), Ok(user)) => path == user,
            (Ok(_) | Err(_), Ok(_) | Err(_)) => path == user,
        };
        // Whoever works in their own home folder has one file, not two.
        let project = within
            .map(|folder| folder.join(PROJECT_FILE))
            .find(|path| path.exists())
            .filter(|path| !same(path));
        Self { user: Some(user), project, environment, flags: Vec::new() }
    }

    /// With a setting from the command line.
    #[must_use]
    pub fn flag(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.flags.push((key.into(), value.into()));
        self
    }
}

/// One key that somebody set.
#[derive(Clone)]
pub(super) struct Setting {
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) origin: Origin,
}

/// What is set, by key.
pub(super) type Settings = BTreeMap<String, Setting>;

/// Reads all sources. Every value that takes part has been judged.
pub(super) fn gather(sources: &Sources<'_>) -> Result<(Settings, Vec<Warning>), ConfigError> {
    let mut merged = Settings::new();
    let mut warnings = Vec::new();
    if let Some(path) = &sources.user
        && let Some(text) = file::read(path)?
    {
        add(&mut merged, file::settings(path, &text, Origin::User)?)?;
    }
    if let Some(path) = &sources.project
        && let Some(text) = file::read(path)?
    {
        let (allowed, refused) = sift(&merged, file::settings(path, &text, Origin::Project)?);
        add(&mut merged, allowed)?;
        warnings = refused;
    }
    let flags = flags(&sources.flags)?;
    let names = names(merged.keys().chain(flags.iter().map(|flag| &flag.key)));
    add(&mut merged, variables(sources.environment, &names))?;
    add(&mut merged, flags)?;
    Ok((merged, warnings))
}

/// Takes settings in; they win over what is there, but for a project's lists that only add.
fn add(merged: &mut Settings, settings: Vec<Setting>) -> Result<(), ConfigError> {
    for mut setting in settings {
        if let Some(key) = SCHEMA.find(&setting.key) {
            key.judge(&setting.value).map_err(|message| ConfigError::Invalid {
                origin: setting.origin.clone(),
                key: setting.key.clone(),
                message,
            })?;
        }
        if SCHEMA.find(&setting.key).is_some_and(|key| key.scope == Scope::Adds)
            && let Origin::Project(_) = setting.origin
            && let Some(Value::Array(users)) = merged.get(&setting.key).map(|users| &users.value)
            && let Value::Array(added) = &mut setting.value
        {
            added.splice(0..0, users.iter().cloned());
        }
        // A key below a stage says that it runs.
        for (at, _) in setting.key.match_indices('.') {
            merged.remove(setting.key.get(..at).unwrap_or_default());
        }
        let prefix = format!("{}.", setting.key);
        let below =
            merged.range(prefix.clone()..).map(|(key, _)| key).take_while(|key| key.starts_with(&prefix));
        let below: Vec<String> = below.cloned().collect();
        // On it is already; off takes its keys along.
        if setting.value == Value::Boolean(true) && !below.is_empty() {
            continue;
        }
        below.iter().for_each(|key| drop(merged.remove(key)));
        merged.insert(setting.key.clone(), setting);
    }
    Ok(())
}

/// Tells what a project may set from what it may not, given what the user set.
fn sift(users: &Settings, settings: Vec<Setting>) -> (Vec<Setting>, Vec<Warning>) {
    let mut warnings = Vec::new();
    let mut allowed = Vec::new();
    for setting in settings {
        let key = SCHEMA.find(&setting.key);
        let reason = match key.map(|key| key.scope) {
            Some(Scope::User(reason)) => Some(reason),
            Some(Scope::ProjectTo(value, reason)) => (word(&setting.value) != value).then_some(reason),
            Some(Scope::Stricter(order, reason)) => {
                let before = users.get(&setting.key).map(|users| &users.value);
                let before = before.or(key.and_then(|key| key.default.as_ref()));
                let rank = |value: &Value| order.iter().position(|known| *known == word(value));
                // A value that nobody knows is a mistake, which the check reports.
                let is_looser = rank(&setting.value) > before.and_then(rank);
                is_looser.then_some(reason)
            }
            Some(Scope::Anyone | Scope::Adds) | None => None,
        };
        match reason {
            Some(reason) => warnings.push(Warning { origin: setting.origin, key: setting.key, reason }),
            None => allowed.push(setting),
        }
    }
    (allowed, warnings)
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The profiles and servers that anybody speaks of: where they are, and their names.
fn names<'a>(keys: impl Iterator<Item = &'a String>) -> BTreeSet<(&'static str, String)> {
    let builtin = Profile::NAMES.into_iter().map(|name| ("profiles", name));
    let named = keys.filter_map(|key| chosen(key)).chain(builtin);
    named.map(|(section, name)| (section, name.to_owned())).collect()
}

fn variables(environment: Environment<'_>, names: &BTreeSet<(&'static str, String)>) -> Vec<Setting> {
    let mut found = Vec::new();
    for key in SCHEMA.keys.iter().filter(|key| key.kind.is_scalar()) {
        let places = match key.path.split_once(".*.") {
            Some((above, below)) => {
                let of_section = names.iter().filter(|(section, _)| *section == above);
                of_section.map(|(_, name)| format!("{above}.{name}.{below}")).collect()
            }
            None => vec![key.path.clone()],
        };
        for place in places {
            let variable = variable(&place);
            // A variable that is set to nothing counts as unset.
            if let Some(text) = environment(&variable).filter(|text| !text.trim().is_empty()) {
                let value = parse(key, &text);
                found.push(Setting { key: place, value, origin: Origin::Environment { variable } });
            }
        }
    }
    found
}

fn flags(flags: &[(String, String)]) -> Result<Vec<Setting>, ConfigError> {
    let setting = |(path, text): &(String, String)| {
        if let Some((section, name)) = chosen(path) {
            file::check_name(section, name, &Origin::Flag)?;
        }
        let Some(key) = SCHEMA.find(path) else {
            let nearest = SCHEMA.nearest(path);
            return Err(ConfigError::Unknown { origin: Origin::Flag, key: path.clone(), nearest });
        };
        Ok(Setting { key: path.clone(), value: parse(key, text), origin: Origin::Flag })
    };
    flags.iter().map(setting).collect()
}

fn parse(key: &Key, text: &str) -> Value {
    if key.is_optional && text.trim() == "false" { Value::Boolean(false) } else { key.kind.parse(text) }
}
