//! What is sent to the provider for one request: the client's own request or a rewritten one.
//!
//! All decisions about this are pure functions in this file; `retry.rs` executes them:
//!
//! - Sent first: the rewritten request, unless there is none or a reason speaks for the original ([`Attempt::first`]).
//! - After a rejection: [`Attempt::after_rejection`].
//! - On an error, panic or timeout of our own there is no rewritten request, so the original is sent.
//!
//! An original that is known to exceed the window is never sent while a rewritten request exists: the client gets the
//! provider's error instead.

use bytes::Bytes;
use http::StatusCode;
use throughline_model::{Overrun, overrun};

/// How often one request is made smaller at most.
pub(crate) const MAX_SHRINKS: u8 = 2;
/// Rejected rewrites after which the requests of a conversation are sent as the client wrote them.
const MAX_REJECTED_REWRITES: u32 = 3;

/// What is sent to the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outgoing {
    /// The client's own request. `resolved`: see [`Original::resolved`].
    Original { reason: OriginalReason, resolved: Option<Bytes> },
    /// A request with a body of ours.
    Rewritten(Bytes),
}

impl Outgoing {
    /// The body that replaces the client's bytes, if there is one.
    pub(crate) fn new_body(&self) -> Option<&Bytes> {
        match self {
            Self::Original { resolved, .. } => resolved.as_ref(),
            Self::Rewritten(body) => Some(body),
        }
    }

    /// The rewritten body, if it is one.
    pub(crate) fn rewritten(&self) -> Option<&Bytes> {
        match self {
            Self::Original { .. } => None,
            Self::Rewritten(body) => Some(body),
        }
    }

    /// Why the client's own request is sent, if it is.
    pub(crate) fn original_reason(&self) -> Option<OriginalReason> {
        match self {
            Self::Original { reason, .. } => Some(*reason),
            Self::Rewritten(_) => None,
        }
    }
}

/// Why the client's own request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OriginalReason {
    /// The request does not belong to a managed conversation.
    Unmanaged,
    /// The client asks something else in the session's name.
    SideRequest,
    /// No stage changed anything.
    NothingToDo,
    /// A person paused the conversation.
    Paused,
    /// The provider rejected the rewritten request; the original is the retry.
    AfterRejection,
    /// The provider rejected too many rewritten requests of this conversation.
    RejectedRewrites,
    /// An error, a panic or a timeout of our own.
    InternalError,
    /// The rewritten request lacks something that every request must contain.
    GuaranteeViolated,
}

impl OriginalReason {
    /// Each reason with its name in metrics and ledgers.
    pub(crate) const ALL: [(Self, &str); 8] = [
        (Self::Unmanaged, "unmanaged"),
        (Self::SideRequest, "side_request"),
        (Self::NothingToDo, "nothing_to_do"),
        (Self::Paused, "paused"),
        (Self::AfterRejection, "after_rejection"),
        (Self::RejectedRewrites, "rejected_rewrites"),
        (Self::InternalError, "internal_error"),
        (Self::GuaranteeViolated, "guarantee_violated"),
    ];

    /// Its name in metrics and ledgers.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(other, _)| *other == self).map_or("", |(_, name)| name)
    }

    /// The reason against rewriting in a conversation of which the provider rejected so many rewritten requests.
    pub(crate) fn from_rejected_rewrites(rejected: u32) -> Option<Self> {
        (rejected >= MAX_REJECTED_REWRITES).then_some(Self::RejectedRewrites)
    }
}

/// The client's own request, as a candidate for sending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Original {
    /// The body with the text of our summaries in place of their opaque items, which providers reject. `None`: it has no
    /// such items, and the client's bytes are sent unchanged.
    pub(crate) resolved: Option<Bytes>,
    /// The request is known to have more tokens than the model takes.
    pub(crate) exceeds_window: bool,
}

impl Original {
    fn outgoing(&self, reason: OriginalReason) -> Outgoing {
        Outgoing::Original { reason, resolved: self.resolved.clone() }
    }
}

/// One attempt to have a request answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) outgoing: Outgoing,
    pub(crate) original: Original,
    /// How often the request may still be made smaller.
    pub(crate) shrinks_left: u8,
}

/// What follows a rejection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// The client gets the provider's error.
    ReturnError,
    /// A smaller request is prepared and sent; if that is impossible, the client gets the error.
    SendSmaller(TooLong),
    /// This attempt follows.
    Send(Attempt),
}

