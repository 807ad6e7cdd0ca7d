//! The folder of memories (M1, M2, M4, M6): what is written, and what is read back.

use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use throughline_ledger::Home;
use throughline_memory::ProjectSlug;
use throughline_memory::topics::{
    Added, Change, Meta, NewTopic, Saved, TopicError, TopicHead, TopicStore, TopicType,
};

/// A time shortly before all files of the tests, so that none of them is over.
pub(crate) const NOW: jiff::Timestamp = jiff::Timestamp::constant(1_700_000_000, 0);

pub(crate) struct House {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) store: TopicStore,
}

impl House {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = TopicStore::open(dir.path().join("memory"));
        Self { dir, store }
    }

    /// Where many changes are made and none is undone.
    pub(crate) fn without_history() -> Self {
        let house = Self::new();
        Self { store: house.store.without_history(), ..house }
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.store.folder().join(file)
    }

    pub(crate) fn text(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    pub(crate) fn put(&self, file: &str, text: &str) {
        fs::create_dir_all(self.store.folder()).unwrap();
        fs::write(self.path(file), text).unwrap();
    }

    /// A file that is so many minutes older than others.
    fn put_old(&self, file: &str, text: &str, minutes: u64) {
        self.put(file, text);
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 - 60 * minutes);
        fs::File::options().write(true).open(self.path(file)).unwrap().set_modified(time).unwrap();
    }
}

pub(crate) fn new(kind: TopicType, name: &str, description: &str, body: &str) -> NewTopic {
    NewTopic {
        kind,
        name: name.to_owned(),
        description: description.to_owned(),
        body: body.to_owned(),
        meta: Meta::default(),
    }
}

pub(crate) fn saved(added: Result<Added, TopicError>) -> Saved {
    match added.unwrap() {
        Added::Saved(saved) => saved,
        Added::Similar(head) => panic!("refused for {head:?}"),
    }
}

fn similar(added: Result<Added, TopicError>) -> TopicHead {
    match added.unwrap() {
        Added::Similar(head) => head,
        Added::Saved(saved) => panic!("saved as {}", saved.file),
    }
}

fn role() -> NewTopic {
    new(
        TopicType::User,
        "Role",
        "The user maintains the payments service",
        "Senior engineer; knows Rust, new to React.",
    )
}

#[test]
fn m1_a_memory_is_a_file_and_a_line_of_the_index() {
    let house = House::new();
    let file = saved(house.store.add(role())).file;
    assert_eq!(file, "user_role.md");
    assert_eq!(
        house.text(&file),
        "---\nname: Role\ndescription: The user maintains the payments service\ntype: user\n---\n\nSenior engineer; knows Rust, new to React.\n"
    );
    assert_eq!(house.text("MEMORY.md"), "- [Role](user_role.md) — The user maintains the payments service\n");
    let topic = house.store.read(&file).unwrap();
    assert_eq!(topic.kind, Some(TopicType::User));
    assert_eq!(topic.body, "Senior engineer; knows Rust, new to React.");
    let left: Vec<_> = fs::read_dir(house.store.folder()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "the file, the index, our own folder: {left:?}");
}

#[test]
fn m1_the_folder_of_a_project_is_below_the_home() {
    let slug = ProjectSlug::of(Path::new("/code/app"));
    let folder = TopicStore::folder_of(&Home::new("/h"), &slug);
    assert_eq!(folder, Path::new("/h/projects").join(slug.as_str()).join("memory"));
}

#[cfg(unix)]
#[test]
fn m1_only_the_owner_may_read_memories() {
    use std::os::unix::fs::PermissionsExt as _;
    let house = House::new();
    let file = saved(house.store.add(role())).file;
    house.store.update(&file, Change { body: Some("Other.".to_owned()), ..Change::default() }).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(house.store.folder()), 0o700);
    for file in [
        file.as_str(),
        "MEMORY.md",
        ".throughline/lock",
        ".throughline/.gitignore",
        ".throughline/fingerprints.db",
    ] {
        assert_eq!(mode(&house.path(file)), 0o600, "{file}");
    }
    let kept = house.store.forget(&file, jiff::Timestamp::UNIX_EPOCH).unwrap().kept;
    assert_eq!(mode(&kept), 0o600);
    assert_eq!(mode(kept.parent().unwrap()), 0o700);
}

