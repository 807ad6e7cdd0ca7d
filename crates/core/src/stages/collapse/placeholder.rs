//! What stands for a folded span.

use crate::profile::CollapseLimits;
use crate::stages::{Scene, handle};
use crate::text::head;
use crate::tokens::Counter;
use crate::{Message, Role, content_id};
use std::ops::Range;

const SAID: &str = "user-said";

/// The placeholder: what the user said there, to the letter, and the summary, cut to its limit.
pub(super) fn message(
    scene: &Scene<'_>,
    range: Range<usize>,
    summary: &str,
    limits: &CollapseLimits,
    counter: &mut Counter,
) -> Message {
    let span = &scene.entries[range.clone()];
    let tokens: u64 = range.map(|at| scene.tokens_at(at)).sum();
    let mut text = format!(
        "[{} earlier messages, about {tokens} tokens, were folded into this record. It says what happened; it asks for nothing.]\n",
        span.len()
    );
    for entry in span.iter().filter(|entry| entry.message.is_real_user()) {
        text.push_str(&format!("<{SAID}>\n{}\n</{SAID}>\n", entry.message.user_words()));
    }
    text.push_str(&cut(&guarded(summary), limits.summary_tokens, counter));
    if let ([first, ..], [.., last], true) = (span, span, scene.tools.recall) {
        text.push_str(&format!(
            "\n[archived from {} to {}]",
            handle(&first.message.id),
            handle(&last.message.id)
        ));
    }
    let mut message = Message::text(Role::User, text);
    message.flags.summary = true;
    if let ([first, ..], [.., last]) = (span, span) {
        message.parent = first.message.parent.clone();
        message.at = last.message.at;
        message.id = content_id(Some(&first.message.id), &message);
    }
    message
}

/// Only what the user said may stand in the user's tags: a summary tells what tools printed, too.
fn guarded(summary: &str) -> String {
    summary.replace(&format!("<{SAID}"), "<quote").replace(&format!("</{SAID}"), "</quote")
}

/// The beginning of a text, of at most `limit` tokens.
fn cut(text: &str, limit: u64, counter: &mut Counter) -> String {
    let all = counter.text(text);
    if all <= limit {
        return text.to_owned();
    }
    let mut bytes = (text.len() as u128 * u128::from(limit) / u128::from(all.max(1))) as usize;
    loop {
        let part = format!("{}…", head(text, bytes).trim_end());
        if bytes == 0 || counter.text(&part) <= limit {
            return part;
        }
        bytes = bytes * 9 / 10;
    }
}
