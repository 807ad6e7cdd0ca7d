//! Forks: a helper that goes on from the parent's exact request, does one thing, and ends.
//!
//! - [`Prefix`] is the parent's request to the byte. System prompt, tools and messages go out as the parent sent them, so that
//!   the provider's cache hits; what the fork has to say comes behind them.
//! - [`Toolbox`] is all that it can do. [`Caps`] is all that it may take. [`Forked`] is what came of it, with a [`Receipt`].
//!
//! **A fork never re-enters.** It sends bytes to a [`Model`] and calls a [`Toolbox`]; this crate knows neither the pipeline nor
//! memory, so a fork is not compacted, not remembered, and starts no fork of its own. Nothing in its
//! requests marks them as a fork's: anything that a proxy could see there would be part of the prompt or differ from the parent's
//! request. Who sends forks through a proxy of ours tells it apart by the address.
//!
//! ```no_run
//! use throughline_core::cost::Prices;
//! use throughline_core::{Message, Role};
//! use throughline_model::{CancelToken, Caps, Fork, Model, NoTools, Prefix, Tail};
//!
//! # async fn summarise(model: &dyn Model, sent: Vec<u8>, answer: Vec<Message>) -> Result<(), Box<dyn std::error::Error>> {
//! let fork = Fork {
//!     job: "summary",
//!     model,
//!     prefix: &Prefix::new(model.wire(), sent)?,
//!     since: &answer,
//!     ask: Message::text(Role::User, "Summarise what we did. Use no tools."),
//!     caps: &Caps { turns: 1, ..Caps::default() },
//!     price: &Prices::builtin().of(model.id()),
//!     tail: Tail::default(),
//!     cancel: CancelToken::new(),
//! };
//! let forked = fork.run(&mut NoTools).await;
//! println!("{}: {} (${:.4})", forked.end, forked.text, forked.receipt.dollars);
//! # Ok(())
//! # }
//! ```

mod caps;
mod prefix;
mod receipt;
mod run;
mod tools;

pub use caps::{Cap, Caps};
pub use prefix::{ForkError, Prefix, Tail};
pub use receipt::Receipt;
pub use tools::{NoTools, Toolbox};

use crate::{CancelToken, Model, ModelError};
use std::fmt;
use throughline_core::Message;
use throughline_core::cost::Price;

/// A job that goes on from the parent's request.
pub struct Fork<'a> {
    /// Its name, for receipts.
    pub job: &'a str,
    /// Who answers. Its wire must be the prefix's.
    pub model: &'a dyn Model,
    /// The parent's request.
    pub prefix: &'a Prefix,
    /// What was said since that request: the answer to it, and what followed. Calls in it that have no result yet are
    /// answered by a word to that effect.
    pub since: &'a [Message],
    /// What the fork is to do.
    pub ask: Message,
    /// What it may take.
    pub caps: &'a Caps,
    /// What the model costs.
    pub price: &'a Price,
    /// How its requests differ from the parent's.
    pub tail: Tail,
    /// Stops it.
    pub cancel: CancelToken,
}

/// What came of a fork.
#[derive(Debug)]
pub struct Forked {
    /// The words of the last answer, as far as it came.
    pub text: String,
    /// What was said: the ask, the answers, the results of their calls. Each call has its result.
    pub messages: Vec<Message>,
    /// Why it ended.
    pub end: End,
    /// What it cost.
    pub receipt: Receipt,
}

/// Why a fork ended.
#[derive(Debug)]
pub enum End {
    /// The model had nothing more to do.
    Done,
    /// A limit was reached. Calls of the last answer were carried out.
    Capped(Cap),
    /// The model could not be asked, or not understood. It was not asked again beyond its own repetitions.
    Failed(ModelError),
    /// The caller gave up.
    Cancelled,
}

impl End {
    /// Whether the model had nothing more to do.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }
}

impl fmt::Display for End {
    /// Stable words, as receipts have them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Capped(cap) => write!(f, "capped: {cap}"),
            Self::Failed(error) => write!(f, "failed: {}", error.kind()),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl fmt::Debug for Fork<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fork")
            .field("job", &self.job)
            .field("model", &self.model.id())
            .field("bytes", &self.prefix.bytes().len())
            .field("since", &self.since.len())
            .field("caps", &self.caps)
            .field("tail", &self.tail)
            .finish_non_exhaustive()
    }
}
