//! Question: does every request contain what the user said and what the model needs?
//!
//! Every recorded session under every profile as it runs on live traffic, on every wire, in windows from 20,000 to 200,000 tokens:
//! the share of requests per rung, and what any of them lacked. What is required comes from the classifier, and for labelled
//! sessions also from the labels of independent readers.

use crate::measure::verdict;
use crate::{Setup, classify, corpus};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use throughline_core::Body;
use throughline_core::pipeline::Rung;
use throughline_core::profile::Profile;
use throughline_engine::replay::{GuaranteeReport, Plan, Recording, Run, replay};
use throughline_ledger::Home;

const WINDOWS: [u64; 4] = [20_000, 60_000, 100_000, 200_000];
/// The share of requests that may go as the client wrote them, in hundredths.
const MOST_ORIGINALS: f64 = 1.0;
/// System prompt and tools have at most this part of the window.
const LARGEST_OVERHEAD: u64 = 4;
/// Examples that are printed of each kind.
const EXAMPLES: usize = 8;

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    let home = Home::new(std::env::temp_dir());
    let mut paths = corpus::transcripts(&setup.data)?;
    if setup.quick {
        paths.truncate(6);
    }
    let recordings: Vec<Recording> =
        paths.iter().filter_map(|path| Recording::open(&home, path).ok()).collect();
    println!("guarantee: {} recorded sessions", recordings.len());
    let labels = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/labels/check.jsonl");
    let transcripts = setup.data.join("transcripts");
    // The samples have no labels.
    let expected = match transcripts.is_dir() {
        true => expectations(&labels, &transcripts)?,
        false => HashMap::new(),
    };
    let recordings: Vec<(Recording, Vec<String>)> = recordings
        .into_iter()
        .map(|recording| {
            let texts = expected.get(&recording.name).cloned().unwrap_or_default();
            (recording, texts)
        })
        .collect();
    let labelled: usize = recordings.iter().map(|(_, texts)| texts.len()).sum();
    println!("  {labelled} requests in force by the labels of independent readers");
    let windows: Vec<u64> = setup.window.map_or(WINDOWS.to_vec(), |window| vec![window]);
    let mut failed = 0;
    let mut recordings = recordings;
    let overheads: Vec<u64> = recordings.iter().map(|(recording, _)| recording.overhead).collect();
    for window in windows {
        // System prompt and tools were recorded in large windows: three quarters of the sessions have over 20,000 tokens of them.
        for ((recording, _), overhead) in recordings.iter_mut().zip(&overheads) {
            recording.overhead = (*overhead).min(window / LARGEST_OVERHEAD);
        }
        failed += table(&recordings, window)?;
    }
    Ok(failed)
}

/// The longest labelled request that must be there word for word.
const VERBATIM: usize = 1_500;

/// By session, the requests that set a task and were not superseded, as independent readers saw them.
fn expectations(labels: &Path, transcripts: &Path) -> anyhow::Result<HashMap<String, Vec<String>>> {
    let mut found: HashMap<String, Vec<String>> = HashMap::new();
    for label in classify::read_labels(labels)? {
        if label.task != "sets_task" || label.superseded_by.is_some() {
            continue;
        }
        let messages = classify::read_session(&label.session, transcripts, transcripts)?;
        let Some(Some(message)) = messages.get(label.line - 1) else { continue };
        let Some(Body::Text(text)) = message.blocks.get(label.block).map(|block| &block.body) else {
            continue;
        };
        let name = Path::new(&label.session).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for part in
            label.parts.iter().filter(|part| part.kind == "typed_request" || part.kind == "agent_task")
        {
            let said: String = text.chars().skip(part.start).take(part.end - part.start).collect();
            if said.chars().count() <= VERBATIM {
                found.entry(name.clone()).or_default().push(said.trim().to_owned());
            }
        }
    }
    Ok(found)
}

