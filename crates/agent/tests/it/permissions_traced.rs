//! The judge of commands against the real programs: what runs without a question is run under `strace`, and must neither write, nor run
//! a file of the workspace, nor read outside of it.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use tempfile::TempDir;
use throughline_agent::Access;
use throughline_agent::permissions::{Approvals, Mode, Policy, PolicyInput, Rules, Verdict};
use throughline_agent::workspace::Workspace;

/// Generated commands that run without a question and are traced.
const GENERATED: usize = 1_000;
/// The most commands that are generated to find them.
const CANDIDATES: usize = 40_000;

/// A folder of hostile files, a secret outside of it, and the policy of `ask` mode.
struct Scratch {
    dir: TempDir,
    policy: Policy,
}

impl Scratch {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let secret = root.join("outside/secret.txt").display().to_string();
        write("home/.gitconfig", "[user]\nname = a\nemail = a@example.org\n");
        write("tmp/keep", "");
        write("outside/secret.txt", "secret\n");
        write("ws/a.txt", "foo\nbar a\n3\n");
        write("ws/b.txt", "foo\nbar b\n");
        write("ws/data.csv", "a,1\nb,2\n");
        write("ws/x.json", "{\"a\": 1}");
        write("ws/src/main.rs", "fn main() {} // TODO foo\n");
        write("ws/prog.o", "\u{7f}ELF some text in a file\n");
        write("ws/@args", &secret);
        write("ws/list0", &format!("{secret}\0"));
        write("ws/d1/x", "1\n");
        write("ws/d2/link", "2\n");
        write("ws/sub/.git/HEAD", "ref: refs/heads/main\n");
        write(
            "ws/sub/.git/config",
            "[core]\nrepositoryformatversion = 0\nfsmonitor = ../evil\npager = ../evil\n",
        );
        write("ws/sub/.git/objects/keep", "");
        write("ws/sub/.git/refs/keep", "");
        for name in ["evil", "ls", "cat", "git", "less", "1/ls", "1/cat", "1/git", "1/sort", "1/date"] {
            let path = format!("ws/{name}");
            write(&path, "#!/bin/sh\ntouch pwned\n");
            std::fs::set_permissions(root.join(path), PermissionsExt::from_mode(0o755)).unwrap();
        }
        symlink(&secret, root.join("ws/link")).unwrap();
        symlink(&secret, root.join("ws/d1/link")).unwrap();
        symlink(root.join("outside"), root.join("ws/linkdir")).unwrap();
        let git = |arguments: &[&str]| {
            let done = clean(Command::new("git"), &root).args(arguments).output().unwrap();
            assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        };
        git(&["init", "-q", "-b", "main"]);
        git(&["add", "a.txt", "b.txt", "src"]);
        git(&["commit", "-qm", "first"]);
        std::fs::write(root.join("ws/a.txt"), "foo\nbar c\n4\n").unwrap();
        git(&["commit", "-qam", "second"]);
        git(&["tag", "v1"]);
        std::fs::write(root.join("ws/b.txt"), "foo\nchanged\n").unwrap();
        let policy = Policy::new(PolicyInput {
            rules: Rules::default(),
            workspace: Workspace::new(&root.join("ws"), &[]).unwrap(),
            approvals: Arc::new(Approvals::for_session()),
            sandbox_enforced: true,
            network: false,
            home: Some(root.join("home")),
            own: root.join("home/.throughline"),
        });
        Self { dir, policy }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    /// `{w}` is the workspace, `{out}` the folder of the secret.
    fn fill(&self, command: &str) -> String {
        let path = |name: &str| self.root().join(name).display().to_string();
        command.replace("{w}", &path("ws")).replace("{out}", &path("outside"))
    }

    fn runs_unasked(&self, command: &str) -> bool {
        let access =
            Access::Command { command: command.to_owned(), cwd: self.root().join("ws"), unsandboxed: false };
        matches!(self.policy.decide("Bash", &access, Mode::Ask), Verdict::Allow)
    }
}

/// A program with the variables that the shell tool gives to commands.
fn clean(mut command: Command, root: &Path) -> Command {
    command.env_clear().current_dir(root.join("ws")).stdin(Stdio::null());
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", root.join("home"));
    command.env("TMPDIR", root.join("tmp")).env("TERM", "dumb").env("NO_COLOR", "1");
    command.env("PAGER", "cat").env("GIT_PAGER", "cat").env("GIT_OPTIONAL_LOCKS", "0");
    command
}

fn adversarial() -> Vec<(char, String)> {
    let lines = include_str!("data/commands_adversarial.txt").lines();
    let lines = lines.filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let (mark, command) = line.split_once(' ').unwrap();
            let mark = mark.chars().next().unwrap();
            assert!(matches!(mark, '!' | '~'), "{line}");
            (mark, command.replace("\\\\", "\u{1}").replace("\\n", "\n").replace('\u{1}', "\\"))
        })
        .collect()
}

