//! What a command could run in the end. For rules that refuse: they count what might be, not what is certain.

use throughline_core::shell::{CommandLine, SimpleCommand, Word, WordKind, base_name};

/// Programs that run what their arguments say.
const RUNNERS: &[&str] = &[
    "env",
    "sudo",
    "doas",
    "nice",
    "nohup",
    "timeout",
    "time",
    "stdbuf",
    "setsid",
    "ionice",
    "chrt",
    "taskset",
    "exec",
    "command",
    "builtin",
    "xargs",
    "parallel",
    "watch",
    "strace",
    "ltrace",
    "flock",
    "script",
    "su",
    "runuser",
    "ssh",
    "busybox",
    "toybox",
    "unshare",
    "nsenter",
    "chroot",
    "find",
    "fd",
    "entr",
    "npx",
    "bunx",
    "pipx",
    "uvx",
    "direnv",
    "bwrap",
    "firejail",
    "proxychains",
    "trap",
    "coproc",
    "eval",
    "caffeinate",
    "systemd-run",
    "nix-shell",
];
/// Programs that run a text.
pub(super) const SHELLS: &[&str] =
    &["sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash"];
/// What removes or moves whole folders.
const DESTRUCTIVE: &[&str] = &[
    "rm", "rmdir", "mv", "shred", "chmod", "chown", "chgrp", "dd", "truncate", "unlink", "rsync", "find",
    "srm", "trash",
];

/// The most commands and words of commands that are looked at, and how deep.
const MOST: usize = 2000;
const WORDS: usize = 200;
const DEEPEST: usize = 6;

/// What a line could run.
#[derive(Debug, Default)]
pub(in crate::permissions) struct Reach {
    pub(in crate::permissions) commands: Vec<SimpleCommand>,
    /// Whether it may run something that is not in the list.
    pub(in crate::permissions) is_unclear: bool,
}

/// What a line could run: its commands, and those that they name.
pub(in crate::permissions) fn reach(line: &CommandLine) -> Reach {
    let mut reach = Reach::default();
    spread(line, 0, &mut reach);
    reach
}

/// Whether a program removes or moves whole folders.
pub(in crate::permissions) fn is_destructive(program: &str) -> bool {
    DESTRUCTIVE.contains(&base_name(program))
}

fn spread(line: &CommandLine, depth: usize, reach: &mut Reach) {
    reach.is_unclear |= line.doubt.is_some();
    if depth >= DEEPEST || reach.commands.len() >= MOST {
        reach.is_unclear = true;
        return;
    }
    for simple in &line.simple {
        reach.commands.push(simple.clone());
        let Some(first) = simple.words.first() else { continue };
        let Some(program) = first.literal() else {
            reach.is_unclear = true;
            continue;
        };
        let name = base_name(program);
        let has = |options: &[&str]| {
            simple.words.iter().any(|word| options.iter().any(|option| word.text.starts_with(option)))
        };
        // These give names to other commands.
        reach.is_unclear |= name == "alias" || (name == "git" && has(&["-c", "--config-env", "--exec-path"]));
        let is_shell = SHELLS.contains(&name);
        if !is_shell && !RUNNERS.contains(&name) {
            continue;
        }
        let words = simple.words.get(1..).unwrap_or_default();
        // A shell without a script runs what it is sent.
        reach.is_unclear |=
            is_shell && simple.bodies.is_empty() && words.iter().all(|word| word.text.starts_with('-'));
        reach.is_unclear |= words.iter().any(|word| word.kind == WordKind::Dynamic);
        reach.is_unclear |= words.len() > WORDS;
        for at in (1..simple.words.len()).take(WORDS) {
            let rest = simple.words.get(at..).unwrap_or_default().iter().take(WORDS);
            let is_option = rest.clone().next().is_some_and(|word| word.text.starts_with('-'));
            if !is_shell && !is_option && reach.commands.len() < MOST {
                reach
                    .commands
                    .push(SimpleCommand { words: rest.cloned().collect(), ..SimpleCommand::default() });
            }
        }
        let texts = words.iter().filter(|word| is_text(word)).map(|word| word.text.clone());
        let joined: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        let texts = texts.chain((name == "eval").then(|| joined.join(" ")));
        let bodies = line.bodies_of(simple).filter(|_| is_shell).map(|body| body.text.clone());
        let here = simple.redirects.iter().filter(|_| is_shell).map(|redirect| redirect.word.text.clone());
        for text in texts.chain(bodies).chain(here) {
            spread(&CommandLine::read(&text), depth + 1, reach);
        }
    }
}

/// Whether a word could itself be a command line.
fn is_text(word: &Word) -> bool {
    word.text.contains(|c: char| c.is_whitespace() || ";&|$`(<>!".contains(c))
}

/// The command without programs before it that only say how long and how urgently it runs.
pub(in crate::permissions) fn peel(simple: &SimpleCommand) -> SimpleCommand {
    let mut simple = simple.clone();
    while let Some(at) = behind(&simple) {
        simple = simple.from(at);
    }
    simple
}

/// Where the command begins that a `timeout`, `nice` or `nohup` runs.
fn behind(simple: &SimpleCommand) -> Option<usize> {
    let words: Vec<Option<&str>> = simple.words.iter().map(Word::literal).collect();
    let at = match words.as_slice() {
        [Some("nohup"), ..] => 1,
        [Some("nice"), Some("-n"), Some(by), ..] if is_duration(by.trim_start_matches('-')) => 3,
        [Some("nice"), ..] => 1,
        [Some("timeout"), Some("-k" | "-s"), Some(value), Some(duration), ..]
            if value.chars().all(char::is_alphanumeric) && is_duration(duration) =>
        {
            4
        }
        [Some("timeout"), Some("--preserve-status" | "--foreground" | "-v"), Some(duration), ..]
            if is_duration(duration) =>
        {
            3
        }
        [Some("timeout"), Some(duration), ..] if is_duration(duration) => 2,
        _ => return None,
    };
    let next = simple.words.get(at)?.literal()?;
    (!next.starts_with('-')).then_some(at)
}

fn is_duration(text: &str) -> bool {
    let digits = text.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(text);
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}
