//! Counts what it is asked to, line by line: the bridge that lets `bench/fit_tokens.py` use the real code instead
//! of a second copy of it. Each line of standard input is one JSON object; each gets one line of answer.
//!
//! - `{"text": T}`: the statistics of a text and its exact counts.
//! - `{"model": M, "role": R, "blocks": [B…]}`: tokens of a message of these blocks.
//! - `{"counted": N, "reported": P}`: the prompt size predicted for N before the report P is taken in.
//! - `{"restart": true}`: another conversation begins.

use serde::Deserialize;
use serde_json::json;
use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, BufWriter, Write, stdin, stdout};
use throughline_core::tokens::{Correction, Counter, FEATURES, Features, Tokenizer};
use throughline_core::{Block, Message, Role, Usage};

#[derive(Deserialize)]
#[serde(untagged)]
enum Question {
    Text { text: String },
    Blocks { model: String, role: Role, blocks: Vec<Block> },
    Report { counted: u64, reported: u64 },
    Restart { restart: bool },
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut counters: HashMap<String, Counter> = HashMap::new();
    let mut correction = Correction::default();
    let mut out = BufWriter::new(stdout().lock());
    for line in stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?)? {
            Question::Text { text } => json!({
                "names": FEATURES,
                "features": Features::of(&text).counts(),
                "chars": text.chars().count(),
                "o200k": Tokenizer::O200k.count(&text),
                "cl100k": Tokenizer::Cl100k.count(&text),
            }),
            Question::Blocks { model, role, blocks } => {
                let counter = counters.entry(model).or_insert_with_key(|model| Counter::for_model(model));
                let count = counter.message(&Message::new(role, blocks));
                json!({"tokens": count.total(), "kinds": count})
            }
            Question::Report { counted, reported } => {
                let answer = json!({
                    "estimate": correction.estimate(counted),
                    "informed": correction.is_informed(),
                    "ratio": correction.ratio(),
                });
                correction.observe(counted, &Usage { input: reported, ..Usage::default() });
                answer
            }
            Question::Restart { restart } => {
                if restart {
                    correction = Correction::default();
                }
                json!({})
            }
        };
        writeln!(out, "{answer}")?;
    }
    Ok(())
}
