//! Smaller requests after a rejection as too long. The client does not notice.

use super::turn::Sent;
use super::window::Learnt;
use super::{ManageError, Report, Thread, Turn, Working, guarded};
use crate::relay::TooLong;
use serde_json::json;
use std::sync::Arc;
use throughline_core::compaction::Trigger;
use throughline_core::pipeline::{Journal as _, Moment};
use throughline_core::{Event, Record};

impl Turn {
    /// The same request with a smaller prompt than the rejected one, if there can be one.
    pub(super) async fn shrink(&self, rejection: TooLong) -> Option<Self> {
        let thread = self.thread.clone();
        let rejected = {
            let bytes = self.attempt.outgoing.new_body().unwrap_or(&self.asked.body).len();
            Rejected { rejection, bytes, number: self.shrinks() + 1 }
        };
        let (work, asked) = (thread.clone(), self.asked.clone());
        let task = tokio::task::spawn_blocking(move || work.shrink(&asked, rejected));
        match guarded::within(thread.world.limits.our_time, task).await {
            Ok(smaller) => {
                let (body, sent) = smaller?;
                let sent = Some(Arc::new(sent.after(self.sent.as_deref())));
                Some(Self { attempt: self.attempt.smaller(body), sent, ..self.clone() })
            }
            Err(error) => {
                thread.world.reports.add((thread.world.now)(), Report::Uncured(error.to_string()));
                None
            }
        }
    }
}

/// A request that was rejected as too long.
struct Rejected {
    rejection: TooLong,
    /// Its length.
    bytes: usize,
    number: u8,
}

impl Thread {
    /// The same request after a stronger rung, if that makes it smaller. What the provider said about its window holds from here
    /// on.
    fn shrink(
        self: &Arc<Self>,
        asked: &super::Asked,
        rejected: Rejected,
    ) -> Result<Option<(bytes::Bytes, Sent)>, ManageError> {
        let moment = Moment { now: Some(asked.at), compact: Some(Trigger::TooLong), ..Moment::default() };
        self.work(|working| {
            let Rejected { rejection, bytes, number } = rejected;
            let window = self.learn_window(working, &rejection);
            let prepared = self.prepare(working, asked, &moment)?;
            let is_smaller = prepared.pass.changed() && prepared.bytes.len() < bytes;
            let settings = working.preparer.pipeline().map(|pipeline| pipeline.settings());
            let data = json!({
                "number": number,
                "status": rejection.status.map(|status| status.as_u16()),
                "said": {"tokens": rejection.overrun.tokens, "limit": rejection.overrun.limit, "over": rejection.overrun.over},
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

    fn learn_window(&self, working: &mut Working, rejection: &TooLong) -> Option<u64> {
        let settings = working.preparer.pipeline()?.settings();
        working.learnt.refused(&settings.model, self.wire, &rejection.overrun, settings.max_output)
    }
}
