//! Tests of the engine, one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod adversarial;
mod budget;
mod common;
mod config;
mod folded;
mod hooks;
mod marks;
mod prepare;
mod session;
mod telemetry;
mod told;
