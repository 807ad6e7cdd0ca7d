//! One update that is under way.

use super::document::Document;
use super::file::NotesFile;
use super::limits::NotesLimits;
use super::mend::mend;
use super::template::{Template, Wording};
use std::sync::{Arc, Weak};
use throughline_core::MessageId;

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

/// Held while an update is under way, until it was taken in or given up.
#[derive(Debug)]
pub(super) struct Lease(#[expect(dead_code, reason = "held, not read")] Arc<()>);

/// An update that is under way.
#[derive(Debug)]
pub(super) struct Running(Weak<()>);

impl Lease {
    pub(super) fn new() -> (Self, Running) {
        let lease = Arc::new(());
        let running = Running(Arc::downgrade(&lease));
        (Self(lease), running)
    }
}

impl Running {
    /// Returns whether the update was neither taken in nor given up.
    pub(super) fn is_held(&self) -> bool {
        self.0.strong_count() > 0
    }
}
