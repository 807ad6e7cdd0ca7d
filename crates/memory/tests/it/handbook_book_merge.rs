//! Consolidation without a model: what becomes of many sessions' findings.

use crate::handbook_book_corpus::{SHOP, SITE, book, finding, notes, now, scope, session, shop, site};
use proptest::prelude::*;
use std::collections::BTreeSet;
use throughline_memory::handbook::book::{
    Book, MEMORY_TOKENS, MOST_COMPARED, MOST_EVIDENCE, Material, Wording, consolidate_with_effort,
    most_entries,
};
use throughline_memory::handbook::{Basis, FindingKind, HandbookLimits, Reach, Scope};
use throughline_memory::store::Output;

fn texts(book: &Book, kind: FindingKind) -> Vec<&str> {
    book.of(kind).map(|entry| entry.text.as_str()).collect()
}

fn read_back(book: &Book) -> Book {
    let (read, flaws) = Book::parse(&book.to_markdown(), &book.evidence_markdown());
    assert!(flaws.is_empty(), "{flaws:?}");
    assert_eq!(&read, book);
    read
}

#[test]
fn h3_the_book_of_a_project() {
    let shop = book(&scope(SHOP), &shop(), &notes(), None);
    insta::assert_snapshot!("memory_md", shop.to_markdown());
    insta::assert_snapshot!("evidence_md", shop.evidence_markdown());
    read_back(&shop);
}

#[test]
fn h3_what_was_said_twice_stands_once_with_the_newest_words_and_all_evidence() {
    let shop = book(&scope(SHOP), &shop(), &[], None);
    let rule = shop.of(FindingKind::Preference).find(|entry| entry.text.contains("migrations")).unwrap();
    assert_eq!(rule.text, "Never edit the files below migrations/ once they are merged!");
    assert_eq!((rule.evidence.len(), rule.support), (2, 2));
    assert!(rule.first < rule.last);
    // Commands are the same wherever their output went.
    let tests: Vec<_> =
        shop.of(FindingKind::Procedure).filter(|entry| entry.text.contains("nextest")).collect();
    assert_eq!((tests.len(), tests[0].support), (1, 3), "{tests:?}");
}

#[test]
fn h3_the_newer_of_two_that_deny_each_other_stands() {
    let shop = book(&scope(SHOP), &shop(), &[], None);
    let rules = texts(&shop, FindingKind::Preference);
    let about: Vec<&&str> = rules.iter().filter(|text| text.contains("anyhow")).collect();
    assert_eq!(
        about,
        [
            &"Don't use anyhow in the handlers; typed errors with thiserror. (before 2026-03-09: Use anyhow in the handlers.)"
        ]
    );
}

#[test]
fn h3_the_same_material_in_any_order_gives_the_same_book_twice() {
    let mut outputs = shop();
    let first = book(&scope(SHOP), &outputs, &notes(), None);
    outputs.reverse();
    outputs.rotate_left(2);
    assert_eq!(book(&scope(SHOP), &outputs, &notes(), None), first);
    let again = book(&scope(SHOP), &outputs, &notes(), Some(&read_back(&first)));
    assert_eq!(again, first);
}

#[test]
fn h3_one_more_session_changes_few_lines() {
    let mut outputs = shop();
    let before = book(&scope(SHOP), &outputs, &[], None);
    let mut more = session(SHOP, "s-07", "2026-03-22T10:00:00Z", "cents");
    finding(&mut more, FindingKind::Preference, "Money is never a float; use the Cents type from core.");
    finding(&mut more, FindingKind::Task, "Print receipts with cents.");
    outputs.push(more);
    let after = book(&scope(SHOP), &outputs, &[], Some(&before));
    let lines = |book: &Book| book.to_markdown().lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let changed: Vec<String> = lines(&after).difference(&lines(&before)).cloned().collect();
    // The header's time, the statement that was said again, and the new task.
    assert_eq!(changed.len(), 3, "{changed:?}");
    // What did not change keeps its order.
    let order = |book: &Book| -> Vec<String> {
        let all = lines(&before);
        book.to_markdown()
            .lines()
            .filter(|line| line.starts_with("- ") && all.contains(*line))
            .map(str::to_owned)
            .collect()
    };
    let kept: Vec<String> = order(&before).into_iter().filter(|line| order(&after).contains(line)).collect();
    assert_eq!(kept, order(&after));
}

