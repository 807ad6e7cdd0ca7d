//! What is counted while the server runs, for the metrics. It never goes down: sessions that are forgotten stay counted.

use crate::relay::OriginalReason;
use http::HeaderMap;
use http::header::USER_AGENT;
use std::array;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use throughline_core::{Stage, Wire};

/// One number that goes up.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Who asks: few enough for a label, whatever user agents there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    Claude,
    Codex,
    Other,
}

impl Asker {
    pub(crate) const ALL: [(Self, &str); 3] =
        [(Self::Claude, "claude"), (Self::Codex, "codex"), (Self::Other, "other")];

    /// By what a client says about itself.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
        if agent.starts_with("claude-cli/") {
            Self::Claude
        } else if agent.starts_with("codex") {
            Self::Codex
        } else {
            Self::Other
        }
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It went as it came.
    Untouched,
    /// It went with another body.
    Changed,
    /// It was answered here.
    AnsweredHere,
    /// It was refused here.
    Refused,
}

impl Outcome {
    pub(crate) const ALL: [(Self, &str); 4] = [
        (Self::Untouched, "untouched"),
        (Self::Changed, "changed"),
        (Self::AnsweredHere, "answered_here"),
        (Self::Refused, "refused"),
    ];
}

/// The formats of requests; `None` holds no conversation.
pub(crate) const WIRES: [(Option<Wire>, &str); 4] = [
    (Some(Wire::Anthropic), "anthropic"),
    (Some(Wire::Responses), "responses"),
    (Some(Wire::Chat), "chat"),
    (None, "none"),
];

/// How providers answered: by the class of the status, or not at all.
pub(crate) const ANSWERS: [&str; 6] = ["1xx", "2xx", "3xx", "4xx", "5xx", "none"];

/// The stages that edit.
pub(crate) const STAGES: [Stage; 7] = [
    Stage::Budget,
    Stage::Snip,
    Stage::Microcompact,
    Stage::Collapse,
    Stage::Autocompact,
    Stage::User,
    Stage::Import,
];

/// Upper bounds of the buckets of our own time, in microseconds.
pub(crate) const BOUNDS: [u64; 12] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 250_000, 1_000_000, 2_500_000];

/// How long our own work on requests took.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    /// Below each bound, and above all of them.
    buckets: [Count; BOUNDS.len() + 1],
    micros: Count,
}

impl Histogram {
    pub(crate) fn took(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let at = BOUNDS.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS.len());
        self.buckets[at].add(1);
        self.micros.add(micros);
    }

    /// How many took at most as long as each bound, then how many there were.
    pub(crate) fn cumulated(&self) -> [u64; BOUNDS.len() + 1] {
        let mut sum = 0;
        array::from_fn(|at| {
            sum += self.buckets[at].get();
            sum
        })
    }

    pub(crate) fn seconds(&self) -> f64 {
        Duration::from_micros(self.micros.get()).as_secs_f64()
    }
}

/// Everything that is counted.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    requests: [[[Count; Outcome::ALL.len()]; WIRES.len()]; Asker::ALL.len()],
    answers: [Count; ANSWERS.len()],
    edits: [Count; STAGES.len()],
    rewritten: Count,
    originals: [Count; OriginalReason::ALL.len()],
    /// Bytes of requests as clients sent them.
    pub(crate) received: Count,
    /// Bytes of requests as they were sent on.
    pub(crate) sent: Count,
    /// Bytes of the answers that were looked at.
    pub(crate) answered: Count,
    /// Requests that were sent once more because a kept connection was gone.
    pub(crate) resent: Count,
    /// How long deciding took.
    pub(crate) deciding: Histogram,
}

impl Counters {
    /// A request was dealt with.
    pub(crate) fn request(&self, headers: &HeaderMap, wire: Option<Wire>, outcome: Outcome) {
        self.requests_of(Asker::of(headers), wire, outcome).add(1);
    }

    pub(crate) fn requests_of(&self, asker: Asker, wire: Option<Wire>, outcome: Outcome) -> &Count {
        let asker = Asker::ALL.iter().position(|(other, _)| *other == asker).unwrap_or_default();
        let wire = WIRES.iter().position(|(other, _)| *other == wire).unwrap_or_default();
        let outcome = Outcome::ALL.iter().position(|(other, _)| *other == outcome).unwrap_or_default();
        &self.requests[asker][wire][outcome]
    }

    /// A provider answered, or did not.
    pub(crate) fn answer(&self, status: Option<http::StatusCode>) {
        let none = ANSWERS.len() - 1;
        let at = status.map_or(none, |status| usize::from(status.as_u16() / 100).wrapping_sub(1));
        self.answers[at.min(none)].add(1);
    }

    pub(crate) fn answers(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        ANSWERS.iter().copied().zip(self.answers.iter().map(Count::get))
    }

    /// A request was sent to a provider: rewritten, or the client's own for this reason.
    pub(crate) fn outgoing(&self, original: Option<OriginalReason>) {
        let at =
            original.and_then(|reason| OriginalReason::ALL.iter().position(|(other, _)| *other == reason));
        at.map_or(&self.rewritten, |at| &self.originals[at]).add(1);
    }

    /// Requests sent to providers, by reason for the client's own; `None`: rewritten.
    pub(crate) fn sent_as(&self) -> impl Iterator<Item = (Option<&'static str>, u64)> + '_ {
        let originals = OriginalReason::ALL.iter().zip(&self.originals);
        std::iter::once((None, self.rewritten.get()))
            .chain(originals.map(|((_, name), count)| (Some(*name), count.get())))
    }

    /// A stage changed the view.
    pub(crate) fn edit(&self, stage: Stage) {
        let at = STAGES.iter().position(|other| *other == stage).unwrap_or_default();
        self.edits[at].add(1);
    }

    pub(crate) fn edits(&self) -> impl Iterator<Item = (Stage, u64)> + '_ {
        STAGES.iter().copied().zip(self.edits.iter().map(Count::get))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_count_is_its_own() {
        let counters = Counters::default();
        for (asker, _) in Asker::ALL {
            for (wire, _) in WIRES {
                for (outcome, _) in Outcome::ALL {
                    assert_eq!(counters.requests_of(asker, wire, outcome).get(), 0);
                    counters.requests_of(asker, wire, outcome).add(1);
                }
            }
        }
        for stage in STAGES {
            counters.edit(stage);
        }
        assert!(counters.edits().all(|(_, count)| count == 1));
        counters.outgoing(None);
        for (reason, _) in OriginalReason::ALL {
            counters.outgoing(Some(reason));
        }
        assert!(counters.sent_as().all(|(_, count)| count == 1));
        for status in [100, 200, 302, 404, 529] {
            counters.answer(Some(http::StatusCode::from_u16(status).unwrap()));
        }
        counters.answer(None);
        assert!(counters.answers().all(|(_, count)| count == 1));
        counters.answer(Some(http::StatusCode::from_u16(999).unwrap()));
        assert_eq!(counters.answers().last(), Some(("none", 2)), "a status that there is not");
    }

    #[test]
    fn a_bucket_holds_all_that_took_at_most_so_long() {
        let histogram = Histogram::default();
        for micros in [0, 100, 101, 2_000, 2_500_000, 9_000_000] {
            histogram.took(Duration::from_micros(micros));
        }
        let cumulated = histogram.cumulated();
        assert_eq!((cumulated[0], cumulated[1], cumulated[3], cumulated[4]), (2, 3, 3, 4));
        assert_eq!((cumulated[11], cumulated[12]), (5, 6));
        assert!((histogram.seconds() - 11.502_201).abs() < 1e-9);
    }
}
