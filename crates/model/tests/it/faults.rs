//! Every fault that the scripted server knows gets its kind, and a bounded number of requests.

use crate::support::{DELIVERIES, WIRES, bytes, provider, quick};
use throughline_model::{
    Call, Delivery, Delta, ErrorKind, Http, Model, ModelError, Provider, Retries, Timeouts, Wire,
};
use throughline_testkit::{ErrorEvent, Fault, Length, Malformed, Server, Stall, Wording};

const ATTEMPTS: u32 = 3;

/// The error, or none if the answer is one.
fn expected(fault: &Fault, wire: Wire, delivery: Delivery) -> Option<ErrorKind> {
    let streamed = delivery == Delivery::Streamed;
    Some(match fault {
        Fault::RateLimited(_) => ErrorKind::RateLimited,
        Fault::NoCredit => ErrorKind::Quota,
        Fault::Overloaded => ErrorKind::Overloaded,
        Fault::ServerError | Fault::BadGateway | Fault::GatewayTimeout => ErrorKind::Server,
        Fault::Unauthorized | Fault::Forbidden => ErrorKind::Auth,
        // The one that is followed leads nowhere.
        Fault::UnknownModel | Fault::Invalid | Fault::Redirect(..) => ErrorKind::Invalid,
        Fault::TooLarge | Fault::TooLong(_) => ErrorKind::TooLong,
        Fault::Refused(_) => ErrorKind::Refused,
        Fault::ContextFull if wire == Wire::Anthropic => ErrorKind::TooLong,
        // The others have no word for it but that the answer is too long.
        Fault::MaxTokens | Fault::ContextFull => return None,
        // All that matters has come by then.
        Fault::CutAfterEvents(usize::MAX, _) if streamed && wire == Wire::Chat => return None,
        Fault::WrongLength(Length::Promised) if streamed => return None,
        Fault::CutAfterEvents(..) | Fault::CutAfterBytes(..) | Fault::WrongLength(_) => ErrorKind::CutOff,
        Fault::ErrorAfter(_, event) => match event {
            ErrorEvent::Overloaded => ErrorKind::Overloaded,
            ErrorEvent::RateLimited => ErrorKind::RateLimited,
            ErrorEvent::ServerError => ErrorKind::Server,
            ErrorEvent::TooLong => ErrorKind::TooLong,
        },
        Fault::Stall(Stall::BeforeHead | Stall::BeforeBody | Stall::AfterEvents(_)) => ErrorKind::Idle,
        Fault::Malformed(malformed) => match malformed {
            Malformed::NotJson | Malformed::NotObject | Malformed::Html | Malformed::NotUtf8 => {
                ErrorKind::Malformed
            }
            Malformed::BadEvent if streamed => ErrorKind::Malformed,
            Malformed::BadEvent | Malformed::Truncated | Malformed::Empty => ErrorKind::CutOff,
            Malformed::WrongType
            | Malformed::NoContent
            | Malformed::BadArguments
            | Malformed::NotStreamed => return None,
        },
        Fault::Hangup | Fault::Reset => ErrorKind::Connection,
        Fault::Late(_) | Fault::WrongUsage(_) => return None,
    })
}

/// Only those that stall are short of patience: a slow machine must not look like silence.
fn patient(wire: Wire, server: &Server, fault: &Fault) -> Provider {
    let idle_ms = if matches!(fault, Fault::Stall(_)) { 50 } else { Timeouts::default().idle_ms };
    Provider {
        retries: Retries { attempts: ATTEMPTS, ..Retries::default() },
        timeouts: Timeouts { idle_ms, ..Timeouts::default() },
        ..provider(wire, server)
    }
}

