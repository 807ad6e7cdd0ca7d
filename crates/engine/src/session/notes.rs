//! Session notes, kept while the conversation goes on (N).

use super::ahead::wait_for;
use super::{Scribe, Session, SessionError};
use crate::telemetry::span::{self, Work};
use std::path::Path;
use std::sync::Arc;
use throughline_core::compaction::Notes;
use throughline_core::tokens::Counter;
use throughline_core::{Event, Message, SessionId};
use throughline_ledger::Home;
use throughline_memory::notes::{
    Author, JOB, Keeping, NotesFile, NotesKeeper, Observation, Thread, Update, Updated, update,
};
use throughline_memory::{Checkout, ProjectSlug};
use throughline_model::{Permit, Usage};
use tracing::{Instrument, Span};

/// Tokens that an update of the notes writes, as a rule.
const USUAL_OUTPUT: u64 = 3_000;

impl Session {
    /// Begins to keep notes, where the settings ask for them. Without a folder that they could belong to there are none.
    pub(super) fn keep_notes(&mut self, cwd: Option<&str>, events: &[Event]) {
        let (Some(limits), Some(cwd)) = (self.settings.notes, cwd) else { return };
        let file = notes_file(&self.home, &self.id, Path::new(cwd));
        let keeping = Keeping { file, wording: self.settings.wording.clone(), limits };
        let mut counter = Counter::for_model(&self.frame.model);
        match NotesKeeper::open(keeping, events.iter().rev(), &mut counter) {
            Ok((mut keeper, problem)) => {
                let entries = self.pipeline.view().entries();
                keeper.compacted(|id| entries.iter().any(|entry| entry.message.id == *id));
                self.notes = Some(keeper);
                self.warnings.extend(problem.map(|problem| problem.to_string()));
            }
            // A session is worth more than its notes.
            Err(error) => self.warnings.push(error.to_string()),
        }
    }

    /// Something was answered: perhaps it is time for the notes. They are written in the background.
    pub(super) fn observe_answer(&mut self) {
        let said = std::mem::take(&mut self.unobserved);
        let Some(keeper) = &mut self.notes else { return };
        let tokens = self.pipeline.tokens();
        keeper.observe(Observation::of(tokens, said.iter().map(|message| &**message), Thread::Main));
        if keeper.due().is_some() {
            self.begin_notes();
        }
    }

    fn begin_notes(&mut self) {
        // Outside a runtime there is no background.
        if tokio::runtime::Handle::try_current().is_err() || self.background.notes.is_some() {
            return;
        }
        let author = self.notes.as_ref().map_or(Author::Offline, NotesKeeper::author);
        let by_model = if author == Author::Model { self.helper(JOB, USUAL_OUTPUT) } else { None };
        let shown: Vec<Arc<Message>> = self.pipeline.view().messages().collect();
        let Some(keeper) = &mut self.notes else { return };
        let job = match keeper.begin(shown.iter().map(|message| &**message)) {
            Ok(Some(job)) => job,
            Ok(None) => return,
            Err(error) => return self.warnings.push(error.to_string()),
        };
        let knowledge = self.pipeline.knowledge().clone();
        let mut counter = Counter::for_model(&self.frame.model);
        let price = self.pipeline.settings().price.clone();
        let span = span::background(&self.id, Work::Notes);
        let work = async move {
            let by = by_model.as_ref().map(|helper| helper.ask(&price));
            let updated =
                update(Update { job, model: by, knowledge: &knowledge, counter: &mut counter }).await;
            if let (Some(permit), Some(receipt)) =
                (by_model.and_then(|helper| helper.permit), &updated.receipt)
            {
                // What can't be written now the governor keeps, and lets nothing begin before it is.
                let _ = permit.settle(receipt.clone());
            }
            span::noted(&Span::current(), &updated);
            updated
        };
        self.background.notes = Some(tokio::spawn(work.instrument(span)));
    }

