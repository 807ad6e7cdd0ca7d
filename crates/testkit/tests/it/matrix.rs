//! Every fault, on every wire, streamed and not.

use crate::client::{Client, WIRES, path, request, stall};
use std::collections::HashSet;
use std::io::ErrorKind;
use throughline_core::Wire;
use throughline_testkit::{
    Ending, ErrorEvent, Fault, Length, Malformed, Playlist, Refusal, Server, Stall, Wording,
};
use throughline_wire::{Response, Stop};

/// What a client can know of a reply.
#[derive(Debug, PartialEq)]
enum Shape {
    /// No reply; why.
    Nothing(ErrorKind),
    /// A status that is not 200.
    Status(u16),
    /// A reply that HTTP finds broken.
    Broken(ErrorKind),
    /// A 200 that is no answer.
    NoAnswer,
    /// An answer, and why it ended.
    Answer(Stop),
}

fn shape(fault: &Fault, wire: Wire, stream: bool) -> Shape {
    let server = Server::start(Playlist::new().then(fault.clone())).unwrap();
    let mut client = Client::connect(&server).expect(stall(fault));
    let got = match client.post(path(wire), request(wire, "hello", stream).to_string().as_bytes()) {
        Ok(got) => got,
        // A reset may overtake what was sent before it.
        Err(error) if cut_by_reset(fault) => return Shape::Broken(error.kind()),
        Err(error) => return Shape::Nothing(error.kind()),
    };
    assert_eq!(server.count(), 1);
    if let Some(kind) = got.broken {
        return Shape::Broken(kind);
    }
    if got.status != 200 {
        return Shape::Status(got.status);
    }
    let is_stream = got.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
    if is_stream && std::str::from_utf8(&got.body).is_ok() {
        Shape::Answer(got.streamed(wire).0.stop)
    } else {
        Response::decode(wire, &got.body).map_or(Shape::NoAnswer, |response| Shape::Answer(response.stop))
    }
}

fn cut_by_reset(fault: &Fault) -> bool {
    matches!(fault, Fault::CutAfterEvents(_, Ending::Reset) | Fault::CutAfterBytes(_, Ending::Reset))
}

