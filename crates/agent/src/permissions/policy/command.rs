//! Running commands.

use super::super::Mode;
use super::super::command::{CommandLine, Reach, SimpleCommand, hidden, is_destructive, reach};
use super::super::guard::Written;
use super::super::links::follow;
use super::super::named::{Judged, Named, Place, Use, judge};
use super::super::offer;
use super::super::rule::{Rule, Subject};
use super::super::verdict::Verdict;
use super::files::{Doing, PLANNING, own};
use super::{Policy, asks, denied};
use std::path::{Path, PathBuf};

/// The most paths of a line that are followed.
const FOLLOWED: usize = 1000;

/// A command that a call would run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    pub(super) command: &'a str,
    pub(super) cwd: &'a Path,
    pub(super) is_unsandboxed: bool,
}

/// A command, read once.
struct Read<'a> {
    call: Call<'a>,
    line: CommandLine,
    reach: Reach,
    judged: Vec<Judged>,
}

impl Policy {
    pub(super) fn command(&self, call: Call<'_>, mode: Mode) -> Verdict {
        let line = CommandLine::read(call.command);
        let reach = reach(&line);
        let place = Place { cwd: call.cwd, home: self.input.home.as_deref() };
        let mut judged = judge(&line, place);
        // What is not followed counts as leading elsewhere.
        for named in judged.iter_mut().flat_map(|judged| &mut judged.named).take(FOLLOWED) {
            named.real = follow(&self.input.workspace, named);
        }
        let read = Read { call, judged, reach, line };
        self.refused(&read, mode)
            .or_else(|| self.always_asked(&read, mode))
            .unwrap_or_else(|| self.permitted(&read, mode))
    }

    /// What is denied whatever permits it.
    fn refused(&self, read: &Read<'_>, mode: Mode) -> Option<Verdict> {
        if let Some(rule) = self.input.rules.deny.iter().find(|rule| read.may_be(rule)) {
            return Some(denied(rule));
        }
        for (named, path) in read.paths() {
            let paths = [path.to_owned()];
            let doings = doings(named.to);
            if let Some(rule) = doings.iter().find_map(|doing| self.refusing(&paths, *doing)) {
                return Some(denied(rule));
            }
            let changes = doings.contains(&Doing::Write);
            let is_destroyed = is_destructive(&named.program) && self.guard.is_above_own(path);
            if changes && (self.guard.is_own(path) || is_destroyed) {
                return Some(own());
            }
        }
        let is_read_only = read.is_read_only();
        match mode {
            Mode::Plan if read.call.is_unsandboxed => {
                Some(Verdict::deny("you are in plan mode: nothing runs outside the sandbox"))
            }
            Mode::Plan if !is_read_only => {
                Some(Verdict::deny(format!("{PLANNING}. Commands that only read may run")))
            }
            Mode::Plan | Mode::Ask | Mode::AcceptEdits | Mode::Full => None,
        }
    }