/// Commands made of the words in `commands_pool.txt` that run unasked, always the same.
fn generated(scratch: &Scratch) -> Vec<String> {
    let pool: Vec<(String, Vec<String>)> = include_str!("data/commands_pool.txt")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let (program, words) = line.split_once(':').unwrap();
            let words = words.split_whitespace().map(|word| word.replace('_', " ")).collect();
            (program.replace('_', " "), words)
        })
        .collect();
    let (common, programs) = pool.split_first().unwrap();
    let mut state: u64 = 18;
    let mut below = |bound: usize| {
        // xorshift64*
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound.max(1)
    };
    let mut tried = BTreeSet::new();
    let mut found = Vec::new();
    while tried.len() < CANDIDATES && found.len() < GENERATED {
        let mut line = String::new();
        for part in 0..1 + usize::from(below(4) == 0) {
            if part > 0 {
                line.push_str([" | ", "; ", " && ", " || "][below(4)]);
            }
            let (program, words) = &programs[below(programs.len())];
            line.push_str(program);
            for _ in 0..below(5) {
                let words = if words.is_empty() || below(6) == 0 { &common.1 } else { words };
                line.push(' ');
                line.push_str(&words[below(words.len())]);
            }
        }
        let command = scratch.fill(&line);
        if tried.insert(line) && scratch.runs_unasked(&command) {
            found.push(command);
        }
    }
    println!("{} of {} generated commands run unasked", found.len(), tried.len());
    found
}

/// Returns true if a tracer is installed and may trace; prints the reason if not.
fn has_tracer() -> bool {
    let tried = Command::new("strace").args(["-f", "-qq", "-o", "/dev/null", "true"]).output();
    if tried.is_ok_and(|done| done.status.success()) {
        return true;
    }
    let required = std::env::var("THROUGHLINE_REQUIRE").is_ok_and(|value| value == "all");
    assert!(!required, "strace is missing or may not trace");
    eprintln!("skipped: strace is missing or may not trace");
    false
}

