//! The agent and its parts, over real files, real processes and real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod agent_background;
mod agent_context;
mod agent_crash;
mod agent_handbook;
mod agent_hooks;
mod agent_hostile;
mod agent_interrupt;
mod agent_limits;
mod agent_memory;
mod agent_own_tools;
mod agent_people;
mod agent_permissions;
mod agent_remembering;
mod agent_restored;
mod agent_results;
mod agent_scoped;
mod agent_sub;
mod agent_turns;
mod agent_world;
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
#[cfg(target_os = "linux")]
mod permissions_traced;
mod search_tools;
mod workspace;
