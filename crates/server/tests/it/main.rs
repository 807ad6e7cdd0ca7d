//! The proxy over real sockets.

mod faults;
mod kit;
mod memory;
mod passing;
mod raw;
mod refusals;
mod relay;
mod takeover;
mod tls;
mod too_long;
