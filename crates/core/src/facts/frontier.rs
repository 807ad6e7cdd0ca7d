//! Where the work stands.

use super::{Facts, Status};
use crate::text::one_line;

/// What is done, in flight, and next, newest last in each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    /// Finished tasks, and turns that ended with an answer.
    pub done: Vec<String>,
    /// What is being worked on: tasks begun, the request that is not answered yet, tests that fail.
    pub in_flight: Vec<String>,
    /// Tasks not begun.
    pub next: Vec<String>,
}

impl Frontier {
    pub(super) fn of(facts: &Facts) -> Self {
        let tasks = |status: Status| {
            facts.todos().iter().filter(move |todo| todo.status == status).map(|todo| todo.text.clone())
        };
        let mut frontier = Self {
            done: tasks(Status::Done).collect(),
            in_flight: Vec::new(),
            next: tasks(Status::Pending).collect(),
        };
        let (current, past) = match facts.turns().split_last() {
            Some((current, past)) => (Some(current), past),
            None => (None, [].as_slice()),
        };
        let answered = past.iter().rev().take(8).rev().filter(|turn| turn.answer.is_some());
        frontier.done.extend(answered.map(|turn| one_line(&turn.asked, 120)));
        // The newest request stays in flight: whether its answer satisfied the user is not known before they speak again.
        frontier.in_flight.extend(current.map(|turn| turn.asked.clone()));
        frontier.in_flight.extend(tasks(Status::Active));
        frontier.in_flight.extend(facts.tests().iter().filter(|run| !run.passed).map(|run| {
            let names = run.failing.join(", ");
            let what = if names.is_empty() { run.summary.clone().unwrap_or_default() } else { names };
            one_line(&format!("failing: {} {what}", run.command), 240)
        }));
        frontier
    }
}
