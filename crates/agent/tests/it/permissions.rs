//! What calls may do: modes, rules and paths. Commands are in `permissions_commands`.

use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use throughline_agent::Access;
use throughline_agent::permissions::{
    Approval, Approvals, Approver, Ask, Headless, Mode, Policy, PolicyInput, Rule, Rules, Verdict, describe,
};
use throughline_agent::workspace::Workspace;
use throughline_engine::config::PermissionSettings;

/// A user with a home, the agent's own folder in it, and a project.
pub(crate) struct Scene {
    pub(crate) dir: TempDir,
    pub(crate) rules: Rules,
    pub(crate) approvals: Arc<Approvals>,
    pub(crate) has_sandbox: bool,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        for file in ["src/main.rs", "README.md", ".env", "keys/server.pem", ".git/config"] {
            let path = dir.path().join("home/work").join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "text").unwrap();
        }
        Self {
            dir,
            rules: Rules::default(),
            approvals: Arc::new(Approvals::for_session()),
            has_sandbox: true,
        }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.home().join("work")
    }

    pub(crate) fn allow(mut self, rules: &[&str]) -> Self {
        self.rules.allow.extend(rules.iter().map(|rule| rule.parse::<Rule>().unwrap()));
        self
    }

    pub(crate) fn ask(mut self, rules: &[&str]) -> Self {
        self.rules.ask.extend(rules.iter().map(|rule| rule.parse::<Rule>().unwrap()));
        self
    }

    pub(crate) fn deny(mut self, rules: &[&str]) -> Self {
        self.rules.deny.extend(rules.iter().map(|rule| rule.parse::<Rule>().unwrap()));
        self
    }

    pub(crate) fn without_sandbox(self) -> Self {
        Self { has_sandbox: false, ..self }
    }

    pub(crate) fn policy(&self) -> Policy {
        Policy::new(PolicyInput {
            rules: self.rules.clone(),
            workspace: Workspace::new(&self.work(), &[]).unwrap(),
            approvals: self.approvals.clone(),
            sandbox_enforced: self.has_sandbox,
            network: false,
            home: Some(self.home()),
            own: self.home().join(".throughline"),
        })
    }

    /// `{w}` is the workspace, `{h}` the home.
    pub(crate) fn command(&self, command: &str) -> Access {
        let command = command
            .replace("{w}", &self.work().display().to_string())
            .replace("{h}", &self.home().display().to_string());
        Access::Command { command, cwd: self.work(), unsandboxed: false }
    }

    pub(crate) fn run(&self, command: &str, mode: Mode) -> Verdict {
        self.policy().decide("Bash", &self.command(command), mode)
    }

    fn read(&self, path: &str, mode: Mode) -> Verdict {
        self.policy().decide("Read", &Access::Read { paths: vec![self.work().join(path)] }, mode)
    }

    fn write(&self, path: &str, mode: Mode) -> Verdict {
        self.policy().decide("Edit", &Access::Write { paths: vec![self.work().join(path)] }, mode)
    }

    fn fetch(&self, url: &str, mode: Mode) -> Verdict {
        self.policy().decide("WebFetch", &Access::Network { url: url.to_owned() }, mode)
    }

    fn mcp(&self, server: &str, tool: &str, mode: Mode) -> Verdict {
        let access = Access::Mcp { server: server.to_owned(), tool: tool.to_owned(), claims_read_only: true };
        self.policy().decide(&format!("mcp__{server}__{tool}"), &access, mode)
    }
}

/// `allow`, `ask` or `deny`.
pub(crate) fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask(_) => "ask",
        Verdict::Deny { .. } => "deny",
    }
}

/// What each mode says: ask, accept-edits, plan, full.
fn modes(decide: impl Fn(Mode) -> Verdict) -> [&'static str; 4] {
    Mode::ALL.map(|mode| word(&decide(mode)))
}

pub(crate) fn offers(verdict: Verdict) -> Vec<String> {
    match verdict {
        Verdict::Ask(question) => question.offers.iter().map(|offer| offer.rule.to_string()).collect(),
        Verdict::Allow | Verdict::Deny { .. } => Vec::new(),
    }
}

