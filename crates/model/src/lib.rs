//! Models: somebody who answers requests, over HTTP or as a command.
//!
//! - [`Model`]: a [`Call`] in (the bytes of a request), an [`Answer`] out (a decoded response), or a [`ModelError`] that says what
//!   to do about it.
//! - [`Http`]: Anthropic Messages, OpenAI Responses, Chat Completions, streamed or whole, made from a [`Provider`].
//! - [`Exec`]: any command.
//! - [`Fork`]: a helper that goes on from another request, to the byte, within [`Caps`], and leaves a [`Receipt`].
//! - [`Governor`]: whether background work may begin, and what it has cost.
//! - [`body()`]: the bytes of a request for one or the other delivery.
//!
//! **Nothing is hidden.** The environment is read only through an [`Environment`] that the caller passes in; time and chance
//! come from a [`Clock`]; keys live in memory only and are in no message.
//!
//! **Everything ends.** Each call has a deadline, a limit on silence, on attempts and on bytes, and stops at once when its
//! [token](CancelToken) says so.
//!
//! ```no_run
//! use throughline_core::{Message, Role};
//! use throughline_model::{Call, Delivery, Delta, Http, Model, ModelError, Provider, body, process_environment};
//! use throughline_wire::Request;
//!
//! # async fn ask() -> Result<(), ModelError> {
//! let Some(provider) = Provider::from_environment(&process_environment, None)? else { return Ok(()) };
//! let model = Http::new(&provider, &process_environment)?;
//! let mut request = Request::new(model.wire(), model.id());
//! request.messages.push(Message::text(Role::User, "Do the tests pass?"));
//! let call = Call::new(body(&request, Delivery::Streamed)).listen(|delta| {
//!     if let Delta::Text(text) = delta {
//!         print!("{text}");
//!     }
//! });
//! match model.send(call).await {
//!     Ok(answer) => println!("{:?} after {} attempts", answer.response.usage, answer.attempts),
//!     Err(error) => println!("{error}; too long by {:?}", error.gap()),
//! }
//! # Ok(())
//! # }
//! ```

mod argv;
mod body;
mod call;
mod classify;
mod environment;
mod error;
mod estimate;
mod exec;
mod fork;
mod governor;
mod http;
mod key;
pub mod process;
mod program;
mod provider;
mod retry;
mod secret;
mod telemetry;
mod watch;

pub use argv::Argv;
pub use body::{Delivery, body};
pub use call::{Answer, BoxFuture, Call, CancelToken, Limits, Model, OnDelta};
pub use classify::{Overrun, overrun};
pub use environment::{Environment, process_environment};
pub use error::{Again, ErrorKind, ModelError};
pub use exec::{Exec, ExecSettings, Input, Output};
pub use fork::{Cap, Caps, End, Fork, ForkError, Forked, NoTools, Prefix, Receipt, Tail, Toolbox};
pub use governor::{
    Denied, Governor, GovernorError, GovernorLimits, Job, Permit, Reason, Receipts, Skipped, Spent, Standing,
    When,
};
pub use http::Http;
pub use program::{ProgramSearch, SearchSources};
pub use provider::{KeyHeader, Provider, Timeouts};
pub use retry::{Clock, Retries, Retry, SystemClock};
pub use secret::Secret;
pub use throughline_core::{Usage, Wire};
pub use throughline_wire::stream::Delta;
