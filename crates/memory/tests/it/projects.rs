//! Which project a folder belongs to (M1).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use throughline_ledger::Home;
use throughline_memory::{Checkout, Head, Project, ProjectSlug};

/// A home, and folders to work in.
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

    /// A place in it, links resolved.
    fn at(&self, relative: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(relative)
    }

    fn write(&self, relative: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A repository, as git would make it.
    fn repository(&self, relative: &str, origin: Option<&str>) -> PathBuf {
        self.write(&format!("{relative}/.git/HEAD"), "ref: refs/heads/main\n");
        self.set_origin(relative, origin);
        self.at(relative)
    }

    fn set_origin(&self, relative: &str, origin: Option<&str>) {
        let origin = origin.map(|url| format!("[remote \"origin\"]\n\turl = {url}\n")).unwrap_or_default();
        self.write(&format!("{relative}/.git/config"), format!("[core]\n\tbare = false\n{origin}"));
    }

    fn find(&self, cwd: &Path) -> Project {
        Project::find(&self.home, cwd)
    }

    /// The project remembers something.
    fn remember(&self, project: &Project) {
        let folder = project.folder(&self.home).join("memory");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("MEMORY.md"), "- [A](user_a.md) — a\n").unwrap();
    }

    fn record(&self, slug: &ProjectSlug) -> String {
        let path = self.home.root().join("projects").join(slug.as_str()).join("project.toml");
        fs::read_to_string(path).unwrap_or_default()
    }
}

/// Runs git in a folder. Without git the test is skipped, which is told; `false` then.
fn git(folder: &Path, arguments: &[&str]) -> bool {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "protocol.file.allow=always"]);
    command.args(arguments).current_dir(folder);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"] {
        command.env_remove(name);
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    match command.output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "git {arguments:?}: {said}");
            true
        }
        Err(error) => {
            let is_required = std::env::var("THROUGHLINE_REQUIRE").is_ok_and(|value| value == "all");
            assert!(!is_required, "git is missing: {error}");
            eprintln!("skipped: git is missing: {error}");
            false
        }
    }
}

#[test]
fn m1_without_git_the_folder_is_the_project() {
    let world = World::new();
    let folder = world.at("notes/deep");
    fs::create_dir_all(&folder).unwrap();
    let project = world.find(&folder);
    assert_eq!((&project.root, &project.slug), (&folder, &ProjectSlug::of(&folder)));
    assert_eq!((project.worktree, project.remote, project.notices), (None, None, vec![]));
    assert!(
        !world.home.root().join("projects").exists(),
        "nothing is written down of a folder without anything"
    );
}

#[test]
fn m1_the_slug_of_the_main_root_is_that_of_its_path() {
    let world = World::new();
    let root = world.repository("app", None);
    fs::create_dir_all(root.join("src/deep")).unwrap();
    let project = world.find(&root.join("src/deep"));
    assert_eq!((&project.root, &project.slug), (&root, &ProjectSlug::of(&root)));
    assert_eq!(world.find(&root), project);
}

#[test]
fn m1_all_worktrees_of_a_repository_share_one_project() {
    let world = World::new();
    let root = world.at("app");
    fs::create_dir(&root).unwrap();
    if !git(&root, &["init", "-q"]) {
        return;
    }
    git(&root, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&root, &["remote", "add", "origin", "https://me:pw@git.example.org/me/app.git"]);
    git(&root, &["worktree", "add", "-q", "../feature"]);
    git(&root, &["worktree", "add", "-q", "inside/other"]);
    let main = world.find(&root);
    assert_eq!(main.worktree, None);
    assert_eq!(main.remote.as_ref().map(|remote| remote.as_str()), Some("git.example.org/me/app"));
    for place in ["feature", "app/inside/other"] {
        let folder = world.at(place);
        fs::create_dir(folder.join("src")).unwrap();
        let linked = world.find(&folder.join("src"));
        assert_eq!((&linked.root, &linked.slug, &linked.remote), (&root, &main.slug, &main.remote));
        let worktree = linked.worktree.unwrap();
        assert_eq!((&worktree.folder, worktree.slug), (&folder, ProjectSlug::of(&folder)));
        assert_eq!(linked.notices, Vec::<String>::new());
    }
    assert!(!world.record(&main.slug).contains("pw"), "no credential is written down");
}

