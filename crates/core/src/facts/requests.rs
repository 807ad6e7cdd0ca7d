//! What was asked for in a session, and what of it is still in force.

use super::trim_middle;
use crate::classify::{Ask, Directive, Override};
use crate::{Message, MessageId};
use std::collections::HashSet;

/// Requests remembered; the first ones and the newest stay.
const MOST: usize = 4_000;
/// Bytes of a request's text that are kept whole.
const LONGEST: usize = 64_000;
/// A shorter text says "yes" or "go on": it names no task.
const TASK: usize = 12;

/// An ask, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What was asked.
    pub ask: Ask,
    /// Position in the session.
    pub seen: u64,
    /// The message that put something else in its place.
    pub superseded_by: Option<MessageId>,
    /// The person went back behind it.
    pub is_withdrawn: bool,
}

impl Request {
    /// Returns true while nothing later took its place.
    pub fn is_in_force(&self) -> bool {
        self.superseded_by.is_none() && !self.is_withdrawn
    }

    /// Returns true if it names work, rather than confirming it.
    pub fn names_task(&self) -> bool {
        self.ask.text.len() >= TASK
    }
}

/// The requests of a session, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Requests(Vec<Request>);

impl Requests {
    /// Takes in a message. Returns the ask that it holds, if it holds one.
    pub(super) fn push(&mut self, message: &Message, seen: u64) -> Option<&Ask> {
        let mut ask = Ask::read(message)?;
        if ask.text.len() > LONGEST {
            ask.text = crate::text::middle_cut(&ask.text, LONGEST);
        }
        match &ask.overrides {
            Some(Override::Everything) => self.supersede(usize::MAX, &ask.message, |_| true),
            Some(Override::LastRequest) => self.supersede(1, &ask.message, |_| true),
            Some(Override::Topic(topic)) => {
                self.supersede(usize::MAX, &ask.message, |request| speaks_of(&request.ask.text, topic));
            }
            None => {}
        }
        self.0.push(Request { ask, seen, superseded_by: None, is_withdrawn: false });
        trim_middle(&mut self.0, MOST);
        self.0.last().map(|request| &request.ask)
    }

    fn supersede(&mut self, most: usize, by: &MessageId, is_meant: impl Fn(&Request) -> bool) {
        let tasks = self.0.iter_mut().rev().filter(|request| request.is_in_force() && request.names_task());
        for request in tasks.filter(|request| is_meant(request)).take(most) {
            request.superseded_by = Some(by.clone());
        }
    }

    /// All of them, oldest first.
    pub fn all(&self) -> &[Request] {
        &self.0
    }

    /// Those in force, oldest first.
    pub fn in_force(&self) -> impl DoubleEndedIterator<Item = &Request> {
        self.0.iter().filter(|request| request.is_in_force())
    }

    /// Those that something later took the place of, oldest first.
    pub fn superseded(&self) -> impl DoubleEndedIterator<Item = &Request> {
        self.0.iter().filter(|request| request.superseded_by.is_some() && !request.is_withdrawn)
    }

    /// The newest that was not withdrawn.
    pub fn newest(&self) -> Option<&Request> {
        self.0.iter().rev().find(|request| !request.is_withdrawn)
    }

    /// The person went back: what they asked in `gone` is withdrawn, what they asked in `present` is not.
    pub fn withdraw(&mut self, gone: &HashSet<MessageId>, present: &HashSet<MessageId>) {
        for request in &mut self.0 {
            let message = &request.ask.message;
            request.is_withdrawn =
                (request.is_withdrawn || gone.contains(message)) && !present.contains(message);
        }
    }

    /// The first in force that names a task: what the session is about.
    pub fn first_task(&self) -> Option<&Request> {
        self.in_force().find(|request| request.names_task()).or_else(|| self.in_force().next())
    }

    /// Binding sentences of those in force, oldest first.
    pub fn directives(&self) -> impl DoubleEndedIterator<Item = &Directive> {
        self.in_force().flat_map(|request| &request.ask.directives)
    }
}

/// Returns true if the words of a topic stand together in a text.
fn speaks_of(text: &str, topic: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let (text, topic) = (words(text), words(topic));
    !topic.is_empty() && text.windows(topic.len()).any(|window| window == topic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;

    fn requests(said: &[&str]) -> Requests {
        let mut requests = Requests::default();
        for (at, text) in said.iter().enumerate() {
            requests.push(&Message::text(Role::User, *text), at as u64);
        }
        requests
    }

    #[test]
    fn an_override_supersedes_what_was_asked_before() {
        let said = requests(&[
            "Rewrite the parser in Go, never use generics.",
            "Add a changelog too.",
            "Ignore everything I said. New plan: document the API. That's the only direction now.",
            "and keep it short",
        ]);
        let in_force: Vec<&str> = said.in_force().map(|request| request.ask.text.as_str()).collect();
        assert_eq!(in_force.len(), 2);
        assert!(in_force[0].starts_with("Ignore everything"));
        assert!(said.directives().all(|directive| !directive.sentence.contains("generics")));
    }

    #[test]
    fn giving_up_a_topic_supersedes_the_requests_about_it() {
        let said = requests(&[
            "Please port the ledger to Rust.",
            "Write the changelog.",
            "Also add --verify to the port.",
            "Forget the port. We do something else: a paper on leases.",
        ]);
        let in_force: Vec<&str> = said.in_force().map(|request| request.ask.text.as_str()).collect();
        assert_eq!(in_force.len(), 2, "{in_force:?}");
        assert_eq!(in_force[0], "Write the changelog.");
        assert_eq!(said.superseded().count(), 2);
    }

    #[test]
    fn never_mind_supersedes_the_last_task_only() {
        let said =
            requests(&["Fix the login page.", "Rename all the tables.", "never mind, only rename users"]);
        let in_force: Vec<&str> = said.in_force().map(|request| request.ask.text.as_str()).collect();
        assert_eq!(in_force, ["Fix the login page.", "never mind, only rename users"]);
    }
}
