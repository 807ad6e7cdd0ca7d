//! The paths that a command names.

use super::command::{
    CommandLine, ReadOnly, RedirectTarget, SimpleCommand, Word, WordKind, base_name, peel, read_only,
};
use super::glob::can_meet;
use std::path::{Component, Path, PathBuf};

/// The most folders that commands of one line are taken to run in.
const FOLDERS: usize = 8;

/// What a command may do with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It reads it.
    Read,
    /// It writes it.
    Write,
    /// One or the other.
    Either,
    /// It tells that it is there, not what it holds.
    Look,
}

/// A path in a command.
#[derive(Clone, Debug)]
pub(super) struct Named {
    /// As it was written.
    pub(super) word: String,
    /// Where it leads as it is written; `None`: that can't be said.
    pub(super) path: Option<PathBuf>,
    /// Where it leads once links are followed, when somebody has looked; several places for a pattern.
    pub(super) real: Option<Vec<PathBuf>>,
    /// Whether it is a pattern of file names.
    pub(super) is_glob: bool,
    pub(super) to: Use,
    /// Whether the word may be something else than a path.
    pub(super) is_guess: bool,
    /// The program that names it.
    pub(super) program: String,
}

/// One command of a line.
#[derive(Debug)]
pub(super) struct Judged {
    /// What it is without `timeout` and the like.
    pub(super) simple: SimpleCommand,
    /// What it reads, if it changes nothing.
    pub(super) read_only: Option<ReadOnly>,
    pub(super) named: Vec<Named>,
    /// Where it may run; `None`: that can't be said.
    pub(super) folders: Vec<Option<PathBuf>>,
}

/// Where commands run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) cwd: &'a Path,
    pub(super) home: Option<&'a Path>,
}

/// Judges each command of a line and finds the paths that it names. A command after `cd` is taken to run in either folder.
pub(super) fn judge(line: &CommandLine, place: Place<'_>) -> Vec<Judged> {
    let mut folders = vec![Some(place.cwd.to_owned())];
    let mut judged = Vec::new();
    for simple in &line.simple {
        let simple = peel(simple);
        let read_only = read_only(line, &simple);
        let mut found = Vec::new();
        let context = Context { folders: folders.clone(), place };
        match &read_only {
            Some(known) => {
                let to = if known.only_looks { Use::Look } else { Use::Read };
                known.paths.iter().for_each(|word| context.add(&mut found, &simple, word, to));
            }
            None => context.guesses(&mut found, &simple),
        }
        for redirect in &simple.redirects {
            match redirect.target {
                RedirectTarget::Read => context.add(&mut found, &simple, &redirect.word, Use::Read),
                RedirectTarget::Write if redirect.writes() => {
                    context.add(&mut found, &simple, &redirect.word, Use::Write)
                }
                RedirectTarget::Write | RedirectTarget::Text => {}
            }
        }
        let before = folders.clone();
        if let Some(to) = read_only.as_ref().and_then(|known| known.moves_to.as_ref()) {
            let moved: Vec<Option<PathBuf>> =
                folders.iter().map(|from| context.resolve(to, from.as_deref())).collect();
            folders.extend(moved);
            folders.dedup();
            if folders.len() > FOLDERS {
                folders = vec![Some(place.cwd.to_owned()), None];
            }
        } else if matches!(simple.program(), Some("cd" | "pushd" | "popd")) {
            folders.push(None);
        }
        judged.push(Judged { simple, read_only, named: found, folders: before });
    }
    judged
}

struct Context<'a> {
    folders: Vec<Option<PathBuf>>,
    place: Place<'a>,
}

