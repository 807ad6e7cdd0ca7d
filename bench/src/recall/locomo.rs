//! LoCoMo, each turn as a memory: does ranking find the turn that answers?
//!
//! A turn is often the answer to the one before it and shares no word with the question. As a memory it is asked twice: alone, and
//! with the turns around it as the words that it was made of ([`Source::quote`](throughline_memory::topics::Source)), which is
//! what extraction keeps of a conversation. The data is not ours: it is read where it lies, or left out.

use anyhow::Context;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use throughline_memory::recall::Recall;
use throughline_memory::topics::TopicStore;
use throughline_memory::{Memories, Tier};

use crate::measure::verdict_at_least;

const DEPTHS: [usize; 5] = [1, 5, 10, 20, 50];
/// Turns on either side whose words belong to a memory.
const AROUND: usize = 2;

struct Turn {
    id: String,
    session: u64,
    text: String,
}

pub(crate) fn run(data: &Path) -> anyhow::Result<usize> {
    let path = data.join("locomo_dev.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("  LoCoMo: no {}, left out", path.display());
        return Ok(0);
    };
    let samples: Vec<Value> = serde_json::from_str(&text).context("the data is not a list")?;
    println!(
        "  LoCoMo, each turn as a memory (baselines by locomo.py: BM25 stems 55.8@5 63.2@10, window 60.7@5 70.4@10):"
    );
    let alone = measure(&samples, 0)?;
    println!("    turn alone             {}", shown(&alone));
    let around = measure(&samples, AROUND)?;
    println!("    with the turns around  {}", shown(&around));
    let at = |depth: usize| mean(&around, DEPTHS.iter().position(|one| *one == depth).unwrap_or(0));
    // The best baseline and its interval: 60.7±4.7 and 70.4±4.2.
    Ok(verdict_at_least("LoCoMo recall@5", at(5), 0.654)
        + verdict_at_least("LoCoMo recall@10", at(10), 0.746))
}

fn measure(samples: &[Value], around: usize) -> anyhow::Result<Vec<[f64; 5]>> {
    let mut all = Vec::new();
    for sample in samples {
        let turns = turns(sample);
        let folder = tempfile::tempdir()?;
        for (n, turn) in turns.iter().enumerate() {
            std::fs::write(folder.path().join(format!("t{n}.md")), memory(&turns, (n, turn), around)?)?;
        }
        let store = TopicStore::open(folder.path().to_owned()).without_history();
        let recall = Recall::new(Memories::of(vec![(Tier::Project, store)]));
        for (question, evidence) in questions(sample, &turns) {
            let found = recall.search(&question, 50, Timestamp::now());
            let place =
                |file: &str| file.trim_start_matches('t').trim_end_matches(".md").parse::<usize>().ok();
            let ids: Vec<&str> = found
                .iter()
                .filter_map(|one| turns.get(place(&one.id.file)?))
                .map(|turn| turn.id.as_str())
                .collect();
            all.push(DEPTHS.map(|depth| {
                let hits = ids.iter().take(depth).filter(|id| evidence.contains(**id)).count();
                hits as f64 / evidence.len() as f64
            }));
        }
    }
    Ok(all)
}

fn memory(turns: &[Turn], (n, turn): (usize, &Turn), around: usize) -> anyhow::Result<String> {
    let near = turns.iter().enumerate().skip(n.saturating_sub(around)).take(2 * around + 1);
    let quotes: Vec<Value> = near
        .filter(|(at, other)| *at != n && other.session == turn.session)
        .map(|(_, other)| json!({"by": "user", "at": "2026-01-01T00:00:00Z", "quote": other.text}))
        .collect();
    let metadata = json!({"sources": quotes});
    Ok(format!("---\nname: \"\"\nmetadata: {metadata}\n---\n\n{}\n", turn.text))
}

fn turns(sample: &Value) -> Vec<Turn> {
    let mut all = Vec::new();
    let empty = serde_json::Map::new();
    let conversation = sample.get("conversation").and_then(Value::as_object).unwrap_or(&empty);
    let mut sessions: Vec<(u64, &Value)> = conversation
        .iter()
        .filter_map(|(key, turns)| Some((key.strip_prefix("session_")?.parse().ok()?, turns)))
        .collect();
    sessions.sort_by_key(|(n, _)| *n);
    for (session, turns) in sessions {
        for turn in turns.as_array().into_iter().flatten() {
            let text = |key: &str| turn.get(key).and_then(Value::as_str).unwrap_or_default();
            let caption = match text("blip_caption") {
                "" => String::new(),
                caption => format!(" [image: {caption}]"),
            };
            let said = format!("{}: {}{caption}", text("speaker"), text("text"));
            all.push(Turn { id: text("dia_id").to_owned(), session, text: said });
        }
    }
    all
}

/// Questions with the turns that answer them, as `locomo.py` reads them.
fn questions(sample: &Value, turns: &[Turn]) -> Vec<(String, BTreeSet<String>)> {
    let known: BTreeSet<&str> = turns.iter().map(|turn| turn.id.as_str()).collect();
    let mut all = Vec::new();
    for question in sample.get("qa").and_then(Value::as_array).into_iter().flatten() {
        if question.get("category").and_then(Value::as_u64) == Some(5) {
            continue;
        }
        let mut evidence = BTreeSet::new();
        for item in question.get("evidence").and_then(Value::as_array).into_iter().flatten() {
            let text = item.as_str().unwrap_or_default();
            for part in text.split('D').skip(1) {
                let numbers: Vec<u64> = part
                    .trim_start_matches(':')
                    .split(|c: char| !c.is_ascii_digit())
                    .take(2)
                    .filter_map(|digits| digits.parse().ok())
                    .collect();
                if let [session, turn] = numbers[..] {
                    evidence.insert(format!("D{session}:{turn}"));
                }
            }
        }
        evidence.retain(|id| known.contains(id.as_str()));
        if !evidence.is_empty() {
            let text = question.get("question").and_then(Value::as_str).unwrap_or_default();
            all.push((text.to_owned(), evidence));
        }
    }
    all
}

fn mean(all: &[[f64; 5]], place: usize) -> f64 {
    all.iter().map(|row| row[place]).sum::<f64>() / all.len().max(1) as f64
}

fn shown(all: &[[f64; 5]]) -> String {
    let cell = |(place, depth): (usize, &usize)| {
        let mean = mean(all, place);
        let variance =
            all.iter().map(|row| (row[place] - mean).powi(2)).sum::<f64>() / all.len().max(1) as f64;
        format!("@{depth} {:.1}±{:.1}", 100.0 * mean, 196.0 * (variance / all.len().max(1) as f64).sqrt())
    };
    let cells: Vec<String> = DEPTHS.iter().enumerate().map(cell).collect();
    format!("n={}  {}", all.len(), cells.join("  "))
}
