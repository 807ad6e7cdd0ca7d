//! Commands in a repository that is full of traps: nothing of it is executed, and the programs that are started are the ones that
//! `docs/security.md` lists. Seen by tracing `execve` with strace.

use crate::agent_kit::{Wire, Workshop, workshop};
use crate::pty;
use serde_json::json;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use throughline_testkit::{Answer, Playlist, Server};

/// The programs that commands start, by file name. `throughline` is the sandbox helper and its probe. The same table stands in
/// `docs/security.md`.
const STARTED: &[(Case, &[&str])] = &[
    (Case::Exec, &["throughline"]),
    (Case::ExecWithBash, &["bash", "throughline"]),
    (Case::ExecWithHooks, &["outside-hook", "sh", "throughline"]),
    (Case::ShowContext, &["throughline"]),
    (Case::Chat, &["throughline"]),
    (Case::Serve, &["throughline"]),
    (Case::Run, &["throughline", "true"]),
    (Case::Doctor, &["throughline"]),
    (Case::MemoryAdd, &["git", "throughline"]),
    (Case::MemoryEdit, &["outside-hook", "sh", "throughline"]),
    (Case::SessionsList, &["throughline"]),
];
/// Started besides by the probe of the sandbox where the kernel has no namespaces for it and bubblewrap is installed.
const BUBBLEWRAP_PROBE: [&str; 2] = ["bwrap", "sh"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Exec,
    ExecWithBash,
    ExecWithHooks,
    ShowContext,
    Chat,
    Serve,
    Run,
    Doctor,
    MemoryAdd,
    MemoryEdit,
    SessionsList,
}

/// Names that a program of the product, a shell or a person looks for.
const FAKES: [&str; 14] = [
    "git",
    "sh",
    "bash",
    "env",
    "true",
    "bwrap",
    "throughline",
    "node",
    "npm",
    "direnv",
    "vi",
    "cat",
    "outside-hook",
    "python3",
];
/// Hooks of git.
const GIT_HOOKS: [&str; 8] = [
    "post-checkout",
    "post-index-change",
    "pre-commit",
    "fsmonitor-watchman",
    "reference-transaction",
    "pre-auto-gc",
    "post-rewrite",
    "post-merge",
];

/// A project that is a repository full of traps; each leaves a file in `sprung` if it is executed.
struct Trapped {
    shop: Workshop,
    server: Server,
}

impl Trapped {
    /// `None`: strace or git is missing.
    fn new(script: Playlist) -> Option<Self> {
        for program in ["strace", "git"] {
            let has =
                Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
            let required = std::env::var("THROUGHLINE_REQUIRE").is_ok_and(|value| value == "all");
            assert!(has || !required, "{program} is not installed, and everything is required");
            if !has {
                eprintln!("skipped: {program} is not installed");
                return None;
            }
        }
        let server = Server::start(script).unwrap();
        let shop = workshop(&server, Wire::Anthropic);
        let world = Self { shop, server };
        for folder in ["", "nested/"] {
            world.set_traps(folder);
        }
        world.executable("../outside/outside-hook", "#!/bin/sh\n");
        // A further folder that the agent may write.
        for fake in FAKES {
            world.trap(&format!("../shared/bin/{fake}"));
        }
        Some(world)
    }

