//! Project instructions below the working folder (A3): told when a file in their scope is touched.

use super::{Agent, AgentError};
use crate::Access;
use crate::assembly::{self, Part};
use serde_json::json;
use std::path::PathBuf;
use throughline_core::{Body, Message};

/// The event that keeps the folders whose instructions the session was told.
const SCOPED: &str = "agent.scoped_instructions";
/// Folders that are remembered.
const MOST_FOLDERS: usize = 64;

impl Agent {
    /// Instructions for the files that a call touched, as far as the view does not show them.
    pub(super) fn tell_scoped(&mut self, access: &Access) -> Result<(), AgentError> {
        let paths = match access {
            Access::Read { paths } | Access::Write { paths } => paths,
            Access::Inner
            | Access::Command { .. }
            | Access::Network { .. }
            | Access::Mcp { .. }
            | Access::Memory
            | Access::Agent => return Ok(()),
        };
        for path in paths.iter().filter(|path| !path.is_dir()) {
            let Some(folder) = path.parent() else { continue };
            for (of, part) in assembly::scoped_instructions(&self.kit.sub_sources, folder) {
                if !self.is_shown(&part) {
                    self.scoped.push(part.message());
                    self.remember_scope(of)?;
                }
            }
        }
        Ok(())
    }

    /// Whether the view, or what is about to be recorded, holds a part as it is now.
    fn is_shown(&self, part: &Part) -> bool {
        let holds = |message: &Message| {
            message.blocks.iter().any(|block| matches!(&block.body, Body::Text(text) if *text == part.text))
        };
        let entries = self.session.pipeline().view().entries();
        self.scoped.iter().any(holds) || entries.iter().any(|entry| holds(&entry.message))
    }

    fn remember_scope(&mut self, folder: PathBuf) -> Result<(), AgentError> {
        let mut folders = self.scopes();
        folders.retain(|known| *known != folder);
        folders.push(folder);
        let over = folders.len().saturating_sub(MOST_FOLDERS);
        folders.drain(..over);
        Ok(self.session.keep(SCOPED, json!(folders))?)
    }

    fn scopes(&self) -> Vec<PathBuf> {
        let kept = self.session.kept(SCOPED).cloned();
        kept.and_then(|folders| serde_json::from_value(folders).ok()).unwrap_or_default()
    }

    /// The instructions that were told, as they are now, for a compaction: the newest ones, as far as the limit for project
    /// instructions allows.
    pub(super) fn scoped_reminders(&self) -> Vec<Message> {
        let sources = &self.kit.sub_sources;
        let mut left = sources.limits.project_bytes;
        let mut messages = Vec::new();
        for folder in self.scopes().iter().rev() {
            let parts = assembly::scoped_instructions(sources, folder).into_iter();
            for (_, part) in parts.filter(|(of, _)| of == folder) {
                if part.text.len() <= left {
                    left -= part.text.len();
                    messages.push(part.message());
                }
            }
        }
        messages.reverse();
        messages
    }
}
