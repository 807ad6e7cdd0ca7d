//! Faults as replies.

use super::errors::{self, Words};
use super::{Ending, ErrorEvent, Fault, Length, Malformed, Refusal, Stall, TooLong, Wording};
use crate::answer::{Answer, Part};
use crate::plan::{End, Framing, Plan};
use crate::prompts::Prompts;
use crate::{Http, Seen, render};
use serde_json::{Value, json};
use throughline_core::Wire;
use throughline_wire::Stop;

/// The answer that is spoilt where the script gave none: enough words for every cut to have something on both sides.
pub(crate) fn usual_answer() -> Answer {
    Answer::text(
        "The tests pass now. I changed two files and left the lockfile as it was; the next step is the release.",
    )
}

/// The reply to a request that meets with a fault.
pub(crate) fn play(fault: &Fault, answer: Answer, seen: &Seen, prompts: &mut Prompts) -> Plan {
    let mut answered = |answer: &Answer| {
        let body = render::body(answer, seen, prompts);
        Plan::answer(answer, seen, body)
    };
    let status = |words: Words<'_>, status: u16| Plan::http(words.http(seen, status));
    match fault {
        Fault::RateLimited(again) => Plan::http(errors::rate_limited(seen, *again)),
        Fault::NoCredit => Plan::http(errors::no_credit(seen)),
        Fault::Overloaded => status(errors::OVERLOADED, overloaded(seen.wire)),
        Fault::ServerError => status(errors::SERVER, 500),
        Fault::BadGateway => Plan::http(html(502, "502 Bad Gateway")),
        Fault::GatewayTimeout => Plan::http(Http { status: 504, headers: Vec::new(), body: Vec::new() }),
        Fault::Unauthorized => status(errors::KEY, 401),
        Fault::Forbidden => status(errors::FORBIDDEN, 403),
        Fault::UnknownModel => Plan::http(errors::unknown_model(seen)),
        Fault::Invalid => {
            let words =
                "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after";
            Plan::http(errors::invalid(seen, words))
        }
        Fault::TooLarge => status(errors::TOO_LARGE, 413),
        Fault::TooLong(too_long) if seen.streams() && too_long.wording == Wording::OpenAiStream => {
            let plan = answered(&Answer::empty());
            fail(plan, 1, &error_event(seen, ErrorEvent::TooLong, too_long, 1))
        }
        Fault::TooLong(too_long) => Plan::http(too_long.http(seen)),
        Fault::Refused(Refusal::Rejected) => status(errors::REJECTED, 400),
        Fault::Refused(refusal) => answered(&refused(answer, *refusal, seen.wire)),
        Fault::MaxTokens => answered(&halved(answer).stop(Stop::MaxTokens)),
        Fault::ContextFull => answered(&halved(answer).stop(Stop::ContextFull)),
        Fault::CutAfterEvents(events, ending) => {
            let mut plan = answered(&answer);
            plan.keep_frames(*events);
            ended(plan, *ending)
        }
        Fault::CutAfterBytes(bytes, ending) => {
            let mut plan = answered(&answer);
            plan.keep_bytes(*bytes);
            ended(plan, *ending)
        }
        Fault::ErrorAfter(after, kind) if seen.streams() => {
            let plan = answered(&answer);
            let too_long = TooLong { wording: Wording::OpenAiStream, tokens: 215_000, limit: 200_000 };
            fail(plan, *after, &error_event(seen, *kind, &too_long, *after))
        }
        Fault::ErrorAfter(_, kind) => match kind {
            ErrorEvent::Overloaded => status(errors::OVERLOADED, overloaded(seen.wire)),
            ErrorEvent::RateLimited => status(errors::RATE, 429),
            ErrorEvent::ServerError => status(errors::SERVER, 500),
            ErrorEvent::TooLong => {
                let wording = match seen.wire {
                    Wire::Anthropic => Wording::Anthropic,
                    Wire::Responses | Wire::Chat => Wording::OpenAiInput,
                };
                Plan::http(TooLong { wording, tokens: 215_000, limit: 200_000 }.http(seen))
            }
        },
        Fault::Late(late) => {
            let mut plan = answered(&answer);
            plan.before.late = *late;
            plan
        }
        Fault::Stall(stall) => stalled(answered(&answer), *stall),
        Fault::Malformed(malformed) => malform(*malformed, &answer, seen, prompts),
        Fault::WrongLength(length) => {
            let mut plan = answered(&answer);
            let whole: usize = plan.frames.iter().map(Vec::len).sum();
            plan.framing = Framing::Length(match length {
                Length::Promised => whole + 100,
                Length::Short => whole - whole / 4,
            });
            plan.end = End::Close;
            plan
        }
        Fault::Hangup => Plan { head: None, end: End::Close, ..answered(&answer) },
        Fault::Reset => Plan { head: None, end: End::Reset, ..answered(&answer) },
        Fault::Redirect(status, to) => {
            Plan::http(Http { status: *status, headers: Vec::new(), body: Vec::new() }.header("location", to))
        }
        Fault::WrongUsage(figures) => answered(&answer.figures(figures.clone())),
    }
}

