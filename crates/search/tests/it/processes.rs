use crate::common::{Fixture, find, say, sync};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use throughline_core::Role;
use throughline_ledger::Home;
use throughline_search::Search;

#[test]
fn one_writes_one_syncs_one_rebuilds_and_every_search_finds_what_was_written() {
    let fixture = Fixture::new();
    let done = AtomicBool::new(false);
    let mut writer = fixture.session("s");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut search = fixture.search();
            while !done.load(Ordering::Relaxed) {
                sync(&mut search);
            }
        });
        scope.spawn(|| {
            let mut search = fixture.search();
            for _ in 0..4 {
                search.rebuild(&mut |_| {}).unwrap();
            }
        });
        let mut search = fixture.search();
        for n in 0..40 {
            let id = n.to_string();
            say(&mut writer, &id, Role::User, &format!("topic{n} comes up"));
            assert_eq!(find(&mut search, &format!("topic{n}"))[0], id);
            assert_eq!(find(&mut search, &format!("topic{}", n / 2))[0], (n / 2).to_string());
        }
        done.store(true, Ordering::Relaxed);
    });
    let mut search = fixture.search();
    sync(&mut search);
    assert_eq!(search.indexed(), 40, "each message is in the index once");
}

const HOME: &str = "THROUGHLINE_TEST_SYNC_HOME";

/// Not a test of its own: what the next one starts as another process.
#[test]
fn helper_that_syncs_a_home_named_by_the_environment() {
    let Some(home) = std::env::var_os(HOME) else { return };
    let mut search = Search::open(&Home::new(home)).unwrap();
    search
        .sync(&mut |progress| {
            if progress.messages > 0 {
                println!("under way");
            }
        })
        .unwrap();
}

fn start_sync(fixture: &Fixture) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["processes::helper_that_syncs_a_home_named_by_the_environment", "--exact", "--nocapture"])
        .env(HOME, fixture.home.root())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_sync_that_is_killed_leaves_a_search_that_is_right() {
    use std::io::{BufRead, BufReader};
    let fixture = Fixture::new();
    let mut writer = fixture.session("s");
    let filler = "lorem ipsum dolor sit amet ".repeat(30);
    for n in 0..1500 {
        say(&mut writer, &n.to_string(), Role::User, &format!("topic{n} {filler}"));
    }
    drop(writer);
    let mut child = start_sync(&fixture);
    // Killed as soon as it has begun, which the child tells.
    let output = BufReader::new(child.stdout.take().unwrap());
    let began = output.lines().map_while(Result::ok).any(|line| line.contains("under way"));
    assert!(began);
    child.kill().unwrap();
    child.wait().unwrap();
    let mut search = fixture.search();
    for n in [0, 7, 750, 1499] {
        assert_eq!(find(&mut search, &format!("topic{n}"))[0], n.to_string());
    }
    sync(&mut search);
    assert_eq!(search.indexed(), 1500);
}

#[test]
fn a_sync_in_another_process_is_seen_here() {
    let fixture = Fixture::new();
    let mut search = fixture.search();
    sync(&mut search);
    let mut writer = fixture.session("s");
    say(&mut writer, "0", Role::User, "written here");
    assert!(start_sync(&fixture).wait_with_output().unwrap().status.success());
    assert_eq!(find(&mut search, "written")[0], "0");
    assert_eq!(search.indexed(), 1);
}
