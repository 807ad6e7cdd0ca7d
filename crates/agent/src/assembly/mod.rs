//! What a session is told (A): the system prompt, the developer's bundle, the user's context, and later only what changed.
//!
//! [`Assembled::full`] makes it from [`Sources`] and from files as they are now; [`Assembled::messages`] and [`Assembled::system`] say it
//! on a wire; [`Told::changes`] says what is different later. Files are re-read each time and never remembered.
//!
//! **Whatever a file says stays inside its fragment.** Text from files, servers and configuration is made inert first (`text.rs`): in
//! it, no tag of our fragments has any force. **Every part is bounded**, and says what was cut. **Nothing here is a person's word**: each
//! message is recognised as scaffold ([`Message::is_real_user`] is false).

mod assembled;
mod changes;
mod environment;
mod imports;
mod markdown;
mod part;
mod project;
mod read;
mod report;
mod skills;
mod sources;
mod text;

pub use assembled::Assembled;
pub(crate) use assembled::{HeadMessage, scoped_instructions};
pub use changes::{Told, handbook, model_switch};
pub use environment::{Environment, GitState};
pub use part::{Part, PartKind, base};
pub(crate) use read::read_text;
pub use report::{ContextReport, PartReport};
pub use skills::{SharedSkills, Skill, SkillBody, SkillLoadError, SkillOrigin, Skills};
pub use sources::{AssemblyLimits, SessionKind, Sources};
pub(crate) use text::inert;

use crate::permissions::Mode;
use throughline_core::{Block, Flags, Message, Role, prompt};

/// What plan mode asks of the model.
const PLAN_MODE: &str = include_str!("../../../../prompts/plan_mode.md");

/// What a mode asks of the model beyond what the permissions say.
pub fn mode_text(mode: Mode) -> Option<&'static str> {
    match mode {
        Mode::Plan => Some(prompt(PLAN_MODE)),
        Mode::Ask | Mode::AcceptEdits | Mode::Full => None,
    }
}

/// A message of the user's role that no person wrote.
fn meta(text: String) -> Message {
    meta_of(vec![Block::text(text)])
}

fn meta_of(blocks: Vec<Block>) -> Message {
    let mut message = Message::new(Role::User, blocks);
    message.flags = Flags { meta: true, ..Flags::default() };
    message
}
