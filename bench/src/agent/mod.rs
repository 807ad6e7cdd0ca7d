//! Does our agent cost several times less than Codex's, everything but the model?
//!
//! `throughline exec` against the real `codex exec`: the same scripted conversation, the same server, in turns. The model calls a shell
//! step after step (every fifth prints 20 KB) and then ends. The server answers at once, so what is left is the client's: starting,
//! assembling what the model is told, sending, reading the stream, running the command, writing the session down, ending.
//!
//! What no client can save is measured too: the *floor* sends the very bodies that the client sent over a bare socket, waits for the
//! answers, and runs the same commands by `bash -c`. Overhead is wall time less the floor. CPU time is that of the client and of
//! all processes it waited for. Memory is the largest process's own peak, looked at every millisecond: both clients work in one
//! process, their helpers live for milliseconds. Both ask for nothing and run `bash -c`; ours starts it through the sandbox's helper all
//! the same. A third row is ours with a model whose tokens are estimated: what the table costs that the other models' are counted by.
//! The first run of each, which makes its folders and databases, does not count.
//!
//! `CODEX_BIN` names the other client, else it is `codex` of the path; without one, only ours is measured. It runs where there is no
//! network but the loopback. `THROUGHLINE_BIN` names ours, else it is the one beside this program.

pub(crate) mod alone;
mod clients;
mod floor;
mod run;
mod script;

pub(crate) use clients::ours;

use crate::Setup;
use crate::measure::{median, ratio, verdict};
use anyhow::Context;
use clients::{Client, Place};
use run::Run;
use script::Stage;
use std::time::Duration;

const STEPS: [usize; 3] = [1, 10, 40];

/// Of what the other takes, ours may take at most this share where there is work to do.
const MOST_WORKING: f64 = 0.4;
/// The same for a single step, which is mostly starting: ours unpacks the model's table of tokens then.
const MOST_STARTING: f64 = 0.6;

/// One run, the floor for it, and the bytes of its last request.
struct Taken {
    run: Run,
    floor: Duration,
    sent: usize,
}

/// One client at one length of the conversation: medians.
struct Row {
    client: &'static str,
    steps: usize,
    wall: Duration,
    floor: Duration,
    cpu: Duration,
    peak: f64,
    /// Bytes of the last request.
    sent: usize,
}

impl Row {
    fn overhead(&self) -> Duration {
        self.wall.saturating_sub(self.floor)
    }
}

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    println!("agent: throughline exec against codex exec, everything but the model");
    let Some(ours) = clients::ours() else {
        println!(
            "  not measured: no throughline beside this program; build it (-p throughline) or set THROUGHLINE_BIN"
        );
        return Ok(0);
    };
    match clients::codex() {
        Some(codex) => alone::again(&alone::Task { ours, codex: Some(codex), quick: setup.quick }),
        None => {
            println!("  no codex in the path, and CODEX_BIN is not set: only ours is measured");
            compare(&alone::Task { ours, codex: None, quick: setup.quick })
        }
    }
}

/// Runs the clients by turns and prints what came of it; how many figures are out of bounds.
fn compare(task: &alone::Task) -> anyhow::Result<usize> {
    let folder = tempfile::tempdir()?;
    let stage = Stage::start()?;
    let place = Place::prepare(folder.path(), &stage.url())?;
    let mut clients = vec![Client::ours(&task.ours)];
    clients.extend(task.codex.as_deref().map(Client::codex));
    for client in &clients {
        println!("  {}: {}", client.name, client.version()?);
    }
    clients.push(Client::tableless(&task.ours));
    let turns = if task.quick { 2 } else { 9 };
    // The first run makes databases and the like.
    for client in &clients {
        measure(&stage, &place, client, 1)?;
    }
    // Lengths take turns as well as clients: a machine that is busier for a while is so for all of them.
    let cells: Vec<(usize, &Client)> =
        STEPS.iter().flat_map(|steps| clients.iter().map(|client| (*steps, client))).collect();
    let mut taken: Vec<Vec<Taken>> = cells.iter().map(|_| Vec::new()).collect();
    for _ in 0..turns {
        for ((steps, client), taken) in cells.iter().zip(&mut taken) {
            taken.push(measure(&stage, &place, client, *steps)?);
        }
    }
    let rows: Vec<Row> = cells
        .iter()
        .zip(&taken)
        .map(|((steps, client), taken)| condense(client.name, *steps, taken))
        .collect();
    println!(
        "  {:>5}  {:<11}  {:>9}  {:>9}  {:>9}  {:>9}  {:>8}  {:>11}",
        "steps", "client", "wall", "floor", "overhead", "CPU", "peak", "sent"
    );
    rows.iter().for_each(print_row);
    Ok(judge(&rows))
}

