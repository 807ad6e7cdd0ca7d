//! Patterns over what people write; see [`throughline_core::pattern`].

pub(crate) use throughline_core::{pattern::Pattern, pattern_groups, patterns};
