//! What is known of a memory beyond its words: written under `metadata:`, read leniently, with the keys of others untouched.

use crate::topics::{House, new, saved};
use jiff::Timestamp;
use proptest::prelude::*;
use throughline_memory::topics::{Anchor, By, Change, Meta, NewTopic, Source, TopicError, TopicType};

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(crate) fn said(second: i64, quote: &str) -> Source {
    Source {
        by: By::User,
        session: Some("0192".to_owned()),
        messages: vec!["m1".to_owned(), "m2".to_owned()],
        at: at(second),
        quote: quote.to_owned(),
    }
}

fn full() -> Meta {
    Meta {
        created: Some(at(1_700_000_000)),
        expires: Some(at(1_800_000_000)),
        superseded_by: None,
        evidence: 2,
        sources: vec![said(1_700_000_000, "never, ever: push"), said(1_700_000_060, "no pushing")],
        anchors: vec![
            Anchor::Path("src/a.rs".to_owned()),
            Anchor::Symbol { path: "src/a.rs".to_owned(), name: "run".to_owned() },
        ],
    }
}

fn changed(meta: Meta) -> Change {
    Change { meta: Some(meta), ..Change::default() }
}

#[test]
fn b5_metadata_is_a_short_block_behind_the_three_keys() {
    let house = House::new();
    let topic = NewTopic { meta: full(), ..new(TopicType::Feedback, "Pushing", "Never push", "Never push.") };
    let file = saved(house.store.add(topic)).file;
    let text = "---\nname: Pushing\ndescription: Never push\ntype: feedback\nmetadata:\n\
                \x20 created: 2023-11-14T22:13:20Z\n\
                \x20 expires: 2027-01-15T08:00:00Z\n\
                \x20 evidence: 2\n\
                \x20 anchors: [\"path:src/a.rs\", \"symbol:src/a.rs#run\"]\n\
                \x20 sources:\n\
                \x20   - {by: user, at: 2023-11-14T22:13:20Z, session: \"0192\", messages: [m1, m2], quote: \"never, ever: push\"}\n\
                \x20   - {by: user, at: 2023-11-14T22:14:20Z, session: \"0192\", messages: [m1, m2], quote: no pushing}\n\
                ---\n\nNever push.\n";
    assert_eq!(house.text(&file), text);
    assert_eq!(house.store.read(&file).unwrap().meta, full());
    let (heads, problems) = house.store.list().unwrap();
    assert_eq!((&heads[0].meta, problems.as_slice()), (&full(), [].as_slice()));
    // Without anything to say there is no block.
    house.store.update(&file, changed(Meta::default())).unwrap();
    assert_eq!(house.store.read(&file).unwrap().meta, Meta::default());
    house.store.update(&file, changed(full())).unwrap();
    assert_eq!(house.text(&file), text, "and back");
}

#[test]
fn keys_of_others_in_the_metadata_stay_to_the_byte() {
    let house = House::new();
    let source = "---\nname: x\ndescription: d\nmetadata: # by hand\n    node_type: memory   # odd  spaces\n    originSessionId: 'abc'\n\n    created: nonsense\n    modified: 2026-01-01T00:00:00.000Z\n    nested:\n        evidence: 9\n\ntype: user\nlast: [1,  2]\n---\nBody\n";
    house.put("c.md", source);
    let (heads, problems) = house.store.list().unwrap();
    assert_eq!(heads[0].meta, Meta::default());
    assert_eq!(heads[0].kind, Some(TopicType::User));
    assert!(problems[0].what.contains("created is no time"), "{}", problems[0]);
    let meta = Meta { evidence: 3, sources: vec![said(5, "a")], ..Meta::default() };
    house.store.update("c.md", changed(meta.clone())).unwrap();
    let ours = "    evidence: 3\n    sources:\n      - {by: user, at: 1970-01-01T00:00:05Z, session: \"0192\", messages: [m1, m2], quote: a}\n";
    assert_eq!(house.text("c.md"), source.replace("evidence: 9\n", &format!("evidence: 9\n{ours}")));
    assert_eq!(house.store.read("c.md").unwrap().meta, meta);
    // What is said again goes in the place where it is; what is not said any more goes.
    house.store.update("c.md", changed(Meta { evidence: 4, ..meta })).unwrap();
    assert!(house.text("c.md").contains("    evidence: 4\n    sources:\n"));
    house.store.update("c.md", changed(Meta { created: Some(at(0)), ..Meta::default() })).unwrap();
    assert_eq!(house.text("c.md"), source.replace("nonsense", "1970-01-01T00:00:00Z"));
    house.store.update("c.md", changed(Meta::default())).unwrap();
    assert_eq!(house.text("c.md"), source.replace("    created: nonsense\n", ""));
}

