//! Has a model write a summary, in a bounded number of requests.

use crate::session::Frame;
use throughline_core::compaction;
use throughline_core::cost::Price;
use throughline_core::profile::CompactLimits;
use throughline_core::{Entry, Message};
use throughline_model::{CancelToken, Caps, End, ErrorKind, Fork, Forked, Model, Prefix, Receipt, Tail};

/// Who writes, and within what.
pub(crate) struct SummaryWriter<'a> {
    pub(crate) model: &'a dyn Model,
    /// The system prompt for requests that do not begin with the parent's bytes.
    pub(crate) system: &'a str,
    pub(crate) limits: &'a CompactLimits,
    pub(crate) caps: &'a Caps,
    pub(crate) price: &'a Price,
}

/// What is to be written about.
pub(crate) struct Subject<'a> {
    /// The request for it.
    pub(crate) ask: Message,
    /// The conversation's last request and what was said since, where the model can go on from it.
    pub(crate) parent: Option<(Prefix, Vec<Message>)>,
    /// The conversation, with the tokens of each message.
    pub(crate) entries: &'a [Entry],
    pub(crate) tokens: &'a [u64],
}

/// What came of it.
pub(crate) struct Written {
    /// The text, or why there is none.
    pub(crate) text: Result<String, String>,
    /// What it cost, request by request.
    pub(crate) receipts: Vec<Receipt>,
}

/// Why there is no text.
enum Unwritten {
    /// The request for it is too long, by so many tokens where that is known.
    TooLong(Option<u64>),
    /// Something else.
    Other(String),
}

impl SummaryWriter<'_> {
    /// Asks behind the parent's exact prefix, so that the cache hits; if that is too long, without its oldest rounds (P5d).
    pub(crate) async fn write(&self, subject: Subject<'_>) -> Written {
        let mut receipts = Vec::new();
        let text = self.ask(subject, &mut receipts).await;
        Written { text, receipts }
    }

    async fn ask(&self, subject: Subject<'_>, receipts: &mut Vec<Receipt>) -> Result<String, String> {
        let Subject { ask, parent, entries, tokens } = subject;
        let mut gap = None;
        let mut from = 0;
        let mut tried_whole = false;
        if let Some((prefix, since)) = parent {
            match self.fork(&prefix, &since, ask.clone(), Tail::default(), receipts).await {
                Ok(text) => return Ok(text),
                Err(Unwritten::Other(why)) => return Err(why),
                Err(Unwritten::TooLong(by)) => {
                    gap = by;
                    tried_whole = true;
                }
            }
        }
        for retry in 0..=self.limits.retries {
            if tried_whole {
                if retry == self.limits.retries {
                    break;
                }
                match compaction::drop_oldest(&entries[from..], &tokens[from..], gap, self.limits) {
                    Some(at) => from += at,
                    None => break,
                }
            }
            tried_whole = true;
            // A request of its own: no tools, no thinking.
            let mut frame = Frame::new(self.model.wire(), self.model.id());
            self.system.clone_into(&mut frame.system);
            let body = frame.request(&super::plain(&entries[from..]));
            let prefix = Prefix::new(self.model.wire(), body.to_vec()).map_err(|error| error.to_string())?;
            let tail = Tail { without_thinking: true, ..Tail::default() };
            match self.fork(&prefix, &[], ask.clone(), tail, receipts).await {
                Ok(text) => return Ok(text),
                Err(Unwritten::Other(why)) => return Err(why),
                Err(Unwritten::TooLong(by)) => gap = by,
            }
        }
        Err("the request for a summary is too long even without its oldest rounds".to_owned())
    }

    async fn fork(
        &self,
        prefix: &Prefix,
        since: &[Message],
        ask: Message,
        tail: Tail,
        receipts: &mut Vec<Receipt>,
    ) -> Result<String, Unwritten> {
        let fork = Fork {
            job: "summary",
            model: self.model,
            prefix,
            since,
            ask,
            caps: self.caps,
            price: self.price,
            tail,
            cancel: CancelToken::new(),
        };
        let forked = fork.run(&mut super::TextOnly).await;
        receipts.push(forked.receipt.clone());
        outcome(forked)
    }
}

/// What a fork wrote, or why it did not.
fn outcome(forked: Forked) -> Result<String, Unwritten> {
    match forked.end {
        // An answer that reached a limit may be whole enough: the check sees to the rest.
        End::Done | End::Capped(_) => super::read(&forked)
            .map_err(|why| Unwritten::Other(format!("{why} (the request ended: {})", forked.end))),
        End::Failed(error) if error.kind() == ErrorKind::TooLong => Err(Unwritten::TooLong(error.gap())),
        End::Failed(error) => Err(Unwritten::Other(error.to_string())),
        End::Cancelled => Err(Unwritten::Other("it was cancelled".to_owned())),
    }
}