#[test]
fn m1_lines_of_the_index_stay_short_and_whole() {
    let house = House::new();
    let long = "very ".repeat(20) + "[long] title";
    let hook = "why it matters and when it helps, ".repeat(10);
    saved(house.store.add(new(TopicType::Project, &long, &hook, "Body.")));
    saved(house.store.add(new(TopicType::Project, &"名前".repeat(30), &"説明".repeat(100), "本文")));
    let index = house.text("MEMORY.md");
    assert_eq!(index.lines().count(), 2);
    for line in index.lines() {
        assert!(line.chars().count() < 150, "{line}");
        assert!(line.starts_with("- [") && line.contains(".md) — ") && line.ends_with('…'), "{line}");
    }
}

#[test]
fn m4_the_manifest_is_newest_first_and_at_most_200() {
    let house = House::new();
    for n in 0..205 {
        let text = format!("---\nname: n{n}\ndescription: about {n}\ntype: project\n---\n\nText {n}.\n");
        house.put_old(&format!("t{n:03}.md"), &text, n);
    }
    house.put("MEMORY.md", "- [x](t000.md) — y\n");
    house.put("notes.txt", "no memory");
    house.put(".hidden.md", "no memory");
    let (heads, problems) = house.store.list().unwrap();
    assert_eq!(heads.len(), 200);
    assert_eq!(problems, []);
    assert_eq!(heads[0].file, "t000.md");
    assert_eq!(heads[199].file, "t199.md");
    let manifest = house.store.manifest().unwrap();
    assert_eq!(manifest.lines().next(), Some("- [project] t000.md (2023-11-14T22:13:20Z): about 0"));
    assert_eq!(manifest.lines().nth(1), Some("- [project] t001.md (2023-11-14T22:12:20Z): about 1"));
}

#[test]
fn m4_only_the_first_30_lines_of_a_file_are_looked_at() {
    let house = House::new();
    let filler =
        "x: y\n".repeat(40).lines().enumerate().map(|(n, _)| format!("k{n}: v\n")).collect::<String>();
    house.put("late.md", &format!("---\n{filler}name: late\ndescription: d\ntype: user\n---\n\nBody.\n"));
    let (heads, problems) = house.store.list().unwrap();
    assert_eq!((heads[0].name.as_str(), heads[0].kind), ("late", None), "named by its file");
    assert!(problems[0].what.contains("does not end"), "{}", problems[0]);
    assert_eq!(
        house.store.read("late.md").unwrap().kind,
        Some(TopicType::User),
        "read as a whole it is in order"
    );
}

#[test]
fn m4_files_that_are_not_in_order_are_reported_and_kept() {
    let house = House::new();
    let cases = [
        ("bare.md", "Just text.\n", "no frontmatter"),
        ("open.md", "---\nname: x\n", "does not end"),
        ("yaml.md", "---\nname: x\ndescription: a: b: c\ntype: user\n---\nBody\n", "not YAML"),
        ("kind.md", "---\nname: x\ndescription: d\ntype: diary\n---\nBody\n", "diary"),
        ("less.md", "---\nname: x\ntype: user\n---\nBody\n", "no description"),
        ("empty.md", "", "no frontmatter"),
    ];
    for (file, text, _) in cases {
        house.put(file, text);
    }
    fs::write(house.path("bytes.md"), b"---\nname: \xff\n---\n\xfe").unwrap();
    let (heads, problems) = house.store.list().unwrap();
    assert_eq!(heads.len(), cases.len() + 1);
    for (file, text, why) in cases {
        let problem = problems.iter().find(|problem| problem.file == file).unwrap();
        assert!(problem.what.contains(why), "{problem}");
        assert_eq!(house.text(file), text);
    }
    assert!(problems.iter().any(|problem| problem.file == "bytes.md" && problem.what.contains("UTF-8")));
    let lenient = heads.iter().find(|head| head.file == "yaml.md").unwrap();
    assert_eq!((lenient.description.as_str(), lenient.kind), ("a: b: c", Some(TopicType::User)));
    let bare = heads.iter().find(|head| head.file == "bare.md").unwrap();
    assert!(house.store.manifest().unwrap().contains(&format!("- bare.md ({:.0})\n", bare.modified)));
}

