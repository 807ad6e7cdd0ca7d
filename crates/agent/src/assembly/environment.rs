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
    /// An operation that was begun and not ended, such as `merge`.
    pub operation: Option<String>,
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
}

/// The pieces of the environment, as they are told.
pub(crate) type Fields = BTreeMap<Field, String>;

/// The pieces of an environment, each in one line, all of them within `bytes` when rendered.
pub(crate) fn fields(cwd: &Path, environment: &Environment, bytes: usize) -> Fields {
    let Environment { shell, os, date, timezone, network, git } = environment;
    let cwd = cwd.to_string_lossy();
    let date = date.map(|date| date.to_string());
    let operation = git.as_ref().and_then(|git| git.operation.as_deref());
    let status = operation.map(|operation| format!("{operation} in progress"));
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

/// The body of the fragment.
pub(crate) fn render(fields: &Fields) -> String {
    let mut body = String::new();
    for (field, value) in fields {
        let tag = field.tag();
        let _ = writeln!(body, "  <{tag}>{}</{tag}>", escaped(value));
    }
    body.trim_end().to_owned()
}

/// Differences of the new environment; removed entries are empty. `None` if there are none.
pub(crate) fn difference(old: &Fields, new: &Fields) -> Option<Fields> {
    let mut changed: Fields = new
        .iter()
        .filter(|(field, value)| old.get(field) != Some(value))
        .map(|(field, value)| (*field, value.clone()))
        .collect();
    let gone = old.keys().filter(|field| !new.contains_key(field));
    changed.extend(gone.map(|field| (*field, String::new())));
    (!changed.is_empty()).then_some(changed)
}

fn escaped(value: &str) -> String {
    value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
