//! The cage: what commands can't do in it, and what they still can.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail as tests do")]

use crate::bash_world::{Call, World, helper, text};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use throughline_agent::Access;
use throughline_agent::permissions::Mode;
use throughline_agent::sandbox::{Cage, EXIT_NO_CAGE, NO_CAGE, SandboxLevel, SandboxSettings, Support};
use throughline_agent::tools::bash::{Shell, ShellEnv};
use throughline_agent::workspace::Workspace;

/// Everything below a folder: names and contents.
fn tree(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let mode = std::os::unix::fs::MetadataExt::mode(&path.symlink_metadata().unwrap());
        let content = std::fs::read_to_string(&path).unwrap_or_default();
        all.push((path.display().to_string(), format!("{mode:o} {content}")));
        if path.is_dir() {
            all.extend(tree(&path));
        }
    }
    all.sort();
    all
}

#[tokio::test]
async fn nothing_outside_the_workspace_can_be_changed() {
    let Some(world) = World::caged(|_, _| {}) else { return };
    let outside = world.path("outside").display().to_string();
    std::os::unix::fs::symlink(world.path("outside"), world.path("ws/link")).unwrap();
    let before = tree(&world.path("outside"));
    for command in [
        format!("echo x > {outside}/new.txt"),
        format!("echo x >> {outside}/kept.txt"),
        format!(": > {outside}/kept.txt"),
        format!("truncate -s 0 {outside}/kept.txt"),
        "cd ../outside && echo x > new.txt".to_owned(),
        "cd .. && echo x > outside/kept.txt".to_owned(),
        "echo x > link/new.txt".to_owned(),
        "ln -s ../outside/kept.txt l && echo x > l".to_owned(),
        format!("sh -c 'sh -c \"echo x > {outside}/new.txt\"'"),
        format!("echo x > f && mv f {outside}/f"),
        format!("echo x > g && ln g {outside}/g"),
        format!("ln {outside}/kept.txt here.txt && echo x > here.txt"),
        format!("mv {outside}/kept.txt ."),
        format!("rm {outside}/kept.txt"),
        format!("mkdir {outside}/folder"),
        format!("mkfifo {outside}/pipe"),
        format!("chmod 777 {outside}/kept.txt"),
        format!("touch -d 2001-01-01 {outside}/kept.txt"),
        format!("cp /bin/true {outside}/"),
        "mount -t tmpfs none ../outside".to_owned(),
        "unshare -Urm true".to_owned(),
    ] {
        let output = world.call("Bash", json!({"command": command})).await;
        assert!(output.is_error, "{command}: {}", text(&output));
        assert_eq!(tree(&world.path("outside")), before, "{command}");
    }
    assert_eq!(world.bash("cat ../outside/kept.txt; cat link/kept.txt").await, "as it was\nas it was");
}

#[tokio::test]
async fn the_workspace_and_the_temporary_folder_can_be_written() {
    let Some(world) = World::caged(|_, _| {}) else { return };
    let command = "mkdir -p a/b && echo one > a/b/c && mv a/b/c a/d && ln a/d e && rm -r a/b && cat e \
                   && f=$(mktemp) && echo two > $f && cat $f && echo three > /dev/null && echo four > /dev/stderr \
                   && echo five > /dev/stdout && wc -l <(echo six) | cut -c1 && chmod 600 e && touch e";
    assert_eq!(world.bash(command).await, "one\ntwo\nfour\nfive\n1");
    assert_eq!(world.read("ws/a/d").as_deref(), Some("one\n"));
}

#[tokio::test]
async fn nothing_outlives_a_command() {
    let Some(world) = World::caged(|_, _| {}) else { return };
    let waits = "echo on > on; while [ ! -e go ]; do sleep 0.02; done; echo late > late";
    for command in [
        format!("setsid sh -c '{waits}' >/dev/null 2>&1 &"),
        format!("(setsid setsid sh -c 'trap \"\" TERM HUP; {waits}' &) >/dev/null 2>&1"),
        format!("nohup sh -c '{waits}' >/dev/null 2>&1 & disown"),
    ] {
        let command = format!("{command}\nwhile [ ! -e on ]; do sleep 0.02; done; rm on; echo ended");
        let output = world.bash(&command).await;
        assert!(output.starts_with("ended\n[what it left running was stopped"), "{output}");
        world.write("ws/go", "");
        world.bash("for i in $(seq 50); do [ -e late ] && break; sleep 0.02; done; rm go").await;
        assert_eq!(world.read("ws/late"), None, "{command}");
    }
}

