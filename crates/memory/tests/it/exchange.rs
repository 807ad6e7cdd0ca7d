//! Memories to and from other tools.

use jiff::Timestamp;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use throughline_memory::exchange::{Action, Exchange, ExchangeError, Other, Proposals, Report};
use throughline_memory::topics::{Added, By, Change, Meta, NewTopic, TopicStore, TopicType};

fn now() -> Timestamp {
    "2026-03-01T10:00:00Z".parse().unwrap()
}

struct World {
    root: tempfile::TempDir,
    store: TopicStore,
}

fn world() -> World {
    let root = tempfile::tempdir().unwrap();
    let store = TopicStore::open(root.path().join("ours")).without_history();
    World { store, root }
}

impl World {
    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn store(&self, name: &str) -> TopicStore {
        TopicStore::open(self.path(name)).without_history()
    }
}

fn new(kind: TopicType, name: &str, body: &str) -> NewTopic {
    NewTopic {
        kind,
        name: name.to_owned(),
        description: format!("On {name}"),
        body: body.to_owned(),
        meta: Meta::default(),
    }
}

fn add(store: &TopicStore, kind: TopicType, name: &str, body: &str) -> String {
    match store.add(new(kind, name, body)).unwrap() {
        Added::Saved(saved) => saved.file,
        Added::Similar(known) => panic!("{name} is like {}", known.file),
    }
}

fn fill(store: &TopicStore) {
    add(
        store,
        TopicType::Feedback,
        "Tests first",
        "Run the tests before every commit.\n\n**Why:** a broken main costs all.",
    );
    add(store, TopicType::Project, "Release day", "Releases leave on Thursdays, by the pipeline alone.");
    add(store, TopicType::Reference, "Dashboards", "Latency graphs live at grafana.internal, board 42.");
}

fn export(store: &TopicStore, other: &Other) -> Report {
    Exchange::new(store, other, now()).export().unwrap().apply(Proposals::Leave).unwrap()
}

fn import(store: &TopicStore, other: &Other) -> Report {
    Exchange::new(store, other, now()).import().unwrap().apply(Proposals::Leave).unwrap()
}

fn actions(report: &Report) -> Vec<Action> {
    report.steps.iter().map(|step| step.action).collect()
}

/// What there is to remember, whatever its file.
fn said(store: &TopicStore) -> Vec<(Option<TopicType>, String, String, String)> {
    let (heads, problems) = store.list().unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    let mut said: Vec<_> = heads
        .into_iter()
        .map(|head| {
            let topic = store.read(&head.file).unwrap();
            (topic.kind, topic.name, topic.description, topic.body)
        })
        .collect();
    said.sort();
    said
}

fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.clone(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn others(world: &World) -> [Other; 3] {
    [
        Other::claude(&world.path("claude"), Path::new("/home/me/my app")),
        Other::codex(&world.path("codex")),
        Other::Agents(world.path("AGENTS.md")),
    ]
}

#[test]
fn places_are_where_the_clients_keep_them() {
    let world = world();
    let [claude, codex, _] = others(&world);
    assert_eq!(claude.path(), world.path("claude/projects/-home-me-my-app/memory"));
    assert_eq!(codex.path(), world.path("codex/memories_v2"));
    std::fs::create_dir_all(world.path("codex/memories")).unwrap();
    assert_eq!(Other::codex(&world.path("codex")).path(), world.path("codex/memories"));
}

#[test]
fn out_and_in_again_elsewhere_gives_the_same_memories() {
    for at in 0..3 {
        let world = world();
        fill(&world.store);
        let other = &others(&world)[at];
        assert_eq!(actions(&export(&world.store, other)), [Action::Create; 3], "{other:?}");
        let elsewhere = world.store("elsewhere");
        assert_eq!(actions(&import(&elsewhere, other)), [Action::Create; 3], "{other:?}");
        assert_eq!(said(&elsewhere), said(&world.store), "{other:?}");
        let (heads, _) = elsewhere.list().unwrap();
        for head in heads {
            let source = &head.meta.sources[0];
            assert_eq!(source.by, By::Import);
            assert!(source.quote.starts_with(&format!("from {}: ", other.name())), "{}", source.quote);
        }
    }
}

#[test]
fn a_second_time_changes_nothing_on_either_side() {
    for at in 0..3 {
        let world = world();
        fill(&world.store);
        let other = &others(&world)[at];
        let elsewhere = world.store("elsewhere");
        export(&world.store, other);
        import(&elsewhere, other);
        let before = tree(world.root.path());
        for store in [&world.store, &elsewhere] {
            let exchange = Exchange::new(store, other, now() + jiff::SignedDuration::from_hours(5));
            for plan in [exchange.export().unwrap(), exchange.import().unwrap()] {
                assert!(!plan.changes_anything(), "{:?}", plan.steps());
                assert!(plan.steps().iter().all(|step| step.action == Action::Same), "{:?}", plan.steps());
                plan.apply(Proposals::Take).unwrap();
            }
        }
        let after = tree(world.root.path());
        let changed: Vec<_> = after.iter().filter(|(path, text)| before.get(*path) != Some(*text)).collect();
        assert!(changed.iter().all(|(path, _)| path.ends_with(".throughline/exchange.json")), "{changed:?}");
        assert_eq!(before.len(), after.len());
    }
}

#[test]
fn a_plan_writes_nothing() {
    for at in 0..3 {
        let world = world();
        fill(&world.store);
        let other = &others(&world)[at];
        let before = tree(world.root.path());
        assert!(Exchange::new(&world.store, other, now()).export().unwrap().changes_anything());
        Exchange::new(&world.store("none"), other, now()).import().unwrap();
        assert_eq!(tree(world.root.path()), before);
        assert!(!world.path("none").exists() && !other.path().exists());
    }
}

#[test]
fn what_somebody_changed_there_stays() {
    let world = world();
    fill(&world.store);
    let [claude, codex, _] = others(&world);
    for other in [&claude, &codex] {
        let report = export(&world.store, other);
        let theirs: Vec<PathBuf> = report.steps.iter().map(|step| other.path().join(&step.theirs)).collect();
        // One is changed there and here, one is removed there, one is changed here only.
        std::fs::write(&theirs[0], "by hand").unwrap();
        std::fs::remove_file(&theirs[1]).unwrap();
        let ours: Vec<String> = report.steps.iter().map(|step| step.ours.clone().unwrap()).collect();
        for file in [&ours[0], &ours[2]] {
            let body = format!("{} And {}.", world.store.read(file).unwrap().body, other.name());
            world.store.update(file, Change { body: Some(body), ..Change::default() }).unwrap();
        }
        let again = actions(&export(&world.store, other));
        let removed = if other == &claude { Action::Conflict } else { Action::Same };
        assert_eq!(again, [Action::Conflict, removed, Action::Update], "{other:?}");
        assert_eq!(std::fs::read_to_string(&theirs[0]).unwrap(), "by hand");
        assert!(!theirs[1].exists());
        assert!(std::fs::read_to_string(&theirs[2]).unwrap().contains(&format!("And {}.", other.name())));
    }
}

#[test]
fn a_file_that_was_there_before_us_stays() {
    let world = world();
    fill(&world.store);
    let claude = Other::Claude(world.path("claude"));
    std::fs::create_dir_all(claude.path()).unwrap();
    let theirs = claude.path().join("project_release-day.md");
    std::fs::write(&theirs, "---\nname: Release\n---\nTheir own words.").unwrap();
    std::fs::write(
        claude.path().join("MEMORY.md"),
        "# Theirs\n\n- [Release](project_release-day.md) — their hook\n",
    )
    .unwrap();
    let report = export(&world.store, &claude);
    assert_eq!(actions(&report), [Action::Create, Action::Conflict, Action::Create]);
    assert!(std::fs::read_to_string(theirs).unwrap().ends_with("Their own words."));
    let index = std::fs::read_to_string(claude.path().join("MEMORY.md")).unwrap();
    assert!(index.starts_with("# Theirs\n\n- [Release](project_release-day.md) — their hook\n"), "{index}");
    assert!(
        index.contains("(feedback_tests-first.md)") && index.contains("(reference_dashboards.md)"),
        "{index}"
    );
}

#[test]
fn what_claude_code_notes_beside_our_words_is_no_change() {
    let world = world();
    fill(&world.store);
    let claude = Other::Claude(world.path("claude"));
    export(&world.store, &claude);
    let path = claude.path().join("project_release-day.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let noted = text.replace(
        "type: project\n",
        "type: project\nmetadata:\n  node_type: memory\n  originSessionId: abc\n",
    );
    std::fs::write(&path, noted).unwrap();
    assert!(!Exchange::new(&world.store, &claude, now()).export().unwrap().changes_anything());
    assert_eq!(actions(&import(&world.store, &claude)), [Action::Same; 3]);
    let body = "Releases leave on Fridays.".to_owned();
    world.store.update("project_release-day.md", Change { body: Some(body), ..Change::default() }).unwrap();
    export(&world.store, &claude);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("originSessionId: abc") && text.ends_with("on Fridays.\n"), "{text}");
}

