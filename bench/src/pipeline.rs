//! Does the pipeline keep requests small, cheap and valid, and what is needed later?
//!
//! Every recorded session under every profile and window: rules broken, requests over the threshold, cost against sending
//! everything. Then single compactions to 10,000 tokens at every 50,000 tokens of each session, judged by what the rest of
//! the session used. Then the time of a replay, against parsing and counting the same sessions once.

use crate::measure::{alternate, ratio, verdict, verdict_at_least};
use crate::{Setup, corpus};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;
use throughline_core::compaction::Scaffold;
use throughline_core::profile::{Profile, Strategy};
use throughline_core::stages::OwnTools;
use throughline_core::tokens::Counter;
use throughline_core::{Entry, Message, Record};
use throughline_engine::replay::{Judge, NeededReport, Plan, Recording, SessionReport, Summary, replay};
use throughline_engine::{Order, compact};
use throughline_ledger::{Home, import};

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    let home = Home::new(std::env::temp_dir());
    let mut paths = corpus::transcripts(&setup.data)?;
    if setup.quick {
        paths.truncate(4);
    }
    let recordings: Vec<Recording> =
        paths.iter().filter_map(|path| Recording::open(&home, path).ok()).collect();
    let requests: usize = recordings.iter().map(|recording| recording.requests.len()).sum();
    println!("pipeline: {} recorded sessions, {requests} requests", recordings.len());
    let mut failed = 0;
    for window in [50_000, 100_000, 200_000] {
        failed += table(&recordings, window);
    }
    failed += single_compactions(&recordings)?;
    Ok(failed + speed(&paths)?)
}

fn profiles() -> Vec<Profile> {
    vec![Profile::throughline(), Profile::claude(), Profile::codex()]
}

/// All sessions under all profiles in one window.
fn table(recordings: &[Recording], window: u64) -> usize {
    let plan = Plan { check_wires: true, ..Plan::new(profiles(), window) };
    let reports: Vec<SessionReport> = recordings.iter().map(|recording| replay(recording, &plan)).collect();
    let sums = Summary::of(&reports);
    println!(
        "\n  window {window}: profile, tokens a request, peak, cached, cost, compactions, kept, pair, found"
    );
    for sum in &sums {
        let needed = sum.needed.unwrap_or_default();
        println!(
            "      {:<12} {:>7} {:>7} {:>5.1}% {:.3} {:>4} {:.3} {:.3} {:.3}",
            sum.profile,
            sum.tokens_per_request,
            sum.peak,
            sum.cached * 100.0,
            sum.relative_cost,
            sum.compactions,
            needed.kept,
            needed.pair.unwrap_or_default(),
            needed.found.unwrap_or_default(),
        );
    }
    let broken: usize = sums.iter().map(|sum| sum.violations).sum();
    let over: usize = sums.iter().map(|sum| sum.over_threshold).sum();
    let mut failed = verdict("API rules broken, on three wires", broken as f64, 0.0, "");
    failed += verdict("requests over the threshold", over as f64, 0.0, "");
    let [_, ours, others @ ..] = sums.as_slice() else { return failed };
    if window == 100_000 {
        failed += verdict("cost of sending everything", ours.relative_cost, 0.45, "×");
        failed += verdict_at_least("read from the cache", ours.cached, 0.97);
        for other in others {
            failed += verdict(
                &format!("cost against {}", other.profile),
                ours.relative_cost / other.relative_cost,
                1.0,
                "×",
            );
            let kept = |sum: &Summary| sum.needed.unwrap_or_default().kept;
            failed += verdict_at_least(
                &format!("kept, where {} keeps that much", other.profile),
                kept(ours),
                kept(other),
            );
        }
    }
    failed
}

