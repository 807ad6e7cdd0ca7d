//! Judgement of shell commands, read by [`throughline_core::shell`].
//!
//! A [`throughline_core::shell::Doubt`] about a line and a [`WordKind::Dynamic`] word both count as "not harmless". Nothing is
//! run, expanded or looked up: the same text is always judged the same way.

mod flags;
mod git;
mod hidden;
mod programs;
mod reach;
mod read_only;
#[cfg(test)]
mod table_tests;

pub(super) use hidden::hidden;
pub(super) use reach::{Reach, is_destructive, peel, reach};
pub(crate) use read_only::only_reads;
pub(super) use read_only::{ReadOnly, has_harmless_variables, read_only};
pub(super) use throughline_core::shell::{
    CommandLine, RedirectTarget, SimpleCommand, Word, WordKind, base_name,
};
