//! Reading and writing files.

use super::super::guard::Written;
use super::super::offer;
use super::super::rule::{Rule, Subject};
use super::super::verdict::Verdict;
use super::super::{Mode, path_pattern::PathPattern};
use super::{Policy, asks, denied};
use std::path::{Component, Path, PathBuf};

/// What the model is told about changes in plan mode.
pub(super) const PLANNING: &str =
    "you are in plan mode: nothing may be changed. Make a plan and call ExitPlanMode";

/// What is done with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Read,
    Write,
}

impl Policy {
    pub(super) fn read(&self, tool: &str, paths: &[PathBuf], mode: Mode) -> Verdict {
        if let Some(rule) = self.refusing(paths, Doing::Read) {
            return denied(rule);
        }
        if mode != Mode::Full
            && let Some(reason) = paths.iter().find_map(|path| self.guard.reading(path, Written::Plain))
        {
            return Verdict::ask(format!("reading it is always asked: {reason}"));
        }
        if let Some(rule) = self.asking(paths, Doing::Read) {
            return asks(rule);
        }
        let outside: Vec<&PathBuf> =
            paths.iter().filter(|path| !self.is_inside(path) && !self.is_saved(path)).collect();
        let is_allowed = |path: &PathBuf| self.is_allowed(tool, path, Doing::Read);
        match (outside.first(), mode) {
            (None, Mode::Ask | Mode::AcceptEdits | Mode::Plan | Mode::Full) if !paths.is_empty() => {
                Verdict::Allow
            }
            (None, _) => Verdict::ask("the call does not say what it reads"),
            (Some(_), Mode::Full) => Verdict::Allow,
            (Some(_), Mode::Ask | Mode::AcceptEdits | Mode::Plan)
                if outside.iter().all(|path| is_allowed(path)) =>
            {
                Verdict::Allow
            }
            (Some(path), Mode::Ask | Mode::AcceptEdits | Mode::Plan) => Verdict::offer(
                format!("{} lies outside the workspace", path.display()),
                if outside.len() == 1 { offer::path("Read", path, self.whereabouts()) } else { Vec::new() },
            ),
        }
    }

    pub(super) fn write(&self, tool: &str, paths: &[PathBuf], mode: Mode) -> Verdict {
        if let Some(rule) = self.refusing(paths, Doing::Write) {
            return denied(rule);
        }
        if paths.iter().any(|path| self.guard.is_own(path)) {
            return own();
        }
        if mode == Mode::Plan {
            return Verdict::deny(PLANNING);
        }
        if mode != Mode::Full
            && let Some(reason) = paths.iter().find_map(|path| self.guard.writing(path, Written::Plain))
        {
            return Verdict::ask(format!("changing it is always asked: {reason}"));
        }
        if let Some(rule) = self.asking(paths, Doing::Write) {
            return asks(rule);
        }
        if paths.is_empty() {
            return Verdict::ask("the call does not say what it changes");
        }
        let open: Vec<&PathBuf> = paths
            .iter()
            .filter(|path| !self.may_change(path, mode) && !self.is_allowed(tool, path, Doing::Write))
            .collect();
        match open.first() {
            None => Verdict::Allow,
            Some(path) => {
                let place =
                    if self.is_inside(path) { "the workspace" } else { "what lies outside the workspace" };
                let offers =
                    if open.len() == 1 { offer::path("Edit", path, self.whereabouts()) } else { Vec::new() };
                Verdict::offer(format!("it changes {place}: {}", path.display()), offers)
            }
        }
    }

    /// Whether a mode permits to change a path, rules aside.
    fn may_change(&self, path: &Path, mode: Mode) -> bool {
        match mode {
            Mode::Full => true,
            Mode::AcceptEdits => self.is_inside(path),
            Mode::Ask | Mode::Plan => false,
        }
    }

    /// Whether a path may be written by a redirection of a command that is permitted otherwise.
    pub(super) fn may_redirect(&self, path: &Path, mode: Mode) -> bool {
        let paths = [path.to_owned()];
        !self.guard.is_own(path)
            && self.guard.writing(path, Written::Plain).is_none()
            && self.refusing(&paths, Doing::Write).is_none()
            && self.asking(&paths, Doing::Write).is_none()
            && (self.may_change(path, mode) || self.is_allowed("Edit", path, Doing::Write))
    }

    /// Whether a path lies in the workspace. One that is not resolved does not.
    pub(super) fn is_inside(&self, path: &Path) -> bool {
        is_resolved(path) && self.input.workspace.contains(path)
    }

    /// Whether the session saved a path for the model to read back.
    fn is_saved(&self, path: &Path) -> bool {
        is_resolved(path) && self.input.workspace.saved(path).is_some()
    }

    pub(super) fn refusing(&self, paths: &[PathBuf], doing: Doing) -> Option<&Rule> {
        self.input.rules.deny.iter().find(|rule| paths.iter().any(|path| self.may_mean(rule, path, doing)))
    }

    pub(super) fn asking(&self, paths: &[PathBuf], doing: Doing) -> Option<&Rule> {
        self.input.rules.ask.iter().find(|rule| paths.iter().any(|path| self.may_mean(rule, path, doing)))
    }

    fn may_mean(&self, rule: &Rule, path: &Path, doing: Doing) -> bool {
        match pattern(rule, doing) {
            Some(Some(pattern)) => pattern.may_match(path, self.bases(&self.folders())),
            Some(None) => true,
            None => false,
        }
    }

    /// Whether a rule permits it. One without a pattern means the workspace.
    fn is_allowed(&self, tool: &str, path: &Path, doing: Doing) -> bool {
        self.allowing().iter().any(|rule| match pattern(rule, doing) {
            Some(Some(pattern)) => pattern.matches(path, self.bases(&self.folders())),
            Some(None) => self.is_inside(path),
            None => matches!(rule.subject(), Subject::Tool(name) if name == tool) && self.is_inside(path),
        })
    }

    fn whereabouts(&self) -> offer::Whereabouts<'_> {
        offer::Whereabouts { workspace: &self.input.workspace, home: self.input.home.as_deref() }
    }
}

fn is_resolved(path: &Path) -> bool {
    path.is_absolute() && !path.components().any(|part| part == Component::ParentDir)
}

/// What is never permitted.
pub(super) fn own() -> Verdict {
    Verdict::deny(
        "the agent may not change its own folder: sessions, settings and approvals are the user's. Use the tools that are made for it, or \
         tell the user what to change",
    )
}

/// The pattern of a rule about files; `Some(None)`: all of them.
fn pattern(rule: &Rule, doing: Doing) -> Option<Option<&PathPattern>> {
    match (rule.subject(), doing) {
        (Subject::Read(pattern), Doing::Read) | (Subject::Edit(pattern), Doing::Write) => {
            Some(pattern.as_ref())
        }
        (
            Subject::Read(_)
            | Subject::Edit(_)
            | Subject::Tool(_)
            | Subject::Command(_)
            | Subject::Unsandboxed(_)
            | Subject::Network(_)
            | Subject::Mcp { .. },
            Doing::Read | Doing::Write,
        ) => None,
    }
}
