//! The agent: a session, tools, and a loop.
//!
//! [`Agent::begin`] makes one from a [`Setup`]; [`Agent::turn`] takes what the user says to its end. Whoever shows the agent gives a
//! [`Desk`]: who hears what happens, who is asked for permission, where the user's further words wait, and how to stop.

mod calls;
mod context;
mod end;
mod handbook;
mod handles;
mod inbox;
mod kit;
mod memory;
mod mode;
mod people;
mod scoped;
mod setup;
mod task;
mod turn;

pub use end::{AgentError, EndReason, TurnEnd};
pub use inbox::{Inbox, Said};
pub use kit::TurnLimits;
pub use mode::CurrentMode;
pub use people::{Rewound, WindowReport};
pub use setup::{Brief, Setup, Which};
pub use task::Task;

use crate::Listener;
use crate::assembly::{Assembled, HeadMessage, SharedSkills, Told};
use crate::mcp::McpServers;
use crate::permissions::{Approval, Approver, Ask, Policy};
use crate::tools::bash::Tasks;
use crate::workspace::Workspace;
use kit::Kit;
use std::sync::Arc;
use throughline_core::{Message, MessageId, Wire};
use throughline_engine::session::Session;
use throughline_model::CancelToken;

/// Who is around while a turn runs.
#[derive(Clone)]
pub struct Desk<'a> {
    /// Hears what happens.
    pub listener: &'a dyn Listener,
    /// Is asked for permission.
    pub approver: &'a dyn Approver,
    /// Where the user's further words wait.
    pub inbox: &'a Inbox,
    /// Stops the turn.
    pub cancel: CancelToken,
}

impl Desk<'_> {
    /// Asks for permission; who stops the turn meanwhile has answered.
    async fn approve(&self, ask: Ask) -> Approval {
        tokio::select! {
            approval = self.approver.approve(ask) => approval,
            () = self.cancel.cancelled() => Approval::Stop,
        }
    }
}

/// An agent at work in a folder.
pub struct Agent {
    session: Session,
    kit: Arc<Kit>,
    /// What the session is told, and where it comes from. A sub-agent is told nothing but its task.
    briefing: Option<Briefing>,
    /// What hooks want the model to know behind the results of the answer.
    after: Vec<Message>,
    /// Instructions for files that the calls touched: said behind the results too.
    scoped: Vec<Message>,
}

/// What a session is told (A), and where it comes from.
struct Briefing {
    sources: crate::assembly::Sources,
    assembled: Assembled,
    /// What stands at the head of the conversation: what differs from it comes back behind every compaction.
    first: Told,
    /// The messages at the head of the conversation.
    head: Vec<(HeadMessage, MessageId)>,
    /// What the model knows by now.
    told: Told,
    /// Whether what developers say stands at the head of the conversation; where the first wire had no such role, the system prompt
    /// says it, on every wire from then on.
    has_developer: bool,
    skills: SharedSkills,
    /// The handbooks that it may read.
    shelf: Option<handbook::Shelf>,
}

impl Briefing {
    /// The system prompt.
    fn system(&self, wire: Wire) -> String {
        self.assembled.system(if self.has_developer { wire } else { Wire::Anthropic })
    }
}

impl Agent {
    /// A helper with a session of its own and nothing to tell it.
    fn over(session: Session, kit: Arc<Kit>) -> Self {
        Self { session, kit, briefing: None, after: Vec::new(), scoped: Vec::new() }
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The session, for what people do with it.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Where the agent works.
    pub fn workspace(&self) -> &Workspace {
        &self.kit.workspace
    }

    /// How much is permitted without asking; can be changed at any moment, also by others who hold it.
    pub fn mode(&self) -> &CurrentMode {
        &self.kit.mode
    }

    /// What is permitted.
    pub fn policy(&self) -> &Policy {
        &self.kit.policy
    }

    /// Commands that run in the background.
    pub fn tasks(&self) -> &Tasks {
        &self.kit.tasks
    }

    /// The names of the tools, in order.
    pub fn tool_names(&self) -> Vec<String> {
        self.kit.tools.iter().map(|tool| tool.definition().name.to_owned()).collect()
    }

    /// What the session is told, as it was last assembled.
    pub fn assembled(&self) -> Option<&Assembled> {
        self.briefing.as_ref().map(|briefing| &briefing.assembled)
    }

    /// The MCP servers.
    pub fn servers(&self) -> Option<&McpServers> {
        self.briefing.as_ref().map(|_| &*self.kit.servers)
    }

    /// Ends the session: what runs in the background is stopped, and what is written is safe.
    pub async fn close(self, reason: &str) -> Result<(), AgentError> {
        self.finish(reason, std::future::ready(())).await
    }

    /// Ends the session, after notes and memories that are being written, or when `stop` is ready. See [`Session::finish`].
    pub async fn finish(self, reason: &str, stop: impl Future<Output = ()>) -> Result<(), AgentError> {
        self.kit.tasks.stop_all();
        if self.briefing.is_some() {
            self.kit.servers.shutdown().await;
        }
        Ok(self.session.finish(reason, stop).await?)
    }

    /// Says that the session ends with the next turn. See [`Session::expect_end`].
    pub fn expect_end(&mut self) {
        self.session.expect_end();
    }
}