/// Compactions to 10,000 tokens, each judged by the next 400 blocks of its session.
fn single_compactions(recordings: &[Recording]) -> anyhow::Result<usize> {
    const EVERY: u64 = 50_000;
    const BUDGET: u64 = 10_000;
    let mut judged: BTreeMap<&str, Vec<NeededReport>> = BTreeMap::new();
    for recording in recordings {
        let model = recording.model_or_default();
        let mut counter = Counter::for_model(model);
        let mut judge = Judge::new(&recording.messages, counter.profile().tokenizer);
        let (mut said, mut next) = (0, EVERY);
        for upto in 1..=recording.messages.len() {
            said += counter.message(&recording.messages[upto - 1]).total();
            if said < next {
                continue;
            }
            next += EVERY;
            let order = Order {
                strategy: Strategy::Notes,
                budget: BUDGET,
                instructions: None,
                model,
                cwd: recording.cwd.as_deref(),
                scaffold: Scaffold::LeaveOut,
                tools: OwnTools::default(),
                now: None,
            };
            let past = &recording.messages[..upto];
            let entry = |message: &Arc<Message>| Entry {
                message: message.clone(),
                origin: Default::default(),
                overlays: Vec::new(),
                pinned: None,
            };
            let view: Vec<Entry> = past.iter().map(entry).collect();
            let draft = compact(past, &view, &order)?;
            let shown: Vec<Arc<Message>> = draft.entries.iter().map(Entry::shown).collect();
            judged.entry(&recording.client).or_default().extend(judge.judge(upto, &shown));
        }
    }
    let mut failed = 0;
    for (client, reports) in judged {
        let mean = |value: &dyn Fn(&NeededReport) -> Option<f64>| {
            let values: Vec<f64> = reports.iter().filter_map(value).collect();
            values.iter().sum::<f64>() / values.len().max(1) as f64
        };
        println!("\n  {client}: {} compactions to {BUDGET} tokens", reports.len());
        failed += verdict_at_least("kept", mean(&|one| Some(one.kept)), 0.87);
        failed += verdict_at_least("pair", mean(&|one| one.pair), 0.70);
        failed += verdict_at_least("the user's binding sentences", mean(&|one| one.constraints), 0.99);
        failed += verdict_at_least("found", mean(&|one| one.found), 0.97);
    }
    Ok(failed)
}

/// One replay of everything, against parsing and counting it once. On one core each, so that the ratio is one of work.
fn speed(paths: &[PathBuf]) -> anyhow::Result<usize> {
    let home = Home::new(std::env::temp_dir());
    let go = |window: u64, judge: bool| -> anyhow::Result<()> {
        let plan = Plan { judge, ..Plan::new(vec![Profile::throughline()], window) };
        for path in paths {
            if let Ok(recording) = Recording::open(&home, path) {
                black_box(replay(&recording, &plan).requests);
            }
        }
        Ok(())
    };
    let once = || -> anyhow::Result<()> {
        for path in paths {
            let mut messages = Vec::new();
            let mut model = String::new();
            import::read(path, &mut |record| match record {
                Record::Message(message) => messages.push(*message),
                Record::Turn(turn) => model = turn.model.unwrap_or_default(),
                Record::Meta(_)
                | Record::Event(_)
                | Record::Edit(_)
                | Record::Checkpoint(_)
                | Record::Card(_) => {}
            })?;
            let mut counter = Counter::for_model(if model.is_empty() { "claude-sonnet-4-5" } else { &model });
            black_box(messages.iter().map(|message| counter.message(message).total()).sum::<u64>());
        }
        Ok(())
    };
    // The command's default window.
    let (ours, baseline) = alternate(5, || go(200_000, false), once)?;
    println!("\n  replay {ours:.2?} against {baseline:.2?} for parsing and counting once");
    let failed = verdict("replay", ratio(ours, baseline), 2.0, "×");
    for (what, window, judge) in [
        ("with a window of 100K, twice as often compacted", 100_000, false),
        ("with the judgement of compactions", 200_000, true),
        ("with both", 100_000, true),
    ] {
        let (other, _) = alternate(1, || go(window, judge), || Ok(()))?;
        println!("      {what}: {:.2}×", ratio(other, baseline));
    }
    Ok(failed)
}