    fn set_traps(&self, folder: &str) {
        let write = |file: &str, text: &str| self.shop.write(&format!("{folder}{file}"), text);
        write("src/main.txt", "one\n");
        write(".gitattributes", "* filter=trap diff=trap merge=trap\n");
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
            git.args(["-c", "user.name=n", "-c", "user.email=e@example.org"]).args(arguments);
            assert!(
                git.current_dir(self.shop.path(folder)).output().unwrap().status.success(),
                "{arguments:?}"
            );
        };
        git(&["init", "-q", "-b", "main"]);
        git(&["add", "."]);
        git(&["commit", "-q", "-m", "one"]);
        // Git has to look into the file to know whether it changed.
        write("src/main.txt", "two\n");
        let trap = |name: &str| {
            let script = format!("{folder}.traps/{name}");
            self.trap(&script);
            self.shop.path(&script).display().to_string()
        };
        let config = [
            ("core", "fsmonitor"),
            ("core", "sshCommand"),
            ("core", "pager"),
            ("core", "editor"),
            ("core", "askPass"),
            ("core", "gitProxy"),
            ("diff", "external"),
            ("diff \"trap\"", "command"),
            ("diff \"trap\"", "textconv"),
            ("filter \"trap\"", "clean"),
            ("filter \"trap\"", "smudge"),
            ("filter \"trap\"", "process"),
            ("merge \"trap\"", "driver"),
            ("credential", "helper"),
            ("gpg", "program"),
            ("uploadpack", "packObjectsHook"),
        ];
        let mut text = self.shop.read(&format!("{folder}.git/config"));
        for (section, key) in config {
            text.push_str(&format!("[{section}]\n\t{key} = {}\n", trap(&format!("config-{key}"))));
        }
        text.push_str(&format!("[alias]\n\tstatus = !{}\n", trap("alias")));
        write(".git/config", &text);
        for hook in GIT_HOOKS {
            self.trap(&format!("{folder}.git/hooks/{hook}"));
        }
        for fake in FAKES {
            self.trap(&format!("{folder}bin/{fake}"));
            self.trap(&format!("{folder}{fake}"));
        }
        let trap = trap("project-file");
        write(".envrc", &format!("{trap}\n"));
        let script = json!({"preinstall": trap, "postinstall": trap, "start": trap, "test": trap});
        write("package.json", &json!({"name": "app", "scripts": script}).to_string());
        write("Makefile", &format!("all:\n\t{trap}\n"));
        write(".mcp.json", &json!({"mcpServers": {"trap": {"command": trap}}}).to_string());
        write(
            ".claude/settings.json",
            &json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": trap}]}]}})
                .to_string(),
        );
        write(
            ".throughline/config.toml",
            &format!(
                "[[hooks.SessionStart]]\ncommand = [\"{trap}\"]\n[mcp.servers.trap]\ncommand = \"{trap}\"\n"
            ),
        );
    }

    fn trap(&self, file: &str) {
        let name = file.replace(['/', '.'], "-");
        self.executable(file, &format!("#!/bin/sh\n: > '{}'\n", self.sprung().join(name).display()));
    }

    fn executable(&self, file: &str, text: &str) {
        self.shop.write(file, text);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.shop.path(file), mode).unwrap();
    }

    fn sprung(&self) -> PathBuf {
        let folder = self.shop.path("../sprung");
        std::fs::create_dir_all(&folder).unwrap();
        folder.canonicalize().unwrap()
    }

    /// The binary under strace in a folder of the project, with the project's `bin` first in `PATH`.
    fn traced(&self, folder: &str, arguments: &[&str]) -> (Command, PathBuf) {
        let inner = self.shop.command(arguments);
        let log = self.shop.path("../execve.log");
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-s", "4096", "-e", "trace=execve,execveat", "-o"]).arg(&log);
        command.arg(inner.get_program()).args(inner.get_args()).env_clear();
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let old = std::env::var_os("PATH").unwrap_or_default();
        let project = self.shop.path("").canonicalize().unwrap();
        let first = [project.join("bin"), project.join("nested/bin"), "bin".into(), ".".into()];
        let shared = arguments.contains(&"--add-dir").then(|| project.with_file_name("shared").join("bin"));
        let rest = std::iter::once(project.with_file_name("outside")).chain(std::env::split_paths(&old));
        let path = std::env::join_paths(first.into_iter().chain(shared).chain(rest));
        command.env("PATH", path.unwrap());
        command.env("ANTHROPIC_MODEL", "claude-sonnet-4-5").env("TERM", "xterm-256color");
        command.current_dir(project.join(folder)).stdin(Stdio::null());
        (command, log)
    }

    /// Runs a case to its end.
    fn run(&self, case: Case, folder: &str) -> Vec<PathBuf> {
        let shared = self.shop.path("../shared").display().to_string();
        let exec = ["exec", "--permission-mode", "full", "--add-dir", &shared, "Hello"];
        let url = self.server.url();
        let arguments: &[&str] = match case {
            Case::Exec | Case::ExecWithBash | Case::ExecWithHooks => &exec,
            Case::ShowContext => &["exec", "--show-context"],
            Case::Chat => &["chat"],
            Case::Serve => &["serve", "--port", "0", "--anthropic", &url, "--openai", &url],
            // A bare name would be refused: the workspace has one too.
            Case::Run => &["run", "--anthropic", &url, "--openai", &url, "--", "/bin/true"],
            Case::Doctor => &["doctor"],
            Case::MemoryAdd => {
                &["memory", "add", "The tests need a database.", "--type", "project", "--name", "tests"]
            }
            Case::MemoryEdit => &["memory", "edit", "project_tests.md"],
            Case::SessionsList => &["sessions", "list"],
        };
        let (mut command, log) = self.traced(folder, arguments);
        match case {
            Case::Chat => drop(pty::run(command, &[(pty::CURSOR_SHOWN, b"\x04")])),
            Case::Serve => {
                let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
                let mut line = String::new();
                let out = child.stdout.as_mut().unwrap();
                std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
                assert!(line.contains("http://"), "{line}");
                // The first line of the log begins with the id of the process; strace ends with it.
                let log = std::fs::read_to_string(&log).unwrap();
                let id = log.split_whitespace().next().unwrap().parse().unwrap();
                crate::proxy_kit::kill(id, "TERM");
                child.wait().unwrap();
            }
            Case::MemoryEdit => {
                command.env("VISUAL", "outside-hook");
                let said = pty::run(command, &[("", b"\x04")]);
                assert!(!said.contains("error"), "{said}");
            }
            Case::Exec
            | Case::ExecWithBash
            | Case::ExecWithHooks
            | Case::ShowContext
            | Case::Run
            | Case::MemoryAdd
            | Case::SessionsList => {
                let output = command.output().unwrap();
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{case:?} in {folder:?}: {said}");
            }
            Case::Doctor => drop(command.output().unwrap()),
        }
        programs(&log)
    }

    /// Asserts that a case starts just what the table says.
    fn check(&self, case: Case, folder: &str) {
        let (_, expected) = STARTED.iter().find(|(row, _)| *row == case).unwrap();
        let expected: BTreeSet<&str> = expected.iter().copied().collect();
        let project = self.shop.path("").canonicalize().unwrap();
        let started = self.run(case, folder);
        for program in &started {
            assert!(
                program.is_absolute() && !program.starts_with(&project),
                "{case:?}: {}",
                program.display()
            );
        }
        let names: BTreeSet<&str> =
            started.iter().filter_map(|program| program.file_name()?.to_str()).collect();
        let sprung: Vec<PathBuf> =
            std::fs::read_dir(self.sprung()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(sprung, Vec::<PathBuf>::new(), "{case:?} in {folder:?}");
        let has_bubblewrap = names.contains("bwrap");
        let unexpected = names
            .symmetric_difference(&expected)
            .filter(|name| !(has_bubblewrap && BUBBLEWRAP_PROBE.contains(name)));
        let unexpected: Vec<_> = unexpected.collect();
        assert!(unexpected.is_empty(), "{case:?} in {folder:?}: {unexpected:?} of {started:?}");
    }
}