#[tokio::test]
async fn the_end_of_a_command_is_told_as_it_was() {
    let Some(world) = World::caged(|_, _| {}) else { return };
    assert_eq!(world.bash("exit 7").await, "(it printed nothing)\n[exit status 7]");
    assert_eq!(world.bash("kill -9 $$").await, "(it printed nothing)\n[killed by signal 9 (KILL)]");
    assert_eq!(world.bash("kill -TERM $$").await, "(it printed nothing)\n[killed by signal 15 (TERM)]");
    let stopped = world
        .call("Bash", json!({"command": "trap 'echo tidy; exit' TERM; sleep 60 & wait", "timeout": 300}))
        .await;
    assert!(text(&stopped).starts_with("tidy\n[timed out"), "{}", text(&stopped));
}

#[tokio::test]
async fn what_configures_agents_and_git_can_be_read_but_not_changed() {
    let Some(world) = World::caged(|_, _| {}) else { return };
    world.write("ws/.git/hooks/pre-commit.sample", "#!/bin/sh\n");
    world.write("ws/.git/config", "[core]\n");
    world.write("ws/.claude/settings.json", "{}");
    world.write("ws/.mcp.json", "{}");
    world.write("ws/.git/HEAD", "ref: refs/heads/main\n");
    world.write("ws/.git/objects/x", "");
    world.write("ws/.git/info/exclude", "");
    for git in ["ws/nested/.git", "ws/.git/modules/lib"] {
        world.write(&format!("{git}/HEAD"), "ref: refs/heads/main\n");
        world.write(&format!("{git}/objects/x"), "");
        world.write(&format!("{git}/config"), "[core]\n");
    }
    world.write("ws/web/.vscode/tasks.json", "{}");
    world.write("ws/web/CLAUDE.md", "");
    let before = tree(&world.path("ws"));
    for command in [
        "echo x > .git/hooks/pre-commit",
        "chmod +x .git/hooks/pre-commit.sample",
        "echo x >> .git/config",
        "echo x > n && mv n .git/config",
        "rm .git/config",
        "mv .git/hooks .git/h",
        "mv .git g && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
        "rm -rf .git/hooks",
        "echo x > .claude/settings.json",
        "mv .claude c",
        "ln -sf /tmp .claude",
        "echo x > .mcp.json",
        "rm .mcp.json",
        // Not there, and not to be made.
        "mkdir -p .throughline && echo x > .throughline/config.toml",
        "mkdir .agents; echo x > .agents/a",
        "ln -s . x && mkdir -p x/.throughline && echo x > x/.throughline/config.toml",
        "sh -c 'cd .git && echo x > hooks/y'",
        "mkdir -p .vscode && echo x > .vscode/tasks.json",
        "mkdir -p .husky && echo x > .husky/pre-commit",
        "mkdir -p .codex && echo x > .codex/config.toml",
        "mkdir -p .cursor && echo x > .cursor/mcp.json",
        "mkdir -p .idea && echo x > .idea/workspace.xml",
        "echo x > .envrc",
        "rmdir .envrc && echo x > .envrc",
        "mv .envrc y && echo x > .envrc",
        "echo x > AGENTS.md",
        "echo x > CLAUDE.md",
        "echo '* filter=x' > .git/info/attributes",
        "echo x > .git/config.worktree",
        "echo x >> .git/modules/lib/config",
        "mv .git/modules/lib .git/modules/m",
        "echo x >> nested/.git/config",
        "mv nested n",
        "echo x > web/.vscode/tasks.json",
        "echo x > web/CLAUDE.md",
        "mv web w",
    ] {
        let output = world.call("Bash", json!({"command": command})).await;
        assert!(output.is_error, "{command}: {}", text(&output));
        world.bash("rm -f n x").await;
        assert_eq!(tree(&world.path("ws")), before, "{command}");
    }
    assert_eq!(world.bash("cat .claude/settings.json .git/config").await, "{}[core]");
}

#[tokio::test]
async fn a_protected_name_cannot_be_reached_by_moving_what_it_lies_in() {
    let Some(world) = World::caged(|root, (settings, _)| settings.writable.push(root.to_owned())) else {
        return;
    };
    world.write("ws/.git/hooks/sample", "");
    let output = world
        .bash("cd .. && mv ws other; mkdir -p ws/.git/hooks; echo x > ws/.git/hooks/new; echo y > y; cat y")
        .await;
    assert!(output.contains("\ny"), "{output}");
    assert_eq!(world.read("ws/.git/hooks/new"), None);
    assert!(!world.path("other").exists());
}