#[test]
fn h3_what_lost_its_evidence_is_forgotten() {
    let outputs = shop();
    let before = read_back(&book(&scope(SHOP), &outputs, &notes(), None));
    let left: Vec<Output> = outputs
        .into_iter()
        .filter(|output| !matches!(output.source.session.as_str(), "s-03" | "s-06"))
        .collect();
    let after = book(&scope(SHOP), &left, &[], Some(&before));
    let text = format!("{}{}", after.to_markdown(), after.evidence_markdown());
    for gone in ["Cents", "thiserror", "s-03", "s-06", "Tuesdays", "release-day"] {
        assert!(!text.contains(gone), "{gone}: {text}");
    }
    // What another session bears out stays, with its words and its evidence alone.
    let rule = after.of(FindingKind::Preference).find(|entry| entry.text.contains("migrations")).unwrap();
    assert_eq!(
        (rule.text.as_str(), rule.support),
        ("Never edit files below migrations/ once they are merged.", 1)
    );
    assert!(texts(&after, FindingKind::Preference).contains(&"Use anyhow in the handlers."));
    let none = book(&scope(SHOP), &[], &[], Some(&before));
    assert!(none.is_empty());
}

#[test]
fn h3_what_a_person_worded_stays_while_its_evidence_does() {
    let outputs = shop();
    let before = book(&scope(SHOP), &outputs, &[], None);
    let edited = before
        .to_markdown()
        .replace("Money is never a float: use the Cents type from core.", "Amounts are Cents, never f64.");
    assert_ne!(edited, before.to_markdown());
    let (before, flaws) = Book::parse(&edited, &before.evidence_markdown());
    assert!(flaws.is_empty(), "{flaws:?}");
    let mut more = outputs.clone();
    let mut again = session(SHOP, "s-07", "2026-03-22T10:00:00Z", "cents");
    finding(&mut again, FindingKind::Preference, "Money is never a float; use the Cents type from core, ok?");
    more.push(again);
    let after = book(&scope(SHOP), &more, &[], Some(&before));
    let about: Vec<_> =
        after.of(FindingKind::Preference).filter(|entry| entry.text.contains("Cents")).collect();
    assert_eq!(about.len(), 1, "{about:?}");
    assert_eq!(
        (about[0].text.as_str(), about[0].wording),
        ("Amounts are Cents, never f64.", Wording::Theirs)
    );
    assert_eq!(about[0].support, 2);
    let twice = book(&scope(SHOP), &more, &[], Some(&read_back(&after)));
    assert_eq!(twice, after);
    let left: Vec<Output> =
        outputs.into_iter().filter(|output| output.source.session.as_str() != "s-06").collect();
    let after = book(&scope(SHOP), &left, &[], Some(&before));
    assert!(!after.to_markdown().contains("Cents"));
}

#[test]
fn h3_what_a_person_took_out_does_not_come_back() {
    let outputs = shop();
    let before = book(&scope(SHOP), &outputs, &[], None);
    let text = before.to_markdown();
    let cut: String = text
        .lines()
        .filter(|line| !line.contains("Answer in short"))
        .fold(String::new(), |all, line| all + line + "\n");
    let (mut before, _) = Book::parse(&cut, &before.evidence_markdown());
    for _ in 0..3 {
        before = read_back(&book(&scope(SHOP), &outputs, &[], Some(&before)));
        assert!(!before.to_markdown().contains("Answer in short"));
    }
    // Text between stays, too; and a book that was deleted as a whole is written anew.
    let (by_hand, _) = Book::parse(&format!("{cut}\nSee the wiki.\n"), &before.evidence_markdown());
    assert!(book(&scope(SHOP), &outputs, &[], Some(&by_hand)).to_markdown().contains("\nSee the wiki.\n"));
    let (deleted, _) = Book::parse("", &before.evidence_markdown());
    assert!(book(&scope(SHOP), &outputs, &[], Some(&deleted)).to_markdown().contains("Answer in short"));
}

