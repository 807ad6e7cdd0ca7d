//! Whether replayed requests keep the guarantee (G), held against everything that was recorded.

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use throughline_core::facts::Facts;
use throughline_core::guarantee::{Required, Retold, Violation};
use throughline_core::pipeline::{Notice, Pass, Rung};
use throughline_core::{Block, Body, Entry, Message, Role, Wire, invariants};

/// How the requests of a run kept the guarantee.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GuaranteeReport {
    /// Requests by what was done for them.
    pub rungs: BTreeMap<Rung, usize>,
    /// Requests that went as the client wrote them because nothing smaller keeps the guarantee, with the reason.
    pub originals: Vec<(usize, String)>,
    /// What requests lacked without a reason, with the request.
    pub violations: Vec<(usize, Violation)>,
    /// What requests lacked because the window is too small for it, with the request.
    pub degraded: Vec<(usize, Violation)>,
    /// What requests lacked of [`Plan::expected`](super::Plan::expected), with the request.
    pub unexpected: Vec<(usize, String)>,
}

impl GuaranteeReport {
    /// Adds another run's requests.
    pub fn merge(&mut self, other: Self) {
        for (rung, count) in other.rungs {
            *self.rungs.entry(rung).or_default() += count;
        }
        self.originals.extend(other.originals);
        self.violations.extend(other.violations);
        self.degraded.extend(other.degraded);
        self.unexpected.extend(other.unexpected);
    }

    /// Requests in all.
    pub fn requests(&self) -> usize {
        self.rungs.values().sum()
    }

    /// The share of requests for which this was done, in hundredths.
    pub fn percent(&self, rung: Rung) -> f64 {
        self.share(self.rungs.get(&rung).copied().unwrap_or(0))
    }

    /// The share of requests that went as the client wrote them, in hundredths.
    pub fn originals_percent(&self) -> f64 {
        self.share(self.originals.len())
    }

    fn share(&self, count: usize) -> f64 {
        count as f64 * 100.0 / self.requests().max(1) as f64
    }
}

/// Watches one run.
#[derive(Debug, Default)]
pub(super) struct Watch {
    history: Vec<Entry>,
    /// What the newest compaction could not keep.
    lacking: Vec<Violation>,
    /// What somebody else says must be there, and whether it was said by now.
    expected: Vec<(String, bool)>,
    pub(super) report: GuaranteeReport,
}

/// One request, as it is sent.
pub(super) struct Outgoing<'a> {
    pub(super) number: usize,
    pub(super) pass: &'a Pass,
    pub(super) facts: &'a Facts,
    pub(super) shown: &'a [Arc<Message>],
    pub(super) check_wires: bool,
}

impl Watch {
    pub(super) fn new(expected: &[String]) -> Self {
        let expected = expected.iter().map(|text| (plain(text), false)).collect();
        Self { expected, ..Self::default() }
    }

    pub(super) fn push(&mut self, message: &Arc<Message>) {
        if message.role != Role::Assistant && self.expected.iter().any(|(_, is_said)| !is_said) {
            let said = words(message);
            let (lines, said): (Vec<String>, String) = (said.lines().map(plain).collect(), plain(&said));
            for (text, is_said) in &mut self.expected {
                // A word or two stand in many texts: they were asked for where they stand alone.
                let is_alone = lines.contains(text);
                *is_said |= if text.len() < SHORT { is_alone } else { said.contains(text.as_str()) };
            }
        }
        self.history.push(Entry::of(message.clone(), Default::default()));
    }

    pub(super) fn count(&mut self, number: usize, pass: &Pass) {
        *self.report.rungs.entry(pass.rung()).or_default() += 1;
        let is_refused = pass.notices.iter().any(|notice| matches!(notice, Notice::StillOver { .. }));
        if is_refused && !pass.changed() {
            let why = pass.notices.iter().map(Notice::to_string).collect::<Vec<_>>().join("; ");
            self.report.originals.push((number, why));
        }
    }

    /// Holds a request that was changed against what was recorded: in between only whole messages are added.
    pub(super) fn check(&mut self, sent: &Outgoing<'_>) {
        let Outgoing { number, pass, facts, shown, check_wires } = sent;
        if !pass.changed() {
            return;
        }
        if pass.changes.iter().any(|change| change.compacted.is_some()) {
            self.lacking.clone_from(&pass.lacks);
        }
        let required = Required::read(facts, &self.history, Retold::Nothing);
        let whole: Vec<Message> = shown.iter().map(|message| (**message).clone()).collect();
        // As it is sent: what the recording broke off is repaired.
        let whole = match invariants::check(&whole).is_empty() {
            true => whole,
            false => invariants::repair(whole).0,
        };
        let messages: Vec<&Message> = whole.iter().collect();
        if self.expected.iter().any(|(_, is_said)| *is_said) {
            let told = plain(&messages.iter().map(|message| words(message)).collect::<Vec<_>>().join("\n"));
            let is_missing = |(text, is_said): &&(String, bool)| *is_said && !told.contains(text.as_str());
            let missing = self.expected.iter().filter(is_missing).map(|(text, _)| (*number, text.clone()));
            self.report.unexpected.extend(missing);
        }
        let mut found = required.check(&messages);
        if *check_wires {
            for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat] {
                let read = written_and_read(wire, &messages);
                found.extend(required.check(&read.iter().collect::<Vec<&Message>>()));
            }
            found.sort_by_key(|violation| violation.need);
            found.dedup_by(|a, b| a.need == b.need && a.missing == b.missing);
        }
        for violation in found {
            let is_known = self
                .lacking
                .iter()
                .any(|known| known.need == violation.need && known.missing == violation.missing);
            match is_known {
                true => self.report.degraded.push((*number, violation)),
                false => self.report.violations.push((*number, violation)),
            }
        }
    }
}

/// Bytes of a text that may stand in another one by chance.
const SHORT: usize = 40;

/// The words of a message that the model did not write, without results.
fn words(message: &Message) -> String {
    let text = |block: &Block| match &block.body {
        Body::Text(text) if message.role != Role::Assistant => Some(text.clone()),
        Body::Text(_)
        | Body::Reasoning { .. }
        | Body::ToolCall(_)
        | Body::ToolResult(_)
        | Body::Image(_)
        | Body::Document(_)
        | Body::Unknown(_) => None,
    };
    message.blocks.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

/// A text with single spaces.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Messages as a provider reads them: the instructions in front, and the rest of the conversation.
fn written_and_read(wire: Wire, messages: &[&Message]) -> Vec<Message> {
    let owned: Vec<Message> = messages.iter().map(|message| (*message).clone()).collect();
    let (_, rest) = throughline_wire::split_instructions(&owned);
    let front = owned.len() - rest.len();
    let written = throughline_wire::encode_messages(wire, rest);
    let mut read: Vec<Message> =
        written.into_iter().map(|value| throughline_wire::decode_message(wire, value)).collect();
    throughline_wire::chain(None, &mut read);
    owned[..front].iter().cloned().chain(read).collect()
}
