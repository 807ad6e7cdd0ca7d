//! The binary as a person and a script use it, on the samples in `examples/`.
// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used, clippy::panic)]

mod agent_kit;
mod agent_long;
mod common;
mod exec;
mod handbook;
mod handbook_sessions;
mod hostile_repository;
mod manners;
mod memory;
mod memory_audit;
mod memory_change;
mod memory_exchange;
mod memory_terminal;
mod memory_why;
mod model;
mod pipeline;
mod proxy_bounds;
mod proxy_doctor;
mod proxy_import;
mod proxy_kit;
mod proxy_network;
mod proxy_run;
mod proxy_serve;
mod proxy_users;
mod pty;
mod sessions;
mod skillify;
mod start;
mod terminal;
mod terminal_output;
mod tokens;
mod workers;
mod workers_kit;