#[test]
fn h3_lines_that_differ_in_a_name_are_one_and_facts_that_say_less_are_told_by_those_that_say_more() {
    let mut outputs = Vec::new();
    for (at, rule) in ["errcheck", "unused", "errcheck"].into_iter().enumerate() {
        let mut one = session(SHOP, &format!("f-{at}"), &format!("2026-03-0{}T09:00:00Z", at + 1), "x");
        let text = format!("`make lint` rejects what breaks `{rule}`, e.g. “line {at} of `file{at}.go`”");
        finding(&mut one, FindingKind::Pitfall, &text);
        finding(&mut one, FindingKind::Procedure, &format!("In use here: `tool list {rule}`"));
        let fact = [
            "The project is shop; branches start from `main`",
            "The project is shop",
            "Branches start from `main`",
        ][at];
        finding(&mut one, FindingKind::Environment, fact);
        // The same came of two things that were asked.
        let task = finding(&mut one, FindingKind::Task, "Changed `cart.rs`; `make test` passed last");
        task.quote =
            Some(["why is the total wrong?", "round up instead", "why is the total wrong?"][at].to_owned());
        outputs.push(one);
    }
    let made = book(&scope(SHOP), &outputs, &[], None);
    assert_eq!(texts(&made, FindingKind::Pitfall), ["`make lint` rejects what breaks `errcheck`, `unused`"]);
    assert_eq!(
        texts(&made, FindingKind::Procedure),
        ["In use here: `tool list errcheck`, `tool list unused`"]
    );
    assert_eq!(texts(&made, FindingKind::Environment), ["The project is shop; branches start from `main`"]);
    assert!(made.of(FindingKind::Pitfall).all(|entry| entry.support == 3));
    assert_eq!(made.of(FindingKind::Task).map(|entry| entry.support).collect::<Vec<_>>(), [2, 1]);
    assert!(
        made.to_markdown().contains("\n- [2026-03-03] “why is the total wrong?” — Changed `cart.rs`"),
        "{}",
        made.to_markdown()
    );
    assert_eq!(book(&scope(SHOP), &outputs, &[], Some(&read_back(&made))), made);
}

#[test]
fn h6_a_note_by_hand_is_a_statement_with_its_file_as_evidence() {
    let shop = book(&scope(SHOP), &shop(), &notes(), None);
    let note = shop.of(FindingKind::Preference).find(|entry| entry.noted).unwrap();
    assert_eq!(note.text, "Releases go out on Tuesdays only. The tag is made by CI, not by hand.");
    let line = shop.to_markdown().lines().find(|line| line.contains("Tuesdays")).unwrap().to_owned();
    assert!(line.starts_with("- [ad-hoc note] Releases"), "{line}");
    assert!(shop.evidence_markdown().contains("note 2026-03-19T10-00-00-release-day.md"));
}

#[test]
fn h3_rules_of_one_project_never_get_into_another() {
    let all: Vec<Output> = shop().into_iter().chain(site()).collect();
    // Even when a consolidation is shown everything.
    for (project, other) in [(SHOP, site()), (SITE, shop())] {
        let mine = book(&scope(project), &all, &[], None);
        let text = format!("{}{}", mine.to_markdown(), mine.evidence_markdown());
        assert!(!mine.is_empty());
        for output in &other {
            assert!(!text.contains(output.source.session.as_str()));
        }
    }
}

