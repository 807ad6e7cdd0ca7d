//! `[permissions]`: a project makes them stricter, and nothing else.

use super::Machine;
use throughline_engine::config::PermissionMode;

#[test]
fn a_project_may_not_loosen_permissions() {
    let machine = Machine::new()
        .user("[permissions]\nallow = [\"Bash(ls:*)\"]\ndeny = [\"Read(secret/**)\"]\nask = [\"Bash(git push:*)\"]")
        .project(
            r#"
            [permissions]
            mode = "full"
            allow = ["Bash"]
            ask = ["Bash(make:*)"]
            deny = ["Edit(vendor/**)"]
            folders = ["/"]
            sandbox = false
            network = true
            env_keep = ["AWS_SECRET_ACCESS_KEY"]
            "#,
        );
    let loaded = machine.load().unwrap();
    let mut ignored: Vec<&str> = loaded.warnings.iter().map(|warning| warning.key.as_str()).collect();
    ignored.sort_unstable();
    assert_eq!(
        ignored,
        [
            "permissions.allow",
            "permissions.env_keep",
            "permissions.folders",
            "permissions.mode",
            "permissions.network",
            "permissions.sandbox",
        ]
    );
    let permissions = loaded.config.permissions;
    assert_eq!(permissions.mode, PermissionMode::Ask);
    assert_eq!(permissions.allow, ["Bash(ls:*)"]);
    // Added, never in place of the user's.
    assert_eq!(permissions.deny, ["Read(secret/**)", "Edit(vendor/**)"]);
    assert_eq!(permissions.ask, ["Bash(git push:*)", "Bash(make:*)"]);
    assert!(permissions.sandbox && !permissions.network);
    assert!(permissions.folders.is_empty() && permissions.env_keep.is_empty());
    let warning =
        loaded.warnings.iter().find(|warning| warning.key == "permissions.mode").unwrap().to_string();
    assert!(warning.contains("stricter, not looser"), "{warning}");
}

#[test]
fn a_project_may_take_lists_from_nobody() {
    let machine =
        Machine::new().user("[permissions]\ndeny = [\"Bash(rm:*)\"]").project("[permissions]\ndeny = []");
    assert_eq!(machine.config().permissions.deny, ["Bash(rm:*)"]);
    let machine = Machine::new().project("[permissions]\ndeny = [\"Bash(rm:*)\"]");
    assert_eq!(machine.config().permissions.deny, ["Bash(rm:*)"]);
    // The user's own word on the command line is the user's.
    let machine = machine.flag("permissions.deny", "[\"Bash(mv:*)\"]");
    assert_eq!(machine.config().permissions.deny, ["Bash(mv:*)"]);
}

#[test]
fn a_project_may_only_choose_a_stricter_mode() {
    for (user, project, mode) in [
        ("ask", "plan", PermissionMode::Plan),
        ("ask", "ask", PermissionMode::Ask),
        ("ask", "accept-edits", PermissionMode::Ask),
        ("ask", "full", PermissionMode::Ask),
        ("plan", "ask", PermissionMode::Plan),
        ("plan", "full", PermissionMode::Plan),
        ("full", "ask", PermissionMode::Ask),
        ("full", "plan", PermissionMode::Plan),
        ("accept-edits", "full", PermissionMode::AcceptEdits),
        ("accept-edits", "ask", PermissionMode::Ask),
    ] {
        let file = |mode: &str| format!("[permissions]\nmode = \"{mode}\"");
        let machine = Machine::new().user(&file(user)).project(&file(project));
        assert_eq!(machine.config().permissions.mode, mode, "{user}, {project}");
        let flagged = machine.flag("permissions.mode", "full");
        assert_eq!(flagged.config().permissions.mode, PermissionMode::Full);
    }
    let machine = Machine::new()
        .user("[permissions]\nsandbox = false\nnetwork = true")
        .project("[permissions]\nsandbox = true\nnetwork = false");
    let permissions = machine.config().permissions;
    assert!(permissions.sandbox && !permissions.network);
}

#[test]
fn mistakes_in_permissions_are_errors() {
    for (text, message) in [
        ("mode = \"yolo\"", "must be `\"ask\"`, `\"accept-edits\"`, `\"plan\"`, `\"full\"`"),
        ("mode = false", "must be `\"ask\"`"),
        ("deny = \"Bash\"", "must be a list of text"),
        ("deny = [\"\"]", "a rule is not empty"),
        ("deny = false", "must be a list of text"),
        ("folders = [\"x\"]", "must be absolute"),
        ("env_keep = [\"A=B\"]", "no name of a variable"),
        ("sandbx = true", "did you mean `permissions.sandbox`?"),
    ] {
        let text = format!("[permissions]\n{text}");
        let error = Machine::new().user(&text).error();
        assert!(error.contains(message), "{text}: {error}");
        // In a project it is a mistake too, not a way around.
        let loaded = Machine::new().project(&text).load();
        match loaded {
            Ok(loaded) => {
                assert_eq!(loaded.config.permissions, Machine::new().config().permissions, "{text}")
            }
            Err(error) => assert!(error.to_string().contains(message), "{text}: {error}"),
        }
    }
    let machine = Machine::new().variable("THROUGHLINE_PERMISSIONS_MODE", "accept-edits");
    assert_eq!(machine.config().permissions.mode, PermissionMode::AcceptEdits);
}
