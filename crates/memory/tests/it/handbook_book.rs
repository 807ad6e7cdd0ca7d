//! A handbook's files read back, whatever is in them.

use jiff::Timestamp;
use proptest::prelude::*;
use throughline_core::{MessageId, SessionId};
use throughline_memory::handbook::book::{
    Book, BookFile, Entry, Flaw, FlawKind, Ground, Grounds, MOST_TEXT, SessionRef, Wording,
};
use throughline_memory::handbook::{Basis, Evidence, FindingKind, ProjectKey, Scope, TaskOutcome};

fn ground(session: &str, message: &str, day: i64) -> Ground {
    Ground {
        evidence: Evidence::Message {
            session: SessionId::new(session),
            message: MessageId::new(message),
            at: Some(Timestamp::from_second(day * 86_400).unwrap()),
        },
        at: None,
        kinds: [FindingKind::Preference].into(),
        quote: Some("words".to_owned()),
    }
}

fn scope() -> Scope {
    Scope::Project(ProjectKey::new("github.com/me/app"))
}

/// A book with one statement on one message of one session.
fn small() -> Book {
    let mut grounds = Grounds::default();
    let key = grounds.add(ground("s1", "m1", 20_000));
    let path = "rollout_summaries/2024-10-04T00-00-00-abcd-x.md".to_owned();
    let updated = Some(Timestamp::from_second(20_000 * 86_400).unwrap());
    grounds.add_session(SessionId::new("s1"), SessionRef { updated, summary: Some(path) });
    let mut entry = Entry::new(FindingKind::Preference, "Run the tests first.");
    entry.quote = Some("run the tests first, always".to_owned());
    entry.keywords = vec!["tests".to_owned(), "cargo test".to_owned()];
    entry.evidence = vec![key];
    Book::new(scope(), updated, vec![entry], grounds)
}

fn parsed(book: &Book) -> (Book, Vec<Flaw>) {
    Book::parse(&book.to_markdown(), &book.evidence_markdown())
}

#[test]
fn h3_the_files_have_the_form_that_people_read() {
    let book = small();
    let key = book.entries()[0].evidence[0].clone();
    assert_eq!(
        book.to_markdown(),
        format!(
            "# Handbook: github.com/me/app\n\nscope: project:github.com/me/app\nupdated: 2024-10-04T00:00:00Z\n\n\
             The keys at the end of a line stand for messages and notes that bear it out: see EVIDENCE.md.\n\n\
             ## User preferences\n\n\
             - Run the tests first. “run the tests first, always” (keywords: tests, cargo test) [{key}]\n"
        )
    );
    let evidence = book.evidence_markdown();
    assert!(
        evidence.contains(&format!(
            "- {key} · 2024-10-04T00:00:00Z · preference · session s1 · message m1 · “words”\n"
        )),
        "{evidence}"
    );
    assert!(
        evidence.contains("- s1 · 2024-10-04T00:00:00Z · rollout_summaries/2024-10-04T00-00-00-abcd-x.md\n"),
        "{evidence}"
    );
    assert_eq!(parsed(&book), (book, Vec::new()));
}

