//! Where paths lead, and what can be opened there.

use crate::files_world::World;
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use throughline_agent::Access;
use throughline_agent::workspace::{
    OpenError, PathError, Workspace, open_read, read_whole, remove_empty_folder, remove_file, replace_file,
};

#[test]
fn paths_are_made_absolute_and_plain() {
    let world = World::new();
    world.put("src/main.rs", "x");
    let at = |path: &str| world.workspace.resolve(path).unwrap();
    assert_eq!(at("src/main.rs"), world.path("src/main.rs"));
    assert_eq!(at("./src/../src//main.rs/"), world.path("src/main.rs"));
    assert_eq!(at("none/../../project/new/file"), world.path("new/file"));
    assert_eq!(at("."), world.root());
    assert_eq!(at("../.."), world.root().parent().unwrap().parent().unwrap());
    assert_eq!(at("/../../etc"), Path::new("/etc"));
    assert_eq!(at(world.path("a b").to_str().unwrap()), world.path("a b"));
}

#[test]
fn links_are_followed_to_where_they_lead() {
    let world = World::new();
    world.put("real/file", "x");
    world.link("real", "inner");
    world.link("inner/file", "twice");
    world.link(world.outside(), "folder");
    world.link("../outside/secret.txt", "file");
    world.link("../outside/not/there", "dangling");
    let at = |path: &str| world.workspace.resolve(path).unwrap();
    assert_eq!(at("twice"), world.path("real/file"));
    assert_eq!(at("inner/new"), world.path("real/new"));
    for (path, place) in [
        ("folder", ""),
        ("folder/secret.txt", "secret.txt"),
        ("folder/new/deep", "new/deep"),
        ("file", "secret.txt"),
        ("dangling", "not/there"),
        ("real/../folder/x", "x"),
    ] {
        let resolved = at(path);
        assert_eq!(resolved, world.outside().join(place), "{path}");
        assert!(!world.workspace.contains(&resolved), "{path}");
        assert!(matches!(world.workspace.permitted(path), Err(PathError::NotPermitted { .. })), "{path}");
    }
    // `..` goes up from where the link led, not from where it stands.
    assert_eq!(at("folder/../outside"), world.outside());
    assert!(!world.workspace.contains(&at("folder/..")));
}

#[test]
fn paths_that_lead_nowhere_are_errors_that_help() {
    let world = World::new();
    world.link("b", "a");
    world.link("a", "b");
    world.link("self/x", "self");
    let error = |path: &str| world.workspace.resolve(path).unwrap_err();
    assert!(matches!(error(""), PathError::Empty));
    assert!(matches!(error("a\0b"), PathError::Nul));
    assert!(matches!(error(&"x/".repeat(4000)), PathError::TooLong { .. }));
    assert!(matches!(error(&"x".repeat(300)), PathError::TooLong { .. }));
    assert!(matches!(error("a"), PathError::Loop { .. }));
    assert!(matches!(error("self/y"), PathError::Loop { .. }));
    assert!(matches!(error("~/x"), PathError::NoHome { .. }));
    assert!(error("~").to_string().contains("full path"));
    let home = world.workspace.clone().with_home(world.outside());
    assert_eq!(home.resolve("~/x").unwrap(), world.outside().join("x"));
    assert_eq!(home.resolve("~").unwrap(), world.outside());
    assert_eq!(home.resolve("~x").unwrap(), world.path("~x"));
}

#[test]
fn a_folder_whose_name_only_begins_the_same_is_outside() {
    let world = World::new();
    let beside = world.root().with_file_name("project-two");
    fs::create_dir(&beside).unwrap();
    assert!(!world.workspace.contains(&beside.join("x")));
    let mut workspace = world.workspace.clone();
    workspace.add(&beside).unwrap();
    workspace.add(&beside).unwrap();
    assert!(workspace.contains(&beside.join("x")));
    assert_eq!(workspace.folders().count(), 2);
    assert!(workspace.add(&world.put("file", "x")).is_err());
    assert!(workspace.add(&world.path("none")).is_err());
}

#[test]
fn paths_are_shown_from_the_working_folder_on() {
    let world = World::new();
    assert_eq!(world.workspace.shown(&world.path("src/a.rs")), "src/a.rs");
    assert_eq!(world.workspace.shown(&world.root()), ".");
    assert_eq!(world.workspace.shown(Path::new("/etc/passwd")), "/etc/passwd");
    assert_eq!(world.workspace.shown(&world.path("a\nb")), "a\\nb");
}

#[test]
fn a_call_is_given_what_was_permitted_and_nothing_else() {
    let world = World::new();
    let paths = vec![world.path("a"), world.outside().join("secret.txt")];
    let workspace = world.workspace.permitting(&Access::Write { paths });
    assert!(workspace.permitted("a").is_ok());
    assert!(workspace.permitted("../outside/secret.txt").is_ok());
    assert!(workspace.permitted("b").is_err());
    assert!(workspace.permitted("a/b").is_err());
    assert!(world.workspace.permitting(&Access::Inner).permitted("a").is_err());
}