#[test]
fn what_is_over_here_is_taken_back_unless_it_was_changed() {
    for at in 0..3 {
        let world = world();
        fill(&world.store);
        let other = &others(&world)[at];
        export(&world.store, other);
        world.store.forget("project_release-day.md", now()).unwrap();
        let report = export(&world.store, other);
        let removed: Vec<&str> = report
            .steps
            .iter()
            .filter(|step| step.action == Action::Remove)
            .filter_map(|step| step.ours.as_deref())
            .collect();
        assert_eq!(removed, ["project_release-day.md"], "{other:?}");
        let elsewhere = world.store("elsewhere");
        import(&elsewhere, other);
        assert_eq!(said(&elsewhere), said(&world.store), "{other:?}");
        assert!(!Exchange::new(&world.store, other, now()).export().unwrap().changes_anything());
    }
}

#[test]
fn an_import_never_changes_ours() {
    let world = world();
    fill(&world.store);
    let claude = Other::Claude(world.path("claude"));
    let theirs = world.store("claude");
    // The same words, nearly the same words, another of the same name, and something new.
    add(
        &theirs,
        TopicType::Feedback,
        "Before a commit",
        "Run the tests before every commit.\n\n**Why:** a broken main costs all.",
    );
    add(&theirs, TopicType::Project, "Release day", "Never on Thursdays.");
    add(&theirs, TopicType::User, "Editor", "Works in Helix on NixOS.");
    let before = said(&world.store);
    let report = import(&world.store, &claude);
    assert_eq!(actions(&report), [Action::Confirm, Action::Offer, Action::Create], "{report:?}");
    let after = said(&world.store);
    assert!(before.iter().all(|memory| after.contains(memory)), "{after:?}");
    assert_eq!(after.len(), before.len() + 1);
    let confirmed = world.store.read("feedback_tests-first.md").unwrap().meta;
    assert_eq!((confirmed.evidence, confirmed.sources.last().unwrap().by), (1, By::Import));

    // Confirmed once, whatever happens; changed there: offered; forgotten here: not taken again.
    world.store.forget("user_editor.md", now()).unwrap();
    let body = Some("Run no tests at all, ever.".to_owned());
    theirs.update("feedback_before-a-commit.md", Change { body, ..Change::default() }).unwrap();
    let again = import(&world.store, &claude);
    assert_eq!(actions(&again), [Action::Offer, Action::Offer, Action::Skip], "{again:?}");
    assert_eq!(said(&world.store), before);
}

#[test]
fn sections_of_codex_are_proposals_that_a_person_takes() {
    let world = world();
    let codex = Other::Codex(world.path("codex"));
    std::fs::create_dir_all(codex.path().join("rollout_summaries")).unwrap();
    let summary = "v1\n\n## User Profile\n\nWrites Rust, lives in Berlin.\n\n## User preferences\n- Small commits with a reason\n- Answers without emoji\n\n\
                   ## General Tips\n- The test database needs `make db` first\n\n## What's in Memory\n- 2026-01: see rollout_summaries/x.md\n";
    std::fs::write(codex.path().join("memory_summary.md"), summary).unwrap();
    let plan = Exchange::new(&world.store, &codex, now()).import().unwrap();
    assert_eq!(plan.steps().iter().map(|step| step.action).collect::<Vec<_>>(), [Action::Propose; 4]);
    assert!(!plan.changes_anything());
    plan.apply(Proposals::Leave).unwrap();
    assert!(!world.path("ours").exists());
    let taken = Exchange::new(&world.store, &codex, now()).import().unwrap().apply(Proposals::Take).unwrap();
    assert_eq!(actions(&taken), [Action::Create; 4]);
    let kinds: Vec<Option<TopicType>> = said(&world.store).into_iter().map(|memory| memory.0).collect();
    let (user, feedback) = (Some(TopicType::User), Some(TopicType::Feedback));
    assert_eq!(kinds, [user, feedback, feedback, feedback]);
    // What came from there is not sent back, and nothing of theirs was touched.
    assert!(!Exchange::new(&world.store, &codex, now()).export().unwrap().changes_anything());
    assert_eq!(std::fs::read_to_string(codex.path().join("memory_summary.md")).unwrap(), summary);

    let older = Other::Codex(world.path("older"));
    std::fs::create_dir_all(older.path()).unwrap();
    std::fs::write(older.path().join("raw_memories.md"), "# Thread\n\n- raw point one\n").unwrap();
    let steps = |world: &World| Exchange::new(&world.store, &older, now()).import().unwrap().steps().len();
    assert_eq!(steps(&world), 1);
    std::fs::write(
        older.path().join("MEMORY.md"),
        "# Task Group: builds\n\nUse the cache server.\n\n# Task Group: db\n\nMigrate first.\n",
    )
    .unwrap();
    assert_eq!(steps(&world), 2, "the handbook was made of the raw ones");
}