#[test]
fn files_are_permitted_by_mode_and_place() {
    let scene = Scene::new();
    let secret = ["ask", "ask", "ask", "allow"];
    let guarded = ["ask", "ask", "deny", "allow"];
    for (path, reading, writing) in [
        ("src/main.rs", ["allow"; 4], ["ask", "allow", "deny", "allow"]),
        ("README.md", ["allow"; 4], ["ask", "allow", "deny", "allow"]),
        ("../other/x.rs", ["ask", "ask", "ask", "allow"], guarded),
        (".git/hooks/pre-commit", ["allow"; 4], guarded),
        (".git/config", ["allow"; 4], guarded),
        (".GIT/config", ["allow"; 4], guarded),
        ("sub/.git/config", ["allow"; 4], guarded),
        (".git", ["allow"; 4], guarded),
        ("HEAD", ["allow"; 4], guarded),
        (".throughline/config.toml", ["allow"; 4], guarded),
        (".agents/skills/x/SKILL.md", ["allow"; 4], guarded),
        (".claude/settings.json", ["allow"; 4], guarded),
        (".mcp.json", ["allow"; 4], guarded),
        (".vscode/tasks.json", ["allow"; 4], guarded),
        (".bashrc", ["allow"; 4], guarded),
        (".env", secret, guarded),
        (".env.local", secret, guarded),
        (".env.example", ["allow"; 4], ["ask", "allow", "deny", "allow"]),
        ("keys/server.pem", secret, guarded),
        ("id_ed25519", secret, guarded),
        (".gitignore", ["allow"; 4], ["ask", "allow", "deny", "allow"]),
        ("src/environment.rs", ["allow"; 4], ["ask", "allow", "deny", "allow"]),
    ] {
        assert_eq!(modes(|mode| scene.read(path, mode)), reading, "reading {path}");
        assert_eq!(modes(|mode| scene.write(path, mode)), writing, "writing {path}");
    }
    for path in ["{h}/.ssh/id_rsa", "{h}/.aws/credentials", "{h}/.gnupg/x", "{h}/.netrc"] {
        let path = path.replace("{h}", &scene.home().display().to_string());
        assert_eq!(modes(|mode| scene.read(&path, mode)), secret, "reading {path}");
        assert_eq!(modes(|mode| scene.write(&path, mode)), guarded, "writing {path}");
    }
    // The agent's own folder is never written, whoever permits it.
    let scene = scene.allow(&["Edit", "Edit(~/**)", "Edit(//**)"]);
    for path in
        ["{h}/.throughline/config.toml", "{h}/.throughline/projects/x/approvals.toml", "{h}/.throughline"]
    {
        let path = path.replace("{h}", &scene.home().display().to_string());
        assert_eq!(modes(|mode| scene.write(&path, mode)), ["deny"; 4], "writing {path}");
        assert_eq!(modes(|mode| scene.read(&path, mode)), ["ask", "ask", "ask", "allow"], "reading {path}");
    }
}

#[test]
fn a_path_that_is_not_resolved_is_outside() {
    let scene = Scene::new();
    let policy = scene.policy();
    for path in [scene.work().join("../x"), PathBuf::from("src/main.rs"), scene.work().join("src/../../x")] {
        let access = Access::Read { paths: vec![path.clone()] };
        assert_eq!(word(&policy.decide("Read", &access, Mode::AcceptEdits)), "ask", "{path:?}");
        let access = Access::Write { paths: vec![path.clone()] };
        assert_eq!(word(&policy.decide("Write", &access, Mode::AcceptEdits)), "ask", "{path:?}");
    }
    for access in [Access::Read { paths: vec![] }, Access::Write { paths: vec![] }] {
        assert_eq!(word(&policy.decide("Read", &access, Mode::AcceptEdits)), "ask", "{access:?}");
    }
    // One path outside is enough.
    let access = Access::Write { paths: vec![scene.work().join("a"), scene.home().join("b")] };
    assert_eq!(word(&policy.decide("Write", &access, Mode::AcceptEdits)), "ask");
    assert!(
        offers(policy.decide(
            "Write",
            &Access::Read { paths: vec![scene.home().join("a"), scene.home().join("b")] },
            Mode::Ask
        ))
        .is_empty()
    );
}

#[test]
fn plan_mode_says_what_to_do_instead() {
    let scene = Scene::new().allow(&["Edit", "Bash"]);
    for verdict in [scene.write("src/a.rs", Mode::Plan), scene.run("cargo build", Mode::Plan)] {
        let Verdict::Deny { reason } = verdict else { panic!("{verdict:?}") };
        assert!(reason.contains("plan mode") && reason.contains("ExitPlanMode"), "{reason}");
    }
    assert_eq!(word(&scene.run("git status", Mode::Plan)), "allow");
    // An ask rule does not make a question of what plan mode forbids.
    let scene = Scene::new().ask(&["Edit", "Bash"]);
    assert_eq!(word(&scene.write("src/a.rs", Mode::Plan)), "deny");
    assert_eq!(word(&scene.run("cargo build", Mode::Plan)), "deny");
}

