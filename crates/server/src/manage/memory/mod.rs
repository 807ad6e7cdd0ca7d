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

use super::{Asked, Client, Recognised};

pub(crate) use desk::Desk;
pub(super) use keeper::Keeper;
pub(super) use learn::{Answered, answered};
pub use settings::MemoryOptions;
pub(super) use tell::Telling;

/// Our own programs, by their user agent: they remember by themselves, and what is asked in the background is no conversation.
const OURS: &str = "throughline";

/// Whether a request belongs to the conversation of an agent with a person: not to a sub-agent's, and of clients that are not known by
/// name only to one that has a label or offers tools. Whatever else asks a model wants its own prompt answered.
pub(super) fn is_with_a_person(recognised: &Recognised, asked: &Asked) -> bool {
    let is_agent = match &recognised.client {
        Client::ClaudeCode | Client::Codex => true,
        Client::Other(name) if name == OURS => false,
        Client::Other(_) => {
            let tools = asked.parsed().and_then(|body| body.get("tools"));
            let has_tools =
                tools.as_ref().and_then(|tools| tools.as_array()).is_some_and(|tools| !tools.is_empty());
            recognised.session.is_some() || has_tools
        }
    };
    is_agent && recognised.agent.is_none() && recognised.parent.is_none()
}
