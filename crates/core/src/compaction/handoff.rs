//! The user's messages that a handoff keeps (P5c).

use crate::tokens::Counter;
use crate::{Block, Entry, Message, text};

/// The newest real user messages up to `most` tokens, oldest first; the oldest kept one is cut to fit.
pub(super) fn user_messages<'a>(
    entries: impl DoubleEndedIterator<Item = &'a Entry>,
    most: u64,
    counter: &mut Counter,
) -> Vec<Entry> {
    let mut kept = Vec::new();
    let mut left = most;
    // What is pinned stays anyway.
    let said = |entry: &&Entry| entry.message.is_real_user() && entry.pinned.is_none();
    for entry in entries.rev().filter(said) {
        let entry = match entry.message.results().next() {
            // The calls that its results belong to go.
            Some(_) => words_of(&entry.message).into(),
            None => entry.clone(),
        };
        let cost = counter.message(&entry.shown()).total();
        if cost <= left {
            left -= cost;
            kept.push(entry);
            continue;
        }
        if let Some(cut) = cut_to_fit(&entry.message, left, counter) {
            kept.push(cut.into());
        }
        break;
    }
    kept.reverse();
    kept
}

/// A message with the words of the user only.
fn words_of(message: &Message) -> Message {
    let mut words = Message::text(message.role, message.user_words());
    words.at = message.at;
    words
}

/// The beginning of a message in `most` tokens; nothing, if that is next to nothing.
fn cut_to_fit(message: &Message, most: u64, counter: &mut Counter) -> Option<Message> {
    const LEAST: u64 = 16;
    let words = message.user_words();
    if most < LEAST {
        return None;
    }
    let cut = |bytes: usize| {
        let mut short = Message::text(message.role, format!("{}\n[… cut to fit]", text::head(&words, bytes)));
        short.at = message.at;
        short.blocks.retain(|block: &Block| !block.is_empty());
        short
    };
    // Halve until it fits: the estimate of bytes for a token may be off.
    let mut bytes = (most * 4) as usize;
    while bytes >= 16 {
        let short = cut(bytes);
        if counter.message(&short).total() <= most {
            return Some(short);
        }
        bytes = bytes * 3 / 4;
    }
    None
}