    /// Takes in what came of an update.
    pub(super) fn take_notes(&mut self, updated: Updated) -> Result<(), SessionError> {
        let by_model = updated.receipt.is_some();
        if let Some(receipt) = &updated.receipt {
            self.keep_receipt(receipt)?;
        }
        if let Some(keeper) = &mut self.notes {
            let event = keeper.finish(updated, Some((self.settings.now)()));
            // The view may have been replaced since the update began.
            let entries = self.pipeline.view().entries();
            keeper.compacted(|id| entries.iter().any(|entry| entry.message.id == *id));
            self.append_event(event)?;
        }
        if by_model { self.take_title() } else { Ok(()) }
    }

    /// A session that nobody named is called what its notes call it.
    fn take_title(&mut self) -> Result<(), SessionError> {
        if self.title().is_some() {
            return Ok(());
        }
        let notes = self.notes.as_ref().and_then(|keeper| keeper.notes().ok()).flatten();
        match notes.as_ref().and_then(|notes| title_in(&notes.text)) {
            Some(title) => self.set_title(title),
            None => Ok(()),
        }
    }

    /// The notes for a compaction (P5a), after an update that runs. Notes of the offline scribe are passed over: it writes
    /// anew at once, and knows more now.
    pub(super) async fn notes_for_compaction(&mut self) -> Result<Option<Notes>, SessionError> {
        let Some(keeper) = &self.notes else { return Ok(None) };
        if matches!(self.models.scribe, Scribe::Offline) {
            return Ok(None);
        }
        // How far an update reaches is known only once it was taken in, and must be in the ledger before the checkpoint.
        let most = keeper.limits().wait();
        if let Some(updated) = wait_for(&mut self.background.notes, most).await {
            self.take_notes(updated)?;
        }
        Ok(self.notes.as_ref().and_then(|keeper| keeper.notes().ok()).flatten())
    }

    /// Leave for a job in the background: a permit where there is a governor.
    pub(super) fn permit(&self, job: &str, output: u64) -> Result<Option<Permit>, throughline_model::Denied> {
        let Some(governor) = &self.settings.governor else { return Ok(None) };
        let settings = self.pipeline.settings();
        let cached = self.pipeline.tokens();
        let estimate = Usage { cache_read: cached, output, ..Usage::default() };
        let split = throughline_core::cost::Split { read: cached, output, ..Default::default() };
        let dollars = settings.price.charge(&split, settings.ttl).dollars.as_f64();
        let job = throughline_model::Job {
            name: job,
            session: Some(self.id.as_str()),
            estimate,
            dollars,
            standing: self.settings.standing,
        };
        governor.ask(&job, self.now()).map(Some)
    }
}

/// Where the notes of a session are: with the project's, or where they were begun. Where a repository comes from does not matter
/// here: that may change between two sittings of a session.
pub fn notes_file(home: &Home, session: &SessionId, cwd: &Path) -> NotesFile {
    let of = |folder: &Path| NotesFile::new(home, &ProjectSlug::of(folder), session);
    let (project, folder) = (of(&Checkout::of(cwd).root), of(cwd));
    if !project.path().exists() && folder.path().exists() { folder } else { project }
}

/// The title that notes give, without the guide that stands above it.
fn title_in(notes: &str) -> Option<&str> {
    let section = notes.lines().skip_while(|line| line.trim() != "# Session Title").skip(1);
    let mut lines = section.take_while(|line| !line.starts_with("# ")).map(str::trim);
    let is_guide = |line: &str| line.starts_with('_') && line.ends_with('_');
    lines.find(|line| !line.is_empty() && !is_guide(line))
}

#[cfg(test)]
mod tests {
    use super::title_in;

    #[test]
    fn the_title_is_the_first_line_of_its_section() {
        let notes =
            "# Session Title\n_five to ten words_\n\nRetry loop of the upload\n\n# Current State\nx\n";
        assert_eq!(title_in(notes), Some("Retry loop of the upload"));
        assert_eq!(title_in("# Session Title\n_five to ten words_\n# Current State\nx"), None);
    }
}