#[test]
fn metadata_in_braces_is_changed_within_its_braces() {
    let house = House::new();
    let source = "---\r\nname: x\r\ndescription: d\r\ntype: user\r\nmetadata: {node_type: memory, evidence: 1, 'odd, key': \"a, }b\", list: [1, {a: 2}]} # end\r\n---\r\nBody\r\n";
    house.put("c.md", source);
    assert_eq!(house.store.read("c.md").unwrap().meta.evidence, 1);
    house.store.update("c.md", changed(full())).unwrap();
    let text = house.text("c.md");
    assert!(
        text.contains("metadata: {node_type: memory, 'odd, key': \"a, }b\", list: [1, {a: 2}], created: "),
        "{text}"
    );
    assert!(text.contains("]} # end\r\n---\r\nBody\r\n"), "{text}");
    assert_eq!(house.store.read("c.md").unwrap().meta, full());
    house.store.update("c.md", changed(Meta { evidence: 1, ..Meta::default() })).unwrap();
    assert_eq!(house.text("c.md"), source.replace(" evidence: 1,", "").replace("}]}", "}], evidence: 1}"));
    house.put("e.md", "---\nname: x\ndescription: d\ntype: user\nmetadata: {}\n---\nBody\n");
    house.store.update("e.md", changed(Meta { evidence: 1, ..Meta::default() })).unwrap();
    assert!(house.text("e.md").contains("metadata: {evidence: 1}\n"));
}

#[test]
fn a_type_among_the_metadata_is_read_and_changed_there() {
    let house = House::new();
    for (file, block) in [
        ("block.md", "metadata:\n  node_type: memory\n  type: feedback\n  originSessionId: 1f\n"),
        ("braces.md", "metadata: {node_type: memory, originSessionId: 1f, type: feedback}\n"),
    ] {
        let source = format!("---\nname: {file}\ndescription: about {file}\n{block}---\n\nBody.\n");
        house.put(file, &source);
        assert_eq!(house.store.read(file).unwrap().kind, Some(TopicType::Feedback));
        house.store.update(file, Change { kind: Some(TopicType::User), ..Change::default() }).unwrap();
        assert_eq!(house.text(file), source.replace("type: feedback", "type: user"));
        house.store.update(file, changed(full())).unwrap();
        assert_eq!(house.store.read(file).unwrap().kind, Some(TopicType::User));
        assert!(!house.text(file).contains("\ntype:"));
    }
    assert_eq!(house.store.list().unwrap().1, []);
}

#[test]
fn what_cannot_be_understood_is_reported_and_the_rest_is_read() {
    let house = House::new();
    let cases = [
        ("metadata: words", "not a mapping"),
        ("metadata: [a, b]", "not a mapping"),
        ("metadata:\n  evidence: -1\n  created: 2026-02-01", "evidence is no count"),
        ("metadata:\n  evidence: many\n  created: 2026-02-01", "evidence is no count"),
        (
            "metadata:\n  anchors: [\"path:a\", \"nowhere\", 7]\n  created: 2026-02-01",
            "number 2 of its anchors",
        ),
        (
            "metadata:\n  sources: [{by: god, at: 2026-01-01}]\n  created: 2026-02-01",
            "number 1 of its sources",
        ),
        ("metadata:\n  sources: {by: user}\n  created: 2026-02-01", "sources is no list"),
        ("metadata:\n  superseded_by: [a]\n  created: 2026-02-01", "superseded_by"),
        ("metadata:\n  expires: soon\n  created: 2026-02-01", "expires is no time"),
    ];
    for (n, (block, why)) in cases.into_iter().enumerate() {
        let file = format!("f{n}.md");
        house.put(&file, &format!("---\nname: x{n}\ndescription: d\ntype: user\n{block}\n---\nBody\n"));
        let topic = house.store.read(&file).unwrap();
        assert_eq!((topic.name, topic.kind), (format!("x{n}"), Some(TopicType::User)));
        assert_eq!(topic.meta.created.is_some(), block.contains("created"), "{block}");
        let (_, problems) = house.store.list().unwrap();
        let problem = problems.iter().find(|problem| problem.file == file).unwrap();
        assert!(problem.what.contains(why), "{problem}");
    }
    house.put("empty.md", "---\nname: e\ndescription: d\ntype: user\nmetadata:\n---\nBody\n");
    assert_eq!(house.store.read("empty.md").unwrap().meta, Meta::default());
    // Where there is no mapping none is made of it.
    let error = house.store.update("f0.md", changed(full())).unwrap_err();
    assert!(matches!(error, TopicError::Frontmatter { .. }), "{error}");
}

