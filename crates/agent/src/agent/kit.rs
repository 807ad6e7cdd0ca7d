//! What an agent works with, in every turn.

use super::CurrentMode;
use crate::assembly::{Sources, read_text};
use crate::files::Files;
use crate::mcp::McpServers;
use crate::permissions::{Mode, Policy, Verdict};
use crate::tools::Todos;
use crate::tools::bash::Tasks;
use crate::workspace::Workspace;
use crate::{Access, Toolset};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use throughline_core::Wire;
use throughline_engine::session::{FileReader, Frame, Models, SessionSettings, Spent};
use throughline_ledger::Home;

/// The beginning of a file that is read to come back behind a compaction, in bytes: more than fits.
const RESTORED_BYTES: u64 = 128 * 1_024;

/// What one turn may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TurnLimits {
    /// Answers of the model.
    pub steps: usize,
    /// Dollars, as far as prices are known.
    pub cost: Option<f64>,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self { steps: 200, cost: None }
    }
}

/// What an agent works with, in every turn. Sub-agents share it but for some tools.
#[derive(Clone)]
pub(super) struct Kit {
    pub(super) home: Home,
    pub(super) models: Models,
    pub(super) settings: SessionSettings,
    pub(super) workspace: Workspace,
    pub(super) files: Files,
    pub(super) tasks: Tasks,
    pub(super) todos: Todos,
    pub(super) tools: Toolset,
    pub(super) servers: Arc<McpServers>,
    pub(super) policy: Arc<Policy>,
    pub(super) mode: CurrentMode,
    /// The mode that follows an approved plan.
    pub(super) after_plan: Mode,
    pub(super) limits: TurnLimits,
    pub(super) frame: FrameParts,
    /// What sub-agents are told is made of this.
    pub(super) sub_sources: Arc<Sources>,
    /// What sub-agents have taken that the session does not know of yet.
    pub(super) subs: Arc<Mutex<Vec<Spent>>>,
    /// A sub-agent took in something from outside that the session does not know of yet.
    pub(super) polluted: Arc<AtomicBool>,
}

/// What frames are made of, for the agent and for sub-agents.
#[derive(Clone, Debug)]
pub(super) struct FrameParts {
    pub(super) system: String,
    pub(super) max_output: Option<u64>,
    /// The window that the user set, for whichever model.
    pub(super) window: Option<u64>,
}

impl Kit {
    /// The frame of the session's requests.
    pub(super) fn frame(&self) -> Frame {
        let wire = self.models.main.wire();
        let mut frame = Frame::new(wire, self.models.main.id());
        frame.system.clone_from(&self.frame.system);
        frame.tools = self.tools.iter().map(|tool| tool.definition().on(wire)).collect();
        frame.max_output = self.frame.max_output;
        frame
    }

    /// Reads files that come back behind a compaction: those that may be read without asking.
    pub(super) fn file_reader(&self) -> FileReader {
        let (workspace, policy, mode) = (self.workspace.clone(), self.policy.clone(), self.mode.clone());
        Arc::new(move |path| {
            let path = workspace.resolve(path).ok()?;
            let access = Access::Read { paths: vec![path.clone()] };
            match policy.decide("Read", &access, mode.get()) {
                Verdict::Allow => Some(read_text(&path, RESTORED_BYTES).ok()?.text),
                Verdict::Ask(_) | Verdict::Deny { .. } => None,
            }
        })
    }

    /// The format of requests.
    pub(super) fn wire(&self) -> Wire {
        self.models.main.wire()
    }

    /// The same with fewer tools.
    pub(super) fn without(&self, names: &[&str]) -> Self {
        let mut tools = Toolset::new();
        for tool in self.tools.iter().filter(|tool| !names.contains(&tool.definition().name)) {
            tools.add(tool.clone());
        }
        // What a sub-agent has read is not what its parent has read.
        Self { tools, files: self.files.another_reader(), ..self.clone() }
    }

    /// A sub-agent has taken something.
    pub(super) fn count_sub(&self, spent: Spent) {
        self.subs.lock().unwrap_or_else(PoisonError::into_inner).push(spent);
    }

    /// A sub-agent took in something from outside.
    pub(super) fn pollute(&self) {
        self.polluted.store(true, Ordering::Relaxed);
    }

    /// Whether one did since this was last asked.
    pub(super) fn take_polluted(&self) -> bool {
        self.polluted.swap(false, Ordering::Relaxed)
    }

    /// What sub-agents have taken since this was last asked.
    pub(super) fn take_subs(&self) -> Vec<Spent> {
        std::mem::take(&mut *self.subs.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