/// What it should be.
fn expected(fault: &Fault, wire: Wire, stream: bool) -> Shape {
    let overloaded = if wire == Wire::Anthropic { 529 } else { 503 };
    match fault {
        Fault::RateLimited(_) => Shape::Status(429),
        Fault::NoCredit => Shape::Status(if wire == Wire::Anthropic { 400 } else { 429 }),
        Fault::Overloaded => Shape::Status(overloaded),
        Fault::ServerError => Shape::Status(500),
        Fault::BadGateway => Shape::Status(502),
        Fault::GatewayTimeout => Shape::Status(504),
        Fault::Unauthorized => Shape::Status(401),
        Fault::Forbidden => Shape::Status(403),
        Fault::UnknownModel => Shape::Status(404),
        Fault::Invalid => Shape::Status(400),
        Fault::TooLarge => Shape::Status(413),
        Fault::TooLong(too_long) if stream && too_long.wording == Wording::OpenAiStream => {
            Shape::Answer(Stop::Failed)
        }
        Fault::TooLong(_) => Shape::Status(400),
        Fault::Refused(Refusal::Rejected) => Shape::Status(400),
        Fault::Refused(Refusal::Words) if wire != Wire::Anthropic => Shape::Answer(Stop::EndTurn),
        Fault::Refused(_) => Shape::Answer(Stop::Refusal),
        Fault::ContextFull if wire == Wire::Anthropic => Shape::Answer(Stop::ContextFull),
        Fault::MaxTokens | Fault::ContextFull => Shape::Answer(Stop::MaxTokens),
        Fault::CutAfterEvents(_, Ending::Reset) | Fault::CutAfterBytes(_, Ending::Reset) => {
            Shape::Broken(ErrorKind::ConnectionReset)
        }
        Fault::CutAfterEvents(_, Ending::Abrupt) | Fault::CutAfterBytes(_, Ending::Abrupt) => {
            Shape::Broken(ErrorKind::UnexpectedEof)
        }
        Fault::CutAfterEvents(_, Ending::Clean) | Fault::CutAfterBytes(_, Ending::Clean) if stream => {
            Shape::Answer(Stop::CutOff)
        }
        Fault::CutAfterEvents(_, Ending::Clean) | Fault::CutAfterBytes(_, Ending::Clean) => Shape::NoAnswer,
        Fault::ErrorAfter(..) if stream => Shape::Answer(Stop::Failed),
        Fault::ErrorAfter(_, ErrorEvent::Overloaded) => Shape::Status(overloaded),
        Fault::ErrorAfter(_, ErrorEvent::RateLimited) => Shape::Status(429),
        Fault::ErrorAfter(_, ErrorEvent::ServerError) => Shape::Status(500),
        Fault::ErrorAfter(_, ErrorEvent::TooLong) => Shape::Status(400),
        Fault::Late(_) | Fault::WrongUsage(_) => Shape::Answer(Stop::EndTurn),
        Fault::Stall(Stall::BeforeHead) => Shape::Nothing(ErrorKind::WouldBlock),
        Fault::Stall(_) => Shape::Broken(ErrorKind::WouldBlock),
        Fault::Malformed(malformed) => match malformed {
            Malformed::NotJson | Malformed::NotObject | Malformed::Html | Malformed::NotUtf8 => {
                Shape::NoAnswer
            }
            Malformed::Truncated if stream => Shape::Answer(Stop::CutOff),
            Malformed::Empty if stream => Shape::Answer(Stop::CutOff),
            Malformed::WrongType if stream => Shape::NoAnswer,
            Malformed::BadEvent if stream => Shape::Answer(Stop::EndTurn),
            Malformed::Truncated | Malformed::Empty | Malformed::BadEvent => Shape::NoAnswer,
            Malformed::WrongType | Malformed::NoContent | Malformed::NotStreamed => {
                Shape::Answer(Stop::EndTurn)
            }
            Malformed::BadArguments => Shape::Answer(Stop::ToolUse),
        },
        Fault::WrongLength(Length::Promised) => Shape::Broken(ErrorKind::UnexpectedEof),
        Fault::WrongLength(Length::Short) if stream => Shape::Answer(Stop::CutOff),
        Fault::WrongLength(Length::Short) => Shape::NoAnswer,
        Fault::Hangup => Shape::Nothing(ErrorKind::UnexpectedEof),
        Fault::Reset => Shape::Nothing(ErrorKind::ConnectionReset),
        Fault::Redirect(status, _) => Shape::Status(*status),
    }
}

#[test]
fn every_fault_has_its_shape_on_every_wire() {
    for (name, fault) in Fault::all() {
        for wire in WIRES {
            for stream in [false, true] {
                let got = shape(&fault, wire, stream);
                assert_eq!(got, expected(&fault, wire, stream), "{name}, {wire:?}, stream {stream}");
            }
        }
    }
}

#[test]
fn all_faults_have_names_of_their_own() {
    let all = Fault::all();
    assert!(all.len() >= 80, "{}", all.len());
    let names: HashSet<_> = all.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), all.len());
}

#[test]
fn after_any_fault_the_server_goes_on() {
    for wire in WIRES {
        let faults = Fault::all();
        let script = faults.iter().fold(Playlist::new(), |list, (_, fault)| list.then(fault.clone()));
        let server = Server::start(script.then("still here")).unwrap();
        for (name, fault) in &faults {
            let mut client = Client::connect(&server).expect(stall(fault));
            let got = client.post(path(wire), request(wire, name, true).to_string().as_bytes());
            drop(got);
        }
        let mut client = Client::connect(&server);
        let got = client.post(path(wire), request(wire, "and now?", true).to_string().as_bytes()).unwrap();
        assert_eq!(got.response(wire).messages[0].to_text(), "still here");
        assert_eq!(server.count(), faults.len() + 1);
        for (seen, (name, _)) in server.requests().iter().zip(&faults) {
            assert_eq!(seen.last_user_text(), *name);
        }
    }
}