#[test]
fn m1_worktrees_of_a_bare_repository_share_one_project() {
    let world = World::new();
    let source = world.at("source");
    fs::create_dir(&source).unwrap();
    if !git(&source, &["init", "-q"]) {
        return;
    }
    git(&source, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&world.at(""), &["clone", "-q", "--bare", "source", "app.git"]);
    let bare = world.at("app.git");
    git(&bare, &["worktree", "add", "-q", "../one", "-b", "one"]);
    git(&bare, &["worktree", "add", "-q", "../two", "-b", "two"]);
    let (one, two) = (world.find(&world.at("one")), world.find(&world.at("two")));
    assert_eq!((&one.root, &one.slug), (&bare, &two.slug));
    assert_ne!(one.worktree, two.worktree);
    assert_eq!(world.find(&bare).slug, one.slug, "the repository itself too");

    // The repository hidden in a folder that holds its worktrees.
    let holder = world.at("holder");
    fs::create_dir(&holder).unwrap();
    git(&holder, &["clone", "-q", "--bare", "../source", ".bare"]);
    fs::write(holder.join(".git"), "gitdir: ./.bare\n").unwrap();
    git(&holder, &["worktree", "add", "-q", "main", "-b", "three"]);
    let linked = world.find(&holder.join("main"));
    assert_eq!((&linked.root, linked.slug), (&holder, world.find(&holder).slug));
    assert_eq!(linked.worktree.unwrap().folder, holder.join("main"));
}

#[test]
fn m1_a_submodule_is_a_project_of_its_own_and_so_are_its_worktrees() {
    let world = World::new();
    for name in ["lib", "app"] {
        fs::create_dir(world.at(name)).unwrap();
        if !git(&world.at(name), &["init", "-q"]) {
            return;
        }
        git(&world.at(name), &["commit", "-q", "--allow-empty", "-m", "first"]);
    }
    let app = world.at("app");
    git(&app, &["submodule", "add", "-q", "../lib", "vendor/lib"]);
    let sub = app.join("vendor/lib");
    git(&sub, &["worktree", "add", "-q", "../../../lib-fix"]);
    let project = world.find(&sub);
    assert_eq!((&project.root, project.worktree), (&sub, None));
    assert_ne!(project.slug, world.find(&app).slug);
    let linked = world.find(&world.at("lib-fix"));
    assert_eq!((&linked.root, &linked.slug), (&sub, &project.slug));
    assert!(linked.worktree.is_some());
}

#[test]
fn m1_a_repository_that_was_moved_or_cloned_again_finds_its_memories() {
    let world = World::new();
    let first = world.repository("app", Some("git@git.example.org:me/app.git"));
    let project = world.find(&first);
    world.remember(&project);
    fs::rename(&first, world.at("moved")).unwrap();
    let moved = world.find(&world.at("moved"));
    assert_eq!((&moved.root, &moved.slug), (&world.at("moved"), &project.slug));
    assert!(moved.is_shared());
    assert_eq!(moved.notices.len(), 1, "it is told once: {:?}", moved.notices);
    assert!(moved.notices[0].contains("git.example.org/me/app") && moved.notices[0].contains("apart = true"));
    let clone = world.repository("clone", Some("https://token@git.example.org/me/app"));
    assert_eq!(world.find(&clone).slug, project.slug);
    for place in ["moved", "clone"] {
        let again = world.find(&world.at(place));
        assert_eq!((again.slug, again.notices), (project.slug.clone(), vec![]));
    }
    assert!(!world.record(&ProjectSlug::of(&clone)).contains("token"));
}

#[test]
fn m1_the_memories_of_the_path_come_first() {
    let world = World::new();
    let (a, b) = (world.repository("a", None), world.repository("b", None));
    let (a, b) = (world.find(&a), world.find(&b));
    world.remember(&a);
    world.remember(&b);
    for place in ["a", "b"] {
        world.set_origin(place, Some("https://git.example.org/me/app"));
    }
    assert_eq!(world.find(&a.root).slug, a.slug);
    assert_eq!(world.find(&b.root).slug, b.slug);
}