#[test]
fn rules_about_paths_mean_what_they_say() {
    let h = |scene: &Scene, path: &str| scene.home().join(path).display().to_string();
    let scene = Scene::new().allow(&["Read(~/notes/**)", "Edit(src/**)", "Edit(*.md)", "Read(//opt/sdk)"]);
    assert_eq!(word(&scene.read(&h(&scene, "notes/a/b.txt"), Mode::Ask)), "allow");
    assert_eq!(word(&scene.read(&h(&scene, "notes"), Mode::Ask)), "ask");
    assert_eq!(word(&scene.read(&h(&scene, "notes2/a"), Mode::Ask)), "ask");
    assert_eq!(word(&scene.read("/opt/sdk/include/x.h", Mode::Ask)), "allow");
    assert_eq!(word(&scene.read("/opt/sdk2/x.h", Mode::Ask)), "ask");
    assert_eq!(word(&scene.write("src/a/b.rs", Mode::Ask)), "allow");
    assert_eq!(word(&scene.write("lib/src/b.rs", Mode::Ask)), "ask");
    assert_eq!(word(&scene.write("docs/deep/x.md", Mode::Ask)), "allow");
    assert_eq!(word(&scene.write(&h(&scene, "x.md"), Mode::Ask)), "ask");
    // Guarded paths are asked although a rule permits them.
    assert_eq!(word(&scene.write("src/.git/config", Mode::Ask)), "ask");
    // A rule without a pattern permits the workspace, and refuses everything.
    let scene = Scene::new().allow(&["Edit", "Read"]);
    assert_eq!(word(&scene.write("a", Mode::Ask)), "allow");
    assert_eq!(word(&scene.write(&h(&scene, "a"), Mode::Ask)), "ask");
    assert_eq!(word(&scene.read(&h(&scene, "a"), Mode::Ask)), "ask");
    let scene = Scene::new().deny(&["Edit"]);
    assert_eq!(modes(|mode| scene.write("a", mode)), ["deny"; 4]);
    assert_eq!(modes(|mode| scene.write("/elsewhere/a", mode)), ["deny"; 4]);
}

#[test]
fn what_is_denied_is_denied_by_any_way_and_in_any_case() {
    let scene = Scene::new().deny(&["Read(secret/**)", "Edit(lock.json)"]).allow(&["Read", "Edit", "Bash"]);
    assert_eq!(modes(|mode| scene.read("secret/a", mode)), ["deny"; 4]);
    assert_eq!(modes(|mode| scene.read("Secret/A", mode)), ["deny"; 4]);
    let access = Access::Read { paths: vec![scene.work().join("secret/b")] };
    assert_eq!(word(&scene.policy().decide("Grep", &access, Mode::Full)), "deny");
    assert!(scene.policy().skips(&scene.work().join("secret/b")));
    assert!(scene.policy().skips(&scene.work().join(".env")));
    assert!(!scene.policy().skips(&scene.work().join("src/b")));
    assert_eq!(modes(|mode| scene.write("sub/lock.json", mode)), ["deny"; 4]);
    for command in [
        "cat secret/a",
        "cat ./secret/a",
        "head -n1 < secret/a",
        "cd secret && cat a",
        "python3 x.py secret/a",
        "cat {w}/secret/a",
    ] {
        assert_eq!(modes(|mode| scene.run(command, mode)), ["deny"; 4], "{command}");
    }
    for command in ["echo x > lock.json", "cp a sub/lock.json", "cd sub && rm lock.json"] {
        assert_eq!(modes(|mode| scene.run(command, mode)), ["deny"; 4], "{command}");
    }
    assert_eq!(word(&scene.run("cat lock.json", Mode::Ask)), "allow");
}

#[test]
fn other_tools_are_decided_by_name() {
    let scene = Scene::new();
    let policy = scene.policy();
    for (tool, access) in [("TodoWrite", Access::Inner), ("Memory", Access::Memory), ("Task", Access::Agent)]
    {
        assert_eq!(modes(|mode| policy.decide(tool, &access, mode)), ["allow"; 4], "{tool}");
        let denied = Scene::new().deny(&[tool]).policy();
        assert_eq!(modes(|mode| denied.decide(tool, &access, mode)), ["deny"; 4], "{tool}");
        let asked = Scene::new().ask(&[tool]).allow(&[tool]).policy();
        assert_eq!(modes(|mode| asked.decide(tool, &access, mode)), ["ask"; 4], "{tool}");
    }
    let scene = Scene::new().deny(&["Grep"]);
    let access = Access::Read { paths: vec![scene.work()] };
    assert_eq!(word(&scene.policy().decide("Grep", &access, Mode::Full)), "deny");
    assert_eq!(word(&scene.policy().decide("Glob", &access, Mode::Ask)), "allow");
    let scene = Scene::new().deny(&["Write"]).allow(&["Edit"]);
    assert_eq!(word(&scene.write("a", Mode::Ask)), "allow");
    let access = Access::Write { paths: vec![scene.work().join("a")] };
    assert_eq!(word(&scene.policy().decide("Write", &access, Mode::Ask)), "deny");
}

