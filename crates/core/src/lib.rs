//! Throughline's pure centre: what a session *is*, with no I/O, no clock and no environment.
//!
//! - [`Message`] and [`Block`]: one neutral model that carries everything the provider formats have.
//! - [`Shape`]: how an object looked on the wire it came from, so that encoding gives back the same JSON.
//! - [`Fragment`]: the typed scaffold that clients put into conversations; with it "a real user message"
//!   has exactly one definition, [`Message::is_real_user`].
//! - [`Record`]: one line of a ledger. [`View`]: the fold of records, i.e. what a model would be sent now.
//! - [`invariants`]: the API rules that every view must keep, a checker and a repairer.
//! - [`tokens`]: counting, calibrated and cached.
//!
//! ```
//! use throughline_core::{Message, Role, View};
//!
//! let mut view = View::default();
//! view.push(Message::text(Role::User, "never touch the lockfile").into());
//! assert_eq!(view.messages().count(), 1);
//! ```

pub mod archive;
mod block;
pub mod citation;
pub mod classify;
mod client_session;
pub mod compaction;
mod content_hash;
pub mod cost;
mod edit;
pub mod entity;
pub mod facts;
mod fragment;
pub mod guarantee;
mod ids;
pub mod invariants;
mod json;
mod knowledge;
mod message;
pub mod pattern;
pub mod pipeline;
pub mod profile;
pub mod recall;
mod record;
pub mod scribe;
mod shape;
pub mod shell;
pub mod stages;
pub mod text;
mod together;
pub mod tokens;
mod tool;
mod usage;
mod view;
mod weight;
pub mod words;

pub use block::{Block, Body, CallKind, Media, ResultContent, Source, ToolCall, ToolInput, ToolResult};
pub use client_session::ClientSession;
pub use content_hash::content_id;
pub use edit::{Edit, Op, Overlay, Stage};
pub use fragment::{Fragment, Speaker};
pub use ids::{CallId, EditId, GroupId, MessageId, SessionId};
pub use json::{MAX_DEPTH, json_depth, parse_json};
pub use knowledge::{Knowledge, SharedKnowledge};
pub use message::{Flags, Message, Role};
pub use record::{
    Card, Checkpoint, Event, ForkPoint, Item, MemoryMode, Meta, Origin, Preserved, Record, RecordError, Turn,
    Watermark,
};
pub use shape::{Shape, Wire};
pub use tool::{ToolDefinition, prompt};
pub use usage::Usage;
pub use view::{Entry, Replay, UndoError, View};