#[test]
fn metadata_is_checked_shortened_and_free_of_secrets() {
    let house = House::new();
    let key = format!("ghp_{}", "a1B2".repeat(9));
    let sources = (0..9).rev().map(|n| said(n, &format!("{n}: {key} {}", "x ".repeat(400)))).collect();
    let topic = NewTopic {
        meta: Meta { sources, created: Some(Timestamp::from_millisecond(1_500).unwrap()), ..Meta::default() },
        ..new(TopicType::User, "n", "d", "b")
    };
    let saved = saved(house.store.add(topic));
    assert_eq!(saved.redacted, ["github-token"; 5]);
    let meta = house.store.read(&saved.file).unwrap().meta;
    assert_eq!(meta.created, Some(at(1)));
    let times: Vec<_> = meta.sources.iter().map(|source| source.at).collect();
    assert_eq!(times, [at(4), at(5), at(6), at(7), at(8)], "the newest, in order");
    for source in &meta.sources {
        assert!(
            source.quote.chars().count() <= 300
                && source.quote.ends_with('…')
                && !source.quote.contains(&key)
        );
    }
    let bad = |meta: Meta| house.store.update(&saved.file, changed(meta)).unwrap_err();
    let elsewhere = Meta { superseded_by: Some("../x.md".to_owned()), ..Meta::default() };
    assert!(matches!(bad(elsewhere), TopicError::BadName { .. }));
    let anchor = Anchor::Symbol { path: String::new(), name: "x".to_owned() };
    assert!(matches!(bad(Meta { anchors: vec![anchor], ..Meta::default() }), TopicError::BadAnchor { .. }));
    let many = (0..500).map(|n| Anchor::Path(format!("src/{n}.rs"))).collect();
    assert!(matches!(bad(Meta { anchors: many, ..Meta::default() }), TopicError::TooLong { .. }));
}

fn metas() -> impl Strategy<Value = Meta> {
    let text = any::<String>().prop_map(|text| {
        let text: String = text.chars().filter(|c| !c.is_control()).take(20).collect();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    });
    let id = "[a-z0-9:,\\[{#' -]{0,8}x";
    let source = (
        0..4_usize,
        proptest::option::of(id),
        proptest::collection::vec(id, 0..3),
        0..4_000_000_000_i64,
        text.clone(),
    )
        .prop_map(|(by, session, messages, second, quote)| {
            let clean = |id: String| id.split_whitespace().collect::<Vec<_>>().join(" ");
            Source {
                by: By::ALL[by],
                session: session.map(clean),
                messages: messages.into_iter().map(clean).collect(),
                at: at(second),
                quote,
            }
        });
    let anchor = prop_oneof![
        "[a-z/.#, :'\"]{1,12}".prop_filter_map("a line", |path| {
            let anchor = Anchor::Path(path);
            anchor.to_string().parse::<Anchor>().ok()
        }),
        "[0-9a-f]{4,40}".prop_map(Anchor::Commit),
        ("[a-z/.]{1,9}", "[a-zA-Z_:]{1,9}").prop_map(|(path, name)| Anchor::Symbol { path, name }),
    ];
    let time = || proptest::option::of((0..4_000_000_000_i64).prop_map(at));
    (
        time(),
        time(),
        proptest::option::of("[a-z]{1,8}\\.md"),
        0..5_u32,
        proptest::collection::vec(source, 0..5),
        proptest::collection::vec(anchor, 0..4),
    )
        .prop_map(|(created, expires, superseded_by, evidence, mut sources, anchors)| {
            sources.sort_by_key(|source| source.at);
            Meta { created, expires, superseded_by, evidence, sources, anchors }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_metadata_comes_back_and_leaves_the_rest(first in metas(), second in metas(), style in 0..4_usize) {
        let house = House::without_history();
        let block = ["", "metadata:\n", "metadata:\n   mine: 'a: b'\n   sources_of: [x]\n", "metadata: {mine: \"a: b\"}\n"][style];
        let source = format!("---\nname: n\n{block}description: d\ntype: user\nother: {{a: 1}}\n---\n\nBody.\n");
        house.put("p.md", &source);
        for meta in [&first, &second] {
            house.store.update("p.md", changed(meta.clone())).unwrap();
            let topic = house.store.read("p.md").unwrap();
            // What looks like a secret is no secret of this test.
            prop_assume!(!house.text("p.md").contains("[redacted"));
            prop_assert_eq!(&topic.meta, meta);
            prop_assert_eq!(house.store.list().unwrap().1, []);
        }
        house.store.update("p.md", changed(Meta::default())).unwrap();
        let bare = house.text("p.md");
        prop_assert!(bare == source || bare == source.replace("---\n\nBody", "metadata:\n---\n\nBody"), "{}", bare);
    }
}
