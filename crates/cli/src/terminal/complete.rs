//! What a word that is being typed may become: a command, a file, a skill.

use ignore::WalkBuilder;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Files that are looked at, at most: in a larger project the rest can be typed.
const MOST_FILES: usize = 50_000;

/// The time a look at the project may take, so that typing never waits long.
const LONGEST_LOOK: Duration = Duration::from_millis(400);

/// After this long the project is looked at again.
const FRESH: Duration = Duration::from_secs(10);

/// Suggestions given at once.
const MOST: usize = 50;

/// A word that may be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Where the word that it replaces begins.
    pub(crate) start: usize,
    /// Where that word ends.
    pub(crate) end: usize,
    /// What comes instead.
    pub(crate) value: String,
    /// For people.
    pub(crate) description: Option<String>,
}

/// A name with what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// The name, without its mark.
    pub(crate) name: String,
    /// What it is.
    pub(crate) description: String,
}

/// What may be typed.
#[derive(Debug)]
pub(crate) struct Words {
    commands: Vec<Named>,
    skills: Vec<Named>,
    root: PathBuf,
    files: Vec<String>,
    looked: Option<Instant>,
}

impl Words {
    /// Commands, skills, and the files below a folder.
    pub(crate) fn new(commands: Vec<Named>, skills: Vec<Named>, root: PathBuf) -> Self {
        Self { commands, skills, root, files: Vec::new(), looked: None }
    }

    /// What the word before the cursor may become, the likeliest first.
    pub(crate) fn complete(&mut self, line: &str, cursor: usize) -> Vec<Candidate> {
        let cursor = line.floor_char_boundary(cursor);
        let head = &line[..cursor];
        let start = head.rfind(char::is_whitespace).map_or(0, |at| head.ceil_char_boundary(at + 1));
        let word = &head[start..];
        let candidate =
            |value: String, description: Option<String>| Candidate { start, end: cursor, value, description };
        if let Some(typed) = word.strip_prefix('/').filter(|_| start == 0) {
            let found = ranked(typed, &self.commands, |command| &command.name);
            return found
                .map(|command| candidate(format!("/{}", command.name), Some(command.description.clone())))
                .collect();
        }
        let Some(typed) = word.strip_prefix('@') else { return Vec::new() };
        self.look();
        let skills = ranked(typed, &self.skills, |skill| &skill.name)
            .map(|skill| candidate(format!("@{}", skill.name), Some(skill.description.clone())));
        let files = ranked(typed, &self.files, |file| file).map(|file| candidate(format!("@{file}"), None));
        // A skill is few among many files, and it was given its name to be called by it.
        skills.chain(files).take(MOST).collect()
    }

    fn look(&mut self) {
        if self.looked.is_some_and(|looked| looked.elapsed() < FRESH) {
            return;
        }
        self.files = files_below(&self.root, MOST_FILES, LONGEST_LOOK);
        self.looked = Some(Instant::now());
    }
}

/// Paths below a folder, folders with a `/` behind: hidden and ignored ones left out, near ones first.
fn files_below(root: &Path, most: usize, longest: Duration) -> Vec<String> {
    let begun = Instant::now();
    let mut files = Vec::new();
    // `.ignore` and `.gitignore` count outside of repositories too.
    for entry in WalkBuilder::new(root).require_git(false).build().flatten() {
        if files.len() >= most || begun.elapsed() > longest {
            break;
        }
        let Ok(below) = entry.path().strip_prefix(root) else { continue };
        let Some(name) = below.to_str().filter(|name| !name.is_empty()) else { continue };
        if name.chars().any(char::is_control) {
            continue;
        }
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        files.push(if is_folder { format!("{name}/") } else { name.to_owned() });
    }
    files.sort_by(|a, b| depth(a).cmp(&depth(b)).then_with(|| a.cmp(b)));
    files
}

fn depth(path: &str) -> usize {
    path.trim_end_matches('/').matches('/').count()
}

