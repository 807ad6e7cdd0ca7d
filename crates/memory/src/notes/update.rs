//! One update of the notes: by a fork, or from facts alone.

use super::document::{Breach, Document};
use super::edit_tool::NotesEditor;
use super::file::text_hash;
use super::fit::{Over, check_room, cut_to_fit};
use super::job::{Job, Lease};
use super::mend::mend;
use super::offline::Offline;
use super::prompt::{Ask, Means, notes_in};
use super::record::{Author, NotesRecord};
use crate::ByModel;
use throughline_core::SharedKnowledge;
use throughline_core::tokens::Counter;
use throughline_model::{Cap, End, Receipt};

/// The name of the job, for receipts.
pub const JOB: &str = "notes";

/// An update to make.
pub struct Update<'a> {
    /// What it starts from.
    pub job: Job,
    /// The model that writes; `None`: the offline scribe does.
    pub model: Option<ByModel<'a>>,
    /// What is known of the session, for the offline scribe.
    pub knowledge: &'a SharedKnowledge,
    /// Counts the notes.
    pub counter: &'a mut Counter,
}

/// What came of an update.
#[derive(Debug)]
pub struct Updated {
    /// Who wrote.
    pub by: Author,
    /// Whether there are new notes.
    pub outcome: Outcome,
    /// What the fork cost.
    pub receipt: Option<Receipt>,
    /// Gone once the update was taken in.
    #[expect(dead_code, reason = "held, not read")]
    pub(super) lease: Lease,
}

/// Whether there are new notes.
#[derive(Debug)]
pub enum Outcome {
    /// They are in the file, within their limits.
    Written {
        /// For the ledger.
        record: NotesRecord,
        /// Sections that had to be cut to fit.
        cut: Vec<String>,
    },
    /// The old ones are untouched.
    Kept(Kept),
}

/// Why the old notes stay.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Kept {
    /// The model changed nothing.
    #[error("the model changed nothing in the notes")]
    Unchanged,
    /// What the model gave can't be used.
    #[error("the new notes can't be used: {0}")]
    Invalid(String),
    /// The fork reached a limit.
    #[error("the update reached its limit on {0}")]
    Capped(Cap),
    /// The model could not be asked.
    #[error("{0}")]
    Failed(String),
    /// The caller gave up.
    #[error("the update was cancelled")]
    Cancelled,
    /// Somebody else changed the file meanwhile: what they wrote stays.
    #[error("the notes were changed by somebody else during the update")]
    Disturbed,
    /// The file can't be read or written.
    #[error("{0}")]
    File(String),
}

impl Kept {
    /// Whether the same might happen again: such updates are counted.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Unchanged | Self::Invalid(_) | Self::Capped(_) | Self::Failed(_) | Self::File(_) => true,
            Self::Cancelled | Self::Disturbed => false,
        }
    }
}

/// Makes an update. The file is replaced once, at the end, by notes that have the template's structure and are within their
/// limits; in all other cases it is not touched, and [`Updated::outcome`] says why.
pub async fn update(order: Update<'_>) -> Updated {
    let Update { job, model, knowledge, counter } = order;
    let by = if model.is_some() { Author::Model } else { Author::Offline };
    let (new, receipt) = match model {
        Some(model) => {
            let (new, receipt) = by_model(&job, model, counter).await;
            (new, Some(receipt))
        }
        None => {
            let known = knowledge.read();
            let Job { wording, limits, notes, .. } = &job;
            let offline = Offline { template: &wording.template, limits, notes, knowledge: &known };
            (Ok(offline.write(counter)), None)
        }
    };
    let id = receipt.as_ref().map(|receipt| receipt.id.clone());
    let outcome = new.and_then(|document| keep(&job, document, By { by, receipt: id }, counter));
    let receipt = receipt.map(|receipt| Receipt {
        changed: outcome.is_ok().then(|| job.file.path().display().to_string()).into_iter().collect(),
        ..receipt
    });
    Updated { by, outcome: outcome.unwrap_or_else(Outcome::Kept), receipt, lease: job.lease }
}

async fn by_model(job: &Job, by: ByModel<'_>, counter: &mut Counter) -> (Result<Document, Kept>, Receipt) {
    let template = &job.wording.template;
    let path = job.file.path();
    let notes = job.notes.to_text();
    let means = Means::of_request(by.prefix.bytes());
    let over = Over::of(&job.notes.sizes(counter), &job.limits);
    let ask = Ask {
        wording: &job.wording,
        notes: &notes,
        path: &path,
        means: &means,
        limits: &job.limits,
        over: over.as_ref(),
    };
    let fork = by.fork(JOB, ask.to_message());
    let mut editor = NotesEditor::new(&path, template, &notes);
    let forked = fork.run(&mut editor).await;
    let edited = editor.finish();
    let result = match forked.end {
        End::Done if edited.applied > 0 => Ok(Document::parse(&edited.text, template.outline())),
        End::Done => from_words(job, &forked.text),
        End::Capped(cap) => Err(Kept::Capped(cap)),
        End::Failed(error) => Err(Kept::Failed(error.to_string())),
        End::Cancelled => Err(Kept::Cancelled),
    };
    let result = result.and_then(|new| if new == job.notes { Err(Kept::Unchanged) } else { Ok(new) });
    (result, forked.receipt)
}

/// The notes that an answer holds. Sections that it leaves out stay as they are.
fn from_words(job: &Job, answer: &str) -> Result<Document, Kept> {
    let text = notes_in(answer).ok_or(Kept::Unchanged)?;
    let mended = mend(text, job.wording.template.outline());
    if mended.sections.is_empty() {
        return Err(Kept::Invalid("they have none of the headers".to_owned()));
    }
    let mut document = job.notes.clone();
    for (at, body) in mended.sections {
        if body.trim() != document.sections[at].body() {
            document.set_body(at, &body);
        }
    }
    Ok(document)
}

struct By {
    by: Author,
    receipt: Option<String>,
}

/// Puts new notes in place of the old ones.
fn keep(job: &Job, mut document: Document, by: By, counter: &mut Counter) -> Result<Outcome, Kept> {
    let template = &job.wording.template;
    let file = |error: super::error::NotesError| Kept::File(error.to_string());
    check_room(template, &job.limits, counter).map_err(file)?;
    let mut cut = cut_to_fit(&mut document, &job.limits, counter);
    // A cut can take away what opened a fence: a comment in code then looks like a header.
    if let Err(Breach::Added(_)) = document.check(template.outline()) {
        document.neutralise(template.outline());
        cut.extend(cut_to_fit(&mut document, &job.limits, counter));
        cut.sort();
        cut.dedup();
    }
    document.check(template.outline()).map_err(|breach| Kept::Invalid(breach.to_string()))?;
    if document.is_empty() && !job.notes.is_empty() {
        return Err(Kept::Invalid("nothing is left of them".to_owned()));
    }
    let text = document.to_text();
    if job.file.read().map_err(file)? != job.found {
        return Err(Kept::Disturbed);
    }
    job.file.write(&text).map_err(file)?;
    let record = NotesRecord {
        covers: job.covers.clone(),
        tokens: counter.text(&text),
        context_tokens: job.context_tokens,
        hash: text_hash(&text),
        by: by.by,
        receipt: by.receipt,
    };
    Ok(Outcome::Written { record, cut })
}