#[test]
fn m4_a_near_duplicate_is_refused_and_named() {
    let house = House::new();
    let first = new(
        TopicType::Feedback,
        "Tests before commit",
        "Run the whole test suite before each commit",
        "Run the whole test suite before each commit.\n\n**Why:** main broke twice in March.\n**How to apply:** always.",
    );
    let file = saved(house.store.add(first.clone())).file;
    // The same name, written otherwise.
    let renamed =
        new(TopicType::Project, "tests  before COMMIT!", "Something else", "Entirely different words here.");
    assert_eq!(similar(house.store.add(renamed)).file, file);
    // Much the same description; much the same body.
    let described = NewTopic {
        name: "CI".into(),
        description: "Run whole test suites before each commit".into(),
        ..first.clone()
    };
    assert_eq!(similar(house.store.add(described)).name, "Tests before commit");
    let bodied = NewTopic { name: "Commit habit".into(), description: "Habit".into(), ..first };
    assert_eq!(similar(house.store.add(bodied)).file, file);
    // Another subject is another memory.
    saved(house.store.add(new(
        TopicType::Feedback,
        "Short answers",
        "Keep answers short",
        "Answer in a few lines.",
    )));
    assert_eq!(house.text("MEMORY.md").lines().count(), 2);
}

#[test]
fn m6_a_session_is_told_at_most_200_lines() {
    let house = House::new();
    assert_eq!(house.store.index_for_session().unwrap(), None);
    house.put("MEMORY.md", "  \n\n");
    assert_eq!(house.store.index_for_session().unwrap(), None);
    let line = |n: usize| format!("- [t{n}](t{n}.md) — hook\n");
    let exact: String = (0..200).map(line).collect();
    house.put("MEMORY.md", &exact);
    assert_eq!(house.store.index_for_session().unwrap(), Some(exact));
    house.put("MEMORY.md", &(0..201).map(line).collect::<String>());
    let told = house.store.index_for_session().unwrap().unwrap();
    assert_eq!(told.lines().count(), 201);
    assert!(told.contains("t199.md") && !told.contains("t200.md"));
    let warning = told.lines().last().unwrap();
    assert!(warning.contains("200 of its 201 lines") && warning.contains("forget"), "{warning}");
}

#[test]
fn m6_then_at_most_25_000_bytes_cut_at_a_line_end() {
    let house = House::new();
    let line = format!("- [t](t.md) — {}\n", "é".repeat(200));
    house.put("MEMORY.md", &line.repeat(100));
    let told = house.store.index_for_session().unwrap().unwrap();
    let (kept, warning) = told.trim_end().rsplit_once('\n').unwrap();
    assert!(kept.len() < 25_000 && kept.len() + line.len() > 25_000, "{}", kept.len());
    assert!(kept.lines().all(|kept| kept == line.trim_end()));
    assert!(warning.starts_with("> WARNING: MEMORY.md"), "{warning}");
    // One line that is too long by itself is cut inside.
    house.put("MEMORY.md", &"é".repeat(20_000));
    let told = house.store.index_for_session().unwrap().unwrap();
    assert!(told.starts_with('é') && told.len() < 25_600 && told.contains("WARNING"));
}