impl Context<'_> {
    fn add(&self, found: &mut Vec<Named>, simple: &SimpleCommand, word: &Word, to: Use) {
        for folder in &self.folders {
            let path = self.resolve(word, folder.as_deref());
            let program = simple.program().map(base_name).unwrap_or_default().to_owned();
            let is_glob = word.kind == WordKind::Glob;
            found.push(Named {
                word: word.text.clone(),
                path,
                real: None,
                is_glob,
                to,
                is_guess: false,
                program,
            });
        }
    }

    /// What could be paths among the words of a command that is not known.
    fn guesses(&self, found: &mut Vec<Named>, simple: &SimpleCommand) {
        let first = found.len();
        let words = simple.words.get(1..).unwrap_or_default();
        let script = script_of(simple);
        for (at, word) in words.iter().enumerate() {
            if script == Some(at) {
                continue;
            }
            let text = word.text.as_str();
            let value = text.split_once('=').map(|(_, value)| value);
            let mut parts: Vec<&str> = value.into_iter().collect();
            if !text.starts_with('-') {
                parts.push(text);
            } else if !text.starts_with("--") {
                parts.extend(text.get(2..));
                // A few letters, and the value of the last: `-rf/etc`.
                let value = text
                    .find('/')
                    .filter(|at| *at <= 4 && text.get(1..*at).is_some_and(|letters| !letters.contains('.')));
                parts.extend(value.and_then(|at| text.get(at..)));
                parts.extend(text.find('~').and_then(|at| text.get(at..)));
                parts.extend(text.find("..").and_then(|at| text.get(at..)));
            }
            for part in parts {
                let is_home = part.starts_with('~') && (word.is_home || part.len() < text.len());
                let part = Word { text: part.to_owned(), is_home, ..word.clone() };
                self.add(found, simple, &part, Use::Either);
            }
        }
        for named in found.iter_mut().skip(first) {
            let begins = ["/", "~", "$HOME", "${HOME}"].iter().any(|begin| named.word.starts_with(begin));
            let is_plain = begins || named.word.split('/').any(|part| part == "..");
            named.is_guess = !is_plain || named.word.contains(char::is_whitespace);
        }
    }

    /// Where a word leads, without looking. `..` behind a name could follow a link, so that it leads nowhere known.
    fn resolve(&self, word: &Word, folder: Option<&Path>) -> Option<PathBuf> {
        let home = |rest: &str| {
            let rest = rest.strip_prefix('/').or(rest.is_empty().then_some(""))?;
            self.place.home.map(|home| (home.to_owned(), rest.to_owned()))
        };
        let text = word.text.as_str();
        let variable = ["$HOME", "${HOME}"].iter().find_map(|name| text.strip_prefix(name));
        let (mut path, rest) = match (word.is_home, variable) {
            (true, _) => home(text.strip_prefix('~')?)?,
            (false, Some(rest)) if word.kind == WordKind::Dynamic => home(rest)?,
            (false, _) if text.starts_with('/') => (PathBuf::from("/"), text.to_owned()),
            (false, _) => (folder?.to_owned(), text.to_owned()),
        };
        let is_first_folder = folder == Some(self.place.cwd);
        let mut has_name = !is_first_folder && !text.starts_with('/') && !word.is_home;
        for part in Path::new(&rest).components() {
            match part {
                Component::Normal(name) => {
                    // Some shells match `..` by `.*`.
                    if word.kind == WordKind::Glob && can_meet(&name.to_string_lossy(), "..") {
                        return None;
                    }
                    has_name = true;
                    path.push(name);
                }
                Component::ParentDir if has_name => return None,
                Component::ParentDir => drop(path.pop()),
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        Some(path)
    }
}

/// The first argument of programs that take a pattern or a script there.
fn script_of(simple: &SimpleCommand) -> Option<usize> {
    const SCRIPTED: [&str; 10] = ["sed", "awk", "gawk", "mawk", "grep", "egrep", "fgrep", "rg", "jq", "tr"];
    let name = base_name(simple.program()?);
    let words = simple.words.get(1..)?;
    let gives = |word: &Word| {
        let text = word.text.as_str();
        ["--expression", "--file", "--regexp", "--from-file"].iter().any(|option| text.starts_with(option))
            || (text.starts_with('-') && !text.starts_with("--") && text.contains(['e', 'f']))
    };
    if !SCRIPTED.contains(&name) || words.iter().any(gives) {
        return None;
    }
    words.iter().position(|word| !word.text.starts_with('-'))
}
