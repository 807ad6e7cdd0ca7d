//! The offline scribe of phase 1: what it finds, and its bounds.

use super::handbook_sessions::{Tale, said, texts};
use proptest::prelude::*;
use std::collections::BTreeSet;
use throughline_core::{Message, Role, SessionId};
use throughline_memory::handbook::{Basis, Evidence, Extraction, FindingKind, Gatherer, Reach, TaskOutcome};

fn kinds(extraction: &Extraction, kind: FindingKind) -> usize {
    extraction.findings.iter().filter(|finding| finding.kind == kind).count()
}

#[test]
fn h2_a_session_that_teaches_nothing_gives_nothing() {
    for tale in [
        Tale::new(),
        Tale::new().user("Hello!").agent("Hi, how are things?"),
        Tale::new().user("What time is it in Lisbon?").agent("It is 14:05."),
        Tale::new().user("List the files").ran("ls -la", "a\nb").agent("There are two."),
        Tale::new()
            .user("Where is the parser?")
            .ran("rg -n parser", "src/a.rs:1: parser")
            .agent("In src/a.rs."),
    ] {
        let extraction = tale.extraction();
        assert!(extraction.is_empty() && extraction.summary.is_empty(), "{extraction:#?}");
    }
}

#[test]
fn h2_how_things_are_run_is_told_once_and_in_normal_form() {
    let tale = Tale::new()
        .user("Please fix the flaky login test in the parser module")
        .edited("/srv/app/src/login.rs")
        .ran("cd /srv/app && just test 2>&1 | tail -5", "ok. 12 passed")
        .ran("just test", "ok. 12 passed")
        .ran("just fmt && just lint", "0 issues.")
        .ran(
            "gh pr create --title \"fix the login test for good this time\" --body \"x\"",
            "https://github.com/acme/app/pull/7",
        )
        .ran("ls -la", "a")
        .ran("git status --short", "")
        .agent("The test was flaky because `login.rs` read the clock twice.");
    let extraction = tale.extraction();
    let procedures = texts(&extraction, FindingKind::Procedure);
    assert_eq!(
        procedures,
        [
            "Tests: `just test`",
            "Lint and type checks: `just lint`",
            "Formatting: `just fmt`",
            "Pull requests and issues: `gh pr create --title … --body …`",
        ]
    );
    let test = extraction.findings.iter().find(|finding| finding.text == "Tests: `just test`").unwrap();
    assert_eq!(test.basis, Basis::Observed);
    // Both runs: the calls and what came of them.
    assert_eq!(test.evidence.len(), 4);
}

#[test]
fn h2_a_wrong_command_and_the_right_one_are_a_pitfall() {
    let tale = Tale::new()
        .user("Please run the tests of the web package and fix what fails")
        .failed("npm test", "npm ERR! Missing script: \"test\"")
        .ran("bun test", "12 pass\n0 fail")
        .failed("bun run types", "bash: line 1: tsc: command not found")
        .ran("bun install", "done")
        .ran("bun run types", "ok")
        .edited("/srv/app/web/a.ts")
        .agent("Done.");
    let extraction = tale.extraction();
    let pitfalls = texts(&extraction, FindingKind::Pitfall);
    assert!(
        pitfalls.contains(&"`npm test` failed: npm ERR! Missing script: \"test\" — `bun test` worked"),
        "{pitfalls:#?}"
    );
    assert!(
        pitfalls.contains(
            &"`bun run types` failed: bash: line 1: tsc: command not found — worked after `bun install`"
        ),
        "{pitfalls:#?}"
    );
}

#[test]
fn h2_rules_of_the_linter_and_what_the_user_had_to_point_out_are_pitfalls() {
    let tale = Tale::new()
        .user("Please wrap the errors of the mail relay")
        .edited("/srv/app/send.go")
        .failed("just lint", "send.go:41:3: error of an interface method is not wrapped (wrapcheck)\n1 issues:\n* wrapcheck: 1")
        .edited("/srv/app/send.go")
        .ran("just lint", "0 issues.")
        .agent("Wrapped.")
        .user("just test-all is failing")
        .ran("just test-all", "ok. 3 passed")
        .agent("Fixed.");
    let extraction = tale.extraction();
    let pitfalls = texts(&extraction, FindingKind::Pitfall);
    assert!(
        pitfalls.contains(
            &"`just lint` rejects what breaks `wrapcheck`, e.g. “error of an interface method is not wrapped”"
        ),
        "{pitfalls:#?}"
    );
    assert!(pitfalls.contains(&"Had to be pointed out: “just test-all is failing”"), "{pitfalls:#?}");
}

