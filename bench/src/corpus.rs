//! Made-up messages, and recorded ones made as long as asked for.

use anyhow::Context;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use throughline_core::{Message, Role};

pub(crate) fn time(seconds: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_second(1_700_000_000 + seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

const WORDS: &[&str] = &[
    "queue",
    "worker",
    "lease",
    "retry",
    "parse_line",
    "src/main.rs",
    "E0382",
    "borrow",
    "timeout",
    "the",
    "a",
    "of",
    "to",
    "fails",
    "because",
    "test",
    "passes",
    "commit",
    "branch",
    "config.toml",
    "HashMap",
    "async",
    "tokio",
    "spawn",
    "lock",
    "file",
    "index",
    "search",
    "token",
    "cache",
    "prompt",
    "message",
    "session",
    "ledger",
    "edit",
    "checkpoint",
    "resume",
    "fork",
    "undo",
    "blob",
    "hash",
    "json",
    "value",
    "string",
    "error",
    "panic",
    "unwrap",
];

/// About 1 KB of made-up words, the same for the same `n`. A tenth of the words are rare.
pub(crate) fn message(n: u64) -> Message {
    let mut random = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut text = String::with_capacity(1_100);
    while text.len() < 1_000 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        if random.is_multiple_of(10) {
            text.push_str(&format!("id{:x}", random % 1_000_003));
        } else {
            // A skewed choice, as words in real text are.
            let skewed = ((random >> 8) % 47) * ((random >> 16) % 47) / 47;
            text.push_str(WORDS[skewed as usize % WORDS.len()]);
        }
        text.push(' ');
    }
    let mut message = Message::text(if n.is_multiple_of(2) { Role::User } else { Role::Assistant }, text);
    message.id = format!("m{n}").into();
    message.at = Some(time(n as i64));
    message
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