#[test]
fn m1_other_remotes_and_forks_and_local_ones_never_match() {
    let world = World::new();
    for (n, (one, other)) in [
        (Some("https://git.example.org/me/app"), Some("https://git.example.org/you/app")),
        (Some("https://git.example.org/me/app"), Some("https://git.example.net/me/app")),
        (Some("https://git.example.org/me/app"), None),
        (None, None),
        (Some(""), Some("")),
        (Some("/srv/git/app.git"), Some("/srv/git/app.git")),
        (Some("file:///srv/git/app.git"), Some("file:///srv/git/app.git")),
        (Some("../app"), Some("../app")),
        (Some("me@server.example.org:app"), Some("you@server.example.org:app")),
    ]
    .into_iter()
    .enumerate()
    {
        let first = world.find(&world.repository(&format!("{n}/one"), one));
        world.remember(&first);
        let second = world.find(&world.repository(&format!("{n}/other"), other));
        assert_ne!(first.slug, second.slug, "{one:?} and {other:?}");
        assert_eq!(second.notices, Vec::<String>::new());
        // The next round begins anew.
        fs::remove_dir_all(world.home.root().join("projects")).unwrap();
    }
}

#[test]
fn m1_another_repository_in_the_same_place_does_not_inherit() {
    let world = World::new();
    let place = world.repository("app", Some("https://git.example.org/me/app"));
    let first = world.find(&place);
    world.remember(&first);
    let made = || place.join(".git").metadata().unwrap().created().ok();
    let before = made();
    fs::remove_dir_all(&place).unwrap();
    world.repository("app", Some("https://git.example.org/me/other"));
    // The clock of a file system has coarse ticks.
    while made().is_some() && made() == before {
        fs::remove_dir_all(&place).unwrap();
        world.repository("app", Some("https://git.example.org/me/other"));
    }
    let second = world.find(&place);
    assert_ne!(first.slug, second.slug);
    assert!(second.notices[0].contains("another repository before"), "{:?}", second.notices);
    world.remember(&second);
    assert_eq!((world.find(&place).slug, world.find(&place).notices), (second.slug.clone(), vec![]));
    // Both are found again, wherever they are.
    let elsewhere = world.repository("elsewhere", Some("https://git.example.org/me/app"));
    assert_ne!(world.find(&elsewhere).slug, second.slug);
    fs::remove_dir_all(&place).unwrap();
    world.repository("app", Some("https://git.example.org/me/app"));
    assert_eq!(world.find(&place).slug, first.slug);
}

#[test]
fn m1_a_repository_whose_remote_is_changed_stays_itself_where_the_system_can_tell() {
    let world = World::new();
    let place = world.repository("app", Some("https://git.example.org/me/app"));
    if place.join(".git").metadata().unwrap().created().is_err() {
        eprintln!("skipped: this system does not say when a folder was made");
        return;
    }
    let before = world.find(&place);
    world.remember(&before);
    world.set_origin("app", Some("https://git.example.org/team/app"));
    let after = world.find(&place);
    assert_eq!((after.slug, after.notices), (before.slug.clone(), vec![]));
    // A clone of what it was is another project from now on, and one of what it is now is this one.
    let old = world.repository("old", Some("https://git.example.org/me/app"));
    assert_ne!(world.find(&old).slug, before.slug);
    let new = world.repository("new", Some("https://git.example.org/team/app"));
    assert_eq!(world.find(&new).slug, before.slug);
    // A clone that used its memories, and goes its own way.
    world.set_origin("new", Some("https://git.example.org/fork/app"));
    let forked = world.find(&new);
    assert_ne!(forked.slug, before.slug);
    assert_eq!(forked.notices.len(), 1, "{:?}", forked.notices);
}

#[test]
fn m1_a_clone_can_be_kept_apart() {
    let world = World::new();
    let remote = Some("https://git.example.org/me/app");
    let first = world.find(&world.repository("app", remote));
    world.remember(&first);
    let place = world.repository("clone", remote);
    let shared = world.find(&place);
    assert!(shared.is_shared());
    let apart = shared.keep_apart(&world.home).unwrap();
    assert_ne!(apart.slug, first.slug);
    let again = world.find(&place);
    assert_eq!((again.slug, again.notices), (apart.slug, vec![]));
    assert_eq!(world.find(&first.root).slug, first.slug);
}

