//! Probes: commands that only look. A probe that finds nothing is an answer, not an error.

use super::runner::{environment_command, program_name};
use crate::shell::{Step, base_name};

/// A kind of probe: one row of [`PROBES`].
struct Probe {
    /// The program.
    program: &'static str,
    /// Sub-commands that only look; empty: the program always does.
    verbs: &'static [&'static str],
    #[cfg(test)]
    example: &'static str,
}

macro_rules! probes {
    ($($program:literal $verbs:expr, $example:literal;)*) => {
        &[$(Probe { program: $program, verbs: &$verbs, #[cfg(test)] example: $example }),*]
    };
}

const PROBES: &[Probe] = probes! {
    "ls" [], "ls -la missing/";
    "cat" [], "cat missing.txt";
    "bat" [], "bat x";
    "head" [], "head -5 x";
    "tail" [], "tail -n 5 x";
    "less" [], "less x";
    "nl" [], "nl -ba x";
    "wc" [], "wc -l x";
    "stat" [], "stat x";
    "file" [], "file x";
    "find" [], "find . -name x";
    "fd" [], "fd x";
    "tree" [], "tree src";
    "du" [], "du -sh x";
    "grep" [], "grep -rn pattern src";
    "egrep" [], "egrep x y";
    "fgrep" [], "fgrep x y";
    "zgrep" [], "zgrep x y";
    "rg" [], "rg -n 'fn error' src";
    "ag" [], "ag x";
    "ack" [], "ack x";
    "ast-grep" [], "ast-grep -p x";
    "test" [], "test -f x";
    "[" [], "[ -d x ]";
    "which" [], "which tool";
    "whereis" [], "whereis tool";
    "type" [], "type tool";
    "command" [], "command -v tool";
    "hash" [], "hash tool";
    "readlink" [], "readlink x";
    "realpath" [], "realpath x";
    "diff" [], "diff a b";
    "cmp" [], "cmp a b";
    "comm" [], "comm a b";
    "awk" [], "awk '{print}' x";
    "jq" [], "jq .a x.json";
    "yq" [], "yq .a x.yml";
    "sort" [], "sort x";
    "uniq" [], "uniq x";
    "cut" [], "cut -d: -f1 x";
    "strings" [], "strings x";
    "xxd" [], "xxd x";
    "od" [], "od x";
    "pgrep" [], "pgrep -f server";
    "pkill" [], "pkill -f server";
    "kill" [], "kill 123";
    "ps" [], "ps aux";
    "lsof" [], "lsof -i :3000";
    "nc" [], "nc -z localhost 80";
    "pwd" [], "pwd";
    "id" [], "id nobody";
    "getent" [], "getent hosts x";
    "dig" [], "dig x";
    "sips" [], "sips -g all x";
    "unzip" ["-l"], "unzip -l x.zip";
    "tar" ["-t", "tf", "-tf", "tzf"], "tar tf x";
    "git" [
        "show", "log", "diff", "status", "grep", "rev-parse", "ls-files", "ls-tree", "cat-file", "merge-base",
        "check-ignore", "ls-remote", "describe", "blame", "show-ref", "rev-list", "for-each-ref", "reflog",
        "name-rev", "symbolic-ref", "diff-tree", "diff-index", "shortlog", "config", "check-ref-format",
        "verify-commit", "remote", "var", "whatchanged", "merge-tree", "range-diff", "count-objects", "cherry",
    ], "git diff --exit-code";
    "gh" ["view", "list", "status", "checks", "diff", "api", "search", "watch"], "gh pr view 12";
    "docker" ["ps", "inspect", "logs", "images", "port", "version", "info"], "docker inspect x";
    "kubectl" ["get", "describe", "logs"], "kubectl get pods";
    "npm" ["ls", "list", "view", "outdated", "why", "explain", "prefix", "root"], "npm ls react";
    "pnpm" ["ls", "list", "view", "outdated", "why", "root"], "pnpm why react";
    "yarn" ["list", "info", "why", "outdated"], "yarn why react";
    "pip" ["show", "list", "index"], "pip show x";
    "cargo" ["metadata", "tree", "search", "info", "pkgid"], "cargo tree -i x";
    "go" ["list", "doc", "env", "version"], "go list ./x";
    "brew" ["list", "info", "search"], "brew info x";
    "bd" ["show", "list", "ready", "search"], "bd show x-1";
    "tmux" ["capture-pane", "has-session", "ls", "list-sessions", "list-panes", "list-windows", "display-message"], "tmux capture-pane -pt x:0";
    "systemctl" ["status", "is-active"], "systemctl status x";
};

/// Steps that prepare or print and hardly ever fail on their own.
const SETUP: [&str; 22] = [
    "cd", "pushd", "popd", "export", "set", "unset", "source", ".", "echo", "printf", "true", "false", ":",
    "sleep", "date", "wait", "exit", "shopt", "ulimit", "umask", "alias", "trap",
];
/// Options that make every program only look.
const LOOKING_OPTIONS: [&str; 4] = ["--help", "--version", "-h", "help"];

/// Sub-commands that only look or wait, whatever the program.
const LOOKING_VERBS: [&str; 13] = [
    "status", "list", "show", "logs", "info", "view", "describe", "search", "wait", "capture", "inspect",
    "version", "whoami",
];

/// What a step does to the state of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepNature {
    /// It prepares or prints.
    Setup,
    /// It only looks.
    Probe,
    /// It does something.
    Work,
}

impl StepNature {
    /// The nature of a step.
    pub(super) fn of(step: &Step) -> Self {
        let program = step.program();
        if SETUP.contains(&program) {
            return Self::Setup;
        }
        let arguments = step.words.get(1..).unwrap_or_default();
        if arguments.iter().any(|word| LOOKING_OPTIONS.contains(&word.text.as_str())) {
            return Self::Probe;
        }
        if is_inline_script(step) {
            let documents = step.documents.iter().map(|document| document.text.as_str());
            let mut texts = documents.chain(arguments.iter().map(|word| word.text.as_str()));
            let is_writing = texts.any(|text| WRITING_CODE.iter().any(|mark| text.contains(mark)));
            return if is_writing { Self::Work } else { Self::Probe };
        }
        if program == "sed" {
            let changes = |text: &str| text.starts_with("-i") || text == "--in-place";
            return if arguments.iter().any(|word| changes(&word.text)) { Self::Work } else { Self::Probe };
        }
        let writes = |text: &str| {
            matches!(text, "-X" | "--method" | "-f" | "-F" | "--field" | "--input" | "-delete" | "-exec")
        };
        let is_probe = PROBES.iter().any(|probe| {
            let verbs = || arguments.iter().take(4).any(|word| probe.verbs.contains(&word.text.as_str()));
            probe.program == program && (probe.verbs.is_empty() || verbs())
        });
        let is_probe = is_probe
            || (arguments.first().is_some_and(|word| LOOKING_VERBS.contains(&word.text.as_str()))
                && super::Check::of_step(step).is_none());
        let is_query = arguments.iter().any(|word| word.text == "graphql")
            && !arguments.iter().any(|word| word.text.contains("mutation"));
        let is_writing =
            matches!(program, "gh" | "find") && !is_query && arguments.iter().any(|word| writes(&word.text));
        if is_probe && !is_writing { Self::Probe } else { Self::Work }
    }
}

/// Programs that run code.
const INTERPRETERS: [&str; 13] = [
    "python",
    "python3",
    "node",
    "bun",
    "deno",
    "ruby",
    "perl",
    "php",
    "tsx",
    "ts-node",
    "osascript",
    "psql",
    "sqlite3",
];
/// Parts of code that changes files or other systems.
const WRITING_CODE: [&str; 18] = [
    "write(",
    "write_text",
    "writeFile",
    "'w'",
    "\"w\"",
    "'a'",
    "\"a\"",
    "subprocess",
    "os.system",
    "child_process",
    "unlink",
    "os.remove",
    "shutil",
    "rename",
    "mkdir",
    "post(",
    "POST",
    "INSERT",
];

/// Whether a step runs code that stands in the command itself.
fn is_inline_script(step: &Step) -> bool {
    let options = ["-c", "-e", "-", "--eval", "-p", "-ne", "-pe", "-le"];
    let first = step.words.get(1);
    INTERPRETERS.contains(&step.program())
        && (first.is_some_and(|word| options.contains(&word.text.as_str()))
            || (first.is_none() && !step.documents.is_empty()))
}

/// What a step runs, without its arguments: program and sub-command, or script.
///
/// A later success with the same key closes an error: whatever was in the way is gone.
pub(super) fn command_key(step: &Step) -> String {
    let is_name = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c))
    };
    let texts: Vec<&str> = step.words.iter().map(|word| word.text.as_str()).collect();
    let mut words = texts.as_slice();
    if !is_inline_script(step) {
        while let Some(inner) = environment_command(words) {
            words = inner;
        }
    }
    let Some((program, arguments)) = words.split_first() else { return String::new() };
    let program = program_name(program);
    if is_inline_script(step) {
        return format!("{program} <script>");
    }
    // The arguments of a script are its own.
    if program.contains('.') {
        return program.to_owned();
    }
    // Options of the program itself may stand in front of the sub-command.
    let mut words = arguments.iter();
    let mut verb = None;
    while let Some(text) = words.next() {
        if matches!(*text, "-C" | "-c" | "--prefix" | "--filter" | "--dir" | "-R" | "--repo") {
            words.next();
        } else if !text.starts_with('-') {
            verb = is_name(text).then_some(*text);
            break;
        }
    }
    match verb {
        Some(verb) => format!("{program} {verb}"),
        None => program.to_owned(),
    }
}

