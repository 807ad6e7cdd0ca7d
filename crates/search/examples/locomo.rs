//! Does search find the turn that answers? Turn level recall on LoCoMo conversations, without the command line.
//!
//! `cargo run --release -p throughline-search --example locomo -- DATA.json [--tail]`; with `--tail` nothing is
//! indexed before the questions, so that the unindexed tail answers them.

use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use throughline_core::{Message, MessageId, Meta, Record, Role, SessionId};
use throughline_ledger::{Home, SyncPolicy, Writer};
use throughline_search::{Filters, Query, Search};

const KS: [usize; 5] = [1, 5, 10, 20, 50];
type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let data: Value = serde_json::from_slice(&std::fs::read(args.next().ok_or("which file?")?)?)?;
    let tail = args.next().as_deref() == Some("--tail");
    let dir = tempfile::tempdir()?;
    let home = Home::new(dir.path());
    let mut search = Search::open(&home)?;
    search.sync(&mut |_| {})?;
    let samples = data.as_array().ok_or("not a list of conversations")?;
    let mut turns = HashMap::new();
    for sample in samples {
        let (session, ids) = record(&home, sample)?;
        turns.insert(session, ids);
    }
    if !tail {
        search.sync(&mut |_| {})?;
    }
    let mut all = Vec::new();
    for sample in samples {
        let session = session_of(sample);
        let rows = recalls(&mut search, sample, &turns[&session])?;
        report(session.as_str(), &rows);
        all.extend(rows);
    }
    report("all", &all);
    Ok(())
}

fn session_of(sample: &Value) -> SessionId {
    sample["sample_id"].as_str().unwrap_or("?").into()
}

/// Writes one conversation as a ledger; returns the ids of its turns.
fn record(home: &Home, sample: &Value) -> Result<(SessionId, BTreeSet<String>), Failure> {
    let session = session_of(sample);
    let meta = Meta::new(session.clone(), jiff::Timestamp::UNIX_EPOCH, "locomo");
    let mut writer = Writer::create(home, meta, SyncPolicy::Never)?;
    let mut ids = BTreeSet::new();
    let conversation = &sample["conversation"];
    for day in 1..100 {
        for turn in conversation[format!("session_{day}")].as_array().into_iter().flatten() {
            let text = |key: &str| turn[key].as_str().unwrap_or_default();
            let caption = match text("blip_caption") {
                "" => String::new(),
                caption => format!(" [image: {caption}]"),
            };
            let words = format!("{}: {}{caption}", text("speaker"), text("text"));
            let mut message = Message::text(Role::User, words);
            message.id = MessageId::new(text("dia_id"));
            message.at = Some(jiff::Timestamp::from_second(day * 86_400 + ids.len() as i64 * 60)?);
            writer.append(&[Record::Message(Box::new(message))])?;
            ids.insert(text("dia_id").to_owned());
        }
    }
    Ok((session, ids))
}

/// For each question, the share of its evidence among the first hits.
fn recalls(search: &mut Search, sample: &Value, ids: &BTreeSet<String>) -> Result<Vec<[f64; 5]>, Failure> {
    let mut rows = Vec::new();
    for qa in sample["qa"].as_array().into_iter().flatten().filter(|qa| qa["category"] != 5) {
        let evidence: BTreeSet<String> = qa["evidence"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .flat_map(evidence_ids)
            .filter(|id| ids.contains(id))
            .collect();
        if evidence.is_empty() {
            continue;
        }
        let filters = Filters { session: Some(session_of(sample)), ..Filters::default() };
        let text = qa["question"].as_str().unwrap_or_default();
        let hits = search.query(&Query { limit: 50, filters, ..Query::new(text) })?;
        rows.push(KS.map(|k| {
            let found = hits.iter().take(k).filter(|hit| evidence.contains(hit.id.as_str())).count();
            found as f64 / evidence.len() as f64
        }));
    }
    Ok(rows)
}

/// `D1:3`, `D:1:03` and several of them in one string.
fn evidence_ids(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_ascii_digit() && c != ':')
        .filter_map(|part| {
            let (day, turn) = part.trim_matches(':').split_once(':')?;
            Some(format!("D{}:{}", day.parse::<u32>().ok()?, turn.parse::<u32>().ok()?))
        })
        .collect()
}

fn report(name: &str, rows: &[[f64; 5]]) {
    print!("{name:10} n={:<4}", rows.len());
    for (n, k) in KS.iter().enumerate() {
        let mean = rows.iter().map(|row| row[n]).sum::<f64>() / rows.len().max(1) as f64;
        print!("  @{k} {:.1}", mean * 100.0);
    }
    println!();
}