impl Attempt {
    /// The first attempt. `objection`: why the original is preferred although a rewritten request exists.
    pub(crate) fn first(
        original: Original,
        rewritten: Option<Bytes>,
        objection: Option<OriginalReason>,
        shrinks_left: u8,
    ) -> Self {
        let outgoing = match (rewritten, objection) {
            (None, _) => original.outgoing(OriginalReason::NothingToDo),
            (Some(_), Some(reason)) if !original.exceeds_window => original.outgoing(reason),
            (Some(body), Some(_) | None) => Outgoing::Rewritten(body),
        };
        Self { outgoing, original, shrinks_left }
    }

    /// The attempt with a smaller request, after a rejection as too long. The original is larger than what was rejected.
    pub(crate) fn smaller(&self, body: Bytes) -> Self {
        Self {
            outgoing: Outgoing::Rewritten(body),
            original: Original { exceeds_window: true, ..self.original.clone() },
            shrinks_left: self.shrinks_left.saturating_sub(1),
        }
    }

    /// What follows when the provider rejects this attempt.
    pub(crate) fn after_rejection(&self, rejection: &Rejection) -> NextStep {
        match (rejection, &self.outgoing) {
            (Rejection::TooLong(too_long), _) if self.shrinks_left > 0 => NextStep::SendSmaller(*too_long),
            (Rejection::Invalid(_), Outgoing::Rewritten(_)) if !self.original.exceeds_window => {
                let outgoing = self.original.outgoing(OriginalReason::AfterRejection);
                NextStep::Send(Self { outgoing, ..self.clone() })
            }
            (
                Rejection::TooLong(_)
                | Rejection::OutputTooLong
                | Rejection::Invalid(_)
                | Rejection::Unrelated,
                Outgoing::Original { .. } | Outgoing::Rewritten(_),
            ) => NextStep::ReturnError,
        }
    }

    /// The status of a rejection that counts against rewriting in this conversation.
    pub(crate) fn rejected_rewrite(&self, rejection: &Rejection) -> Option<StatusCode> {
        match (rejection, &self.outgoing) {
            (Rejection::Invalid(status), Outgoing::Rewritten(_)) => Some(*status),
            (
                Rejection::TooLong(_)
                | Rejection::OutputTooLong
                | Rejection::Invalid(_)
                | Rejection::Unrelated,
                Outgoing::Original { .. } | Outgoing::Rewritten(_),
            ) => None,
        }
    }
}

/// Why a provider rejected a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// The prompt is too long.
    TooLong(TooLong),
    /// The prompt fits, but not together with the requested output. Clients handle that.
    OutputTooLong,
    /// The body is invalid (400 or 422).
    Invalid(StatusCode),
    /// The reason is not the body: credentials, rate limits, outages.
    Unrelated,
}

/// A rejection of a prompt as too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong {
    /// `None` for an error event in a stream.
    pub(crate) status: Option<StatusCode>,
    /// What it says about the size.
    pub(crate) overrun: Overrun,
}

