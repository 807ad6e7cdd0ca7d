//! A consolidation by a model: a fork that works on a copy, and one chance to mend what is wrong with it.

use super::error::Phase2Error;
use super::paths::DIFF;
use super::staging::Staging;
use super::validate::{Check, Checked, Flaws};
use crate::handbook::Evidence;
use crate::handbook::HandNote;
use serde_json::Value;
use throughline_core::cost::Price;
use throughline_core::{Message, Role, Wire, prompt};
use throughline_model::{
    CancelToken, Caps, Delivery, End, ErrorKind, Fork, Model, Prefix, Receipt, Tail, body,
};
use throughline_wire::Request;

const ASK: &str = include_str!("../../../../../prompts/handbook_consolidate.md");
const MEND: &str = include_str!("../../../../../prompts/handbook_mend.md");
/// Anthropic wants a limit in every request.
const MAX_OUTPUT: u64 = 16_000;
/// Flaws that a model is told at once.
const TOLD: usize = 40;
/// Notes whose keys it is told.
const NOTED: usize = 100;

/// The name of the job, for receipts.
pub const CONSOLIDATE_JOB: &str = "handbook.consolidate";

/// A model that consolidates.
pub struct Consolidator<'a> {
    /// Who is asked.
    pub model: &'a dyn Model,
    /// What all of it may take.
    pub caps: &'a Caps,
    /// What the model costs.
    pub price: &'a Price,
    /// Whether the offline scribe does it where the model fails, or what it writes is not valid.
    pub or_offline: bool,
}

/// What came of it.
pub(super) struct Forks {
    pub(super) result: Result<Checked, Failed>,
    pub(super) receipts: Vec<Receipt>,
}

/// Why there is nothing that can be used.
pub(super) enum Failed {
    Model { why: String, is_passing: bool },
    Invalid(Flaws),
    Cancelled,
}

impl Failed {
    pub(super) fn error(self) -> Phase2Error {
        match self {
            Self::Model { why, is_passing } => Phase2Error::Model { why, is_passing },
            Self::Invalid(flaws) => Phase2Error::Invalid(flaws.shown(TOLD)),
            Self::Cancelled => Phase2Error::Cancelled,
        }
    }

    pub(super) fn why(&self) -> String {
        match self {
            Self::Model { why, .. } => why.clone(),
            Self::Invalid(flaws) => format!("what it wrote is not valid: {}", flaws.shown(3)),
            Self::Cancelled => "it was cancelled".to_owned(),
        }
    }
}

impl Consolidator<'_> {
    /// Runs the fork on the copy, and once more if what it wrote can't be used: both within the same caps.
    pub(super) async fn run(
        &self,
        staging: &mut Staging<'_>,
        check: &mut Check<'_>,
        cancel: &CancelToken,
    ) -> Forks {
        let mut receipts = Vec::new();
        let prefix = match prefix(self.model) {
            Ok(prefix) => prefix,
            Err(why) => {
                return Forks { result: Err(Failed::Model { why, is_passing: false }), receipts };
            }
        };
        let mut said = Vec::new();
        let mut ask = ask(check);
        let mut caps = self.caps.clone();
        loop {
            let fork = Fork {
                job: CONSOLIDATE_JOB,
                model: self.model,
                prefix: &prefix,
                since: &said,
                ask,
                caps: &caps,
                price: self.price,
                tail: Tail::default(),
                cancel: cancel.clone(),
            };
            let forked = fork.run(staging).await;
            let is_second = !receipts.is_empty();
            caps = left(&caps, &forked.receipt, &forked.messages);
            receipts.push(forked.receipt);
            let failed = match forked.end {
                End::Done => None,
                End::Cancelled => Some(Failed::Cancelled),
                End::Capped(cap) => {
                    let why = format!("it reached its limit on {cap}");
                    Some(Failed::Model { why, is_passing: false })
                }
                End::Failed(error) => {
                    let is_passing = is_passing(error.kind());
                    Some(Failed::Model { why: error.to_string(), is_passing })
                }
            };
            if let Some(failed) = failed {
                return Forks { result: Err(failed), receipts };
            }
            match check.run(staging) {
                Ok(checked) => return Forks { result: Ok(checked), receipts },
                Err(flaws) if is_second => {
                    return Forks { result: Err(Failed::Invalid(flaws)), receipts };
                }
                Err(flaws) => {
                    said.extend(forked.messages);
                    let text = prompt(MEND).replace("{{flaws}}", &flaws.shown(TOLD));
                    ask = Message::text(Role::User, text);
                }
            }
        }
    }
}

fn ask(check: &Check<'_>) -> Message {
    let headings: Vec<String> = check.headings().iter().map(|heading| format!("`{heading}`")).collect();
    let text = prompt(ASK)
        .replace("{{name}}", &check.scope.to_string())
        .replace("{{tokens}}", &check.limits.summary_tokens.to_string())
        .replace("{{headings}}", &headings.join(", "))
        .replace("{{notes}}", &notes(check.notes));
    debug_assert!(text.contains(DIFF));
    Message::text(Role::User, text)
}

/// The keys of notes by hand.
fn notes(notes: &[HandNote]) -> String {
    let key = |note: &HandNote| {
        let key = Evidence::Note { file: note.file.clone() }.key();
        format!("- {key}: extensions/ad_hoc/notes/{}\n", note.file)
    };
    if notes.is_empty() {
        return String::new();
    }
    let keys: String = notes.iter().rev().take(NOTED).map(key).collect();
    format!("\nKeys of notes by hand, all of which belong in the handbook:\n{keys}")
}

/// A request with our tools and nothing else.
fn prefix(model: &dyn Model) -> Result<Prefix, String> {
    let wire = model.wire();
    let mut request = Request::new(wire, model.id());
    request.envelope.insert("tools".to_owned(), Value::Array(Staging::tools(wire)));
    if wire == Wire::Anthropic {
        request.envelope.insert("max_tokens".to_owned(), MAX_OUTPUT.into());
    }
    Prefix::new(wire, body(&request, Delivery::Streamed).to_vec()).map_err(|error| error.to_string())
}

/// What is left for a second time.
fn left(caps: &Caps, receipt: &Receipt, said: &[Message]) -> Caps {
    let answers = said.iter().filter(|message| message.role == Role::Assistant).count();
    let turns = u32::try_from(answers).unwrap_or(u32::MAX).max(1);
    Caps {
        turns: caps.turns.saturating_sub(turns),
        input_tokens: caps.input_tokens.saturating_sub(receipt.usage.prompt()),
        output_tokens: caps.output_tokens.saturating_sub(receipt.usage.output),
        dollars: (caps.dollars - receipt.dollars).max(0.0),
        // A part of a second is one.
        seconds: caps.seconds.saturating_sub(receipt.seconds.ceil() as u64),
    }
}

/// Whether asking again later may help.
fn is_passing(kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::RateLimited
        | ErrorKind::Overloaded
        | ErrorKind::CutOff
        | ErrorKind::Idle
        | ErrorKind::Deadline
        | ErrorKind::Connection
        | ErrorKind::Server
        | ErrorKind::Quota
        | ErrorKind::Cancelled => true,
        ErrorKind::TooLong
        | ErrorKind::Auth
        | ErrorKind::Refused
        | ErrorKind::Invalid
        | ErrorKind::Malformed
        | ErrorKind::TooLarge
        | ErrorKind::Key
        | ErrorKind::Config
        | ErrorKind::Exec => false,
    }
}
