//! Approvals that are remembered.

use super::permissions::{Scene, word};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use throughline_agent::permissions::{Approvals, ApprovalsError, Mode, Rule};
use throughline_memory::ProjectSlug;

fn rule(text: &str) -> Rule {
    text.parse().unwrap()
}

fn project() -> ProjectSlug {
    ProjectSlug::of(Path::new("/home/me/project"))
}

fn file(root: &Path) -> PathBuf {
    root.join(format!("projects/{}/approvals.toml", project()))
}

fn put(root: &Path, text: impl AsRef<[u8]>) {
    std::fs::create_dir_all(file(root).parent().unwrap()).unwrap();
    std::fs::write(file(root), text).unwrap();
}

#[test]
fn approvals_last_and_can_be_read_by_people() {
    let dir = TempDir::new().unwrap();
    let approvals = Approvals::load(dir.path(), &project());
    assert!(approvals.rules().is_empty() && approvals.problems().is_empty());
    approvals.add(rule("Bash(cargo test:*)")).unwrap();
    approvals.add(rule("Bash(printf 'a\\\\b' \"c\")")).unwrap();
    approvals.add(rule("Bash(cargo test:*)")).unwrap();
    approvals.add_for_session(rule("Read(~/x)"));
    let again = Approvals::load(dir.path(), &project());
    assert_eq!(again.list(), [rule("Bash(cargo test:*)"), rule("Bash(printf 'a\\\\b' \"c\")")]);
    assert_eq!(again.rules().len(), 2);
    assert_eq!(approvals.rules().len(), 3);
    let text = std::fs::read_to_string(file(dir.path())).unwrap();
    assert!(text.starts_with("# What an agent may do"), "{text}");
    assert!(text.contains("[[allow]]\nrule = \"Bash(cargo test:*)\"\n"), "{text}");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file(dir.path())), 0o600);
    assert_eq!(mode(file(dir.path()).parent().unwrap()), 0o700);
    assert!(approvals.remove(&rule("Bash(cargo test:*)")).unwrap());
    assert!(approvals.remove(&rule("Read(~/x)")).unwrap());
    assert!(!approvals.remove(&rule("Bash(cargo test:*)")).unwrap());
    assert_eq!(approvals.rules(), Approvals::load(dir.path(), &project()).rules());
    assert_eq!(approvals.rules().len(), 1);
    // Another project has its own.
    assert!(Approvals::load(dir.path(), &ProjectSlug::of(Path::new("/elsewhere"))).rules().is_empty());
}

#[test]
fn what_people_wrote_into_the_file_stays() {
    let dir = TempDir::new().unwrap();
    put(dir.path(), "# mine\n[[allow]]\nrule = \"Bash(make:*)\" # because");
    let approvals = Approvals::load(dir.path(), &project());
    approvals.add(rule("Bash(ls)")).unwrap();
    let text = std::fs::read_to_string(file(dir.path())).unwrap();
    assert!(text.starts_with("# mine\n") && text.contains("# because\n"), "{text}");
    assert_eq!(Approvals::load(dir.path(), &project()).list(), [rule("Bash(make:*)"), rule("Bash(ls)")]);
}

#[test]
fn a_broken_file_permits_nothing_and_is_kept() {
    for text in [
        &b"[[allow]\nrule = 1"[..],
        b"allow = [\"Bash\"]",
        b"[[allow]]\nrule = 1",
        b"\xff\xfe",
        b"[[allow]]\nrules = \"Bash\"",
    ] {
        let dir = TempDir::new().unwrap();
        put(dir.path(), text);
        let approvals = Approvals::load(dir.path(), &project());
        assert!(approvals.rules().is_empty(), "{text:?}");
        let problems = approvals.problems();
        assert!(problems.len() == 1 && problems[0].contains("approvals.toml"), "{problems:?}");
        assert!(matches!(approvals.remove(&rule("Bash")), Err(ApprovalsError::Broken { .. })));
        assert_eq!(std::fs::read(file(dir.path())).unwrap(), text);
        approvals.add(rule("Bash(ls)")).unwrap();
        assert_eq!(Approvals::load(dir.path(), &project()).list(), [rule("Bash(ls)")]);
        let aside = file(dir.path()).with_extension("broken-1.toml");
        assert_eq!(std::fs::read(aside).unwrap(), text);
    }
}

#[test]
fn one_bad_rule_does_not_take_the_others_along() {
    let dir = TempDir::new().unwrap();
    put(dir.path(), "[[allow]]\nrule = \"bash(ls)\"\n[[allow]]\nrule = \"Bash(make)\"\n");
    let approvals = Approvals::load(dir.path(), &project());
    assert_eq!(approvals.list(), [rule("Bash(make)")]);
    assert!(approvals.problems()[0].contains("the tool is called `Bash`"));
    approvals.add(rule("Bash(ls)")).unwrap();
    assert!(std::fs::read_to_string(file(dir.path())).unwrap().contains("bash(ls)"));
    // Taking one out would lose the line that can't be understood.
    assert!(approvals.remove(&rule("Bash(make)")).is_err());
}

#[test]
fn a_file_that_is_too_large_or_no_file_permits_nothing() {
    let dir = TempDir::new().unwrap();
    put(dir.path(), format!("[[allow]]\nrule = \"Bash\"\n{}", "#\n".repeat(600_000)));
    assert!(Approvals::load(dir.path(), &project()).rules().is_empty());
    let dir = TempDir::new().unwrap();
    std::fs::create_dir_all(file(dir.path())).unwrap();
    let approvals = Approvals::load(dir.path(), &project());
    assert!(approvals.rules().is_empty() && approvals.problems().len() == 1);
}

#[test]
fn who_adds_at_once_loses_nothing() {
    let dir = TempDir::new().unwrap();
    std::thread::scope(|scope| {
        for who in 0..4 {
            let root = dir.path();
            scope.spawn(move || {
                // As another process would: with a lock and a memory of its own.
                let approvals = Approvals::load(root, &project());
                for which in 0..10 {
                    approvals.add(rule(&format!("Bash(make {who}-{which})"))).unwrap();
                }
            });
        }
    });
    assert_eq!(Approvals::load(dir.path(), &project()).list().len(), 40);
}

#[test]
fn what_was_approved_is_permitted_from_then_on() {
    let dir = TempDir::new().unwrap();
    let mut scene = Scene::new();
    scene.approvals = Arc::new(Approvals::load(dir.path(), &project()));
    let policy = scene.policy();
    let ask = |command: &str| word(&policy.decide("Bash", &scene.command(command), Mode::Ask));
    assert_eq!(ask("make test"), "ask");
    scene.approvals.add(rule("Bash(make test)")).unwrap();
    assert_eq!(ask("make test"), "allow");
    scene.approvals.add_for_session(rule("Bash(make lint)"));
    assert_eq!(ask("make lint && make test"), "allow");
    scene.approvals.remove(&rule("Bash(make test)")).unwrap();
    assert_eq!(ask("make test"), "ask");
    // No project, nothing to remember for.
    let session = Approvals::for_session();
    assert!(matches!(session.add(rule("Bash")), Err(ApprovalsError::NoProject)));
    session.add_for_session(rule("Bash(ls)"));
    assert!(session.remove(&rule("Bash(ls)")).unwrap());
}