impl Rejection {
    /// Reads a status with its report, or the report of an error event in a stream. `is_near_window`: a 400 without a
    /// report is about the size.
    pub(crate) fn read(status: Option<StatusCode>, report: &[u8], is_near_window: bool) -> Self {
        let is_silent = status == Some(StatusCode::BAD_REQUEST) && report.trim_ascii().is_empty();
        let overrun = overrun(status.map(|status| status.as_u16()), report);
        match overrun.filter(|_| is_near_window || !is_silent) {
            Some(overrun) if overrun.prompt_fits => Self::OutputTooLong,
            Some(overrun) => Self::TooLong(TooLong { status, overrun }),
            None => match status {
                Some(status @ (StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY)) => {
                    Self::Invalid(status)
                }
                Some(_) | None => Self::Unrelated,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FITS: Original = Original { resolved: None, exceeds_window: false };
    const EXCEEDS: Original = Original { resolved: None, exceeds_window: true };

    fn original(reason: OriginalReason) -> Outgoing {
        Outgoing::Original { reason, resolved: None }
    }

    fn rewritten() -> Outgoing {
        Outgoing::Rewritten(Bytes::from_static(b"rewritten"))
    }

    #[test]
    fn chooses_what_is_sent_first() {
        use OriginalReason::{GuaranteeViolated, NothingToDo, RejectedRewrites};
        let body = || Some(Bytes::from_static(b"rewritten"));
        // Original, rewritten body, objection, what is sent.
        let rows = [
            (FITS, None, None, original(NothingToDo)),
            (EXCEEDS, None, None, original(NothingToDo)),
            (FITS, None, Some(RejectedRewrites), original(NothingToDo)),
            (FITS, body(), None, rewritten()),
            (EXCEEDS, body(), None, rewritten()),
            (FITS, body(), Some(RejectedRewrites), original(RejectedRewrites)),
            (FITS, body(), Some(GuaranteeViolated), original(GuaranteeViolated)),
            (EXCEEDS, body(), Some(RejectedRewrites), rewritten()),
            (EXCEEDS, body(), Some(GuaranteeViolated), rewritten()),
        ];
        for (candidate, body, objection, sent) in rows {
            let row = format!("{candidate:?} {body:?} {objection:?}");
            assert_eq!(Attempt::first(candidate, body, objection, MAX_SHRINKS).outgoing, sent, "{row}");
        }
    }

    #[test]
    fn decides_what_follows_a_rejection() {
        let too_long = TooLong { status: Some(StatusCode::BAD_REQUEST), overrun: Overrun::default() };
        let long = Rejection::TooLong(too_long);
        let invalid = Rejection::Invalid(StatusCode::BAD_REQUEST);
        let (output, unrelated) = (Rejection::OutputTooLong, Rejection::Unrelated);
        let as_it_came = original(OriginalReason::NothingToDo);
        let (smaller, error) = (NextStep::SendSmaller(too_long), NextStep::ReturnError);
        let retry = NextStep::Send(Attempt {
            outgoing: original(OriginalReason::AfterRejection),
            original: FITS,
            shrinks_left: 2,
        });
        // What was sent, the original, shrinks left, the rejection, what follows, whether it is a rejected rewrite.
        let rows = [
            (&as_it_came, FITS, 2, &long, &smaller, false),
            (&as_it_came, FITS, 0, &long, &error, false),
            (&as_it_came, FITS, 2, &invalid, &error, false),
            (&as_it_came, FITS, 2, &output, &error, false),
            (&as_it_came, FITS, 2, &unrelated, &error, false),
            (&rewritten(), FITS, 2, &long, &smaller, false),
            (&rewritten(), EXCEEDS, 1, &long, &smaller, false),
            (&rewritten(), EXCEEDS, 0, &long, &error, false),
            (&rewritten(), FITS, 0, &long, &error, false),
            (&rewritten(), FITS, 2, &invalid, &retry, true),
            (&rewritten(), EXCEEDS, 2, &invalid, &error, true),
            (&rewritten(), FITS, 2, &output, &error, false),
            (&rewritten(), FITS, 2, &unrelated, &error, false),
        ];
        for (sent, candidate, shrinks_left, rejection, step, counts) in rows {
            let attempt = Attempt { outgoing: sent.clone(), original: candidate, shrinks_left };
            assert_eq!(attempt.after_rejection(rejection), *step, "{attempt:?} {rejection:?}");
            assert_eq!(attempt.rejected_rewrite(rejection).is_some(), counts, "{attempt:?} {rejection:?}");
        }
    }

    #[test]
    fn never_returns_to_an_original_that_was_too_long() {
        let attempt = Attempt::first(FITS, None, None, 1).smaller(Bytes::from_static(b"smaller"));
        assert_eq!((attempt.shrinks_left, attempt.original.exceeds_window), (0, true));
        assert_eq!(
            attempt.after_rejection(&Rejection::Invalid(StatusCode::BAD_REQUEST)),
            NextStep::ReturnError
        );
    }

    #[test]
    fn sends_the_original_after_three_rejected_rewrites() {
        let objections = [0, 1, 2, 3, 4].map(OriginalReason::from_rejected_rewrites);
        let rejected = Some(OriginalReason::RejectedRewrites);
        assert_eq!(objections, [None, None, None, rejected, rejected]);
    }

    #[test]
    #[allow(clippy::type_complexity)]
    fn reads_rejections() {
        let long = br#"{"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}"#;
        let odd = br#"{"error": {"message": "messages: odd"}}"#;
        // Status, report, near the window, is it about the size, is the body invalid.
        let rows: [(Option<u16>, &[u8], bool, bool, bool); 11] = [
            (Some(400), long, false, true, false),
            (None, long, false, true, false),
            (Some(401), long, false, false, false),
            (Some(400), odd, true, false, true),
            (Some(422), odd, false, false, true),
            (None, odd, true, false, false),
            (Some(400), b" ", true, true, false),
            (Some(400), b" ", false, false, true),
            (Some(413), b"", false, true, false),
            (Some(429), odd, true, false, false),
            (Some(529), odd, true, false, false),
        ];
        for (status, report, is_near, is_too_long, is_invalid) in rows {
            let status = status.map(|status| StatusCode::from_u16(status).unwrap());
            let read = Rejection::read(status, report, is_near);
            let row = format!("{status:?} {} {is_near}", String::from_utf8_lossy(report));
            assert_eq!(matches!(read, Rejection::TooLong(_)), is_too_long, "{row}: {read:?}");
            assert_eq!(matches!(read, Rejection::Invalid(_)), is_invalid, "{row}: {read:?}");
        }
    }
}