    /// What is asked whatever permits it.
    fn always_asked(&self, read: &Read<'_>, mode: Mode) -> Option<Verdict> {
        if let Some(rule) = self.input.rules.ask.iter().find(|rule| read.may_be(rule)) {
            return Some(asks(rule));
        }
        for (named, path) in read.paths() {
            let paths = [path.to_owned()];
            if let Some(rule) = doings(named.to).iter().find_map(|doing| self.asking(&paths, *doing)) {
                return Some(asks(rule));
            }
        }
        let rules = &self.input.rules;
        let is_of_command = |rule: &&Rule| matches!(rule.subject(), Subject::Command(Some(_)));
        if read.reach.is_unclear
            && let Some(rule) = rules.deny.iter().chain(&rules.ask).find(is_of_command)
        {
            return Some(Verdict::ask(format!(
                "what it runs can't be told before it runs, and the rule `{rule}` might be about it"
            )));
        }
        if mode == Mode::Full {
            return None;
        }
        if let Some(c) = hidden(read.call.command) {
            return Some(Verdict::ask(format!(
                "it holds a character that is not seen: U+{:04X}",
                u32::from(c)
            )));
        }
        let programs = read.reach.commands.iter().filter_map(SimpleCommand::program);
        if let Some(program) = programs.into_iter().find(|program| !program.is_ascii()) {
            return Some(Verdict::ask(format!("`{program}` may look like another program")));
        }
        let guarded = read.paths().find_map(|(named, path)| {
            let is_pattern = named.is_glob && named.path.as_deref() == Some(path);
            let written = match (is_pattern, &named.real) {
                // What a pattern means counts, not what it might.
                (true, Some(_)) => return None,
                (true, None) => Written::Pattern,
                (false, _) => Written::Plain,
            };
            match named.to {
                Use::Look => None,
                Use::Read => self.guard.reading(path, written),
                Use::Write | Use::Either => self.guard.writing(path, written),
            }
        });
        guarded.map(|reason| Verdict::ask(format!("it names a path that is always asked: {reason}")))
    }

    fn permitted(&self, read: &Read<'_>, mode: Mode) -> Verdict {
        if mode == Mode::Full {
            return Verdict::Allow;
        }
        let rules = self.allowing();
        if read.call.is_unsandboxed {
            let is_named = |rule: &Rule| match rule.subject() {
                Subject::Unsandboxed(command) => command == read.call.command.trim(),
                Subject::Tool(_)
                | Subject::Command(_)
                | Subject::Read(_)
                | Subject::Edit(_)
                | Subject::Network(_)
                | Subject::Mcp { .. } => false,
            };
            return if rules.iter().any(is_named) {
                Verdict::Allow
            } else {
                Verdict::offer("it is to run outside the sandbox", offer::unsandboxed(read.call.command))
            };
        }
        let is_whole = |rule: &Rule| match rule.subject() {
            Subject::Command(pattern) => {
                pattern.as_ref().is_none_or(|pattern| pattern.is_exactly(read.call.command))
            }
            Subject::Tool(_)
            | Subject::Unsandboxed(_)
            | Subject::Read(_)
            | Subject::Edit(_)
            | Subject::Network(_)
            | Subject::Mcp { .. } => false,
        };
        if rules.iter().any(is_whole) {
            return Verdict::Allow;
        }
        let outside = self.outside(read);
        let is_harmless = |judged: &Judged| self.is_harmless(judged);
        let covers = |judged: &Judged| {
            rules.iter().any(|rule| rule.covers_command(&judged.simple)) && self.may_write(judged, mode)
        };
        let is_sound = read.line.doubt.is_none() && !read.judged.is_empty() && self.is_inside(read.call.cwd);
        if is_sound && read.judged.iter().all(|judged| is_harmless(judged) || covers(judged)) {
            return Verdict::Allow;
        }
        let is_caged = mode == Mode::AcceptEdits && self.input.sandbox_enforced;
        if is_caged && outside.is_none() && self.is_inside(read.call.cwd) {
            return Verdict::Allow;
        }
        let open: Vec<&SimpleCommand> =
            read.judged.iter().filter(|judged| !is_harmless(judged)).map(|judged| &judged.simple).collect();
        let reason = match (outside, &read.line.doubt) {
            (Some(word), _) => {
                format!("it names {word}, which lies outside the workspace or can't be followed")
            }
            (None, Some(doubt)) => format!("it can't be judged: {doubt}"),
            (None, None) if read.is_read_only() => {
                "git runs what the configuration of a folder further down may name, and diff follows links in folders".to_owned()
            }
            (None, None) if mode == Mode::AcceptEdits => "there is no sandbox to run it in".to_owned(),
            (None, None) => "it may change something".to_owned(),
        };
        let can_be_prefixed = read.line.doubt.is_none();
        Verdict::offer(reason, offer::command(read.call.command, if can_be_prefixed { &open } else { &[] }))
    }