/// How well a name fits what was typed; less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// The name begins with it.
    Prefix,
    /// The last part of a path begins with it.
    PartPrefix,
    /// It is in the name.
    Inside,
    /// Its letters are in the name, in order, over so many characters.
    Subsequence(usize),
}

impl Fit {
    fn is_loose(self) -> bool {
        match self {
            Self::Prefix | Self::PartPrefix | Self::Inside => false,
            Self::Subsequence(_) => true,
        }
    }
}

fn fit(typed: &str, name: &str) -> Option<Fit> {
    let (typed, name) = (typed.to_lowercase(), name.to_lowercase());
    if name.starts_with(&typed) {
        return Some(Fit::Prefix);
    }
    let last = name.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if last.starts_with(&typed) {
        return Some(Fit::PartPrefix);
    }
    if name.contains(&typed) {
        return Some(Fit::Inside);
    }
    let mut wanted = typed.chars().peekable();
    let mut first = None;
    for (at, c) in name.chars().enumerate() {
        if wanted.peek() == Some(&c) {
            wanted.next();
            let first = *first.get_or_insert(at);
            if wanted.peek().is_none() {
                return Some(Fit::Subsequence(at - first));
            }
        }
    }
    None
}

/// Those that fit, best first; equals stay in their order. Letters here and there count only where nothing fits better.
fn ranked<'a, T>(typed: &str, all: &'a [T], name: impl Fn(&T) -> &str) -> impl Iterator<Item = &'a T> {
    let mut found: Vec<(Fit, &T)> =
        all.iter().filter_map(|each| Some((fit(typed, name(each))?, each))).collect();
    found.sort_by_key(|(fit, _)| *fit);
    if found.first().is_some_and(|(fit, _)| !fit.is_loose()) {
        found.retain(|(fit, _)| !fit.is_loose());
    }
    found.into_iter().map(|(_, each)| each).take(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(root: &Path) -> Words {
        let named = |name: &str| Named { name: name.to_owned(), description: format!("about {name}") };
        Words::new(
            vec![named("compact"), named("context"), named("cost")],
            vec![named("release")],
            root.to_owned(),
        )
    }

    fn values(words: &mut Words, line: &str) -> Vec<String> {
        words.complete(line, line.len()).into_iter().map(|candidate| candidate.value).collect()
    }

    fn project() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for path in ["src/main.rs", "src/map/ain.rs", "docs/main.md", "target/main.o", ".hidden/main.rs"] {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::fs::write(dir.path().join(".gitignore"), "target\n").unwrap();
        dir
    }

    #[test]
    fn commands_are_completed_at_the_start_only() {
        let dir = project();
        let mut words = words(dir.path());
        assert_eq!(values(&mut words, "/co"), ["/compact", "/context", "/cost"]);
        assert_eq!(values(&mut words, "/ctx"), ["/context"]);
        assert!(values(&mut words, "say /co").is_empty());
        assert!(values(&mut words, "co").is_empty());
        assert_eq!(words.complete("/cos", 4)[0].description.as_deref(), Some("about cost"));
    }

    #[test]
    fn files_are_ranked_and_ignored_ones_left_out() {
        let dir = project();
        let mut words = words(dir.path());
        assert_eq!(values(&mut words, "see @main"), ["@docs/main.md", "@src/main.rs"]);
        assert_eq!(values(&mut words, "@smap"), ["@src/map/", "@src/map/ain.rs"]);
        assert_eq!(values(&mut words, "@src/"), ["@src/", "@src/main.rs", "@src/map/", "@src/map/ain.rs"]);
        assert_eq!(values(&mut words, "@rel")[0], "@release");
        let candidate = words.complete("see @docs", 9).remove(0);
        assert_eq!((candidate.start, candidate.end), (4, 9));
    }

    #[test]
    fn a_huge_project_is_looked_at_in_part() {
        let dir = project();
        assert_eq!(files_below(dir.path(), 2, Duration::from_secs(60)).len(), 2);
    }

    #[test]
    fn any_cursor_is_taken() {
        let dir = project();
        for cursor in 0..12 {
            words(dir.path()).complete("日本 @é", cursor);
        }
    }
}
