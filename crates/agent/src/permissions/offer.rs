//! What could be remembered.

use super::Rule;
use super::command::{SimpleCommand, Word};
use super::verdict::Offer;
use crate::workspace::Workspace;
use std::path::Path;

/// The longest command that is remembered to the letter.
const LONGEST: usize = 400;

/// Programs and the sub-commands that may be remembered with whatever follows them. All others run, write or send what their
/// arguments say: only the exact command can be remembered.
const PREFIXES: &[(&str, &[&str])] = &[
    ("cargo", &["bench", "build", "check", "clippy", "doc", "fmt", "metadata", "nextest", "test", "tree"]),
    ("go", &["build", "doc", "fmt", "list", "test", "version", "vet"]),
    ("git", &["add", "blame", "commit", "diff", "fetch", "log", "merge-base", "rev-parse", "show", "status"]),
    ("npm", &["ls", "outdated", "test", "view"]),
    ("pnpm", &["list", "test"]),
    ("yarn", &["test"]),
    ("bun", &["test"]),
    ("dotnet", &["build", "test"]),
    ("mvn", &["compile", "test", "verify"]),
    ("gradle", &["build", "check", "test"]),
    ("swift", &["build", "test"]),
    ("zig", &["build", "fmt", "test"]),
    ("mix", &["compile", "format", "test"]),
];
/// Programs that may be remembered with whatever follows them.
const PROGRAMS: &[&str] = &[
    "pytest",
    "mypy",
    "ruff",
    "black",
    "flake8",
    "pylint",
    "pyright",
    "tsc",
    "eslint",
    "prettier",
    "rustfmt",
    "gofmt",
    "clang-format",
    "shellcheck",
    "mkdir",
    "touch",
    "phpunit",
    "rspec",
    "rubocop",
    "vitest",
    "jest",
    "ctest",
    "golangci-lint",
    "hadolint",
    "yamllint",
    "markdownlint",
];
/// Sub-commands that are followed by the name of a script.
const SCRIPTS: [(&str, &str); 4] = [("npm", "run"), ("pnpm", "run"), ("yarn", "run"), ("bun", "run")];

/// Rules for a command line whose commands that need permission are these.
pub(super) fn command(line: &str, open: &[&SimpleCommand]) -> Vec<Offer> {
    let mut offers = Vec::new();
    let line = line.trim();
    let is_short = line.len() <= LONGEST && !line.contains('\n');
    if is_short && let Some(rule) = Rule::exact_command(line) {
        offers.push(Offer { label: "exactly this command".to_owned(), rule });
    }
    let [simple] = open else { return offers };
    if let Some(words) = prefix(simple)
        && let Ok(rule) = format!("Bash({}:*)", words.join(" ")).parse::<Rule>()
        && rule.covers_command(simple)
        && simple.redirects.iter().all(|redirect| !redirect.writes())
    {
        offers.push(Offer { label: format!("commands that begin with `{}`", words.join(" ")), rule });
    }
    offers
}

fn prefix(simple: &SimpleCommand) -> Option<Vec<&str>> {
    let words: Vec<Option<&str>> = simple.words.iter().map(Word::literal).collect();
    let program = words.first().copied().flatten()?;
    let second = words.get(1).copied().flatten().unwrap_or_default();
    if PROGRAMS.contains(&program) {
        return Some(vec![program]);
    }
    if SCRIPTS.contains(&(program, second)) {
        let script = words.get(2).copied().flatten().filter(|script| is_plain(script))?;
        return Some(vec![program, second, script]);
    }
    let (_, subcommands) = PREFIXES.iter().find(|(name, _)| *name == program)?;
    subcommands.contains(&second).then(|| vec![program, second])
}

fn is_plain(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
    !word.starts_with('-') && !word.is_empty() && word.chars().all(is_part)
}

/// The rule for a command that runs outside the sandbox.
pub(super) fn unsandboxed(command: &str) -> Vec<Offer> {
    let is_short = command.len() <= LONGEST && !command.contains('\n');
    let rule = Rule::unsandboxed(command).filter(|_| is_short);
    let label = "exactly this command, outside the sandbox".to_owned();
    rule.map(|rule| Offer { label, rule }).into_iter().collect()
}

/// Rules for a host.
pub(super) fn domain(host: &str) -> Vec<Offer> {
    let rule = format!("WebFetch(domain:{host})").parse();
    rule.map(|rule| Offer { label: format!("pages of {host}"), rule }).into_iter().collect()
}

/// Rules for a tool of a server.
pub(super) fn mcp(server: &str, tool: &str) -> Vec<Offer> {
    if server.contains("__") {
        return Vec::new();
    }
    let one = format!("mcp__{server}__{tool}").parse().map(|rule| (format!("`{tool}` of `{server}`"), rule));
    let all = format!("mcp__{server}").parse().map(|rule| (format!("all tools of `{server}`"), rule));
    [one, all].into_iter().flatten().map(|(label, rule)| Offer { label, rule }).collect()
}

/// What paths are told relative to.
#[derive(Clone, Copy)]
pub(super) struct Whereabouts<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) home: Option<&'a Path>,
}

/// Rules for a path: the file, then its folder.
pub(super) fn path(tool: &str, path: &Path, at: Whereabouts<'_>) -> Vec<Offer> {
    let mut offers = Vec::new();
    // Two folders of the workspace may hold the same name.
    let folders: Vec<&Path> = at.workspace.folders().take(2).collect();
    let relative = folders.first().filter(|_| folders.len() == 1).and_then(|cwd| path.strip_prefix(cwd).ok());
    let below_home = at.home.and_then(|home| path.strip_prefix(home).ok());
    let (begin, rest) = match (relative, below_home) {
        (Some(rest), _) => ("", rest),
        (None, Some(rest)) => ("~/", rest),
        (None, None) => ("//", path.strip_prefix("/").unwrap_or(path)),
    };
    let Some(rest) = rest.to_str().filter(|rest| !rest.is_empty()) else { return offers };
    // Without a slash it would be meant at any depth.
    let begin = if begin.is_empty() && !rest.contains('/') { "./" } else { begin };
    let mut add = |label: String, text: String| {
        if let Ok(rule) = text.parse() {
            offers.push(Offer { label, rule });
        }
    };
    let verb = if tool == "Read" { "reading" } else { "changing" };
    add(format!("{verb} this file"), format!("{tool}({begin}{})", globset::escape(rest)));
    // Folders near the root are too much.
    let folder = rest.rsplit_once('/').map(|(folder, _)| folder);
    let is_deep = begin != "//" || folder.is_some_and(|folder| folder.contains('/'));
    if let Some(folder) = folder.filter(|_| is_deep) {
        add(
            format!("{verb} files in {begin}{folder}"),
            format!("{tool}({begin}{}/**)", globset::escape(folder)),
        );
    }
    offers
}
