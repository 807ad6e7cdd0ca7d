//! The agent and its parts, over real files, real processes and real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod assembly;
mod assembly_any;
mod assembly_world;
mod bash;
mod bash_world;
mod mcp;
mod memory_tool;
mod sandbox;
mod skills;
mod todo;
mod web_fetch;

mod files;
mod files_escapes;
mod files_tools;
mod files_world;
mod permissions;
mod permissions_approvals;
mod permissions_commands;
mod permissions_properties;
mod permissions_rules;
mod permissions_shell;
mod search_tools;
mod workspace;