#[test]
fn nothing_is_opened_through_a_link() {
    let world = World::new();
    world.link(world.outside(), "folder");
    world.link(world.outside().join("secret.txt"), "file");
    world.link(world.outside().join("new.txt"), "dangling");
    fs::create_dir(world.outside().join("empty")).unwrap();
    fs::create_dir(world.outside().join("deep")).unwrap();
    fs::write(world.outside().join("deep/er.txt"), "deep words").unwrap();
    for name in ["folder/secret.txt", "folder/deep/er.txt", "file"] {
        let path = world.path(name);
        assert!(matches!(open_read(&path), Err(OpenError::Link { .. })), "{name}");
        assert!(matches!(replace_file(&path, b"gone", None), Err(OpenError::Link { .. })), "{name}");
        assert!(matches!(remove_file(&path), Err(OpenError::Link { .. })), "{name}");
    }
    for name in ["folder/made/x", "folder/deep/x", "folder/deep/made/x"] {
        assert!(replace_file(&world.path(name), b"gone", None).is_err(), "{name}");
    }
    assert!(!remove_empty_folder(&world.path("folder/empty")));
    assert!(replace_file(&world.path("dangling"), b"gone", None).is_err());
    assert_eq!(world.secret(), "secret words\n");
    assert_eq!(fs::read(world.outside().join("deep/er.txt")).unwrap(), b"deep words");
    assert_eq!(fs::read_dir(world.outside().join("deep")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(world.outside()).unwrap().count(), 3);
}

#[test]
fn pipes_sockets_devices_and_folders_are_refused_at_once() {
    let world = World::new();
    let pipe = world.path("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.path("socket")).unwrap();
    for (path, word) in
        [(pipe, "named pipe"), (world.path("socket"), "socket"), (PathBuf::from("/dev/null"), "device")]
    {
        for error in [open_read(&path).unwrap_err(), replace_file(&path, b"x", None).unwrap_err()] {
            assert!(error.to_string().contains(word), "{error}");
        }
    }
    assert!(matches!(open_read(&world.root()), Err(OpenError::Folder { .. })));
    assert!(matches!(replace_file(&world.root(), b"x", None), Err(OpenError::Folder { .. })));
    assert!(matches!(open_read(Path::new("/")), Err(OpenError::Folder { .. })));
    assert!(matches!(open_read(&world.path("a/b/c")), Err(OpenError::Missing { .. })));
}

#[test]
fn a_file_is_replaced_whole_and_keeps_its_mode() {
    let world = World::new();
    let path = world.put("run.sh", "old");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    fs::hard_link(&path, world.path("other")).unwrap();
    replace_file(&path, b"new", None).unwrap();
    assert_eq!(world.text("run.sh"), "new");
    assert_eq!(world.text("other"), "old", "a hard link keeps what it had");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o751);
    replace_file(&path, b"newer", Some(0o600)).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    replace_file(&world.path("deep/er/new"), b"x", None).unwrap();
    let mode = fs::metadata(world.path("deep/er/new")).unwrap().mode() & 0o7777;
    assert_eq!(mode & !0o644, 0, "{mode:o}");
    assert_eq!(mode & 0o600, 0o600, "{mode:o}");
    assert!(remove_file(&path).unwrap());
    assert!(!remove_file(&path).unwrap());
    assert!(!remove_file(&world.path("no/such")).unwrap());
    let names: Vec<_> = fs::read_dir(world.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "nothing is left over: {names:?}");
}

#[test]
fn a_file_that_is_a_folders_name_leaves_nothing_behind() {
    let world = World::new();
    world.put("file", "x");
    assert!(replace_file(&world.path("file/below"), b"y", None).is_err());
    fs::create_dir(world.path("folder")).unwrap();
    assert!(replace_file(&world.path("folder"), b"y", None).is_err());
    assert_eq!(fs::read_dir(world.root()).unwrap().count(), 2);
    assert_eq!(world.text("file"), "x");
}

#[test]
fn a_read_only_file_stays_as_it_is() {
    let world = World::new();
    let path = world.put("locked", "x");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    // Nothing is read-only for root.
    let is_writable = fs::OpenOptions::new().write(true).open(&path).is_ok();
    assert_eq!(replace_file(&path, b"y", None).is_ok(), is_writable);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o444);
}

#[test]
fn a_file_over_the_limit_is_not_read() {
    let world = World::new();
    let path = world.put("file", "12345");
    assert_eq!(read_whole(&path, 5).unwrap().0, b"12345");
    assert!(matches!(read_whole(&path, 4), Err(OpenError::TooLarge { bytes: 5, limit: 4, .. })));
}

/// A step of a made-up path or link target.
fn part() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("a"), Just("b"), Just("c"), Just("l"), Just("m"), Just(".."), Just(".")]
}

fn parts() -> impl Strategy<Value = String> {
    prop::collection::vec(part(), 1..6).prop_map(|parts| parts.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Where the kernel finds something, it is what we say; and what we say leads through no link.
    #[test]
    fn resolving_agrees_with_the_kernel(
        folders in prop::collection::vec(parts(), 0..6),
        links in prop::collection::vec((parts(), parts()), 0..6),
        asked in prop::collection::vec(parts(), 1..12),
    ) {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().canonicalize().unwrap().join("x/y/z");
        fs::create_dir_all(&root).unwrap();
        for folder in folders {
            // Some can't be made; any tree will do.
            let _ = fs::create_dir_all(root.join(folder));
        }
        for (target, name) in links {
            let _ = symlink(target, root.join(name));
        }
        let workspace = Workspace::new(&root, &[]).unwrap();
        for path in asked {
            let ours = workspace.resolve(&path);
            if let Ok(real) = root.join(&path).canonicalize() {
                prop_assert_eq!(ours.as_ref().ok(), Some(&real));
            }
            if let Ok(ours) = ours {
                let is_through_link = ours.ancestors().any(|part| part.is_symlink());
                prop_assert!(!is_through_link, "{}", ours.display());
                prop_assert_eq!(workspace.resolve(ours.to_str().unwrap()).unwrap(), ours);
            }
        }
    }
}