#[test]
fn m1_a_folder_that_claims_a_repository_is_not_believed() {
    let world = World::new();
    let victim = world.repository("victim", None);
    world.write("victim/.git/worktrees/real/HEAD", "x\n");
    world.write("victim/.git/worktrees/real/commondir", "../..\n");
    world.write("victim/.git/worktrees/real/gitdir", format!("{}\n", world.at("real/.git").display()));
    let pointer = format!("gitdir: {}\n", victim.join(".git/worktrees/real").display());
    world.write("real/.git", &pointer);
    let project = world.find(&victim);
    world.remember(&project);
    assert_eq!(world.find(&world.at("real")).slug, project.slug, "the real one is");

    // The name of a worktree that is somewhere else.
    world.write("hostile/.git", &pointer);
    // A folder of its own that names the victim as what it belongs to, and itself as the worktree.
    world.write("forged/.git", "gitdir: git/worktrees/x\n");
    world.write("forged/git/worktrees/x/HEAD", "x\n");
    world.write("forged/git/worktrees/x/commondir", format!("{}\n", victim.join(".git").display()));
    world.write("forged/git/worktrees/x/gitdir", format!("{}\n", world.at("forged/.git").display()));
    for place in ["hostile", "forged"] {
        let found = world.find(&world.at(place));
        assert_eq!((&found.root, found.worktree), (&world.at(place), None));
        assert_ne!(found.slug, project.slug);
        assert!(found.notices[0].contains("does not name it"), "{:?}", found.notices);
    }
    // The victim's own folder, claimed as one's own: the folder is by itself.
    world.write("direct/.git", format!("gitdir: {}\n", victim.join(".git").display()));
    let found = world.find(&world.at("direct"));
    assert_eq!(found.root, world.at("direct"));
    assert_ne!(found.slug, project.slug);
}

