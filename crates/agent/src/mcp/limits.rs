//! What a server may take. Servers are somebody else's programs: each of these ends something that would have no end.

use std::time::Duration;

/// Bytes of one message, in a line, a body or an event.
pub(super) const MESSAGE_BYTES: usize = 16 << 20;
/// Bytes of lines on stdout that are no messages.
pub(super) const GARBAGE_BYTES: usize = 16 << 20;
/// Bytes of stderr that are kept for messages: the last ones.
pub(super) const STDERR_BYTES: usize = 4 << 10;
/// Messages that wait to be written.
pub(super) const QUEUE: usize = 64;
/// Requests of the server that wait to be answered; more are not.
pub(super) const REPLIES: usize = 64;
/// Progress reports of a call that wait to be shown; more are dropped.
pub(super) const PROGRESS: usize = 16;

/// Tools of one server.
pub(super) const TOOLS: usize = 500;
/// Pages of a list of tools.
pub(super) const PAGES: usize = 100;
/// Names of one server that are remembered in a session, those of tools that went included.
pub(super) const NAMES: usize = 2_000;
/// Bytes of a tool's description.
pub(super) const DESCRIPTION_BYTES: usize = 2 << 10;
/// Bytes of a tool's schema.
pub(super) const SCHEMA_BYTES: usize = 64 << 10;
/// Nesting of a tool's schema.
pub(super) const SCHEMA_DEPTH: usize = 32;
/// Reasons for which tools were refused that are kept.
pub(super) const REASONS: usize = 20;

/// Bytes of the instructions of one server.
pub(super) const INSTRUCTIONS_BYTES: usize = 4 << 10;
/// Bytes of the instructions of all servers.
pub(super) const ALL_INSTRUCTIONS_BYTES: usize = 16 << 10;
/// Bytes of the list of deferred tools.
pub(super) const LISTING_BYTES: usize = 8 << 10;

/// Characters of a result.
pub(super) const OUTPUT_CHARS: usize = 100_000;
/// Pictures of a result.
pub(super) const IMAGES: usize = 10;
/// Bytes of a picture, encoded: what providers take.
pub(super) const IMAGE_BYTES: usize = 5 << 20;

/// Bytes of the name of an HTTP session.
pub(super) const SESSION_BYTES: usize = 1 << 10;
/// Redirects within one server that are followed.
pub(super) const HOPS: usize = 3;

/// How long a server may take to end by itself.
pub(super) const ENDING: Duration = Duration::from_secs(2);
/// The shortest time between two looks at a list of tools that is said to have changed.
pub(super) const RELIST: Duration = Duration::from_millis(500);
/// A server that ran this long before it died is begun anew without a count of how often it died before.
pub(super) const HEALTHY: Duration = Duration::from_secs(60);
