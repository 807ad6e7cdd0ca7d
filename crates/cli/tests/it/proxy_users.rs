//! A second user of this machine: what they learn of the secret, and what their requests do (P1).

use crate::proxy_kit::{Serving, World, ask, conversation};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

const NOBODY: u32 = 65_534;

/// Runs a command of the shell's as another user; `None` without the right to.
fn as_nobody(script: &str) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        let required = std::env::var("THROUGHLINE_REQUIRE").is_ok_and(|value| value == "all");
        assert!(!required, "acting as a second user needs root");
        eprintln!("skipped: acting as a second user needs root");
        return None;
    }
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).current_dir("/").env_clear().env("PATH", "/usr/bin:/bin");
    let output = command.uid(NOBODY).gid(NOBODY).output().unwrap();
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn p1_the_secret_stands_in_one_private_file_and_nowhere_else() {
    let world = World::new();
    let mut serving = Serving::start(&world, &[]);
    let address = serving.address();
    assert_eq!(ask(&address, "/v1/messages", &conversation("hello")).0, 200);
    let file = world.path("throughline/proxy/secret");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let secret = std::fs::read_to_string(&file).unwrap();
    assert!(secret.len() >= 32, "{secret}");
    assert_eq!(ask(&format!("{address}/t/{secret}"), "/v1/messages", &conversation("hello")).0, 200);
    let (status, answer) = ask(&format!("{address}/t/{secret}"), "/nowhere", &conversation("hello"));
    assert!(status == 404 && !answer.contains(&secret), "{answer}");
    assert!(!serving.hello.to_string().contains(&secret));
    for seen in world.provider.requests() {
        assert!(!format!("{seen:?}").contains(&secret), "{seen:?}");
    }
    // The test folder is private by itself; the file has to be, too.
    std::fs::set_permissions(world.machine.dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(world.path("throughline"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(world.path("throughline/proxy"), std::fs::Permissions::from_mode(0o755))
        .unwrap();
    let read = format!("cat '{}'; cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null", file.display());
    if let Some(seen) = as_nobody(&read) {
        assert!(seen.contains("serve"), "it sees the process: {seen:?}");
        assert!(!seen.contains(&secret), "it sees the secret");
    }
    crate::proxy_kit::kill(serving.child.id(), "TERM");
    let mut said = String::new();
    std::io::Read::read_to_string(&mut serving.child.stderr.take().unwrap(), &mut said).unwrap();
    assert!(!said.contains(&secret), "{said}");
    for (path, bytes) in world.kept() {
        let holds = String::from_utf8_lossy(&bytes).contains(&secret);
        assert_eq!(holds, path == file, "{}", path.display());
    }
}

#[test]
fn p1_run_shows_the_secret_to_nobody() {
    let world = World::new();
    let url = world.provider.url();
    for client in ["claude", "codex", "agent"] {
        let told = world.run(&["run", "--anthropic", &url, "--openai", &url, "--", client, "hello"]);
        assert_eq!(told.code, Some(0), "{}", told.err);
        let secret = std::fs::read_to_string(world.path("throughline/proxy/secret")).unwrap();
        let report = world.report();
        assert!(report.statuses.iter().all(|status| *status == 200), "{:?}", report.statuses);
        assert!(!report.words.iter().any(|word| word.contains(&secret)), "{:?}", report.words);
        assert!(!format!("{}{}", told.out, told.err).contains(&secret));
    }
}
