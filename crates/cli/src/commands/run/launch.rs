//! A command as it is started: its words, its variables, and what goes with it when it ends.

use anyhow::Context as _;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use throughline_ledger::{Home, write_private};
use throughline_model::process_environment;

/// Which client a command starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Client {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Anything that reads `ANTHROPIC_BASE_URL` or `OPENAI_BASE_URL`.
    Other,
}

impl Client {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Other => "the program",
        }
    }
}

/// What starts programs that are named behind it.
const STARTERS: [&str; 10] = ["npx", "bunx", "pnpx", "pnpm", "npm", "yarn", "bun", "node", "env", "mise"];

/// A command as it is started.
pub(super) struct Launch {
    pub(super) client: Client,
    pub(super) words: Vec<OsString>,
    /// Where words of ours go in: behind the client's name.
    behind: usize,
    pub(super) variables: Vec<(&'static str, String)>,
    /// Gone when it ends.
    files: Vec<PathBuf>,
}

impl Launch {
    /// Finds out which client it is, unless that is said.
    pub(super) fn new(words: Vec<OsString>, said: Option<Client>) -> Self {
        let is_starter = words.first().is_some_and(|word| STARTERS.contains(&base_name(word).as_str()));
        let looked_at = if is_starter { words.len().min(5) } else { 1 };
        let found = words.iter().take(looked_at).enumerate().find_map(|(at, word)| {
            let client = match base_name(word).as_str() {
                "claude" | "claude-code" => Client::Claude,
                "codex" => Client::Codex,
                _ => return None,
            };
            Some((client, at + 1))
        });
        let (client, behind) = found.unwrap_or((Client::Other, 1));
        Self { client: said.unwrap_or(client), words, behind, variables: Vec::new(), files: Vec::new() }
    }

    /// The client's own arguments.
    pub(super) fn arguments(&self) -> &[OsString] {
        self.words.get(self.behind..).unwrap_or_default()
    }

    /// Puts words before the client's arguments.
    pub(super) fn insert(&mut self, words: impl IntoIterator<Item = OsString>) {
        let at = self.behind.min(self.words.len());
        self.words.splice(at..at, words);
    }

    /// Replaces one of the client's arguments.
    pub(super) fn replace(&mut self, argument: usize, word: OsString) {
        if let Some(old) = self.words.get_mut(self.behind + argument) {
            *old = word;
        }
    }

    pub(super) fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.variables.push((name, value.into()));
    }

    /// The way to this machine leads through no proxy of the network's.
    pub(super) fn stay_here(&mut self, variable: &dyn Fn(&str) -> Option<String>) {
        self.variables.extend(ways_home(variable));
    }

    /// Writes a file for the client alone, until it ends.
    pub(super) fn file(&mut self, home: &Home, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        let relative = format!("proxy/run/{}-{name}", std::process::id());
        write_private(home.root(), &relative, text.as_bytes())
            .context("cannot write the client's settings")?;
        let path = home.root().join(relative);
        self.files.push(path.clone());
        Ok(path)
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        for file in &self.files {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Variables of the network's proxy.
pub(super) const PROXIES: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
/// And those of what is reached without it. Who reads one need not read the other.
pub(super) const NO_PROXY: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// What keeps a client on its way to this machine from asking a proxy of the network's: what was excepted stays excepted.
pub(super) fn ways_home(variable: &dyn Fn(&str) -> Option<String>) -> Vec<(&'static str, String)> {
    let has = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    if !PROXIES.iter().any(|name| has(name).is_some()) {
        return Vec::new();
    }
    let other = |name: &str| NO_PROXY.iter().filter(|other| **other != name).find_map(|name| has(name));
    let excepting = |name: &&'static str| {
        let before = has(name).or_else(|| other(name)).map(|value| format!("{value},"));
        (*name, format!("{}127.0.0.1,localhost,::1", before.unwrap_or_default()))
    };
    NO_PROXY.iter().map(excepting).collect()
}

/// `/usr/bin/codex`, `codex.exe`, `@openai/codex@latest` → `codex`.
fn base_name(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.split('@').next().unwrap_or_default();
    let known = [".exe", ".cmd", ".js", ".mjs"].iter().find_map(|end| name.strip_suffix(end));
    known.unwrap_or(name).to_ascii_lowercase()
}

/// Where a client looks for its settings.
pub(super) struct Place<'a> {
    pub(super) user: PathBuf,
    pub(super) cwd: PathBuf,
    /// The machine's own settings; other in tests.
    pub(super) system: &'a Path,
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Place<'_> {
    /// Of this process.
    pub(super) fn here() -> anyhow::Result<Place<'static>> {
        Ok(Place {
            user: crate::context::user_home().context("cannot tell your home folder: set HOME")?,
            cwd: std::env::current_dir().context("cannot tell the current folder")?,
            system: Path::new("/etc"),
            variable: &process_environment,
        })
    }

    /// A variable that has something in it.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.trim().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(line: &str) -> Launch {
        Launch::new(line.split(' ').map(OsString::from).collect(), None)
    }

    #[test]
    fn clients_are_known_by_their_names() {
        assert_eq!(launch("/opt/bin/claude -p hi").client, Client::Claude);
        assert_eq!(launch("codex.exe exec").client, Client::Codex);
        assert_eq!(launch("npx -y @openai/codex@0.166.0 exec hi").client, Client::Codex);
        assert_eq!(launch("npx @anthropic-ai/claude-code").client, Client::Claude);
        assert_eq!(launch("python claude").client, Client::Other);
        assert_eq!(launch("./claude-wrapper").client, Client::Other);
    }

    #[test]
    fn a_proxy_of_the_network_is_not_asked_the_way_to_this_machine() {
        let mut alone = launch("agent");
        alone.stay_here(&|_| None);
        assert!(alone.variables.is_empty());
        let mut behind = launch("agent");
        behind.stay_here(&|name| match name {
            "HTTPS_PROXY" => Some("http://proxy.example:3128".to_owned()),
            "NO_PROXY" => Some(".example".to_owned()),
            _ => None,
        });
        let excepted = ".example,127.0.0.1,localhost,::1".to_owned();
        assert_eq!(behind.variables, [("no_proxy", excepted.clone()), ("NO_PROXY", excepted)]);
    }

    #[test]
    fn words_of_ours_stand_right_behind_the_clients_name() {
        let mut codex = launch("npx -y @openai/codex exec hi");
        codex.insert(["-c".into(), "a=b".into()]);
        assert_eq!(codex.words.join(OsStr::new(" ")), "npx -y @openai/codex -c a=b exec hi");
        assert_eq!(codex.arguments().len(), 4);
    }
}