/// The programs of all `execve` calls in a log of strace, failed ones included.
fn programs(log: &Path) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(log).unwrap();
    let calls = text.lines().filter(|line| !line.contains(" resumed>"));
    let programs = calls.filter_map(|line| {
        let behind = line.split_once("execve(\"").or_else(|| line.split_once("execveat("));
        Some(PathBuf::from(behind?.1.split('"').next()?))
    });
    programs.collect()
}

#[test]
fn commands_execute_nothing_of_a_hostile_repository() {
    let Some(world) = Trapped::new(Playlist::new().forever(Answer::text("Done."))) else { return };
    for folder in ["", "nested"] {
        for case in [
            Case::Exec,
            Case::ShowContext,
            Case::Chat,
            Case::Serve,
            Case::Run,
            Case::Doctor,
            Case::MemoryAdd,
            Case::MemoryEdit,
            Case::SessionsList,
        ] {
            world.check(case, folder);
        }
    }
}

#[test]
fn a_command_of_the_model_starts_a_shell_in_the_sandbox() {
    let call = Answer::empty().call("Bash", json!({"command": "echo hello"}));
    let Some(world) = Trapped::new(Playlist::new().then(call).forever(Answer::text("Done."))) else { return };
    world.check(Case::ExecWithBash, "");
}

#[test]
fn hooks_of_the_user_are_searched_outside_the_workspace() {
    let Some(world) = Trapped::new(Playlist::new().forever(Answer::text("Done."))) else { return };
    let hooks =
        "[[hooks.SessionStart]]\ncommand = [\"outside-hook\"]\n[[hooks.Stop]]\nshell = \"outside-hook\"\n";
    world.shop.config(hooks);
    world.check(Case::ExecWithHooks, "");
}
