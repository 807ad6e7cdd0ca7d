//! What does phase 1 offline cost over parsing and redacting the same bytes, and does memory stay flat?
//!
//! Each size in processes of their own: phase 1 by the offline scribe, and, as the baseline, every line of the same ledger parsed into a
//! record with the text of all messages redacted. CPU is user time. The sessions are made up: turns with requests, calls,
//! results and answers in proportions like those of recorded ones. Recorded sessions, where there are some, are imported and measured
//! by CPU as well.

use crate::measure::{mb, peak_mb, verdict};
use crate::{Setup, corpus};
use anyhow::{Context, bail};
use jiff::{SignedDuration, Timestamp};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::json;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use throughline_core::{
    Block, Body, CallKind, Message, Meta, Record, Role, SessionId, ToolCall, ToolInput, ToolResult,
};
use throughline_ledger::import::{discover_in, import};
use throughline_ledger::{Home, Reader, SyncPolicy, Writer, list};
use throughline_memory::handbook::phase1::{Phase1, extract_session};
use throughline_memory::handbook::{HandbookLimits, HomeId, ProjectKey};
use throughline_memory::store::SessionPlace;
use throughline_redact::redact;

/// What one process took.
#[derive(Clone, Copy)]
struct Took {
    cpu: f64,
    peak: f64,
}

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    println!("phase1: a session extracted offline, against parsing and redacting it");
    let sizes: Vec<u64> = match (&setup.bytes[..], setup.quick) {
        ([], true) => vec![2 << 20, 8 << 20, 32 << 20],
        ([], false) => vec![10 << 20, 100 << 20, 1_000 << 20],
        (given, _) => given.to_vec(),
    };
    let mut peaks = Vec::new();
    let mut failed = 0;
    for bytes in sizes {
        let dir = tempfile::tempdir()?;
        let home = Home::new(dir.path());
        let ledger = made_up(&home, bytes)?;
        let size = std::fs::metadata(&ledger)?.len();
        let runs = if bytes > 200 << 20 { 1 } else { 3 };
        let (ours, baseline) = by_turns(runs, &home, std::slice::from_ref(&ledger))?;
        println!(
            "  {:.0} MB: {:.2} s and {:.1} MB; parsed and redacted: {:.2} s and {:.1} MB",
            mb(size),
            ours.cpu,
            ours.peak,
            baseline.cpu,
            baseline.peak
        );
        failed += verdict(&format!("CPU at {:.0} MB", mb(size)), ours.cpu / baseline.cpu.max(1e-3), 3.0, "×");
        peaks.push(ours.peak);
    }
    if let (Some(first), Some(last)) = (peaks.first(), peaks.last()) {
        failed += verdict("peak memory of the largest", *last, 200.0, " MB");
        failed += verdict("peak memory, largest against smallest", last / first.max(1.0), 1.3, "×");
    }
    Ok(failed + recorded(setup)?)
}

/// Recorded sessions, all of them in one process.
fn recorded(setup: &Setup) -> anyhow::Result<usize> {
    let sessions = corpus::transcripts(&setup.data)?;
    let dir = tempfile::tempdir()?;
    let home = Home::new(dir.path());
    import(&home, &discover_in(&sessions), SyncPolicy::Never, &mut |_| {})?;
    let ledgers: Vec<PathBuf> = list(&home)?.into_iter().map(|listed| listed.path).collect();
    if ledgers.is_empty() {
        println!("  no recorded sessions in the data");
        return Ok(0);
    }
    let bytes: u64 = ledgers.iter().filter_map(|path| Some(std::fs::metadata(path).ok()?.len())).sum();
    let (ours, baseline) = by_turns(3, &home, &ledgers)?;
    println!(
        "  {} recorded sessions, {:.0} MB: {:.2} s; parsed and redacted: {:.2} s",
        ledgers.len(),
        mb(bytes),
        ours.cpu,
        baseline.cpu
    );
    Ok(verdict("CPU on recorded sessions", ours.cpu / baseline.cpu.max(1e-3), 3.0, "×"))
}

