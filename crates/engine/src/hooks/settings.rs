//! Hooks as people write them.

use super::event::EventName;
use super::matcher::Matcher;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use throughline_model::Argv;

/// How long a hook may take unless it says otherwise.
pub const TIMEOUT_SECONDS: u64 = 60;

/// The `[hooks]` section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookSettings {
    /// No hook runs.
    pub disabled: bool,
    /// How long a hook may take unless it says otherwise.
    pub timeout_seconds: u64,
    /// The hooks of each moment. Whatever is not the name of a moment is refused.
    #[serde(flatten)]
    pub events: BTreeMap<EventName, Vec<HookCommand>>,
}

impl Default for HookSettings {
    fn default() -> Self {
        Self { disabled: false, timeout_seconds: TIMEOUT_SECONDS, events: BTreeMap::new() }
    }
}

/// One hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct HookCommand {
    /// What is run.
    pub run: Run,
    /// Which events of its kind it is for.
    pub matcher: Matcher,
    /// How long it may take.
    pub timeout_seconds: Option<u64>,
    /// Variables that it gets beside the usual ones.
    pub env: Vec<String>,
}

/// What a hook runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run {
    /// A program.
    Command(Argv),
    /// A line for `sh -c`.
    Shell(String),
}

impl HookCommand {
    /// A hook for all events of its kind.
    pub fn new(run: Run) -> Self {
        Self { run, matcher: Matcher::default(), timeout_seconds: None, env: Vec::new() }
    }

    /// What people recognise it by. Arguments may hold what is not to be shown.
    pub(super) fn name(&self) -> &str {
        match &self.run {
            Run::Command(argv) => {
                let name = Path::new(argv.program()).file_name();
                name.and_then(|name| name.to_str()).unwrap_or_else(|| argv.program())
            }
            Run::Shell(_) => "sh",
        }
    }
}

/// The keys of one hook.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<Argv>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shell: Option<String>,
    #[serde(default, skip_serializing_if = "Matcher::is_any")]
    matcher: Matcher,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_seconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    env: Vec<String>,
}

impl TryFrom<Written> for HookCommand {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let run = match (written.command, written.shell) {
            (Some(argv), None) => Run::Command(argv),
            (None, Some(line)) if !line.trim().is_empty() => Run::Shell(line),
            (None, Some(_)) => return Err("`shell` is empty"),
            (Some(_), Some(_)) => return Err("a hook has either `command` or `shell`, not both"),
            (None, None) => return Err("a hook needs `command` (a list of words) or `shell` (a line)"),
        };
        if written.timeout_seconds == Some(0) {
            return Err("`timeout_seconds` must be at least 1");
        }
        let Written { matcher, timeout_seconds, env, .. } = written;
        Ok(Self { run, matcher, timeout_seconds, env })
    }
}

impl From<HookCommand> for Written {
    fn from(hook: HookCommand) -> Self {
        let HookCommand { run, matcher, timeout_seconds, env } = hook;
        let (command, shell) = match run {
            Run::Command(argv) => (Some(argv), None),
            Run::Shell(line) => (None, Some(line)),
        };
        Self { command, shell, matcher, timeout_seconds, env }
    }
}

impl HookSettings {
    /// The most hooks of one moment: they all run at once.
    pub const MOST: usize = 32;

    /// What the types do not say.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.timeout_seconds == 0 {
            return Err("`timeout_seconds` must be at least 1".to_owned());
        }
        for (event, hooks) in &self.events {
            let name = event.name();
            if hooks.len() > Self::MOST {
                return Err(format!("{} hooks for {name}; at most {} run", hooks.len(), Self::MOST));
            }
            if event.matches_on().is_none() && hooks.iter().any(|hook| !hook.matcher.is_any()) {
                return Err(format!("{name} has nothing to match; leave `matcher` out"));
            }
        }
        Ok(())
    }
}
