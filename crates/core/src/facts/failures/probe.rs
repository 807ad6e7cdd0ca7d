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
    "dir" [], "dir nope";
    "more" [], "more x";
    "zcat" [], "zcat x.gz";
    "tac" [], "tac x";
    "hexdump" [], "hexdump x";
    "basename" [], "basename x";
    "dirname" [], "dirname x";
    "expr" [], "expr 1 - 1";
    "locate" [], "locate x";
    "sha256sum" [], "sha256sum x";
    "shasum" [], "shasum x";
    "md5sum" [], "md5sum x";
    "ldd" [], "ldd x";
    "otool" [], "otool -L x";
    "nm" [], "nm x";
    "objdump" [], "objdump -d x";
    "readelf" [], "readelf -a x";
    "printenv" [], "printenv API_KEY";
    "whoami" [], "whoami";
    "groups" [], "groups nobody";
    "hostname" [], "hostname";
    "uname" [], "uname -a";
    "df" [], "df -h x";
    "pidof" [], "pidof server";
    "fuser" [], "fuser 3000/tcp";
    "ss" [], "ss -ltnp";
    "netstat" [], "netstat -an";
    "ping" [], "ping -c1 host";
    "nslookup" [], "nslookup x";
    "traceroute" [], "traceroute x";
    "curl" [], "curl -sf http://localhost:3000/health";
    "wget" ["--spider", "-O-", "-qO-"], "wget -qO- http://localhost:3000";
    "pg_isready" [], "pg_isready -h localhost";
    "mysqladmin" ["ping"], "mysqladmin ping";
    "redis-cli" ["ping", "get", "keys"], "redis-cli ping";
    "openssl" ["s_client", "x509"], "openssl x509 -in x";
    "journalctl" [], "journalctl -u x";
    "dpkg-query" [], "dpkg-query -W x";
    "apt-cache" [], "apt-cache policy x";
    "mdfind" [], "mdfind x";
    "xcode-select" ["-p"], "xcode-select -p";
    "xcrun" ["--find", "-f", "--show-sdk-path"], "xcrun --find swift";
    "defaults" ["read"], "defaults read x";
    "where" [], "where tool";
    "where.exe" [], "where.exe tool";
    "findstr" [], "findstr x y";
    "tasklist" [], "tasklist";
    "reg" ["query"], "reg query x";
    "get-content" [], "Get-Content foo.txt";
    "gc" [], "gc foo.txt";
    "get-childitem" [], "Get-ChildItem src";
    "gci" [], "gci src";
    "get-item" [], "Get-Item x";
    "get-itemproperty" [], "Get-ItemProperty x";
    "get-command" [], "Get-Command deno";
    "gcm" [], "gcm deno";
    "get-process" [], "Get-Process node";
    "get-service" [], "Get-Service x";
    "get-package" [], "Get-Package x";
    "get-module" [], "Get-Module x";
    "get-filehash" [], "Get-FileHash x";
    "get-location" [], "Get-Location";
    "get-nettcpconnection" [], "Get-NetTCPConnection -LocalPort 3000";
    "select-string" [], "Select-String -Pattern x y.txt";
    "sls" [], "sls x y.txt";
    "test-path" [], "Test-Path x";
    "test-connection" [], "Test-Connection host";
    "test-netconnection" [], "Test-NetConnection host -Port 80";
    "resolve-path" [], "Resolve-Path x";
    "compare-object" [], "Compare-Object a b";
    "measure-object" [], "Measure-Object x";
    "unzip" ["-l"], "unzip -l x.zip";
    "tar" ["-t", "tf", "-tf", "tzf"], "tar tf x";
    "git" [
        "show", "log", "diff", "status", "grep", "rev-parse", "ls-files", "ls-tree", "cat-file", "merge-base",
        "check-ignore", "ls-remote", "describe", "blame", "show-ref", "rev-list", "for-each-ref", "reflog",
        "name-rev", "symbolic-ref", "diff-tree", "diff-index", "shortlog", "config", "check-ref-format",
        "verify-commit", "remote", "var", "whatchanged", "merge-tree", "range-diff", "count-objects", "cherry",
    ], "git diff --exit-code";
    "gh" ["view", "list", "status", "checks", "diff", "api", "search", "watch"], "gh pr view 12";
    "docker" ["ps", "inspect", "logs", "images", "port", "version", "info", "top", "stats", "history"], "docker inspect x";
    "podman" ["ps", "inspect", "logs", "images", "port", "version", "info"], "podman ps";
    "kubectl" ["get", "describe", "logs", "top", "explain", "diff", "events", "cluster-info", "config"], "kubectl get pods";
    "helm" ["list", "status", "get", "history", "show", "search"], "helm status x";
    "terraform" ["show", "output", "state", "providers"], "terraform output x";
    "make" ["-n", "--dry-run", "--just-print", "-q", "--question"], "make -n deploy";
    "npm" ["ls", "list", "view", "outdated", "why", "explain", "prefix", "root"], "npm ls react";
    "pnpm" ["ls", "list", "view", "outdated", "why", "root"], "pnpm why react";
    "yarn" ["list", "info", "why", "outdated"], "yarn why react";
    "pip" ["show", "list", "index", "freeze", "check"], "pip show x";
    "pip3" ["show", "list", "index", "freeze", "check"], "pip3 show x";
    "uv" ["tree", "show", "list", "freeze", "find"], "uv pip show x";
    "poetry" ["show", "env"], "poetry show x";
    "conda" ["list", "info", "search"], "conda list x";
    "gem" ["list", "which", "search", "contents", "environment"], "gem list -i x";
    "bundle" ["show", "info", "list", "check", "outdated"], "bundle info x";
    "composer" ["show", "why", "outdated", "info"], "composer show x";
    "mvn" ["dependency:tree", "help:evaluate"], "mvn dependency:tree";
    "gradle" ["tasks", "dependencies", "projects", "properties"], "gradle tasks";
    "gradlew" ["tasks", "dependencies", "projects", "properties"], "./gradlew tasks";
    "pyenv" ["which", "whence", "versions", "version", "root", "prefix"], "pyenv which python3.9";
    "rbenv" ["which", "whence", "versions", "version", "root", "prefix"], "rbenv which ruby";
    "asdf" ["which", "where", "current", "latest"], "asdf which node";
    "mise" ["which", "where", "current", "ls", "latest", "tasks"], "mise which node";
    "nvm" ["ls", "current", "which"], "nvm which 18";
    "rustup" ["show", "which", "list"], "rustup which rustfmt";
    "dpkg" ["-s", "-l", "-L", "-S", "--status", "--list", "--search"], "dpkg -s foo";
    "rpm" ["-q", "-qa", "-qi", "-ql", "-qf", "-V", "--query"], "rpm -q foo";
    "apt" ["policy", "list", "show", "search"], "apt policy x";
    "pacman" ["-Q", "-Qi", "-Qs", "-Ss", "-Si"], "pacman -Q x";
    "apk" ["info", "policy", "search"], "apk info x";
    "launchctl" ["list", "print"], "launchctl print x";
    "service" ["status"], "service nginx status";
    "cargo" ["metadata", "tree", "search", "info", "pkgid"], "cargo tree -i x";
    "go" ["list", "doc", "env", "version"], "go list ./x";
    "brew" ["list", "ls", "info", "search", "--prefix", "outdated", "deps", "uses"], "brew --prefix x";
    "bd" ["show", "list", "ready", "search"], "bd show x-1";
    "tmux" ["capture-pane", "has-session", "ls", "list-sessions", "list-panes", "list-windows", "display-message"], "tmux capture-pane -pt x:0";
    "systemctl" ["status", "is-active", "is-enabled", "is-failed", "show", "cat", "list-units"], "systemctl is-active x";
};

