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
/// The share from which on the beginning of a stream is looked at before the client gets it, in tenths: windows are not always
/// as large as they are said to be.
const LARGE: u64 = 5;

/// A provider's refusal.
pub(super) enum Refusal {
    /// The prompt is too long.
    TooLong(TooLong),
    /// The prompt would fit, but not the answer that was asked for: clients deal with that.
    AnswerTooLong,
    /// It is about something else.
    Other,
}

/// A refusal of a prompt as too long.
#[derive(Clone, Copy)]
pub(super) struct TooLong {
    /// `None` for one that came in a stream.
    status: Option<StatusCode>,
    /// What it says about the size.
    overrun: Overrun,
    /// It says nothing at all.
    is_silent: bool,
}

impl Refusal {
    /// What a provider means by a status and a report, or by an error in a stream.
    pub(super) fn read(status: Option<StatusCode>, report: &[u8]) -> Self {
        match overrun(status.map(|status| status.as_u16()), report) {
            Some(overrun) if overrun.prompt_fits => Self::AnswerTooLong,
            Some(overrun) => {
                Self::TooLong(TooLong { status, overrun, is_silent: report.trim_ascii().is_empty() })
            }
            None => Self::Other,
        }
    }
}

/// A turn whose prompt is smaller than the one that was refused, if there can be one. The refusal goes to the client otherwise.
pub(super) async fn cure(turn: &Turn, refusal: TooLong) -> Option<Turn> {
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
    refusal: TooLong,
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
            Ok(is_smaller.then_some((prepared.bytes, sent)))
        })
    }

    fn learn_window(&self, working: &mut Working, refusal: &TooLong) -> Option<u64> {
        let settings = working.preparer.pipeline()?.settings();
        working.learnt.refused(&settings.model, self.wire, &refusal.overrun, settings.max_output)
    }
}

/// Whether a conversation fills its window, as far as we can count.
fn is_near(working: &Working) -> bool {
    fills(working, NEAR)
}

/// Whether a conversation may be too long for a provider after all.
pub(super) fn is_large(working: &Working) -> bool {
    fills(working, LARGE)
}

fn fills(working: &Working, tenths: u64) -> bool {
    let pipeline = working.preparer.pipeline();
    pipeline.is_some_and(|pipeline| pipeline.tokens() >= pipeline.settings().window / 10 * tenths)
}
