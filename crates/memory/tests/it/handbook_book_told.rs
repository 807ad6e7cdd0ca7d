//! What of a handbook is told: the summary within its limit, and skills.

use crate::handbook_book_corpus::{SHOP, SITE, book, finding, notes, scope, session, shop, site};
use proptest::prelude::*;
use throughline_core::tokens::Counter;
use throughline_memory::handbook::book::{Book, is_summary};
use throughline_memory::handbook::{Evidence, FindingKind, Scope};
use throughline_memory::skill::{Skill, SkillError, SkillLimits};
use throughline_memory::store::Output;

fn counter() -> Counter {
    Counter::for_model("gpt-5.2-codex")
}

#[test]
fn h3_the_summary_leads_to_what_is_there() {
    let shop = book(&scope(SHOP), &shop(), &notes(), None);
    insta::assert_snapshot!("memory_summary_md", shop.summary(2_500, &mut counter()));
    insta::assert_snapshot!("memory_summary_md_short", shop.summary(220, &mut counter()));
}

#[test]
fn h3_a_summary_is_one_whatever_the_limit() {
    let empty = Book::default();
    assert!(is_summary(&empty.summary(0, &mut counter())));
    assert!(!is_summary("v2\n\n## User Profile\n") && !is_summary(""));
    let shop = book(&scope(SHOP), &shop(), &notes(), None);
    let least = counter().text(&shop.summary(0, &mut counter()));
    let mut before = 0;
    for tokens in (0..900).step_by(7) {
        let text = shop.summary(tokens, &mut counter());
        let taken = counter().text(&text);
        assert!(is_summary(&text), "{tokens}: {text}");
        assert!(taken <= tokens.max(least), "{tokens}: {taken}");
        before = before.max(taken);
    }
    assert!(before > 500, "there was more to tell: {before}");
}

#[test]
fn h3_a_procedure_that_proved_stable_is_a_skill() {
    let site = book(&scope(SITE), &site(), &[], None);
    let skills = site.skills();
    assert_eq!(skills.len(), 1, "{skills:?}");
    insta::assert_snapshot!("skill_md", skills[0].to_markdown());
    let limits = SkillLimits::default();
    assert_eq!(Skill::check(&skills[0].to_markdown(), "check-the-site", &limits).as_ref(), Ok(&skills[0]));
    let shop = book(&scope(SHOP), &shop(), &notes(), None);
    let skill = &shop.skills()[0];
    assert!(
        skill.body.contains("1. Run `docker compose up -d db`.\n2. Run `cargo nextest run -p orders`.\n")
    );
    assert!(
        skill.body.contains("## Known problems\n\n- `cargo nextest run -p orders` fails when"),
        "{}",
        skill.body
    );
}

fn runs(text: &str, days: &[&str]) -> Vec<Output> {
    let mut all = Vec::new();
    for (at, day) in days.iter().enumerate() {
        let mut one = session(SHOP, &format!("r-{at}"), &format!("{day}T09:00:00Z"), "x");
        finding(&mut one, FindingKind::Procedure, text);
        all.push(one);
    }
    all
}

#[test]
fn h3_what_did_not_prove_itself_is_no_skill() {
    let skills = |outputs: &[Output]| book(&scope(SHOP), outputs, &[], None).skills().len();
    let days = ["2026-03-01", "2026-03-02", "2026-03-02"];
    let text = "Format and test: `make fmt`, then `make test`.";
    assert_eq!(skills(&runs(text, &days)), 1);
    assert_eq!(skills(&runs(text, &days[..2])), 0, "two sessions");
    assert_eq!(skills(&runs(text, &["2026-03-01"; 3])), 0, "one day");
    assert_eq!(skills(&runs("Look around with `ls`.", &days)), 0, "one step that tells nothing");
    assert_eq!(skills(&runs("Run `cargo test`.", &days)), 1, "one step that tells");
    let mut failed = runs(text, &days);
    let mut late = session(SHOP, "late", "2026-03-09T09:00:00Z", "x");
    finding(&mut late, FindingKind::Pitfall, "`make fmt` fails: no such target.");
    failed.push(late);
    assert_eq!(skills(&failed), 0, "it failed since");
    assert_eq!(skills(&runs("In use here: `make test`, `make build`", &days)), 0, "in use, in no order");
    let mut checks = runs("Tests: `make test`", &days);
    checks.extend(runs("Lint: `make lint`", &days).into_iter().map(|mut output| {
        output.source.session = throughline_core::SessionId::new(format!("l-{}", output.source.session));
        for found in &mut output.extraction.findings {
            let Some(Evidence::Message { session, .. }) = found.evidence.first_mut() else {
                panic!("a message")
            };
            *session = output.source.session.clone();
        }
        output
    }));
    let one = book(&scope(SHOP), &checks, &[], None).skills();
    assert_eq!(one.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["check-changes"]);
    assert!(one[0].body.contains("- Tests: `make test`. Seen") && one[0].body.contains("`make lint`. Seen"));
    assert!(book(&Scope::Global, &runs(text, &days), &[], None).skills().is_empty());
}

#[test]
fn a_skill_is_named_by_the_rules_and_lies_in_a_folder_of_its_name() {
    let limits = SkillLimits::default();
    let text = |name: &str| format!("---\nname: {name}\ndescription: d\n---\nbody\n");
    assert!(Skill::check(&text("a-1"), "a-1", &limits).is_ok());
    for bad in ["-a", "a-", "a--b", "A", "a_b", "a b", "ä", &"a".repeat(65)] {
        assert!(matches!(Skill::check(&text(bad), bad, &limits), Err(SkillError::Name { .. })), "{bad}");
    }
    assert!(matches!(Skill::check(&text("a"), "b", &limits), Err(SkillError::Folder { .. })));
    assert_eq!(Skill::check(&text(""), "", &limits), Err(SkillError::NoName));
    let long = format!("---\nname: a\ndescription: {}\n---\nbody\n", "d".repeat(1_025));
    assert_eq!(
        Skill::check(&long, "a", &limits),
        Err(SkillError::Description { chars: 1_025, limit: 1_024 })
    );
    for (text, error) in [
        ("---\nname: a\ndescription: \"\"\n---\nbody", SkillError::NoDescription),
        ("---\nname: a\ndescription: d\n---\n", SkillError::NoBody),
        ("name: a", SkillError::NoFrontmatter),
    ] {
        assert_eq!(Skill::check(text, "a", &limits), Err(error));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn h3_skills_are_valid_whatever_was_run(text in "\\PC{0,80}", command in "\\PC{1,80}", other in "[^`\\n]{0,30}") {
        let text = format!("{text} `{command}` {other} `make test`");
        let made = book(&scope(SHOP), &runs(&text, &["2026-03-01", "2026-03-02", "2026-03-03"]), &[], None);
        let limits = SkillLimits::default();
        for skill in made.skills() {
            prop_assert_eq!(Skill::check(&skill.to_markdown(), &skill.name, &limits), Ok(skill));
        }
    }
}