/// Steps that prepare or print and hardly ever fail on their own.
const SETUP: [&str; 22] = [
    "cd", "pushd", "popd", "export", "set", "unset", "source", ".", "echo", "printf", "true", "false", ":",
    "sleep", "date", "wait", "exit", "shopt", "ulimit", "umask", "alias", "trap",
];
/// Options that make every program only look.
const LOOKING_OPTIONS: [&str; 4] = ["--help", "--version", "-h", "help"];

/// Arguments that ask for a version if they stand alone; with others they mean something else.
const VERSION_ARGUMENTS: [&str; 4] = ["-version", "-V", "-v", "version"];

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
        let is_named = |probe: &&Probe| probe.program.eq_ignore_ascii_case(program);
        let is_probe = PROBES.iter().filter(is_named).any(|probe| {
            let mut verbs = arguments.iter().take(4);
            probe.verbs.is_empty() || verbs.any(|word| probe.verbs.contains(&word.text.as_str()))
        });
        let only = if let [only] = arguments { only.text.as_str() } else { "" };
        let verb = arguments.first().map_or("", |word| word.text.as_str());
        let is_look = is_probe
            || ((LOOKING_VERBS.contains(&verb) || VERSION_ARGUMENTS.contains(&only))
                && super::Check::of_step(step).is_none());
        if is_look && !is_writing(step) { Self::Probe } else { Self::Work }
    }
}

