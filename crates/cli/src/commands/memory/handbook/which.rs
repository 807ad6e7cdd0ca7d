//! Which handbook is meant.

use super::super::here::Which;
use super::super::print;
use crate::context::Context;
use anyhow::{Context as _, bail};
use std::collections::BTreeSet;
use std::path::Path;
use throughline_memory::Project;
use throughline_memory::handbook::{HomeId, ProjectKey, Scope};

/// A project as somebody names it.
#[derive(Clone, Debug)]
pub(crate) enum Named {
    /// None was named.
    Any,
    /// A folder's.
    Key(ProjectKey),
    /// One of those that are known.
    Text(String),
}

impl Named {
    /// What `--project` says: a folder that is there, or a name.
    pub(crate) fn of(context: &Context, id: &HomeId, text: Option<&str>) -> anyhow::Result<Self> {
        match text {
            None => Ok(Self::Any),
            Some("") => bail!("--project needs a folder, or a project's name"),
            Some(text) => {
                let path = std::path::absolute(text)?;
                Ok(if path.is_dir() {
                    Self::Key(key_of(context, id, &path))
                } else {
                    Self::Text(text.to_owned())
                })
            }
        }
    }

    /// The project of these that is meant; `None` if none was named.
    pub(crate) fn key<'k>(
        &self,
        known: impl Iterator<Item = &'k ProjectKey>,
    ) -> anyhow::Result<Option<ProjectKey>> {
        match self {
            Self::Any => Ok(None),
            Self::Key(key) => Ok(Some(key.clone())),
            Self::Text(text) => pick(text, known.cloned().collect()).map(Some),
        }
    }
}

/// The home's id, for who only looks: nothing is made of a home that is not there.
pub(crate) fn looked_at(context: &Context) -> anyhow::Result<HomeId> {
    match context.home.root().join("handbooks").is_dir() {
        true => Ok(HomeId::of(&context.home)?),
        false => Ok(HomeId::new("none")),
    }
}

/// The project of a folder. Nothing is written.
pub(crate) fn key_of(context: &Context, id: &HomeId, folder: &Path) -> ProjectKey {
    ProjectKey::of(&Project::look(&context.home, folder), id)
}

/// The handbook that the flags mean, or else that of the current folder.
pub(crate) fn scope(context: &Context, id: &HomeId, which: &Which, known: &[Scope]) -> anyhow::Result<Scope> {
    if which.is_global() {
        return Ok(Scope::Global);
    }
    let keys = known.iter().filter_map(|scope| match scope {
        Scope::Global => None,
        Scope::Project(key) => Some(key),
    });
    let named = Named::of(context, id, which.project())?;
    if let Some(key) = named.key(keys)? {
        return Ok(Scope::Project(key));
    }
    let cwd = std::env::current_dir().context("cannot tell the current folder")?;
    Ok(Scope::Project(key_of(context, id, &cwd)))
}

/// Projects that are named where none, or several, are meant.
const TOLD: usize = 12;

fn pick(text: &str, known: BTreeSet<ProjectKey>) -> anyhow::Result<ProjectKey> {
    let wanted = text.trim_end_matches('/').to_lowercase();
    let rules: [fn(&ProjectKey, &str) -> bool; 3] = [
        |key, wanted| key.as_str().to_lowercase() == wanted || key.shown().to_lowercase() == wanted,
        |key, wanted| is_last_name(name(key), wanted),
        |key, wanted| name(key).to_lowercase().contains(wanted),
    ];
    for rule in rules {
        let found: Vec<&ProjectKey> = known.iter().filter(|key| rule(key, &wanted)).collect();
        match found.as_slice() {
            [] => {}
            [only] => return Ok((*only).clone()),
            several => bail!("{} means several projects: {}", print::quoted(text), listed(several)),
        }
    }
    let all: Vec<&ProjectKey> = known.iter().collect();
    let there = if all.is_empty() { "none has sessions yet".to_owned() } else { listed(&all) };
    bail!(
        "{} is no folder, and no project of that name has sessions; there are: {there}",
        print::quoted(text)
    )
}

fn listed(keys: &[&ProjectKey]) -> String {
    // Where two are called alike, the hash tells them apart.
    let is_twice = |key: &ProjectKey| keys.iter().filter(|other| name(other) == name(key)).count() > 1;
    let shown = |key: &&ProjectKey| print::line(if is_twice(key) { key.shown() } else { name(key) });
    let mut names: Vec<String> = keys.iter().take(TOLD).map(shown).collect();
    if keys.len() > TOLD {
        names.push(format!("and {} more", keys.len() - TOLD));
    }
    names.join(", ")
}

/// What people call a handbook.
pub(crate) fn called(scope: &Scope) -> String {
    match scope {
        Scope::Global => "global".to_owned(),
        Scope::Project(key) => print::line(name(key)),
    }
}

/// What people call a project: a local one without the hash of its folder.
fn name(key: &ProjectKey) -> &str {
    let shown = key.shown();
    match shown.rsplit_once('-') {
        Some((name, hash)) if shown != key.as_str() && hash.bytes().all(|b| b.is_ascii_hexdigit()) => name,
        _ => shown,
    }
}

fn is_last_name(name: &str, wanted: &str) -> bool {
    let name = name.to_lowercase();
    // In the names of local folders nothing else tells parts apart.
    let between = if name.contains('/') { '/' } else { '-' };
    let rest = name.strip_suffix(wanted);
    !wanted.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(between))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_named_by_its_last_name_or_any_part_that_tells() {
        let keys = ["github.com/me/app", "github.com/me/web-app", "local/0192ab/home-me-site-1a2b3c4d"];
        let known: BTreeSet<ProjectKey> = keys.into_iter().map(ProjectKey::new).collect();
        let picked = |text: &str| pick(text, known.clone()).map(|key| key.as_str().to_owned());
        assert_eq!(picked("github.com/me/app").unwrap(), keys[0]);
        assert_eq!(picked("me/app").unwrap(), keys[0]);
        assert_eq!(picked("site").unwrap(), keys[2]);
        assert_eq!(picked("home-me-site-1a2b3c4d").unwrap(), keys[2]);
        assert_eq!(picked("Web").unwrap(), keys[1]);
        assert_eq!(picked("app").unwrap(), keys[0]);
        assert!(picked("me").unwrap_err().to_string().contains("several projects"));
        assert_eq!(called(&Scope::Project(ProjectKey::new(keys[2]))), "home-me-site");
        let unknown = picked("elsewhere").unwrap_err().to_string();
        assert!(unknown.contains("github.com/me/web-app") && unknown.contains("home-me-site"), "{unknown}");
        assert!(pick("x", BTreeSet::new()).unwrap_err().to_string().contains("none has sessions yet"));
    }
}