fn overloaded(wire: Wire) -> u16 {
    match wire {
        Wire::Anthropic => 529,
        Wire::Responses | Wire::Chat => 503,
    }
}

fn html(status: u16, title: &str) -> Http {
    let page = format!(
        "<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n\
         <hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
    );
    Http::text(status, "text/html", &page)
}

fn refused(answer: Answer, refusal: Refusal, wire: Wire) -> Answer {
    match refusal {
        Refusal::Stop => Answer { parts: Vec::new(), ..answer }.stop(Stop::Refusal),
        Refusal::Midway => halved(answer).stop(Stop::Refusal),
        Refusal::Words | Refusal::Rejected => {
            let answer = Answer { parts: Vec::new(), ..answer }.refusal("I can't help with that.");
            match wire {
                Wire::Anthropic => answer.stop(Stop::Refusal),
                Wire::Responses | Wire::Chat => answer.stop(Stop::EndTurn),
            }
        }
    }
}

/// Half of the words and none of the calls.
fn halved(mut answer: Answer) -> Answer {
    answer.parts.retain(|part| matches!(part, Part::Thinking(_) | Part::Text(_)));
    for part in &mut answer.parts {
        if let Part::Text(text) = part {
            *text = text.chars().take(text.chars().count() / 2).collect();
        }
    }
    answer
}

fn ended(mut plan: Plan, ending: Ending) -> Plan {
    match ending {
        Ending::Clean => plan.settle_length(),
        Ending::Abrupt => plan.end = End::Close,
        Ending::Reset => plan.end = End::Reset,
    }
    plan
}

fn stalled(mut plan: Plan, stall: Stall) -> Plan {
    match stall {
        Stall::BeforeHead => plan.head = None,
        Stall::BeforeBody => plan.frames.clear(),
        Stall::AfterEvents(events) => plan.keep_frames(events),
    }
    plan.end = End::Stall;
    plan
}

/// Puts an error in place of all events behind the first `after`.
fn fail(mut plan: Plan, after: usize, error: &[u8]) -> Plan {
    plan.keep_frames(after);
    plan.frames.push(error.to_vec());
    plan
}