/// Both by turns, each in a process of its own: the median CPU time and the highest peak.
fn by_turns(runs: usize, home: &Home, ledgers: &[PathBuf]) -> anyhow::Result<(Took, Took)> {
    let mut took = (Vec::new(), Vec::new());
    for _ in 0..runs {
        took.0.push(alone("phase1", home, ledgers)?);
        took.1.push(alone("phase1-baseline", home, ledgers)?);
    }
    Ok((middle(took.0), middle(took.1)))
}

fn middle(mut all: Vec<Took>) -> Took {
    all.sort_by(|a, b| a.cpu.total_cmp(&b.cpu));
    let peak = all.iter().map(|one| one.peak).fold(0.0, f64::max);
    Took { peak, cpu: all.get(all.len() / 2).map_or(0.0, |one| one.cpu) }
}

fn alone(task: &str, home: &Home, ledgers: &[PathBuf]) -> anyhow::Result<Took> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--child", task])
        .arg(home.root())
        .args(ledgers)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!("the child failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let (cpu, peak) = text.trim().split_once(' ').with_context(|| format!("the child said {text:?}"))?;
    Ok(Took { cpu: cpu.parse()?, peak: peak.parse()? })
}

/// In a process of its own: phase 1 on each ledger.
pub(crate) fn extract(home: &Path, ledgers: &[&str]) -> anyhow::Result<()> {
    let home = Home::new(home);
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let limits = HandbookLimits::default();
    let mut findings = 0;
    for ledger in ledgers {
        let path = Path::new(ledger);
        let Some((_, Record::Meta(meta))) = Reader::open(&home, path, 0)?.next_record()? else {
            bail!("{ledger} has no first line")
        };
        let place = SessionPlace {
            home: HomeId::new("bench"),
            project: ProjectKey::new("bench"),
            ledger: home.relative(path),
        };
        let job = Phase1 {
            home: &home,
            session: &meta.id,
            place: &place,
            model: None,
            or_offline: false,
            limits: &limits,
            now: Timestamp::UNIX_EPOCH,
        };
        let extracted = runtime.block_on(extract_session(job))?;
        findings += extracted.extraction.map_or(0, |extraction| extraction.findings.len());
    }
    black_box(findings);
    tell()
}

/// In a process of its own: each line into a record, and all text redacted.
pub(crate) fn baseline(home: &Path, ledgers: &[&str]) -> anyhow::Result<()> {
    let home = Home::new(home);
    for ledger in ledgers {
        let mut reader = Reader::open(&home, Path::new(ledger), 0)?;
        while let Some((_, record)) = reader.next_record()? {
            if let Record::Message(message) = record {
                for block in &message.blocks {
                    black_box(redact(&block.to_text()));
                }
            }
        }
    }
    tell()
}

/// What this process took.
fn tell() -> anyhow::Result<()> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).context("cannot tell CPU time")?;
    println!("{} {}", usage.user_time().num_microseconds() as f64 / 1e6, peak_mb());
    Ok(())
}

/// A session of about so many bytes.
fn made_up(home: &Home, bytes: u64) -> anyhow::Result<PathBuf> {
    let mut at: Timestamp = "2026-01-05T10:00:00Z".parse()?;
    let mut meta = Meta::new(SessionId::new("made-up"), at, "throughline");
    meta.cwd = Some("/work/app".to_owned());
    let mut writer = Writer::create(home, meta, SyncPolicy::Never)?;
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut turn = 0;
    while writer.end() < bytes {
        turn += 1;
        let mut records = Vec::new();
        let mut say = |message: Message| {
            at += SignedDuration::from_secs(20);
            records.push(Record::Message(Box::new(Message { at: Some(at), ..message })));
        };
        say(Message::text(Role::User, request(turn, &mut dice)));
        for step in 0..6 {
            let id = format!("c{turn}-{step}");
            let (name, input, result) = used(turn, &mut dice);
            let call = ToolCall {
                id: id.as_str().into(),
                name: name.to_owned(),
                input: ToolInput::Json(input),
                kind: CallKind::Function,
            };
            say(Message::new(
                Role::Assistant,
                vec![Block::text(prose(1, &mut dice)), Body::ToolCall(call).into()],
            ));
            say(Message::new(
                Role::User,
                vec![Body::ToolResult(ToolResult::text(id.as_str().into(), result)).into()],
            ));
        }
        say(Message::text(Role::Assistant, prose(4, &mut dice)));
        writer.append(&records)?;
    }
    writer.update_card(|_| {})?;
    Ok(writer.path().to_owned())
}

