//! Requests beside a conversation: tokens are counted, or the client has its history condensed by the provider.

use super::recognise::Native;
use super::takeover::Wanted;
use super::turn::Draft;
use super::{Asked, ManageError, RoutingDecision, Thread};
use crate::relay::OriginalReason;
use bytes::Bytes;
use std::sync::Arc;
use throughline_core::pipeline::Moment;
use throughline_engine::WriteError;
use throughline_wire::splice::Body;

impl Thread {
    /// What was decided about the conversation applies, so that the provider finds in its cache what it was sent before, and
    /// counts what it would be sent. Nothing is decided anew. `native`: how the client has it condensed, if that is what it wants.
    pub(super) fn side_request(
        self: &Arc<Self>,
        asked: &Arc<Asked>,
        native: Option<Native>,
    ) -> Result<RoutingDecision, ManageError> {
        let draft = self.work(|working| {
            if self.is_paused() {
                return Ok(None);
            }
            let expanded = self.expand(working.own.expand_beside(self.wire, &asked.body), asked)?;
            if let (None, Some(native)) = (working.preparer.pipeline(), native) {
                // It rested: what it was sent before has to be found again.
                let body = Body::share(self.wire, expanded.clone())?;
                if let Some(wanted) = Wanted::read(native, &body).map_err(WriteError::from)? {
                    let moment = Moment { now: Some(asked.at), ..Moment::default() };
                    working.preparer.take(wanted.conversation, &moment, &mut working.journal)?;
                }
            }
            working.preparer.allow_server_edits(asked.takes_server_edits());
            let body = working.preparer.reapply(&expanded)?.map_or(expanded, Bytes::from);
            let offered = working.own.offered_in(self.wire, &body);
            Ok(Some(Draft { offered, ..self.draft(working, asked, body) }))
        })?;
        Ok(match draft {
            Some(draft) => self.forward(asked, draft),
            None => self.world.pass_through(asked, OriginalReason::Paused),
        })
    }
}
