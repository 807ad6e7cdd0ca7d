//! What each provider says when it fails.

use crate::client::{Client, Got, WIRES, ask, path, request, try_ask};
use serde_json::{Value, json};
use std::io::ErrorKind;
use throughline_core::{Body, Wire};
use throughline_testkit::{Answer, Ending, ErrorEvent, Fault, Malformed, Refusal, RetryAfter, Server, Stall};
use throughline_wire::Stop;
use throughline_wire::stream::StreamError;

fn got(wire: Wire, fault: Fault, stream: bool) -> Got {
    ask(&Server::start(fault).unwrap(), wire, "hello", stream)
}

#[test]
fn errors_have_the_providers_own_body_and_request_id() {
    let table: [(Fault, &str, Value); 8] = [
        (
            Fault::RateLimited(RetryAfter::Unsaid),
            "rate_limit_error",
            json!(["tokens", "rate_limit_exceeded"]),
        ),
        (Fault::Overloaded, "overloaded_error", json!(["service_unavailable_error", "server_is_overloaded"])),
        (Fault::ServerError, "api_error", json!(["server_error", "server_error"])),
        (Fault::Unauthorized, "authentication_error", json!(["invalid_request_error", "invalid_api_key"])),
        (
            Fault::Forbidden,
            "permission_error",
            json!(["request_forbidden", "unsupported_country_region_territory"]),
        ),
        (Fault::TooLarge, "request_too_large", json!(["server_error", null])),
        (Fault::UnknownModel, "not_found_error", json!(["invalid_request_error", "model_not_found"])),
        (Fault::NoCredit, "invalid_request_error", json!(["insufficient_quota", "insufficient_quota"])),
    ];
    for (fault, anthropic, openai) in table {
        for wire in WIRES {
            for stream in [false, true] {
                let got = got(wire, fault.clone(), stream);
                let body = got.json();
                match wire {
                    Wire::Anthropic => {
                        assert_eq!(
                            (&body["type"], &body["error"]["type"]),
                            (&"error".into(), &anthropic.into())
                        );
                        assert_eq!(body["request_id"], got.header("request-id").unwrap());
                    }
                    Wire::Responses | Wire::Chat => {
                        assert_eq!(json!([body["error"]["type"], body["error"]["code"]]), openai);
                        assert!(got.header("x-request-id").is_some());
                    }
                }
                assert!(!body["error"]["message"].as_str().unwrap().is_empty());
            }
        }
    }
}

#[test]
fn a_429_says_when_in_every_way() {
    let headers = |again| {
        let got = got(Wire::Chat, Fault::RateLimited(again), true);
        let header = |name| got.header(name).map(str::to_owned);
        (
            header("retry-after"),
            header("retry-after-ms"),
            got.json()["error"]["message"].as_str().unwrap().to_owned(),
        )
    };
    let (after, millis, _) = headers(RetryAfter::Seconds(7));
    assert_eq!((after.as_deref(), millis), (Some("7"), None));
    let (after, millis, _) = headers(RetryAfter::Millis(1500));
    assert_eq!((after.as_deref(), millis.as_deref()), (Some("2"), Some("1500")));
    let (after, _, _) = headers(RetryAfter::Date(60));
    let after = after.unwrap();
    assert!(after.len() == 29 && after.ends_with(" GMT") && after.contains(", "), "{after}");
    assert_eq!(headers(RetryAfter::Nonsense).0.as_deref(), Some("a while"));
    let (after, millis, words) = headers(RetryAfter::InWords(1500));
    assert_eq!((after, millis), (None, None));
    assert!(words.ends_with("Please try again in 1.5s."), "{words}");
    assert!(headers(RetryAfter::InWords(20)).2.ends_with("Please try again in 20ms."));
    let (after, millis, words) = headers(RetryAfter::Unsaid);
    assert_eq!((after, millis, words.contains("try again")), (None, None, false));
}

#[test]
fn gateways_answer_in_html_or_not_at_all() {
    for wire in WIRES {
        let page = got(wire, Fault::BadGateway, true);
        assert_eq!((page.status, page.header("content-type")), (502, Some("text/html")));
        assert!(page.text().contains("<title>502 Bad Gateway</title>"));
        let empty = got(wire, Fault::GatewayTimeout, true);
        assert_eq!((empty.status, empty.body.len()), (504, 0));
    }
}