/// Forbidden actions, by command.
fn violations(scratch: &Scratch, run: &str, commands: &[String]) -> Vec<String> {
    let root = scratch.root();
    let list: Vec<u8> = commands.iter().flat_map(|command| [command.as_bytes(), b"\0"].concat()).collect();
    let (listed, log) = (root.join(format!("{run}.list")), root.join(format!("{run}.log")));
    std::fs::write(&listed, list).unwrap();
    // Opening a file that is not there marks the place in the log.
    let driver = r#"i=0
        while IFS= read -r -d '' command <&9; do
            : 2>/dev/null </throughline-mark/$i; i=$((i + 1))
            timeout -s KILL 5 /bin/bash -c "$command" </dev/null >/dev/null 2>&1 9<&-
        done 9<"$1"
        exit 0"#;
    let mut strace = clean(Command::new("strace"), &root);
    strace.args(["-f", "-y", "-qq", "-s", "4096", "-e", "signal=none", "--seccomp-bpf", "-e"]);
    strace.arg("trace=%file,fchmod,fchown,ftruncate,fsetxattr,fremovexattr,connect,bind,sendto");
    strace.arg("-o").arg(&log).args(["/bin/bash", "-c", driver, "driver"]).arg(&listed);
    let done = strace.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let log = String::from_utf8_lossy(&std::fs::read(&log).unwrap()).into_owned();
    let mut found = Vec::new();
    let mut seen = 0;
    let mut open: BTreeMap<String, String> = BTreeMap::new();
    let mut current = None;
    for line in log.lines() {
        let Some((pid, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        let whole = if let Some(start) = call.strip_suffix("<unfinished ...>") {
            open.insert(pid.to_owned(), start.to_owned());
            continue;
        } else if call.starts_with("<... ") {
            let Some((_, end)) = call.split_once("resumed>") else { continue };
            open.remove(pid).unwrap_or_default() + end
        } else {
            call.to_owned()
        };
        if let Some((_, rest)) = whole.split_once("\"/throughline-mark/") {
            let number = rest.split('"').next().unwrap();
            current = commands.get(number.parse::<usize>().unwrap());
            seen += 1;
            continue;
        }
        if let (Some(command), Some(why)) = (current, Call { text: &whole, root: &root }.violation()) {
            found.push(format!("{command:?} {why}: {whole}"));
        }
    }
    assert_eq!(seen, commands.len(), "commands that were traced");
    found
}

/// A line of the log: `openat(AT_FDCWD</w>, "a.txt", O_RDONLY) = 3</w/a.txt>`.
struct Call<'a> {
    text: &'a str,
    root: &'a Path,
}

impl Call<'_> {
    fn violation(&self) -> Option<&'static str> {
        let (name, arguments) = self.text.split_once('(')?;
        let (arguments, result) = arguments.rsplit_once(" = ").unwrap_or((arguments, "?"));
        match name {
            "execve" | "execveat" => {
                let path = self.path(arguments)?;
                (!self.is_system(&path)).then_some("runs a file of the workspace")
            }
            "connect" | "bind" | "sendto" => {
                // The name service's own socket, where there is one.
                (!arguments.contains("AF_UNIX") && arguments.contains("AF_"))
                    .then_some("talks to the network")
            }
            "open" | "openat" | "openat2" | "creat" => {
                let opened = result.split_once('<').and_then(|(_, path)| path.strip_suffix('>'));
                let path = opened.map(PathBuf::from).or_else(|| self.path(arguments))?;
                let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND", "O_TMPFILE"];
                if name == "creat" || writes.iter().any(|flag| arguments.contains(flag)) {
                    return (!self.may_write(&path)).then_some("writes");
                }
                (opened.is_some() && !self.may_read(&path)).then_some("reads outside of the workspace")
            }
            "chdir" | "getcwd" | "readlink" | "readlinkat" | "statfs" => None,
            name if name.contains("stat") || name.contains("access") || name.contains("getxattr") => {
                let path = self.path(arguments)?;
                path.starts_with(self.root.join("outside")).then_some("looks outside of the workspace")
            }
            "listxattr" | "llistxattr" | "name_to_handle_at" | "inotify_add_watch" => None,
            _ => {
                let path = self.path(arguments);
                (!path.is_some_and(|path| self.may_write(&path))).then_some("changes something")
            }
        }
    }

    /// The first path of the arguments.
    fn path(&self, arguments: &str) -> Option<PathBuf> {
        let named = arguments.split_once('"')?.1.split('"').next()?;
        let folder = arguments.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
        let folder = folder.map_or_else(|| self.root.join("ws"), |(folder, _)| PathBuf::from(folder));
        Some(folder.join(named))
    }

    fn is_system(&self, path: &Path) -> bool {
        ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/sys", "/dev"]
            .iter()
            .any(|folder| path.starts_with(folder))
    }

    fn may_read(&self, path: &Path) -> bool {
        let text = path.to_string_lossy();
        let is_own = ["ws", "tmp", "home/.gitconfig", "home/.config/git", "home/.jq"];
        self.is_system(path)
            || is_own.iter().any(|name| path.starts_with(self.root.join(name)))
            || text.starts_with("pipe:")
            || text.starts_with("socket:")
            || path == Path::new("/")
            // Where systemd's name service is looked for.
            || path == Path::new("/run")
    }

    fn may_write(&self, path: &Path) -> bool {
        let devices = ["/dev/null", "/dev/tty"];
        devices.iter().any(|device| path == Path::new(device)) || path.starts_with(self.root.join("tmp"))
    }
}

#[test]
fn hand_written_tricks_are_not_run_unasked() {
    let scratch = Scratch::new();
    let all = adversarial();
    let tricks = all.iter().filter(|(mark, _)| *mark == '!');
    let (count, wrong): (usize, Vec<&String>) =
        tricks.map(|(_, command)| command).fold((0, Vec::new()), |(count, mut wrong), command| {
            if scratch.runs_unasked(&scratch.fill(command)) {
                wrong.push(command);
            }
            (count + 1, wrong)
        });
    assert!(count >= 300, "{count}");
    assert!(wrong.is_empty(), "{wrong:#?}");
    let harmless: Vec<_> = all.iter().filter(|(mark, _)| *mark == '~').map(|(_, command)| command).collect();
    let asked = harmless.iter().filter(|command| !scratch.runs_unasked(&scratch.fill(command)));
    // The judge is of use only if common commands run.
    let asked: Vec<_> = asked.collect();
    assert!(asked.len() * 8 <= harmless.len(), "{asked:#?}");
}

#[test]
fn what_runs_unasked_only_reads_in_the_workspace() {
    if !has_tracer() {
        return;
    }
    let scratch = Scratch::new();
    let by_hand = adversarial().into_iter().map(|(_, command)| scratch.fill(&command));
    let by_hand: Vec<String> = by_hand.filter(|command| scratch.runs_unasked(command)).collect();
    let unasked = generated(&scratch);
    assert_eq!(unasked.len(), GENERATED);
    let commands: Vec<String> = by_hand.into_iter().chain(unasked).collect();
    let (first, second) = commands.split_at(commands.len() / 2);
    let found = std::thread::scope(|scope| {
        let other = scope.spawn(|| violations(&scratch, "second", second));
        let mut found = violations(&scratch, "first", first);
        found.extend(other.join().unwrap());
        found
    });
    println!("{} commands traced", commands.len());
    assert!(found.is_empty(), "{} violations:\n{}", found.len(), found.join("\n"));
    assert!(!scratch.root().join("ws/pwned").exists());
}
