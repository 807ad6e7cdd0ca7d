//! The user's own words, within a budget: binding sentences first, whole messages where they fit.

use super::page::Page;
use crate::facts::{Directive, DirectiveKind, Facts, Said};
use crate::{MessageId, text};
use std::collections::{HashMap, HashSet};

/// How much of a message is told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    /// Its binding sentences.
    Sentences,
    /// All of it.
    Whole,
}

/// Writes what the user said, oldest first, each with the id of its message. What `shown` already says is left out.
pub(super) fn write(page: &mut Page<'_>, facts: &Facts, shown: &str, most: u64) {
    let words = facts.words();
    let mut by_message: HashMap<&MessageId, Vec<&Directive>> = HashMap::new();
    for directive in facts.directives() {
        by_message.entry(&directive.message).or_default().push(directive);
    }
    let none = Vec::new();
    let of = |said: &Said| by_message.get(&said.id).unwrap_or(&none);
    let mut left = most.min(page.left());
    let mut told = vec![Told::Nothing; words.len()];
    let visible: Vec<bool> = words.iter().map(|said| shown.contains(said.text.trim())).collect();

    // Prohibitions and corrections of all times, then every binding sentence, newest first.
    for urgent in [true, false] {
        for at in (0..words.len()).rev().filter(|&at| !visible[at]) {
            let sentences = of(&words[at]);
            let is_urgent = sentences.iter().any(|d| match d.kind {
                DirectiveKind::Prohibition | DirectiveKind::Correction => true,
                DirectiveKind::Instruction | DirectiveKind::Decision => false,
            });
            if told[at] != Told::Nothing || sentences.is_empty() || is_urgent != urgent {
                continue;
            }
            let cost = page.counter().text(&excerpt(&words[at], sentences)) + 1;
            if cost <= left {
                left -= cost;
                told[at] = Told::Sentences;
            }
        }
    }
    // Then whole messages: the first, which holds the task, and the newest ones.
    let order = (0..words.len().min(1)).chain((1..words.len()).rev());
    for at in order.filter(|&at| !visible[at]) {
        let before = match told[at] {
            Told::Nothing => 0,
            Told::Sentences | Told::Whole => page.counter().text(&excerpt(&words[at], of(&words[at]))) + 1,
        };
        let cost = page.counter().text(&whole(&words[at])) + 1;
        if cost <= left + before {
            left = left + before - cost;
            told[at] = Told::Whole;
        }
    }
    let mut once: HashSet<&str> = HashSet::new();
    for (said, told) in words.iter().zip(&told) {
        match told {
            Told::Nothing => {}
            // "continue" ten times is said once.
            Told::Whole if !once.insert(said.text.trim()) => {}
            Told::Whole => {
                page.line(&whole(said));
            }
            Told::Sentences => {
                page.line(&excerpt(said, of(said)));
            }
        }
    }
}

fn tag(id: &MessageId) -> &str {
    text::head(id.as_str(), 8)
}

fn whole(said: &Said) -> String {
    format!("[{}] {}", tag(&said.id), said.text.trim())
}

fn excerpt(said: &Said, sentences: &[&Directive]) -> String {
    let mut line = format!("[{}, in part]", tag(&said.id));
    for directive in sentences {
        line.push('\n');
        line.push_str(&directive.sentence);
    }
    line
}
