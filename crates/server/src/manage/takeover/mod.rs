//! Compactions that a client asks its provider for, answered here.
//!
//! The whole record of the conversation is condensed, by the offline scribe or the user's own model, and checked against the
//! facts. The text goes to the client in the form that it expects; it is in the ledger (`proxy.compacted`), and beside it as a
//! page to read. What can't be condensed is asked of the provider, as without us.

mod answer;
mod ask;
mod blob;
mod kept;

pub(super) use ask::Wanted;
pub(crate) use kept::{Summaries, expand};

use super::recognise::Native;
use super::{Accounted, Asked, Client, LocalAnswer, ManageError, Report, Thread};
use blob::Blob;
use std::collections::HashSet;
use std::sync::Arc;
use throughline_core::compaction::{Declined, Draft, Scaffold, Verdict, is_handed_over};
use throughline_core::pipeline::{Journal as _, Moment};
use throughline_core::profile::Strategy;
use throughline_core::{Entry, Event, Message, Record, content_id};
use throughline_engine::{Order, Restored, WriteError, compact, compact_by_model};
use throughline_model::Receipt;
use throughline_wire::splice::Body;

/// Tokens of a summary, where the profile does not say.
const BUDGET: u64 = 10_000;

/// What is shorter than twice this is not condensed here.
const LEAST_BUDGET: u64 = 1_000;

/// A compaction that is answered here.
pub(super) struct TakeOver {
    pub(super) thread: Arc<Thread>,
    pub(super) asked: Arc<Asked>,
    pub(super) native: Native,
}

/// What is condensed.
struct Subject {
    wanted: Wanted,
    /// Everything that was ever said.
    said: Vec<Arc<Message>>,
    /// The client's history as it stands.
    view: Vec<Entry>,
}

/// Who wrote a draft, and what it cost.
struct Drafted {
    draft: Draft,
    by: String,
    receipts: Vec<Receipt>,
}

/// A summary that a client gets.
struct Written {
    blob: Blob,
    text: String,
    /// The new history, the summary in it.
    entries: Vec<Entry>,
    /// Tokens before and after.
    tokens: (u64, u64),
    verdict: Option<Verdict>,
    by: String,
    native: Native,
    instructions: Option<String>,
}

impl TakeOver {
    /// The answer; `None` if the provider is to be asked after all.
    pub(super) async fn answer(self) -> Option<LocalAnswer> {
        let world = self.thread.world.clone();
        let limit = world.limits.compaction;
        let report = match tokio::time::timeout(limit, Arc::new(self).write()).await {
            Ok(Ok(answer)) => return answer,
            Ok(Err(error)) => Report::NotTakenOver(error.to_string()),
            Err(_) => Report::NotTakenOver(format!("it took longer than {} s", limit.as_secs())),
        };
        world.reports.add((world.now)(), report);
        None
    }

    async fn write(self: Arc<Self>) -> Result<Option<LocalAnswer>, ManageError> {
        // 1. What is to be condensed: everything that was said is in the ledger first.
        let this = self.clone();
        let Some(subject) = blocking(move || this.gather()).await? else { return Ok(None) };
        // 2. The text.
        let subject = Arc::new(subject);
        let Some(drafted) = self.draft(&subject).await? else { return Ok(None) };
        // 3. It is kept before anybody gets it.
        blocking(move || self.keep(&subject.wanted, drafted)).await.map(Some)
    }

    fn gather(&self) -> Result<Option<Subject>, ManageError> {
        let Self { thread, asked, native } = self;
        let said = thread.work(|working| Ok(working.own.expand_beside(thread.wire, &asked.body)))?;
        let body = Body::share(thread.wire, thread.expand(said, asked)?)?;
        let Some(wanted) = Wanted::read(*native, &body).map_err(WriteError::from)? else { return Ok(None) };
        let moment = Moment { now: Some(asked.at), ..Moment::default() };
        let ledger = thread.work(|working| {
            working.preparer.take(wanted.conversation.clone(), &moment, &mut working.journal)?;
            Ok(working.journal.path().to_owned())
        })?;
        let mut known = HashSet::new();
        let mut said = Restored::read(&thread.world.home, &ledger)?.messages;
        // A client that went back has its messages recorded again.
        said.retain(|message| !message.flags.meta && known.insert(message.id.clone()));
        let view = entries(&Body::parse(thread.wire, wanted.conversation.clone())?);
        Ok(Some(Subject { wanted, said, view }))
    }