#[test]
fn m1_whatever_is_wrong_with_a_git_folder_leaves_the_folder_by_itself() {
    let world = World::new();
    world.repository("outer", Some("https://git.example.org/me/outer"));
    let deep = "/x".repeat(9_000);
    let cases: [(&str, Vec<u8>); 9] = [
        ("empty", vec![]),
        ("binary", vec![0, 159, 146, 150]),
        ("nothing", b"gitdir:\n".to_vec()),
        ("nowhere", b"gitdir: ../missing\n".to_vec()),
        ("itself", b"gitdir: .git\n".to_vec()),
        ("long", format!("gitdir: {deep}\n").into_bytes()),
        ("several", b"gitdir: ../outer/.git\nmore\n".to_vec()),
        ("a-folder", b"gitdir: ..\n".to_vec()),
        ("other", b"gitlink: ../outer/.git\n".to_vec()),
    ];
    for (name, bytes) in &cases {
        let path = format!("outer/{name}");
        world.write(&format!("{path}/.git"), bytes);
        let found = Checkout::of(&world.at(&path));
        assert_eq!((&found.root, &found.worktree, &found.remote), (&world.at(&path), &None, &None), "{name}");
        assert_eq!(found.warnings.len(), 1, "{name}: {:?}", found.warnings);
    }
    fs::create_dir_all(world.at("outer/hollow/.git")).unwrap();
    assert_eq!(Checkout::of(&world.at("outer/hollow")).root, world.at("outer/hollow"));
    for (name, config) in [("broken", "[remote \"origin".to_owned()), ("huge", "#".repeat(2 << 20))] {
        world.repository(name, None);
        world.write(&format!("{name}/.git/config"), config);
        let found = Checkout::of(&world.at(name));
        assert_eq!((&found.root, &found.remote, found.warnings.len()), (&world.at(name), &None, 1), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn m1_links_and_pipes_are_not_followed() {
    use std::os::unix::fs::symlink;
    let world = World::new();
    let victim = world.repository("victim", Some("https://git.example.org/me/app"));
    world.remember(&world.find(&victim));
    fs::create_dir(world.at("linked")).unwrap();
    symlink(victim.join(".git"), world.at("linked/.git")).unwrap();
    world.repository("config", None);
    fs::remove_file(world.at("config/.git/config")).unwrap();
    symlink(victim.join(".git/config"), world.at("config/.git/config")).unwrap();
    fs::create_dir(world.at("cycle")).unwrap();
    symlink(".git", world.at("cycle/.git")).unwrap();
    for name in ["linked", "config", "cycle"] {
        let found = world.find(&world.at(name));
        assert_eq!((&found.root, &found.remote), (&world.at(name), &None), "{name}");
        assert_eq!((found.slug, found.notices.len()), (ProjectSlug::of(&world.at(name)), 1), "{name}");
    }
    // Whoever comes by way of a link is where the link leads.
    symlink(&victim, world.at("way")).unwrap();
    assert_eq!(world.find(&world.at("way")).root, victim);
}

#[test]
fn m1_a_record_that_is_broken_stays_as_it_is_and_shares_nothing() {
    let world = World::new();
    let remote = Some("https://git.example.org/me/app");
    let first = world.find(&world.repository("app", remote));
    world.remember(&first);
    let place = world.repository("clone", remote);
    let own = ProjectSlug::of(&place);
    for text in ["not = [toml", "root = 1\n", "same_as = [\"x\"]\n"] {
        world.write(&format!("home/projects/{own}/project.toml"), text);
        let found = world.find(&place);
        assert_eq!(found.slug, own);
        assert_eq!((found.notices.len(), world.record(&own)), (1, text.to_owned()));
    }
    // One that leads elsewhere, or in a circle, leads nowhere.
    for name in ["../../../etc", "no-such-project-00000000", own.as_str()] {
        let text = format!("remote = \"git.example.org/me/app\"\nsame_as = \"{name}\"\nmine = 1\n");
        world.write(&format!("home/projects/{own}/project.toml"), text);
        assert_eq!(world.find(&place).slug, first.slug, "it is looked for anew");
        assert!(world.record(&own).contains("mine = 1"), "what others wrote stays");
    }
}

#[test]
fn m1_a_folder_with_the_slug_of_another_gets_one_of_its_own() {
    let world = World::new();
    let folder = world.at("plain");
    fs::create_dir(&folder).unwrap();
    let slug = ProjectSlug::of(&folder);
    world.write(&format!("home/projects/{slug}/project.toml"), "root = \"/somewhere/else\"\n");
    world.write(&format!("home/projects/{slug}/memory/MEMORY.md"), "- [A](user_a.md) — a\n");
    let found = world.find(&folder);
    assert_ne!(found.slug, slug);
    assert!(found.notices[0].contains("/somewhere/else"), "{:?}", found.notices);
}

#[test]
fn m1_memories_that_a_subfolder_had_are_told_of() {
    let world = World::new();
    let root = world.repository("app", None);
    let sub = root.join("sub");
    fs::create_dir(&sub).unwrap();
    world.write(&format!("home/projects/{}/memory/MEMORY.md", ProjectSlug::of(&sub)), "");
    let found = world.find(&sub);
    assert_eq!(found.slug, ProjectSlug::of(&root));
    assert!(found.notices[0].contains("for this folder alone"), "{:?}", found.notices);
}

#[cfg(unix)]
#[test]
fn m1_the_record_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let project = world.find(&world.repository("app", Some("https://git.example.org/me/app")));
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let folder = project.folder(&world.home);
    assert_eq!((mode(&folder), mode(&folder.join("project.toml"))), (0o700, 0o600));
}

#[test]
fn reads_head_from_files() {
    let world = World::new();
    world.repository("app", None);
    let id = "0123456789abcdef0123456789abcdef01234567";
    for (head, expected) in [
        ("ref: refs/heads/main\n", Some(Head::Branch("main".to_owned()))),
        ("ref: refs/heads/fix/one\n", Some(Head::Branch("fix/one".to_owned()))),
        (&format!("{id}\n"), Some(Head::Commit(id.to_owned()))),
        ("ref: refs/heads/.invalid\n", None),
        ("something else\n", None),
        ("", None),
    ] {
        world.write("app/.git/HEAD", head);
        assert_eq!(Checkout::of(&world.at("app")).head(), expected, "{head}");
    }
    assert_eq!(Checkout::of(&world.at("app")).operation(), None);
    world.write("app/.git/MERGE_HEAD", id);
    assert_eq!(Checkout::of(&world.at("app/.git/..")).operation(), Some("merge"));
    assert_eq!(Checkout::of(&world.at("home")).head(), None);
}

#[test]
fn reads_head_of_a_linked_worktree() {
    let world = World::new();
    fs::create_dir(world.at("app")).unwrap();
    let app = world.at("app");
    if !git(&app, &["init", "-q", "-b", "main"]) {
        return;
    }
    git(&app, &["commit", "-q", "--allow-empty", "-m", "one"]);
    git(&app, &["worktree", "add", "-q", "-b", "other", "../linked"]);
    assert_eq!(Checkout::of(&app).head(), Some(Head::Branch("main".to_owned())));
    assert_eq!(Checkout::of(&world.at("linked")).head(), Some(Head::Branch("other".to_owned())));
}
