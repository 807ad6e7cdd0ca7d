//! Session notes, from the trigger to the skill.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;
mod documents;
mod editor;
mod files;
mod fitting;
mod keeping;
mod models;
mod offline;
mod prompts;
mod skills;
mod templates;
mod triggers;
mod trouble;
