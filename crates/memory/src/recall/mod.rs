//! Which memories help now (M7, B1, B6).

mod words;

pub(crate) use words::{tables_version, terms};
