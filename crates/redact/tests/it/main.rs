//! Tests of redaction.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod adversarial;
mod corpus;
mod redaction;
mod stream;
