//! What the scenes are played with.

mod confined;
mod normal;
mod program;
mod serve;
mod stage;
mod tap;
mod trace;

pub(crate) use confined::confined;
pub(crate) use program::{Claude, Codex, Python};
pub(crate) use serve::Stopped;
pub(crate) use stage::{FAITHFUL, Play, Ran, Stage, Way, as_directly, both_ways, through};
use throughline_core::invariants;

use throughline_core::Usage;
use throughline_testkit::{Answer, Seen};

/// An answer whose cost does not depend on what the client drew for names.
pub(crate) fn says(text: &str) -> Answer {
    costs(Answer::text(text), 1_000)
}

/// An answer to a prompt of so many tokens.
pub(crate) fn costs(answer: Answer, tokens: u64) -> Answer {
    answer.usage(Usage { input: tokens, output: 20, ..Usage::default() })
}

/// A command that ends after one that makes the file `two`: results come in the order in which commands end.
pub(crate) const AFTER_TWO: &str = "until [ -e two ]; do sleep 0.05; done; sleep 0.3; echo three";

/// Every call has its result, and every result its call.
#[track_caller]
pub(crate) fn are_whole(requests: &[Seen]) {
    for seen in requests {
        let broken = invariants::check(&seen.request().unwrap().messages);
        assert!(broken.is_empty(), "request {}: {broken:?}", seen.number);
    }
}
