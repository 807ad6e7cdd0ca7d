//! "Remember …" and "forget …", granted at once (M4), through the same gate.

use super::gate::{Gate, Setting};
use super::limits::ExtractLimits;
use super::proposal::{Applied, Proposal, Refused};
use super::said::Said;
use super::wish::{self, Wish};
use crate::Memories;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::path::Path;
use throughline_core::{Message, SessionId};

/// A message of the user, and where its wishes are granted.
#[derive(Clone, Copy, Debug)]
pub struct Wished<'a> {
    /// Where memories are.
    pub memories: &'a Memories,
    /// The session.
    pub session: &'a SessionId,
    /// What the user said.
    pub message: &'a Message,
    /// The texts of the project's instructions.
    pub instructions: &'a [String],
    /// The project's folder, for anchors.
    pub root: Option<&'a Path>,
    /// The time.
    pub now: Timestamp,
    /// The user's time zone.
    pub zone: &'a TimeZone,
    /// What may be done.
    pub limits: &'a ExtractLimits,
}

/// What became of a wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The wish.
    pub wish: Wish,
    /// What was done; or why nothing was. Several memories that a wish to forget fits are among the reasons, as candidates.
    pub outcome: Result<Applied, Refused>,
}

/// Does what the user asks to remember. A message that asks for nothing, or that no person typed, does nothing.
pub fn remember_now(wished: &Wished<'_>) -> Vec<Granted> {
    grant(wished, |wish| matches!(wish, Wish::Remember { .. }))
}

/// Does what the user asks to forget: what is forgotten can be brought back.
pub fn forget_now(wished: &Wished<'_>) -> Vec<Granted> {
    grant(wished, |wish| matches!(wish, Wish::Forget { .. }))
}

/// Does both, in the order in which they are asked for.
pub fn grant_now(wished: &Wished<'_>) -> Vec<Granted> {
    grant(wished, |_| true)
}

fn grant(wished: &Wished<'_>, is_meant: impl Fn(&Wish) -> bool) -> Vec<Granted> {
    if !wished.message.is_real_user() {
        return Vec::new();
    }
    let said = [Said::of(wished.message)];
    let setting = Setting {
        memories: wished.memories,
        session: wished.session,
        instructions: wished.instructions,
        recalled: &[],
        granted: &[],
        now: wished.now,
        zone: wished.zone,
        root: wished.root,
        limits: wished.limits,
    };
    let mut gate = Gate::new(setting, &said, 0);
    let wishes = wish::of_sentences(&said[0].sentences).into_iter().filter(|wish| is_meant(wish));
    wishes
        .map(|wish| {
            let outcome = match &wish {
                Wish::Remember { sentence, .. } => {
                    gate.pass(&Proposal::of_words(vec![sentence.clone()], wished.message.id.clone()))
                }
                Wish::Forget { .. } => gate.forget(&wish),
            };
            Granted { wish, outcome }
        })
        .collect()
}
