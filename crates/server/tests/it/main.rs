//! The proxy over real sockets.

mod faults;
mod kit;
mod passing;
mod raw;
mod relay;
mod tls;
mod too_long;
