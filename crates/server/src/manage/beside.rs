//! Requests beside a conversation: tokens are counted, or the client has its history condensed by the provider.

use super::recognise::Native;
use super::takeover::Wanted;
use super::{Asked, ManageError, OwnTurn, Thread, Verdict};
use bytes::Bytes;
use std::sync::Arc;
use throughline_core::pipeline::Moment;
use throughline_engine::WriteError;
use throughline_wire::splice::Body;

impl Thread {
    /// What was decided about the conversation applies, so that the provider finds in its cache what it was sent before, and
    /// counts what it would be sent. Nothing is decided anew. `native`: how the client has it condensed, if that is what it wants.
    pub(super) fn beside(
        self: &Arc<Self>,
        asked: &Arc<Asked>,
        native: Option<Native>,
    ) -> Result<Verdict, ManageError> {
        let (body, offered) = self.work(|working| {
            let expanded = self.expand(working.own.expand_beside(self.wire, &asked.body), asked)?;
            if let (None, Some(native)) = (working.preparer.pipeline(), native) {
                // It rested: what it was sent before has to be found again.
                let body = Body::share(self.wire, expanded.clone())?;
                if let Some(wanted) = Wanted::read(native, &body).map_err(WriteError::from)? {
                    let moment = Moment { now: Some(asked.at), ..Moment::default() };
                    working.preparer.take(wanted.conversation, &moment, &mut working.journal)?;
                }
            }
            let body = working.preparer.reapply(&expanded)?.map_or(expanded, Bytes::from);
            let offered = working.own.offered_in(self.wire, &body);
            Ok((body, offered))
        })?;
        Ok(match body {
            body if body == asked.body => Verdict::Pass,
            body if offered.is_empty() => Verdict::Instead(body),
            body => Verdict::Beside(Box::new(OwnTurn::new(self.clone(), asked.clone(), offered, body))),
        })
    }
}
