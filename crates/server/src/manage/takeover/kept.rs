//! Summaries of ours that clients refer to: written down, and found again.

use super::Written;
use super::blob::{self, Blob, Read};
use crate::manage::{Asked, ManageError, Report, World};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use throughline_core::compaction::handed_over;
use throughline_core::{Event, Record, SessionId, Wire};
use throughline_ledger::{Home, LedgerError, session};
use throughline_wire::splice::{Body, Changes, Fragment};

/// The event that holds a summary.
pub(super) const EVENT: &str = "proxy.compacted";
/// How many texts are remembered; all are in ledgers.
const MOST: usize = 32;

/// Texts that blobs stand for, the newest that were needed.
#[derive(Debug, Default)]
pub(crate) struct Summaries(Mutex<BTreeMap<Blob, Arc<str>>>);

impl Summaries {
    /// A text that was just written.
    pub(super) fn keep(&self, written: &Written) {
        self.put(written.blob.clone(), written.text.as_str().into());
    }

    fn put(&self, blob: Blob, text: Arc<str>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.pop_first();
        }
        known.insert(blob, text);
    }

    /// The text that a blob stands for.
    fn text(&self, home: &Home, blob: &Blob) -> Option<Arc<str>> {
        if let Some(text) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(blob) {
            return Some(text.clone());
        }
        let text: Arc<str> = find(home, blob)?.into();
        self.put(blob.clone(), text.clone());
        Some(text)
    }
}

/// Looks a text up in the ledger that its blob names.
fn find(home: &Home, blob: &Blob) -> Option<String> {
    let path = home.find_exact(&SessionId::new(blob.session.clone())).ok()?;
    let mut found = None;
    let read = session::each_record(home, &path, &mut |_, record| {
        if let Record::Event(event) = record
            && event.name == EVENT
            && let Some(text) = event.data.get("text").and_then(Value::as_str)
            && blob.means(text)
        {
            found = Some(text.to_owned());
        }
        Ok::<_, LedgerError>(())
    });
    if let Err(error) = read {
        tracing::warn!("cannot read all of {}: {error}", path.display());
    }
    found
}

/// The event of a compaction.
pub(super) fn event(written: &Written, asked: &Asked, file: &str) -> Event {
    let Written { tokens, text, by, native, instructions, .. } = written;
    let data = json!({
        "native": native.name(), "by": by, "digest": written.blob.digest, "file": file, "instructions": instructions,
        "tokens_before": tokens.0, "tokens_after": tokens.1, "check": written.verdict, "text": text,
    });
    Event { at: Some(asked.at), name: EVENT.to_owned(), data }
}

/// The name of the readable copy, below the session's folder, and what it says.
pub(super) fn readable(written: &Written, asked: &Asked) -> (String, String) {
    let when = asked.at.strftime("%Y-%m-%dT%H-%M-%S");
    let name = format!("compactions/{when}-{}.md", written.blob.digest.get(..8).unwrap_or_default());
    let (before, after) = written.tokens;
    let mut page = format!(
        "# Compaction of {}\n\nAsked for by {}, written by {}. {before} tokens became {after}.",
        asked.at,
        written.native.name(),
        written.by
    );
    if let Some(instructions) = &written.instructions {
        page += &format!("\n\nTo be minded: {instructions}");
    }
    if let Some(verdict) = &written.verdict {
        let added = verdict.missing.len();
        page += &format!(
            "\n\nThe check found {:.0} % of what must not be lost, and added {added} of it.",
            verdict.score * 100.0
        );
    }
    page += &format!("\n\n---\n\n{}\n", written.text);
    (name, page)
}

/// What stands in for a summary that can't be found any more.
const LOST: &str = "[Throughline kept a summary of the conversation before this point and can't find it any more. What is \
                    said below still holds; ask the user for what is missing.]";

/// A request with what the client's opaque items of ours stand for, in their places. `None` if it holds none.
///
/// A blob that can't be resolved is reported, and a sentence says so in its place: the provider would refuse the item. Items of
/// others are left as they are.
pub(crate) fn expand(world: &World, wire: Wire, bytes: &[u8]) -> Result<Option<Vec<u8>>, ManageError> {
    if wire != Wire::Responses || !contains(bytes, blob::MARK) {
        return Ok(None);
    }
    let body = Body::parse(wire, bytes)?;
    let mut changes = Changes::default();
    for at in 0..body.len() {
        if !body.element(at).is_some_and(|element| contains(element, blob::MARK)) {
            continue;
        }
        let item = body.value(at).unwrap_or_default();
        let sealed = item["encrypted_content"].as_str().unwrap_or_default();
        if !matches!(item["type"].as_str(), Some("compaction" | "compaction_summary" | "context_compaction"))
        {
            continue;
        }
        let text = match Blob::read(sealed) {
            Read::Foreign => continue,
            Read::Ours(blob) => world.summaries.text(&world.home, &blob),
            Read::Damaged => None,
        };
        let words = match text {
            Some(text) => handed_over(&text),
            None => {
                world.reports.add((world.now)(), Report::LostSummary(sealed.chars().take(160).collect()));
                LOST.to_owned()
            }
        };
        let message =
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]});
        changes.replace(at..at + 1, vec![Fragment::from(&message)]);
    }
    if changes.is_empty() {
        return Ok(None);
    }
    let written = body.rebuild(&changes).map_err(throughline_engine::WriteError::from)?;
    Ok(Some(written.into_owned()))
}

fn contains(bytes: &[u8], text: &str) -> bool {
    memchr::memmem::find(bytes, text.as_bytes()).is_some()
}