#[test]
fn h3_what_is_not_in_order_is_told_with_its_line_and_kept() {
    let book = small();
    let key = book.entries()[0].evidence[0].clone();
    let long = "long ".repeat(MOST_TEXT);
    let text = format!(
        "# Handbook: me\nscope: elsewhere\nupdated: 2024-10-04T00:00:00Z\n\nA word by hand.\n\n\
         ## user preferences\n- No evidence (really).\n* Wrapped over\n  two lines [{key}].\n\
         - Not known [e0123456789, {key}]\n- [{key}]\n{{ loose }}\n- {long} [{key}]\n\n## Recipes\n- Soup [{key}]\n"
    );
    let (read, flaws) = Book::parse(&text, &book.evidence_markdown());
    let whats: Vec<(usize, FlawKind)> = flaws.into_iter().map(|flaw| (flaw.line, flaw.what)).collect();
    let chars = long.trim().chars().count();
    assert_eq!(
        whats,
        [
            (2, FlawKind::Unreadable("`elsewhere` is no scope".to_owned())),
            (5, FlawKind::Loose),
            (8, FlawKind::NoEvidence),
            (11, FlawKind::UnknownKey("e0123456789".to_owned())),
            (12, FlawKind::NoStatement),
            (13, FlawKind::Loose),
            (14, FlawKind::TooLong { chars, most: MOST_TEXT }),
            (16, FlawKind::UnknownSection("Recipes".to_owned())),
        ]
    );
    let texts: Vec<&str> = read.entries().iter().map(|entry| entry.text.as_str()).collect();
    assert_eq!(texts, ["Wrapped over two lines", "Not known", long.trim()]);
    let again = read.to_markdown();
    for kept in [
        "scope: elsewhere",
        "A word by hand.",
        "- No evidence (really).",
        "{ loose }",
        "## Recipes",
        "- Soup [",
    ] {
        assert!(again.contains(kept), "{kept}: {again}");
    }
    assert_eq!(read.founded().entries()[1].evidence, [key]);
}

#[test]
fn h3_quotes_and_brackets_of_a_statement_are_its_own() {
    let key = small().entries()[0].evidence[0].clone();
    for (section, line, text, quote) in [
        ("Pitfalls", "Had to be pointed out: “lint fails” —", "Had to be pointed out: “lint fails”", None),
        ("Pitfalls", "It fails “no such file” (keywords: x)", "It fails", Some("no such file")),
        ("Pitfalls", "`a[0]` is (mostly) [unset]", "`a[0]` is (mostly) [unset]", None),
        ("Pitfalls", "It said “a “nested” word”", "It said", Some("a “nested” word")),
        ("Tasks", "[2024-10-04] [success] “add tests” — Changed `a`", "Changed `a`", Some("add tests")),
        (
            "Tasks",
            "“see (keywords: a, b)” — [e0123456789]) —",
            "[e0123456789])",
            Some("see (keywords: a, b)"),
        ),
        ("Tasks", "“see (keywords: a” — b) —", "b)", Some("see (keywords: a")),
        ("Pitfalls", "It fails (keywords: main(), x)", "It fails", None),
        ("Tasks", "Changed `a` “add tests”", "Changed `a`", Some("add tests")),
        ("Tasks", "Committed “fix: it” and pushed", "Committed “fix: it” and pushed", None),
    ] {
        let page = format!("## {section}\n\n- {line} [{key}]\n");
        let (book, flaws) = Book::parse(&page, &small().evidence_markdown());
        assert!(flaws.is_empty(), "{flaws:?}");
        assert_eq!((book.entries()[0].text.as_str(), book.entries()[0].quote.as_deref()), (text, quote));
        assert_eq!(parsed(&book).0, book);
    }
}

