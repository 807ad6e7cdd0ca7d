//! What holds for all commands and rules.

use super::permissions::{Scene, word};
use proptest::prelude::*;
use throughline_agent::Access;
use throughline_agent::permissions::{Mode, Verdict};

/// Commands, and pieces of commands, that mean something to a shell.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(vec![
            "ls", "cat", "git", "status", "rm", "-rf", "x", "src/main.rs", "echo", "cargo", "test", "-o", "sort", "find", ".",
            "-exec", "bash", "-c", "/etc/shadow", "../x", "~", ".env", ".git/config", "sudo", "xargs", "X=1", "PATH=.", "if",
            "then", "fi", "do", "done", "[", "]", "[[", "cd", "sed", "-n", "1p", "head",
        ]).prop_map(str::to_owned),
        4 => prop::sample::select(vec![
            " ", " ", " ", "\n", "\t", ";", "&&", "||", "|", "&", "(", ")", "{", "}", "$(", "`", "'", "\"", "\\", "\\\n", "$'",
            "${", "$X", "$", "<", ">", ">>", "<<EOF\n", "\nEOF\n", "<<<", "<(", ">(", "2>&1", "#", "*", "?", "~", "!", "=", "{a,b}",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(|c| c.to_string()),
    ]
}

fn line() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..16).prop_map(|pieces| pieces.join(""))
}

fn words() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..12).prop_map(|pieces| pieces.join(" "))
}

/// Commands that are asked, whole in themselves.
fn asked() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "rm x",
        "cargo build",
        "cat /etc/shadow",
        "echo x > out",
        "X=1",
        "$X",
        "echo $(rm x)",
        "sort -o x y",
        "git push",
        "cat .env",
        "if true; then rm x; fi",
        "find . -delete",
        "cd .. && ls",
        "bash -c 'ls'",
        "ls > /tmp/x",
        "cat <<'EOF'\na\nEOF\nrm x",
    ])
}

fn rule() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "Bash(ls:*)",
        "Bash(rm:*)",
        "Bash(cat:*)",
        "Bash(git status)",
        "Bash(cargo test *)",
        "Bash(*x*)",
        "Bash(echo:*)",
        "Read(src/**)",
        "Edit(x)",
        "Read(**)",
        "Edit(**)",
        "Bash(find:*)",
        "Bash(sudo:*)",
    ])
}

proptest! {
    #[test]
    fn any_text_is_judged(text in prop_oneof![line(), words(), any::<String>()]) {
        let scene = Scene::new().deny(&["Bash(rm:*)"]).allow(&["Bash(ls:*)"]);
        for mode in Mode::ALL {
            let _ = scene.run(&text, mode);
        }
    }

    #[test]
    fn more_text_never_permits_what_was_asked(
        base in asked(),
        joint in prop::sample::select(vec![";", " && ", " || ", " | ", "\n", " & "]),
        other in prop::sample::select(vec!["ls", "echo ok", "true", "git status", "cat README.md", "echo $(ls)", "(ls)"]),
        is_first in any::<bool>(),
    ) {
        let scene = Scene::new();
        prop_assert_eq!(word(&scene.run(base, Mode::Ask)), "ask");
        let longer = if is_first { format!("{base}{joint}{other}") } else { format!("{other}{joint}{base}") };
        prop_assert_ne!(word(&scene.run(&longer, Mode::Ask)), "allow", "{:?}", longer);
        for longer in [format!("echo $({base})"), format!("echo \"$({base})\""), format!("ls $({base}\n)"), format!("({base}\n)"), format!("{{ {base}\n}}")] {
            prop_assert_ne!(word(&scene.run(&longer, Mode::Ask)), "allow", "{:?}", longer);
        }
    }

    #[test]
    fn an_allow_rule_never_lifts_a_deny(text in prop_oneof![line(), words()], denied in rule(), allowed in rule()) {
        let strict = Scene::new().deny(&[denied]);
        let loose = Scene::new().deny(&[denied]).allow(&[allowed, "Bash", "Read", "Edit"]);
        for mode in Mode::ALL {
            if let Verdict::Deny { .. } = strict.run(&text, mode) {
                prop_assert_eq!(word(&loose.run(&text, mode)), "deny", "{:?}", text);
            }
        }
        let write = Access::Write { paths: vec![strict.work().join("x")] };
        if let Verdict::Deny { .. } = strict.policy().decide("Edit", &write, Mode::Full) {
            let write = Access::Write { paths: vec![loose.work().join("x")] };
            prop_assert_eq!(word(&loose.policy().decide("Edit", &write, Mode::Full)), "deny");
        }
    }

    #[test]
    fn a_rule_that_denies_or_asks_never_permits_more(text in prop_oneof![line(), words()], more in rule()) {
        let rank = |verdict: &Verdict| match verdict {
            Verdict::Allow => 0,
            Verdict::Ask(_) => 1,
            Verdict::Deny { .. } => 2,
        };
        let plain = Scene::new().allow(&["Bash(ls:*)"]);
        let asking = Scene::new().allow(&["Bash(ls:*)"]).ask(&[more]);
        let denying = Scene::new().allow(&["Bash(ls:*)"]).deny(&[more]);
        for mode in Mode::ALL {
            let before = rank(&plain.run(&text, mode));
            prop_assert!(rank(&asking.run(&text, mode)) >= before, "{:?} in {}", text, mode);
            prop_assert!(rank(&denying.run(&text, mode)) >= before, "{:?} in {}", text, mode);
        }
    }

    #[test]
    fn what_is_offered_permits_what_was_asked(text in prop_oneof![line(), words()]) {
        let scene = Scene::new();
        if let Verdict::Ask(question) = scene.run(&text, Mode::Ask) {
            for offer in question.offers {
                let scene = Scene::new().allow(&[offer.rule.as_str()]);
                prop_assert_eq!(word(&scene.run(&text, Mode::Ask)), "allow", "{:?} by {}", text, offer.rule);
            }
        }
    }

    #[test]
    fn what_plan_mode_permits_is_permitted_in_every_mode(text in prop_oneof![line(), words()]) {
        let scene = Scene::new();
        if scene.run(&text, Mode::Plan) == Verdict::Allow {
            for mode in Mode::ALL {
                prop_assert_eq!(scene.run(&text, mode), Verdict::Allow, "{:?} in {}", text, mode);
            }
        }
    }
}

#[test]
fn long_commands_are_judged_too() {
    let scene = Scene::new().deny(&["Bash(rm:*)"]);
    let many = "a ".repeat(50_000);
    for command in [
        format!("env {many}"),
        format!("ls {many}"),
        format!("bash -c '{many}'"),
        format!("echo {}", "$(".repeat(10_000)),
        format!("echo {}", "${".repeat(10_000)),
        "(".repeat(50_000),
        "`".repeat(50_000),
        "<<E ".repeat(20_000),
        "a;".repeat(50_000),
        "x".repeat(300_000),
        format!("cat {}", "*".repeat(5_000)),
    ] {
        assert_ne!(word(&scene.run(&command, Mode::Ask)), "allow", "{:.20}", command);
    }
    assert_eq!(word(&scene.run(&format!("env {many} rm x"), Mode::Full)), "ask");
}