#[tokio::test]
async fn git_works_in_the_cage() {
    let Some(world) = World::caged(|_, _| {}) else { return };
    let git = |arguments: &str| {
        let status = Command::new("git")
            .args(arguments.split(' '))
            .current_dir(world.path("ws"))
            .env("HOME", world.path("home"))
            .output();
        status.is_ok_and(|done| done.status.success())
    };
    if !git("init -q -b main .") {
        return;
    }
    world.write("ws/a.txt", "a\n");
    let command = "git add a.txt && git -c user.name=a -c user.email=a@example.org commit -qm first \
                   && git status --short --branch && git log --format=%s && git checkout -qb other && git branch --show-current";
    assert_eq!(world.bash(command).await, "## main\nfirst\nother");
}

#[tokio::test]
async fn plan_mode_reads_only() {
    let Some(world) = World::caged(|_, _| {}) else { return };
    world.write("ws/a.txt", "a\n");
    let command =
        "cat a.txt; echo b > $TMPDIR/b && cat $TMPDIR/b; echo c > a.txt; rm a.txt; chmod 777 a.txt; true";
    let output = world.call_as("Bash", json!({"command": command}), Call::of(Mode::Plan)).await;
    assert!(text(&output).starts_with("a\nb\n"), "{}", text(&output));
    assert_eq!(tree(&world.path("ws")).first().unwrap().1, "100644 a\n");
}

#[tokio::test]
async fn without_the_cage_everything_can_be_written() {
    let world = World::new();
    let write = "echo x > ../outside/new.txt && echo done";
    let output = world.call_as("Bash", json!({"command": write}), Call::of(Mode::Full)).await;
    assert_eq!(text(&output), "done");
    let write = "echo y > ../outside/new.txt && echo done";
    let output = world.call("Bash", json!({"command": write, "unsandboxed": true})).await;
    assert_eq!(text(&output), "done");
    assert_eq!(world.read("outside/new.txt").as_deref(), Some("y\n"));
}

/// Answers one connection.
fn listener() -> (u16, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"hello\n").unwrap();
        let _ = stream.read(&mut [0; 16]);
    });
    (port, answer)
}

#[tokio::test]
async fn the_network_is_there_only_if_it_is_switched_on() {
    let (port, answer) = listener();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && head -1 <&3");
    let Some(without) = World::caged(|_, _| {}) else { return };
    let output = without.bash(&connect).await;
    assert!(!output.contains("hello") && output.contains("[exit status 1]"), "{output}");
    assert!(output.contains("sandbox without network"), "{output}");
    let with = World::caged(|_, (settings, _)| settings.network = true).unwrap();
    assert_eq!(with.bash(&connect).await, "hello");
    answer.join().unwrap();
}

#[tokio::test]
async fn hidden_folders_and_files_are_empty() {
    let hide = |root: &Path, settings: &mut SandboxSettings| {
        std::fs::create_dir(root.join("home/.ssh")).unwrap();
        std::fs::write(root.join("home/.ssh/id"), "a key\n").unwrap();
        std::fs::write(root.join("home/.netrc"), "a word\n").unwrap();
        settings.readable_denied =
            vec![root.join("home/.ssh"), root.join("home/.netrc"), root.join("home/none")];
    };
    let Some(world) = World::caged(|root, (settings, _)| hide(root, settings)) else { return };
    let output = world.bash("cat ~/.ssh/id; cat ~/.netrc; ls ~/.ssh | wc -l; cat ../outside/kept.txt").await;
    assert!(!output.contains("a key") && !output.contains("a word"), "{output}");
    assert!(output.ends_with("0\nas it was"), "{output}");
}

