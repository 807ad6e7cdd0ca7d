//! A model that goes on from a conversation in the background.

use throughline_core::Message;
use throughline_core::cost::Price;
use throughline_model::{CancelToken, Caps, Fork, Model, Prefix, Tail};

/// A model, and what it is shown and may take.
pub struct ByModel<'a> {
    /// Who is asked.
    pub model: &'a dyn Model,
    /// The conversation's last request.
    pub prefix: &'a Prefix,
    /// What was said since.
    pub since: &'a [Message],
    /// What the fork may take.
    pub caps: &'a Caps,
    /// What the model costs.
    pub price: &'a Price,
    /// How its requests differ from the parent's.
    pub tail: Tail,
    /// Stops it.
    pub cancel: CancelToken,
}

impl<'a> ByModel<'a> {
    /// The fork that asks it something, under the name of a job.
    pub(crate) fn fork(self, job: &'a str, ask: Message) -> Fork<'a> {
        let Self { model, prefix, since, caps, price, tail, cancel } = self;
        Fork { job, model, prefix, since, ask, caps, price, tail, cancel }
    }
}
