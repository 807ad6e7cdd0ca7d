//! One file per command.

pub(crate) mod sessions;
pub(crate) mod start;
pub(crate) mod tokens;