#[test]
fn h3_global_is_what_two_projects_say_or_the_user_said_of_all() {
    let all: Vec<Output> = shop().into_iter().chain(site()).collect();
    let global = book(&Scope::Global, &all, &[], None);
    insta::assert_snapshot!("global_memory_md", global.to_markdown());
    let rules = texts(&global, FindingKind::Preference);
    assert_eq!(
        rules,
        [
            "Answer in short sentences; no summaries at the end.",
            "In all my projects: commit messages in the imperative, no emojis.",
        ]
    );
    assert_eq!(global.entries().len(), 2, "nothing but preferences");
    let projects: BTreeSet<&str> =
        global.sessions_of(&global.entries()[0]).iter().map(|id| &id.as_str()[..1]).collect();
    assert_eq!(projects, ["s", "t"].into(), "evidence of both");
    // Without the second project it holds in the first only.
    let alone = book(&Scope::Global, &shop(), &[], Some(&global));
    assert!(alone.is_empty(), "{}", alone.to_markdown());
}

#[test]
fn h3_global_names_nothing_of_a_project() {
    let mut all = Vec::new();
    for (at, project) in [SHOP, SITE].into_iter().enumerate() {
        let mut one = session(project, &format!("x-{at}"), "2026-03-02T09:00:00Z", "x");
        for text in [
            "Always look into storefront before you change the prices of an article.",
            "Always read the plan in docs/plans/next.md before you start.",
            "Keep what is in /home/ada/storefront as it is, always.",
            "Always explain what you did in one sentence.",
        ] {
            finding(&mut one, FindingKind::Preference, text);
        }
        finding(&mut one, FindingKind::Procedure, "Run the tests with `make test`.");
        finding(&mut one, FindingKind::Environment, "The machine has two cores and no swap.");
        // Nobody said it: the agent thought so.
        finding(&mut one, FindingKind::Preference, "Prefer to skip the slow tests.").basis = Basis::Concluded;
        all.push(one);
    }
    let global = book(&Scope::Global, &all, &[], None);
    assert_eq!(texts(&global, FindingKind::Preference), ["Always explain what you did in one sentence."]);
    assert_eq!(global.entries().len(), 1);
    let own = book(&scope(SHOP), &all, &[], None);
    assert!(!own.to_markdown().contains("skip the slow"), "what nobody said is no preference");
    assert!(own.to_markdown().contains("docs/plans/next.md"));
}

#[test]
fn h3_what_a_project_has_taken_back_does_not_count_for_it() {
    let rule = "Always squash the commits of a branch before merging.";
    let say = |project: &str, id: &str, at: &str, text: &str| {
        let mut one = session(project, id, at, "x");
        finding(&mut one, FindingKind::Preference, text);
        one
    };
    let mut all =
        vec![say(SHOP, "a", "2026-03-02T09:00:00Z", rule), say(SITE, "b", "2026-03-03T09:00:00Z", rule)];
    assert_eq!(book(&Scope::Global, &all, &[], None).entries().len(), 1);
    all.push(say(SITE, "c", "2026-03-04T09:00:00Z", "Never squash the commits of a branch before merging."));
    assert!(book(&Scope::Global, &all, &[], None).is_empty());
}

#[test]
fn h8_ten_thousand_findings_take_a_few_comparisons_each_and_the_book_stays_small() {
    let verbs = ["check", "move", "write", "rename", "split", "parse", "cache", "count", "print", "sort"];
    let nouns =
        ["lexer", "ledger", "parser", "socket", "planner", "worker", "reader", "buffer", "report", "index"];
    let effort_of = |findings: usize| {
        let mut outputs = Vec::new();
        for at in 0..findings / 50 {
            let mut one = session(SHOP, &format!("n-{at:04}"), "2026-03-02T09:00:00Z", "x");
            for n in 0..50 {
                let which = at * 50 + n;
                let kind = FindingKind::ALL[which % 5];
                let (verb, noun) = (verbs[which / 5 % 10], nouns[which / 50 % 10]);
                let (module, other) = (nouns[which / 7 % 10], which / 500);
                // A tenth are repeats; the rest differ by their words.
                let rest = if n % 10 == 0 {
                    "as always".to_owned()
                } else {
                    format!("in part{other}x of {module} for case{which}y")
                };
                finding(&mut one, kind, &format!("Always {verb} the {noun} {rest} before anything else."));
            }
            outputs.push(one);
        }
        let limits = HandbookLimits::default();
        let material = Material {
            scope: &scope(SHOP),
            outputs: &outputs,
            notes: &[],
            before: None,
            now: now(),
            limits: &limits,
        };
        consolidate_with_effort(&material)
    };
    let (_, small) = effort_of(1_000);
    let (book, large) = effort_of(10_000);
    assert_eq!((small.statements, large.statements), (1_000, 10_000));
    for effort in [small, large] {
        assert!(effort.comparisons > 0);
        assert!(effort.comparisons <= (effort.statements * MOST_COMPARED) as u64, "{effort:?}");
    }
    within_bounds(&book);
}

