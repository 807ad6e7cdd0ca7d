//! What went wrong on our side, for people.

use jiff::Timestamp;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

/// How many are remembered.
const MOST: usize = 100;

/// Why a request went as it came, or was refused, although something should have been done about it; or what was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    Failed(String),
    Panicked,
    TooSlow(Duration),
    /// The provider rejected a rewritten request.
    RejectedRewrite(u16),
    /// The provider found a request too long, and it could not be made smaller.
    Uncured(String),
    /// A compaction that should have been answered here was asked of the provider.
    NotTakenOver(String),
    /// A client refers to a summary of ours that can't be found.
    LostSummary(String),
    /// Nothing was told or kept, or not all of it; all else was done.
    Memory(String),
    /// Something could not be written down; the request was not touched by it.
    Unrecorded(String),
}

impl Report {
    /// Each kind, in one word.
    pub(crate) const KINDS: [&str; 9] = [
        "failed",
        "panicked",
        "too_slow",
        "refused",
        "uncured",
        "not_taken_over",
        "lost_summary",
        "memory",
        "unrecorded",
    ];

    /// Which of the [kinds](Self::KINDS) it is.
    fn kind(&self) -> usize {
        match self {
            Self::Failed(_) => 0,
            Self::Panicked => 1,
            Self::TooSlow(_) => 2,
            Self::RejectedRewrite(_) => 3,
            Self::Uncured(_) => 4,
            Self::NotTakenOver(_) => 5,
            Self::LostSummary(_) => 6,
            Self::Memory(_) => 7,
            Self::Unrecorded(_) => 8,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) => write!(f, "forwarded untouched: {why}"),
            Self::Memory(why) => write!(f, "memory: {why}"),
            Self::Panicked => f.write_str("forwarded untouched: our code panicked; please report it"),
            Self::RejectedRewrite(status) => {
                write!(f, "the provider rejected a rewritten request ({status})")
            }
            Self::Uncured(why) => {
                write!(f, "a request that the provider finds too long was not cured: {why}")
            }
            Self::NotTakenOver(why) => write!(f, "a compaction was left to the provider: {why}"),
            Self::LostSummary(blob) => {
                write!(f, "the summary that stands for the start of a conversation can't be found: {blob}")
            }
            Self::Unrecorded(why) => write!(f, "not recorded: {why}"),
            Self::TooSlow(limit) => {
                write!(f, "forwarded untouched: deciding took longer than {} ms", limit.as_millis())
            }
        }
    }
}

/// The newest reports, and how many there were.
#[derive(Debug, Default)]
pub(crate) struct Reports(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    count: u64,
    kinds: [u64; Report::KINDS.len()],
    newest: VecDeque<(Timestamp, Report)>,
}

impl Reports {
    pub(crate) fn add(&self, at: Timestamp, report: Report) {
        tracing::warn!("{report}");
        let mut kept = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        kept.count += 1;
        kept.kinds[report.kind()] += 1;
        if kept.newest.len() == MOST {
            kept.newest.pop_front();
        }
        kept.newest.push_back((at, report));
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).count
    }

    /// How many there were of each kind.
    pub(crate) fn by_kind(&self) -> [(&'static str, u64); Report::KINDS.len()] {
        let kinds = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).kinds;
        std::array::from_fn(|at| (Report::KINDS[at], kinds[at]))
    }

    /// The newest, the oldest of them first.
    pub(crate) fn newest(&self) -> Vec<(Timestamp, Report)> {
        let kept = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        kept.newest.iter().cloned().collect()
    }
}
