//! The proxy over real sockets.

mod kit;
mod passing;
mod raw;
mod relay;
mod tls;
mod too_long;