    /// The first path that a command names outside the workspace.
    fn outside(&self, read: &Read<'_>) -> Option<String> {
        // What may be no path at all counts if there is one, and it is a link that leads out.
        let leads_out = |named: &Named| {
            let is_in = named.path.as_ref().is_some_and(|path| self.is_inside(path));
            is_in && named.real.iter().flatten().any(|path| !self.is_inside(path))
        };
        let is_out = |named: &&Named| {
            if named.is_guess { leads_out(named) } else { !self.leads_inside(named) }
        };
        let named = read.judged.iter().flat_map(|judged| &judged.named).find(is_out)?;
        Some(throughline_core::text::one_line(&named.word, 80))
    }

    /// Whether a command changes nothing, and reads nothing outside the workspace as far as it says.
    fn is_harmless(&self, judged: &Judged) -> bool {
        let Some(known) = &judged.read_only else { return false };
        // In a folder further down git may find a repository that somebody put there.
        let is_root = |folder: &Option<PathBuf>| {
            folder.as_ref().is_some_and(|folder| self.folders().contains(&folder.as_path()))
        };
        let is_folder = |named: &Named| named.real.iter().flatten().any(|path| path.is_dir());
        judged.named.iter().all(|named| self.leads_inside(named))
            && !(known.follows_links && judged.named.iter().any(is_folder))
            && (!known.is_git || judged.folders.iter().all(is_root))
    }

    /// Whether a path lies in the workspace, as it is written and where it leads.
    fn leads_inside(&self, named: &Named) -> bool {
        let Some(path) = &named.path else { return false };
        let is_real = || named.real.as_ref().is_some_and(|real| real.iter().all(|path| self.is_inside(path)));
        is_nowhere(path) || (self.is_inside(path) && is_real())
    }

    /// Whether everything that a command redirects to may be written.
    fn may_write(&self, judged: &Judged, mode: Mode) -> bool {
        let written = judged.named.iter().filter(|named| named.to == Use::Write);
        written.into_iter().all(|named| {
            let real = named.real.iter().flatten();
            named.real.is_some() && named.path.iter().chain(real).all(|path| self.may_redirect(path, mode))
        })
    }
}

impl Read<'_> {
    /// Whether a rule about commands might mean this one.
    fn may_be(&self, rule: &Rule) -> bool {
        match rule.subject() {
            Subject::Command(None) => true,
            Subject::Command(Some(pattern)) => {
                pattern.may_be(self.call.command)
                    || self.reach.commands.iter().any(|simple| pattern.may_cover(simple))
            }
            Subject::Unsandboxed(command) => self.call.is_unsandboxed && command == self.call.command.trim(),
            Subject::Tool(_)
            | Subject::Read(_)
            | Subject::Edit(_)
            | Subject::Network(_)
            | Subject::Mcp { .. } => false,
        }
    }

    fn is_read_only(&self) -> bool {
        self.line.doubt.is_none()
            && !self.judged.is_empty()
            && self.judged.iter().all(|judged| judged.read_only.is_some())
    }

    /// The paths that it names, as they are written and where they lead.
    fn paths(&self) -> impl Iterator<Item = (&Named, &Path)> {
        let named = self.judged.iter().flat_map(|judged| &judged.named);
        named.flat_map(|named| {
            let paths = named.path.iter().chain(named.real.iter().flatten());
            paths.map(move |path| (named, path.as_path()))
        })
    }
}

fn doings(to: Use) -> &'static [Doing] {
    match to {
        Use::Read => &[Doing::Read],
        Use::Write => &[Doing::Write],
        Use::Either => &[Doing::Read, Doing::Write],
        Use::Look => &[Doing::Read],
    }
}

/// Devices that hold nothing.
fn is_nowhere(path: &Path) -> bool {
    ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/zero"]
        .iter()
        .any(|device| path == Path::new(device))
}
