//! Made-up messages, and recorded ones made as long as asked for.

use anyhow::Context;
use serde_json::Value;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use throughline_core::{Message, Role};

pub(crate) fn time(seconds: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_second(1_700_000_000 + seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// About 1 KB of made-up words, the same for the same `n`.
pub(crate) fn message(n: u64) -> Message {
    let mut random = Random::new(n);
    let mut text = String::with_capacity(1_100);
    while text.len() < 1_000 {
        text.push_str(&format!("word{:x} ", random.next() % 5_000));
    }
    said(n, text)
}

fn said(n: u64, text: String) -> Message {
    let mut message = Message::text(if n.is_multiple_of(2) { Role::User } else { Role::Assistant }, text);
    message.id = format!("m{n}").into();
    message.at = Some(time(n as i64));
    message
}

/// Words of recorded sessions with how often they occur, to make up any number of messages like them.
pub(crate) struct Vocabulary {
    /// Most frequent first.
    words: Vec<String>,
    /// How often the words up to this one occur, together.
    cumulative: Vec<u64>,
}

/// The most frequent words, which nobody searches for alone.
const COMMON: usize = 100;

impl Vocabulary {
    pub(crate) fn of(data: &Path) -> anyhow::Result<Self> {
        const ENOUGH: usize = 8 << 20;
        let mut counts: HashMap<String, u64> = HashMap::new();
        for text in texts(data, ENOUGH)? {
            for word in text.split_whitespace().filter(|word| word.len() <= 40) {
                *counts.entry(word.to_owned()).or_default() += 1;
            }
        }
        let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
        counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let mut sum = 0;
        let cumulative = counts.iter().map(|(_, n)| {
            sum += n;
            sum
        });
        Ok(Self {
            cumulative: cumulative.collect(),
            words: counts.into_iter().map(|(word, _)| word).collect(),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// A word, drawn as often as it occurs.
    fn draw(&self, random: &mut Random, from: usize) -> &str {
        let below = if from == 0 { 0 } else { self.cumulative[from - 1] };
        let all = self.cumulative.last().copied().unwrap_or(1);
        let at = below + random.next() % (all - below).max(1);
        let found = self.cumulative.partition_point(|&sum| sum <= at);
        &self.words[found.min(self.words.len() - 1)]
    }

    /// About 700 bytes of them, the same for the same `n`.
    pub(crate) fn message(&self, n: u64) -> Message {
        let mut random = Random::new(n);
        let mut text = String::with_capacity(800);
        for _ in 0..40 + random.next() % 120 {
            text.push_str(self.draw(&mut random, 0));
            text.push(' ');
        }
        said(n, text)
    }

    /// One to five words as a person would ask, the most common ones left out.
    pub(crate) fn query(&self, n: u64) -> String {
        let mut random = Random::new(n ^ 0x5DEE_CE66);
        let from = COMMON.min(self.words.len() / 2);
        let words: Vec<&str> = (0..1 + n % 5).map(|_| self.draw(&mut random, from)).collect();
        words.join(" ")
    }
}

struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 8
    }
}

/// Strings of the recorded sessions, up to a limit of bytes.
pub(crate) fn texts(data: &Path, limit: usize) -> anyhow::Result<Vec<String>> {
    let mut texts = Vec::new();
    let mut bytes = 0;
    for path in transcripts(data)? {
        for line in std::fs::read(&path)?.split(|&b| b == b'\n') {
            if let Ok(value) = serde_json::from_slice(line) {
                strings(value, &mut texts, &mut bytes);
            }
            if bytes > limit {
                return Ok(texts);
            }
        }
    }
    Ok(texts)
}

fn strings(value: Value, texts: &mut Vec<String>, bytes: &mut usize) {
    match value {
        Value::String(text) if text.len() > 40 => {
            *bytes += text.len();
            texts.push(text);
        }
        Value::Array(items) => items.into_iter().for_each(|item| strings(item, texts, bytes)),
        Value::Object(map) => map.into_iter().for_each(|(_, item)| strings(item, texts, bytes)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Every recorded session below a folder.
pub(crate) fn transcripts(data: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![data.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in
            std::fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "jsonl") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Writes the sessions in `sources` one after the other into `target` until it is `bytes` long, each round with other
/// ids: a repeated id would be passed over, and the import would look faster than it is.
pub(crate) fn lengthen(sources: &[PathBuf], target: &Path, bytes: u64) -> anyhow::Result<()> {
    let texts: Vec<Vec<u8>> = sources.iter().map(std::fs::read).collect::<Result<_, _>>()?;
    anyhow::ensure!(texts.iter().any(|text| !text.is_empty()), "the recorded sessions are empty");
    let mut out = BufWriter::new(File::create(target)?);
    let mut written = 0;
    for round in 1u32.. {
        for text in &texts {
            let mut text = text.clone();
            rename_ids(&mut text, round);
            out.write_all(&text)?;
            if text.last() != Some(&b'\n') {
                out.write_all(b"\n")?;
            }
            written += text.len() as u64;
            if written >= bytes {
                out.flush()?;
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Changes the first digits of everything that looks like a UUID, the same way everywhere in a round.
fn rename_ids(text: &mut [u8], round: u32) {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    let mut at = 0;
    while at + 36 <= text.len() {
        let is_uuid = DASHES.iter().all(|&d| text[at + d] == b'-')
            && (0..36).all(|i| DASHES.contains(&i) || text[at + i].is_ascii_hexdigit());
        if !is_uuid {
            at += 1;
            continue;
        }
        let head = std::str::from_utf8(&text[at..at + 8]).ok().and_then(|h| u32::from_str_radix(h, 16).ok());
        let renamed = format!("{:08x}", head.unwrap_or(0).wrapping_add(round.wrapping_mul(0x9E37_79B1)));
        text[at..at + 8].copy_from_slice(renamed.as_bytes());
        at += 36;
    }
}
