//! Memory from outside (N, M, H): what a proxied session is told of earlier ones, and what is kept of it.
//!
//! A [`Desk`] is shared by all sessions, a [`Keeper`] belongs to the main conversation of one. With a request, [`Keeper::tell`] adds what
//! was remembered behind what the client said last, once while it is in sight; behind an answer, [`answered`] has the background look
//! at what the user said.
//!
//! **No wrong project.** The project is that of the folder which the client itself says it runs in, or which the proxy was started for,
//! if it is a folder of this machine. Without one only memories that hold everywhere are told, and nothing is learnt.
//!
//! **Only the user's words are learnt.** What we told is marked as ours and never heard; what clients inject is recognised
//! ([`throughline_core::Fragment`]); what remains passes the same gate as in our own agent.
//!
//! **Never on the client's path.** A request waits for its memories up to a limit, and goes without them beyond that. All else is done
//! behind answers, within bounds; what fails is a [`Report`](super::Report).

mod desk;
mod keeper;
mod learn;
mod looked;
mod model;
mod notes;
mod place;
mod settings;
mod start;
mod tell;

pub(crate) use desk::Desk;
pub(super) use keeper::Keeper;
pub(super) use learn::{Answered, answered};
pub use settings::MemoryOptions;
pub(super) use tell::Telling;