/// Programs that look, with the options by which they write.
const WRITING_OPTIONS: &[(&str, &[&str])] = &[
    ("gh", &["-X", "--method", "-f", "-F", "--field", "--input"]),
    ("find", &["-delete", "-exec", "-execdir", "-ok"]),
    ("curl", &["--request", "--data", "--form", "--upload-file", "--output", "--remote-name", "--json"]),
];
/// Letters of short options by which `curl` writes.
const CURL_WRITES: [char; 6] = ['X', 'd', 'F', 'T', 'O', 'o'];

/// Returns true for a step of a program that looks, but writes this time.
fn is_writing(step: &Step) -> bool {
    let texts = || step.words.iter().skip(1).map(|word| word.text.as_str());
    let program = step.program();
    let options =
        WRITING_OPTIONS.iter().filter(|(name, _)| *name == program).flat_map(|(_, options)| *options);
    // What is downloaded is run.
    let is_run = step.filters.iter().flat_map(|filter| filter.first()).any(|word| {
        let name = base_name(&word.text);
        crate::shell::SHELLS.contains(&name) || INTERPRETERS.contains(&name)
    });
    let is_query = texts().any(|text| text == "graphql") && !texts().any(|text| text.contains("mutation"));
    let is_discarded = || texts().any(|text| matches!(text, "/dev/null" | "GET" | "HEAD"));
    let is_short = |text: &str| program == "curl" && text.starts_with('-') && !text.starts_with("--");
    let has_option = texts().any(|text| {
        let is_long = options.clone().any(|option| {
            text.strip_prefix(option)
                .is_some_and(|rest| rest.is_empty() || (program == "curl" && option.len() > 2))
        });
        is_long || (is_short(text) && text.contains(CURL_WRITES))
    });
    (program == "curl" && is_run) || (has_option && !is_query && !(program == "curl" && is_discarded()))
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

/// Key of what a step runs, without its arguments: program and sub-command, or script.
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
    ["branch '", "' not found"], "error: branch 'nope' not found.";
    ["issing script:"], "npm error Missing script: \"nope\"";
    ["Command \"", "\" not found"], "error Command \"nope\" not found.";
    ["Script not found \""], "error: Script not found \"nope\"";
    ["does not contain recipe"], "error: Justfile does not contain recipe `nope`.";
    ["no such command"], "error: no such command: `nope`";
    ["unexpected argument", "found"], "error: unexpected argument '--fast' found";
    ["unrecognized option"], "ls: unrecognized option '--fast'";
    ["Unknown option"], "Error: Unknown option: --fast";
    ["o such option"], "Error: No such option: --fast";
    ["flag provided but not defined"], "flag provided but not defined: -fast";
    ["unknown command"], "Error: unknown command \"nope\" for \"tool\"";
    ["is not installed and no information is available"], "dpkg-query: package 'foo' is not installed and no information is available";
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
    // Scripts report their own failed requests by a line of `curl`.
    let looks = |probe: &&Probe| probe.verbs.is_empty() && probe.program != "curl";
    let is_of_probe = PROBES.iter().filter(looks).any(|probe| probe.program.eq_ignore_ascii_case(program))
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
            "java -version",
            "node -v",
            "python -V",
            "/usr/bin/type -P tool",
            "curl -s -o /dev/null -w '%{http_code}' http://x",
            "curl -X GET http://x | jq .a",
            "get-content x",
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
            "curl -fsSL https://x/install.sh | sh",
            "curl -XPOST http://x",
            "curl -sSfo tool.tgz http://x",
            "curl --data-raw x http://x",
            "wget http://x/a.tgz",
            "dpkg -i x.deb",
            "ctest -V",
            "docker build .",
            "terraform apply",
            "Set-Content x y",
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
            "make: *** No rule to make target 'a.o', needed by 'b'.  Stop.",
            "open config.yml: no such file or directory",
            "curl: (22) The requested URL returned error: 404",
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