#[tokio::test]
async fn reads_end_at_the_workspace_and_the_listed_paths() {
    for scope in ["workspace", "home"] {
        let change = |root: &Path, settings: &mut SandboxSettings| {
            std::fs::create_dir_all(root.join("home/.cargo/bin")).unwrap();
            std::fs::create_dir_all(root.join("session/other")).unwrap();
            std::fs::write(root.join("home/.cargo/bin/tool"), "tool\n").unwrap();
            std::fs::write(root.join("home/.cargo/credentials.toml"), "a key\n").unwrap();
            std::fs::write(root.join("home/notes"), "notes\n").unwrap();
            std::fs::write(root.join("session/other/ledger"), "a ledger\n").unwrap();
            let home = root.join("home");
            let none = std::collections::BTreeMap::new();
            settings.readable_denied = throughline_agent::sandbox::credential_paths(Some(&home), &none);
            settings.readable = (scope == "workspace")
                .then(|| throughline_agent::sandbox::readable_paths(Some(&home), &none));
            settings.unreadable = vec![root.join("session")];
        };
        let Some(world) = World::caged(|root, (settings, _)| change(root, settings)) else { return };
        world.write("ws/a.txt", "a\n");
        let command = "cat a.txt ~/.cargo/bin/tool; for f in ~/.cargo/credentials.toml ../session/other/ledger ~/notes \
                       ../outside/kept.txt; do cat $f 2>/dev/null; done; echo x > $TMPDIR/x && cat $TMPDIR/x";
        let rest = if scope == "home" { "notes\nas it was\n" } else { "" };
        assert_eq!(world.bash(command).await, format!("a\ntool\n{rest}x"), "{scope}");
    }
}

#[tokio::test]
async fn powers_over_other_processes_and_the_kernel_are_gone() {
    let Some(world) = World::caged(|_, _| {}) else { return };
    let me = std::process::id();
    assert!(world.bash(&format!("kill -0 {me}")).await.contains("[exit status 1]"));
    let environ = world.bash(&format!("cat /proc/{me}/environ | wc -c")).await;
    assert!(environ.contains("Permission denied") || environ.contains("No such file"), "{environ}");
    let status =
        world.bash("grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status | tr '\\t\\n' '  '; ulimit -c").await;
    assert_eq!(status, "NoNewPrivs: 1 Seccomp: 2 0");
    // A number that a fork bomb meets; more than the machine runs now.
    let bound: u64 = world.bash("ulimit -u").await.parse().unwrap();
    assert!((2048..200_000).contains(&bound), "{bound}");
    assert!(world.bash("tty; : < /dev/tty").await.contains("[exit status 1]"));
}

