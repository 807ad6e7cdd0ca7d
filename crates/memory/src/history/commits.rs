//! Commits: written, listed, and what they hold.

use super::git::{BRANCH, Dates, Refusal, Repository, is_id, quoted};
use jiff::Timestamp;
use std::collections::BTreeMap;

/// A commit to write.
pub(crate) struct Draft<'a> {
    /// What it says.
    pub(crate) message: &'a str,
    /// When it was made.
    pub(crate) when: When,
    /// What changes, by the path in the repository; `None` as content: the file is gone.
    pub(crate) files: &'a BTreeMap<String, Option<Vec<u8>>>,
}

/// When a commit was made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    /// By git's clock.
    Now,
    /// By the caller's.
    At(Timestamp),
}

/// A commit, as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    /// Its id.
    pub(crate) id: String,
    /// When.
    pub(crate) at: Timestamp,
    /// Whether the history begins with it.
    pub(crate) is_first: bool,
    /// What it says.
    pub(crate) message: String,
    /// What it changed.
    pub(crate) steps: Vec<Step>,
}

impl Commit {
    /// What stands behind a key at the beginning of a line of the message; of several the last.
    pub(crate) fn said(&self, key: &str) -> Option<&str> {
        self.message.lines().rev().find_map(|line| line.strip_prefix(key)).map(str::trim)
    }
}

/// A file before and after a change, as ids in the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Its path in the repository.
    pub(crate) file: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

impl Repository {
    /// Writes a commit behind the newest. Returns its id.
    pub(crate) fn commit(&self, draft: &Draft<'_>) -> Result<String, Refusal> {
        let (when, dates) = match draft.when {
            When::Now => ("now".to_owned(), Dates::Now),
            When::At(at) => (format!("{} +0000", at.as_second().max(0)), Dates::Given),
        };
        let text = draft.message;
        let mut stream = Vec::new();
        stream.extend_from_slice(
            format!(
                "commit {BRANCH}\ncommitter throughline <throughline@localhost> {when}\ndata {}\n{text}\n",
                text.len()
            )
            .as_bytes(),
        );
        if let Some(parent) = self.head()? {
            stream.extend_from_slice(format!("from {parent}\n").as_bytes());
        }
        for (path, content) in draft.files {
            let path = quoted(path);
            match content {
                Some(content) => {
                    stream.extend_from_slice(
                        format!("M 100644 inline {path}\ndata {}\n", content.len()).as_bytes(),
                    );
                    stream.extend_from_slice(content);
                    stream.push(b'\n');
                }
                None => stream.extend_from_slice(format!("D {path}\n").as_bytes()),
            }
        }
        stream.extend_from_slice(b"done\n");
        self.import(&stream, dates)?;
        let head = self.head()?.ok_or("git recorded nothing")?;
        // What is recorded is recorded, packed or not.
        let _ = self.tidy();
        Ok(head)
    }

    /// The files of a commit, with their ids.
    pub(crate) fn tree(&self, commit: &str) -> Result<BTreeMap<String, String>, Refusal> {
        let listing = self.ask(&["ls-tree", "-r", "-z", commit], &[])?;
        let mut files = BTreeMap::new();
        for row in String::from_utf8_lossy(&listing).split('\0') {
            let Some((about, path)) = row.split_once('\t') else { continue };
            let id = about.split(' ').nth(2).unwrap_or_default();
            files.insert(path.to_owned(), id.to_owned());
        }
        Ok(files)
    }

    /// What objects hold.
    pub(crate) fn contents(&self, ids: &[String]) -> Result<Vec<Vec<u8>>, Refusal> {
        let input: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let output = self.ask(&["cat-file", "--batch"], input.as_bytes())?;
        let mut rest = output.as_slice();
        let mut contents = Vec::new();
        for id in ids {
            let missing = || format!("the history does not hold {id}");
            let end = rest.iter().position(|b| *b == b'\n').ok_or_else(missing)?;
            let size = std::str::from_utf8(&rest[..end]).ok().and_then(|line| line.rsplit_once(' '));
            let size: usize = size.and_then(|(_, size)| size.parse().ok()).ok_or_else(missing)?;
            contents.push(rest.get(end + 1..end + 1 + size).ok_or_else(missing)?.to_vec());
            rest = rest.get(end + 2 + size..).unwrap_or_default();
        }
        Ok(contents)
    }

    /// The commits, newest first: all, or those that touched a path, each with all that it changed.
    pub(crate) fn log(&self, path: Option<&str>, limit: usize) -> Result<Vec<Commit>, Refusal> {
        if self.head()?.is_none() {
            return Ok(Vec::new());
        }
        let limit = limit.to_string();
        let path = path.map(|path| format!(":(top,literal){path}"));
        let mut args = vec![
            "log",
            "-z",
            "--raw",
            "--root",
            "--no-renames",
            "--no-abbrev",
            "--no-ext-diff",
            "--no-color",
            "--no-decorate",
            "--no-notes",
            "--no-mailmap",
            "--no-show-signature",
            "--full-diff",
            "--format=%x02%H%x00%ct%x00%P%x00%B",
            "-n",
            &limit,
            BRANCH,
            "--",
        ];
        args.extend(path.as_deref());
        Ok(parse(&self.ask(&args, &[])?))
    }
}

/// The commits that `git log` wrote, each with its files.
fn parse(log: &[u8]) -> Vec<Commit> {
    let log = String::from_utf8_lossy(log);
    let mut tokens = log.split('\0').map(|token| token.trim_start_matches('\n'));
    let mut commits: Vec<Commit> = Vec::new();
    while let Some(token) = tokens.next() {
        if let Some(id) = token.strip_prefix('\u{2}') {
            let at = tokens.next().and_then(|second| second.parse().ok());
            let at =
                at.and_then(|second| Timestamp::from_second(second).ok()).unwrap_or(Timestamp::UNIX_EPOCH);
            let is_first = tokens.next().is_none_or(str::is_empty);
            let message = tokens.next().unwrap_or_default().to_owned();
            commits.push(Commit { id: id.to_owned(), at, is_first, message, steps: Vec::new() });
        } else if let (Some(about), Some(commit)) = (token.strip_prefix(':'), commits.last_mut()) {
            let file = tokens.next().unwrap_or_default().to_owned();
            let parts: Vec<&str> = about.split(' ').collect();
            let id = |n: usize| {
                parts
                    .get(n)
                    .filter(|id| is_id(id) && id.bytes().any(|b| b != b'0'))
                    .map(|id| (*id).to_owned())
            };
            commit.steps.push(Step { file, before: id(2), after: id(3) });
        }
    }
    commits
}
