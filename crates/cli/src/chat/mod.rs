//! `throughline chat`: the agent at a terminal.
//!
//! [`Driver`] reads what the user says and does it: a turn of the agent, watched over by `turn.rs` and shown by
//! `show.rs`, or a slash command (`commands.rs`), done by `session.rs`, `servers.rs` or `tell.rs`.

mod approve;
mod commands;
mod driver;
mod question;
mod servers;
mod session;
mod show;
mod tell;
mod turn;

pub(crate) use driver::{Driver, Opening};
pub(crate) use session::session_picker;
