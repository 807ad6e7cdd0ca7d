//! Questions of the agent, and who answers them.

use crate::terminal::ask::{Answer, Question};
use throughline_agent::permissions::{Approval, Approver, Ask};
use throughline_agent::{Access, FileDiff};
use throughline_model::BoxFuture;
use tokio::sync::{mpsc, oneshot};

/// A question that waits for its answer.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The tool.
    pub(crate) tool: String,
    /// One line for people.
    pub(crate) summary: String,
    /// What the call would do.
    pub(crate) access: Access,
    /// Why it is asked.
    pub(crate) reason: String,
    /// What could be permitted for good.
    pub(crate) offers: Vec<String>,
    /// What would change.
    pub(crate) diffs: Vec<FileDiff>,
    /// Where the answer goes.
    pub(crate) reply: oneshot::Sender<Answer>,
}

impl Asked {
    /// As it is drawn.
    pub(crate) fn question(&self) -> Question<'_> {
        Question {
            tool: &self.tool,
            summary: &self.summary,
            exact: exact(&self.access),
            reason: &self.reason,
            offers: self.offers.clone(),
            diffs: &self.diffs,
        }
    }
}

/// What a call would reach, to the letter.
fn exact(access: &Access) -> Vec<String> {
    let paths = |verb: &str, paths: &[std::path::PathBuf]| {
        paths.iter().map(|path| format!("{verb} {}", path.display())).collect()
    };
    match access {
        Access::Inner | Access::Memory | Access::Agent => Vec::new(),
        Access::Read { paths: all } => paths("read", all),
        Access::Write { paths: all } => paths("write", all),
        Access::Command { command, cwd, unsandboxed } => {
            let mut lines = vec![command.clone()];
            let sandbox = if *unsandboxed { ", without the sandbox" } else { "" };
            lines.push(format!("in {}{sandbox}", cwd.display()));
            lines
        }
        Access::Network { url } => vec![url.clone()],
        Access::Mcp { server, tool, .. } => vec![format!("{tool} of the MCP server {server}")],
    }
}

/// Where questions go: whoever has the terminal.
#[derive(Clone, Debug)]
pub(crate) struct Questions(pub(crate) mpsc::UnboundedSender<Asked>);

impl Questions {
    /// Asks, and waits. Nobody there is a no.
    pub(crate) async fn ask(&self, make: impl FnOnce(oneshot::Sender<Answer>) -> Asked) -> Answer {
        let (reply, answer) = oneshot::channel();
        if self.0.send(make(reply)).is_err() {
            return Answer::No(None);
        }
        answer.await.unwrap_or(Answer::No(None))
    }
}

impl Approver for Questions {
    fn approve<'a>(&'a self, ask: Ask) -> BoxFuture<'a, Approval> {
        Box::pin(async move {
            let Ask { call: _, tool, summary, access, reason, offers, diff } = ask;
            let labels = offers.iter().map(|offer| offer.label.clone()).collect();
            let answer = self
                .ask(|reply| Asked { tool, summary, access, reason, offers: labels, diffs: diff, reply })
                .await;
            let rule = |at: usize| offers.get(at).map(|offer| offer.rule.clone());
            let nothing = || Approval::Refuse { why: None };
            match answer {
                Answer::Once => Approval::Once,
                Answer::Session(at) => rule(at).map_or_else(nothing, Approval::Session),
                Answer::Project(at) => rule(at).map_or_else(nothing, Approval::Project),
                Answer::No(why) => Approval::Refuse { why },
                Answer::Stop => Approval::Stop,
            }
        })
    }
}
