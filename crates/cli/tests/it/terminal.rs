//! `chat` as a person sees it: keys in, screen out, in a real terminal (tmux), with a scripted model on a real socket.
//!
//! Where tmux is not installed these flows are not run, and say so.

use crate::common::Machine;
use serde_json::json;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use throughline_testkit::{Answer, Gate, Playlist, Server};

/// How long something may take to be on the screen: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with `throughline chat` in it.
struct Pane {
    machine: Machine,
    /// Where it works.
    project: PathBuf,
    columns: usize,
}

struct Wish<'a> {
    server: &'a Server,
    columns: usize,
    arguments: &'a str,
    variables: &'a str,
}

impl<'a> Wish<'a> {
    fn new(server: &'a Server) -> Self {
        Self { server, columns: 80, arguments: "", variables: "" }
    }
}

impl Pane {
    /// `None`: there is no tmux.
    fn open(wish: &Wish<'_>) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            let required = std::env::var("THROUGHLINE_REQUIRE").is_ok_and(|value| value == "all");
            assert!(!required, "tmux is not installed, and everything is required");
            eprintln!("tmux is not installed: not run");
            return None;
        }
        let machine = Machine::empty();
        let project = machine.dir.path().join("project");
        std::fs::create_dir(&project).unwrap();
        std::fs::write(project.join("notes.txt"), "one\ntwo\n").unwrap();
        let pane = Self { machine, project, columns: wish.columns };
        let home = pane.machine.dir.path().display().to_string();
        let project = pane.project.display().to_string();
        let command = format!(
            "env -i PATH=/usr/bin:/bin HOME={home} THROUGHLINE_HOME={home}/throughline TERM=screen-256color LC_ALL=C.UTF-8 TZ=UTC \
             ANTHROPIC_API_KEY=sk-test ANTHROPIC_BASE_URL={} ANTHROPIC_MODEL=claude-sonnet-4-5 {} {} chat {}; echo ended; stty -a; \
             sleep 600",
            wish.server.url(),
            wish.variables,
            env!("CARGO_BIN_EXE_throughline"),
            wish.arguments,
        );
        let columns = wish.columns.to_string();
        let output = pane.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            "40",
            "-c",
            &project,
            &command,
        ]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(pane)
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        // A server of its own, which ends with the test.
        Command::new("tmux")
            .env("TMUX_TMPDIR", self.machine.dir.path())
            .env_remove("TMUX")
            .args(["-L", "chat"])
            .args(arguments)
            .output()
            .unwrap()
    }

    fn keys(&self, keys: &[&str]) {
        assert!(self.tmux(&[&["send-keys", "-t", "0"], keys].concat()).status.success());
    }

    fn type_text(&self, text: &str) {
        assert!(self.tmux(&["send-keys", "-t", "0", "-l", text]).status.success());
    }

    /// Says something at the prompt.
    fn say(&self, text: &str) {
        self.type_text(text);
        self.wait(text);
        self.keys(&["Enter"]);
    }

    fn screen(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p", "-t", "0", "-S", "-200"]).stdout)
            .into_owned()
    }

    fn coloured(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p", "-e", "-t", "0"]).stdout).into_owned()
    }

    /// Waits until the screen is as wanted.
    fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(begun.elapsed() < PATIENCE, "no {what:?} on the screen:\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn wait(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    /// Waits for an empty prompt below everything.
    fn wait_for_prompt(&self) -> String {
        self.wait_until("a prompt", |screen| {
            let last = screen.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            // A narrow terminal has no room for what stands to the right of it.
            let is_narrow = self.columns < 50 && last.trim_end() == "❯";
            let words = last.split_whitespace().count();
            is_narrow || (last.starts_with("❯ ") && last.trim_end().ends_with('%') && words <= 4)
        })
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Keys in the first half second of a question are no answers: nobody reads that fast.
fn read_the_question() {
    std::thread::sleep(Duration::from_secs(1));
}

/// What a turn's request says, as text.
fn body(server: &Server, at: usize) -> String {
    let seen = server.wait_for(at + 1, PATIENCE);
    seen.get(at).map(|seen| seen.json().to_string()).unwrap_or_default()
}

#[test]
fn an_answer_is_drawn_and_the_chat_can_be_left_and_gone_on_with() {
    let answer = "# Plan\n\nFirst **read** `notes.txt`, then:\n\n- one\n- two\n\n```sh\nls\n```\n";
    let server = Server::start(Playlist::new().forever(Answer::text(answer))).unwrap();
    let Some(pane) = Pane::open(&Wish::new(&server)) else { return };
    pane.wait_for_prompt();
    pane.say("hello there");
    let screen = pane.wait("╰─");
    assert!(screen.contains("First read notes.txt, then:\n\n• one\n• two\n\n╭─ sh\n│ ls\n╰─"), "{screen}");
    assert!(pane.coloured().contains('\u{1b}'));
    pane.wait_for_prompt();
    pane.keys(&["C-d"]);
    let screen = pane.wait("ended");
    assert!(screen.contains("To go on: throughline chat -r "), "{screen}");
    let modes = pane.wait("icanon");
    assert!(!modes.contains("-icanon"), "the terminal is as it was: {modes}");
}

#[test]
fn a_call_is_asked_and_a_sentence_does_not_answer() {
    let call =
        Answer::text("I will write.").call("Write", json!({"file_path": "new.txt", "content": "made\n"}));
    let server = Server::start(Playlist::new().then(call).forever(Answer::text("It is written."))).unwrap();
    let Some(pane) = Pane::open(&Wish::new(&server)) else { return };
    pane.wait_for_prompt();
    pane.say("write it");
    pane.wait("Permission for Write");
    let screen = pane.wait("y Yes, once");
    assert!(screen.contains("+ made"), "what would be written is shown: {screen}");
    // Longer than a letter that is alone: what follows comes at once.
    pane.type_text("always be careful");
    pane.wait("always be careful");
    assert!(!pane.project.join("new.txt").exists());
    pane.keys(&["Escape"]);
    pane.wait_until("the line cleared", |screen| !screen.contains("always be careful"));
    read_the_question();
    pane.keys(&["y"]);
    let screen = pane.wait("It is written.");
    assert!(screen.contains("Yes, once"), "{screen}");
    assert_eq!(std::fs::read_to_string(pane.project.join("new.txt")).unwrap(), "made\n");
}

#[test]
fn no_with_what_to_do_instead_reaches_the_model() {
    let call = Answer::empty().call("Write", json!({"file_path": "new.txt", "content": "made\n"}));
    let server = Server::start(Playlist::new().then(call).forever(Answer::text("Then not."))).unwrap();
    let Some(pane) = Pane::open(&Wish::new(&server)) else { return };
    pane.wait_for_prompt();
    pane.say("write it");
    pane.wait("Permission for Write");
    pane.wait("y Yes, once");
    read_the_question();
    pane.keys(&["i"]);
    pane.wait("  instead:");
    pane.type_text("use stdout");
    pane.wait("use stdout");
    pane.keys(&["Enter"]);
    pane.wait("Then not.");
    assert!(body(&server, 1).contains("use stdout"));
    assert!(!pane.project.join("new.txt").exists());
}

#[test]
fn esc_stops_a_turn_and_the_next_one_goes_on() {
    let gate = Gate::new();
    let slow = Answer::text("never seen").at(&gate);
    let server = Server::start(Playlist::new().then(slow).forever(Answer::text("Still here."))).unwrap();
    let Some(pane) = Pane::open(&Wish::new(&server)) else { return };
    pane.wait_for_prompt();
    pane.say("begin");
    pane.wait("esc to interrupt");
    // Else the request that waits would be the second one.
    pane.wait_until("the request", |_| server.count() == 1);
    pane.type_text("half a thou");
    pane.wait("❯ half a thou");
    pane.keys(&["Escape"]);
    let screen = pane.wait("interrupted");
    assert!(!screen.contains("esc to interrupt"), "the status is gone: {screen}");
    // What was typed is on the line.
    pane.wait_until("what was typed", |screen| {
        screen
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .is_some_and(|line| line.contains("half a thou"))
    });
    pane.type_text("ght");
    pane.keys(&["Enter"]);
    pane.wait("Still here.");
    let second = body(&server, 1);
    assert!(second.contains("turn_aborted") && second.contains("half a thought"), "{second}");
    gate.open();
}

#[test]
fn what_is_typed_meanwhile_steers_or_waits() {
    let gate = Gate::new();
    let call = Answer::empty().call("Read", json!({"file_path": "notes.txt"})).at(&gate);
    let script = Playlist::new().then(call).then(Answer::text("Steered.")).forever(Answer::text("Queued."));
    let server = Server::start(script).unwrap();
    let Some(pane) = Pane::open(&Wish::new(&server)) else { return };
    pane.wait_for_prompt();
    pane.say("begin");
    pane.wait("esc to interrupt");
    pane.type_text("also the docs");
    pane.wait("❯ also the docs");
    pane.keys(&["Enter"]);
    pane.wait("waiting: also the docs");
    pane.type_text("then the tests");
    pane.wait("❯ then the tests");
    pane.keys(&["Tab"]);
    pane.wait("waiting: then the tests");
    gate.open();
    let screen = pane.wait("Queued.");
    let place = |text: &str| screen.find(text).unwrap_or_else(|| panic!("no {text:?} on\n{screen}"));
    assert!(place("Read notes.txt") < place("❯ also the docs"), "{screen}");
    assert!(place("Steered.") < place("❯ then the tests"), "{screen}");
    assert!(body(&server, 1).contains("also the docs") && !body(&server, 1).contains("then the tests"));
    assert!(body(&server, 2).contains("then the tests"));
}

#[test]
fn commands_are_completed_and_tell_what_they_are_asked() {
    let server = Server::start(Playlist::new().forever(Answer::text("Noted."))).unwrap();
    let Some(pane) = Pane::open(&Wish::new(&server)) else { return };
    pane.wait_for_prompt();
    pane.type_text("/co");
    pane.wait("❯ /co");
    pane.keys(&["Tab"]);
    pane.wait("Draw the window");
    pane.keys(&["C-c"]);
    pane.wait_for_prompt();
    pane.say("/context");
    let screen = pane.wait("free");
    assert!(screen.contains("system prompt") && screen.contains("of 200k tokens"), "{screen}");
    pane.wait_for_prompt();
    pane.say("/contxt");
    pane.wait("did you mean /context?");
    pane.wait_for_prompt();
    pane.type_text("look at @not");
    pane.wait("look at @not");
    pane.keys(&["Tab"]);
    pane.wait("look at @notes.txt");
    pane.keys(&["C-c"]);
    pane.wait_for_prompt();
    pane.keys(&["BTab"]);
    pane.wait("accept-edits");
    pane.say("#always use tabs here");
    pane.wait("Remembered in");
    pane.wait_for_prompt();
    pane.say("/memory");
    pane.wait_until("the memory", |screen| screen.to_lowercase().matches("always use tabs here").count() > 1);
    pane.wait_for_prompt();
    pane.say("/quit");
    pane.wait("ended");
    assert_eq!(server.count(), 0, "nothing of this is for the model");
}

#[test]
fn esc_twice_goes_back_with_the_words_on_the_line() {
    let server = Server::start(Playlist::new().forever(Answer::text("Understood."))).unwrap();
    let Some(pane) = Pane::open(&Wish::new(&server)) else { return };
    pane.wait_for_prompt();
    pane.say("the first thing");
    pane.wait("Understood.");
    pane.wait_for_prompt();
    pane.say("the second thing");
    pane.wait_until("a second answer", |screen| screen.matches("Understood.").count() == 2);
    pane.wait_for_prompt();
    pane.keys(&["Escape"]);
    // Two at once are one to the terminal library.
    std::thread::sleep(Duration::from_millis(300));
    pane.keys(&["Escape"]);
    pane.wait("Go back to before");
    pane.keys(&["Down"]);
    pane.wait("❯ the first thing");
    pane.keys(&["Enter"]);
    pane.wait("Went back");
    pane.wait_until("the words on the line", |screen| {
        screen
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .is_some_and(|line| line.starts_with("❯ the first thing"))
    });
    pane.keys(&["Enter"]);
    let third = body(&server, 2);
    assert!(third.contains("the first thing") && !third.contains("the second thing"), "{third}");
}

#[test]
fn an_end_from_outside_leaves_the_terminal_as_it_was() {
    let server = Server::start(Playlist::new().forever(Answer::text("Yes."))).unwrap();
    let Some(pane) = Pane::open(&Wish::new(&server)) else { return };
    pane.wait_for_prompt();
    let shell =
        String::from_utf8(pane.tmux(&["display-message", "-p", "-t", "0", "#{pane_pid}"]).stdout).unwrap();
    let children = Command::new("pgrep").args(["-P", shell.trim()]).output().unwrap();
    let chat = String::from_utf8(children.stdout).unwrap();
    assert!(Command::new("kill").arg(chat.trim()).status().unwrap().success());
    pane.wait("ended");
    let modes = pane.wait("icanon");
    assert!(!modes.contains("-icanon"), "{modes}");
}

#[test]
fn nothing_that_a_model_says_reaches_the_terminal_as_a_command() {
    let hostile = "before \u{1b}[2J\u{1b}[H\u{1b}]0;owned\u{7} &#27;[31m after\n\n```\n\u{9b}2J\n```\n";
    let server = Server::start(Playlist::new().forever(Answer::text(hostile))).unwrap();
    let Some(pane) = Pane::open(&Wish { columns: 40, variables: "NO_COLOR=1", ..Wish::new(&server) }) else {
        return;
    };
    pane.wait_for_prompt();
    pane.say("hello");
    let screen = pane.wait("╰─");
    assert!(screen.contains("before ␛[2J␛[H␛]0;owned␇ ␛[31m after"), "{screen}");
    assert!(screen.contains("│ <U+009B>2J"), "{screen}");
    assert!(screen.contains("❯ hello"), "nothing was cleared: {screen}");
    let title = pane.tmux(&["display-message", "-p", "-t", "0", "#{pane_title}"]);
    assert!(!String::from_utf8_lossy(&title.stdout).contains("owned"));
    assert!(screen.lines().all(|line| line.chars().count() <= 40), "{screen}");
}

#[test]
fn without_a_terminal_lines_are_said_and_nothing_is_drawn_in_place() {
    let server = Server::start(Playlist::new().forever(Answer::text("It is **fine**."))).unwrap();
    let machine = Machine::empty();
    let output = machine
        .command()
        .env("ANTHROPIC_API_KEY", "sk-test")
        .env("ANTHROPIC_BASE_URL", server.url())
        .env("ANTHROPIC_MODEL", "claude-sonnet-4-5")
        .arg("chat")
        .write_stdin("first line\\\nsecond line\n/cost\n")
        .assert()
        .success();
    let shown = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert!(!shown.contains('\u{1b}') && !shown.contains('\r'), "{shown:?}");
    assert!(shown.contains("It is **fine**.") && shown.contains("in 1 request"), "{shown}");
    assert!(body(&server, 0).contains("first line\\nsecond line"));
    let history = machine.dir.path().join("throughline/history");
    assert!(!history.exists(), "no history of what is piped");
}

#[test]
fn the_history_is_private_and_comes_back() {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::start(Playlist::new().forever(Answer::text("Yes."))).unwrap();
    let Some(pane) = Pane::open(&Wish::new(&server)) else { return };
    pane.wait_for_prompt();
    pane.say("something unusual");
    pane.wait("Yes.");
    pane.wait_for_prompt();
    pane.keys(&["Up"]);
    pane.wait_until("the line again", |screen| screen.matches("❯ something unusual").count() == 2);
    pane.keys(&["C-c"]);
    pane.wait_for_prompt();
    pane.keys(&["C-d"]);
    pane.wait("ended");
    let folder = pane.machine.dir.path().join("throughline/history");
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().flatten().collect();
    assert_eq!(files.len(), 1);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&files[0].path())), (0o700, 0o600));
    assert!(std::fs::read_to_string(files[0].path()).unwrap().contains("something unusual"));
}