#[test]
fn an_update_leaves_what_people_wrote() {
    let house = House::new();
    let source = "---\r\n# mine\r\nowner: 'Ann'\r\nname: Old\r\ndescription: >\r\n  folded\r\n  text\r\n\r\ntags: [a, b]\r\ntype: project\r\n---\r\n\r\nBody é.\r\n\r\nEnd.";
    house.put("p.md", source);
    house.put(
        "MEMORY.md",
        "# Index\r\n\r\nMy own words.\r\n- [Old](p.md) — folded text\r\n- [Wiki](https://wiki.test/x.md)\r\n",
    );
    let change = Change { description: Some("new: \"one\"".to_owned()), ..Change::default() };
    house.store.update("p.md", change).unwrap();
    assert_eq!(
        house.text("p.md"),
        source.replace("description: >\r\n  folded\r\n  text\r\n", "description: \"new: \\\"one\\\"\"\r\n")
    );
    assert_eq!(
        house.text("MEMORY.md"),
        "# Index\r\n\r\nMy own words.\r\n- [Old](p.md) — new: \"one\"\r\n- [Wiki](https://wiki.test/x.md)\r\n"
    );
    let change =
        Change { body: Some("Two\nlines".to_owned()), kind: Some(TopicType::Reference), ..Change::default() };
    house.store.update("p.md", change).unwrap();
    let text = house.text("p.md");
    assert!(text.contains("owner: 'Ann'\r\n") && text.contains("type: reference\r\n"), "{text}");
    assert!(text.ends_with("---\r\n\r\nTwo\r\nlines\r\n") && !text.replace("\r\n", "").contains('\n'));
    // A file without frontmatter gets one; one that can't be changed safely is left alone.
    house.put("bare.md", "Just text.\n");
    house.store.update("bare.md", Change { body: Some("Just text.".into()), ..Change::default() }).unwrap();
    assert_eq!(house.text("bare.md"), "Just text.\n");
    house.store.update("bare.md", Change { name: Some("Bare".into()), ..Change::default() }).unwrap();
    assert_eq!(house.text("bare.md"), "---\nname: Bare\n---\n\nJust text.\n");
    for broken in
        ["---\nname: x\n", "---\n{name: x, description: d}\n---\nB\n", "---\nother: a: b\nname: x\n---\nB\n"]
    {
        house.put("broken.md", broken);
        let change = Change { name: Some("New".into()), ..Change::default() };
        let error = house.store.update("broken.md", change).unwrap_err();
        assert!(matches!(error, TopicError::Frontmatter { .. }), "{error}");
        assert_eq!(house.text("broken.md"), broken);
    }
}

#[test]
fn what_is_forgotten_is_kept_aside() {
    let house = House::new();
    house.put("MEMORY.md", "My line.\n");
    let at = jiff::Timestamp::from_second(1_700_000_000).unwrap();
    for _ in 0..2 {
        let file = saved(house.store.add(role())).file;
        house.store.forget(&file, at).unwrap();
        assert_eq!(house.text("MEMORY.md"), "My line.\n");
        assert!(matches!(house.store.read(&file), Err(TopicError::NoTopic { .. })));
        assert!(matches!(house.store.forget(&file, at), Err(TopicError::NoTopic { .. })));
    }
    assert!(house.text(".throughline/forgotten/20231114T221320Z-user_role.md").contains("Senior engineer"));
    assert!(house.text(".throughline/forgotten/20231114T221320Z.2-user_role.md").contains("Senior engineer"));
    assert_eq!(house.store.list().unwrap().0, []);
    assert_eq!(house.store.search("engineer", 5).unwrap(), []);
}

#[test]
fn a_search_finds_by_words_names_before_bodies() {
    let house = House::new();
    let add = |kind, name: &str, description: &str, body: &str| {
        saved(house.store.add(new(kind, name, description, body))).file
    };
    let deploy = add(
        TopicType::Reference,
        "Deploy dashboard",
        "Where deployments are watched",
        "Grafana board 'release'.",
    );
    let freeze = add(
        TopicType::Project,
        "Release freeze",
        "No deploys after 2026-12-18",
        "Mobile cuts the release branch then.",
    );
    let chinese = add(TopicType::Feedback, "回答要简短", "用户希望回答简短", "不要总结差异。");
    add(TopicType::User, "Editor", "Uses Helix", "Asks for keyboard-only flows.");
    let files = |query: &str| -> Vec<String> {
        house.store.search(query, 3).unwrap().into_iter().map(|found| found.topic.file).collect()
    };
    assert_eq!(files("where is the deploy dashboard?")[0], deploy);
    assert_eq!(files("may I release before the freeze")[0], freeze);
    assert_eq!(files("deploying"), [deploy, freeze], "by stem");
    assert_eq!(files("请简短回答"), [chinese]);
    assert!(files("").is_empty() && files("the of and").is_empty() && files("kubernetes").is_empty());
    assert_eq!(house.store.search("deploy release freeze", 1).unwrap().len(), 1);
}