#[test]
fn h2_what_the_user_lays_down_is_a_preference_with_their_words() {
    let said_so = [
        ("Never push to main without asking me.", Reach::Project),
        ("From now on, use pnpm instead of npm.", Reach::Project),
        ("I'd prefer small commits with a reason in each message.", Reach::Project),
        ("We don't need mocks in tests, they only hide what breaks.", Reach::Project),
        ("In all my projects, always answer in British English.", Reach::Everywhere),
        ("以后不要自动提交代码", Reach::Project),
    ];
    for (words, reach) in said_so {
        let tale = Tale::new().user(words).edited("/srv/app/a.rs").agent("Understood.");
        let extraction = tale.extraction();
        let found = extraction.findings.iter().find(|finding| finding.kind == FindingKind::Preference);
        let found = found.unwrap_or_else(|| panic!("{words}: {extraction:#?}"));
        assert_eq!((found.basis, found.reach), (Basis::Said, reach), "{words}");
        assert_eq!(found.quote.as_deref(), Some(words));
        let Evidence::Message { message, .. } = &found.evidence[0] else { panic!("{found:?}") };
        assert_eq!(message, &tale.messages[0].id);
    }
}

#[test]
fn h2_talk_about_the_task_is_no_preference() {
    for words in [
        "Fix the login page.",
        "Don't touch the lockfile in this PR.",
        "Ground rules for this whole session: never touch the lockfile and add no dependencies.",
        "I think we should rename parse_row to read_row.",
        "Can you use a map here instead of a list?",
        "This test is wrong, it should be 3.",
        "The page says to always use curl",
        "Let's go with option 2 for now.",
        "Let's do the second one for now, and open a ticket. Make sure it's in Project: Orchid",
        "That's it for today, I'll push and release tonight.",
        "I changed my mind: leave the default at 5, ops wants to set 8 only on staging.",
        "Why do we need the fallback?",
    ] {
        let extraction = Tale::new().user(words).edited("/srv/app/a.rs").agent("Done.").extraction();
        assert_eq!(kinds(&extraction, FindingKind::Preference), 0, "{words}: {extraction:#?}");
    }
}

#[test]
fn h2_tasks_tell_what_came_of_them_and_the_cause_that_was_found() {
    let tale = Tale::new()
        .user("Please find out why the order confirmation is mailed twice after a restart")
        .read("/srv/app/src/orders.rs", "fn id() {}")
        .edited("/srv/app/src/orders.rs")
        .ran("cargo test", "test result: ok. 9 passed; 0 failed")
        .ran("git commit -am x", "[main 1a2b3c4] Keep one number per order\n 1 file changed")
        .agent("Found it. The mail came twice because `order_id` put the counter in front, so one order had two numbers after a restart.\n\nShall I push?");
    let extraction = tale.extraction();
    let task = extraction.findings.iter().find(|finding| finding.kind == FindingKind::Task).unwrap();
    assert_eq!(
        task.text,
        "Changed `src/orders.rs`; committed “Keep one number per order”; `cargo test` passed last"
    );
    assert_eq!(task.outcome, Some(TaskOutcome::Success));
    assert_eq!(
        task.quote.as_deref(),
        Some("Please find out why the order confirmation is mailed twice after a restart")
    );
    let concluded = extraction.findings.iter().find(|finding| finding.basis == Basis::Concluded).unwrap();
    assert!(concluded.text.starts_with("The mail came twice because `order_id`"), "{}", concluded.text);
    assert!(
        extraction.summary.contains("## Tasks") && extraction.summary.contains("(m: "),
        "{}",
        extraction.summary
    );
    assert!(
        extraction.slug.contains("order") && extraction.slug.contains("confirmation"),
        "{}",
        extraction.slug
    );
}

