//! One extraction: by a fork, or by the offline scribe (M3–M5).

use super::gate::{Gate, Setting};
use super::limits::ExtractLimits;
use super::offline;
use super::parse::parse;
use super::prompt::Ask;
use super::proposal::{Applied, Did, Proposal, Refused};
use super::record::ExtractRecord;
use super::refusal::Refusal;
use super::said::Said;
use super::toolbox::MemoryReader;
use super::wish::{self, Wish};
use crate::notes::Author;
use crate::{ByModel, Memories};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::path::PathBuf;
use throughline_core::{Message, MessageId, SessionId};
use throughline_model::{End, Receipt};

/// The name of the job, for receipts.
pub const EXTRACT_JOB: &str = "extract";

/// Messages before the cursor that are looked back at: a confirmation speaks of one.
const LOOK_BACK: usize = 2;

/// An extraction to make. It owns what it needs, so that it can run in the background.
#[derive(Clone, Debug)]
pub struct ExtractJob {
    /// Where memories are.
    pub memories: Memories,
    /// The session.
    pub session: SessionId,
    /// The conversation, oldest first; it may begin before the cursor.
    pub messages: Vec<Message>,
    /// The last message that was looked at; `None`, or one that is not there: all are new.
    pub cursor: Option<MessageId>,
    /// Messages whose wishes were granted at once.
    pub granted: Vec<MessageId>,
    /// The texts of the project's instructions.
    pub instructions: Vec<String>,
    /// The texts that were recalled into this session.
    pub recalled: Vec<String>,
    /// The project's folder, for anchors.
    pub root: Option<PathBuf>,
    /// The time.
    pub now: Timestamp,
    /// The user's time zone: "Thursday" is a day there.
    pub zone: TimeZone,
    /// What may be done.
    pub limits: ExtractLimits,
}

/// What came of an extraction.
#[derive(Debug)]
pub struct Extracted {
    /// Whose proposals were judged.
    pub by: Author,
    /// What was done.
    pub applied: Vec<Applied>,
    /// What was not, and why.
    pub refused: Vec<Refused>,
    /// Why the model's answer was not used, if it was asked.
    pub trouble: Option<String>,
    /// What the fork cost.
    pub receipt: Option<Receipt>,
    /// The last message that was looked at. It moved only if the extraction reached its end.
    pub cursor: Option<MessageId>,
    /// Whether it did.
    pub is_complete: bool,
}

impl Extracted {
    /// For the ledger.
    pub fn record(&self) -> ExtractRecord {
        ExtractRecord {
            cursor: self.cursor.clone(),
            by: self.by,
            applied: self.applied.clone(),
            refused: self.refused.clone(),
            trouble: self.trouble.clone(),
            receipt: self.receipt.as_ref().map(|receipt| receipt.id.clone()),
        }
    }
}

/// What came of asking a model.
enum Answered {
    /// It proposes.
    Proposals(Vec<Proposal>, Vec<Refused>),
    /// It said something that can't be understood: asking again would not help.
    Odd(String),
    /// It could not be asked to the end: another time it may.
    Failed(String),
}

/// Extracts what the user said since the cursor. Nothing reaches the folders but through the gate.
///
/// If the model fails, or says something that can't be understood, the offline scribe does the work; after a failure the cursor
/// stays, so that the model sees the messages the next time. Doing it again does no harm: a memory that rests on a message already
/// is left as it is.
pub async fn extract(job: ExtractJob, model: Option<ByModel<'_>>) -> Extracted {
    let heard = job.heard();
    let end = job.messages.last().map(|message| message.id.clone());
    let mut extracted = Extracted {
        by: Author::Offline,
        applied: Vec::new(),
        refused: Vec::new(),
        trouble: None,
        receipt: None,
        cursor: job.cursor.clone(),
        is_complete: false,
    };
    if heard.said.iter().skip(heard.old).all(|said| said.sentences.is_empty()) || job.memories.is_off() {
        // The user said nothing of their own: there is nothing to ask for.
        return Extracted { cursor: end.or(extracted.cursor), is_complete: true, ..extracted };
    }
    let mut proposals = None;
    let mut may_move = true;
    if let Some(model) = model {
        let (answered, receipt) = ask(&job, &heard, model).await;
        extracted.receipt = Some(receipt);
        match answered {
            Answered::Proposals(found, refused) => {
                extracted.by = Author::Model;
                extracted.refused = refused;
                proposals = Some(found);
            }
            Answered::Odd(why) => {
                extracted.refused.push(Refused {
                    what: "the model's answer".to_owned(),
                    why: Refusal::Malformed(why.clone()),
                });
                extracted.trouble = Some(why);
            }
            Answered::Failed(why) => {
                extracted.trouble = Some(why);
                may_move = false;
            }
        }
    }
    job.apply(&heard, proposals, &mut extracted);
    let is_whole = extracted.refused.iter().all(|refused| !matches!(refused.why, Refusal::Folder(_)));
    if may_move && is_whole {
        extracted.cursor = end.or(extracted.cursor);
        extracted.is_complete = true;
    }
    if let Some(receipt) = &mut extracted.receipt {
        let changed = extracted.applied.iter().filter(|applied| applied.did.is_change());
        receipt.changed = changed.map(|applied| applied.id.to_string()).collect();
        receipt.session = Some(job.session.to_string());
    }
    extracted
}

