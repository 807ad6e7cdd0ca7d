//! Questions of `memory` as a person answers them, in a real terminal (tmux).
//!
//! Where tmux is not installed these flows are not run, and say so.

use crate::memory::Room;
use std::fs;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// How long something may take to be on the screen: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal of 80 columns in a project.
struct Pane {
    room: Room,
}

impl Pane {
    /// `None`: there is no tmux.
    fn open(editor: &str) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            let required = std::env::var("THROUGHLINE_REQUIRE").is_ok_and(|value| value == "all");
            assert!(!required, "tmux is not installed, and everything is required");
            eprintln!("skipped: tmux is not installed");
            return None;
        }
        let room = Room::new();
        let home = room.machine.dir.path().display().to_string();
        let script = room.machine.dir.path().join("editor.sh");
        fs::write(&script, editor).unwrap();
        let shell = format!(
            "env -i PATH=/usr/local/bin:/usr/bin:/bin HOME={home} THROUGHLINE_HOME={home}/throughline TERM=screen-256color LC_ALL=C.UTF-8 \
             TZ=UTC VISUAL='sh {}' PS1='ready> ' sh",
            script.display()
        );
        let project = room.project.display().to_string();
        let pane = Self { room };
        let output = pane.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "50",
            "-c",
            &project,
            &shell,
        ]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        pane.wait("ready>");
        Some(pane)
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        // A server of its own, which ends with the test.
        Command::new("tmux")
            .env("TMUX_TMPDIR", self.room.machine.dir.path())
            .env_remove("TMUX")
            .args(["-L", "memory"])
            .args(arguments)
            .output()
            .unwrap()
    }

    fn type_line(&self, text: &str) {
        assert!(self.tmux(&["send-keys", "-t", "0", "-l", text]).status.success());
        assert!(self.tmux(&["send-keys", "-t", "0", "Enter"]).status.success());
    }

    /// Runs a command of ours.
    fn memory(&self, arguments: &str) {
        self.type_line(&format!("{} memory {arguments}", env!("CARGO_BIN_EXE_throughline")));
    }

    fn screen(&self) -> String {
        // What is wider than the screen is put together again.
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p", "-J", "-t", "0", "-S", "-200"]).stdout)
            .into_owned()
    }

    fn wait(&self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if screen.contains(text) {
                return screen;
            }
            assert!(begun.elapsed() < PATIENCE, "no {text:?} in:\n{screen}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn forgetting_is_asked_and_anything_but_yes_is_no() {
    let Some(pane) = Pane::open("") else { return };
    let id = pane.room.add(&["Never push on Fridays"]);
    pane.memory("forget never push");
    pane.wait(&format!("Forget {id} (Never push on Fridays.)? [y/N]"));
    pane.type_line("maybe");
    pane.wait("Nothing was done.");
    assert_eq!(pane.room.json(&["list"])["total"], 1);
    pane.memory("forget never push");
    pane.wait("Fridays.)? [y/N] \n");
    pane.type_line("y");
    pane.wait(&format!("Forgot {id}."));
    assert_eq!(pane.room.json(&["list"])["total"], 0);
}

#[test]
fn an_editor_changes_a_memory_and_what_does_not_parse_is_not_lost() {
    // The first time it breaks the frontmatter, then it mends it and changes the body.
    let editor = "if grep -q '^---broken' \"$1\"; then sed -i 's/^---broken/---/; s/on Fridays/on Sundays/' \"$1\"; \
                  else sed -i '1s/^---/---broken/' \"$1\"; fi\n";
    let Some(pane) = Pane::open(editor) else { return };
    let id = pane.room.add(&["--name", "Pushes", "Never push on Fridays"]);
    pane.memory(&format!("edit {id}"));
    pane.wait("it has no frontmatter");
    pane.wait("Open it again? [y/N]");
    assert_eq!(pane.room.json(&["show", &id])["body"], "Never push on Fridays.");
    pane.type_line("y");
    pane.wait(&format!("Changed {id}."));
    let shown = pane.room.json(&["show", &id]);
    assert_eq!(shown["body"], "Never push on Sundays.");
    assert_eq!(shown["sources"].as_array().unwrap().len(), 2);
    // Left as it is, the words are kept.
    pane.memory(&format!("edit {id}"));
    pane.wait("] \n");
    pane.type_line("n");
    let screen = pane.wait("What you wrote is in /");
    let kept =
        screen.split("What you wrote is in ").nth(1).unwrap().lines().next().unwrap().trim().to_owned();
    assert!(fs::read_to_string(&kept).unwrap().starts_with("---broken"));
    fs::remove_dir_all(std::path::Path::new(&kept).parent().unwrap()).unwrap();
    assert_eq!(pane.room.json(&["show", &id])["body"], "Never push on Sundays.");
}

#[test]
fn merges_are_asked_one_by_one_and_shown_before_and_after() {
    let Some(pane) = Pane::open("") else { return };
    let body = "Run the whole test suite before every commit to the main branch";
    pane.room.add(&["--name", "Tests before commits", body]);
    pane.room.put(
        "feedback_suite.md",
        "name: Suite first\ndescription: Before committing\ntype: feedback",
        &format!("{body}. It takes four minutes."),
    );
    pane.memory("merge");
    let screen = pane.wait("Make them one? [y/N/q]");
    assert!(
        screen.contains("1 of 1") && screen.contains("feedback_suite.md") && screen.contains("together:"),
        "{screen}"
    );
    pane.type_line("y");
    pane.wait("They are feedback_");
    assert_eq!(pane.room.json(&["list"])["total"], 1);
}