#[test]
fn the_web_is_asked_by_host() {
    let scene = Scene::new().allow(&["WebFetch(domain:docs.rs)", "WebFetch(domain:*.wiki.test)"]);
    for (url, verdict) in [
        ("https://docs.rs/serde", "allow"),
        ("https://DOCS.rs:8443/serde", "allow"),
        ("https://docs.rs./x", "allow"),
        ("https://evil.test/docs.rs", "ask"),
        ("https://docs.rs.evil.test/", "ask"),
        ("https://docs.rs@evil.test/", "ask"),
        ("https://evil.test#docs.rs", "ask"),
        ("https://sub.docs.rs/", "ask"),
        ("https://xdocs.rs/", "ask"),
        ("https://wiki.test/", "allow"),
        ("https://en.wiki.test/", "allow"),
        ("https://enwiki.test/", "ask"),
        ("file:///etc/passwd", "deny"),
        ("docs.rs", "deny"),
        ("", "deny"),
    ] {
        assert_eq!(word(&scene.fetch(url, Mode::Ask)), verdict, "{url}");
        assert_eq!(word(&scene.fetch(url, Mode::Plan)), verdict, "{url}");
    }
    assert_eq!(word(&scene.fetch("https://evil.test", Mode::Full)), "allow");
    assert_eq!(offers(scene.fetch("https://a.test/x", Mode::Ask)), ["WebFetch(domain:a.test)"]);
    // What is refused is refused with all below it.
    let scene = Scene::new().deny(&["WebFetch(domain:evil.test)"]).allow(&["WebFetch"]);
    assert_eq!(word(&scene.fetch("https://a.b.evil.test", Mode::Full)), "deny");
    assert_eq!(word(&scene.fetch("https://notevil.test", Mode::Ask)), "allow");
}

#[test]
fn tools_of_servers_are_asked_whatever_they_claim() {
    let scene = Scene::new();
    assert_eq!(modes(|mode| scene.mcp("db", "query", mode)), ["ask", "ask", "ask", "allow"]);
    assert_eq!(offers(scene.mcp("db", "query", Mode::Ask)), ["mcp__db__query", "mcp__db"]);
    let scene = Scene::new().allow(&["mcp__db__query", "mcp__notes"]);
    assert_eq!(modes(|mode| scene.mcp("db", "query", mode)), ["allow", "allow", "ask", "allow"]);
    assert_eq!(word(&scene.mcp("db", "drop", Mode::Ask)), "ask");
    assert_eq!(word(&scene.mcp("notes", "any", Mode::Ask)), "allow");
    assert_eq!(word(&scene.mcp("notes2", "any", Mode::Ask)), "ask");
    // A server whose name holds the separator is no other server's tool.
    assert_eq!(word(&scene.mcp("db__query", "anything", Mode::Ask)), "ask");
    assert!(offers(scene.mcp("db__query", "x", Mode::Ask)).is_empty());
    let scene = Scene::new().deny(&["mcp__db__query"]);
    assert_eq!(word(&scene.mcp("db", "query", Mode::Full)), "deny");
    assert_eq!(word(&scene.mcp("db__query", "x", Mode::Full)), "deny");
    let scene = Scene::new().deny(&["mcp__db"]);
    assert_eq!(word(&scene.mcp("db", "x", Mode::Full)), "deny");
    let access = Access::Mcp { server: "db".to_owned(), tool: "x".to_owned(), claims_read_only: true };
    assert_eq!(word(&scene.policy().decide("CallTool", &access, Mode::Full)), "deny");
}