#[tokio::test]
async fn each_fault_gets_its_kind_and_a_bounded_number_of_requests() {
    let mut wrong = Vec::new();
    for (name, fault) in Fault::all() {
        for wire in WIRES {
            for delivery in DELIVERIES {
                let server = Server::start(fault.clone()).unwrap();
                let (model, waits) = quick(&patient(wire, &server, &fault));
                let result = model.send(Call::new(bytes(wire, delivery))).await;
                let kind = result.as_ref().err().map(ModelError::kind);
                let expected = expected(&fault, wire, delivery);
                let again = match kind.map(ErrorKind::again) {
                    None | Some(throughline_model::Again::Never) => 1,
                    Some(throughline_model::Again::Once) => 2,
                    Some(throughline_model::Again::ByPolicy) => ATTEMPTS as usize,
                };
                // A redirect that is followed is a request more.
                let requests = if matches!(fault, Fault::Redirect(307, _)) { 2 } else { again };
                if kind != expected || server.count() != requests || waits.all().len() != again - 1 {
                    let said = result.err().map(|error| error.to_string());
                    wrong.push(format!("{name} on {wire:?} {delivery:?}: {kind:?} instead of {expected:?}, {} requests: {said:?}", server.count()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn nothing_is_heard_twice() {
    for (name, fault) in Fault::all() {
        for wire in WIRES {
            let server = Server::start(fault.clone()).unwrap();
            let (model, _) = quick(&patient(wire, &server, &fault));
            let mut heard = String::new();
            let mut listener = |delta| {
                if let Delta::Text(text) = delta {
                    heard.push_str(&text);
                }
            };
            let result = model.send(Call::new(bytes(wire, Delivery::Streamed)).listen(&mut listener)).await;
            let count = server.count();
            assert!(heard.matches("The tests").count() <= 1, "{name} on {wire:?}: {heard}");
            if !heard.is_empty() && result.is_err() {
                assert_eq!(count, 1, "{name} on {wire:?} was sent again after {heard:?}");
            }
        }
    }
}

#[tokio::test]
async fn too_long_says_by_how_much_where_the_provider_does() {
    let mut unknown = Vec::new();
    for (name, fault) in Fault::all() {
        let Fault::TooLong(too_long) = &fault else { continue };
        let server = Server::start(fault.clone()).unwrap();
        let (model, _) = quick(&provider(Wire::Chat, &server));
        let error = model.send(Call::new(bytes(Wire::Chat, Delivery::Whole))).await.unwrap_err();
        match error.gap() {
            // These count the output that the request reserves, too.
            Some(gap)
                if matches!(
                    too_long.wording,
                    Wording::AnthropicSum
                        | Wording::OpenAiRequested
                        | Wording::VllmFlat
                        | Wording::VllmOutput
                        | Wording::OpenRouter
                ) =>
            {
                assert!(gap > 0, "{name}: {error}");
            }
            Some(gap) => assert_eq!(gap, too_long.tokens - too_long.limit, "{name}: {error}"),
            None => unknown.push(name),
        }
    }
    let expected = ["OpenAI input", "OpenAI stream", "Bedrock", "Groq", "MiniMax", "no body"];
    assert_eq!(unknown, expected.map(|who| format!("too long: {who}")));
}

#[tokio::test]
async fn wrong_usage_is_replaced_by_an_estimate() {
    for (name, fault) in Fault::all() {
        let Fault::WrongUsage(_) = &fault else { continue };
        for wire in WIRES {
            for delivery in DELIVERIES {
                let server = Server::start(fault.clone()).unwrap();
                let (model, _) = quick(&provider(wire, &server));
                let answer = model.send(Call::new(bytes(wire, delivery))).await.unwrap();
                let usage = answer.response.usage;
                assert!(
                    usage.context() < 1 << 42 && usage.prompt() > 0,
                    "{name} on {wire:?} {delivery:?}: {usage:?}"
                );
                assert!(answer.estimated, "{name} on {wire:?} {delivery:?}: {usage:?}");
            }
        }
    }
}

#[tokio::test]
async fn what_had_come_is_not_lost() {
    let fault = Fault::CutAfterEvents(6, throughline_testkit::Ending::Abrupt);
    let server = Server::start(fault.clone()).unwrap();
    let (model, _) = quick(&patient(Wire::Anthropic, &server, &fault));
    let error = model.send(Call::new(bytes(Wire::Anthropic, Delivery::Streamed))).await.unwrap_err();
    let partial = error.partial().unwrap();
    assert!(partial.messages[0].to_text().starts_with("The tests"), "{partial:?}");
    assert_eq!(partial.stop, throughline_wire::Stop::CutOff);
}

#[tokio::test]
async fn an_answer_has_a_largest_size() {
    for delivery in DELIVERIES {
        let server = Server::start(throughline_testkit::Answer::text("x".repeat(10_000))).unwrap();
        let provider = Provider { answer_limit: 4_000, ..provider(Wire::Chat, &server) };
        let (model, _) = quick(&provider);
        let error = model.send(Call::new(bytes(Wire::Chat, delivery))).await.unwrap_err();
        assert_eq!((error.kind(), server.count()), (ErrorKind::TooLarge, 1), "{delivery:?}");
    }
}

#[tokio::test]
async fn an_address_where_nobody_listens_is_said() {
    let nowhere = throughline_testkit::Nowhere::new().unwrap();
    let provider =
        Provider { base_url: Some(nowhere.url().unwrap()), ..Provider::new("local", Wire::Chat, "m") };
    let (model, waits) = quick(&provider);
    let error = model.send(Call::new(bytes(Wire::Chat, Delivery::Whole))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert_eq!(waits.all().len() as u32, Retries::default().attempts - 1);
    let text = error.to_string();
    assert!(text.contains("local (http://127.0.0.1") && text.contains("refused"), "{text}");
}

#[test]
fn settings_that_make_no_sense_are_errors() {
    let error =
        |provider: Provider| Http::new(&provider, &crate::support::nothing).map(|_| ()).unwrap_err().kind();
    let base = || Provider {
        base_url: Some("http://127.0.0.1:9".to_owned()),
        ..Provider::new("p", Wire::Chat, "m")
    };
    assert_eq!(error(Provider { base_url: Some("nonsense".to_owned()), ..base() }), ErrorKind::Config);
    assert_eq!(
        error(Provider { proxy: Some(throughline_model::Secret::new("::")), ..base() }),
        ErrorKind::Config
    );
    assert_eq!(
        error(Provider {
            headers: [("a b".to_owned(), throughline_model::Secret::new("x"))].into(),
            ..base()
        }),
        ErrorKind::Config
    );
    assert_eq!(error(Provider { key_env: Some("UNSET".to_owned()), ..base() }), ErrorKind::Key);
    assert_eq!(error(Provider::new("p", Wire::Anthropic, "m")), ErrorKind::Key);
}