/// One run of a client, and the floor for what it sent.
fn measure(stage: &Stage, place: &Place, client: &Client, steps: usize) -> anyhow::Result<Taken> {
    stage.begin(steps);
    let run = run::watch(client.command(place), &place.complaints())
        .with_context(|| format!("{} with {steps} steps", client.name))?;
    let played = stage.played();
    played.check(steps).with_context(|| format!("{} with {steps} steps", client.name))?;
    stage.begin(steps);
    let floor = floor::take(stage, &played.bodies, steps)?;
    stage.played().check(steps).context("the floor")?;
    Ok(Taken { run, floor, sent: played.bodies.last().map_or(0, Vec::len) })
}

fn condense(client: &'static str, steps: usize, taken: &[Taken]) -> Row {
    let of = |pick: fn(&Taken) -> Duration| median(taken.iter().map(pick).collect());
    Row {
        client,
        steps,
        wall: of(|taken| taken.run.wall),
        floor: of(|taken| taken.floor),
        cpu: of(|taken| taken.run.cpu),
        peak: taken.iter().map(|taken| taken.run.peak).fold(0.0, f64::max),
        sent: taken.iter().map(|taken| taken.sent).max().unwrap_or(0),
    }
}

fn print_row(row: &Row) {
    println!(
        "  {:>5}  {:<11}  {:>9}  {:>9}  {:>9}  {:>9}  {:>5.1} MB  {:>8.1} KB",
        row.steps,
        row.client,
        ms(row.wall),
        ms(row.floor),
        ms(row.overhead()),
        ms(row.cpu),
        row.peak,
        row.sent as f64 / 1024.0
    );
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// What a step more costs, and the ratios.
fn judge(rows: &[Row]) -> usize {
    let find =
        |client: &str, steps: usize| rows.iter().find(|row| row.client == client && row.steps == steps);
    let [first, middle, last] = STEPS;
    let mut slopes = Vec::new();
    for client in [clients::OURS, clients::CODEX, clients::TABLELESS] {
        let (Some(a), Some(b), Some(c)) = (find(client, first), find(client, middle), find(client, last))
        else {
            continue;
        };
        println!(
            "  a step more, {client}: {} overhead and {} CPU; {} up to step {middle}, {} from there to {last}",
            ms(slope(a, c, Row::overhead)),
            ms(slope(a, c, |row| row.cpu)),
            ms(slope(a, b, Row::overhead)),
            ms(slope(b, c, Row::overhead))
        );
        slopes.push((slope(a, c, Row::overhead), slope(a, c, |row| row.cpu)));
    }
    let mut failed = 0;
    for steps in STEPS {
        let (Some(ours), Some(codex)) = (find(clients::OURS, steps), find(clients::CODEX, steps)) else {
            return 0;
        };
        let most = if steps == first { MOST_STARTING } else { MOST_WORKING };
        let what = if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
        failed += bounded(&format!("{what}, wall time"), ratio(ours.wall, codex.wall), most);
        failed += bounded(&format!("{what}, overhead"), ratio(ours.overhead(), codex.overhead()), most);
        failed += bounded(&format!("{what}, CPU time"), ratio(ours.cpu, codex.cpu), most);
        failed += bounded(&format!("{what}, peak memory"), ours.peak / codex.peak.max(1e-9), most);
    }
    if let [(ours, our_cpu), (codex, codex_cpu), ..] = slopes.as_slice() {
        failed += bounded("a step more, overhead", ratio(*ours, *codex), MOST_WORKING);
        failed += bounded("a step more, CPU time", ratio(*our_cpu, *codex_cpu), MOST_WORKING);
    }
    failed
}

fn slope(from: &Row, to: &Row, of: fn(&Row) -> Duration) -> Duration {
    let steps = u32::try_from(to.steps - from.steps).unwrap_or(1).max(1);
    of(to).saturating_sub(of(from)) / steps
}

fn bounded(what: &str, share: f64, most: f64) -> usize {
    verdict(&format!("{what}, codex takes {:.1} times ours; ours", 1.0 / share.max(1e-9)), share, most, "×")
}