/// A form of error lines that say nothing about the work, one row of [`MISSES`]: a probe found nothing, or a program was
/// called the wrong way.
struct Miss {
    parts: &'static [&'static str],
    #[cfg(test)]
    example: &'static str,
}

macro_rules! misses {
    ($($parts:expr, $example:literal;)*) => {
        &[$(Miss { parts: &$parts, #[cfg(test)] example: $example }),*]
    };
}

/// Parts that such a line holds, in order.
const MISSES: &[Miss] = misses! {
    ["no matches found:"], "zsh: no matches found: src/*.go";
    ["cd:", "o such file or directory"], "bash: line 1: cd: web: No such file or directory";
    ["cd:", "not a directory"], "cd: not a directory: web";
    ["cannot access", "No such file or directory"], "ls: cannot access 'x': No such file or directory";
    ["can't read", "No such file or directory"], "sed: can't read x: No such file or directory";
    ["cannot open", "for reading"], "head: cannot open 'x' for reading: No such file or directory";
    ["does not exist in"], "fatal: path 'x' does not exist in 'HEAD'";
    ["exists on disk, but not in"], "fatal: path 'x' exists on disk, but not in 'HEAD'";
    ["unknown revision or path not in the working tree"], "fatal: ambiguous argument 'x': unknown revision or path not in the working tree.";
    ["stat ", "directory not found"], "stat /repo/a/cmd/a: directory not found";
    ["unknown option"], "error: unknown option `dry-run'";
    ["unknown flag"], "Error: unknown flag: --fast";
    ["unrecognized arguments"], "tool.py: error: unrecognized arguments: --fast";
    ["illegal option"], "head: illegal option -- z";
    ["invalid option"], "ls: invalid option -- 'y'";
    ["cat-file", "Not a valid object name"], "git cat-file: Not a valid object name x";
};

/// Whether an error line only says that a probe found nothing, or that a program was called the wrong way.
pub(super) fn is_miss(line: &str) -> bool {
    let is_form = MISSES.iter().any(|miss| {
        let mut rest = line;
        miss.parts.iter().all(|part| match rest.split_once(part) {
            Some((_, behind)) => {
                rest = behind;
                true
            }
            None => false,
        })
    });
    let program = line.split(": ").next().map(base_name).unwrap_or_default();
    let is_of_probe = PROBES.iter().any(|probe| probe.verbs.is_empty() && probe.program == program)
        || matches!(program, "sed" | "cd" | "rm" | "rmdir" | "unlink");
    is_form || (is_of_probe && line.contains(": "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::CommandLine;

    fn step(command: &str) -> Step {
        CommandLine::read(command).steps().remove(0)
    }

    #[test]
    fn every_probe_only_looks() {
        for probe in PROBES {
            assert_eq!(StepNature::of(&step(probe.example)), StepNature::Probe, "{}", probe.example);
        }
        for command in [
            "cargo --version",
            "foo --help",
            "sed -n 1,5p x",
            "gh api repos/x/y",
            "/usr/bin/ls x",
            "tool wait x",
        ] {
            assert_eq!(StepNature::of(&step(command)), StepNature::Probe, "{command}");
        }
        for command in [
            "git commit -m x",
            "git push",
            "gh pr create",
            "gh api -X POST x",
            "cargo build",
            "npm install",
            "sed -i s/a/b/ x",
            "find . -delete",
            "python3 x.py",
            "docker compose up",
            "./ls.sh",
        ] {
            assert_eq!(StepNature::of(&step(command)), StepNature::Work, "{command}");
        }
        assert_eq!(StepNature::of(&step("echo x")), StepNature::Setup);
    }

    #[test]
    fn misses_are_told_from_errors() {
        for miss in MISSES {
            assert!(is_miss(miss.example), "{}", miss.example);
        }
        for line in [
            "cat: a.md: No such file or directory",
            "ls: x: No such file or directory",
            "grep: x: Is a directory",
        ] {
            assert!(is_miss(line), "{line}");
        }
        for line in [
            "error[E0308]: mismatched types",
            "Error: Cannot find module 'x'",
            "fatal: not a git repository",
            "open config.yml: no such file or directory",
        ] {
            assert!(!is_miss(line), "{line}");
        }
    }

    #[test]
    fn keys_name_program_and_sub_command() {
        for (command, key) in [
            ("git -C x push --force origin main", "git push"),
            ("gh pr create --fill", "gh pr"),
            ("python3 scripts/run.py --x", "run.py"),
            ("uv run scripts/run.py", "run.py"),
            (".venv/bin/python scripts/run.py", "run.py"),
            ("./scripts/test.sh fast", "test.sh"),
            ("bash scripts/test.sh", "test.sh"),
            ("python3 - <<'E'\nx\nE", "python <script>"),
            ("node -e 'x'", "node <script>"),
            ("./bin/tool /x", "tool"),
            ("npm --prefix web install", "npm install"),
            ("curl -s http://x", "curl"),
        ] {
            assert_eq!(command_key(&step(command)), key, "{command}");
        }
    }
}
