//! Where the pipeline's decisions are written before they take effect.

use crate::stages::budget::Persisted;
use crate::{Origin, Record};
use std::convert::Infallible;

/// Writes decisions down. A decision takes effect only after it was written.
pub trait Journal {
    /// Why writing can fail.
    type Error;

    /// Writes one line and says where it is.
    fn append(&mut self, record: Record) -> Result<Origin, Self::Error>;

    /// Saves a text that a placeholder will stand for.
    fn persist(&mut self, file: &Persisted) -> Result<(), Self::Error>;

    /// The path of such a text; `None`: texts are not kept.
    fn place(&self, file_name: &str) -> Option<String>;
}

/// Writes nothing down: for a view that lives and dies with the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unrecorded;

impl Journal for Unrecorded {
    type Error = Infallible;

    fn append(&mut self, _: Record) -> Result<Origin, Infallible> {
        Ok(Origin::default())
    }

    fn persist(&mut self, _: &Persisted) -> Result<(), Infallible> {
        Ok(())
    }

    fn place(&self, _: &str) -> Option<String> {
        None
    }
}