#[test]
fn notes_for_codex_have_a_time_and_a_name() {
    let world = world();
    fill(&world.store);
    let codex = Other::Codex(world.path("codex"));
    let report = export(&world.store, &codex);
    assert_eq!(report.steps[0].theirs, "extensions/ad_hoc/notes/2026-03-01T10-00-00-tests-first.md");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode =
            std::fs::metadata(codex.path().join(&report.steps[0].theirs)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn of_agents_md_everything_else_stays_to_the_byte() {
    for (text, lead, tail) in [
        ("# Rules\n\nBe brief.\n", "# Rules\n\nBe brief.\n\n", ""),
        ("# Rules\r\n\r\nBe brief.", "# Rules\r\n\r\nBe brief.\r\n\r\n", ""),
        ("", "", ""),
        (
            "<!-- other:begin -->\nx\n<!-- other:end -->\n\n\n",
            "<!-- other:begin -->\nx\n<!-- other:end -->\n\n\n",
            "",
        ),
    ] {
        let world = world();
        fill(&world.store);
        let agents = Other::Agents(world.path("AGENTS.md"));
        std::fs::write(agents.path(), text).unwrap();
        export(&world.store, &agents);
        let written = std::fs::read_to_string(agents.path()).unwrap();
        assert!(written.starts_with(&format!("{lead}<!-- throughline:memories:begin")), "{written}");
        assert!(written.trim_end().ends_with("<!-- throughline:memories:end -->"), "{written}");
        assert_eq!(written.contains("\r\n"), text.contains("\r\n"));
        // More behind the block, then a change: only the block differs.
        let more = format!("{written}{tail}\nLast words, no line end");
        std::fs::write(agents.path(), &more).unwrap();
        world.store.forget("project_release-day.md", now()).unwrap();
        export(&world.store, &agents);
        let after = std::fs::read_to_string(agents.path()).unwrap();
        assert!(after.starts_with(lead) && after.ends_with("\nLast words, no line end"), "{after}");
        assert!(!after.contains("Thursdays") && after.contains("Run the tests"), "{after}");
        let elsewhere = world.store("elsewhere");
        import(&elsewhere, &agents);
        assert_eq!(said(&elsewhere), said(&world.store));
    }
}

#[test]
fn who_the_user_is_stays_out_of_agents_md_unless_asked_for() {
    let world = world();
    add(&world.store, TopicType::User, "Home", "Lives in Lisbon with two dogs.");
    let agents = Other::Agents(world.path("AGENTS.md"));
    assert!(export(&world.store, &agents).steps.is_empty());
    assert!(!agents.path().exists());
    let plan = Exchange::new(&world.store, &agents, now()).only(&[TopicType::User]).export().unwrap();
    assert_eq!(plan.steps().len(), 1);
}

#[test]
fn a_block_that_was_changed_by_hand_stays() {
    let world = world();
    fill(&world.store);
    let agents = Other::Agents(world.path("AGENTS.md"));
    export(&world.store, &agents);
    let text = std::fs::read_to_string(agents.path()).unwrap().replace("on Thursdays", "on Mondays");
    std::fs::write(agents.path(), &text).unwrap();
    world.store.forget("feedback_tests-first.md", now()).unwrap();
    assert!(export(&world.store, &agents).steps.iter().all(|step| step.action == Action::Conflict));
    assert_eq!(std::fs::read_to_string(agents.path()).unwrap(), text);
}

#[test]
fn what_a_team_mate_put_into_the_block_stays() {
    let world = world();
    let mate = world.store("mate");
    add(&mate, TopicType::Project, "Licences", "Every new dependency needs a licence check by legal.");
    fill(&world.store);
    let agents = Other::Agents(world.path("AGENTS.md"));
    export(&mate, &agents);
    export(&world.store, &agents);
    let text = std::fs::read_to_string(agents.path()).unwrap();
    assert!(text.contains("licence check") && text.contains("Run the tests"), "{text}");
    // And what they drop, they drop; ours stays.
    mate.forget("project_licences.md", now()).unwrap();
    export(&mate, &agents);
    let text = std::fs::read_to_string(agents.path()).unwrap();
    assert!(!text.contains("licence check") && text.contains("Run the tests"), "{text}");
}

#[test]
fn broken_or_doubled_markers_are_an_error_that_names_the_line() {
    let begin = "<!-- throughline:memories:begin hash=x -->";
    let end = "<!-- throughline:memories:end -->";
    for (text, at) in [
        (format!("a\n{begin}\nb\n"), 2),
        (format!("a\n\n{end}\n"), 3),
        (format!("{end}\n{begin}\n"), 1),
        (format!("{begin}\n{end}\n{begin}\n{end}\n"), 3),
        (format!("{begin}\n{end}\n{end}\n"), 3),
        (format!("{begin}\n{begin}\n{end}\n"), 2),
        (format!("<!-- throughline:memories:begin hash=x\n{end}\n"), 1),
        (format!("{begin}\n<!-- throughline:memories:end\n"), 2),
    ] {
        let world = world();
        fill(&world.store);
        let agents = Other::Agents(world.path("AGENTS.md"));
        std::fs::write(agents.path(), &text).unwrap();
        let exchange = Exchange::new(&world.store, &agents, now());
        for plan in [exchange.export(), exchange.import()] {
            match plan {
                Err(ExchangeError::Markers { line, .. }) => assert_eq!(line, at, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        assert_eq!(std::fs::read_to_string(agents.path()).unwrap(), text);
    }
}

#[test]
fn secrets_are_taken_out_on_both_ways() {
    let key = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    for at in 0..3 {
        let world = world();
        let other = &others(&world)[at];
        // A person wrote it into our folder by hand.
        std::fs::create_dir_all(world.path("ours")).unwrap();
        let text =
            format!("---\nname: CI\ndescription: On {key}\ntype: reference\n---\n\nUse {key} there.\n");
        std::fs::write(world.path("ours/reference_ci.md"), text).unwrap();
        export(&world.store, other);
        let root = if other.path().is_dir() { other.path().to_owned() } else { world.path("none") };
        let mut sent: Vec<u8> = tree(&root).into_values().flatten().collect();
        sent.extend(std::fs::read(other.path()).unwrap_or_default());
        let sent = String::from_utf8(sent).unwrap();
        assert!(sent.contains("[redacted:github-token]") && !sent.contains("a1B2"), "{sent}");
    }
    let world = world();
    let claude = Other::Claude(world.path("claude"));
    std::fs::create_dir_all(claude.path()).unwrap();
    std::fs::write(claude.path().join("x.md"), format!("The deploy key is {key}, kept by ops.")).unwrap();
    let plan = Exchange::new(&world.store, &claude, now()).import().unwrap();
    assert!(!format!("{:?}", plan.steps()).contains("a1B2"));
    plan.apply(Proposals::Leave).unwrap();
    let all: Vec<u8> = tree(&world.path("ours")).into_values().flatten().collect();
    assert!(!String::from_utf8_lossy(&all).contains("a1B2"));
    assert_eq!(said(&world.store).len(), 1);
}

#[test]
fn what_changes_between_plan_and_apply_is_left_alone() {
    let world = world();
    fill(&world.store);
    let claude = Other::Claude(world.path("claude"));
    let plan = Exchange::new(&world.store, &claude, now()).export().unwrap();
    std::fs::create_dir_all(claude.path()).unwrap();
    let path = claude.path().join("project_release-day.md");
    std::fs::write(&path, "somebody was quicker").unwrap();
    let report = plan.apply(Proposals::Leave).unwrap();
    assert_eq!(actions(&report), [Action::Create, Action::Conflict, Action::Create]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "somebody was quicker");

    let agents = Other::Agents(world.path("AGENTS.md"));
    let plan = Exchange::new(&world.store, &agents, now()).export().unwrap();
    std::fs::write(agents.path(), "mine").unwrap();
    assert!(matches!(plan.apply(Proposals::Leave), Err(ExchangeError::Changed { .. })));
    assert_eq!(std::fs::read_to_string(agents.path()).unwrap(), "mine");
}

#[cfg(unix)]
#[test]
fn nothing_is_read_or_written_through_a_link() {
    use std::os::unix::fs::symlink;
    let world = world();
    fill(&world.store);
    let claude = Other::Claude(world.path("claude"));
    std::fs::create_dir_all(claude.path()).unwrap();
    std::fs::write(world.path("secret.md"), "outside").unwrap();
    symlink(world.path("secret.md"), claude.path().join("project_release-day.md")).unwrap();
    let report = export(&world.store, &claude);
    assert_eq!(actions(&report), [Action::Create, Action::Conflict, Action::Create]);
    let report = import(&world.store("elsewhere"), &claude);
    assert_eq!(actions(&report).iter().filter(|action| **action == Action::Skip).count(), 1, "{report:?}");
    assert_eq!(std::fs::read_to_string(world.path("secret.md")).unwrap(), "outside");
    symlink(world.path("secret.md"), world.path("AGENTS.md")).unwrap();
    let agents = Other::Agents(world.path("AGENTS.md"));
    assert!(Exchange::new(&world.store, &agents, now()).export().is_err());
}

#[cfg(unix)]
#[test]
fn a_place_behind_a_link_is_known_again() {
    let world = world();
    fill(&world.store);
    std::fs::create_dir_all(world.path("real")).unwrap();
    std::os::unix::fs::symlink(world.path("real"), world.path("link")).unwrap();
    let far = Other::Codex(world.path("link/codex"));
    assert_eq!(actions(&export(&world.store, &far)), [Action::Create; 3]);
    assert!(!Exchange::new(&world.store, &far, now()).export().unwrap().changes_anything());
    let near = Other::Codex(world.path("real/codex"));
    assert!(!Exchange::new(&world.store, &near, now()).export().unwrap().changes_anything());
}

#[test]
fn a_folder_is_not_exchanged_with_itself() {
    let world = world();
    fill(&world.store);
    let same = Other::Claude(world.path("ours"));
    assert!(matches!(Exchange::new(&world.store, &same, now()).export(), Err(ExchangeError::Same { .. })));
    assert!(matches!(Exchange::new(&world.store, &same, now()).import(), Err(ExchangeError::Same { .. })));
}

fn memory() -> impl Strategy<Value = (usize, String, String)> {
    let odd = prop_oneof![
        Just("<!-- throughline:memories:end -->".to_owned()),
        Just("\n---\n".to_owned()),
        Just("\n### Heading\n".to_owned()),
        Just("\n<!-- throughline:memory {} -->\n".to_owned()),
        Just("```\ncode\n```".to_owned()),
        // Neither this nor anything beside it may read like a credential: such a memory is refused.
        Just("文字 と é".to_owned()),
        Just("\r\n".to_owned()),
        "[ -~]{0,20}",
        "\\PC{0,10}",
    ];
    (0usize..4, "[a-zA-Z][ -~]{0,20}", proptest::collection::vec(odd, 0..6).prop_map(|parts| parts.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_memories_make_the_round_trip(memories in proptest::collection::vec(memory(), 1..6), at in 0usize..3) {
        let world = world();
        for (n, (kind, name, body)) in memories.into_iter().enumerate() {
            // Apart from each other, so that none is near another.
            let word: String = word_of(n);
            let new = NewTopic {
                kind: TopicType::ALL[kind],
                name: format!("{word} {name}"),
                description: format!("{word} {word}x described"),
                body: format!("{word} {word}a {word}b {word}c {body}"),
                meta: Meta::default(),
            };
            let _ = world.store.add(new).unwrap();
        }
        let other = &others(&world)[at];
        let all = Exchange::new(&world.store, other, now()).only(&TopicType::ALL);
        all.export().unwrap().apply(Proposals::Leave).unwrap();
        let elsewhere = world.store("elsewhere");
        import(&elsewhere, other);
        let plain = |memories: Vec<(Option<TopicType>, String, String, String)>| -> Vec<_> {
            memories.into_iter().map(|(kind, name, what, body)| (kind, name, what, body.replace("\r\n", "\n"))).collect()
        };
        prop_assert_eq!(plain(said(&elsewhere)), plain(said(&world.store)));
        prop_assert!(!all.export().unwrap().changes_anything());
        prop_assert!(!Exchange::new(&elsewhere, other, now()).import().unwrap().changes_anything());
    }
}

/// A word that no other number gives.
fn word_of(n: usize) -> String {
    ["quartz", "willow", "harbour", "pepper", "lantern", "meadow"][n % 6].to_owned()
}