fn table(recordings: &[(Recording, Vec<String>)], window: u64) -> anyhow::Result<usize> {
    let profiles = [Profile::throughline(), Profile::claude(), Profile::codex()].map(Profile::live).to_vec();
    let mut sums: BTreeMap<String, GuaranteeReport> = BTreeMap::new();
    let mut examples: HashMap<String, Vec<String>> = HashMap::new();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = |from: usize| -> Vec<(String, Vec<Run>)> {
        let each = recordings.iter().skip(from).step_by(threads);
        let run = |(recording, expected): &(Recording, Vec<String>)| {
            let plan = Plan::new(profiles.clone(), window);
            let plan = Plan { check_wires: true, judge: false, expected: expected.clone(), ..plan };
            (recording.name.clone(), replay(recording, &plan).runs)
        };
        each.map(run).collect()
    };
    let work = &work;
    let reports: Vec<(String, Vec<Run>)> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|from| scope.spawn(move || work(from))).collect();
        let runs = handles.into_iter().map(|handle| handle.join());
        runs.collect::<Result<Vec<_>, _>>().map(|runs| runs.into_iter().flatten().collect())
    })
    .map_err(|_| anyhow::anyhow!("a replay panicked"))?;
    for (name, runs) in reports {
        for run in runs {
            let Some(report) = run.guarantee else { continue };
            let sum = sums.entry(run.profile.clone()).or_default();
            let shown = examples.entry(run.profile).or_default();
            for (kind, list) in [("violation", &report.violations), ("degraded", &report.degraded)] {
                for (request, violation) in list.iter().take(2) {
                    let what = format!("{kind}: {}: {}", violation.need.name(), violation.missing);
                    shown.push(format!("{name} request {request}: {what}"));
                }
            }
            let unexpected = report.unexpected.iter().take(2);
            shown.extend(
                unexpected.map(|(request, text)| format!("{name} request {request}: labelled: {text}")),
            );
            let originals = report.originals.iter().take(1);
            shown.extend(
                originals.map(|(request, why)| format!("{name} request {request}: client's own: {why}")),
            );
            sum.merge(report);
        }
    }
    println!(
        "\n  window {window}, all wires: profile, requests, unchanged, edited, compacted, degraded, client's own, violations"
    );
    let mut failed = 0;
    for (profile, sum) in &sums {
        let requests = sum.requests();
        println!(
            "      {profile:<12} {requests:>6} {:>7.2}% {:>6.2}% {:>6.2}% {:>6.2}% {:>6.2}% {:>6}",
            sum.percent(Rung::Unchanged),
            sum.percent(Rung::Edited),
            sum.percent(Rung::Compacted),
            sum.percent(Rung::Degraded),
            sum.originals_percent(),
            sum.violations.len()
        );
        let mut needs: BTreeMap<&str, usize> = BTreeMap::new();
        sum.violations
            .iter()
            .for_each(|(_, violation)| *needs.entry(violation.need.name()).or_default() += 1);
        if !needs.is_empty() {
            println!("        {needs:?}");
        }
        failed +=
            verdict(&format!("{profile} at {window}: violations"), sum.violations.len() as f64, 0.0, "");
        failed += verdict(
            &format!("{profile} at {window}: client's own requests"),
            sum.originals_percent(),
            MOST_ORIGINALS,
            "%",
        );
        failed += verdict(
            &format!("{profile} at {window}: labelled requests that are missing"),
            sum.unexpected.len() as f64,
            0.0,
            "",
        );
        // What must not happen comes first.
        let mut shown: Vec<&String> = examples.get(profile).into_iter().flatten().collect();
        let kinds = [": violation:", ": labelled:", ": client's own:"];
        shown.sort_by_key(|example| {
            kinds.iter().position(|kind| example.contains(kind)).unwrap_or(kinds.len())
        });
        for example in shown.into_iter().take(EXAMPLES) {
            println!("        {}", throughline_core::text::one_line(example, 300));
        }
    }
    Ok(failed)
}

/// Scores the classifier on the labels of independent readers.
pub(crate) fn classifier(setup: &Setup) -> anyhow::Result<usize> {
    let labels = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/labels");
    let mut files = vec![labels.join("check.jsonl")];
    if let Some(folder) = &setup.labels {
        let found = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
        files.extend(
            found
                .into_iter()
                .map(|entry| entry.path())
                .filter(|path| path.extension() == Some("jsonl".as_ref())),
        );
    }
    let captures = setup.labels.as_deref().unwrap_or(&labels).join("captures");
    classify::run(&files, &setup.data.join("transcripts"), &captures)
}
