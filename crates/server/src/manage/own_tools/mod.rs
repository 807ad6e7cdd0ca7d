//! Tools of ours that the model is offered, and whose calls the client never sees.
//!
//! - `offer.rs`: whether a conversation gets them. Decided once, recorded, and the same for all of its requests.
//! - `answer.rs`: what their calls are answered with.
//! - `turn.rs`: one answer of the model, and the ones that continue it; `relay/stitched.rs` sends and receives them.
//!
//! An answer that was made of several is in the ledger (`proxy.stitched`) before the client has its end. From then on every request
//! that repeats it is sent with what the model really said and with our results, so that the model sees what it did and
//! the provider finds its prefix again.

mod answer;
mod offer;
mod turn;

pub(crate) use turn::OwnTurn;

use super::{Asked, ManageError};
use bytes::Bytes;
use offer::Offer;
use serde_json::Value;
use throughline_core::pipeline::{Journal as _, Moment};
use throughline_core::stages::{OwnTools, snip};
use throughline_core::{Event, Record, Wire, recall};
use throughline_engine::{LedgerJournal, Preparer, Restored};
use throughline_wire::splice::Body;
use throughline_wire::stitch::{Expander, Stitched};

/// An answer that was made of several.
const STITCHED: &str = "proxy.stitched";

/// What a conversation knows of our tools.
#[derive(Default)]
pub(in crate::manage) struct Own {
    /// `None`: not decided yet.
    offer: Option<Offer>,
    expander: Expander,
}

impl Own {
    /// As an earlier process left it.
    pub(in crate::manage) fn restored(restored: &Restored) -> Self {
        let mut own = Self::default();
        if !restored.messages.is_empty() {
            // Whatever began without them goes on without them.
            own.offer = Some(Offer::default());
        }
        for event in &restored.events {
            if event.name == STITCHED {
                if let Ok(stitched) = serde_json::from_value::<Stitched>(event.data.clone()) {
                    own.expander.learn(stitched);
                }
            } else if let Some(offer) = Offer::of(event) {
                own.offer = Some(offer);
            }
        }
        own
    }

    /// Before a request is taken in: decides, if nothing is decided, whether the model gets our tools.
    pub(in crate::manage) fn offer(
        &mut self,
        asking: &Asking<'_>,
        preparer: &mut Preparer,
        journal: &mut LedgerJournal,
    ) -> Result<(), ManageError> {
        if self.offer.is_none() && asking.wanted != OwnTools::default() {
            let body = Body::share(asking.wire, asking.asked.body.clone())?;
            if let Some(offer) = Offer::decide(&body, asking.wanted) {
                self.record(offer, asking.moment, journal)?;
            }
        }
        preparer.offer(self.offer.as_ref().map(|offer| offer.tools).unwrap_or_default());
        Ok(())
    }

    /// The names of those that the request that was taken in last is sent with.
    pub(in crate::manage) fn offered(&self, preparer: &Preparer) -> Vec<&'static str> {
        match &self.offer {
            Some(offer) if preparer.offers() => names(offer.tools),
            Some(_) | None => Vec::new(),
        }
    }

    /// Takes the tools back, for good: the provider did not get along with them.
    pub(in crate::manage) fn withdraw(
        &mut self,
        why: &str,
        moment: &Moment,
        journal: &mut LedgerJournal,
    ) -> Result<(), ManageError> {
        self.record(Offer { tools: OwnTools::default(), why: Some(why.to_owned()) }, moment, journal)
    }

    fn record(
        &mut self,
        offer: Offer,
        moment: &Moment,
        journal: &mut LedgerJournal,
    ) -> Result<(), ManageError> {
        journal.append(Record::Event(Box::new(offer.to_event(moment.now))))?;
        self.offer = Some(offer);
        Ok(())
    }

    /// The request with what the model really said in it; as it came where there is nothing to put back, or it can't be done.
    pub(in crate::manage) fn expand(&mut self, wire: Wire, bytes: &Bytes) -> Option<Vec<u8>> {
        // What can't be read is reported by whoever reads it next.
        self.expander.expand(bytes, wire).ok().flatten()
    }

    /// As [`expand`](Self::expand), for a request beside the conversation.
    pub(in crate::manage) fn expand_beside(&self, wire: Wire, bytes: &[u8]) -> Option<Vec<u8>> {
        self.expander.expand_beside(bytes, wire).ok().flatten()
    }

    /// The names of ours among the tools of a request as it is to be sent.
    pub(in crate::manage) fn offered_in(&self, wire: Wire, sent: &[u8]) -> Vec<&'static str> {
        let ours = self.offer.as_ref().map(|offer| names(offer.tools)).unwrap_or_default();
        if ours.is_empty() {
            return ours;
        }
        let tools = Body::parse(wire, sent).ok().and_then(|body| body.get("tools"));
        let there: Vec<String> =
            tools.iter().filter_map(|tools| tools.as_array()).flatten().filter_map(name).collect();
        ours.into_iter().filter(|own| there.iter().any(|name| name == own)).collect()
    }

    /// One more answer that was made of several.
    fn learn(
        &mut self,
        stitched: Stitched,
        moment: &Moment,
        journal: &mut LedgerJournal,
    ) -> Result<(), ManageError> {
        let data = serde_json::to_value(&stitched).unwrap_or_default();
        journal.append(Record::Event(Box::new(Event { at: moment.now, name: STITCHED.to_owned(), data })))?;
        self.expander.learn(stitched);
        Ok(())
    }
}

/// A request that our tools may be offered in.
pub(in crate::manage) struct Asking<'a> {
    pub(in crate::manage) wire: Wire,
    pub(in crate::manage) asked: &'a Asked,
    /// Those that the settings want.
    pub(in crate::manage) wanted: OwnTools,
    pub(in crate::manage) moment: &'a Moment,
}

/// The name of a tool, as the wires write it.
fn name(tool: &Value) -> Option<String> {
    let name = tool.get("name").or_else(|| tool.get("function")?.get("name"));
    name.and_then(Value::as_str).map(str::to_owned)
}

/// The names of some of our tools.
fn names(tools: OwnTools) -> Vec<&'static str> {
    let snip = tools.snip.then_some(snip::NAME);
    snip.into_iter().chain(tools.recall.then_some(recall::NAME)).collect()
}