#[tokio::test]
async fn commands_that_only_read_run_read_only_and_without_programs_of_the_workspace() {
    let Some(world) = World::caged(|root, (_, env)| {
        let path = std::env::var("PATH").unwrap();
        env.base.insert("PATH".into(), format!("{}:{path}", root.join("ws/bin").display()).into());
    }) else {
        return;
    };
    world.write("ws/bin/cat", "#!/bin/sh\necho of the workspace; echo x > made\n");
    std::fs::set_permissions(world.path("ws/bin/cat"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    world.write("ws/a.txt", "a\n");
    let output = world.call_as("Bash", json!({"command": "cat a.txt"}), Call::of(Mode::Ask)).await;
    assert_eq!(text(&output), "a");
    assert_eq!(world.bash("cat a.txt; true > b").await, "of the workspace");
    assert!(world.path("ws/made").exists());
}

#[tokio::test]
async fn new_ways_to_mount_are_closed() {
    let Some(world) = World::caged(|_, _| {}) else { return };
    let call = "python3 -c 'import ctypes,os; l=ctypes.CDLL(None, use_errno=True); \
                print([(n, l.syscall(n, -100, b\"/\", 1, 0, 0) , os.strerror(ctypes.get_errno())) for n in (428, 467, 470, 500)])'";
    let output = world.bash(call).await;
    if output.contains("not found") {
        return;
    }
    assert_eq!(output.matches("Operation not permitted").count(), 2, "{output}");
    assert_eq!(output.matches("Function not implemented").count(), 2, "{output}");
}

#[tokio::test]
async fn a_cage_that_cannot_be_built_means_that_nothing_runs() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("marker");
    let touch = ["--", "touch", marker.to_str().unwrap()];
    let cage = |walls: &str, path: &str| {
        json!({"session": true, "cwd": folder.path(), "cage": {
            "walls": walls, "landlock": true, "writable": [folder.path()], "readable": ["/"], "unreadable": [], "network": false, "unix_sockets": false,
            "processes": 100, "mounts": [{"path": path, "kind": "read-only"}],
        }})
        .to_string()
    };
    let missing = folder.path().join("missing");
    let unknown = cage("namespaces", "/").replace("\"processes\"", "\"processses\"");
    for policy in
        [cage("namespaces", missing.to_str().unwrap()), cage("paper", "/"), unknown, "{}".to_owned()]
    {
        let done = Command::new(&helper()[0]).arg(&policy).args(touch).output().unwrap();
        assert_eq!(done.status.code(), Some(i32::from(EXIT_NO_CAGE)), "{policy}");
        assert!(String::from_utf8_lossy(&done.stderr).starts_with(NO_CAGE), "{policy}");
        assert!(!marker.exists(), "{policy}");
    }
    for arguments in
        [vec![], vec!["{}"], vec![&*cage("absent", "/"), "touch"], vec![&*cage("absent", "/"), "--"]]
    {
        let done = Command::new(&helper()[0]).args(&arguments).output().unwrap();
        assert_eq!(done.status.code(), Some(i32::from(EXIT_NO_CAGE)), "{arguments:?}");
    }
}

#[tokio::test]
async fn landlock_alone_keeps_the_outside_and_hides_what_it_is_told_to() {
    let settings = SandboxSettings::new(helper());
    let Support::Landlock { abi, .. } = Support::detect(&settings) else { return };
    let root = tempfile::tempdir().unwrap();
    for folder in ["ws", "tmp", "home/.ssh"] {
        std::fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    std::fs::write(root.path().join("home/.ssh/id"), "a key").unwrap();
    std::fs::write(root.path().join("home/other"), "other\n").unwrap();
    let settings = SandboxSettings { readable_denied: vec![root.path().join("home/.ssh")], ..settings };
    let workspace = Workspace::new(&root.path().join("ws"), &[]).unwrap();
    let tmp = root.path().join("tmp");
    let cage = Cage { level: SandboxLevel::Workspace, workspace: &workspace, tmp: &tmp };
    let run = |command: &str| {
        let argv = ["sh", "-c", command].map(Into::into).to_vec();
        let wrapped = settings.wrap(&Support::Landlock { abi, namespaces: false }, cage, argv).unwrap();
        let done = Command::new(&wrapped.argv[0]).args(&wrapped.argv[1..]).output().unwrap();
        (done.status.success(), String::from_utf8_lossy(&done.stdout).into_owned())
    };
    assert_eq!(run("cat ../home/other; echo a > a && cat a"), (true, "other\na\n".to_owned()));
    assert_eq!(run("cat ../home/.ssh/id"), (false, String::new()));
    assert_eq!(run("echo x > ../home/new"), (false, String::new()));
    assert_eq!(run("echo x > ../home/other"), (false, String::new()));
    assert_eq!(run("exec 3<>/dev/udp/127.0.0.1/9"), (false, String::new()));
    assert!(!root.path().join("home/new").exists());
}

#[tokio::test]
async fn where_nothing_can_be_caged_every_command_is_called_unsandboxed() {
    let root = tempfile::tempdir().unwrap();
    let workspace = Workspace::new(root.path(), &[]).unwrap();
    let shell = |settings| Shell::new(settings, root.path().join("session"), ShellEnv::default());
    let access = |shell: &Shell, unsandboxed: bool| {
        use throughline_agent::Tool;
        let bash = throughline_agent::tools::bash::Bash::new(shell.clone());
        let input = json!({"command": "ls", "unsandboxed": unsandboxed});
        let access = bash.access(&input, &workspace).unwrap();
        matches!(access, Access::Command { unsandboxed: true, .. })
    };
    let missing = shell(SandboxSettings::new(vec!["/nowhere/to/be/found".into()]));
    assert!(missing.support().to_string().contains("can't be started"), "{}", missing.support());
    let off = shell(SandboxSettings { enabled: false, ..SandboxSettings::new(helper()) });
    let wrong = shell(SandboxSettings::new(vec!["/bin/echo".into()]));
    for none in [missing, off, wrong] {
        assert!(!none.support().can_cage());
        assert!(access(&none, false));
        assert_eq!(none.level(Mode::Plan, false, "ls"), SandboxLevel::None);
    }
    let there = shell(SandboxSettings::new(helper()));
    if there.support().can_cage() {
        assert!(!access(&there, false) && access(&there, true));
        let levels = |command: &str| Mode::ALL.map(|mode| there.level(mode, false, command));
        use SandboxLevel::{None as Free, ReadOnly, Workspace as Writes};
        assert_eq!(levels("make"), [Writes, Writes, ReadOnly, Free]);
        assert_eq!(levels("ls | sort"), [ReadOnly, ReadOnly, ReadOnly, Free]);
    }
}
