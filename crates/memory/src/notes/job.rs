//! One update that is under way, and waiting for it.

use super::document::Document;
use super::file::NotesFile;
use super::limits::NotesLimits;
use super::mend::mend;
use super::template::{Template, Wording};
use std::sync::Arc;
use std::time::Duration;
use throughline_core::MessageId;
use tokio::sync::watch;

/// An update that may be made now: what it starts from. There is at most one for a session at a time; dropping it gives
/// it up.
#[derive(Debug)]
pub struct Job {
    pub(super) file: NotesFile,
    pub(super) wording: Arc<Wording>,
    pub(super) limits: NotesLimits,
    /// The file when the update began; `None` if there was none.
    pub(super) found: Option<String>,
    /// The notes to change, in the template's structure.
    pub(super) notes: Document,
    /// What the new notes will cover.
    pub(super) covers: Option<MessageId>,
    pub(super) context_tokens: u64,
    pub(super) lease: Lease,
}

/// What is found in a file, in the template's structure: whatever shape it is in, nothing that it says is lost.
pub(super) fn in_structure(found: Option<&str>, template: &Template) -> Document {
    let Some(text) = found.filter(|text| !text.trim().is_empty()) else { return template.document() };
    let document = Document::parse(text, template.outline());
    if document.check(template.outline()).is_ok() {
        return document;
    }
    let mended = mend(text, template.outline());
    let mut document = template.skeleton();
    for (at, body) in mended.sections {
        document.set_body(at, &body);
    }
    let outside = mended.outside.as_str();
    if !outside.is_empty()
        && outside != template.outline().lead
        && let Some(last) = document.sections.last_mut()
    {
        let body = format!("{}\n{outside}", last.body());
        last.set_body(&body);
    }
    document
}

/// Held while an update is under way. Whoever waits is told when it is done, or dropped.
#[derive(Debug)]
pub(super) struct Lease(watch::Sender<bool>);

impl Lease {
    pub(super) fn new() -> (Self, Running) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), Running(receiver))
    }

    /// The work is done; the result is still to be taken in.
    pub(super) fn done(&self) {
        self.0.send_replace(true);
    }
}

/// An update that is under way. Clones watch the same one.
#[derive(Clone, Debug)]
pub struct Running(watch::Receiver<bool>);

/// How waiting for an update ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// The update is over, well or badly.
    Over,
    /// It still runs.
    StillRuns,
}

impl Running {
    /// Waits until the update is over, at most this long.
    pub async fn wait(mut self, most: Duration) -> Waited {
        let over = async { self.0.wait_for(|done| *done).await.is_ok() };
        // A lease that was dropped is over too.
        match tokio::time::timeout(most, over).await {
            Ok(_) => Waited::Over,
            Err(_) => Waited::StillRuns,
        }
    }

    /// Whether the update was neither taken in nor given up.
    pub(super) fn is_held(&self) -> bool {
        self.0.has_changed().is_ok()
    }
}
