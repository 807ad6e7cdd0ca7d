//! Every command on a pseudo-terminal, with hostile names, messages, memories, model output and errors: no control sequence arrives that
//! this program did not make.

use crate::agent_kit::{Wire, Workshop, workshop};
use crate::pty;
use serde_json::json;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Stdio;
use throughline_testkit::{Answer, Http, Playlist, Server};

/// Clipboard, title, hyperlink, colours, clearing, cursor, a bell, C1 forms of them, a reversal of the text, a backspace. The word shows
/// that the text was printed at all.
const HOSTILE: &str = "HOSTILE\u{1b}]52;c;UFdORUQ=\u{7}\u{1b}]0;T\u{7}\u{1b}]8;;http://x/\u{1b}\\\u{1b}[31;47mred\u{1b}[2J\u{1b}[5A\
                       \u{9b}2J\u{9d}0;T\u{9c}\u{202e}\u{2066}\u{8}\u{7f}\rover";

/// The sequences that we make: styles, and what progress bars draw with.
const OURS: [&str; 14] = [
    "[0m", "[1m", "[2m", "[31m", "[32m", "[33m", "[35m", "[36m", "[1;31m", "[1;33m", "[2K", "[1A", "[1B",
    "[K",
];

/// Commands that are not in [`COMMANDS`], because they run until they are stopped or draw by themselves; each has a test of its own.
const ELSEWHERE: [&str; 4] = ["chat", "serve", "run", "help"];

/// A line for each command; words are split at blanks. `ID` is the session, `MEMORY` a memory, `FILE` a file with a hostile name, `TEXT`
/// the hostile text.
const COMMANDS: &[&str] = &[
    "",
    "exec --model claude-sonnet-4-5 TEXT",
    "exec --model claude-sonnet-4-5 --output-format json TEXT",
    "exec --model claude-sonnet-4-5 --output-format stream-json TEXT",
    "exec --show-context --instructions TEXT",
    "exec --resume TEXT hello",
    "exec --allow TEXT hello",
    "sessions list",
    "sessions show ID",
    "sessions show ID --full --ids",
    "sessions show ID --view",
    "sessions show TEXT",
    "sessions search hostile",
    "sessions search TEXT",
    "sessions recall ID hostile",
    "sessions recall ID TEXT",
    "sessions title ID TEXT",
    "sessions tag ID TEXT",
    "sessions fork ID",
    "sessions fork ID --at TEXT",
    "sessions rollback ID",
    "sessions undo ID TEXT",
    "sessions import FILE",
    "sessions import TEXT",
    "sessions export ID",
    "sessions export ID --format markdown",
    "sessions export ID --format anthropic",
    "sessions export ID --format responses",
    "sessions export ID --format chat",
    "sessions check",
    "sessions check ID",
    "sessions rebuild-index",
    "memory list",
    "memory show MEMORY",
    "memory show MEMORY --raw",
    "memory show TEXT",
    "memory search hostile",
    "memory search TEXT",
    "memory add TEXT",
    "memory add TEXT --type project --name TEXT",
    "memory confirm MEMORY",
    "memory edit MEMORY --text TEXT",
    "memory why MEMORY",
    "memory why TEXT",
    "memory audit",
    "memory merge",
    "memory merge TEXT TEXT",
    "memory history",
    "memory undo TEXT",
    "memory import FILE",
    "memory export --to TEXT",
    "memory build --dry-run",
    "memory build --yes --scribe offline",
    "memory refresh",
    "memory handbook list",
    "memory handbook show",
    "memory handbook search hostile",
    "memory handbook why hostile",
    "memory handbook why TEXT",
    "memory handbook receipts",
    "memory handbook note TEXT",
    "memory handbook history",
    "memory handbook check",
    "memory tool",
    "memory forget MEMORY",
    "memory forget TEXT",
    "memory reset --yes",
    "worker --once --name TEXT",
    "doctor",
    "stats",
    "compact ID --scribe offline",
    "compact FILE --scribe offline",
    "skillify ID --scribe offline",
    "prepare",
    "prepare --profile TEXT",
    "replay ID",
    "replay FILE",
    "config",
    "tokens FILE",
    "tokens TEXT",
    "TEXT",
    "sessions TEXT",
];

/// Effects of a command's output on a terminal.
fn violation(output: &str) -> Option<String> {
    for (at, c) in output.char_indices() {
        let behind = &output[at + c.len_utf8()..];
        let is_ours = match c {
            '\u{1b}' => OURS.iter().any(|ours| behind.starts_with(ours)),
            '\r' => !behind.starts_with("over"),
            '\n' | '\t' => true,
            '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => false,
            c => !c.is_control(),
        };
        if !is_ours {
            let from = output[..at].char_indices().rev().nth(40).map_or(0, |(at, _)| at);
            let shown: String = output[from..].chars().take(100).collect();
            return Some(format!("{shown:?}"));
        }
    }
    None
}

