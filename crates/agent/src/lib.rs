//! A coding agent: it asks a model, carries out the tools that the model calls, under permissions, and keeps everything in a
//! [session](throughline_engine::session::Session) that loses nothing.
//!
//! No terminal here: whoever shows the agent hears [`Event`]s and answers the questions of an [`Approver`](permissions::Approver).

mod access;
pub mod agent;
pub mod assembly;
mod event;
pub mod files;
pub mod mcp;
pub mod permissions;
pub mod protected;
pub mod sandbox;
mod tool;
pub mod tools;
pub mod workspace;

pub use access::Access;
pub use event::{Event, Listener, Silent, Spending};
pub use tool::{FileDiff, Shown, Todo, TodoState, Tool, ToolContext, ToolOutput, Toolset};