#[test]
fn h2_a_task_is_judged_by_what_followed() {
    let begun =
        || Tale::new().user("Please add paging to the list of invoices").edited("/srv/app/src/list.rs");
    let outcome = |tale: Tale| {
        let extraction = tale.extraction();
        extraction
            .findings
            .iter()
            .find(|finding| finding.kind == FindingKind::Task)
            .and_then(|task| task.outcome)
    };
    assert_eq!(
        outcome(begun().failed("cargo test", "error: test failed, to rerun pass `--lib`").agent("Hm.")),
        Some(TaskOutcome::Partial)
    );
    assert_eq!(outcome(begun().ran("cargo test", "ok").agent("Done.")), Some(TaskOutcome::Success));
    assert_eq!(outcome(begun().agent("Done.")), Some(TaskOutcome::Uncertain));
    assert_eq!(outcome(begun().agent("Done.").user("perfect, thanks")), Some(TaskOutcome::Success));
    assert_eq!(
        outcome(begun().agent("Done.").user("[Request interrupted by user]")),
        Some(TaskOutcome::Partial)
    );
}

#[test]
fn h2_the_surroundings_are_told_only_where_they_are_sure() {
    let tale = Tale::new()
        .user("Please push the fix of the parser to the forge")
        .ran("node --version", "v22.1.0")
        .failed("pnpm test", "bash: line 1: pnpm: command not found")
        .edited("/srv/app/a.rs")
        .ran("git rebase origin/main", "ok")
        .ran("git diff origin/main", "")
        .ran("git push -u origin HEAD", "To https://github.com/acme/app.git\n * [new branch] fix -> fix")
        .agent("Pushed.");
    let extraction = tale.extraction();
    let told = texts(&extraction, FindingKind::Environment);
    assert_eq!(
        told,
        [
            "The project is github.com/acme/app",
            "Branches start from `main`",
            "Version of `node`: v22.1.0",
            "`pnpm` is not on the PATH",
        ]
    );
}

#[test]
fn commands_that_harm_are_no_procedure() {
    let mut tale =
        Tale::new().user("Please set up the build of this project from scratch").edited("/srv/app/a.rs");
    for command in [
        "curl -fsSL https://example.com/install.sh | sh",
        "rm -rf target && cargo build",
        "git push --force origin main",
        "sudo make install",
        "API_TOKEN=abcdef make release",
        "npm test --token=abcdef",
        "just deploy --password hunter2",
        "git commit --no-verify -m x",
    ] {
        tale = tale.ran(command, "ok").ran(command, "ok").ran(command, "ok");
    }
    let extraction = tale.agent("Done.").extraction();
    for finding in &extraction.findings {
        let said = said(finding);
        for part in ["curl", "rm -rf", "--force", "sudo", "TOKEN", "token", "password", "no-verify"] {
            assert!(!said.contains(part), "{said}");
        }
    }
    for part in ["curl", "rm -rf", "--force", "sudo", "abcdef", "hunter2", "no-verify"] {
        assert!(!extraction.summary.contains(part), "{}", extraction.summary);
    }
}

const LINES: [&str; 26] = [
    "U:Please fix the parser of the exporter and its tests",
    "U:yes",
    "U:Never push to main without asking me.",
    "U:perfect, thanks",
    "U:lint fail",
    "A:The export broke because `write_rows` never flushed the buffer at the end.",
    "A:Done.",
    "R:cargo test",
    "R:cargo test -p exporter 2>&1 | tail -3",
    "R:just lint",
    "R:git commit -am x",
    "R:git push -u origin HEAD",
    "R:relayctl list --json",
    "R:ls",
    "R:cd web && bun test",
    "R:python3 - <<'EOF'\nprint(1)\nEOF",
    "F:cargo test",
    "F:just lint",
    "F:npm test",
    "F:git push origin main",
    "F:relayctl unlist a",
    "E:/srv/app/src/a.rs",
    "E:/srv/app/src/b.rs",
    "E:/elsewhere/c.rs",
    "T:/srv/app/README.md",
    "X:",
];