#[test]
fn refuses_memories_with_credentials() {
    let house = House::new();
    let key = format!("ghp_{}", "a1B2".repeat(9));
    let refused = |topic: NewTopic, part: &str| {
        let error = house.store.add(topic).unwrap_err();
        assert!(matches!(&error, TopicError::Credential { what, .. } if *what == part), "{error}");
        assert!(!error.to_string().contains("a1B2") && !error.to_string().contains("hunter22"), "{error}");
    };
    let with_key = format!("use {key}");
    refused(new(TopicType::Reference, &with_key, "Where it is", "In the vault."), "name");
    refused(new(TopicType::Reference, "Token", &with_key, "In the vault."), "description");
    refused(new(TopicType::Reference, "Token", "Where it is", &with_key), "text");
    refused(new(TopicType::Reference, "Access", "How", "The password of the admin is hunter22-x"), "text");
    let saved = saved(house.store.add(new(
        TopicType::Reference,
        "Token",
        "Where the token is",
        "It is in the vault. Rotate the API key every 90 days.",
    )));
    let change = Change { body: Some(format!("now {key}")), ..Change::default() };
    assert!(matches!(house.store.update(&saved.file, change), Err(TopicError::Credential { .. })));
    // A file that a person wrote does not bring one into the index.
    house.put("mine.md", &format!("---\nname: mine\ndescription: key {key}\ntype: user\n---\n"));
    house.store.repair_index(NOW).unwrap();
    let index = house.text("MEMORY.md");
    assert!(!index.contains(&key) && index.contains("[redacted:github-token]"), "{index}");
    assert!(house.text(&saved.file).contains("in the vault"));
}

#[test]
fn parts_that_are_missing_or_too_long_are_refused() {
    let house = House::new();
    let error = |topic: NewTopic| house.store.add(topic).unwrap_err().to_string();
    assert!(error(NewTopic { name: " \n".into(), ..role() }).contains("name"));
    assert!(error(NewTopic { body: " \n".into(), ..role() }).contains("text"));
    assert!(error(NewTopic { name: "n".repeat(121), ..role() }).contains("120"));
    assert!(error(NewTopic { body: "b".repeat(50_001), ..role() }).contains("50000"));
    assert!(!house.store.folder().exists(), "nothing was made");
    let untold = saved(house.store.add(NewTopic { description: String::new(), ..role() }));
    assert_eq!(
        house.store.read(&untold.file).unwrap().description,
        "Senior engineer; knows Rust, new to React."
    );
}

proptest! {
    #[test]
    fn any_memory_comes_back_as_it_was_saved(name in any::<String>(), description in any::<String>(), body in any::<String>()) {
        let house = House::without_history();
        let clean = |text: &str| {
            let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        match house.store.add(new(TopicType::User, &name, &description, &body)) {
            Ok(Added::Saved(saved)) => {
                prop_assume!(saved.redacted.is_empty());
                let topic = house.store.read(&saved.file).unwrap();
                prop_assert_eq!(&topic.name, &clean(&name));
                if !clean(&description).is_empty() {
                    prop_assert_eq!(&topic.description, &clean(&description));
                }
                prop_assert_eq!(topic.body.trim(), body.trim());
                let (heads, problems) = house.store.list().unwrap();
                prop_assert_eq!(problems, []);
                prop_assert_eq!(heads.len(), 1);
                let before = house.text("MEMORY.md");
                prop_assert_eq!(before.lines().count(), 1);
                prop_assert_eq!(house.store.repair_index(NOW).unwrap(), Default::default());
                // Saying the same again changes nothing.
                let change = Change { name: Some(topic.name.clone()), body: Some(topic.body.clone()), ..Change::default() };
                house.store.update(&saved.file, change).unwrap();
                let again = house.store.read(&saved.file).unwrap();
                prop_assert_eq!(again.body.trim(), topic.body.trim());
                prop_assert_eq!(again.name, topic.name);
                prop_assert_eq!(house.text("MEMORY.md"), before);
            }
            Ok(Added::Similar(head)) => prop_assert!(false, "{head:?}"),
            Err(TopicError::Empty { .. } | TopicError::TooLong { .. }) => {}
            Err(error) => prop_assert!(false, "{error}"),
        }
    }
}