#[test]
fn h3_evidence_that_somebody_changed_is_none() {
    let book = small();
    let evidence = book.evidence_markdown().replace("message m1", "message m2");
    let (read, flaws) = Book::parse(&book.to_markdown(), &evidence);
    assert_eq!(flaws.len(), 2, "{flaws:?}");
    assert_eq!((flaws[0].file, flaws[0].line), (BookFile::Evidence, 7));
    assert!(matches!(flaws[1].what, FlawKind::UnknownKey(_)));
    assert!(read.founded().is_empty());
}

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zA-Z0-9 .,`'/_-]{0,12}",
        "[\\[\\]()“”\"\\\\*#:·-]{0,4}",
        Just("[e0123456789]".to_owned()),
        Just("[failed] ".to_owned()),
        Just("[ad-hoc note]".to_owned()),
        Just(" (keywords: a, b)".to_owned()),
        Just(" (3 sessions)".to_owned()),
        Just(" “quoted”".to_owned()),
        Just("“asked” — ".to_owned()),
        Just(" —".to_owned()),
        Just("[2026-03-01] ".to_owned()),
        Just("\\".to_owned()),
        Just("\n## Tasks\n- ".to_owned()),
        any::<String>(),
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

prop_compose! {
    fn entries()(
        kind in proptest::sample::select(FindingKind::ALL.to_vec()),
        basis in proptest::sample::select(vec![Basis::Said, Basis::Observed, Basis::Concluded]),
        outcome in proptest::option::of(proptest::sample::select(vec![
            TaskOutcome::Success, TaskOutcome::Partial, TaskOutcome::Failed, TaskOutcome::Uncertain,
        ])),
        text in texts().prop_filter("says something", |text| text.chars().any(char::is_alphanumeric)),
        quote in proptest::option::of(texts()),
        keywords in proptest::collection::vec(texts(), 0..4),
        places in proptest::collection::vec(0..6_usize, 1..4),
        support in 0..9_usize,
        noted in any::<bool>(),
        ours in any::<bool>(),
    ) -> (Entry, Vec<usize>) {
        let wording = if ours { Wording::Ours } else { Wording::Theirs };
        let new = Entry::new(kind, &text);
        (Entry { basis, outcome, quote, keywords, support, noted, wording, ..new }, places)
    }
}

fn books() -> impl Strategy<Value = Book> {
    let places = proptest::collection::vec((texts(), texts(), texts(), 0..30_000_i64), 6..7);
    (proptest::collection::vec(entries(), 0..6), places).prop_map(|(entries, places)| {
        let mut grounds = Grounds::default();
        let mut keys = Vec::new();
        for (at, (session, message, quote, day)) in places.into_iter().enumerate() {
            let mut ground = ground(&session, &format!("{at}{message}"), day);
            ground.quote = Some(quote);
            keys.push(grounds.add(ground));
            let summary = Some(format!("rollout_summaries/{message}"));
            grounds.add_session(SessionId::new(session), SessionRef { updated: None, summary });
        }
        keys.push(grounds.add(Ground {
            evidence: Evidence::Note { file: "2026-01-01-a b.md".to_owned() },
            at: Some(Timestamp::UNIX_EPOCH),
            kinds: FindingKind::ALL.into(),
            quote: None,
        }));
        let entries = entries.into_iter().map(|(mut entry, places)| {
            entry.evidence = places.iter().map(|at| keys[*at].clone()).collect();
            entry
        });
        Book::new(scope(), Some(Timestamp::UNIX_EPOCH), entries.collect(), grounds)
    })
}

proptest! {
    #[test]
    fn h3_a_book_reads_back_as_it_was(book in books()) {
        let (read, flaws) = parsed(&book);
        prop_assert_eq!(&read, &book);
        let serious: Vec<_> = flaws.iter().filter(|flaw| !matches!(flaw.what, FlawKind::TooLong { .. })).collect();
        prop_assert!(serious.is_empty(), "{:?}", serious);
    }

    #[test]
    fn h3_any_text_is_a_book_and_stays_it(lines in proptest::collection::vec(
        prop_oneof![
            texts(),
            Just("## Tasks".to_owned()),
            Just("## Recipes".to_owned()),
            Just("  further".to_owned()),
            texts().prop_map(|text| format!("- {text}")),
            texts().prop_map(|text| format!("- {text} [e0123456789]")),
            Just("updated: 2024-10-04T00:00:00Z".to_owned()),
            Just("# Handbook: x".to_owned()),
        ], 0..12), evidence in texts()) {
        let (book, flaws) = Book::parse(&lines.join("\n"), &evidence);
        let count = lines.join("\n").lines().count().max(evidence.lines().count());
        prop_assert!(flaws.iter().all(|flaw| flaw.line >= 1 && flaw.line <= count));
        let (again, _) = Book::parse(&book.to_markdown(), &book.evidence_markdown());
        prop_assert_eq!(again, book);
    }
}