/// What the user said, and how much of it was looked at before.
struct Heard {
    said: Vec<Said>,
    old: usize,
}

impl ExtractJob {
    /// Judges one change that the agent proposes in the middle of a turn, against all that the user said, and makes it if it passes.
    pub fn propose(&self, proposal: &Proposal) -> Result<Applied, Refused> {
        let heard = self.heard();
        Gate::new(self.setting(), &heard.said, heard.old).pass(proposal)
    }

    fn heard(&self) -> Heard {
        let at = self
            .cursor
            .as_ref()
            .and_then(|cursor| self.messages.iter().rposition(|message| message.id == *cursor));
        let (before, after) = self.messages.split_at(at.map_or(0, |at| at + 1));
        let is_said = |message: &&Message| message.is_real_user();
        let mut said: Vec<Said> = before.iter().rev().filter(is_said).take(LOOK_BACK).map(Said::of).collect();
        said.reverse();
        let old = said.len();
        said.extend(after.iter().filter(is_said).map(Said::of));
        Heard { said, old }
    }

    fn setting(&self) -> Setting<'_> {
        Setting {
            memories: &self.memories,
            session: &self.session,
            instructions: &self.instructions,
            recalled: &self.recalled,
            granted: &self.granted,
            now: self.now,
            zone: &self.zone,
            root: self.root.as_deref(),
            limits: &self.limits,
        }
    }

    fn apply(&self, heard: &Heard, proposed: Option<Vec<Proposal>>, extracted: &mut Extracted) {
        let mut gate = Gate::new(self.setting(), &heard.said, heard.old);
        let is_offline = proposed.is_none();
        let proposals = proposed.unwrap_or_else(|| offline::proposals(&heard.said, heard.old));
        for proposal in &proposals {
            extracted.take(gate.pass(proposal));
        }
        if is_offline {
            let open = heard.said.iter().skip(heard.old).filter(|said| !self.granted.contains(&said.message));
            for wish in open.flat_map(|said| wish::of_sentences(&said.sentences)) {
                if let Wish::Forget { .. } = wish {
                    extracted.take(gate.forget(&wish));
                }
            }
        }
    }
}

impl Extracted {
    fn take(&mut self, result: Result<Applied, Refused>) {
        match result {
            // Said twice in one turn is said once.
            Ok(applied)
                if applied.did == Did::Known && self.applied.iter().any(|known| known.id == applied.id) => {}
            Ok(applied) => self.applied.push(applied),
            Err(refused) => self.refused.push(refused),
        }
    }
}

async fn ask(job: &ExtractJob, heard: &Heard, by: ByModel<'_>) -> (Answered, Receipt) {
    let ask = Ask { memories: &job.memories, said: &heard.said[heard.old..], limits: &job.limits };
    let fork = by.fork(EXTRACT_JOB, ask.to_message());
    let forked = fork.run(&mut MemoryReader::new(&job.memories)).await;
    let answered = match forked.end {
        End::Done => match parse(&forked.text) {
            Ok(parsed) => Answered::Proposals(parsed.proposals, parsed.refused),
            Err(why) => Answered::Odd(why),
        },
        End::Capped(cap) => Answered::Failed(format!("the extraction reached its limit on {cap}")),
        End::Failed(error) => Answered::Failed(error.to_string()),
        End::Cancelled => Answered::Failed("the extraction was cancelled".to_owned()),
    };
    (answered, forked.receipt)
}
