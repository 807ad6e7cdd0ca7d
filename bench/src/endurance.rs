//! Does a session of ten thousand requests stay within its window, its limits and its memory?
//!
//! A scripted model reads file after file; a model of 200,000 tokens refuses what is too long for it, with the true figures. Summaries
//! are the model's. Memory is that of this process, the scripted server included.

use crate::Setup;
use crate::measure::verdict;
use crate::simulated::{self, MODEL, Stage};
use serde_json::json;
use throughline_core::profile::Profile;
use throughline_core::tokens::Counter;
use throughline_core::{Body, CallId, Message, Role, ToolResult, Wire};
use throughline_engine::session::Session;
use throughline_memory::notes::NotesKeeper;
use throughline_model::CancelToken;
use throughline_testkit::{Answer, Playbook, Reply, Seen, Window, Wording};

const WINDOW: u64 = 200_000;

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    let requests = if setup.quick { 500 } else { 10_000 };
    println!("endurance: {requests} requests to a model of {WINDOW} tokens");
    simulated::block_on(hold_out(requests))
}

async fn hold_out(requests: usize) -> anyhow::Result<usize> {
    // Notes that grow far over their limits, never the same.
    let mut update = 0;
    let notes = move |_: &Seen| -> Reply {
        update += 1;
        let long: String =
            (0..update % 900).map(|at| format!("- step {update}.{at}: handle_{at} was read\n")).collect();
        Answer::text(format!("<notes>\n# Current State\nUpdate {update}.\n\n# Worklog\n{long}</notes>"))
            .into()
    };
    let script = Playbook::new()
        .when(simulated::is_notes, notes)
        .when(
            simulated::is_summary,
            Answer::text(
                "<analysis>…</analysis><summary>Files are read one by one; parse_empty fails.</summary>",
            ),
        )
        .otherwise(Answer::text("I read the next one.").call("Read", json!({"file_path": "src/part.rs"})));
    let window = Window { limit: WINDOW, wording: Wording::ALL[0], script };
    let mut stage = Stage::new(Wire::Anthropic, window)?;
    stage.server.keep(2);
    stage.settings.profile = Profile::throughline();
    stage.settings.window = Some(WINDOW);
    stage.settings.ahead_share = Some(0.8);
    let mut session = stage.open()?;
    let mut figures = Figures::default();
    session.record(Message::text(Role::User, "Read every file. Never touch Cargo.lock."))?;
    for n in 0..requests {
        let answer = session.ask(None, CancelToken::new()).await?;
        let seen = stage.server.last().map(|seen| seen.tokens).unwrap_or_default();
        figures.largest = figures.largest.max(seen);
        let calls: Vec<CallId> =
            answer.response.messages.iter().flat_map(Message::calls).map(|call| call.id.clone()).collect();
        for call in calls {
            session.record(page(call, n))?;
        }
        if n % 20 == 19 {
            session.record(Message::text(Role::User, format!("Go on; mind part {n}.")))?;
            session.after_turn().await?;
        }
        figures.look(&session);
        if n % (requests / 10).max(1) == 0 {
            println!(
                "  request {n:>6}: {:>7} tokens, {} compactions, {:.0} MB",
                session.pipeline().tokens(),
                figures.compactions,
                resident_mb()
            );
            figures.memory.push(resident_mb());
        }
    }
    println!("  {} compactions by {MODEL}; largest request {} tokens", figures.compactions, figures.largest);
    let mut failed =
        verdict("largest request, of the window", figures.largest as f64 / WINDOW as f64, 1.0, "×");
    failed += verdict("compactions in a row without progress", figures.idle as f64, 1.0, "");
    println!("  {} updates of the notes", figures.updates);
    failed += verdict("tokens of the largest notes", figures.largest_notes as f64, 12_000.0, "");
    failed += verdict("tokens of their largest section", figures.largest_section as f64, 2_000.0, "");
    let settled = figures.memory.get(figures.memory.len() / 3).copied().unwrap_or(1.0);
    let last = figures.memory.last().copied().unwrap_or(1.0);
    failed += verdict("memory at the end, of that after a third", last / settled, 1.25, "×");
    Ok(failed)
}

#[derive(Default)]
struct Figures {
    largest: u64,
    compactions: usize,
    idle: usize,
    last_summary: Option<throughline_core::MessageId>,
    tokens: u64,
    memory: Vec<f64>,
    notes: String,
    updates: usize,
    largest_notes: u64,
    largest_section: u64,
}

impl Figures {
    fn look(&mut self, session: &Session) {
        self.look_at_notes(session);
        let summary = session.pipeline().view().entries().iter().find(|entry| entry.message.flags.summary);
        let id = summary.map(|entry| entry.message.id.clone());
        let tokens = session.pipeline().tokens();
        if id.is_some() && id != self.last_summary {
            self.compactions += 1;
            self.idle = if (tokens as f64) > self.tokens as f64 * 0.9 { self.idle + 1 } else { 0 };
            self.last_summary = id;
        }
        self.tokens = tokens;
    }

    /// The largest notes and the largest section of them.
    fn look_at_notes(&mut self, session: &Session) {
        let Some(Ok(Some(notes))) = session.notes().map(NotesKeeper::notes) else { return };
        if self.notes == notes.text {
            return;
        }
        self.updates += 1;
        let mut counter = Counter::for_model(MODEL);
        self.largest_notes = self.largest_notes.max(counter.text(&notes.text));
        for section in notes.text.split("\n# ") {
            self.largest_section = self.largest_section.max(counter.text(section));
        }
        self.notes = notes.text;
    }
}

/// A file of some two thousand tokens, never the same.
fn page(call: CallId, n: usize) -> Message {
    let text: String = (0..120)
        .map(|at| format!("{at}: fn handle_{n}_{at}(value: u32) -> u32 {{ value + {at} }}\n"))
        .collect();
    Message::new(Role::User, vec![Body::ToolResult(ToolResult::text(call, text)).into()])
}

fn resident_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}
