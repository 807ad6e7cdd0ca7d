//! Needed-later recall: a session's own future judges what a context kept.
//!
//! At a point of a recorded session, *needed* are the strings that were said before it and whose first use after it is
//! the model's own: neither the user nor a tool gave them again, so they had to come from memory. A context is judged by
//! how many of them it holds ([`Score`]), with no model and no opinion.

mod future;

pub use future::{Future, Needed, Score, Use};