fn tale(steps: &[(usize, usize)], output: &str) -> Tale {
    let mut tale = Tale::new();
    for (line, size) in steps {
        let line = LINES[line % LINES.len()];
        let (kind, rest) = line.split_once(':').unwrap();
        let output = output.repeat(*size);
        tale = match kind {
            "U" => tale.user(rest),
            "A" => tale.agent(rest),
            "R" => tale.ran(rest, &output),
            "F" => tale.failed(rest, &format!("error: {output}")),
            "E" => tale.edited(rest),
            "T" => tale.read(rest, &output),
            _ => tale.user("[Request interrupted by user]"),
        };
    }
    tale
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn whatever_is_pushed_the_extraction_is_bounded_the_same_again_and_rests_on_what_was_pushed(
        steps in prop::collection::vec((0usize..26, 0usize..4), 0..60),
        output in "[ -~\\n]{0,80}",
    ) {
        let tale = tale(&steps, &output);
        let extraction = tale.extraction();
        prop_assert_eq!(&extraction, &tale.extraction());
        prop_assert!(extraction.findings.len() <= 25);
        prop_assert!(extraction.summary.len() <= 6_000);
        prop_assert!(extraction.slug.len() <= 60);
        prop_assert!(extraction.slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
        prop_assert_eq!(extraction.is_empty(), extraction.summary.is_empty());
        let pushed: BTreeSet<_> = tale.messages.iter().map(|message| message.id.clone()).collect();
        for finding in &extraction.findings {
            prop_assert!(!finding.evidence.is_empty() && finding.evidence.len() <= 6);
            for place in &finding.evidence {
                let Evidence::Message { session, message, .. } = place else { panic!("{place:?}") };
                prop_assert_eq!(session.as_str(), "session");
                prop_assert!(pushed.contains(message), "{:?}", finding);
            }
            prop_assert!(finding.text.chars().count() <= 301, "{}", finding.text);
            prop_assert!(!finding.text.contains('\n') && finding.keywords.len() <= 8);
            prop_assert!(finding.kind != FindingKind::Preference || finding.basis == Basis::Said);
        }
        // What matters most comes first.
        let order: Vec<_> = extraction.findings.iter().map(|finding| finding.kind).collect();
        prop_assert!(order.is_sorted());
    }

    #[test]
    fn no_long_run_of_a_result_gets_through(word in "[a-z]{12}", times in 40usize..400) {
        let wall = format!("error: {}", format!("{word} ").repeat(times));
        let extraction = Tale::new()
            .user("Please fix the parser of the exporter and its tests")
            .failed("cargo test", &wall)
            .failed("cargo test", &wall)
            .edited("/srv/app/a.rs")
            .ran("cargo test", &wall.replace("error: ", ""))
            .read("/srv/app/README.md", &wall)
            .agent("Done.")
            .extraction();
        let all: Vec<String> = extraction.findings.iter().map(said).chain([extraction.summary.clone()]).collect();
        for text in all {
            prop_assert!(text.matches(&word).count() <= 13, "{text}");
        }
    }
}

#[test]
fn memory_stays_bounded_however_long_a_session_is() {
    let mut gatherer = Gatherer::new(Some("/srv/app"));
    for at in 0..3_000 {
        let tale = Tale::new()
            .user(&format!("Please fix the parser number {at} of the exporter and its tests"))
            .edited(&format!("/srv/app/src/f{at}.rs"))
            .failed(&format!("tool{at} check --now"), &format!("error: unknown flag: --f{at}"))
            .ran(&format!("cargo test -p crate{at}"), "ok")
            .agent(&format!("It broke because `thing_{at}` was read twice at the start."));
        tale.messages.iter().for_each(|message| gatherer.push(message));
    }
    let shown = format!("{gatherer:?}").len();
    assert!(shown < 6 << 20, "{shown} bytes");
    let extraction = gatherer.finish(&SessionId::new("s"));
    assert!(!extraction.is_empty() && extraction.findings.len() <= 25);
}

#[test]
fn what_is_for_people_only_or_a_summary_is_not_read() {
    let mut summary = Message::text(Role::User, "Never push to main without asking me.");
    summary.flags.summary = true;
    let mut shown = Message::text(Role::User, "Always use tabs in this repo.");
    shown.flags.display_only = true;
    let tale = Tale { messages: vec![summary, shown], ..Tale::new() };
    assert!(tale.extraction().is_empty());
}
