//! Throughline between an agent and its provider: a proxy on loopback.
//!
//! - [`Server`]: listens, until it is told to stop. [`Settings`]: everything it is told.
//! - [`Upstreams`]: the providers that requests may go to; there are no others.
//! - `relay/`: how a request gets to its provider and the answer back, to the byte.
//! - `manage/`: what is decided about a request on the way, and what is learnt from its answer.
//! - `local/`: what the server answers itself: the page, the control calls, the metrics.
//!
//! **Never worse than no proxy.** Whatever goes wrong in `manage/`, an error, a panic, a delay, the client's own bytes are
//! forwarded, and the failure is reported where people look.

mod budget;
mod counters;
mod endpoint;
mod guard;
mod inject;
mod local;
mod manage;
mod outlet;
mod peer;
mod relay;
mod routing;
mod runtime;
mod serve;
mod settings;
mod timed;
mod token;
mod upstream;

pub use endpoint::Endpoint;
pub use http::HeaderName;
#[doc(hidden)]
pub use inject::{Inject, Injected, Point};
pub use manage::{
    Accounted, Context, Figures, MemoryOptions, Problem, SessionSnapshot, SessionStats, Snapshot, Stats,
    claude_compacts_at, stats, stats_of,
};
pub use runtime::runtime;
pub use serve::{Running, Server, StartError};
pub use settings::{Limits, Managing, Scribe, Settings};
pub use token::Token;
pub use upstream::{Upstream, UpstreamError, Upstreams, Via, ViaError};
