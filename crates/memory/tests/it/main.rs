//! Session notes, from the trigger to the skill; and what is remembered beyond sessions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;
mod documents;
mod editor;
mod extract_common;
mod extract_gate;
mod extract_model;
mod extract_wishes;
mod files;
mod fitting;
mod keeping;
mod memories;
mod memory_tool;
mod models;
mod offline;
mod projects;
mod prompts;
mod redaction;
mod redaction_corpus;
mod redaction_stream;
mod skills;
mod templates;
mod topics;
mod topics_history;
mod topics_life;
mod topics_merge;
mod topics_meta;
mod topics_trouble;
mod topics_whole;
mod triggers;
mod trouble;
mod usage;