/// A project with a session, memories, files and settings that are hostile.
struct World {
    shop: Workshop,
    session: String,
    file: String,
}

impl World {
    fn new(server: &Server) -> Self {
        let shop = workshop(server, Wire::Anthropic);
        let world = Self { shop, session: String::new(), file: format!("a{}", HOSTILE.replace('/', "|")) };
        let line = json!({"type": "user", "uuid": HOSTILE, "sessionId": HOSTILE, "cwd": HOSTILE, "timestamp": HOSTILE,
            "message": {"role": "user", "content": HOSTILE}});
        world.shop.write(&world.file, &format!("{line}\n{HOSTILE}\n"));
        world.shop.write("AGENTS.md", HOSTILE);
        world.shop.write(".mcp.json", &json!({"mcpServers": {HOSTILE: {"command": HOSTILE}}}).to_string());
        let (_, said, code) = world.shop.exec(&[HOSTILE]);
        assert_eq!(code, 0, "{said}");
        let ledger = world.shop.sessions().remove(0);
        let listed = world.shop.command(&["sessions", "list", "--json"]).output().unwrap();
        let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
        let session = listed["sessions"][0]["session"].as_str().unwrap().to_owned();
        assert!(
            world.shop.command(&["sessions", "title", &session, HOSTILE]).output().unwrap().status.success()
        );
        let added =
            ["memory", "add", "The tests need a database.", "--type", "project", "--name", "database"];
        let added = world.shop.command(&added).stdout(Stdio::null()).output().unwrap();
        assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
        let world = Self { session, ..world };
        world.put_memories();
        // A line that can't be read.
        let mut text = std::fs::read(&ledger).unwrap();
        text.extend_from_slice(format!("{{\"{HOSTILE}\n").as_bytes());
        std::fs::write(&ledger, text).unwrap();
        world
    }

    /// Memories as another program may have written them.
    fn put_memories(&self) {
        let projects = std::fs::read_dir(self.shop.path("../throughline/projects")).unwrap();
        let mut folders = projects.map(|entry| entry.unwrap().path().join("memory"));
        let folder = folders.find(|folder| folder.is_dir()).unwrap();
        let front = format!("name: {0}\ndescription: {0}\ntype: project", json!(HOSTILE));
        std::fs::write(folder.join("project_hostile.md"), format!("---\n{front}\n---\n\n{HOSTILE}\n"))
            .unwrap();
        let name = format!("project_{}.md", HOSTILE.replace('/', "|"));
        let name = std::ffi::OsStr::from_bytes(name.as_bytes());
        std::fs::write(folder.join(name), format!("---\nname: other\n{HOSTILE}\n---\n\nother\n")).unwrap();
    }

    fn words(&self, command: &str) -> Vec<String> {
        let word = |word: &str| match word {
            "ID" => self.session.clone(),
            "MEMORY" => "project_hostile.md".to_owned(),
            "FILE" => self.file.clone(),
            "TEXT" => HOSTILE.to_owned(),
            word => word.to_owned(),
        };
        command.split_whitespace().map(word).collect()
    }