fn within_bounds(book: &Book) {
    for kind in FindingKind::ALL {
        assert!(book.of(kind).count() <= most_entries(kind));
    }
    let bullets: u64 = book
        .to_markdown()
        .lines()
        .filter(|line| line.starts_with("- "))
        .map(|line| throughline_core::tokens::Tokenizer::O200k.count(line))
        .sum();
    assert!(bullets <= MEMORY_TOKENS, "{bullets}");
    assert!(book.entries().iter().all(|entry| (1..=MOST_EVIDENCE).contains(&entry.evidence.len())));
}

const PHRASES: [&str; 14] = [
    "Always run the tests before you commit.",
    "Always run the tests before committing anything.",
    "Never run the tests before you commit.",
    "Use tabs.",
    "Use spaces.",
    "Indent with tabs (not spaces).",
    "Keep pull requests below 300 lines of change.",
    "Keep pull requests below 400 lines of change.",
    "Run `cargo test -p a`.",
    "Run `cd x && cargo test -p a 2>&1 | tail -5`.",
    "Run `cargo test -p b`.",
    "提交前要运行测试",
    "提交前不要运行测试",
    "The report ends with “done” (keywords: x) [e0123456789]",
];

prop_compose! {
    fn outputs()(sessions in proptest::collection::vec(
        (0..2_usize, 0..40_i64, proptest::collection::vec((0..5_usize, 0..PHRASES.len(), any::<bool>()), 0..6), 0..4_u64), 0..8,
    )) -> Vec<Output> {
        let mut all = Vec::new();
        for (at, (project, day, found, used)) in sessions.into_iter().enumerate() {
            let when = now() - jiff::SignedDuration::from_hours(24 * day);
            let mut one = session([SHOP, SITE][project], &format!("p-{at}"), &when.to_string(), "x");
            one.used = used;
            for (kind, phrase, everywhere) in found {
                let found = finding(&mut one, FindingKind::ALL[kind], PHRASES[phrase]);
                found.reach = if everywhere { Reach::Everywhere } else { Reach::Project };
                found.keywords = vec!["word".to_owned(), PHRASES[phrase].to_owned()];
            }
            all.push(one);
        }
        all
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn h3_every_statement_names_evidence_of_the_material_and_nothing_changes_twice(
        outputs in outputs(), turn in 0..8_usize, global in any::<bool>(),
    ) {
        let scope = if global { Scope::Global } else { scope(SHOP) };
        let made = book(&scope, &outputs, &notes(), None);
        let mut keys: BTreeSet<_> = outputs
            .iter()
            .filter(|output| global || output.source.project.as_str() == SHOP)
            .flat_map(|output| &output.extraction.findings)
            .flat_map(|finding| finding.evidence.iter().map(throughline_memory::handbook::Evidence::key))
            .collect();
        keys.extend(notes().into_iter().map(|note| throughline_memory::handbook::Evidence::Note { file: note.file }.key()));
        for entry in made.entries() {
            prop_assert!(!entry.evidence.is_empty() && entry.evidence.iter().all(|key| keys.contains(key)));
            prop_assert!(!global || (entry.kind == FindingKind::Preference && entry.basis == Basis::Said));
        }
        within_bounds(&made);
        let read = read_back(&made);
        let mut turned = outputs.clone();
        turned.rotate_left(turn.min(outputs.len()));
        prop_assert_eq!(&book(&scope, &turned, &notes(), Some(&read)), &made);
    }
}