/// An error as an event. Responses has two forms, and both are used.
fn error_event(seen: &Seen, kind: ErrorEvent, too_long: &TooLong, number: usize) -> Vec<u8> {
    let anthropic = too_long.anthropic_words();
    let words = match kind {
        ErrorEvent::Overloaded => errors::OVERLOADED,
        ErrorEvent::RateLimited => errors::RATE,
        ErrorEvent::ServerError => errors::SERVER,
        ErrorEvent::TooLong => Words {
            anthropic: ("invalid_request_error", &anthropic),
            openai: ("invalid_request_error", Some("context_length_exceeded"), TooLong::OPENAI_WORDS),
        },
    };
    let error = words.object(seen.wire);
    let data = match (seen.wire, kind) {
        (Wire::Anthropic, _) => json!({ "type": "error", "error": error }),
        (Wire::Responses, ErrorEvent::ServerError) => json!({
            "type": "error", "sequence_number": number, "code": error["code"], "message": error["message"], "param": null,
        }),
        (Wire::Responses, ErrorEvent::Overloaded | ErrorEvent::RateLimited | ErrorEvent::TooLong) => json!({
            "type": "response.failed", "sequence_number": number,
            "response": {
                "id": format!("resp_test_{:06}", seen.number), "object": "response", "status": "failed",
                "error": { "code": error["code"], "message": error["message"] },
                "incomplete_details": null, "model": seen.model(), "output": [], "usage": null,
            },
        }),
        (Wire::Chat, _) => json!({ "error": error }),
    };
    let name = data.get("type").and_then(Value::as_str).map(str::to_owned);
    let mut frame = Vec::new();
    throughline_wire::sse::Event { name, data: data.to_string() }.write(&mut frame);
    frame
}

fn malform(malformed: Malformed, answer: &Answer, seen: &Seen, prompts: &mut Prompts) -> Plan {
    let body = render::body(answer, seen, prompts);
    let mut plan = Plan::answer(answer, seen, body.clone());
    let middle = plan.frames.len() / 2;
    let whole = |status: u16, kind: &str, body: &str| Plan::http(Http::text(status, kind, body));
    match malformed {
        Malformed::NotJson => {
            let words = "upstream connect error or disconnect/reset before headers";
            return whole(200, "application/json", words);
        }
        Malformed::NotObject => return whole(200, "application/json", "[]"),
        Malformed::Html => return Plan::http(html(200, "Sign in to the network")),
        Malformed::Empty => plan.frames.clear(),
        Malformed::WrongType => plan.set_header("content-type", "text/plain"),
        Malformed::BadEvent if seen.streams() => {
            plan.frames.insert(middle, b"data: {\"type\": \"content_block_del\n\n".to_vec());
        }
        Malformed::Truncated | Malformed::BadEvent => {
            let total: usize = plan.frames.iter().map(Vec::len).sum();
            plan.keep_bytes(total / 2);
        }
        Malformed::NotUtf8 if seen.streams() => {
            plan.frames.insert(middle, b"data: {\"type\": \"\xff\xfe\"}\n\n".to_vec());
        }
        Malformed::NotUtf8 => plan.frames.insert(0, b"\xff\xfe".to_vec()),
        Malformed::NoContent => {
            let empty = Answer { parts: Vec::new(), ..answer.clone() };
            let body = render::body(&empty, seen, prompts);
            return Plan::answer(&empty, seen, body);
        }
        Malformed::BadArguments => return bad_arguments(answer, seen, prompts),
        Malformed::NotStreamed => {
            return Plan::http(Http::json(200, &body));
        }
    }
    plan.settle_length();
    plan
}

/// A call with half of its arguments. Anthropic's have no string to be wrong in unless they are streamed; then it is
/// the pieces that do not add up.
fn bad_arguments(answer: &Answer, seen: &Seen, prompts: &mut Prompts) -> Plan {
    const WHOLE: &str = "{\"file_path\":\"src/main.rs\",\"old\":\"a\"}";
    const HALF: &str = "{\"file_path\":\"src/ma";
    let answer =
        answer.clone().call("Edit", json!({ "file_path": "src/main.rs", "old": "a" })).deltas(WHOLE.len());
    let body = render::body(&answer, seen, prompts);
    let halve = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let quoted = |text: &str| Value::from(text).to_string();
        text.replace(&quoted(WHOLE), &quoted(HALF)).into_bytes()
    };
    let mut plan = Plan::answer(&answer, seen, body);
    for frame in &mut plan.frames {
        *frame = halve(frame);
    }
    if seen.wire == Wire::Anthropic && !seen.streams() {
        let text =
            String::from_utf8_lossy(&plan.frames.concat()).replace(WHOLE, &Value::from(HALF).to_string());
        plan.frames = vec![text.into_bytes()];
    }
    plan.settle_length();
    plan
}
