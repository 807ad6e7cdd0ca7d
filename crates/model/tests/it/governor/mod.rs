//! The governor: limits that hold across processes, and receipts that survive.

mod disk;
mod limits;
mod sequences;

use jiff::{SignedDuration, Timestamp};
use std::path::Path;
use throughline_model::{Caps, Governor, GovernorLimits, Job, Receipt, Standing, Usage};

pub(crate) const CAPS: Caps =
    Caps { turns: 5, input_tokens: 1_000, output_tokens: 100, dollars: 0.5, seconds: 60 };

pub(crate) fn noon() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

pub(crate) fn after(time: Timestamp, seconds: i64) -> Timestamp {
    time + SignedDuration::from_secs(seconds)
}

/// No limit of its own on anything but the jobs.
pub(crate) fn limits() -> GovernorLimits {
    GovernorLimits {
        daily_dollars: None,
        jobs: [("notes".to_owned(), CAPS)].into(),
        ..GovernorLimits::default()
    }
}

pub(crate) fn open(folder: &Path, limits: GovernorLimits) -> Governor {
    Governor::open(folder, limits).unwrap()
}

pub(crate) fn job() -> Job<'static> {
    let estimate = Usage { cache_read: 400, input: 100, output: 50, ..Usage::default() };
    Job { name: "notes", session: Some("s1"), estimate, dollars: 0.1, standing: Standing::default() }
}

pub(crate) fn receipt(tokens: u64, dollars: f64) -> Receipt {
    let usage = Usage { input: tokens, ..Usage::default() };
    Receipt { usage, dollars, started: noon(), outcome: "done".to_owned(), ..Receipt::begin("notes", "m") }
}
