//! Nothing that was cut is out of reach (B8): the model can search and re-read the whole session.
//!
//! - [`Index`]: in-session search, built message by message. [`Visible`]: what a search need not bring.
//! - [`Handle`], [`Handles`], [`short_id`]: short names for messages, as placeholders show them.
//! - [`definition`], [`Call`], [`Desk`]: the `Recall` tool, from its definition to its answer.
//!
//! How a search works: `text` says what a block's text is, `units` cuts it into a few lines each, `lexer` turns
//! those into terms; `rank` scores every unit by the words of the query in and around it; `choose` takes the units
//! that match and tell something new; `answer` shows them, `read` shows one message.
//!
//! **Invariant.** What is quoted is marked as data, and nothing quoted can pass for a mark of ours: in passages each
//! quoted line is led by its number or a blank, and no quotation ends before its closing tag.

mod answer;
mod choose;
mod handle;
mod index;
mod lexer;
mod rank;
mod read;
mod source;
mod text;
mod tool;
mod units;
mod visible;

pub use answer::{Answer, Desk, Limits, SHORTEST_ANSWER};
pub use choose::{Passage, Wanted};
pub use handle::{Found, Handle, HandleError, Handles, short_id};
pub use index::{Index, LONGEST_BLOCK};
pub(crate) use read::position_at;
pub use source::Archive;
pub use text::block_text;
pub use tool::{Call, CallError, NAME, Position, definition, tool};
pub use visible::Visible;
