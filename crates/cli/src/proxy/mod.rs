//! What `serve`, `run`, `doctor` and `stats` share.
//!
//! - [`Bases`]: where requests go, by flags, the configuration and what a client would have used; and the settings of a server for it.
//! - [`servers`]: which servers run on this machine, so that the commands find each other.
//! - `memory`: how sessions remember.
//! - [`notices`]: what goes wrong on our side, told as it happens or kept for the end.
//! - `secret`: what a program shows that is the user's own and runs as somebody else.
//! - [`show`]: figures, as people read them.

pub(crate) mod http;
mod memory;
pub(crate) mod notices;
mod secret;
pub(crate) mod servers;
pub(crate) mod show;
mod start;

pub(crate) use start::{Base, Bases, Wish};
