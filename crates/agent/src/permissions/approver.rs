//! Who is asked.

use super::{Offer, Rule};
use crate::{Access, FileDiff};
use throughline_model::BoxFuture;

/// What somebody is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// The call's id.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// One line that says what the call does.
    pub summary: String,
    /// What it would do.
    pub access: Access,
    /// Why it is asked.
    pub reason: String,
    /// What could be remembered, from narrow to broad.
    pub offers: Vec<Offer>,
    /// Files before and after, where that is known.
    pub diff: Vec<FileDiff>,
}

/// What they answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Yes, this time.
    Once,
    /// Yes, and all that the rule permits, for as long as the session lasts.
    Session(Rule),
    /// Yes, and all that the rule permits, in this project from now on.
    Project(Rule),
    /// No. The model goes on.
    Refuse {
        /// Why, or what to do instead, for the model.
        why: Option<String>,
    },
    /// No, and the turn ends.
    Stop,
}

/// Answers questions.
pub trait Approver: Send + Sync {
    /// Asks, and waits for the answer for as long as it takes.
    fn approve<'a>(&'a self, ask: Ask) -> BoxFuture<'a, Approval>;
}

/// Nobody is there: everything that would be asked is refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct Headless;

impl Headless {
    /// What the model is told: why it is refused, and what the user would have to set.
    pub fn refusal(ask: &Ask) -> String {
        let rule = ask.offers.last().map(|offer| {
            format!(
                " A rule in `permissions.allow` of the user's configuration would permit it: {:?}.",
                offer.rule.as_str()
            )
        });
        let mode = match ask.access {
            Access::Write { .. } => " So would `--permission-mode accept-edits`, inside the workspace.",
            Access::Command { unsandboxed: false, .. } => {
                " So would `--permission-mode accept-edits`, where there is a sandbox."
            }
            Access::Command { unsandboxed: true, .. }
            | Access::Inner
            | Access::Read { .. }
            | Access::Network { .. }
            | Access::Mcp { .. }
            | Access::Memory
            | Access::Agent => "",
        };
        // Neither helps against a rule or a path that is always asked.
        let (rule, mode) = match rule {
            Some(rule) => (rule, mode),
            None => (" No rule permits it; only `--permission-mode full` may.".to_owned(), ""),
        };
        format!(
            "it needs the user's permission, and nobody is there to ask: {}.{rule}{mode} Go on without it, or end by saying what you \
             could not do",
            ask.reason
        )
    }
}

impl Approver for Headless {
    fn approve<'a>(&'a self, ask: Ask) -> BoxFuture<'a, Approval> {
        Box::pin(async move { Approval::Refuse { why: Some(Self::refusal(&ask)) } })
    }
}