#[test]
fn offers_go_from_narrow_to_broad() {
    let scene = Scene::new();
    assert_eq!(offers(scene.write("src/a/b.rs", Mode::Ask)), ["Edit(src/a/b.rs)", "Edit(src/a/**)"]);
    assert_eq!(offers(scene.write("top.rs", Mode::Ask)), ["Edit(./top.rs)"]);
    assert_eq!(offers(scene.read("/etc/hosts", Mode::Ask)), ["Read(//etc/hosts)"]);
    let notes = scene.home().join("notes/a.txt").display().to_string();
    assert_eq!(offers(scene.read(&notes, Mode::Ask)), ["Read(~/notes/a.txt)", "Read(~/notes/**)"]);
    // No rule would help.
    assert!(offers(scene.write(".git/config", Mode::Ask)).is_empty());
    assert!(offers(scene.read(".env", Mode::Ask)).is_empty());
    // What is offered permits what was asked, and nothing beside it.
    for path in ["src/a/b.rs", "top.rs", "odd [x]{y}*.rs", "src/we?rd.rs"] {
        let narrow = offers(scene.write(path, Mode::Ask)).remove(0);
        let scene = Scene::new().allow(&[&narrow]);
        assert_eq!(word(&scene.write(path, Mode::Ask)), "allow", "{narrow}");
        assert_eq!(word(&scene.write("src/sub/top.rs", Mode::Ask)), "ask", "{narrow}");
        assert_eq!(word(&scene.write("odd xy1.rs", Mode::Ask)), "ask", "{narrow}");
        assert_eq!(word(&scene.write("src/weird.rs", Mode::Ask)), "ask", "{narrow}");
    }
}

#[tokio::test]
async fn nobody_there_means_no_and_says_what_would_help() {
    let scene = Scene::new();
    let ask = |access: Access| {
        let Verdict::Ask(question) = scene.policy().decide("Bash", &access, Mode::Ask) else {
            panic!("{access:?}")
        };
        let summary = "what it does".to_owned();
        let (call, tool) = ("c1".to_owned(), "Bash".to_owned());
        Ask {
            call,
            tool,
            summary,
            access,
            reason: question.reason,
            offers: question.offers,
            diff: Vec::new(),
        }
    };
    let answer = |access: Access| {
        let ask = ask(access);
        async move {
            let answer = Headless.approve(ask).await;
            let Approval::Refuse { why: Some(why) } = answer else { panic!("{answer:?}") };
            why
        }
    };
    let why = answer(scene.command("cargo test -p x")).await;
    assert!(why.contains("Bash(cargo test:*)") && why.contains("accept-edits"), "{why}");
    let why = answer(Access::Read { paths: vec![scene.work().join(".env")] }).await;
    assert!(why.contains("--permission-mode full") && why.contains(".env"), "{why}");
}

#[test]
fn rules_of_the_configuration_are_read_or_an_error() {
    let settings =
        PermissionSettings { deny: vec!["Bash(rm:*)".to_owned()], ..PermissionSettings::default() };
    assert_eq!(Rules::of(&settings).unwrap().deny[0].as_str(), "Bash(rm:*)");
    let settings =
        PermissionSettings { deny: vec!["bash(rm:*)".to_owned()], ..PermissionSettings::default() };
    assert_eq!(
        Rules::of(&settings).unwrap_err().to_string(),
        "permissions.deny: `bash(rm:*)` is no rule: the tool is called `Bash`"
    );
}

#[test]
fn the_model_is_told_what_is_permitted() {
    let scene = Scene::new().deny(&["Bash(git push:*)"]).allow(&["Bash(cargo test:*)"]);
    let told = |mode| describe(mode, &scene.policy()).replace(&scene.work().display().to_string(), "WORK");
    insta::assert_snapshot!(told(Mode::Ask), @r"
    Permission mode: ask. You may read in the workspace and run commands that only read. The user is asked before anything else: changes of files, other commands, the web, tools of MCP servers.
    Workspace: `WORK`. What configures agents or runs by itself (.git, .throughline, .agents, .claude, shell start-up files) and what may hold secrets (.env, keys) is asked about even there.
    Commands run in a sandbox: they write in the workspace and a temporary folder only, and have no network.
    Never permitted: `Bash(git push:*)`.
    Permitted without asking: `Bash(cargo test:*)`.
    A call that is refused was not made. Do not try the same by another way; find one that is permitted, or say what you need and why. Plain commands one at a time are judged best: no variables, no substitutions.
    ");
    let plan = told(Mode::Plan);
    assert!(plan.contains("Nothing may be changed") && !plan.contains("cargo test"), "{plan}");
    assert!(!plan.contains("ExitPlanMode"), "sub-agents have no such tool: {plan}");
    let full = told(Mode::Full);
    assert!(full.contains("git push") && !full.contains("in a sandbox"), "{full}");
    let caged = describe(Mode::AcceptEdits, &Scene::new().without_sandbox().policy());
    assert!(caged.contains("There is no sandbox"), "{caged}");
    for mode in Mode::ALL {
        assert!(told(mode).lines().all(|line| !line.is_empty() && !line.contains('{')), "{}", told(mode));
    }
}