    /// How the text is written: Claude Code keeps nothing but the text, Codex keeps the user's words beside it.
    fn strategy(&self) -> Strategy {
        match (self.native, &self.thread.client) {
            (Native::ClaudePrompt, _) => Strategy::Summary,
            (Native::CodexPrompt | Native::Endpoint, _) | (Native::Trigger, Client::Codex) => {
                Strategy::Handoff
            }
            (Native::Trigger, Client::ClaudeCode | Client::Other(_)) => Strategy::Summary,
        }
    }

    fn order<'a>(&'a self, wanted: &'a Wanted) -> Order<'a> {
        let managing = &self.thread.world.managing;
        let limits = managing.profile.compact.as_ref();
        Order {
            strategy: self.strategy(),
            budget: limits.and_then(|limits| limits.result_tokens).unwrap_or(BUDGET),
            instructions: wanted.instructions.as_deref(),
            model: &wanted.model,
            cwd: self.thread.cwd.as_deref(),
            // Who asks by a prompt gives it again; whoever asks for the new input gets all of it.
            scaffold: match self.native {
                Native::Endpoint => Scaffold::Keep,
                Native::ClaudePrompt | Native::CodexPrompt | Native::Trigger => Scaffold::LeaveOut,
            },
            tools: managing.tools,
            now: Some(self.asked.at),
        }
    }

    /// The new history by the user's own model, where there is one; else by the offline scribe. `None` if there is nothing to
    /// condense.
    async fn draft(self: &Arc<Self>, subject: &Arc<Subject>) -> Result<Option<Drafted>, ManageError> {
        if let Some(scribe) = &self.thread.world.managing.scribe {
            let Subject { wanted, said, view } = &**subject;
            match compact_by_model(said, view, &self.order(wanted), &*scribe.0).await {
                Ok(written) => {
                    let by = scribe.0.id().to_owned();
                    return Ok(Some(Drafted { draft: written.draft, by, receipts: written.receipts }));
                }
                Err(error) => tracing::warn!("the offline scribe takes over: {error}"),
            }
        }
        let (this, subject) = (self.clone(), subject.clone());
        blocking(move || {
            let Subject { wanted, said, view } = &*subject;
            let order = this.order(wanted);
            let draft = match compact(said, view, &order) {
                // What is short is condensed to half of it.
                Err(Declined::NotSmaller { before, .. }) if before / 2 >= LEAST_BUDGET => {
                    compact(said, view, &Order { budget: before / 2, ..order })
                }
                drafted => drafted,
            };
            let draft = draft.ok();
            Ok(draft.map(|draft| Drafted {
                draft,
                by: "the offline scribe".to_owned(),
                receipts: Vec::new(),
            }))
        })
        .await
    }

    fn keep(&self, wanted: &Wanted, drafted: Drafted) -> Result<LocalAnswer, ManageError> {
        let Self { thread, asked, native } = self;
        let Drafted { draft, by, receipts } = drafted;
        let written = Written {
            blob: Blob::of(&thread.session, &draft.text),
            tokens: (draft.tokens_before, draft.tokens_after),
            verdict: draft.verdict,
            text: draft.text,
            entries: draft.entries,
            by,
            native: *native,
            instructions: wanted.instructions.clone(),
        };
        let (file, page) = kept::readable(&written, asked);
        throughline_ledger::write_private(&thread.folder(), &file, page.as_bytes())?;
        let accounted =
            Accounted { model: wanted.model.clone(), answered_here: true, ..Accounted::default() };
        thread.work(|working| {
            for receipt in &receipts {
                let data = serde_json::to_value(receipt).unwrap_or_default();
                let event = Event { at: Some(asked.at), name: "receipt".to_owned(), data };
                working.journal.append(Record::Event(Box::new(event)))?;
            }
            working.journal.append(Record::Event(Box::new(kept::event(&written, asked, &file))))?;
            working.journal.append(Record::Event(Box::new(accounted.to_event(asked.at))))?;
            Ok(working.journal.end_turn()?)
        })?;
        thread.account().asked(asked.at, None);
        thread.account().count(&accounted);
        thread.world.count(&accounted);
        thread.world.summaries.keep(&written);
        Ok(answer::answer(wanted, &written, asked.at)?)
    }
}

/// The messages of a request as entries, with the ids that the ledger knows them by.
fn entries(body: &Body) -> Vec<Entry> {
    let mut parent = None;
    body.messages(0..body.len())
        .map(|mut message| {
            message.flags.summary = is_handed_over(&message);
            message.id = content_id(parent.as_ref(), &message);
            message.parent = parent.replace(message.id.clone());
            Entry::from(message)
        })
        .collect()
}

/// Off the threads that serve connections.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ManageError> + Send + 'static,
) -> Result<T, ManageError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(ManageError::Panicked))
}
