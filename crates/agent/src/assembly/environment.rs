//! Where the session runs, as `<environment_context>`.

use super::text::in_line;
use jiff::civil::Date;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// What is known of the environment. Whatever is not known is not told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// The user's shell, such as `zsh`.
    pub shell: Option<String>,
    /// The system, such as `Linux 6.8, x86_64`.
    pub os: Option<String>,
    /// The user's date.
    pub date: Option<Date>,
    /// The user's time zone, such as `Europe/Berlin`.
    pub timezone: Option<String>,
    /// What commands may do with the network, such as `restricted`.
    pub network: Option<String>,
    /// The repository.
    pub git: Option<GitState>,
}

/// A repository at a glance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitState {
    /// The branch, or the commit where there is none.
    pub branch: Option<String>,
    /// Files with changes that are staged.
    pub staged: usize,
    /// Files with changes that are not.
    pub changed: usize,
    /// Files that git does not know.
    pub untracked: usize,
}

/// A piece of the environment. The order is the order in which it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Field {
    Cwd,
    Shell,
    Os,
    CurrentDate,
    Timezone,
    NetworkAccess,
    GitBranch,
    GitStatus,
}

impl Field {
    fn tag(self) -> &'static str {
        match self {
            Self::Cwd => "cwd",
            Self::Shell => "shell",
            Self::Os => "os",
            Self::CurrentDate => "current_date",
            Self::Timezone => "timezone",
            Self::NetworkAccess => "network_access",
            Self::GitBranch => "git_branch",
            Self::GitStatus => "git_status",
        }
    }

    /// Whether a change is worth a message. How many files have changes is different after every edit, and the model made them.
    fn is_watched(self) -> bool {
        match self {
            Self::Cwd
            | Self::Shell
            | Self::Os
            | Self::CurrentDate
            | Self::Timezone
            | Self::NetworkAccess
            | Self::GitBranch => true,
            Self::GitStatus => false,
        }
    }
}

/// The pieces of the environment, as they are told.
pub(crate) type Fields = BTreeMap<Field, String>;

/// The pieces of an environment, each in one line, all of them within `bytes` when rendered.
pub(crate) fn fields(cwd: &Path, environment: &Environment, bytes: usize) -> Fields {
    let Environment { shell, os, date, timezone, network, git } = environment;
    let cwd = cwd.to_string_lossy();
    let date = date.map(|date| date.to_string());
    let status = git.as_ref().map(GitState::in_words);
    let branch = git.as_ref().and_then(|git| git.branch.as_deref());
    let given = [
        (Field::Cwd, Some(cwd.as_ref())),
        (Field::Shell, shell.as_deref()),
        (Field::Os, os.as_deref()),
        (Field::CurrentDate, date.as_deref()),
        (Field::Timezone, timezone.as_deref()),
        (Field::NetworkAccess, network.as_deref()),
        (Field::GitBranch, branch),
        (Field::GitStatus, status.as_deref()),
    ];
    // The marks and tags take their part, and escaping makes a character at most five times as long.
    let each = bytes.saturating_sub(400) / given.len();
    given
        .into_iter()
        .filter_map(|(field, value)| {
            let value = value.filter(|value| !value.trim().is_empty())?;
            let line = in_line(value, each);
            let line = if escaped(&line).len() > each { in_line(value, each / 5) } else { line };
            Some((field, line))
        })
        .collect()
}

impl GitState {
    fn in_words(&self) -> String {
        let Self { branch: _, staged, changed, untracked } = self;
        match (staged, changed, untracked) {
            (0, 0, 0) => "clean".to_owned(),
            (staged, changed, untracked) => {
                format!("{staged} staged, {changed} changed, {untracked} untracked")
            }
        }
    }
}

/// The body of the fragment.
pub(crate) fn render(fields: &Fields) -> String {
    let mut body = String::new();
    for (field, value) in fields {
        let tag = field.tag();
        let _ = writeln!(body, "  <{tag}>{}</{tag}>", escaped(value));
    }
    body.trim_end().to_owned()
}

/// What is different in the new environment; what is gone is empty. `None` if nothing is that is worth saying.
pub(crate) fn difference(old: &Fields, new: &Fields) -> Option<Fields> {
    let mut changed: Fields = new
        .iter()
        .filter(|(field, value)| field.is_watched() && old.get(field) != Some(value))
        .map(|(field, value)| (*field, value.clone()))
        .collect();
    let gone = old.keys().filter(|field| field.is_watched() && !new.contains_key(field));
    changed.extend(gone.map(|field| (*field, String::new())));
    if changed.contains_key(&Field::GitBranch) {
        changed.extend(new.get(&Field::GitStatus).map(|status| (Field::GitStatus, status.clone())));
    }
    (!changed.is_empty()).then_some(changed)
}

fn escaped(value: &str) -> String {
    value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
