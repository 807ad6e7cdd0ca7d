//! What the model wants to remember: the user's own words decide, or the user does.

use super::calls::Permitted;
use super::{Agent, Desk};
use crate::permissions::{Approval, Ask};
use crate::tools::{self, Changing};
use crate::{Access, Shown, ToolOutput};
use throughline_memory::extract::{Applied, Did, Refusal, Refused};

impl Agent {
    /// A call of the Memory tool that changes something. It is done as far as what the user said bears it out; beyond that the user
    /// is asked, and what they approve the tool does (`None`).
    pub(super) async fn change_memory(
        &mut self,
        permitted: &Permitted,
        desk: &Desk<'_>,
    ) -> Option<ToolOutput> {
        let Changing { proposal, shown } = tools::proposed_memory(&permitted.input)?;
        let refused = match self.session.propose_memory(&proposal) {
            Ok(applied) => return Some(done(&applied)),
            Err(refused) => refused,
        };
        if !is_for_the_user(&refused.why) {
            return Some(failed(&refused));
        }
        let ask = Ask {
            call: permitted.call.id.to_string(),
            tool: permitted.call.name.clone(),
            summary: shown,
            access: Access::Memory,
            reason: format!("the agent wants to change what is remembered, but {}", refused.why),
            offers: Vec::new(),
            diff: Vec::new(),
        };
        match desk.approve(ask).await {
            Approval::Once | Approval::Session(_) | Approval::Project(_) => None,
            Approval::Refuse { why: Some(why) } => Some(ToolOutput::failed(format!("refused: {why}"))),
            Approval::Refuse { why: None } => Some(failed(&refused)),
            Approval::Stop => {
                desk.cancel.cancel();
                Some(failed(&refused))
            }
        }
    }
}

/// Whether the user may want it all the same. What is not for memory is not asked about, nor what can't be done.
fn is_for_the_user(why: &Refusal) -> bool {
    match why {
        Refusal::NotSaid
        | Refusal::Reported
        | Refusal::Question
        | Refusal::NotLasting
        | Refusal::NotAsked
        | Refusal::NotNamed => true,
        Refusal::Recalled
        | Refusal::CurrentTask
        | Refusal::InCode
        | Refusal::InHistory
        | Refusal::InInstructions
        | Refusal::FixRecipe
        | Refusal::Ambiguous { .. }
        | Refusal::TooBroad
        | Refusal::NoMemory { .. }
        | Refusal::Credential(_)
        | Refusal::Cap
        | Refusal::Malformed(_)
        | Refusal::Folder(_) => false,
    }
}

fn failed(refused: &Refused) -> ToolOutput {
    let unsaid = matches!(refused.why, Refusal::NotSaid | Refusal::Reported | Refusal::Question);
    let hint = if unsaid {
        " Only what the user said is kept: give their own words in `quote`, copied letter by letter, or leave it."
    } else {
        ""
    };
    ToolOutput::failed(format!("Memory is unchanged: {}.{hint}", refused.why))
}

fn done(applied: &Applied) -> ToolOutput {
    let Applied { id, did, redacted, .. } = applied;
    let mut text = match did {
        Did::Saved => format!("Saved as {id}, in the user's words."),
        Did::Confirmed | Did::Known => format!("{id} says so already; nothing was added."),
        Did::Changed => format!("Changed {id}."),
        Did::Superseded { old } => format!("Saved as {id}, in place of {old}."),
        Did::Forgotten => format!("{id} is forgotten; the user can bring it back."),
    };
    if !redacted.is_empty() {
        text.push_str(&format!(" Secrets are never kept; these were taken out: {}.", redacted.join(", ")));
    }
    ToolOutput::done(text.clone()).shown(Shown::Line(text))
}
