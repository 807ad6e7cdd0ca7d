//! Pieces for a terminal: text in, lines out; keys in, decisions out. Nothing here knows an agent.
//!
//! Invariant: text of models, tools and files reaches the terminal only as a [`Span`](style::Span), whose text is clean: it can't move the
//! cursor, change colours, set the title or reorder what is shown. Escape sequences are made in two places, `style.rs` (colours)
//! and `screen.rs` (the live area).

pub(crate) mod ask;
pub(crate) mod bar;
pub(crate) mod clean;
pub(crate) mod complete;
pub(crate) mod diff;
pub(crate) mod editor;
pub(crate) mod keys;
pub(crate) mod look;
pub(crate) mod markdown;
pub(crate) mod picker;
pub(crate) mod prompt;
pub(crate) mod screen;
pub(crate) mod status;
pub(crate) mod style;
pub(crate) mod todos;
pub(crate) mod tool_line;
pub(crate) mod wrap;

pub(crate) use look::Look;
