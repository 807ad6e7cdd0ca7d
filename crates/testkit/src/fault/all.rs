//! One of each.

use super::{Ending, ErrorEvent, Fault, Length, Malformed, Refusal, RetryAfter, Stall, Wording};
use crate::Figures;
use std::time::Duration;

impl Fault {
    /// One of each, named, for tests that go through all of them. Waits are short; those named `stall …` last until
    /// the client leaves.
    pub fn all() -> Vec<(&'static str, Self)> {
        let mut all = vec![
            ("429 retry-after in seconds", Self::RateLimited(RetryAfter::Seconds(1))),
            ("429 retry-after as a date", Self::RateLimited(RetryAfter::Date(1))),
            ("429 retry-after-ms", Self::RateLimited(RetryAfter::Millis(30))),
            ("429 time in words", Self::RateLimited(RetryAfter::InWords(30))),
            ("429 retry-after nonsense", Self::RateLimited(RetryAfter::Nonsense)),
            ("429 without a time", Self::RateLimited(RetryAfter::Unsaid)),
            ("no credit", Self::NoCredit),
            ("overloaded", Self::Overloaded),
            ("500", Self::ServerError),
            ("502 with a page", Self::BadGateway),
            ("504 without a body", Self::GatewayTimeout),
            ("401", Self::Unauthorized),
            ("403", Self::Forbidden),
            ("404 no such model", Self::UnknownModel),
            ("400 invalid", Self::Invalid),
            ("413", Self::TooLarge),
            ("refused: stop reason", Self::Refused(Refusal::Stop)),
            ("refused: midway", Self::Refused(Refusal::Midway)),
            ("refused: in words", Self::Refused(Refusal::Words)),
            ("refused: 400", Self::Refused(Refusal::Rejected)),
            ("max tokens", Self::MaxTokens),
            ("context full", Self::ContextFull),
            ("cut before the first event, clean", Self::CutAfterEvents(0, Ending::Clean)),
            ("cut after 3 events, clean", Self::CutAfterEvents(3, Ending::Clean)),
            ("cut after 3 events, abrupt", Self::CutAfterEvents(3, Ending::Abrupt)),
            ("cut after 3 events, reset", Self::CutAfterEvents(3, Ending::Reset)),
            ("cut before the last event, abrupt", Self::CutAfterEvents(usize::MAX, Ending::Abrupt)),
            ("cut after 40 bytes, clean", Self::CutAfterBytes(40, Ending::Clean)),
            ("cut after 40 bytes, abrupt", Self::CutAfterBytes(40, Ending::Abrupt)),
            ("cut before the first byte, abrupt", Self::CutAfterBytes(0, Ending::Abrupt)),
            ("late", Self::Late(Duration::from_millis(20))),
            ("stall before the head", Self::Stall(Stall::BeforeHead)),
            ("stall before the body", Self::Stall(Stall::BeforeBody)),
            ("stall after 3 events", Self::Stall(Stall::AfterEvents(3))),
            ("length too large", Self::WrongLength(Length::Promised)),
            ("length too small", Self::WrongLength(Length::Short)),
            ("hangup", Self::Hangup),
            ("reset", Self::Reset),
            ("redirect 307", Self::Redirect(307, "/moved".to_owned())),
            ("redirect 302", Self::Redirect(302, "/moved".to_owned())),
        ];
        all.extend(ERRORS.map(|(name, error)| (name, Self::ErrorAfter(3, error))));
        all.extend(MALFORMED.map(|(name, malformed)| (name, Self::Malformed(malformed))));
        all.extend(USAGE.map(|(name, figures)| (name, Self::WrongUsage(figures))));
        all.extend(Wording::ALL.map(|wording| (wording.name(), Self::too_long(wording))));
        all
    }
}

const ERRORS: [(&str, ErrorEvent); 4] = [
    ("error event: overloaded", ErrorEvent::Overloaded),
    ("error event: rate limited", ErrorEvent::RateLimited),
    ("error event: server error", ErrorEvent::ServerError),
    ("error event: too long", ErrorEvent::TooLong),
];

const MALFORMED: [(&str, Malformed); 11] = [
    ("malformed: not JSON", Malformed::NotJson),
    ("malformed: not an object", Malformed::NotObject),
    ("malformed: HTML", Malformed::Html),
    ("malformed: wrong content type", Malformed::WrongType),
    ("malformed: truncated", Malformed::Truncated),
    ("malformed: bad event", Malformed::BadEvent),
    ("malformed: not UTF-8", Malformed::NotUtf8),
    ("malformed: empty", Malformed::Empty),
    ("malformed: no content", Malformed::NoContent),
    ("malformed: bad arguments", Malformed::BadArguments),
    ("malformed: not streamed", Malformed::NotStreamed),
];

const USAGE: [(&str, Figures); 7] = [
    ("usage zero", Figures::Zero),
    ("usage absurd", Figures::Absurd),
    ("usage negative", Figures::Negative),
    ("usage as strings", Figures::Strings),
    ("usage with fractions", Figures::Fractions),
    ("usage null", Figures::Null),
    ("usage missing", Figures::Missing),
];
