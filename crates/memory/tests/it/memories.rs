//! Memories of all tiers.

use jiff::Timestamp;
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use throughline_ledger::Home;
use throughline_memory::topics::{Added, Meta, NewTopic, TopicType};
use throughline_memory::usage::Used;
use throughline_memory::{Lookup, Memories, MemoriesError, MemoryId, MemoryPlaces, Project, Tier};

struct World {
    dir: tempfile::TempDir,
    home: Home,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        fs::create_dir(home.root()).unwrap();
        Self { dir, home }
    }

    fn at(&self, relative: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(relative)
    }

    /// A repository with a linked worktree, as git would make them.
    fn worktree(&self) -> (Project, Project) {
        let git = self.at("app/.git");
        let own = git.join("worktrees/fix");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir(self.at("fix")).unwrap();
        let write = |path: PathBuf, text: String| fs::write(path, text).unwrap();
        write(git.join("HEAD"), "ref: refs/heads/main\n".to_owned());
        write(own.join("HEAD"), "ref: refs/heads/fix\n".to_owned());
        write(own.join("commondir"), "../..\n".to_owned());
        write(own.join("gitdir"), format!("{}\n", self.at("fix/.git").display()));
        write(self.at("fix/.git"), format!("gitdir: {}\n", own.display()));
        let find = |place: &str| Project::find(&self.home, &self.at(place));
        (find("app"), find("fix"))
    }

    fn open(&self, project: &Project) -> Memories {
        Memories::open(&self.home, project, &MemoryPlaces::default())
    }
}

fn new(name: &str, description: &str) -> NewTopic {
    NewTopic {
        kind: TopicType::Feedback,
        name: name.to_owned(),
        description: description.to_owned(),
        body: description.to_owned(),
        meta: Meta::default(),
    }
}

fn saved(added: Added) -> String {
    match added {
        Added::Saved(saved) => saved.file,
        Added::Similar(known) => panic!("{known:?}"),
    }
}

fn folder(memories: &Memories, tier: Tier) -> PathBuf {
    memories.store(tier).unwrap().folder().to_owned()
}

#[test]
fn ids_are_read_as_they_are_written() {
    for (text, tier, file) in [
        ("user_role.md", Tier::Project, "user_role.md"),
        ("global/user_role.md", Tier::Global, "user_role.md"),
        ("team/a.md", Tier::Team, "a.md"),
        ("worktree/a.md", Tier::Worktree, "a.md"),
    ] {
        let id: MemoryId = text.parse().unwrap();
        assert_eq!((&id, id.to_string().as_str()), (&MemoryId::new(tier, file), text));
        assert_eq!(serde_json::from_str::<MemoryId>(&serde_json::to_string(&id).unwrap()).unwrap(), id);
    }
    assert_eq!("project/a.md".parse(), Ok(MemoryId::new(Tier::Project, "a.md")));
    for text in ["", "global/", "elsewhere/a.md", "../a.md", "global/../a.md", "a/b/c.md", "team/a\\b.md"] {
        assert!(text.parse::<MemoryId>().is_err(), "{text:?}");
    }
}

#[test]
fn m1_m8_each_tier_has_its_place() {
    let world = World::new();
    let (main, linked) = world.worktree();
    let memories = world.open(&linked);
    let projects = world.home.root().join("projects").join(main.slug.as_str());
    assert_eq!(folder(&memories, Tier::Project), projects.join("memory"));
    assert_eq!(folder(&memories, Tier::Team), projects.join("memory/team"));
    assert_eq!(folder(&memories, Tier::Global), world.home.root().join("memory"));
    let overlay = linked.worktree.as_ref().unwrap().slug.as_str();
    assert_eq!(folder(&memories, Tier::Worktree), projects.join("worktrees").join(overlay).join("memory"));
    assert!(world.open(&main).store(Tier::Worktree).is_none());
    assert!(memories.list().0.is_empty() && memories.index_for_session().text.is_none());
    assert!(!projects.join("memory").exists(), "nothing is made before there is something to remember");
}

#[test]
fn m1_the_user_may_say_where() {
    let world = World::new();
    let (main, _) = world.worktree();
    let places = MemoryPlaces {
        project: Some(world.at("mine")),
        team: Some(world.at("shared/{project}/notes")),
        ..MemoryPlaces::default()
    };
    let memories = Memories::open(&world.home, &main, &places);
    assert_eq!(folder(&memories, Tier::Project), world.at("mine"));
    assert_eq!(folder(&memories, Tier::Team), world.at("shared").join(main.slug.as_str()).join("notes"));
    let same = MemoryPlaces { team: Some(world.at("mine")), ..places.clone() };
    assert!(Memories::open(&world.home, &main, &same).store(Tier::Team).is_none(), "one folder is one tier");
    let few = MemoryPlaces { tiers: [Tier::Project].into(), ..MemoryPlaces::default() };
    assert_eq!(Memories::open(&world.home, &main, &few).stores().count(), 1);
    let off = Memories::open(&world.home, &main, &MemoryPlaces::off());
    assert!(off.is_off() && off.index_for_session().text.is_none());
    assert!(matches!(off.add_to(Tier::Project, new("a", "b")), Err(MemoriesError::NoTier { .. })));
}