#[test]
fn error_events_come_after_some_of_the_answer() {
    for wire in WIRES {
        for (event, anthropic, openai) in [
            (ErrorEvent::Overloaded, "overloaded_error", "server_is_overloaded"),
            (ErrorEvent::RateLimited, "rate_limit_error", "rate_limit_exceeded"),
            (ErrorEvent::ServerError, "api_error", "server_error"),
            (ErrorEvent::TooLong, "invalid_request_error", "context_length_exceeded"),
        ] {
            let server =
                Server::start(Answer::text("word ".repeat(50)).spoilt_by(Fault::ErrorAfter(9, event)))
                    .unwrap();
            let got = ask(&server, wire, "hello", true);
            let (response, errors) = got.streamed(wire);
            assert_eq!(got.events().len(), 10);
            let [StreamError::Provider { kind, .. }] = &errors[..] else { panic!("{errors:?}") };
            assert_eq!(kind, if wire == Wire::Anthropic { anthropic } else { openai });
            assert_eq!(response.stop, Stop::Failed);
            let text: String = response.messages.iter().map(|message| message.to_text()).collect();
            assert!(text.starts_with("word word"), "{wire:?} {event:?}: what had come is not lost: {text}");
        }
    }
}

#[test]
fn cuts_are_where_they_were_asked_for() {
    for wire in WIRES {
        for events in [0, 1, 5] {
            for (ending, broken) in [(Ending::Clean, None), (Ending::Abrupt, Some(ErrorKind::UnexpectedEof))]
            {
                let got = got(wire, Fault::CutAfterEvents(events, ending), true);
                assert_eq!(got.broken, broken, "{wire:?} {events} {ending:?}");
                assert_eq!(got.events().len(), events);
                assert_eq!(got.streamed(wire).0.stop, Stop::CutOff);
            }
            // A reset may overtake what was sent before it.
            let server = Server::start(Fault::CutAfterEvents(events, Ending::Reset)).unwrap();
            let kind = match try_ask(&server, wire, "hello", true) {
                Ok(got) => got.broken,
                Err(error) => Some(error.kind()),
            };
            assert_eq!(kind, Some(ErrorKind::ConnectionReset));
        }
        let whole = got(wire, Fault::Late(std::time::Duration::ZERO), true).events().len();
        assert_eq!(
            got(wire, Fault::CutAfterEvents(usize::MAX, Ending::Clean), true).events().len(),
            whole - 1
        );
        for bytes in [0, 1, 77] {
            assert_eq!(got(wire, Fault::CutAfterBytes(bytes, Ending::Abrupt), true).body.len(), bytes);
            assert_eq!(got(wire, Fault::CutAfterBytes(bytes, Ending::Clean), false).body.len(), bytes);
        }
        let last = got(wire, Fault::CutAfterBytes(usize::MAX, Ending::Abrupt), false);
        assert_eq!(last.body.len() + 1, last.header("content-length").unwrap().parse::<usize>().unwrap());
    }
}

#[test]
fn refusals_take_four_forms() {
    for wire in WIRES {
        for stream in [false, true] {
            let stop = got(wire, Fault::Refused(Refusal::Stop), stream).response(wire);
            assert_eq!(stop.stop, Stop::Refusal);
            assert_eq!(stop.messages.iter().map(|message| message.to_text()).collect::<String>(), "");
            let midway = got(wire, Fault::Refused(Refusal::Midway), stream).response(wire);
            assert_eq!(midway.stop, Stop::Refusal);
            assert!(!midway.messages[0].to_text().is_empty());
            let words = got(wire, Fault::Refused(Refusal::Words), stream);
            assert!(words.response(wire).encode().to_string().contains("I can't help with that."));
            assert_eq!(got(wire, Fault::Refused(Refusal::Rejected), stream).status, 400);
        }
    }
}

#[test]
fn an_answer_that_reached_its_limit_is_cut() {
    for wire in WIRES {
        let server =
            Server::start(Answer::text("0123456789").call("Edit", json!({})).spoilt_by(Fault::MaxTokens))
                .unwrap();
        let response = ask(&server, wire, "hello", true).response(wire);
        assert_eq!(response.stop, Stop::MaxTokens);
        assert_eq!(response.messages[0].to_text(), "01234");
        assert_eq!(response.messages.iter().flat_map(|message| message.calls()).count(), 0);
    }
}

