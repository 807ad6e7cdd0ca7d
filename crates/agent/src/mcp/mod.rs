//! The client of MCP servers: programs and addresses that offer tools.
//!
//! - [`McpServers`]: all servers of a session, their tools and what they say.
//! - [`ProjectServers`]: what a project proposes, to be approved by the user.
//!
//! **A server is not trusted.** Names, descriptions, schemas, instructions and results are its words: cleaned, bounded, and never
//! anybody else's. It can't take another tool's name, ask the model or the user for anything, see more of the environment than
//! its definition names, or keep a call or a session waiting for longer than the settings say.
//!
//! **The tools array does not change.** What is in it is decided when a session begins; tools that come later are found by
//! `ToolSearch` and called by `CallTool`.
//!
//! The protocol is spoken by ourselves, over stdio and streamable HTTP, in its versions up to 2025-11-25: a message of any size,
//! a list with one bad tool in it, a line of garbage or a server that dies is then one thing with one outcome that is tested.

mod catalogue;
mod clean;
mod connection;
mod content;
mod expand;
mod handshake;
mod inbox;
mod limits;
mod listing;
mod names;
mod project;
mod rpc;
mod search;
mod server;
mod servers;
mod tool;
mod transport;

pub use catalogue::Changes;
pub use project::{PROJECT_FILE, ProjectServers, Proposed};
pub use server::{Patience, ServerState};
pub use servers::{McpServers, McpStart};

pub(crate) use servers::Shared;