    /// Output of a command on a terminal.
    fn on_terminal(&self, arguments: &[&str], steps: &[pty::Step<'_>]) -> String {
        let mut command = self.shop.command(arguments);
        command.env("TERM", "xterm-256color").env("ANTHROPIC_MODEL", "claude-sonnet-4-5");
        pty::run(command, steps)
    }
}

/// The end of input, for whoever reads.
const END: pty::Step<'static> = ("", b"\x04\x04\x04");

#[test]
fn t1_no_foreign_control_sequence_reaches_a_terminal() {
    let call = Answer::text(HOSTILE).call("Glob", json!({"pattern": HOSTILE}));
    let unknown = Answer::text(HOSTILE).call("Read", json!({"file_path": HOSTILE}));
    let script = Playlist::new().then(call).then(unknown).forever(Answer::text(HOSTILE));
    let server = Server::start(script).unwrap();
    let world = World::new(&server);
    let (mut failures, mut shown) = (Vec::new(), 0);
    for command in COMMANDS {
        for json in [false, true] {
            let mut words = world.words(command);
            words.extend(json.then(|| "--json".to_owned()));
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let output = world.on_terminal(&words, &[END]);
            shown += usize::from(output.contains("HOSTILE"));
            failures.extend(violation(&output).map(|shown| format!("{command} (--json: {json}): {shown}")));
            assert!(!output.contains("panicked"), "{command}: {output}");
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(shown > COMMANDS.len(), "only {shown} outputs hold the hostile text");
}

#[test]
fn t1_errors_of_a_provider_are_clean_on_a_terminal() {
    let refused = Http::json(400, &json!({"type": "error", "error": {"type": HOSTILE, "message": HOSTILE}}));
    let server = Server::start(Playlist::new().forever(refused)).unwrap();
    let shop = workshop(&server, Wire::Anthropic);
    let world = World { shop, session: String::new(), file: String::new() };
    for format in ["text", "json", "stream-json"] {
        let output = world.on_terminal(&["exec", "--output-format", format, "hello"], &[END]);
        assert!(output.contains("HOSTILE"), "{output}");
        assert_eq!(violation(&output), None, "{format}");
    }
    let key = json!(HOSTILE).to_string().replace('\u{7f}', "\\u007f");
    world.shop.write(".throughline/config.toml", &format!("{key} = 1\n"));
    let output = world.on_terminal(&["config"], &[END]);
    assert!(output.contains("HOSTILE"), "{output}");
    assert_eq!(violation(&output), None);
}

#[test]
fn t1_chat_and_run_are_clean_on_a_terminal() {
    let server = Server::start(Playlist::new().forever(Answer::text(HOSTILE))).unwrap();
    let world = World::new(&server);
    let foreign = [
        "\u{1b}]52",
        "\u{1b}]0",
        "\u{1b}]8",
        "\u{1b}[31;47m",
        "\u{1b}[5A",
        "\u{9b}",
        "\u{9d}",
        "\u{202e}",
        "\u{8}",
        "\u{7f}",
    ];
    let output = world.on_terminal(
        &["chat", "--resume", &world.session],
        &[
            (pty::CURSOR_SHOWN, b"hello\r"),
            ("HOSTILE", b""),
            // The prompt again.
            ("ask - ", b"\x04"),
        ],
    );
    assert!(output.contains("HOSTILE"), "{output}");
    for sequence in foreign {
        assert!(!output.contains(sequence), "{sequence:?} in {output:?}");
    }
    let output = world.on_terminal(&["run", "--", HOSTILE], &[END]);
    assert!(output.contains("HOSTILE"), "{output}");
    assert_eq!(violation(&output), None);
    let output = world.on_terminal(&["serve", "--port", "0", "--anthropic", HOSTILE], &[END]);
    assert!(output.contains("HOSTILE"), "{output}");
    assert_eq!(violation(&output), None);
}

/// The subcommands that a help text lists.
fn subcommands(help: &str) -> Vec<String> {
    let listed = help.split("\nCommands:\n").nth(1).unwrap_or_default();
    let rows = listed.lines().take_while(|line| !line.is_empty());
    rows.filter(|row| row.starts_with("  ") && !row.starts_with("   "))
        .filter_map(|row| row.split_whitespace().next().map(str::to_owned))
        .collect()
}

#[test]
fn t1_every_command_is_walked() {
    let server = Server::start(Playlist::new().forever(Answer::text("ok"))).unwrap();
    let shop = workshop(&server, Wire::Anthropic);
    let help = |words: &[&str]| {
        let output = shop.command(&[words, &["--help"]].concat()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let mut all = BTreeSet::new();
    let mut open = vec![Vec::<String>::new()];
    while let Some(above) = open.pop() {
        let words: Vec<&str> = above.iter().map(String::as_str).collect();
        let below = subcommands(&help(&words));
        if below.is_empty() && !above.is_empty() {
            all.insert(above.join(" "));
        }
        let below = below.into_iter().filter(|name| !ELSEWHERE.contains(&name.as_str()));
        open.extend(below.map(|name| above.iter().cloned().chain([name]).collect()));
    }
    assert!(all.len() > 40, "{all:?}");
    let is_walked =
        |name: &String| COMMANDS.iter().any(|row| *row == name || row.starts_with(&format!("{name} ")));
    let missing: Vec<_> = all.iter().filter(|name| !is_walked(name)).collect();
    assert!(missing.is_empty(), "not in COMMANDS: {missing:?}");
}

/// Text for people goes through one place: nothing else names the streams, but for what draws by itself.
#[test]
fn t1_only_the_funnel_writes_to_the_streams() {
    const PERMITTED: [&str; 5] =
        ["output.rs", "output/funnel.rs", "terminal/keys.rs", "terminal/prompt.rs", "commands/chat.rs"];
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let pattern = regex::Regex::new(r"\be?print(ln)?!\(|\bio::(stdout|stderr)\(\)|\banstream::").unwrap();
    let (mut open, mut found) = (vec![root.clone()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
            if entry.is_dir() {
                open.push(entry);
            } else if name.ends_with(".rs")
                && !name.ends_with("tests.rs")
                && !PERMITTED.contains(&name.as_str())
            {
                let text = std::fs::read_to_string(&entry).unwrap();
                let lines = text.lines().filter(|line| !line.contains("is_terminal()"));
                found.extend(
                    lines.filter(|line| pattern.is_match(line)).map(|line| format!("{name}: {line}")),
                );
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