#[test]
fn malformed_bodies_are_what_they_are_called() {
    for wire in WIRES {
        assert!(
            serde_json::from_slice::<Value>(&got(wire, Fault::Malformed(Malformed::NotJson), true).body)
                .is_err()
        );
        assert_eq!(got(wire, Fault::Malformed(Malformed::NotObject), true).json(), json!([]));
        assert!(got(wire, Fault::Malformed(Malformed::Html), true).text().starts_with("<html>"));
        let wrong = got(wire, Fault::Malformed(Malformed::WrongType), true);
        assert_eq!(wrong.header("content-type"), Some("text/plain"));
        assert_eq!(wrong.streamed(wire).0.stop, Stop::EndTurn);
        for stream in [false, true] {
            assert!(got(wire, Fault::Malformed(Malformed::Empty), stream).body.is_empty());
            assert!(String::from_utf8(got(wire, Fault::Malformed(Malformed::NotUtf8), stream).body).is_err());
        }
        let (response, errors) = got(wire, Fault::Malformed(Malformed::BadEvent), true).streamed(wire);
        assert!(matches!(errors[..], [StreamError::NotJson { .. }]), "{errors:?}");
        assert_eq!(response.stop, Stop::EndTurn);
        let torn = got(wire, Fault::Malformed(Malformed::Truncated), true);
        assert!(!torn.text().ends_with("\n\n") && torn.broken.is_none());
        let whole = got(wire, Fault::Malformed(Malformed::NotStreamed), true);
        assert_eq!(whole.header("content-type"), Some("application/json"));
        assert_eq!(whole.response(wire).stop, Stop::EndTurn);
    }
}

#[test]
fn an_answer_may_have_no_content_and_a_call_half_of_its_arguments() {
    for wire in WIRES {
        for stream in [false, true] {
            let silent = got(wire, Fault::Malformed(Malformed::NoContent), stream).response(wire);
            assert!(silent.messages.iter().all(|message| message.to_text().is_empty()), "{silent:?}");
            let calls = got(wire, Fault::Malformed(Malformed::BadArguments), stream).response(wire);
            let call = calls.messages.iter().flat_map(|message| message.calls()).next().unwrap().clone();
            assert_eq!(call.name, "Edit");
            assert_eq!(call.input.to_json().filter(Value::is_object), None, "{wire:?} {stream} {call:?}");
            assert!(call.input.to_text().contains("src/ma"), "{wire:?} {stream} {call:?}");
        }
    }
}

#[test]
fn redirects_say_where_to() {
    let server = Server::start(Fault::Redirect(308, "http://127.0.0.1:9/v1/messages".to_owned())).unwrap();
    let got = ask(&server, Wire::Anthropic, "hello", true);
    assert_eq!((got.status, got.header("location")), (308, Some("http://127.0.0.1:9/v1/messages")));
}

#[test]
fn a_reset_is_one_even_if_the_request_is_chunked() {
    let server = Server::start(Fault::Reset).unwrap();
    let mut client = Client::connect(&server);
    let body = request(Wire::Chat, "hello", true).to_string();
    let head = format!("POST {} HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", path(Wire::Chat));
    client.write(format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).as_bytes());
    assert_eq!(client.read(false).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(server.requests()[0].body, body.into_bytes());
}

#[test]
fn a_fault_spoils_the_answer_it_is_given() {
    for wire in WIRES {
        let answer = Answer::text("The beginning of a long answer that never ends.").deltas(4);
        let server = Server::start(answer.spoilt_by(Fault::Stall(Stall::AfterEvents(12)))).unwrap();
        let mut client = Client::connect(&server).expect(Some(Stall::AfterEvents(12)));
        let got = client.post(path(wire), request(wire, "hello", true).to_string().as_bytes()).unwrap();
        let (response, _) = got.streamed(wire);
        let said = response.messages[0].blocks.iter().find_map(|block| match &block.body {
            Body::Text(text) => Some(text.clone()),
            _ => None,
        });
        assert!(said.unwrap().starts_with("The begi"));
    }
}