/// Chance that is the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most.max(1) as u64) as usize
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

const NAMES: [&str; 12] = [
    "parser", "importer", "cache", "router", "index", "session", "widget", "ledger", "queue", "login",
    "report", "schema",
];

fn request(turn: u64, dice: &mut Dice) -> String {
    let name = dice.pick(&NAMES);
    match dice.below(6) {
        0 => format!("No, don't mock the {name} in these tests. Use the real one from now on."),
        1 => format!("The {name} is broken again since step {turn}: look at the log and fix it."),
        2 => format!("Always run the checks of the {name} before you commit, please."),
        3 => format!("Why does the {name} take so long? Have a look at src/{name}/mod.rs."),
        4 => format!("Here is the log:\n```\n{}```\nMake the {name} handle that.", listing(6, dice)),
        _ => format!("Add a test for the {name} that covers case {turn}, then commit."),
    }
}

/// A call, and what it gives.
fn used(turn: u64, dice: &mut Dice) -> (&'static str, serde_json::Value, String) {
    let name = dice.pick(&NAMES);
    match dice.below(5) {
        0 => ("Bash", json!({"command": format!("cargo test -p {name}")}), tested(name, turn, dice)),
        1 => ("Grep", json!({"pattern": format!("fn {name}_{turn}")}), listing(20, dice)),
        2 => (
            "Edit",
            json!({"file_path": format!("/work/app/src/{name}.rs"), "old_string": code(4, dice), "new_string": code(5, dice)}),
            "ok".to_owned(),
        ),
        3 => ("Bash", json!({"command": format!("git log -n 5 -- src/{name}.rs")}), listing(10, dice)),
        _ => {
            let lines = 40 + dice.below(160);
            ("Read", json!({"file_path": format!("/work/app/src/{name}.rs")}), code(lines, dice))
        }
    }
}

fn tested(name: &str, turn: u64, dice: &mut Dice) -> String {
    let log = listing(30, dice);
    match dice.below(3) {
        0 => {
            format!("Exit code: 101\n{log}error[E0425]: cannot find function `{name}_{turn}` in this scope\n")
        }
        _ => format!("Exit code: 0\n{log}test result: ok. {} passed; 0 failed\n", 5 + dice.below(90)),
    }
}

fn listing(lines: usize, dice: &mut Dice) -> String {
    (0..lines)
        .map(|line| {
            let (one, other) = (dice.pick(&NAMES), dice.pick(&NAMES));
            format!("src/{one}/{other}.rs:{}: running {one}::{other}::case_{line} ... ok\n", dice.below(900))
        })
        .collect()
}

fn code(lines: usize, dice: &mut Dice) -> String {
    (0..lines)
        .map(|_| {
            let (one, other) = (dice.pick(&NAMES), dice.pick(&NAMES));
            format!(
                "    let {one}_{} = self.{other}.get(&key).map_or({}, |value| value.len());\n",
                dice.below(99),
                dice.below(9_999)
            )
        })
        .collect()
}

fn prose(sentences: usize, dice: &mut Dice) -> String {
    let said: Vec<String> = (0..sentences)
        .map(|_| {
            let (one, other) = (dice.pick(&NAMES), dice.pick(&NAMES));
            format!(
                "The {one} now asks the {other} first, and the {} of them is kept in `src/{one}.rs`.",
                dice.below(50)
            )
        })
        .collect();
    said.join(" ")
}