#[test]
fn worktrees_share_what_the_project_knows_and_keep_what_is_theirs() {
    let world = World::new();
    let (main, linked) = world.worktree();
    let (main, linked) = (world.open(&main), world.open(&linked));
    main.add_to(Tier::Project, new("Tests first", "Run the tests before every commit")).unwrap();
    let id = MemoryId::new(
        Tier::Worktree,
        saved(linked.add_to(Tier::Worktree, new("Port", "Here the server listens on port 9000")).unwrap()),
    );
    let ids = |memories: &Memories| -> Vec<String> {
        memories.list().0.iter().map(|listed| listed.id.to_string()).collect()
    };
    assert_eq!(ids(&main), ["feedback_tests-first.md"]);
    assert_eq!(ids(&linked), ["feedback_tests-first.md", "worktree/feedback_port.md"]);
    assert_eq!(linked.read(&id).unwrap().name, "Port");
    linked.forget(&id, Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(ids(&linked), ["feedback_tests-first.md"]);
}

#[test]
fn m6_the_index_of_all_tiers_has_the_project_first_and_says_whose_the_others_are() {
    let world = World::new();
    let (_, linked) = world.worktree();
    let memories = world.open(&linked);
    memories.add_to(Tier::Project, new("Tests first", "Run the tests before every commit")).unwrap();
    let alone = memories.index_for_session().text.unwrap();
    assert_eq!(alone, "- [Tests first](feedback_tests-first.md) — Run the tests before every commit\n");
    memories.add_to(Tier::Global, new("Tone", "Answer briefly and without praise")).unwrap();
    memories.add_to(Tier::Worktree, new("Port", "Here the server listens on port 9000")).unwrap();
    assert_eq!(
        memories.index_for_session().text.unwrap(),
        "## Memories of this project\n\
         - [Tests first](feedback_tests-first.md) — Run the tests before every commit\n\
         \n## Memories of this worktree alone (their files: worktree/NAME)\n\
         - [Port](feedback_port.md) — Here the server listens on port 9000\n\
         \n## Memories for every project (their files: global/NAME)\n\
         - [Tone](feedback_tone.md) — Answer briefly and without praise\n"
    );
}

fn write_index(folder: &Path, lines: usize, width: usize) {
    fs::create_dir_all(folder).unwrap();
    let line = |n: usize| {
        let lead = format!("- [T{n}](user_{n}.md) — ");
        format!("{lead}{}\n", "x".repeat(width.saturating_sub(lead.len())))
    };
    fs::write(folder.join("MEMORY.md"), (0..lines).map(line).collect::<String>()).unwrap();
}

/// What was told of each tier: lines of its index.
fn told(text: &str, tier: &str) -> usize {
    let section = text.split("## ").find(|section| section.contains(tier)).unwrap_or_default();
    section.lines().filter(|line| line.starts_with("- [")).count()
}

#[test]
fn m6_a_long_index_of_the_project_leaves_room_for_the_others_and_takes_what_they_do_not_need() {
    let world = World::new();
    let (main, _) = world.worktree();
    let memories = world.open(&main);
    write_index(&folder(&memories, Tier::Project), 1_000, 60);
    write_index(&folder(&memories, Tier::Global), 3, 60);
    let text = memories.index_for_session().text.unwrap();
    assert_eq!((told(&text, "this project"), told(&text, "every project")), (193, 3), "{text}");
    assert!(text.contains("WARNING: MEMORY.md is too long: 193 of its 1000 lines"), "{text}");
    write_index(&folder(&memories, Tier::Global), 1_000, 60);
    let text = memories.index_for_session().text.unwrap();
    assert_eq!((told(&text, "this project"), told(&text, "every project")), (171, 25), "{text}");
    write_index(&folder(&memories, Tier::Project), 10, 60);
    let text = memories.index_for_session().text.unwrap();
    assert_eq!((told(&text, "this project"), told(&text, "every project")), (10, 186), "{text}");
}

#[test]
fn m6_the_newest_correction_gives_way_last_where_tiers_share_the_room() {
    let world = World::new();
    let (main, _) = world.worktree();
    let memories = world.open(&main);
    let folder_of = |tier| folder(&memories, tier);
    write_index(&folder_of(Tier::Global), 3, 60);
    fs::create_dir_all(folder_of(Tier::Project)).unwrap();
    let mut index = "# Mine\n".to_owned();
    for n in 0..199 {
        let kind = if n % 40 == 0 { "feedback" } else { "project" };
        index.push_str(&format!("- [T{n}]({kind}_{n}.md) — x\n"));
    }
    index.push_str("- [Newest](feedback_newest.md) — never push on Friday\n");
    fs::write(folder_of(Tier::Project).join("MEMORY.md"), &index).unwrap();
    let text = memories.index_for_session().text.unwrap();
    assert!(
        text.contains("# Mine\n") && text.contains("never push on Friday") && text.contains("project_198.md"),
        "{text}"
    );
    assert_eq!(text.matches("](feedback_").count(), 6, "all corrections: {text}");
    assert!(
        !text.contains("](project_1.md)") && text.contains("193 of its 201 lines"),
        "the oldest facts gave way: {text}"
    );
}

#[test]
fn m6_a_tier_that_can_not_be_read_does_not_hide_the_others() {
    let world = World::new();
    let (main, _) = world.worktree();
    let memories = world.open(&main);
    memories.add_to(Tier::Project, new("Tests first", "Run the tests before every commit")).unwrap();
    fs::create_dir_all(folder(&memories, Tier::Global).join("MEMORY.md")).unwrap();
    let index = memories.index_for_session();
    assert!(index.text.unwrap().contains("Tests first"));
    assert_eq!(index.problems.len(), 1, "{:?}", index.problems);
}

#[test]
fn one_memory_is_found_by_its_file_its_name_or_its_words() {
    let world = World::new();
    let (main, _) = world.worktree();
    let memories = world.open(&main);
    memories.add_to(Tier::Project, new("Tests first", "Run the tests before every commit")).unwrap();
    memories.add_to(Tier::Project, new("Deploy day", "Deploy on Tuesday, never on Friday")).unwrap();
    memories.add_to(Tier::Global, new("Deploy tool", "Use the wrapper script to deploy")).unwrap();
    memories.add_to(Tier::Global, new("Tests first", "Ask before tests are deleted anywhere")).unwrap();
    memories.add_to(Tier::Project, new("语言", "用中文回答问题")).unwrap();
    let ids = |text: &str| match memories.find(text) {
        Lookup::Nothing => Vec::new(),
        Lookup::One(one) => vec![one.id.to_string()],
        Lookup::Several(several) => {
            let mut ids: Vec<String> = several.iter().map(|one| one.id.to_string()).collect();
            ids.push("?".to_owned());
            ids
        }
    };
    assert_eq!(ids("feedback_deploy-day.md"), ["feedback_deploy-day.md"]);
    assert_eq!(ids("./feedback_deploy-day"), ["feedback_deploy-day.md"]);
    assert_eq!(ids("global/feedback_tests-first.md"), ["global/feedback_tests-first.md"]);
    assert_eq!(ids("project/feedback_tests-first.md"), ["feedback_tests-first.md"]);
    assert_eq!(
        ids("feedback_tests-first.md"),
        ["feedback_tests-first.md", "global/feedback_tests-first.md", "?"]
    );
    assert_eq!(ids("deploy DAY"), ["feedback_deploy-day.md"]);
    assert_eq!(ids("Tuesday friday"), ["feedback_deploy-day.md"]);
    assert_eq!(ids("中文"), ["feedback_语言.md"]);
    assert_eq!(ids("deploy"), ["feedback_deploy-day.md", "global/feedback_deploy-tool.md", "?"]);
    assert_eq!(ids("deploy the moon on Tuesday").last().map(String::as_str), Some("?"), "no proof");
    for text in ["", "  ", "zebra", "../../etc/passwd", "team/feedback_deploy-day.md", "MEMORY.md"] {
        assert_eq!(ids(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn use_is_counted_in_the_tier_of_the_memory() {
    let world = World::new();
    let (main, _) = world.worktree();
    let memories = world.open(&main);
    let here = saved(memories.add_to(Tier::Project, new("Port", "The server listens on port 9000")).unwrap());
    let all = saved(memories.add_to(Tier::Global, new("Port", "Never open a port to the world")).unwrap());
    assert_eq!(here, all);
    let ids = [MemoryId::new(Tier::Project, &here), MemoryId::new(Tier::Global, &all)];
    let now = Timestamp::from_second(1_800_000_000).unwrap();
    memories.record_use(&ids, Used::Shown, (Some("s-1"), now)).unwrap();
    memories.record_use(&ids[1..], Used::Used, (Some("s-1"), now)).unwrap();
    let counts = |tier| memories.usage(tier).unwrap().counts_of(&here).unwrap();
    assert_eq!((counts(Tier::Project).shown, counts(Tier::Project).used), (1, 0));
    assert_eq!((counts(Tier::Global).shown, counts(Tier::Global).used), (1, 1));
    assert!(!folder(&memories, Tier::Team).exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn m6_whatever_the_indexes_are_the_limits_hold(
        sizes in prop::collection::vec((0_usize..400, 20_usize..300), 4),
    ) {
        let world = World::new();
        let (_, linked) = world.worktree();
        let memories = world.open(&linked);
        for (tier, (lines, width)) in Tier::ALL.into_iter().zip(sizes) {
            write_index(&folder(&memories, tier), lines, width);
        }
        let text = memories.index_for_session().text.unwrap_or_default();
        // A warning stands beside the limits, as for one index.
        let (lines, bytes) = text
            .split_inclusive('\n')
            .filter(|line| !line.starts_with("> WARNING"))
            .fold((0, 0), |(lines, bytes), line| (lines + 1, bytes + line.len()));
        prop_assert!(lines <= 200 && bytes <= 25_000, "{} lines, {} bytes", lines, bytes);
    }
}
