//! What goes wrong on our side, for people: warnings of the server, as they happen or at the end.

use crate::output::yellow;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tracing::field::{Field, Visit};
use tracing::span;
use tracing::{Event, Level, Metadata, Subscriber};

/// Lines that are told at once; those that follow wait.
const BURST: usize = 5;
/// How long until they may be told again.
const PAUSE: Duration = Duration::from_secs(10);
/// How many are kept for the end.
const KEPT: usize = 5;

/// How they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// On standard error, as they happen.
    Now,
    /// When it is over: the terminal is somebody else's until then.
    Later,
}

/// What went wrong since the program began.
#[derive(Clone)]
pub(crate) struct Notices(Arc<Mutex<State>>);

struct State {
    told: Told,
    pace: Pace,
    count: u64,
    newest: VecDeque<String>,
}

impl Notices {
    /// From now on, for the whole process.
    pub(crate) fn listen(told: Told) -> Self {
        let state = State { told, pace: Pace::new(), count: 0, newest: VecDeque::new() };
        let notices = Self(Arc::new(Mutex::new(state)));
        // Somebody else listens then (OpenTelemetry), and there is the page.
        let _ = tracing::subscriber::set_global_default(Listener(notices.clone()));
        notices
    }

    /// How many there were, and the newest of them.
    pub(crate) fn all(&self) -> (u64, Vec<String>) {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (state.count, state.newest.iter().cloned().collect())
    }

    fn add(&self, text: String) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.count += 1;
        if state.told == Told::Now
            && let Some(missed) = state.pace.may_speak(Instant::now())
        {
            let more = if missed > 0 { format!(" (and {missed} more before it)") } else { String::new() };
            crate::errln!("{} {text}{more}", yellow("note:"));
        }
        if state.newest.len() == KEPT {
            state.newest.pop_front();
        }
        state.newest.push_back(text);
    }
}

/// How often something may be said.
struct Pace {
    since: Option<Instant>,
    said: usize,
    missed: u64,
}

impl Pace {
    fn new() -> Self {
        Self { since: None, said: 0, missed: 0 }
    }

    /// Whether something may be said now, and how much was not said before.
    fn may_speak(&mut self, now: Instant) -> Option<u64> {
        if self.since.is_none_or(|since| now.duration_since(since) >= PAUSE) {
            self.since = Some(now);
            self.said = 0;
        }
        if self.said < BURST {
            self.said += 1;
            return Some(std::mem::take(&mut self.missed));
        }
        self.missed += 1;
        None
    }
}

struct Listener(Notices);

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
            && metadata.is_event()
            && metadata.target().starts_with("throughline")
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.add(text.0);
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            let _ = write!(self.0, "{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_again_and_again_is_told_now_and_then() {
        let mut pace = Pace::new();
        let start = Instant::now();
        let spoken = (0..20).filter(|_| pace.may_speak(start).is_some()).count();
        assert_eq!(spoken, BURST);
        assert_eq!(pace.may_speak(start + PAUSE), Some(15), "what was not told is counted");
        assert_eq!(pace.may_speak(start + PAUSE), Some(0));
    }
}
