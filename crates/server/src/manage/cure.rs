//! Requests that a provider finds too long, made smaller and sent again. The client does not notice.

use super::turn::Sent;
use super::window::Learnt;
use super::{ManageError, Report, Thread, Turn, Working};
use http::StatusCode;
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use throughline_core::compaction::Trigger;
use throughline_core::pipeline::{Journal as _, Moment};
use throughline_core::{Event, Record};
use throughline_model::{Overrun, overrun};

/// How often one request is cured at most.
const CURES: u8 = 2;
/// The share of the window from which on a refusal without a word is taken to be about the size, in tenths.
const NEAR: u64 = 8;

/// A provider's refusal.
#[derive(Clone, Copy)]
pub(super) struct Refusal {
    /// `None` for one that came in a stream.
    pub(super) status: Option<StatusCode>,
    /// What it says about the size.
    overrun: Overrun,
    /// It says nothing at all.
    is_silent: bool,
}

impl Refusal {
    /// A refusal that is about the size of the prompt; others are the client's to deal with, and so is an answer that was asked
    /// for too long.
    pub(super) fn read(status: Option<StatusCode>, report: &[u8]) -> Option<Self> {
        let overrun = overrun(status.map(|status| status.as_u16()), report)?;
        let is_silent = report.trim_ascii().is_empty();
        (!overrun.prompt_fits).then_some(Self { status, overrun, is_silent })
    }
}

/// A turn whose prompt is smaller than the one that was refused, if there can be one. The refusal goes to the client otherwise.
pub(super) async fn cure(turn: &Turn, refusal: Refusal) -> Option<Turn> {
    if turn.cures >= CURES {
        return None;
    }
    let thread = turn.thread.clone();
    let limit = thread.world.limits.our_time;
    let work = {
        let (thread, asked) = (thread.clone(), turn.asked.clone());
        let refused = turn.body.as_ref().map_or(asked.body.len(), |body| body.len());
        let number = turn.cures + 1;
        tokio::task::spawn_blocking(move || {
            let smaller = || thread.shrink(&asked, Refused { refusal, bytes: refused, number });
            catch_unwind(AssertUnwindSafe(smaller))
        })
    };
    let report = match tokio::time::timeout(limit, work).await {
        Ok(Ok(Ok(Ok(smaller)))) => {
            let (body, sent) = smaller?;
            let sent = Some(Arc::new(sent.after(turn.sent.as_deref())));
            return Some(Turn { cures: turn.cures + 1, body: Some(body), sent, ..turn.again() });
        }
        Ok(Ok(Ok(Err(error)))) => Report::Uncured(error.to_string()),
        Ok(Ok(Err(_)) | Err(_)) => Report::Uncured("our code panicked; please report it".to_owned()),
        Err(_) => Report::Uncured(format!("it took longer than {} ms", limit.as_millis())),
    };
    thread.world.reports.add((thread.world.now)(), report);
    None
}

/// A request that was refused.
struct Refused {
    refusal: Refusal,
    /// How long it was.
    bytes: usize,
    number: u8,
}

impl Thread {
    /// The same request after a stronger rung, if that makes it smaller. What the provider said about its window holds from here
    /// on.
    fn shrink(
        self: &Arc<Self>,
        asked: &super::Asked,
        refused: Refused,
    ) -> Result<Option<(bytes::Bytes, Sent)>, ManageError> {
        let moment = Moment { now: Some(asked.at), compact: Some(Trigger::TooLong), ..Moment::default() };
        self.work(|working| {
            let Refused { refusal, bytes, number } = refused;
            if refusal.is_silent && !is_near(working) {
                return Ok(None);
            }
            let window = self.learn_window(working, &refusal);
            let prepared = self.prepare(working, asked, &moment)?;
            let is_smaller = prepared.pass.changed() && prepared.bytes.len() < bytes;
            let settings = working.preparer.pipeline().map(|pipeline| pipeline.settings());
            let data = json!({
                "number": number,
                "status": refusal.status.map(|status| status.as_u16()),
                "said": {"tokens": refusal.overrun.tokens, "limit": refusal.overrun.limit, "over": refusal.overrun.over},
                "model": settings.map(|settings| settings.model.as_str()),
                "window": window,
                "sent_again": is_smaller,
                "bytes_before": bytes,
                "bytes_after": prepared.bytes.len(),
                "tokens_before": prepared.pass.tokens_before,
                "tokens_after": prepared.pass.tokens_after,
            });
            let event = Event { at: Some(asked.at), name: Learnt::EVENT.to_owned(), data };
            working.journal.append(Record::Event(Box::new(event)))?;
            let sent = self.measure(asked, working, &prepared)?;
            Ok(is_smaller.then(|| (prepared.bytes.into(), sent)))
        })
    }

    fn learn_window(&self, working: &mut Working, refusal: &Refusal) -> Option<u64> {
        let settings = working.preparer.pipeline()?.settings();
        working.learnt.refused(&settings.model, self.wire, &refusal.overrun, settings.max_output)
    }
}

/// Whether a conversation fills its window, as far as we can count.
fn is_near(working: &Working) -> bool {
    working
        .preparer
        .pipeline()
        .is_some_and(|pipeline| pipeline.tokens() >= pipeline.settings().window / 10 * NEAR)
}
