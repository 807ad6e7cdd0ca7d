//! Calls that try to get out of the workspace.

use crate::files_world::{World, done, failed};
use serde_json::{Value, json};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use throughline_agent::tools::{Edit, Glob, Grep, Read, Write};
use throughline_agent::{Access, Tool};

/// Every call that names a path of the workspace, for each tool.
fn calls(path: &str) -> Vec<(Box<dyn Tool>, Value)> {
    vec![
        (Box::new(Read), json!({"file_path": path})),
        (Box::new(Write), json!({"file_path": path, "content": "overwritten"})),
        (Box::new(Edit), json!({"file_path": path, "old_string": "secret", "new_string": "public"})),
        (Box::new(Grep), json!({"pattern": "secret", "path": path, "output_mode": "content"})),
        (Box::new(Glob), json!({"pattern": "*", "path": path})),
    ]
}

#[test]
fn access_says_where_a_call_really_leads() {
    let world = World::new();
    world.link(world.outside(), "folder");
    world.link("../outside/secret.txt", "file");
    world.link("../outside/none", "dangling");
    let secret = world.outside().join("secret.txt");
    let absolute = secret.to_str().unwrap();
    for (path, place) in [
        ("folder/secret.txt", secret.clone()),
        ("file", secret.clone()),
        ("../outside/secret.txt", secret.clone()),
        (absolute, secret.clone()),
        ("dangling", world.outside().join("none")),
    ] {
        for (tool, input) in calls(path) {
            let name = tool.definition().name.to_owned();
            let paths = vec![place.clone()];
            let is_write = name == "Write" || name == "Edit";
            let expected = if is_write { Access::Write { paths } } else { Access::Read { paths } };
            assert_eq!(world.access(&*tool, &input).unwrap(), expected, "{name} {path}");
            // Run as if it lay inside: nothing happens.
            let output = world.run(&*tool, &input, &world.workspace);
            assert!(failed(&output).contains("not what was permitted"), "{name} {path}");
        }
    }
    assert_eq!(world.secret(), "secret words\n");
    assert!(!world.outside().join("none").exists());
    let input = json!({"pattern": "../outside/*.txt"});
    assert_eq!(world.access(&Glob, &input).unwrap(), Access::Read { paths: vec![world.outside()] });
    let input = json!({"pattern": format!("{}/*.txt", world.outside().display()), "path": "src"});
    assert_eq!(world.access(&Glob, &input).unwrap(), Access::Read { paths: vec![world.outside()] });
    world.access(&Glob, &json!({"pattern": "a/*/../../x"})).unwrap_err();
}

#[test]
fn a_call_outside_that_was_permitted_works() {
    let world = World::new();
    let secret = world.outside().join("secret.txt");
    let path = secret.to_str().unwrap();
    assert!(done(&world.read(path)).contains("secret words"));
    done(&world.edit(path, "secret", "known"));
    assert_eq!(world.secret(), "known words\n");
}

#[test]
fn a_link_put_in_the_way_after_permission_leads_nowhere() {
    for is_bound in [true, false] {
        for at in 0..5 {
            let world = World::new();
            world.put("folder/secret.txt", "secret plan\n");
            done(&world.read("folder/secret.txt"));
            let (tool, input) = calls("folder/secret.txt").remove(at);
            let input = if at == 4 { json!({"pattern": "*", "path": "folder"}) } else { input };
            let access = world.access(&*tool, &input).unwrap();
            let workspace =
                if is_bound { world.workspace.permitting(&access) } else { world.workspace.clone() };
            fs::rename(world.path("folder"), world.path("moved")).unwrap();
            world.link(world.outside(), "folder");
            let output = world.run(&*tool, &input, &workspace);
            let text = failed(&output);
            assert!(text.contains("not what was permitted") && !text.contains("words"), "{text}");
            assert_eq!(world.secret(), "secret words\n");
            assert_eq!(world.text("moved/secret.txt"), "secret plan\n");
            // Not even to another place inside.
            fs::remove_file(world.path("folder")).unwrap();
            world.link("moved", "folder");
            if is_bound {
                failed(&world.run(&*tool, &input, &workspace));
                assert_eq!(world.text("moved/secret.txt"), "secret plan\n");
            }
        }
    }
}

/// Somebody puts a link in the place of a folder and takes it away again, as fast as they can, while calls are permitted and run.
#[test]
fn a_link_that_comes_and_goes_leads_nowhere() {
    let world = World::new();
    world.put("folder/deep/secret.txt", "plan");
    fs::create_dir(world.outside().join("deep")).unwrap();
    fs::hard_link(world.outside().join("secret.txt"), world.outside().join("deep/secret.txt")).unwrap();
    world.link(world.outside(), "link");
    let is_done = AtomicBool::new(false);
    let mut answers = Vec::new();
    let (folder, link) = (world.path("folder"), world.path("link"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(rustix::fs::CWD, &folder, rustix::fs::CWD, &link, flags).unwrap();
            }
        });
        for _ in 0..300 {
            for (tool, input) in calls("folder/deep/secret.txt").into_iter().take(3) {
                let Ok(access) = world.access(&*tool, &input) else { continue };
                let (Access::Read { paths } | Access::Write { paths }) = &access else { continue };
                // What leads outside would be asked, and is not permitted here.
                if paths.iter().all(|path| world.workspace.contains(path)) {
                    answers.push(world.run(&*tool, &input, &world.workspace.permitting(&access)));
                }
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert!(answers.iter().all(|answer| !answer.content.to_text().contains("words")));
    let secret = fs::read_to_string(world.outside().join("deep/secret.txt")).unwrap();
    assert_eq!((secret.as_str(), world.secret().as_str()), ("secret words\n", "secret words\n"));
    assert_eq!(fs::read_dir(world.outside().join("deep")).unwrap().count(), 1);
}
